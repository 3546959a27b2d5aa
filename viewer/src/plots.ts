// SPDX-License-Identifier: Apache-2.0
// Plots that share zoom, cursor and the time of the 3D view. A plot is made when it comes into sight, or before printing.
import uPlot from "uplot";
import { isDrawable, linearRange, linearSplits, logRange, logSplits, powerBelow, ROUND_OFF, tickTexts, type Range } from "./axes";
import { button, el } from "./dom";
import type { Plot, Series } from "./groups";
import { dashes, palettes, type Theme } from "./palette";
import { valueAt, type Curve } from "./series";
import { extent, wayOf } from "./ways";
import { shortNumber, withUnit } from "./values";

export interface Shared {
  start: number;
  end: number;
  zoom: [number, number];
  time: number;
  theme: Theme;
  runNames: string[];
  seek(t: number): void;
  hover(t: number): void;
  setZoom(min: number, max: number): void;
}

// Runs of a comparison by letters, as their names are long.
export const runLetter = (run: number): string => String.fromCharCode(65 + (run % 26));

const HEIGHT = 190;
// Of a sheet of paper, in CSS pixels: all of it, and one of two columns.
export const SHEET_WIDTH = 680;
export const SHEET_COLUMN = 330;

// A curve as it is drawn: gaps where there is no number that an axis has. On a logarithmic axis what is below the floor lies on it; what is not
// positive too, unless gaps are wanted there.
function drawable({ time, y }: Curve, log: boolean, gaps: boolean, floor: number): Values {
  const there = (t: number, v: number): boolean => isDrawable(v) && isDrawable(t) && !(log && gaps && v <= 0);
  if (!log && y.every((v, i) => there(time[i], v))) return y;
  return Array.from(y, (v, i) => (!there(time[i], v) ? null : log && v < floor ? floor : v));
}
type Values = (number | null)[] | Float64Array;

// Samples without neighbours, which a line would not show.
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const out: number[] = [];
  const there = (i: number): boolean => typeof values[i] === "number" && !Number.isNaN(values[i]);
  // Undefined is where only other curves have a sample, and no gap.
  const next = (i: number, way: number): number => {
    do i += way;
    while (i >= 0 && i < values.length && values[i] === undefined);
    return i;
  };
  for (let i = 0; i < values.length; ++i) if (there(i) && !there(next(i, -1)) && !there(next(i, 1))) out.push(i);
  return out;
}

export class PlotView {
  readonly root: HTMLElement;
  private readonly host = el("div", { class: "plot-canvas" });
  private readonly legend = el("ul", { class: "legend", "aria-label": "curves" });
  private readonly nowLine = el("div", { class: "now-line" });
  private readonly values: HTMLElement[] = [];
  private curves: Curve[] = [];
  private drawn: Values[] = [];
  // What is smaller is round-off. Zero where nothing is; without logarithms where not all that is shown is.
  private floor = 0;
  private chart: uPlot | null = null;
  private pressedAt = NaN;
  private linePlace = "";
  // What is seen of a plot that is not over time; null: all.
  private own: Record<"x" | "y", [number, number] | null> = { x: null, y: null };

  constructor(readonly plot: Plot, private readonly shared: Shared, private readonly sheet = SHEET_COLUMN) {
    const unit = plot.unit && plot.unit !== "1" ? el("span", { class: "unit" }, plot.unit) : null;
    const about = plot.about ? el("p", { class: "about" }, plot.about) : null;
    this.host.style.minHeight = `${HEIGHT}px`;
    this.root = el("figure", { class: "plot", "data-key": plot.key }, el("figcaption", {}, plot.title ? el("h4", {}, plot.title, " ", unit) : null, about), this.host, this.legend);
    this.buildLegend();
  }

  private get overTime(): boolean {
    return this.plot.figure?.overTime ?? true;
  }
  get made(): boolean {
    return this.chart !== null;
  }

