// SPDX-License-Identifier: Apache-2.0
// What was run and what was kept, in plain words; marks and words carry the verdict, colour only repeats it.
import type { Certificate, Clause, Data, Law, Outcome, Run } from "./data";
import { el } from "./dom";
import { runLetter } from "./plots";
import { shortNumber, withUnit } from "./values";

const lawWords: Record<string, string> = {
  energy_drift: "Energy stays what it was",
  energy_gain: "Energy is not gained",
  power_balance: "Energy changes by work and dissipation only",
  hamiltonian_balance: "The method keeps its own energy",
  physical_balance: "Energy with velocities on the constraints balances",
  momentum_drift: "Linear momentum stays while nothing pushes",
  angular_momentum_drift: "Angular momentum about the origin stays while nothing pushes",
  angular_momentum_com_drift: "Angular momentum about the centre of mass stays while nothing pushes",
  joint_gap: "Joints stay together",
  velocity_residual: "Velocities are those that joints allow",
  quaternion_norm: "Attitudes stay of unit length",
  max_force: "Reaction forces stay within their bound",
  max_moment: "Reaction moments stay within their bound",
  final: "The motion ends where it should",
};

const sentence = (law: Law): string => (law.name === "metric" ? law.of : (lawWords[law.name] ?? law.name.replace(/_/g, " ")));
const lawKey = (law: Law): string => `${law.name} ${law.of} ${law.sense}`;

function mark(held: boolean, words: [string, string] = ["kept", "broken"]): HTMLElement {
  return el("span", { class: held ? "mark held" : "mark broken" }, el("span", { "aria-hidden": "true" }, held ? "✓" : "✗"), ` ${held ? words[0] : words[1]}`);
}

// What becomes of a run in one line: the worst of all that is known of it. Green is for runs in which nothing is open.
export type Level = "broken" | "doubt" | "open" | "held";

const plural = (n: number, one: string, many = `${one}s`): string => (n === 1 ? one : many);

function lawsText(outcome: Outcome): string {
  const count = outcome.laws.length;
  return count === 0 ? "no laws were stated" : count === 1 ? "the stated law was kept" : `all ${count} stated laws were kept`;
}

// "1 of 5 assumptions did not hold, 1 was not looked at"; empty where all held.
function exceptionsOf(clauses: Clause[], whose = ""): string {
  const unheld = clauses.filter((k) => !k.held);
  if (unheld.length === 0) return "";
  const unseen = unheld.filter((k) => k.looks === 0).length;
  const broken = unheld.length - unseen;
  const all = `of ${clauses.length} ${plural(clauses.length, "assumption")}${whose}`;
  const missed = `${plural(unseen, "was", "were")} not looked at`;
  if (broken === 0) return `${unseen} ${all} ${missed}`;
  return `${broken} ${all} did not hold${unseen > 0 ? `, ${unseen} ${missed}` : ""}`;
}

// Assumptions of controllers that did not hold; empty where all did.
function exceptions(outcome: Outcome): string {
  const shaken = outcome.certificates.filter((c) => !c.held || c.clauses.some((k) => !k.held));
  if (shaken.length === 0) return "";
  const whose = `of ${plural(shaken.length, "controller")} ${shaken.map((c) => `'${c.controller}'`).join(", ")}`;
  return exceptionsOf(shaken.flatMap((c) => c.clauses), ` ${whose}`) || `the certificate ${whose} does not hold`;
}

export function summary(run: Run, live: boolean): { level: Level; text: string } {
  if (run.study) return run.study;
  const outcome = run.outcome;
  const cut = "the recording was cut or damaged";
  if (!outcome) return live ? { level: "open", text: "running" } : { level: "doubt", text: run.complete ? "no result was recorded" : `no result was recorded; ${cut}` };
  const broken = outcome.laws.filter((l) => !l.held).length;
  const count = outcome.laws.length;
  if (outcome.status === "failed") return { level: "broken", text: `the run failed: ${[outcome.failure?.kind.replace(/_/g, " "), outcome.failure?.what].filter(Boolean).join(", ")}` };
  // What an interrupted run says of its laws is said of the part that was computed.
  const sofar = (text: string): string => (outcome.status === "interrupted" ? `interrupted; ${text} until then` : text);
  if (broken > 0) return { level: "broken", text: sofar(broken === count ? (count === 1 ? "the stated law was broken" : `none of ${count} stated laws was kept`) : `${broken} of ${count} stated laws broken`) };
  if (outcome.status === "law_broken") return { level: "broken", text: "a stated law was broken" };
  const kept = lawsText(outcome);
  if (outcome.status === "interrupted") return { level: "doubt", text: sofar(kept) };
  if (outcome.status === "unresolved" || outcome.unresolved) return { level: "doubt", text: outcome.unresolved || "the steps of this run do not resolve its motion" };
  if (outcome.status !== "ok") return { level: "doubt", text: `status ${outcome.status}; ${kept}` };
  if (!run.complete && !live) return { level: "doubt", text: `${cut}; ${kept}` };
  const exception = exceptions(outcome);
  if (exception) return { level: "doubt", text: `${exception}; ${kept}` };
  return { level: count > 0 ? "held" : "open", text: kept };
}

