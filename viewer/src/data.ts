// SPDX-License-Identifier: Apache-2.0
// What a page shows, read from the JSON of docs/page-data.md. Whatever is wrong there costs its own part only, and is told in `damage`.
import { unpack } from "./arrays";
import { readFigures, type Figure } from "./figures";
import { readScene, type Scene } from "./model";
import { isRecord, numberOr, textOr } from "./values";

export interface Law {
  name: string;
  of: string;
  bound: number;
  value: number;
  held: boolean;
  sense: string;
  unit: string;
  reason: string;
}

export interface Clause {
  name: string;
  meaning: string;
  held: boolean;
  looks: number; // how often it was looked at; a clause that never was does not hold
  text: string;
}

export interface Certificate {
  controller: string;
  law: string;
  guarantee: string;
  held: boolean;
  clauses: Clause[];
  findings: { name: string; value: number; unit: string; how: string }[];
  tracking: { name: string; unit: string; final: number; largest: number; rms: number }[];
}

export interface Outcome {
  status: string;
  failure: { kind: string; what: string } | null;
  laws: Law[];
  certificates: Certificate[];
  unresolved: string; // what the steps of the run do not resolve, in one sentence; empty: nothing
  notes: string[];
  metrics: Map<string, number>;
  units: Map<string, string>;
  versions: [string, string][];
  model: string;
  scenario: string;
  formulation: string;
  integrator: string;
  step: number;
  start: number;
  end: number;
  seed: string;
  wall: number;
  realTime: number;
}

// One dataset: `size` numbers per sample; `y` sample after sample; NaN is no value.
export interface Channel {
  path: string;
  unit: string;
  meaning: string;
  size: number;
  time: Float64Array;
  y: Float64Array;
}

// What a page says first that shows no run but what a study of several found: figures are all that it has.
export interface Study {
  level: "broken" | "doubt" | "open" | "held";
  text: string;
  facts: [string, string][];
  notes: string[];
}

export interface Run {
  name: string;
  study: Study | null;
  outcome: Outcome | null;
  complete: boolean;
  scene: Scene | null;
  channels: Map<string, Channel>;
  figures: Figure[];
  damage: string[];
}

