// SPDX-License-Identifier: Apache-2.0
// Laws of what is drawn around the bodies: arrows, ghosts of references, ellipsoids of stiffness.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { changedPixels, launch, open, projected, report, settled, type Opened } from "./browser";
import { COARSE, data, hand, MARK_COM, OFFSET, pack, poses, principalStiffness, run, turned, wanted } from "./sample";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser.close();
});

interface Loose {
  [key: string]: any;
}
const near = (a: number[], b: number[], bound: number, what: string): void =>
  assert.ok(a.length === b.length && a.every((x, k) => Math.abs(x - b[k]) < bound), `${what}: ${a.join(", ")} instead of ${b.join(", ")}`);
const at = async ({ page }: Opened, t: number) => {
  await page.evaluate((now) => window.invar.seek(now), t);
  await settled(page);
  return page.evaluate(() => window.invar.drawn());
};
const without = (...leaves: string[]): Loose => {
  const made: Loose = run();
  made.channels = made.channels.filter((c: Loose) => !leaves.includes(c.path));
  return made;
};

// Matrices of the renderer are of single precision: places of some metres are rounded by 1e-7 of that.
const SINGLE = 1e-6;

test("arrows of nothing but round-off are not drawn as long as others, and their layer says what they are", async () => {
  // Reactions of 100 N in a mechanism of 1 m: moments are known to 2.3e-11 N m.
  for (const [size, words] of [[1e-14, /round-off/], [1, /≤ 1 N m/]] as [number, RegExp][]) {
    const made: Loose = without("joints/elbow/force", "joints/elbow/moment", "joints/hinge/force", "joints/hinge/moment");
    const n = COARSE.length;
    const vector = (path: string, unit: string, length: number): Loose => ({ path, unit, meaning: "", size: 3, time: 0, y: pack(Array.from({ length: 3 * n }, (_, i) => (i % 3 === 1 ? length : 0))) });
    made.channels.push(vector("joints/hinge/force", "N", 100), vector("joints/hinge/moment", "N m", size));
    const opened = await open(browser, report(`noise-arrows-${size}`, data(made)));
    for (const layer of ["reactions", "moments"]) await opened.page.locator(`[data-layer="${layer}"] input`).check();
    const { arrows } = await at(opened, COARSE[3]);
    const lengths = ["reactions", "moments"].map((layer) => {
      const arrow = arrows.find((a) => a.layer === layer && a.name === "hinge");
      return arrow ? Math.hypot(...arrow.tip.map((x, k) => x - arrow.from[k])) : 0;
    });
    assert.ok(lengths[0] > 0.1);
    assert.ok(size === 1 ? Math.abs(lengths[1] - lengths[0]) < SINGLE : lengths[1] < 1e-2 * lengths[0], `${lengths}`);
    assert.match(await opened.page.locator('[data-layer="moments"]').innerText(), words);
    await opened.close();
  }
});

