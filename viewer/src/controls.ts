// SPDX-License-Identifier: Apache-2.0
// Everything to press: playing, views, what is drawn, bodies; the same by keyboard, and told to screen readers.
import { plainName } from "./data";
import { button, checkbox, el } from "./dom";
import { icon, type Icon } from "./icons";
import { fieldLayers, type FieldLayer } from "./fields";
import { layerColors, layers, type Layer } from "./mechanism";
import { palettes } from "./palette";
import { runLetter } from "./plots";
import { speeds, type Player } from "./player";
import type { Stage, View } from "./stage";
import { shortNumber, withUnit } from "./values";

const layerWords: Record<Layer, string> = {
  joints: "Joints",
  frames: "Frames",
  tendons: "Tendons and springs",
  obstacles: "Obstacles",
  reactions: "Reaction forces",
  moments: "Reaction moments",
  loads: "Forces on bodies",
  load_moments: "Moments on bodies",
  com: "Centre of mass",
  momentum: "Momentum",
  ghost: "Reference",
  stiffness: "Stiffness",
};
const atFirst: Layer[] = ["joints", "tendons", "obstacles", "loads", "load_moments", "ghost", "stiffness"];
// Signs of more joints than these hide the mechanism and cost as much as its bodies; they begin hidden.
const MANY_JOINTS = 60;

export const timeText = (t: number): string => `${t.toFixed(3)} s`;

function iconButton(label: string, sign: Icon, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = button(label, "", act, { class: "icon", ...attributes });
  made.append(icon(sign));
  return made;
}

// Play, pause, scrub, step, loop, speed. While time runs, whoever made it says when to show that.
export function transport(player: Player, say: (text: string) => void): { root: HTMLElement; show(): void } {
  const play = iconButton("play", "play", () => player.toggle(), { id: "play", class: "icon primary" });
  const loop = iconButton("loop", "loop", () => player.setLoop(!player.loop), { id: "loop", "aria-pressed": "false" });
  const slider = el("input", { type: "range", id: "time", min: "0", max: "10000", step: "1", value: "0", "aria-label": "time" });
  const readout = el("output", { id: "time-text", for: "time" });
  const speed = el("select", { id: "speed", "aria-label": "speed" }, ...speeds.map((s) => el("option", { value: String(s) }, `${s} ×`)));
  slider.addEventListener("input", () => {
    // Pausing puts the slider where the time is, so its own wish is read first.
    const share = Number(slider.value) / 10000;
    player.pause();
    player.seek(player.start + share * (player.end - player.start));
  });
  speed.addEventListener("change", () => player.setSpeed(Number(speed.value)));
  const show = (): void => {
    const span = player.end - player.start;
    slider.value = String(span > 0 ? Math.round((10000 * (player.time - player.start)) / span) : 0);
    readout.textContent = timeText(player.time);
    slider.setAttribute("aria-valuetext", timeText(player.time));
  };
  let wasPlaying = false;
  player.onTime(() => {
    if (!player.playing) show();
  });
  player.onState(() => {
    play.replaceChildren(icon(player.playing ? "pause" : "play"));
    play.setAttribute("aria-label", player.playing ? "pause" : "play");
    play.title = player.playing ? "pause (space)" : "play (space)";
    loop.setAttribute("aria-pressed", String(player.loop));
    speed.value = String(player.speed);
    show();
    if (wasPlaying !== player.playing) say(player.playing ? `playing at ${player.speed} times speed` : `paused at ${timeText(player.time)}`);
    wasPlaying = player.playing;
  });
  speed.value = "1";
  show();
  const root = el(
    "div",
    { class: "transport", role: "group", "aria-label": "playback" },
    iconButton("to the start", "first", () => player.seek(player.start), { id: "first" }),
    iconButton("one sample back", "back", () => player.step(-1), { id: "back" }),
    play,
    iconButton("one sample on", "next", () => player.step(1), { id: "next" }),
    iconButton("to the end", "last", () => player.seek(player.end), { id: "last" }),
    slider,
    readout,
    speed,
    loop,
  );
  return { root, show };
}

