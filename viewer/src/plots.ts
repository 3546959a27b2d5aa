// SPDX-License-Identifier: Apache-2.0
// Plots that share zoom, cursor and the time of the 3D view. A plot is made when it comes into sight, or before printing.
import uPlot from "uplot";
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

// Logarithms have no zero: what is zero is drawn at the smallest number of its curve that is not, or as a gap.
function drawable(curve: Curve, log: boolean, gaps: boolean): (number | null)[] | Float64Array {
  if (!log && !curve.y.some(Number.isNaN)) return curve.y;
  let least = Infinity;
  if (log && !gaps) for (const v of curve.y) if (v > 0 && v < least) least = v;
  return Array.from(curve.y, (v) => (Number.isNaN(v) ? null : log && v <= 0 ? (least < Infinity ? least : null) : v));
}

export class PlotView {
  readonly root: HTMLElement;
  private readonly host = el("div", { class: "plot-canvas" });
  private readonly legend = el("ul", { class: "legend", "aria-label": "curves" });
  private readonly nowLine = el("div", { class: "now-line" });
  private readonly values: HTMLElement[] = [];
  private curves: Curve[] = [];
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
    if (on) this.refresh();
    this.paintLegend();
    this.showValues(this.shared.time);
  }

  // All curves over one axis of times; where only some have a sample the others are joined through. Each may have times of its own, so
  // what is not shown is left out.
  private table(): uPlot.AlignedData {
    this.curves = this.plot.series.map((s) => s.read());
    if (!this.overTime) return [null, ...this.curves.map((c) => [c.time, c.y])] as unknown as uPlot.AlignedData;
    const values = (c: Curve) => drawable(c, this.plot.log, this.plot.figure !== undefined);
    const first = this.curves[0]?.time;
    if (this.curves.every((c) => c.time === first)) return [first ?? [], ...this.curves.map(values)] as unknown as uPlot.AlignedData;
    const shown = this.plot.series.map((_, i) => i).filter((i) => this.plot.series[i].on);
    // A gap is one also where others have samples within it.
    const gaps = shown.map(() => [1, 2] as uPlot.JoinNullMode[]);
    const joined = shown.length > 0 ? uPlot.join(shown.map((i) => [this.curves[i].time, values(this.curves[i])] as unknown as uPlot.AlignedData), gaps) : [[]];
    return [joined[0], ...this.curves.map((_, i) => joined[shown.indexOf(i) + 1 || joined.length] ?? [])] as uPlot.AlignedData;
  }

  make(): void {
    if (this.chart) return;
    const width = Math.max(240, this.host.clientWidth);
    this.chart = new uPlot(this.options(width), this.table(), this.host);
    if (this.overTime) this.chart.over.append(this.nowLine);
    this.host.style.minHeight = "";
    this.host.setAttribute("role", "img");
    const { title, figure, series } = this.plot;
    this.host.setAttribute("aria-label", `${title || figure?.y || "plot"} over ${figure?.x || "time"}, ${series.length} curves`);
    this.bindPointer(this.chart);
    this.setTime(this.shared.time);
  }

  private options(width: number): uPlot.Options {
    const muted = (): string => palettes[this.shared.theme].muted;
    const grid = { stroke: (): string => palettes[this.shared.theme].line, width: 1 };
    const font = "11px system-ui, sans-serif";
    const axis: uPlot.Axis = { stroke: muted, grid, ticks: { ...grid, size: 4 }, font, labelFont: font, labelSize: 16, labelGap: 0, values: (_, splits) => splits.map((v) => (v === null ? "" : shortNumber(v))) };
    // Among logarithms only powers of ten have lines.
    const filter = (_: uPlot, splits: number[]): (number | null)[] => splits.map((v) => (Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9 ? v : null));
    const logarithmic: uPlot.Axis = { ...axis, space: 24, grid: { ...grid, filter }, ticks: { ...grid, size: 4, filter } };
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
      axes: [{ ...(figure?.logX ? logarithmic : axis), size: 30, label: figure?.x || undefined }, { ...(log ? logarithmic : axis), size: 54, label: figure?.y || undefined }],
      series: [{}, ...this.plot.series.map((series) => this.seriesOptions(series))],
      hooks: {
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.hovered(u)],
        drawSeries: [(u, i) => this.drawLimits(u, i)],
        draw: [() => this.placeNow()],
      },
    };
  }

  private scales(): uPlot.Scales {
    const { log, figure } = this.plot;
    if (!this.overTime) {
      const scale = (axis: "x" | "y", logarithm: boolean): uPlot.Scale => ({ time: false, distr: logarithm ? 3 : 1, log: 10, range: () => this.own[axis] ?? extent(this.shownCurves(), axis, figure!.logX, log) });
      return { x: scale("x", figure!.logX), y: scale("y", log) };
    }
    const x: uPlot.Scale = { time: false, range: () => this.shared.zoom };
    return { x, y: log ? { distr: 3, log: 10 } : { range: (_, low, high) => this.range(low, high) } };
  }
  private shownCurves(): Curve[] {
    return this.curves.filter((_, i) => this.plot.series[i].on);
  }

  private seriesOptions(series: Series): uPlot.Series {
    const own = this.overTime ? {} : { facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths: (u: uPlot, i: number) => wayOf(u, this.curves[i - 1], this.plot.figure!.logX, this.plot.log) };
    return { label: series.label, show: series.on, stroke: () => this.color(series), width: series.dash?.length ? 1.1 : 1.5, dash: this.dash(series), points: { show: false }, ...own };
  }

  // Room above and below; limits are within sight unless they would flatten the curves.
  private range(low: number | null, high: number | null): [number, number] {
    if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    const most = Math.max(Math.abs(low), Math.abs(high));
    for (const series of this.plot.series) {
      for (const limit of series.on ? series.limits : []) {
        if (typeof limit === "number" && Math.abs(limit) < 4 * most) [low, high] = [Math.min(low, limit), Math.max(high, limit)];
      }
    }
    const pad = high > low ? 0.06 * (high - low) : Math.max(1e-12, 0.1 * Math.abs(high));
    return [low - pad, high + pad];
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
