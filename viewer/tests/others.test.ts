// SPDX-License-Identifier: Apache-2.0
// Laws of comparisons, of damaged and empty data, of print and of long chains.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launch, open, report, settled } from "./browser";
import { centroid, readPng } from "./png";
import { chain, data, figures, pack, poses, result, run } from "./sample";

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

test("a comparison has laws side by side, curves of all runs and both motions", async () => {
  const second: Loose = run("other");
  second.result = { ...result(), status: "law_broken" };
  second.result.laws = [{ ...second.result.laws[0], held: false, value: 1e-3 }, second.result.laws[1]];
  second.result.scenario = { ...second.result.scenario, formulation: "minimal" };
  const { page, trouble, close } = await open(browser, report("comparison", data(run("one"), second)));
  assert.deepEqual(await page.locator(".laws-table tbody tr").first().locator(".mark").allTextContents(), ["✓ kept", "✗ broken"]);
  assert.match((await page.locator(".head .compare").textContent())!, /augmentedminimal/);
  const momentum = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Linear momentum")!;
  assert.deepEqual(momentum.series.map((s) => [s.label, s.run]), [["x", 0], ["x", 1], ["y", 0], ["y", 1], ["z", 0], ["z", 1]]);
  // Side by side the two bodies are apart; laid over each other they are in one place.
  await page.evaluate(() => window.invar.mark("mark", "#ff00ff", 1));
  const places = async (): Promise<number> => {
    await settled(page);
    const a = (await page.evaluate(() => window.invar.pixelOf("mark", 0)))!;
    const b = (await page.evaluate(() => window.invar.pixelOf("mark", 1)))!;
    const canvas = page.locator(".canvas canvas");
    const box = (await canvas.boundingBox())!;
    const drawn = centroid(readPng(await canvas.screenshot()), [255, 0, 255]);
    assert.ok(Math.hypot(drawn.x + box.x - b.x, drawn.y + box.y - b.y) < 3, "the second run is drawn where it says");
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  assert.ok((await places()) > 100);
  await page.getByLabel("Runs side by side").click();
  assert.ok((await places()) < 1e-6);
  assert.deepEqual(trouble, []);
  await close();
});

test("damaged, empty and foreign data give a message, never a blank page", async () => {
  const cases: [string, unknown, RegExp][] = [
    ["empty", "", /holds no data/],
    ["cut", JSON.stringify(data()).slice(0, 5000), /damaged/],
    ["no object", "[1, 2]", /no JSON object/],
    ["other format", { format: 7, runs: [] }, /format 7/],
    ["no format", { hello: "world" }, /format missing/],
    ["no runs", { format: 1, title: "x", runs: [] }, /no run/],
    ["noise", "\u0000\u0001garbage", /damaged/],
  ];
  for (const [name, json, words] of cases) {
    const { page, trouble, close } = await open(browser, report(name.replace(" ", "-"), json));
    assert.match((await page.locator(".complaint").textContent())!, words, name);
    assert.deepEqual(trouble, [], name);
    await close();
  }
});

test("what is damaged costs its own part only, and is told", async () => {
  const broken: Loose = run();
  const by = (path: string): Loose => broken.channels.find((c: Loose) => c.path === path);
  by("energy/kinetic").y = { n: 1201, b: "AAAA" };
  by("energy/potential").y.b = by("energy/potential").y.b.slice(0, 40);
  by("energy/total").time = 9;
  by("momentum/linear").y = pack([1, 2, 3]);
  by("momentum/angular").y = { n: 1e12, b: "" };
  by("joints/hinge/q").y.b = "%%%";
  broken.scene.joints[0].child = 77;
  broken.scene.tendons[0].points[0].body = -5;
  broken.scene.obstacles.push(null, 3, { kind: "moebius" });
  broken.complete = false;
  const { page, trouble, close } = await open(browser, report("parts", data(broken)));
  const words = (await page.locator(".warnings").textContent())!;
  for (const part of [/cut or damaged/, /energy\/kinetic/, /energy\/potential/, /energy\/total/, /momentum\/linear/, /momentum\/angular/, /joints\/hinge\/q/, /names a body that is not there/]) assert.match(words, part);
  assert.deepEqual(await page.evaluate(() => window.invar.sample("bodies/mark/p", 0)), poses(0).mark.p);
  assert.deepEqual(trouble, []);
  await close();
});

test("without a scene, a result or any channel there is still a page that says so", async () => {
  const bare: Loose = { ...run(), scene: null, result: null };
  let opened = await open(browser, report("bare", data(bare)));
  assert.match((await opened.page.locator(".warnings").textContent())!, /drawn as points/);
  assert.match((await opened.page.locator(".badge").textContent())!, /no result/);
  await opened.page.evaluate(() => window.invar.mark("mark"));
  await settled(opened.page);
  assert.ok(centroid(readPng(await opened.page.locator(".canvas canvas").screenshot()), [255, 0, 255]).count > 20);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
  opened = await open(browser, report("nothing", data({ name: "n", result: result(), complete: true, scene: null, times: [], channels: [] })));
  assert.match((await opened.page.locator("body").textContent())!, /nothing was recorded/);
  assert.match((await opened.page.locator(".canvas").textContent())!, /no motion to show/);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("a failed run says why", async () => {
  const failed: Loose = run();
  failed.result = { ...result(), status: "failed", failure: { kind: "singular", what: "step 12 at 0.06 s, joint 'elbow'" } };
  const { page, close } = await open(browser, report("failed", data(failed)));
  assert.match((await page.locator(".badge").textContent())!, /✗ the run failed: singular/);
  assert.match((await page.locator(".failure").textContent())!, /step 12 at 0.06 s, joint 'elbow'/);
  await close();
});

test("a page on paper has stills and all plots", async () => {
  const { page, trouble, close } = await open(browser, report("print", data()), { colorScheme: "dark" });
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  assert.ok(pdf.length > 50000);
  const plots = await page.evaluate(() => window.invar.plots());
  assert.ok(plots.length > 10 && plots.every((p) => p.made));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "and afterwards all is as before");
  assert.deepEqual(trouble, []);
  await close();
});

test("a narrow page has nothing beside its edges", async () => {
  const { page, close } = await open(browser, report("narrow", data()), { viewport: { width: 400, height: 800 } });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
  await close();
});

test("a chain of a hundred bodies plays", async (t) => {
  const { page, trouble, close } = await open(browser, report("chain", chain()));
  await page.evaluate(() => {
    window.invar.play();
    window.invar.resetFrames();
  });
  await page.waitForTimeout(4000);
  const rate = await page.evaluate(() => window.invar.framesPerSecond());
  t.diagnostic(`a chain of 100 bodies: ${rate.toFixed(1)} frames per second in a software renderer`);
  assert.ok((await page.evaluate(() => window.invar.time())) > 2);
  assert.deepEqual(trouble, []);
  await close();
});

test("curves with times of their own share a plot, each with its own numbers, and a gap is a gap", async () => {
  const own: Loose = { name: "own", result: null, complete: true, scene: null, times: [], channels: [] };
  for (let k = 0; k < 12; ++k) {
    const at = Array.from({ length: 50 + k }, (_, i) => (i * (1 + k / 100)) / 10);
    own.times.push(pack(at));
    own.channels.push({ path: `joints/j${k}/q`, unit: "rad", meaning: "", size: 1, time: k, y: pack(at.map((t, i) => (k === 1 && i > 20 && i < 30 ? NaN : k + t))) });
  }
  const { page, trouble, close } = await open(browser, report("own", data(own)));
  await page.waitForFunction(() => window.invar.plots()[0].made);
  const plot = page.locator(".plot").first();
  const texts = async (): Promise<string[]> => (await plot.locator(".value").allTextContents()).map((t) => t.replace("−", "-"));
  await page.evaluate(() => window.invar.seek(2.5));
  await settled(page);
  const shown = await texts();
  // The nearest own sample is at most half a sample away, and curves rise by one per second.
  shown.slice(0, 8).forEach((text, k) => (k === 1 ? assert.equal(text, "–") : assert.ok(Math.abs(Number(text) - (k + 2.5)) < 0.06, `${text} of curve ${k}`)));
  assert.deepEqual(shown.slice(8), ["", "", "", ""], "curves beyond the eighth begin hidden");
  // The tenth curve has the colour of the second; once it is shown there is more of that colour.
  const painted = async (): Promise<number> => centroid(readPng(await plot.locator(".u-wrap").screenshot()), [0xc4, 0x50, 0x0a], 30).count;
  const before = await painted();
  await plot.getByRole("button").nth(9).click();
  await settled(page);
  assert.ok(Math.abs(Number((await texts())[9]) - 11.5) < 0.06);
  const more = (await painted()) - before;
  assert.ok(before > 20 && more > 20, `${before} pixels, then ${more} more`);
  assert.deepEqual(trouble, []);
  await close();
});

// Seen from the front x goes to the right and z up. Perspective makes what is near larger by its depth over its distance, here less than
// a tenth; a wrong axis is off by a factor of five.
test("shapes have their sizes along their axes", async () => {
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((c) => [c & 1 ? 0.5 : -0.5, c & 2 ? 0.1 : -0.1, c & 4 ? 0.1 : -0.1]);
  const faces = [0, 1, 3, 0, 3, 2, 4, 7, 5, 4, 6, 7, 0, 5, 1, 0, 4, 5, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3];
  const half = Math.SQRT1_2;
  const cases: [Loose, number][] = [
    [{ kind: "box", size: [1, 0.3, 0.5] }, 2],
    [{ kind: "cylinder", radius: 0.1, length: 1, axis: 0 }, 5],
    [{ kind: "cylinder", radius: 0.1, length: 1, axis: 1 }, 1],
    [{ kind: "cylinder", radius: 0.1, length: 1, axis: 2 }, 1 / 5],
    [{ kind: "cylinder", radius: 0.1, length: 1, axis: 2, q: [half, 0, half, 0] }, 5],
    [{ kind: "capsule", radius: 0.1, length: 0.8, axis: 0 }, 5],
    [{ kind: "sphere", radius: 0.3 }, 1],
    [{ kind: "mesh", vertices: pack(corners), triangles: faces }, 5],
  ];
  for (const [shape, ratio] of cases) {
    const body = { name: "b", mass: 1, com: [0, 0, 0], shapes: [{ p: [0, 0, 0], q: [1, 0, 0, 0], ...shape }] };
    const still: Loose = { name: "s", result: null, complete: true, scene: { length: 1, gravity: [0, 0, -9.81], bodies: [body] }, times: [pack([0, 1])] };
    still.channels = [{ path: "bodies/b/p", unit: "m", size: 3, time: 0, y: pack([0, 0, 0, 0, 0, 0]) }];
    const { page, trouble, close } = await open(browser, report("shape", data(still)));
    await page.keyboard.press("1");
    await page.evaluate(() => window.invar.mark("b"));
    await settled(page);
    const { width, height, depth, pixels } = readPng(await page.locator(".canvas canvas").screenshot());
    const [columns, rows] = [new Set<number>(), new Set<number>()];
    for (let i = 0; i < width * height; ++i) {
      if (pixels[depth * i] < 215 || pixels[depth * i + 1] > 40 || pixels[depth * i + 2] < 215) continue;
      columns.add(i % width);
      rows.add(Math.floor(i / width));
    }
    const drawn = columns.size / rows.size;
    assert.ok(columns.size > 40 && Math.abs(drawn / ratio - 1) < 0.1, `${JSON.stringify({ ...shape, vertices: 0 })}: ${columns.size} by ${rows.size} pixels`);
    assert.deepEqual(trouble, []);
    await close();
  }
});

test("keys that nobody knows are ignored, wherever they stand", async () => {
  const odd: Loose = run();
  const strange = (o: Loose): void => void Object.assign(o, { springs: [{ a: 1 }], from_the_future: { deep: [null] } });
  [odd, odd.scene, odd.result, odd.scene.bodies[0], odd.scene.joints[0], odd.scene.ellipsoids[0], odd.channels[0]].forEach(strange);
  const { page, trouble, close } = await open(browser, report("odd", { ...data(odd), springs: 3 }));
  assert.equal(await page.locator(".warnings").count(), 0);
  assert.deepEqual(await page.evaluate(() => window.invar.sample("bodies/mark/p", 0)), poses(0).mark.p);
  assert.deepEqual(trouble, []);
  await close();
});

test("channels without a single number leave a page that works", async () => {
  const empty: Loose = run();
  for (const channel of empty.channels) channel.y = pack(new Array(channel.y.n).fill(NaN));
  const { page, trouble, close } = await open(browser, report("nan", data(empty)));
  await page.evaluate(() => {
    window.invar.play();
    window.invar.seek(3);
  });
  await settled(page);
  await page.evaluate(() => window.invar.pause());
  assert.equal(await page.evaluate(() => window.invar.pixelOf("mark")), null);
  const { arrows, ellipsoids, ghosts } = await page.evaluate(() => window.invar.drawn());
  assert.deepEqual([arrows, ellipsoids, ghosts.filter((g) => g.visible)], [[], [], []]);
  await page.locator("#any-channel").selectOption("energy/total");
  await page.waitForFunction(() => window.invar.plots().some((p) => p.title === "energy/total" && p.made));
  assert.deepEqual(trouble, []);
  await close();
});

test("eight runs are compared on one page", async () => {
  const names = Array.from({ length: 8 }, (_, k) => `run number ${k}`);
  const { page, trouble, close } = await open(browser, report("eight", data(...names.map((name) => ({ ...run(name), figures: figures() })))));
  assert.equal(await page.locator(".laws-table thead th").count(), 8);
  assert.deepEqual(await page.locator('figure[data-name="Fig. 2"] .run-column > h4').allTextContents(), names.map((name, k) => `${"ABCDEFGH"[k]} ${name}`));
  const places = await page.evaluate(() => Array.from({ length: 8 }, (_, k) => window.invar.pixelOf("mark", k)!.x));
  assert.ok(places.every((x, k) => k === 0 || x > places[k - 1] + 10), places.join(" "));
  const momentum = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Linear momentum")!;
  assert.equal(momentum.series.length, 24);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1280, "nothing is beside the edges");
  await page.evaluate(() => window.invar.seek(2));
  await settled(page);
  assert.deepEqual(trouble, []);
  await close();
});