const views: [View, string][] = [["front", "Front"], ["side", "Side"], ["top", "Top"], ["oblique", "Oblique"]];

export interface Panel {
  root: HTMLElement;
  setTime(t: number): void;
  toggle(layer: Layer): void;
  followNext(): void;
}

// Views, layers and bodies of the 3D view.
export function panel(stage: Stage, say: (text: string) => void): Panel {
  const root = el("div", { class: "panel" });
  const viewGroup = el("div", { class: "row", role: "group", "aria-label": "views" });
  for (const [view, text] of views) viewGroup.append(button(`${text.toLowerCase()} view`, text, () => stage.setView(view), { id: `view-${view}` }));
  const names = stage.mechanisms[0]?.names ?? [];
  const follow = el("select", { id: "follow", "aria-label": "body that the camera follows" }, el("option", { value: "-1" }, "follow nobody"), ...names.map((n, i) => el("option", { value: String(i) }, `follow ${n}`)));
  follow.addEventListener("change", () => stage.follow(Number(follow.value)));
  viewGroup.append(follow);
  const compare = stage.mechanisms.length > 1 ? checkbox("Runs side by side", true, (on) => stage.setSideBySide(on)) : null;
  if (compare) viewGroup.append(compare);

  const show = el("fieldset", { class: "layers" }, el("legend", {}, "Show"));
  for (const layer of layers) {
    const crowded = layer === "joints" && stage.mechanisms.some((m) => (m.run.scene?.joints.length ?? 0) > MANY_JOINTS);
    const on = atFirst.includes(layer) && !crowded;
    if (!stage.mechanisms.some((m) => m.has(layer))) continue;
    stage.setLayer(layer, on);
    const box = checkbox(layerWords[layer], on, (now) => stage.setLayer(layer, now));
    box.dataset.layer = layer;
    box.append(...layerKey(stage, layer));
    show.append(box);
  }
  show.append(checkbox("Grid", true, (on) => stage.setLayer("grid", on)));
  const scale = el("input", { type: "range", id: "arrow-scale", min: "-2", max: "3", step: "0.1", value: "0" });
  scale.addEventListener("input", () => stage.setArrowScale(2 ** Number(scale.value)));
  if (fieldLayers.some((l) => stage.mechanisms.some((m) => m.has(l)))) {
    show.append(el("label", { for: "arrow-scale", class: "check" }, "Arrows ", scale));
  }
  const { rows, setTime } = principalValues(stage);
  root.append(viewGroup, show, rows, bodyList(stage, names));
  const toggle = (layer: Layer): void => show.querySelector<HTMLInputElement>(`[data-layer="${layer}"] input`)?.click();
  const followNext = (): void => {
    const next = stage.following + 1 < names.length ? stage.following + 1 : -1;
    stage.follow(next);
    follow.value = String(next);
    say(next < 0 ? "the camera stays" : `the camera follows ${names[next]}`);
  };
  return { root, setTime, toggle, followNext };
}

