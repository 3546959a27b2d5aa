// SPDX-License-Identifier: Apache-2.0
// A page out of data: header, verdicts, motion and plots, tied to one clock.
import { nearestSample, type Data } from "./data";
import { button, el } from "./dom";
import { bindKeys, keys, panel, timeText, transport, type Panel } from "./controls";
import { Gallery } from "./gallery";
import { Player } from "./player";
import { runLetter, type Shared } from "./plots";
import { bindPrinting } from "./print";
import { Stage } from "./stage";
import { watchTheme } from "./theme";
import { header, verdicts, warnings } from "./verdicts";
import { Views } from "./views";
import { Wall } from "./wall";

// The times at which bodies were recorded; without bodies, those of the longest channel.
function poseTimes(data: Data): Float64Array {
  let best = new Float64Array(0);
  for (const run of data.runs) {
    for (const channel of run.channels.values()) {
      const poses = /^bodies\/[^/]+\/p$/.test(channel.path);
      if (poses && channel.time.length > 0) return channel.time as Float64Array<ArrayBuffer>;
      if (channel.time.length > best.length) best = channel.time as Float64Array<ArrayBuffer>;
    }
  }
  return best;
}

function span(data: Data): [number, number] {
  let [start, end] = [Infinity, -Infinity];
  for (const run of data.runs) {
    const figures = run.figures.flatMap((f) => f.panels.filter((p) => p.time).flatMap((p) => p.curves.map((c) => c.x)));
    for (const time of [...[...run.channels.values()].map((c) => c.time), ...figures]) {
      if (time.length === 0) continue;
      start = Math.min(start, time[0]);
      end = Math.max(end, time[time.length - 1]);
    }
  }
  return start <= end ? [start, end] : [0, 0];
}

export class Page {
  readonly player: Player;
  readonly views: Views;
  private readonly wall: Wall;
  private gallery: Gallery;
  stage: Stage | null = null;
  private readonly shared: Shared;
  private readonly said = el("p", { class: "unseen", "aria-live": "polite", id: "said" });
  private readonly theme = watchTheme((theme) => {
    this.shared.theme = theme;
    this.stage?.setTheme(theme);
    this.views.setTheme();
  });
  private panel: Panel | null = null;
  private head: HTMLElement;
  private verdict: HTMLElement;
  private lastValues = 0;
  private lastLines = 0;
  private valuesDue = false;
  private showTime = (): void => undefined;
  private frames: number[] = [];

  constructor(private readonly host: HTMLElement, readonly data: Data, notices: string) {
    const [start, end] = span(data);
    this.player = new Player(start, end, poseTimes(data));
    this.shared = this.makeShared(start, end);
    this.views = new Views(this.shared);
    this.gallery = new Gallery(data.runs, this.shared, this.views);
    this.wall = new Wall(data.runs, this.shared, this.views, data.live);
    this.head = header(data);
    this.verdict = verdicts(data);
    this.assemble(notices);
    this.player.onTime((t) => this.timeChanged(t));
    bindPrinting(this.host.querySelector<HTMLElement>(".motion")!, this.stage, this.views, this.player, this.theme);
    addEventListener("resize", () => this.resize());
    requestAnimationFrame((wall) => this.frame(wall));
  }

  private makeShared(start: number, end: number): Shared {
    return {
      start,
      end,
      zoom: [start, end > start ? end : start + 1],
      time: start,
      theme: this.theme.current(),
      runNames: this.data.runs.map((run) => run.name),
      seek: (t) => this.player.seek(t),
      hover: (t) => {
        if (this.wall.followCursor && !this.player.playing) this.player.seek(t);
      },
      setZoom: (min, max) => {
        this.shared.zoom = max > min ? [min, max] : [min, min + 1];
        this.views.setZoom();
        if (min <= this.shared.start && max >= this.shared.end) this.views.resetOwnZoom();
      },
    };
  }

