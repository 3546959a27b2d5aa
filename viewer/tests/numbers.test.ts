// SPDX-License-Identifier: Apache-2.0
// Laws of pages over any numbers: whatever double a recording holds, every plot is drawn, its axis has ticks that differ, and what cannot be seen is named.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { linearRange, linearSplits, logRange, logSplits, tickTexts } from "../src/axes";
import { launch, open, report, settled, type Opened } from "./browser";
import { data, pack, result, scene, times } from "./sample";

let browser: Browser;
before(async () => void (browser = await launch()));
after(async () => browser.close());

type Json = Record<string, unknown>;
const one = (path: string, y: number[], unit = "J"): Json => ({ path, unit, meaning: "", size: 1, time: 0, y: pack(y) });

// To the end and back, both themes, so that every plot is made and drawn twice.
async function everything({ page }: Opened): Promise<void> {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 500) {
      scrollTo(0, y);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  });
  await page.locator("#theme").click();
  await settled(page);
}

// Numbers that look random, the same every time: any exponent, any sign.
function* draws(seed: number): Generator<number> {
  for (;;) yield (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

test("ticks of any axis are few, within it, rising, and told apart by their texts", () => {
  const draw = draws(7);
  const next = (): number => draw.next().value as number;
  for (let k = 0; k < 20000; ++k) {
    const log = next() < 0.5;
    const a = (next() < 0.5 && !log ? -1 : 1) * Math.pow(10, -320 + 620 * next());
    const b = next() < 0.3 ? a * (1 + Math.pow(10, -17 * next())) : (next() < 0.5 && !log ? -1 : 1) * Math.pow(10, -320 + 620 * next());
    const [min, max] = (log ? logRange : linearRange)(Math.min(a, b), Math.max(a, b));
    assert.ok(min < max && Number.isFinite(max - min), `${a} ${b}: ${min} ${max}`);
    assert.ok(log ? min > 0 : min <= Math.min(a, b) && max >= Math.max(a, b));
    const splits = (log ? logSplits : linearSplits)(min, max, 5);
    assert.ok(splits.length >= 2 && splits.length <= 14, `${splits.length} ticks from ${min} to ${max}`);
    const slack = 1e-9 * (max - min);
    splits.forEach((v, i) => assert.ok(v >= min - slack && v <= max + (log ? 1e-9 * max : slack) && (i === 0 || v > splits[i - 1]), `${v} of ${min} … ${max}`));
    const texts = tickTexts(splits);
    assert.equal(new Set(texts).size, texts.length, texts.join(" "));
  }
});

test("every plot is drawn, whatever numbers it has", async () => {
  const at = times(6, 301);
  const cases: Record<string, number[]> = {
    nan: at.map(() => NaN),
    infinite: at.map((t) => (t > 3 ? Infinity : 1)),
    constant: at.map(() => 42),
    nearly_constant: at.map((t) => 1e6 + 1e-10 * Math.sin(t)),
    huge: at.map((t) => 1e300 * Math.sin(t)),
    beyond: at.map((t) => 1.7e308 * Math.sin(t)),
    denormal: at.map((t) => 5e-324 * Math.round(10 * t)),
    tiny: at.map((t) => 1e-30 * (1 + t)),
    decades: at.map((t) => Math.pow(10, -50 * t)),
    mixed: at.map((_, i) => [NaN, 0, -1, 1e-200, Infinity, 3][i % 6]),
    once: at.map((_, i) => (i === 17 ? 2 : NaN)),
  };
  // As a plain channel, as one with a logarithmic axis, and with a name that is markup.
  for (const [name, y] of Object.entries(cases)) {
    const made = { name, result: result(), complete: true, scene: null, times: [pack(at)], channels: [one("control/<b>c</b>/any", y), one("control/c/V", y), one("energy/balance", y), one("energy/total", y), one("residual/position", y, "m"), one("joints/<img src=x>/q", y, "rad")] };
    const opened = await open(browser, report(`numbers-${name}`, data(made)));
    await everything(opened);
    const plots = await opened.page.evaluate(() => window.invar.plots());
    assert.deepEqual(opened.trouble, [], name);
    for (const plot of plots) {
      assert.ok(plot.made, `${name}: ${plot.title}`);
      assert.ok(plot.ranges!.y[0] < plot.ranges!.y[1], `${name}: ${plot.title} ${plot.ranges!.y.join(" ")}`);
      assert.ok(plot.ticks.length >= 2, `${name}: ${plot.title} has no ticks`);
    }
    assert.equal(await opened.page.locator("figure b, figure img").count(), 0);
    await opened.close();
  }
});

test("what is at round-off lies on a floor that is named, and nothing else does", async () => {
  const at = times(6, 301);
  const energy = (size: number): Json => {
    const channels = [one("energy/total", at.map(() => 8)), one("energy/kinetic", at.map((t) => 8 * Math.sin(t) ** 2)), one("energy/balance", at.map((t) => size * (1 + Math.sin(9 * t))))];
    return { name: "floor", result: result(), complete: true, scene: null, times: [pack(at)], channels };
  };
  const floorOf = async (size: number): Promise<{ text: string; low: number }> => {
    const opened = await open(browser, report(`floor-${size}`, data(energy(size))));
    await everything(opened);
    const plot = (await opened.page.evaluate(() => window.invar.plots())).find((p) => p.title === "Error of energy")!;
    assert.deepEqual(opened.trouble, []);
    await opened.close();
    return { text: plot.floor, low: plot.ranges!.y[0] };
  };
  // Energies of 8 J are known to 8 · 2^-52 = 1.8e-15 J; the floor is the power of ten below.
  const deep = await floorOf(1e-30);
  assert.equal(deep.text, "below 1e−15 J: round-off");
  assert.ok(deep.low > 1e-17 && deep.low < 1e-15);
  // An error that touches zero now and then is there, too; one that never does is not.
  assert.equal((await floorOf(1e-9)).text, "below 1e−15 J: round-off");
  const shallow = at.map((t) => 1e-9 * (2 + Math.sin(9 * t)));
  const made = { name: "s", result: result(), complete: true, scene: null, times: [pack(at)], channels: [one("energy/total", at.map(() => 8)), one("energy/balance", shallow)] };
  const opened = await open(browser, report("floor-none", data(made)));
  await everything(opened);
  assert.ok((await opened.page.evaluate(() => window.invar.plots())).every((p) => p.floor === ""));
  await opened.close();
});

test("a linear plot of nothing but round-off is scaled to a floor that is named, and every other to what it has", async () => {
  const at = times(6, 301);
  const vector = (path: string, unit: string, size: number): Json => ({ path, unit, meaning: "", size: 3, time: 0, y: pack(at.flatMap((t) => [size * Math.sin(t), size, 0])) });
  // Reactions of some 100 N in a mechanism of 1 m: moments are known to 1024 · 2^-52 of 100 N m, 2.3e-11 N m.
  const floorOf = async (size: number, others: Json[] = []): Promise<Record<string, { text: string; range: [number, number] }>> => {
    const channels = [vector("joints/hinge/force", "N", 100), vector("joints/hinge/moment", "N m", size), one("joints/hinge/effort", at.map((t) => size * Math.sin(t)), "N m"), ...others];
    const made = { name: "noise", result: result(), complete: true, scene: { ...scene(), gravity: [0, 0, 0] }, times: [pack(at)], channels };
    const opened = await open(browser, report(`noise-${size}-${others.length}`, data(made)));
    await everything(opened);
    assert.deepEqual(opened.trouble, []);
    const plots = await opened.page.evaluate(() => window.invar.plots());
    await opened.close();
    return Object.fromEntries(plots.map((p) => [p.title, { text: p.floor, range: p.ranges!.y }]));
  };
  const noise = await floorOf(3e-14);
  const level = 1024 * Number.EPSILON * 100;
  assert.match(noise["Reaction moments"].text, /^below 2\.27e−11 N m: round-off$/);
  assert.ok(noise["Reaction moments"].range[1] > level && noise["Reaction moments"].range[1] < 2 * level && noise["Reaction moments"].range[0] === 0);
  // Efforts are put in: exact, however small.
  assert.equal(noise["Joint efforts"].text, "");
  assert.ok(noise["Joint efforts"].range[1] < 1e-13);
  assert.equal(noise["Reaction forces"].text, "");
  // Twice the floor is no noise, and one curve that is none shows the plot as it is.
  const real = await floorOf(2 * level);
  assert.equal(real["Reaction moments"].text, "");
  assert.ok(real["Reaction moments"].range[1] < 4 * level);
  assert.equal((await floorOf(3e-14, [vector("joints/elbow/moment", "N m", 1)]))["Reaction moments"].text, "");
  // Where numbers have signs the floor is on both sides.
  const still = await floorOf(1, [vector("momentum/linear", "N s", 1e-16), vector("bodies/mark/p", "m", 1), vector("bodies/mark/v", "m/s", 2)]);
  const momentum = still["Linear momentum"];
  assert.match(momentum.text, /round-off$/);
  assert.equal(momentum.range[0], -momentum.range[1]);
});

test("the floor is that of the curves that are shown, in the picture and in words for those who do not see it", async () => {
  const at = times(6, 301);
  // The total is off by some nJ, the Hamiltonian by nothing: only with it there is something at round-off.
  const channels = [one("energy/total", at.map((t) => 8 + 1e-9 * Math.sin(t))), one("energy/balance", at.map((t) => 1e-9 * (2 + Math.sin(9 * t)))), one("energy/hamiltonian", at.map(() => 8))];
  const opened = await open(browser, report("floor-toggled", data({ name: "f", result: result(), complete: true, scene: null, times: [pack(at)], channels })));
  await everything(opened);
  const { page } = opened;
  const plot = page.locator(".plot", { has: page.locator("h4", { hasText: "Error of energy" }) });
  const told = async (): Promise<{ floor: string; label: string; low: number }> => {
    await settled(page);
    const { floor, ranges } = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Error of energy")!;
    return { floor, label: (await plot.locator(".plot-canvas").getAttribute("aria-label"))!, low: ranges!.y[0] };
  };
  const both = await told();
  assert.equal(both.floor, "below 1e−15 J: round-off");
  assert.match(both.label, /2 curves; below 1e−15 J: round-off$/);
  await plot.getByRole("button", { name: "hamiltonian" }).click();
  const alone = await told();
  assert.equal(alone.floor, "");
  assert.match(alone.label, /1 curve$/);
  assert.ok(alone.low > 1e-10, `${alone.low}: no room is left for what is not shown`);
  await plot.getByRole("button", { name: "hamiltonian" }).click();
  assert.deepEqual(await told(), both);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("a window without numbers has an axis the right way up", async () => {
  const at = times(6, 301);
  // Energies of 1e18 J: the floor is at 100 J, above the range of an axis without numbers.
  const channels = [one("energy/total", at.map(() => 1e18)), one("energy/balance", at.map((t) => (t > 2 && t < 4 ? NaN : t < 1 ? 0 : 1e5)))];
  const opened = await open(browser, report("no-numbers", data({ name: "n", result: result(), complete: true, scene: null, times: [pack(at)], channels })));
  await everything(opened);
  const { page } = opened;
  const over = page.locator(".plot", { has: page.locator("h4", { hasText: "Error of energy" }) }).locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = (await over.boundingBox())!;
  await page.mouse.move(box.x + 0.4 * box.width, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  for (const plot of await page.evaluate(() => window.invar.plots())) {
    assert.ok(plot.ranges!.x[0] > 2 && plot.ranges!.x[1] < 4);
    assert.ok(plot.ranges!.y[0] < plot.ranges!.y[1], `${plot.title}: ${plot.ranges!.y.join(" … ")}`);
  }
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("runs of one sample, of none, and of no length are shown", async () => {
  for (const count of [0, 1, 2]) {
    const at = Array.from({ length: count }, () => 3);
    const made = { name: "short", result: result(), complete: true, scene: scene(), times: [pack(at)], channels: [one("energy/total", at.map(() => 1)), one("energy/balance", at.map(() => 1e-20)), { ...one("bodies/mark/p", []), size: 3, unit: "m", y: pack(at.flatMap(() => [1, 2, 3])) }] };
    const opened = await open(browser, report(`short-${count}`, data(made)));
    await everything(opened);
    assert.deepEqual(opened.trouble, [], `${count} samples`);
    await opened.close();
  }
});

test("thousands of channels make one page, and each can be chosen", async () => {
  const at = times(1, 11);
  const channels = Array.from({ length: 4000 }, (_, i) => one(`joints/j${i}/q`, at.map((t) => t + i), "rad"));
  const many = Array.from({ length: 2000 }, (_, i) => one(`control/c/reading_${i}`, at.map((t) => t * i), "1"));
  const begun = Date.now();
  const opened = await open(browser, report("thousands", data({ name: "many", result: null, complete: true, scene: null, times: [pack(at)], channels: [...channels, ...many.slice(0, 400)] })));
  assert.ok(Date.now() - begun < 20000, `${Date.now() - begun} ms`);
  await opened.page.locator("#any-channel").selectOption("joints/j3999/q");
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("the line of a run is the worst of all that is known of it", async () => {
  const plain = { name: "line", complete: true, scene: null, times: [pack([0, 1])], channels: [one("energy/total", [1, 1])] };
  const clauses = [{ name: "V_falls", meaning: "", held: false, text: "violated first at 1 s" }];
  const kept = { ...result(), certificates: [] };
  const law = (held: boolean): Json => ({ name: "joint_gap", bound: 1, value: 0, held, sense: "below", unit: "m" });
  const unseen = { name: "reference_is_allowed", meaning: "", held: false, looks: 0, text: "not once" };
  const looked = (...all: Json[]): Json[] => [{ ...shaken[0], clauses: [{ name: "law_is_defined", meaning: "", held: true, looks: 9, text: "held" }, ...all] }];
  const shaken = [{ controller: "arm", law: "III", guarantee: "", held: false, clauses, findings: [], tracking: [] }];
  const sentence = "steps of 0.1 s do not resolve the stop of joint <i>j</i>";
  // Each with the words that its line must have; the worse one wins over all that come later.
  const lines: [Json, string, RegExp][] = [
    [{ ...kept, status: "failed", failure: { kind: "singular", what: "at 1 s" }, laws: [law(false)], unresolved: sentence, certificates: shaken }, "broken", /failed: singular/],
    [{ ...kept, status: "law_broken", laws: [law(false), law(true)], unresolved: sentence, certificates: shaken }, "broken", /1 of 2 stated laws broken/],
    [{ ...kept, status: "interrupted", laws: [law(false), law(true)], unresolved: sentence }, "broken", /interrupted; 1 of 2 stated laws broken until then/],
    [{ ...kept, status: "interrupted", unresolved: sentence, certificates: shaken }, "doubt", /interrupted; all 2 stated laws were kept until then/],
    [{ ...kept, status: "unresolved", unresolved: sentence, certificates: shaken }, "doubt", /^! steps of 0.1 s do not resolve the stop of joint <i>j<\/i>/],
    [{ ...kept, status: "unresolved" }, "doubt", /the steps of this run do not resolve its motion/],
    [{ ...kept, status: "something new" }, "doubt", /something new/],
    [{ ...kept, certificates: shaken }, "doubt", /1 of 1 assumption of controller 'arm' did not hold/],
    [{ ...kept, certificates: [{ ...shaken[0], held: true }] }, "doubt", /did not hold/],
    [{ ...kept, certificates: looked({ ...clauses[0], looks: 9 }, unseen) }, "doubt", /1 of 3 assumptions of controller 'arm' did not hold, 1 was not looked at/],
    [{ ...kept, certificates: looked(unseen, unseen) }, "doubt", /2 of 3 assumptions of controller 'arm' were not looked at;/],
    [{ ...kept, certificates: [{ ...shaken[0], clauses: [] }] }, "doubt", /the certificate of controller 'arm' does not hold/],
    [{ ...kept, laws: [] }, "open", /no laws were stated/],
    [kept, "held", /all 2 stated laws were kept/],
  ];
  for (const [outcome, level, words] of lines) {
    const opened = await open(browser, report("line", data({ ...plain, result: outcome })));
    const badge = opened.page.locator(".head .badge");
    assert.match((await badge.getAttribute("class"))!, new RegExp(level), JSON.stringify(outcome.status));
    assert.match(await badge.innerText(), words);
    if (typeof outcome.unresolved === "string") assert.equal((await opened.page.locator("body").innerText()).split(outcome.unresolved).length, 2, "the sentence stands on the page once");
    await opened.close();
  }
  // The list below says the same of each clause, in words and in the count of its head.
  const list = await open(browser, report("line-list", data({ ...plain, result: { ...kept, certificates: looked({ ...clauses[0], looks: 9 }, unseen) } })));
  assert.match(await list.page.locator(".certificate summary").innerText(), /1 of 3 assumptions did not hold, 1 was not looked at/);
  await list.page.locator(".certificate summary").click();
  assert.deepEqual(await list.page.locator(".certificate .laws .mark").allInnerTexts(), ["✓ held", "✗ did not hold", "✗ not looked at"]);
  await list.close();
  const cut = await open(browser, report("line-cut", data({ ...plain, result: kept, complete: false })));
  assert.match((await cut.page.locator(".head .badge").getAttribute("class"))!, /doubt/);
  await cut.close();
});