test("arrows of forces and moments begin at centres of mass and are as long as their vectors", async () => {
  const opened = await open(browser, report("arrows", data()));
  const { page } = opened;
  const t = COARSE[75];
  const { arrows } = await at(opened, t);
  const arrow = (layer: string, name: string): { from: number[]; way: number[] } => {
    const found = arrows.find((a) => a.layer === layer && a.name === name);
    assert.ok(found, `${layer} of ${name} is drawn`);
    return { from: found.from, way: found.tip.map((x, k) => x - found.from[k]) };
  };
  const force = arrow("loads", "mark");
  const length = Math.hypot(...force.way);
  near(force.from, poses(t).mark.p, SINGLE, "a force begins at the centre of mass");
  near(force.way, [0, 0, -length], SINGLE, "and points along itself");
  near(arrow("loads", "lower").from, poses(t).lower.p, SINGLE, "the other begins at its own");
  near(arrow("loads", "lower").way, [length / 2, 0, 0], SINGLE, "1.5 N is half as long as 3 N");
  near(arrow("load_moments", "mark").from, poses(t).mark.p, SINGLE, "a moment begins there too");
  const moments = arrow("load_moments", "mark").way;
  near(moments, [0.6 * length, 0, 0.8 * length], SINGLE, "the longest moment, 0.5 N m, has the same length");
  near(arrow("load_moments", "upper").way, [0, Math.cos(t) * length, 0], SINGLE, "and the other its share");
  assert.equal(arrows.filter((a) => a.layer === "loads").length, 2, "bodies without forces have no arrows");
  // Of what is drawn around it the lowest pixel is the tip: a cone of one pixel there may be half a row off, and rims are blended.
  const pixels = await changedPixels(page, async () => void (await page.locator('[data-layer="loads"] input').click()));
  const tip = await projected(page, force.from.map((x, k) => x + force.way[k]));
  const around = pixels.filter(([x, y]) => Math.hypot(x - tip.x, y - tip.y) < 40);
  const lowest = around.reduce((a, b) => (b[1] > a[1] ? b : a), [NaN, -1]);
  assert.ok(Math.hypot(lowest[0] + 0.5 - tip.x, lowest[1] + 0.5 - tip.y) < 3, `drawn to ${lowest.join(", ")}, expected ${tip.x}, ${tip.y}`);
  assert.deepEqual((await at(opened, t)).arrows.filter((a) => a.layer === "loads"), [], "a layer that is hidden is not drawn");
  await page.locator('[data-layer="loads"] input').click();
  await page.locator("#arrow-scale").evaluate((slider: HTMLInputElement) => {
    slider.value = "1";
    slider.dispatchEvent(new Event("input"));
  });
  const longer = (await at(opened, t)).arrows.find((a) => a.layer === "loads" && a.name === "mark")!;
  near(longer.tip, poses(t).mark.p.map((x, k) => x + 2 * force.way[k]), SINGLE, "arrows can be made longer");
  assert.match((await page.locator('[data-layer="loads"]').textContent())!, /Forces on bodies≤ 3 N$/);
  assert.match((await page.locator('[data-layer="load_moments"]').textContent())!, /Moments on bodies≤ 0.5 N m$/);
  const colors = await page.locator(".layers .key").evaluateAll((keys) => keys.map((k) => getComputedStyle(k).backgroundColor));
  assert.equal(colors.length, new Set(colors).size + 1, "colours differ, but for tendons and moments on bodies");
  const { arrows: later } = await at(opened, 3);
  assert.ok(!later.some((a) => a.layer === "loads" && a.name === "mark"), "a force that has ended has no arrow");
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("arrows of a layer have one scale in all runs of a comparison", async () => {
  const weak = without("bodies/mark/force");
  const { page, close } = await open(browser, report("scales", data(run("strong"), { ...weak, name: "weak" })));
  await page.evaluate(() => window.invar.seek(1.5));
  const lengths = await page.evaluate(() => [0, 1].map((k) => window.invar.drawn(k).arrows.find((a) => a.layer === "loads" && a.name === "lower")!).map((a) => a.tip[0] - a.from[0]));
  assert.ok(lengths[0] > 0.01 && Math.abs(lengths[0] - lengths[1]) < SINGLE, lengths.join(" "));
  await close();
});

// The task is a place 0.8 m down the lower rod.
test("the ghost stands where the reference wants the body, with position, attitude or both", async () => {
  const t = COARSE[40];
  const [p, q] = ["control/arm/reference_hand_p", "control/arm/reference_hand_q"];
  for (const left of [[], [q], [p]]) {
    const place = left.includes(p) ? hand(t) : hand(t).map((x, k) => x + OFFSET[k]);
    const attitude = left.includes(q) ? poses(t).lower.q : wanted(t);
    const opened = await open(browser, report("ghost", data(without(...left))));
    const { ghosts } = await at(opened, t);
    assert.deepEqual(ghosts.map((g) => [g.path, g.visible]), [["control/arm/reference_hand", true]]);
    // Numbers of size one after a dozen roundings.
    near(ghosts[0].p, place.map((x, k) => x - turned(attitude, [0, 0, -0.8])[k]), 1e-14, `place without ${left.join()}`);
    near(ghosts[0].q, attitude, 1e-14, `attitude without ${left.join()}`);
    const plots = await opened.page.evaluate(() => window.invar.plots());
    const error = (label: string): number | undefined => plots.flatMap((plot) => plot.series).find((s) => s.label === label)?.now;
    if (left.includes(p)) assert.equal(error("hand position"), undefined);
    else near([error("hand position")!], [Math.hypot(...OFFSET)], 1e-14, "error of place");
    if (left.includes(q)) assert.equal(error("hand attitude"), undefined);
    else near([error("hand attitude")!], [0.1], 1e-14, "error of attitude");
    assert.deepEqual(opened.trouble, []);
    await opened.close();
  }
});

// The largest value is that nearest to t = π/2 among the samples: 110 N/m but for half a sample squared.
test("the ellipsoid of stiffness stands at its point, along principal axes, as long as the principal values", async () => {
  const opened = await open(browser, report("ellipsoid", data()));
  const { page } = opened;
  const most = Math.max(...COARSE.map((t) => principalStiffness(t)[0]));
  for (const t of [0, COARSE[77], COARSE[211]]) {
    const { ellipsoids } = await at(opened, t);
    assert.equal(ellipsoids.length, 1);
    near(ellipsoids[0].centre, hand(t), SINGLE, `centre at ${t} s`);
    const [large, middle] = principalStiffness(t);
    const { q } = poses(t).lower;
    // An axis has two directions.
    const along = (k: number, e: number[]): number[] => {
      const half = ellipsoids[0].halves[k];
      const sign = Math.sign(half.reduce((sum, x, c) => sum + x * e[c], 0));
      return half.map((x) => sign * x);
    };
    for (const [k, value, axis] of [[0, large, [1, 0, 0]], [1, middle, [0, 1, 0]]] as const) {
      const e = turned(q, [...axis]);
      near(along(k, e), e.map((x) => (0.35 * value * x) / most), 1e-12, `half axis ${k} at ${t} s`);
    }
    assert.ok(Math.hypot(...ellipsoids[0].halves[2]) <= 1e-3 + 1e-12, "what is zero is flat");
    const told = (await page.locator(".principal dd").textContent())!;
    assert.match(told, /^[^ ]+ · 60 · 0 N\/m$/);
    assert.equal(Number(told.split(" ")[0]), Number(large.toPrecision(4)));
  }
  const plot = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Stiffness of arm")!;
  assert.deepEqual(plot.series.map((s) => s.label), ["largest", "middle", "smallest"]);
  near(plot.series.map((s) => s.now), principalStiffness(COARSE[211]), 1e-12, "plotted");
  assert.ok(!(await page.evaluate(() => window.invar.plots())).some((p) => p.title.includes("stiffness xx")), "and not its entries");
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const box = page.locator('[data-layer="stiffness"] input');
  assert.ok((await changedPixels(page, async () => void (await page.keyboard.press("k")))).length > 200, "a key hides it");
  assert.equal(await box.isChecked(), false, "and its box says so");
  assert.ok((await changedPixels(page, async () => void (await box.click()))).length > 200, "the box shows it");
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("an ellipsoid whose matrix is not complete is left out, and its entries are plotted", async () => {
  const { page, trouble, close } = await open(browser, report("incomplete", data(without("control/arm/stiffness_yz"))));
  assert.deepEqual((await page.evaluate(() => window.invar.drawn())).ellipsoids, []);
  assert.equal(await page.locator('[data-layer="stiffness"]').count(), 0);
  assert.ok((await page.evaluate(() => window.invar.plots())).some((p) => p.title === "stiffness xx"));
  assert.deepEqual(trouble, []);
  await close();
});

test("what is attached for a while is drawn then, and the body under it stays in place", async () => {
  // From 2 s until 4 s a load moves the centre of mass of the flying block; its frame goes on as before.
  const loaded = [0.3, 0.25, -0.1];
  const during = (t: number): boolean => t >= 2 && t < 4;
  const base = run() as { scene: { bodies: Record<string, unknown>[] }; channels: { path: string; y: unknown }[] };
  const block = base.scene.bodies[2];
  (block.shapes as unknown[]).push({ kind: "sphere", p: [0, 0.5, 0], q: [1, 0, 0, 0], radius: 0.1, payload: "<load>", from: 2, until: 4 });
  block.weighed = [{ from: 2, mass: 5, com: loaded }, { from: 4, mass: 0.5, com: MARK_COM }];
  const centre = (t: number): number[] => {
    const { p, q } = poses(t).mark;
    const arm = turned(q, loaded.map((x, k) => x - MARK_COM[k]));
    return during(t) ? p.map((x, k) => x + arm[k]) : p;
  };
  base.channels.find((c) => c.path === "bodies/mark/p")!.y = pack(COARSE.flatMap(centre));
  const opened = await open(browser, report("loads", data(base as unknown as Record<string, unknown>)));
  for (const t of [1, 2, 3, 3.98, 4, 5]) {
    const { loads } = await at(opened, t);
    assert.deepEqual(loads.map((l) => l.payload), during(t) ? ["<load>"] : [], `at ${t} s`);
    const { p, q } = poses(t).mark;
    const arm = turned(q, MARK_COM);
    for (const load of loads) load.p.forEach((x, k) => assert.ok(Math.abs(x - (p[k] - arm[k])) < 1e-9, `origin at ${t} s`));
  }
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});