// Principal values of all ellipsoids at the present time.
function principalValues(stage: Stage): { rows: HTMLElement; setTime(t: number): void } {
  const rows = el("dl", { class: "principal" });
  const cells = stage.mechanisms.map((mechanism, run) =>
    mechanism.ellipsoids.all.map(({ matrix }) => {
      const cell = el("dd", { "data-path": matrix.path });
      const of = plainName(matrix.path.replace(/^control\//, "").replace(/\/stiffness$/, ""));
      rows.append(el("dt", {}, `Stiffness of ${of}${stage.mechanisms.length > 1 ? ` ${runLetter(run)}` : ""}`), cell);
      return cell;
    }),
  );
  const setTime = (t: number): void =>
    stage.mechanisms.forEach((mechanism, run) =>
      mechanism.ellipsoids.values(t).forEach(({ values, unit }, k) => {
        // What is left of a zero after rounding is shown as one.
        cells[run][k].textContent = values ? `${values.map((v) => shortNumber(Math.abs(v) < 1e-13 * values[0] ? 0 : v)).join(" · ")} ${unit}` : "–";
      }),
    );
  return { rows, setTime };
}

// The colour of a layer, and how much its longest arrow is.
function layerKey(stage: Stage, layer: Layer): HTMLElement[] {
  const key = layerColors[layer];
  if (!key) return [];
  const swatch = el("span", { class: "key", "aria-hidden": "true" });
  swatch.style.background = `light-dark(${palettes.light[key]}, ${palettes.dark[key]})`;
  const field = stage.mechanisms.flatMap((m) => m.fields.get(layer as FieldLayer) ?? [])[0];
  if (!field || !(field.most > 0)) return [swatch];
  return [swatch, el("span", { class: "unit", title: "the longest arrow of all times" }, field.noise ? "round-off" : `≤ ${withUnit(field.most, field.unit)}`)];
}

function bodyList(stage: Stage, names: string[]): HTMLElement {
  const rows = names.map((name, i) => {
    const shown = checkbox("shown", true, (on) => {
      for (const m of stage.mechanisms) m.bodies.setShown(m.names.indexOf(name), on);
      stage.touch();
    });
    const trace = checkbox("trace", stage.mechanisms[0].hasTrace(i), (on) => {
      for (const m of stage.mechanisms) m.setTrace(m.names.indexOf(name), on);
      stage.touch();
    });
    shown.querySelector("input")!.setAttribute("aria-label", `show ${name}`);
    trace.querySelector("input")!.setAttribute("aria-label", `trace of ${name}`);
    return el("li", { "data-body": name }, el("span", { class: "name" }, name), shown, trace);
  });
  return el("details", { class: "bodies" }, el("summary", {}, `Bodies and traces (${names.length})`), el("ul", {}, ...rows));
}

export const keys: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "one sample back or on; with Shift a twentieth of the run"],
  ["Home End", "to the start, to the end"],
  ["+ −", "faster, slower"],
  ["L", "loop"],
  ["1 2 3 4", "front, side, top, oblique view"],
  ["F", "the camera follows the next body, in the end nobody"],
  ["K", "stiffness ellipsoids shown or hidden"],
  ["Z", "plots: zoom in around the present time; with Shift: all times"],
  ["D", "light or dark"],
  ["?", "this list"],
];

export interface Actions {
  followNext(): void;
  toggleStiffness(): void;
  toggleTheme(): void;
  zoomIn(): void;
  zoomOut(): void;
  help(): void;
}

export function bindKeys(player: Player, stage: Stage | null, actions: Actions): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const tag = target.tagName;
    // Whoever has the focus takes its own keys first.
    if (tag === "SELECT" || tag === "TEXTAREA" || (tag === "INPUT" && (target as HTMLInputElement).type === "text")) return;
    if (event.key === " " && ["BUTTON", "SUMMARY", "INPUT"].includes(tag)) return;
    if (tag === "INPUT" && (target as HTMLInputElement).type === "range" && /^(Arrow|Home|End|Page)/.test(event.key)) return;
    const jump = (player.end - player.start) / 20;
    const acts: Record<string, () => void> = {
      " ": () => player.toggle(),
      ArrowRight: () => (event.shiftKey ? player.seek(player.time + jump) : player.step(1)),
      ArrowLeft: () => (event.shiftKey ? player.seek(player.time - jump) : player.step(-1)),
      Home: () => player.seek(player.start),
      End: () => player.seek(player.end),
      "+": () => player.faster(1),
      "=": () => player.faster(1),
      "-": () => player.faster(-1),
      l: () => player.setLoop(!player.loop),
      1: () => stage?.setView("front"),
      2: () => stage?.setView("side"),
      3: () => stage?.setView("top"),
      4: () => stage?.setView("oblique"),
      f: () => actions.followNext(),
      k: () => actions.toggleStiffness(),
      z: () => actions.zoomIn(),
      Z: () => actions.zoomOut(),
      d: () => actions.toggleTheme(),
      "?": () => actions.help(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
