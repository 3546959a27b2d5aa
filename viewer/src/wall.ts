// SPDX-License-Identifier: Apache-2.0
// The plots of the channels, by sections.
import { button, checkbox, el } from "./dom";
import { Plots, sections } from "./groups";
import { PlotView, runLetter, type Shared } from "./plots";
import type { Run } from "./data";
import type { Views } from "./views";

export class Wall {
  readonly root = el("section", { class: "plots", "aria-labelledby": "plots-title" });
  private readonly body = el("div", {});
  private readonly plots: Plots;
  followCursor = true;

  constructor(private readonly runs: Run[], private readonly shared: Shared, private readonly views: Views, live: boolean) {
    this.plots = new Plots(runs, live);
    const tools = el(
      "div",
      { class: "plot-tools" },
      checkbox("Motion follows the cursor", true, (on) => (this.followCursor = on)),
      button("show all times in all plots", "Reset zoom", () => this.shared.setZoom(this.shared.start, this.shared.end)),
    );
    const lines = ["solid", "dashed", "dotted", "dash-dotted", "short dashes"];
    const key = runs.length > 1 ? el("p", { class: "about" }, runs.map((run, i) => `${runLetter(i)} ${lines[i % lines.length]}: ${run.name}`).join(" · ")) : "";
    this.root.append(el("h2", { id: "plots-title" }, "Plots"), tools, key, this.body);
    this.fill();
  }

  private fill(): void {
    for (const section of sections) {
      const plots = this.plots.list.filter((p) => p.section === section);
      if (plots.length === 0) continue;
      const grid = el("div", { class: "plot-grid" });
      this.body.append(el("section", {}, el("h3", {}, section), grid));
      for (const plot of plots) this.views.add(new PlotView(plot, this.shared), grid);
    }
    if (this.plots.list.length === 0) this.body.append(el("p", { class: "empty" }, "Nothing that could be plotted was recorded."));
    if (this.plots.silent.length > 0) this.body.append(el("p", { class: "about" }, `Zero from beginning to end, not drawn: ${this.plots.silent.join(", ")}.`));
    this.body.append(this.chooser());
  }

  // Any channel by its path.
  private chooser(): HTMLElement {
    const paths = [...new Set(this.runs.flatMap((run) => [...run.channels.keys()]))].sort();
    if (paths.length === 0) return el("div");
    const select = el("select", { id: "any-channel" }, el("option", { value: "" }, "choose …"), ...paths.map((p) => el("option", { value: p }, p)));
    const grid = el("div", { class: "plot-grid" });
    select.addEventListener("change", () => {
      for (const plot of this.plots.choose(select.value)) this.views.add(new PlotView(plot, this.shared), grid);
      select.value = "";
    });
    return el("section", { class: "chooser" }, el("label", { for: "any-channel" }, "Plot any channel "), select, grid);
  }
}