export interface Data {
  title: string;
  live: boolean;
  runs: Run[];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const records = (value: unknown): Record<string, unknown>[] => list(value).filter(isRecord);
const child = (value: unknown, key: string): Record<string, unknown> => {
  const inner = isRecord(value) ? value[key] : undefined;
  return isRecord(inner) ? inner : {};
};

const readLaw = (l: Record<string, unknown>): Law => ({
  name: textOr(l.name, "law"),
  of: textOr(l.of, ""),
  bound: numberOr(l.bound, NaN),
  value: numberOr(l.value, NaN),
  held: l.held === true,
  sense: textOr(l.sense, "below"),
  unit: textOr(l.unit, ""),
  reason: textOr(l.reason, ""),
});

const readCertificate = (c: Record<string, unknown>): Certificate => ({
  controller: textOr(c.controller, ""),
  law: textOr(c.law, ""),
  guarantee: textOr(c.guarantee, ""),
  held: c.held === true,
  clauses: records(c.clauses).map((k) => ({
    name: textOr(k.name, ""),
    meaning: textOr(k.meaning, ""),
    held: k.held === true,
    looks: numberOr(k.looks, 1),
    text: textOr(k.text, ""),
  })),
  findings: records(c.findings).map((k) => ({
    name: textOr(k.name, ""),
    value: numberOr(k.value, NaN),
    unit: textOr(k.unit, ""),
    how: textOr(k.how, ""),
  })),
  tracking: records(c.tracking).map((k) => ({
    name: textOr(k.name, ""),
    unit: textOr(k.unit, ""),
    final: numberOr(k.final, NaN),
    largest: numberOr(k.largest, NaN),
    rms: numberOr(k.rms, NaN),
  })),
});

export function readOutcome(json: unknown): Outcome | null {
  if (!isRecord(json)) return null;
  const scenario = child(json, "scenario");
  const failure = isRecord(json.failure) ? json.failure : null;
  const timing = child(json, "timing");
  return {
    status: textOr(json.status, "unknown"),
    failure: failure ? { kind: textOr(failure.kind, "failure"), what: textOr(failure.what, "") } : null,
    laws: records(json.laws).map(readLaw),
    certificates: records(json.certificates).map(readCertificate),
    unresolved: typeof json.unresolved === "string" ? json.unresolved : "",
    notes: list(json.notes).map(String), // edits are told among them
    metrics: new Map(Object.entries(child(json, "metrics")).map(([key, v]) => [key, numberOr(v, NaN)])),
    units: new Map(Object.entries(child(json, "units")).map(([key, v]) => [key, textOr(v, "")])),
    versions: Object.entries(child(json, "versions")).map(([key, v]) => [key, textOr(v, "")]),
    model: textOr(child(json, "model").name, ""),
    scenario: textOr(scenario.name, ""),
    formulation: textOr(scenario.formulation, ""),
    integrator: textOr(scenario.integrator, ""),
    step: numberOr(child(scenario, "options").step, NaN),
    start: numberOr(scenario.start, NaN),
    end: numberOr(scenario.end, NaN),
    seed: json.seed === undefined ? "" : String(json.seed),
    wall: numberOr(timing.wall, NaN),
    realTime: numberOr(timing.times_real_time, NaN),
  };
}

async function attempt<T>(what: string, damage: string[], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    damage.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

async function readTime(packed: unknown): Promise<Float64Array> {
  const t = await unpack(packed);
  for (let i = 0; i < t.length; ++i) {
    if (!Number.isFinite(t[i]) || (i > 0 && t[i] < t[i - 1])) throw new Error(`times do not rise at sample ${i}`);
  }
  return t;
}

async function readChannel(json: Record<string, unknown>, times: (Float64Array | null)[]): Promise<Channel> {
  const size = numberOr(json.size, 1);
  const time = times[numberOr(json.time, -1)];
  if (!Number.isInteger(size) || size < 1) throw new Error("no whole number of components");
  if (!time) throw new Error("its times are missing");
  const y = await unpack(json.y);
  if (y.length !== size * time.length) throw new Error(`${y.length} numbers for ${time.length} samples of ${size}`);
  return { path: String(json.path), unit: textOr(json.unit, ""), meaning: textOr(json.meaning, ""), size, time, y };
}

function readStudy(json: unknown): Study | null {
  if (!isRecord(json)) return null;
  const levels = ["broken", "doubt", "open", "held"] as const;
  return {
    level: levels.find((level) => level === json.level) ?? "open",
    text: textOr(json.text, ""),
    facts: Object.entries(child(json, "facts")).map(([key, v]) => [key, textOr(v, "")]),
    notes: list(json.notes).filter((n): n is string => typeof n === "string"),
  };
}

export async function readRun(json: Record<string, unknown>, index: number): Promise<Run> {
  const damage: string[] = list(json.trouble).filter((t): t is string => typeof t === "string");
  const times = await Promise.all(list(json.times).map((t, i) => attempt(`times ${i}`, damage, () => readTime(t))));
  const channels = new Map<string, Channel>();
  const read = records(json.channels).map((c) =>
    attempt(`channel ${textOr(c.path, "without a name")}`, damage, () => readChannel(c, times)),
  );
  for (const channel of await Promise.all(read)) if (channel) channels.set(channel.path, channel);
  return {
    name: textOr(json.name, `run ${index + 1}`),
    study: readStudy(json.study),
    outcome: readOutcome(json.result),
    complete: json.complete !== false,
    scene: json.scene ? await readScene(json.scene, damage) : null,
    channels,
    figures: await readFigures(json.figures, damage),
    damage,
  };
}

export async function readData(json: unknown): Promise<Data> {
  if (!isRecord(json)) throw new Error("the data are no JSON object");
  if (json.format !== 1) throw new Error(`format ${String(json.format ?? "missing")}: this page reads format 1`);
  const runs = records(json.runs);
  if (runs.length === 0 && json.live !== true) throw new Error("the data hold no run");
  return {
    title: textOr(json.title, "Invar"),
    live: json.live === true,
    runs: await Promise.all(runs.map(readRun)),
  };
}

// The last sample at or before t; -1 before the first.
export function sampleAt(time: Float64Array, t: number): number {
  let low = 0;
  let high = time.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The sample nearest to t; -1 where there is none.
export function nearestSample(time: Float64Array, t: number): number {
  const i = sampleAt(time, t);
  if (i < 0) return time.length > 0 ? 0 : -1;
  if (i + 1 < time.length && time[i + 1] - t < t - time[i]) return i + 1;
  return i;
}

// Names in paths are written with %XX for '/', '%' and control characters.
export function plainName(escaped: string): string {
  return escaped.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
export function escapedName(name: string): string {
  return name.replace(/[/%\u0000-\u001f\u007f]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}