const signs: Record<Level, string> = { broken: "✗", doubt: "!", open: "•", held: "✓" };

function badge(run: Run, live: boolean): HTMLElement {
  const { level, text } = summary(run, live);
  return el("p", { class: `badge ${level}` }, el("span", { "aria-hidden": "true" }, signs[level]), ` ${text}`);
}

function facts(outcome: Outcome | null): [string, string][] {
  if (!outcome) return [];
  const out: [string, string][] = [
    ["Model", outcome.model],
    ["Scenario", outcome.scenario],
    ["Formulation", outcome.formulation],
    ["Integrator", outcome.integrator + (outcome.step > 0 ? `, step ${withUnit(outcome.step, "s")}` : "")],
    ["Time", Number.isFinite(outcome.end) ? `${shortNumber(outcome.start)} to ${withUnit(outcome.end, "s")}` : ""],
    ["Computed in", Number.isFinite(outcome.wall) ? `${withUnit(outcome.wall, "s")}${outcome.realTime > 0 ? `, ${shortNumber(outcome.realTime)} × real time` : ""}` : ""],
    ["Versions", outcome.versions.map(([name, version]) => `${name} ${version}`).join(", ")],
  ];
  return out.filter(([, text]) => text !== "");
}

export function header(data: Data): HTMLElement {
  const root = el("header", { class: "head" }, el("h1", {}, data.title));
  if (data.runs.length === 1) {
    root.append(badge(data.runs[0], data.live));
    const table = el("dl", { class: "facts" });
    for (const [name, text] of data.runs[0].study?.facts ?? facts(data.runs[0].outcome)) table.append(fact(name, text));
    root.append(table);
    return root;
  }
  const all = data.runs.map((run) => new Map(facts(run.outcome)));
  const names = [...new Set(all.flatMap((f) => [...f.keys()]))];
  const body = el("tbody", {}, el("tr", {}, el("th", { scope: "row" }, "Verdict"), ...data.runs.map((run) => el("td", {}, badge(run, data.live)))));
  // What all runs have in common is said once.
  const common = el("dl", { class: "facts" });
  for (const name of names) {
    const texts = all.map((f) => f.get(name) ?? "–");
    if (texts.every((t) => t === texts[0])) common.append(fact(name, texts[0]));
    else body.append(el("tr", {}, el("th", { scope: "row" }, name), ...texts.map((t) => el("td", {}, t))));
  }
  root.append(common, el("div", { class: "scroll" }, el("table", { class: "compare" }, runHead(data.runs), body)));
  return root;
}

const fact = (name: string, text: string): HTMLElement => el("div", {}, el("dt", {}, name), el("dd", {}, text));

function runHead(runs: Run[]): HTMLElement {
  return el("thead", {}, el("tr", {}, el("td", {}), ...runs.map((run, i) => el("th", { scope: "col" }, el("span", { class: "letter" }, runLetter(i)), ` ${run.name}`))));
}

function lawNumbers(law: Law): string {
  if (law.reason) return law.reason;
  return `${withUnit(law.value, law.unit)}, must be ${law.sense} ${shortNumber(law.bound)}`;
}

function lawList(laws: Law[]): HTMLElement {
  const rows = laws.map((law) =>
    el(
      "li",
      {},
      mark(law.held),
      el("div", {}, el("span", { class: "what" }, sentence(law), law.of && law.name !== "metric" ? el("span", { class: "of" }, ` ${law.of}`) : null), el("span", { class: "number" }, lawNumbers(law))),
    ),
  );
  return el("ul", { class: "laws" }, ...rows);
}

// Laws of several runs, one row each.
function lawTable(runs: Run[]): HTMLElement | null {
  const keys = new Map<string, Law>();
  for (const run of runs) for (const law of run.outcome?.laws ?? []) if (!keys.has(lawKey(law))) keys.set(lawKey(law), law);
  if (keys.size === 0) return null;
  const body = el("tbody");
  for (const [key, first] of keys) {
    const cells = runs.map((run) => {
      const law = run.outcome?.laws.find((l) => lawKey(l) === key);
      return law ? el("td", {}, mark(law.held), el("span", { class: "number" }, lawNumbers(law))) : el("td", {}, "not stated");
    });
    body.append(el("tr", {}, el("th", { scope: "row" }, sentence(first), first.of && first.name !== "metric" ? ` ${first.of}` : ""), ...cells));
  }
  return el("div", { class: "scroll" }, el("table", { class: "compare laws-table" }, runHead(runs), body));
}