  private color(series: Series): string {
    const colors = palettes[this.shared.theme].series;
    return colors[series.color % colors.length];
  }
  private dash(series: Series): number[] {
    // Beyond one round of colours the same colour comes back dashed.
    const round = Math.floor(series.color / palettes.light.series.length);
    return series.dash ?? dashes[(series.run + round) % dashes.length];
  }
  private label(series: Series): string {
    return this.shared.runNames.length > 1 && !this.plot.figure ? `${series.label} ${runLetter(series.run)}`.trim() : series.label;
  }

  private buildLegend(): void {
    this.plot.series.forEach((series, i) => {
      const value = el("span", { class: "value" });
      this.values.push(value);
      const label = this.label(series) || this.plot.title || this.plot.figure?.y || "curve";
      const toggle = button(`show ${label}`, "", () => this.toggle(i, !series.on), { "aria-pressed": String(series.on) });
      toggle.append(el("span", { class: "swatch", "aria-hidden": "true" }), el("span", { class: "name" }, label), value);
      const [lower, upper] = series.limits;
      if (lower !== undefined || upper !== undefined) toggle.append(el("span", { class: "limit" }, `${shortNumber(lower ?? -Infinity)} … ${shortNumber(upper ?? Infinity)}`));
      this.legend.append(el("li", {}, toggle));
    });
    this.paintLegend();
  }

  private paintLegend(): void {
    this.legend.querySelectorAll<HTMLElement>("button").forEach((toggle, i) => {
      const series = this.plot.series[i];
      toggle.setAttribute("aria-pressed", String(series.on));
      const swatch = toggle.querySelector<HTMLElement>(".swatch")!;
      swatch.style.borderTopColor = this.color(series);
      const dash = this.dash(series);
      swatch.style.borderTopStyle = dash.length === 0 ? "solid" : dash[0] > 4 ? "dashed" : "dotted";
    });
  }

  toggle(i: number, on: boolean): void {
    this.plot.series[i].on = on;
    this.chart?.setSeries(i + 1, { show: on });
    this.refresh();
    this.paintLegend();
    this.showValues(this.shared.time);
  }

  // What is at round-off: below the least of what the curves say of themselves; on a logarithmic axis, without a word of theirs below the square of round-off beside
  // the largest number. Told where a curve that is shown is there.
  private findFloor(): void {
    this.floor = 0;
    let [known, least, most] = [Infinity, Infinity, 0];
    this.plot.series.forEach((series, i) => {
      if (!series.on) return;
      const own = series.floor?.() ?? 0;
      least = Math.min(least, own);
      if (own > 0) known = Math.min(known, own);
      const size = this.plot.log ? (v: number): number => v : Math.abs;
      for (const v of this.curves[i].y) if (isDrawable(v) && size(v) > most) most = size(v);
    });
    if (!this.plot.log) {
      if (most > 0 && most < least && least < Infinity) this.floor = least;
      return;
    }
    const level = powerBelow(known < Infinity ? known : most > 0 ? ROUND_OFF ** 2 * most : ROUND_OFF);
    const gaps = this.plot.figure !== undefined;
    const below = this.shownCurves().some(({ y }) => y.some((v) => v < level && (v > 0 || (!gaps && isDrawable(v)))));
    this.floor = below ? level : 0;
  }

  // All curves over one axis of times; where only some have a sample the others are joined through. Each may have times of its own, so
  // what is not shown is left out.
  private table(): uPlot.AlignedData {
    this.curves = this.plot.series.map((s) => s.read());
    this.findFloor();
    const values = (c: Curve): Values => drawable(c, this.plot.log, this.plot.figure !== undefined, this.floor);
    this.drawn = this.curves.map(values);
    if (!this.overTime) return [null, ...this.curves.map((c, i) => [c.time, this.drawn[i]])] as unknown as uPlot.AlignedData;
    const first = this.curves[0]?.time;
    if (this.curves.every((c) => c.time === first)) return [first ?? [], ...this.drawn] as unknown as uPlot.AlignedData;
    const shown = this.plot.series.map((_, i) => i).filter((i) => this.plot.series[i].on);
    // A gap is one also where others have samples within it.
    const gaps = shown.map(() => [1, 2] as uPlot.JoinNullMode[]);
    const joined = shown.length > 0 ? uPlot.join(shown.map((i) => [this.curves[i].time, this.drawn[i]] as unknown as uPlot.AlignedData), gaps) : [[]];
    return [joined[0], ...this.curves.map((_, i) => joined[shown.indexOf(i) + 1 || joined.length] ?? [])] as uPlot.AlignedData;
  }

