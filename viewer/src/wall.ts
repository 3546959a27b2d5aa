// SPDX-License-Identifier: Apache-2.0
// All plots of a page, by sections, with what they share.
import { button, checkbox, el } from "./dom";
import { Plots, sections, type Plot } from "./groups";
import { PlotView, runLetter, type Shared } from "./plots";
import type { Run } from "./data";

export class Wall {
  readonly root = el("section", { class: "plots", "aria-labelledby": "plots-title" });
  readonly views: PlotView[] = [];
  private readonly body = el("div", {});
  private readonly seen = new Map<Element, PlotView>();
  private readonly visible = new Set<PlotView>();
  private readonly watcher: IntersectionObserver;
  private readonly plots: Plots;
  followCursor = true;

  constructor(private readonly runs: Run[], private readonly shared: Shared, live: boolean) {
    this.plots = new Plots(runs, live);
    this.watcher = new IntersectionObserver((entries) => entries.forEach((entry) => this.cameIntoSight(entry)), { rootMargin: "300px" });
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
      for (const plot of plots) this.addView(plot, grid);
    }
    if (this.plots.list.length === 0) this.body.append(el("p", { class: "empty" }, "Nothing that could be plotted was recorded."));
    if (this.plots.silent.length > 0) this.body.append(el("p", { class: "about" }, `Zero from beginning to end, not drawn: ${this.plots.silent.join(", ")}.`));
    this.body.append(this.chooser());
  }

  private addView(plot: Plot, grid: HTMLElement): void {
    const view = new PlotView(plot, this.shared);
    this.views.push(view);
    grid.append(view.root);
    this.seen.set(view.root, view);
    this.watcher.observe(view.root);
  }

  private cameIntoSight(entry: IntersectionObserverEntry): void {
    const view = this.seen.get(entry.target);
    if (!view) return;
    if (entry.isIntersecting) {
      view.make();
      view.setTime(this.shared.time);
      this.visible.add(view);
    } else {
      this.visible.delete(view);
    }
  }

  // Any channel by its path.
  private chooser(): HTMLElement {
    const paths = [...new Set(this.runs.flatMap((run) => [...run.channels.keys()]))].sort();
    if (paths.length === 0) return el("div");
    const select = el("select", { id: "any-channel" }, el("option", { value: "" }, "choose …"), ...paths.map((p) => el("option", { value: p }, p)));
    const grid = el("div", { class: "plot-grid" });
    select.addEventListener("change", () => {
      for (const plot of this.plots.choose(select.value)) this.addView(plot, grid);
      select.value = "";
    });
    return el("section", { class: "chooser" }, el("label", { for: "any-channel" }, "Plot any channel "), select, grid);
  }

  makeAll(): void {
    for (const view of this.views) view.make();
  }
  setTime(t: number): void {
    for (const view of this.visible) view.setTime(t);
  }
  setLines(): void {
    for (const view of this.visible) view.placeNow();
  }
  setZoom(): void {
    for (const view of this.views) view.setZoom();
  }
  setTheme(): void {
    for (const view of this.views) view.setTheme();
  }
  resize(width?: number): void {
    for (const view of this.views) view.resize(width);
  }
  // Live runs: only what is in sight is drawn anew.
  refresh(all = false): void {
    for (const view of all ? this.views : this.visible) view.refresh();
  }
}