function certificate(c: Certificate, run: string): HTMLElement {
  const exception = exceptionsOf(c.clauses);
  const held = c.held && exception === "";
  const words = held ? "all assumptions held" : exception || "the certificate does not hold";
  const clauses = c.clauses.map((k) =>
    el("li", {}, mark(k.held, ["held", k.looks === 0 ? "not looked at" : "did not hold"]), el("div", {}, el("span", { class: "what" }, k.name.replace(/_/g, " ")), el("span", { class: "about" }, k.meaning), el("span", { class: "number" }, k.text))),
  );
  const rows = c.tracking.map((t) => el("tr", {}, el("th", { scope: "row" }, t.name), ...[t.final, t.rms, t.largest].map((v) => el("td", {}, withUnit(v, t.unit)))));
  const tracking = el(
    "table",
    { class: "small" },
    el("thead", {}, el("tr", {}, el("td", {}), ...["at the end", "rms", "largest"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, ...rows),
  );
  const findings = c.findings.map((f) => el("li", {}, el("span", { class: "what" }, f.name.replace(/_/g, " ")), ` ${withUnit(f.value, f.unit)}`, el("span", { class: "about" }, f.how)));
  const head = el("summary", {}, el("span", { class: "line" }, mark(held, ["in force", "with exceptions"]), el("span", { class: "what" }, ` ${run ? `${run}: ` : ""}${c.controller}, law ${c.law}`), el("span", { class: "number" }, words)));
  const made = el(
    "details",
    { class: "certificate" },
    head,
    c.guarantee ? el("p", {}, el("strong", {}, "Guarantee. "), c.guarantee) : null,
    el("ul", { class: "laws" }, ...clauses),
    rows.length > 0 ? el("div", { class: "scroll" }, tracking) : null,
    findings.length > 0 ? el("ul", { class: "findings" }, ...findings) : null,
  );
  return made;
}

// What is wrong with a recording, if anything.
export function warnings(data: Data): HTMLElement | null {
  const texts: string[] = [];
  for (const run of data.runs) {
    const of = data.runs.length > 1 ? `${run.name}: ` : "";
    if (!run.complete && !data.live) texts.push(`${of}the recording was cut or damaged; what is shown ends there.`);
    if (!run.study && !run.scene && run.channels.size > 0) texts.push(`${of}the model is not known; bodies are drawn as points at their centres of mass.`);
    if (!run.study && run.channels.size === 0 && !data.live) texts.push(`${of}nothing was recorded.`);
    const shown = run.damage.slice(0, 8);
    if (shown.length > 0) texts.push(`${of}parts of the data could not be read: ${shown.join("; ")}${run.damage.length > shown.length ? ` and ${run.damage.length - shown.length} more` : ""}.`);
  }
  if (texts.length === 0) return null;
  return el("div", { class: "warnings", role: "alert" }, ...texts.map((t) => el("p", {}, el("span", { "aria-hidden": "true" }, "⚠ "), t)));
}

function remarks(notes: string[]): HTMLElement {
  const list = el("ul", { class: "notes" }, ...notes.map((n) => el("li", {}, n)));
  return el("section", { class: "verdicts" }, ...(notes.length > 0 ? [el("h2", {}, "Notes"), list] : []));
}

export function verdicts(data: Data): HTMLElement {
  if (data.runs.length > 0 && data.runs.every((run) => run.study)) return remarks(data.runs.flatMap((run) => run.study!.notes));
  const root = el("section", { class: "verdicts", "aria-labelledby": "verdicts-title" }, el("h2", { id: "verdicts-title" }, "What was stated, what was kept"));
  const several = data.runs.length > 1;
  for (const run of data.runs) {
    const failure = run.outcome?.failure;
    if (failure) root.append(el("p", { class: "failure" }, el("strong", {}, `${several ? `${run.name}: ` : ""}${failure.kind.replace(/_/g, " ")}. `), failure.what));
  }
  // What the program concluded stands before what was stated, unless the line of the run has said it.
  for (const run of data.runs)
    if (run.outcome?.unresolved && !summary(run, data.live).text.includes(run.outcome.unresolved)) root.append(el("p", { class: "failure conclusion" }, several ? el("strong", {}, `${run.name}: `) : null, run.outcome.unresolved));
  const laws = several ? lawTable(data.runs) : data.runs[0]?.outcome?.laws.length ? lawList(data.runs[0].outcome.laws) : null;
  root.append(laws ?? el("p", { class: "empty" }, data.live ? "Laws are judged when the run has ended." : data.runs.some((run) => run.outcome) ? "The scenario stated no laws." : "Without a result there are no verdicts."));
  const certificates = data.runs.flatMap((run) => (run.outcome?.certificates ?? []).map((c) => certificate(c, several ? run.name : "")));
  if (certificates.length > 0) root.append(el("h3", {}, "Certificates of controllers"), ...certificates);
  const notes = data.runs.flatMap((run) => (run.outcome?.notes ?? []).map((n) => (several ? `${run.name}: ${n}` : n)));
  if (notes.length > 0) root.append(el("h3", {}, "Notes"), el("ul", { class: "notes" }, ...notes.map((n) => el("li", {}, n))));
  return root;
}