  private assemble(notices: string): void {
    const help = this.dialog("Keys", el("table", { class: "keys" }, ...keys.map(([key, what]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, what)))));
    const about = this.dialog("About this page", el("p", {}, "Made by Invar (Apache-2.0). The page needs no network. It contains:"), el("pre", {}, notices));
    const tools = el(
      "nav",
      { class: "tools", "aria-label": "page" },
      button("light or dark", "◐", () => this.theme.toggle(), { id: "theme" }),
      button("keys", "?", () => help.showModal(), { id: "help" }),
      button("about this page", "i", () => about.showModal(), { id: "about" }),
    );
    const motion = el("section", { class: "motion", "aria-labelledby": "motion-title" }, el("h2", { id: "motion-title", class: "unseen" }, "Motion"));
    const warning = warnings(this.data);
    const top = el("div", { class: "top" }, this.head, tools);
    const study = this.data.runs.length > 0 && this.data.runs.every((run) => run.study);
    const side = el("div", { class: "side" }, this.verdict, this.gallery.root, study ? null : this.wall.root);
    this.host.replaceChildren(top, ...(warning ? [warning] : []), el("main", { class: study ? "columns study" : "columns" }, motion, side), this.said, help, about);
    if (!study) this.buildMotion(motion);
    bindKeys(this.player, this.stage, {
      followNext: () => this.panel?.followNext(),
      toggleStiffness: () => this.panel?.toggle("stiffness"),
      toggleTheme: () => this.theme.toggle(),
      zoomIn: () => this.zoomIn(),
      zoomOut: () => this.shared.setZoom(this.shared.start, this.shared.end),
      help: () => help.showModal(),
    });
  }

  private buildMotion(motion: HTMLElement): void {
    const canvas = el("div", { class: "canvas" });
    motion.append(canvas);
    const say = (text: string): void => void (this.said.textContent = text);
    const drawable = this.data.runs.some((run) => run.scene || [...run.channels.keys()].some((p) => /^bodies\/[^/]+\/p$/.test(p)));
    if (!drawable) {
      canvas.append(el("p", { class: "empty" }, "No bodies were recorded: there is no motion to show."));
    } else {
      try {
        this.stage = new Stage(canvas, this.data.runs, this.theme.current(), this.data.live);
        this.stage.canvas.setAttribute("role", "img");
        this.stage.canvas.setAttribute("aria-label", "the mechanism in 3D");
      } catch (error) {
        canvas.append(el("p", { class: "empty" }, `The 3D view needs WebGL, which this browser does not give (${error instanceof Error ? error.message : String(error)}). Verdicts and plots are complete.`));
      }
    }
    if (this.stage && this.data.runs.length > 1) canvas.append(this.runKey());
    const { root, show } = transport(this.player, say);
    motion.append(root);
    this.showTime = show;
    if (!this.stage) return;
    this.traceTips(this.stage);
    this.panel = panel(this.stage, say);
    motion.append(this.panel.root);
    this.stage.seek(this.player.time);
    this.panel.setTime(this.player.time);
  }

  private runKey(): HTMLElement {
    const rows = this.data.runs.map((run, i) => el("li", {}, el("span", { class: `dot dot-${i % 8}`, "aria-hidden": "true" }), `${runLetter(i)} ${run.name}`));
    return el("ul", { class: "run-key", "aria-label": "runs by colour" }, ...rows);
  }

  // Paths worth seeing at first: bodies that follow a reference, or else those at the ends of the mechanism.
  private traceTips(stage: Stage): void {
    for (const mechanism of stage.mechanisms) {
      const led = mechanism.references.map((r) => r.body).filter((b) => b >= 0);
      const parents = new Set(mechanism.run.scene?.joints.map((j) => j.parent));
      const tips = mechanism.names.map((_, i) => i).filter((i) => !parents.has(i));
      for (const body of led.length > 0 ? led : tips.slice(0, 3)) mechanism.setTrace(body, true);
    }
  }

  private dialog(title: string, ...content: HTMLElement[]): HTMLDialogElement {
    const made = el("dialog", { "aria-label": title }, el("h2", {}, title), ...content);
    made.append(button("close", "Close", () => made.close()));
    return made;
  }

  private zoomIn(): void {
    const half = 0.25 * (this.shared.zoom[1] - this.shared.zoom[0]);
    this.shared.setZoom(Math.max(this.shared.start, this.player.time - half), Math.min(this.shared.end, this.player.time + half));
  }

  private timeChanged(t: number): void {
    this.shared.time = t;
    this.stage?.seek(t);
    this.valuesDue = true;
  }

  private resize(): void {
    this.stage?.resize();
    this.views.resize();
  }

  private frame(wall: number): void {
    this.player.tick(wall);
    if (this.stage?.frame(wall)) this.frames.push(wall);
    if (this.frames.length > 200) this.frames.splice(0, 100);
    if (this.valuesDue) this.showValues(wall);
    requestAnimationFrame((next) => this.frame(next));
  }
  // Time, lines and numbers need not change faster than anybody reads, and do so in the same frame: a page that changes in one place only is
  // drawn faster.
  private showValues(wall: number): void {
    const [lines, values] = this.stage?.slow ? [200, 600] : [90, 300];
    if (this.player.playing && wall - this.lastLines < lines) return;
    this.lastLines = wall;
    if (this.player.playing) this.showTime();
    if (this.player.playing && wall - this.lastValues < values) return this.views.setLines();
    this.valuesDue = false;
    this.lastValues = wall;
    this.views.setTime(this.player.time);
    this.panel?.setTime(this.player.time);
  }
  framesPerSecond(): number {
    const n = this.frames.length;
    return n < 2 ? 0 : (1000 * (n - 1)) / (this.frames[n - 1] - this.frames[0]);
  }
  resetFrames(): void {
    this.frames = [];
  }

  // A live run has grown, or ended.
  grown(): void {
    const times = poseTimes(this.data);
    const [start, end] = span(this.data);
    const whole = this.shared.zoom[0] <= this.shared.start && this.shared.zoom[1] >= this.shared.end;
    if (this.shared.end <= this.shared.start) this.player.start = start;
    this.shared.start = start;
    this.shared.end = end;
    if (whole) this.shared.zoom = [start, end > start ? end : start + 1];
    this.player.extend(times, end);
    this.stage?.grow();
    this.views.refresh();
  }
  ended(message: string | null): void {
    this.grown();
    const fresh = header(this.data);
    this.head.replaceWith(fresh);
    this.head = fresh;
    const judged = verdicts(this.data);
    this.verdict.replaceWith(judged);
    this.verdict = judged;
    // Figures are made from the whole recording, and come with its end.
    this.gallery = new Gallery(this.data.runs, this.shared, this.views);
    if (this.gallery.root) this.wall.root.before(this.gallery.root);
    this.views.refresh(true);
    this.stage?.reframe();
    if (message) this.warn(message);
    this.said.textContent = message ?? `the run has ended at ${timeText(this.player.end)}`;
  }
  warn(message: string): void {
    this.host.querySelector("main")?.before(el("div", { class: "warnings", role: "alert" }, el("p", {}, `⚠ ${message}`)));
  }

  // Numbers as the page has them, for tests and for people with a console.
  sample(path: string, t: number, run = 0): number[] | null {
    const channel = this.data.runs[run]?.channels.get(path);
    if (!channel) return null;
    const i = nearestSample(channel.time, t);
    return i < 0 ? null : [...channel.y.subarray(channel.size * i, channel.size * (i + 1))];
  }
}
