// SPDX-License-Identifier: Apache-2.0
// The figures of all runs; those of one name stand side by side, a column for each run, as papers have them.
import type { Run } from "./data";
import { el } from "./dom";
import type { Figure, Image, Panel, Table } from "./figures";
import type { Plot } from "./groups";
import { PlotView, runLetter, SHEET_COLUMN, SHEET_WIDTH, type Shared } from "./plots";
import type { Views } from "./views";

interface Shown {
  run: number;
  figure: Figure;
}

// Figures of one name together; where a run has several of a name, the first with the first, and so on.
function byName(runs: Run[]): Shown[][] {
  const groups = new Map<string, Shown[]>();
  runs.forEach((run, i) => {
    const count = new Map<string, number>();
    for (const figure of run.figures) {
      const nth = count.get(figure.name) ?? 0;
      count.set(figure.name, nth + 1);
      const key = `${nth} ${figure.name}`;
      groups.set(key, [...(groups.get(key) ?? []), { run: i, figure }]);
    }
  });
  return [...groups.values()];
}

function plotOf(panel: Panel, figure: Figure, run: number, index: number): Plot {
  const notPositive = panel.curves.reduce((sum, { x, y }) => sum + y.filter((v, i) => (panel.logY && v <= 0) || (panel.logX && x[i] <= 0)).length, 0);
  // Where components are dashed they are compared with those that are not, one by one in the same colours.
  const dashes = panel.curves.filter((c) => c.dashed).length;
  const paired = dashes > 1 && 2 * dashes === panel.curves.length;
  const seen = { solid: 0, dashed: 0 };
  const color = (dashed: boolean): number => (dashed && paired ? seen.dashed++ : seen.solid++);
  return {
    key: `figure ${run} ${figure.name} ${index}`,
    section: "Figures",
    title: panel.title,
    unit: "",
    log: panel.logY,
    about: notPositive === 0 ? "" : `gaps: ${notPositive} of its numbers ${notPositive === 1 ? "is" : "are"} not positive and ${notPositive === 1 ? "has" : "have"} no logarithm`,
    figure: { x: panel.x, y: panel.y, logX: panel.logX, overTime: panel.time },
    series: panel.curves.map(({ label, dashed, x, y }) => ({ label, run, unit: "", path: figure.name, read: () => ({ time: x, y }), color: color(dashed), dash: dashed ? [6, 4] : [], limits: [], on: true })),
  };
}

function tableOf({ columns, rows }: Table): HTMLElement {
  const head = el("thead", {}, el("tr", {}, el("td", {}), ...columns.map((c) => el("th", { scope: "col" }, c))));
  const body = rows.map(({ label, cells }) => el("tr", {}, el("th", { scope: "row" }, label), ...cells.map((c) => el("td", {}, c))));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "table" }, el("table", { class: "small numbers" }, head, el("tbody", {}, ...body)));
}

function imageOf({ png, alt, width, height }: Image): HTMLElement {
  const sizes: Record<string, string> = width > 0 && height > 0 ? { width: String(width), height: String(height) } : {};
  const made = el("img", { src: png, alt, ...sizes });
  made.addEventListener("error", () => made.replaceWith(el("p", { class: "failure" }, `The image is damaged${alt ? ` (${alt})` : ""}.`)));
  return made;
}

export class Gallery {
  readonly root: HTMLElement | null;

  constructor(private readonly runs: Run[], private readonly shared: Shared, private readonly views: Views) {
    const groups = byName(runs);
    this.root = groups.length > 0 ? el("section", { class: "figures", "aria-labelledby": "figures-title" }, el("h2", { id: "figures-title" }, "Figures"), ...groups.map((g) => this.figure(g))) : null;
  }

  private figure(shown: Shown[]): HTMLElement {
    const { name, caption } = shown[0].figure;
    const several = this.runs.length > 1;
    const common = shown.every((s) => s.figure.caption === caption);
    const columns = shown.map(({ run, figure }) => {
      const column = el("div", { class: "run-column" });
      if (several) column.append(el("h4", {}, el("span", { class: "letter" }, runLetter(run)), ` ${this.runs[run].name}`));
      this.fill(column, figure, run, several);
      if (!common && figure.caption) column.append(el("p", { class: "about" }, figure.caption));
      return column;
    });
    const body = el("div", { class: several ? "run-columns scroll" : "" }, ...columns);
    return el("figure", { class: "paper-figure", "data-name": name }, body, el("figcaption", {}, el("strong", {}, name), common && caption ? ` ${caption}` : ""));
  }

  private fill(column: HTMLElement, figure: Figure, run: number, several: boolean): void {
    const panels = figure.panels.filter((p) => p.curves.length > 0);
    const grid = el("div", { class: several ? "panels stacked" : panels.length > 1 ? "panels" : "panels alone" });
    const sheet = several || panels.length > 1 ? SHEET_COLUMN : SHEET_WIDTH;
    panels.forEach((panel, i) => this.views.add(new PlotView(plotOf(panel, figure, run, i), this.shared, sheet), grid));
    if (panels.length > 0) column.append(grid);
    if (figure.table) column.append(tableOf(figure.table));
    if (figure.image) column.append(imageOf(figure.image));
    if (!column.querySelector(".panels, table, img")) column.append(el("p", { class: "empty" }, "Nothing of this figure could be read."));
  }
}