  make(): void {
    if (this.chart) return;
    const width = Math.max(240, this.host.clientWidth);
    this.chart = new uPlot(this.options(width), this.table(), this.host);
    if (this.overTime) this.chart.over.append(this.nowLine);
    this.host.style.minHeight = "";
    this.host.setAttribute("role", "img");
    this.describe();
    this.bindPointer(this.chart);
    this.setTime(this.shared.time);
  }

  // For those who do not see it.
  private describe(): void {
    const { title, figure, series } = this.plot;
    const count = series.filter((s) => s.on).length;
    this.host.setAttribute("aria-label", [`${title || figure?.y || "plot"} over ${figure?.x || "time"}, ${count} ${count === 1 ? "curve" : "curves"}`, this.floorText()].filter(Boolean).join("; "));
  }

  private options(width: number): uPlot.Options {
    const muted = (): string => palettes[this.shared.theme].muted;
    const grid = { stroke: (): string => palettes[this.shared.theme].line, width: 1 };
    const font = "11px system-ui, sans-serif";
    // uPlot looks for increments among its own, which end at 1e-16 of a number: ticks are found here, from any increment that it takes.
    const across = (u: uPlot, i: number): number => Math.max(2, i === 0 ? Math.floor(u.width / 90) : Math.floor(u.height / 40));
    const axis: uPlot.Axis = {
      stroke: muted,
      grid,
      ticks: { ...grid, size: 4 },
      font,
      labelFont: font,
      labelSize: 16,
      labelGap: 0,
      incrs: [Number.MAX_VALUE],
      splits: (u, i, min, max) => linearSplits(min, max, across(u, i)),
      values: (_, splits) => tickTexts(splits),
    };
    const logarithmic: uPlot.Axis = { ...axis, splits: (u, i, min, max) => logSplits(min, max, across(u, i) + 3) };
    const wide = (_: uPlot, texts: string[] | null): number => Math.max(54, 14 + 6.5 * Math.max(0, ...(texts ?? []).map((t) => t.length)));
    const { log, figure } = this.plot;
    const drag = this.overTime ? { x: true, y: false, setScale: false } : { x: true, y: true, uni: 24, setScale: false };
    const showAll = (): null => {
      if (this.overTime) this.shared.setZoom(this.shared.start, this.shared.end);
      else this.resetOwnZoom();
      return null;
    };
    return {
      width,
      height: HEIGHT,
      ...(this.overTime ? {} : { mode: 2 as const }),
      legend: { show: false },
      cursor: { ...(this.overTime ? { sync: { key: "invar" } } : {}), drag, points: { size: 5, show: this.overTime }, bind: { dblclick: () => showAll } },
      scales: this.scales(),
      axes: [{ ...(figure?.logX ? logarithmic : axis), size: 30, label: figure?.x || undefined }, { ...(log ? logarithmic : axis), size: wide, label: figure?.y || undefined }],
      series: [{}, ...this.plot.series.map((series) => this.seriesOptions(series))],
      hooks: {
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.hovered(u)],
        drawSeries: [(u, i) => this.drawLimits(u, i)],
        draw: [(u) => this.drawFloor(u), () => this.placeNow()],
      },
    };
  }

  private scales(): uPlot.Scales {
    const { log, figure } = this.plot;
    if (!this.overTime) {
      const scale = (axis: "x" | "y", logarithm: boolean): uPlot.Scale => ({ time: false, distr: logarithm ? 3 : 1, log: 10, range: () => this.own[axis] ?? this.ownRange(axis, logarithm) });
      return { x: scale("x", figure!.logX), y: scale("y", log) };
    }
    const x: uPlot.Scale = { time: false, range: () => this.shared.zoom };
    return { x, y: log ? { distr: 3, log: 10, range: (_, low, high) => this.logarithms(low, high) } : { range: (_, low, high) => this.range(low, high) } };
  }
  private ownRange(axis: "x" | "y", logarithm: boolean): Range {
    const [low, high] = extent(this.shownCurves(), axis, this.plot.figure!.logX, this.plot.log);
    if (!logarithm) return linearRange(low, high);
    return axis === "y" ? this.logarithms(low, high) : logRange(low, high);
  }
  // The floor lies within sight, with room for its name.
  private logarithms(low: number | null, high: number | null): Range {
    const [from, to] = logRange(low === null ? low : Math.max(low, this.floor), high === null ? high : Math.max(high, this.floor));
    if (!(this.floor > 0)) return [from, to];
    // A window without numbers has no upper end of its own.
    const top = to > this.floor ? to : 10 * this.floor;
    return [this.floor / Math.pow(top / this.floor, 0.12), top];
  }
  private shownCurves(): Curve[] {
    return this.curves.filter((_, i) => this.plot.series[i].on);
  }

  private seriesOptions(series: Series): uPlot.Series {
    const own = this.overTime ? {} : { facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths: (u: uPlot, i: number) => wayOf(u, { time: this.curves[i - 1].time, y: this.drawn[i - 1] }, this.plot.figure!.logX, this.plot.log) };
    return { label: series.label, show: series.on, stroke: () => this.color(series), width: series.dash?.length ? 1.1 : 1.5, dash: this.dash(series), points: { show: true, size: 3, width: 0, fill: () => this.color(series), filter: (u, i) => (this.overTime ? alone(u.data[i] as ArrayLike<number | null>) : []) }, ...own };
  }

  // Room above and below; limits are within sight unless they would flatten the curves.
  private range(low: number | null, high: number | null): [number, number] {
    if (low === null || high === null) return linearRange(low, high);
    // Noise is not blown up: the floor is within sight, with room for its name.
    if (this.floor > 0) return [low < 0 ? -1.4 * this.floor : 0, 1.4 * this.floor];
    const most = Math.max(Math.abs(low), Math.abs(high));
    for (const series of this.plot.series) {
      for (const limit of series.on ? series.limits : []) {
        if (typeof limit === "number" && Math.abs(limit) < 4 * most) [low, high] = [Math.min(low, limit), Math.max(high, limit)];
      }
    }
    return linearRange(low, high);
  }

  // A line where round-off begins, and what it is; where numbers have signs, on both sides.
  private drawFloor(u: uPlot): void {
    if (!(this.floor > 0)) return;
    if (!this.plot.log) this.drawFloorAt(u, -this.floor, "");
    this.drawFloorAt(u, this.floor, this.floorText());
  }
  private drawFloorAt(u: uPlot, value: number, text: string): void {
    const y = Math.round(u.valToPos(value, "y", true));
    const { left, top, width, height } = u.bbox;
    if (!(y >= top && y <= top + height)) return;
    u.ctx.save();
    u.ctx.strokeStyle = u.ctx.fillStyle = palettes[this.shared.theme].muted;
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([1 * devicePixelRatio, 3 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(left, y);
    u.ctx.lineTo(left + width, y);
    u.ctx.stroke();
    u.ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
    u.ctx.textAlign = "right";
    u.ctx.textBaseline = "top";
    u.ctx.fillText(text, left + width - 4 * devicePixelRatio, y + 2 * devicePixelRatio);
    u.ctx.restore();
  }
  // Empty where nothing is at round-off.
  floorText(): string {
    return this.floor > 0 ? `below ${withUnit(this.floor, this.plot.unit)}: round-off` : "";
  }

  private drawLimits(u: uPlot, index: number): void {
    const series = this.plot.series[index - 1];
    if (!series?.on) return;
    for (const limit of series.limits) {
      if (typeof limit !== "number") continue;
      const y = Math.round(u.valToPos(limit, "y", true));
      if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) continue;
      u.ctx.save();
      u.ctx.strokeStyle = this.color(series);
      u.ctx.lineWidth = devicePixelRatio;
      u.ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
      u.ctx.beginPath();
      u.ctx.moveTo(u.bbox.left, y);
      u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
      u.ctx.stroke();
      u.ctx.restore();
    }
  }

  private selected(u: uPlot): void {
    if (u.select.width < 4 && (this.overTime || u.select.height < 4)) return;
    const [min, max] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
    const [low, high] = [u.posToVal(u.select.top + u.select.height, "y"), u.posToVal(u.select.top, "y")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (this.overTime) return this.shared.setZoom(min, max);
    this.own = { x: [min, max], y: [low, high] };
    this.applyOwn();
  }

  // Only the plot under the pointer speaks; the others are told by uPlot's own synchronisation.
  private hovered(u: uPlot): void {
    const left = u.cursor.left ?? -1;
    if (this.overTime && left >= 0 && u.over.matches(":hover") && u.cursor.event) this.shared.hover(u.posToVal(left, "x"));
  }

  private bindPointer(u: uPlot): void {
    u.over.addEventListener("pointerdown", (e) => (this.pressedAt = e.clientX));
    u.over.addEventListener("click", (e) => {
      if (!this.overTime || Math.abs(e.clientX - this.pressedAt) > 3) return;
      this.shared.seek(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, "x"));
    });
  }

  setZoom(): void {
    if (this.overTime) this.chart?.setScale("x", { min: this.shared.zoom[0], max: this.shared.zoom[1] });
  }

  resetOwnZoom(): void {
    if (!this.own.x && !this.own.y) return;
    this.own = { x: null, y: null };
    this.applyOwn();
  }
  // Ranges are asked for anew.
  private applyOwn(): void {
    this.chart?.setData(this.chart.data);
  }
  // What is seen, for tests.
  ranges(): { x: [number, number]; y: [number, number] } | null {
    const scales = this.chart?.scales;
    return scales ? { x: [scales.x.min ?? NaN, scales.x.max ?? NaN], y: [scales.y.min ?? NaN, scales.y.max ?? NaN] } : null;
  }

  // Texts of the vertical axis, for tests.
  ticks(): string[] {
    const axis = this.chart?.axes[1] as { _values?: string[] } | undefined;
    return axis?._values ?? [];
  }

  setTime(t: number): void {
    this.placeNow();
    this.showValues(t);
  }

  placeNow(): void {
    const u = this.chart;
    if (!u || !this.overTime) return;
    const inside = this.shared.time >= this.shared.zoom[0] && this.shared.time <= this.shared.zoom[1];
    const place = inside ? `translateX(${u.valToPos(this.shared.time, "x")}px)` : "";
    if (place === this.linePlace) return;
    this.linePlace = place;
    this.nowLine.hidden = !inside;
    this.nowLine.style.transform = place;
  }
  // Where the line of the present time stands, as a time.
  lineTime(): number {
    const match = /translateX\(([-\d.e]+)px\)/.exec(this.nowLine.style.transform);
    return this.chart && match ? this.chart.posToVal(Number(match[1]), "x") : NaN;
  }

  private showValues(t: number): void {
    if (!this.chart || !this.overTime) return;
    this.plot.series.forEach((series, i) => {
      const text = series.on ? withUnit(valueAt(this.curves[i], t), "") : "";
      if (this.values[i].textContent !== text) this.values[i].textContent = text;
    });
  }

  refresh(): void {
    if (!this.chart) return;
    this.chart.setData(this.table());
    this.describe();
    this.setZoom();
    this.setTime(this.shared.time);
  }
  setTheme(): void {
    this.paintLegend();
    this.chart?.redraw(false);
  }
  resize(onSheet: boolean): void {
    if (!this.chart) return;
    this.chart.setSize({ width: onSheet ? this.sheet : Math.max(240, this.host.clientWidth), height: HEIGHT });
    this.placeNow();
  }
}
