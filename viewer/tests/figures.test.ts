// SPDX-License-Identifier: Apache-2.0
// Laws of the figures that a run brings with it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { launch, open, report, settled, type Opened } from "./browser";
import { readPng, type Picture } from "./png";
import { data, END, figures, IMAGE, pack, run } from "./sample";

let browser: Browser;
let shown: Opened;
let page: Page;
before(async () => {
  browser = await launch();
  shown = await open(browser, report("figures", data({ ...run(), figures: figures() })), { colorScheme: "light" });
  page = shown.page;
  await page.locator(".figures").scrollIntoViewIfNeeded();
  await page.waitForFunction(() => window.invar.figures().every((f) => f.made));
});
after(async () => {
  await browser.close();
});

interface Loose {
  [key: string]: any;
}
const told = () => page.evaluate(() => window.invar.figures());
const panel = (i: number): Locator => page.locator(".figures .plot").nth(i);
async function picture(i: number): Promise<{ inside: Picture; box: { x: number; y: number; width: number; height: number } }> {
  // The pointer of another test would leave its cross in the picture.
  await page.mouse.move(2, 2);
  const over = panel(i).locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  await settled(page);
  return { inside: readPng(await over.screenshot()), box: (await over.boundingBox())! };
}
const colors = { first: [0x00, 0x67, 0xa5], second: [0xc4, 0x50, 0x0a] };
function columnsOf({ width, height, depth, pixels }: Picture, color: number[]): boolean[] {
  const at = (i: number): boolean => color.every((c, k) => Math.abs(pixels[depth * i + k] - c) < 60);
  return Array.from({ length: width }, (_, x) => Array.from({ length: height }, (__, y) => at(y * width + x)).some(Boolean));
}
const share = (flags: boolean[]): number => flags.filter(Boolean).length / flags.length;

test("figures stand after the verdicts and before the plots, with caption, table and image", async () => {
  const order = await page.locator(".verdicts, .figures, .plots").evaluateAll((all) => all.map((e) => e.className));
  assert.deepEqual(order, ["verdicts", "figures", "plots"]);
  assert.equal(await page.getByRole("region", { name: "Figures" }).count(), 1);
  const first = page.locator('figure[data-name="Fig. 2"]');
  assert.equal(await first.locator("> figcaption").textContent(), "Fig. 2 Momentum <b>falls</b>.");
  assert.deepEqual(await first.locator("thead th").allTextContents(), ["φ", "θ"]);
  assert.deepEqual(await first.locator("tbody tr").allTextContents(), ["RMSE0.1235 rad0.2 rad", "max1 rad<i>2</i>"]);
  const image = first.locator("img");
  assert.equal(await image.getAttribute("alt"), "a <plain> colour");
  assert.deepEqual(await image.evaluate((i: HTMLImageElement) => [i.complete, i.naturalWidth, i.naturalHeight]), [true, 8, 4]);
  assert.equal(await page.locator('figure[data-name="Fig. 3"] table, figure[data-name="Fig. 3"] img').count(), 0);
  assert.deepEqual(await page.locator(".figures .plot h4").allTextContents(), ["Path ", "Order "]);
});

test("axes have their labels and scales", async () => {
  const labels = await panel(0).locator(".plot-canvas").getAttribute("aria-label");
  assert.equal(labels, "|p| [N s] over t [s], 2 curves");
  const [decay, path, order] = await told();
  assert.deepEqual(decay.ranges!.x, [0, END]);
  // From 10 exp(-6) to 10.
  assert.deepEqual(decay.ranges!.y, [0.02, 10]);
  assert.ok(path.ranges!.x[0] < -1 && path.ranges!.x[0] > -1.2 && path.ranges!.y[0] < 1 && path.ranges!.y[1] > 3);
  assert.ok(order.ranges!.x[0] >= 0.01 && order.ranges!.x[1] < 0.12 && order.ranges!.y[1] < 2e-4, "what a logarithm does not have does not count");
});

test("what is not positive is a gap on a logarithmic axis, and that is told", async () => {
  const { inside } = await picture(0);
  const columns = columnsOf(inside, colors.second);
  const part = (from: number, to: number): boolean[] => columns.slice(Math.floor((from / END) * inside.width), Math.floor((to / END) * inside.width));
  assert.equal(share(part(2.1, 3.9)), 0);
  // Dashes of 6 pixels and gaps of 4; the curve that is drawn through has no gap but where the other crosses it.
  for (const [from, to] of [[0.3, 1.9], [4.1, 5.9]]) assert.ok(Math.abs(share(part(from, to)) - 0.6) < 0.15, `${share(part(from, to))} of a dashed curve`);
  assert.ok(share(columnsOf(inside, colors.first)) > 0.95);
  assert.match((await panel(0).locator(".about").textContent())!, /^gaps: 133 of its numbers are not positive/);
  assert.match((await panel(2).locator(".about").textContent())!, /^gaps: 1 of its numbers is not positive/);
});

test("a curve that is no function of x is drawn as it goes", async () => {
  const { inside } = await picture(1);
  const { x, y } = (await told())[1].ranges!;
  const { width, height, depth, pixels } = inside;
  for (let k = 0; k < 16; ++k) {
    const angle = (Math.PI * (k + 0.5)) / 8;
    const at = [((Math.cos(angle) - x[0]) / (x[1] - x[0])) * width, ((y[1] - 2 - Math.sin(angle)) / (y[1] - y[0])) * height].map(Math.round);
    let found = false;
    for (let dx = -2; dx <= 2; ++dx) {
      for (let dy = -2; dy <= 2; ++dy) {
        const i = depth * ((at[1] + dy) * width + at[0] + dx);
        found ||= colors.first.every((c, j) => Math.abs(pixels[i + j] - c) < 60);
      }
    }
    assert.ok(found, `the circle passes ${at.join(", ")}`);
  }
});

test("a point between gaps is seen", async () => {
  const { inside } = await picture(2);
  const { x } = (await told())[2].ranges!;
  const at = Math.round((Math.log(0.0125 / x[0]) / Math.log(x[1] / x[0])) * inside.width);
  const columns = columnsOf(inside, colors.first);
  assert.ok(columns.slice(at - 2, at + 3).some(Boolean), "0.0125 stands alone");
  assert.ok(!columns.slice(at + 6, at + 20).some(Boolean));
});

test("panels over time share cursor, zoom and time with the page, the others have a zoom of their own", async () => {
  await page.evaluate(() => window.invar.seek(1.5));
  await settled(page);
  let [decay, path] = await told();
  assert.ok(Math.abs(decay.lineTime - 1.5) < 0.005 * END, `line at ${decay.lineTime}`);
  assert.ok(Number.isNaN(path.lineTime));
  assert.equal(await panel(0).locator(".value").first().textContent(), "2.231");
  const drag = async (i: number, from: [number, number], to: [number, number]): Promise<void> => {
    const { box } = await picture(i);
    await page.mouse.move(box.x + from[0] * box.width, box.y + from[1] * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + to[0] * box.width, box.y + to[1] * box.height, { steps: 6 });
    await page.mouse.up();
    await settled(page);
  };
  const wholePath = path.ranges!;
  await drag(0, [0.5, 0.5], [0.75, 0.5]);
  [decay, path] = await told();
  // Pointers stand on whole pixels of a plot of some 200.
  assert.ok(Math.abs(decay.ranges!.x[0] - 0.5 * END) < 0.01 * END && Math.abs(decay.ranges!.x[1] - 0.75 * END) < 0.01 * END, `${decay.ranges!.x}`);
  assert.deepEqual(path.ranges, wholePath);
  const others = (await page.evaluate(() => window.invar.plots())).filter((p) => p.made);
  assert.ok(others.every((p) => p.ranges!.x[0] === decay.ranges!.x[0]), "all plots over time are zoomed");
  const time = await page.evaluate(() => window.invar.time());
  await drag(1, [0.5, 0.25], [0.9, 0.75]);
  path = (await told())[1];
  const at = (r: [number, number], s: number): number => r[0] + s * (r[1] - r[0]);
  const expected = [at(wholePath.x, 0.5), at(wholePath.x, 0.9), at(wholePath.y, 0.25), at(wholePath.y, 0.75)];
  [...path.ranges!.x, ...path.ranges!.y].forEach((v, k) => assert.ok(Math.abs(v - expected[k]) < 0.03, `${v} instead of ${expected[k]}`));
  assert.deepEqual((await told())[0].ranges, decay.ranges, "and only that one");
  assert.equal(await page.evaluate(() => window.invar.time()), time, "it does not move the time");
  await panel(1).locator(".u-over").dblclick({ position: { x: 20, y: 20 } });
  await settled(page);
  assert.deepEqual((await told())[1].ranges, wholePath);
  await drag(1, [0.5, 0.25], [0.9, 0.75]);
  await page.keyboard.press("Shift+Z");
  await settled(page);
  [decay, path] = await told();
  assert.deepEqual([decay.ranges!.x, path.ranges], [[0, END], wholePath], "a key shows all again");
  const { box } = await picture(0);
  await page.mouse.move(box.x + 0.25 * box.width, box.y + 30);
  await settled(page);
  assert.ok(Math.abs((await page.evaluate(() => window.invar.time())) - 0.25 * END) < (1.5 * END) / box.width, "the cursor moves the motion");
  // The cursor stands in the same place of every plot over time; within a pixel, as their widths differ.
  const cursors = await page.locator(".plot:has(.now-line) .u-over").evaluateAll((all) =>
    all.map((over) => (over.querySelector(".u-cursor-x")!.getBoundingClientRect().left - over.getBoundingClientRect().left) / over.getBoundingClientRect().width),
  );
  assert.ok(cursors.length > 1 && cursors.every((c) => Math.abs(c - 0.25) < 1.5 / 150), cursors.join(" "));
});

test("curves of figures are switched by their names", async () => {
  const toggle = panel(1).getByRole("button", { name: "show circle" });
  await toggle.focus();
  await page.keyboard.press("Enter");
  assert.equal(await toggle.getAttribute("aria-pressed"), "false");
  assert.equal(share(columnsOf((await picture(1)).inside, colors.first)), 0);
  await toggle.click();
  assert.ok(share(columnsOf((await picture(1)).inside, colors.first)) > 0.8);
});

test("figures of one name stand side by side in a comparison, each under the name of its run", async () => {
  const second = { ...run("right one"), figures: figures().slice(0, 1) };
  const opened = await open(browser, report("side", data({ ...run("left one"), figures: figures() }, second, run("without"))));
  const first = opened.page.locator('figure[data-name="Fig. 2"]');
  assert.equal(await opened.page.locator(".paper-figure").count(), 2);
  assert.deepEqual(await first.locator(".run-column > h4").allTextContents(), ["A left one", "B right one"]);
  assert.equal(await first.locator("> figcaption").count(), 1);
  await first.scrollIntoViewIfNeeded();
  const boxes = await Promise.all([0, 1].map((k) => first.locator(".run-column").nth(k).boundingBox()));
  assert.ok(Math.abs(boxes[0]!.y - boxes[1]!.y) < 1 && boxes[1]!.x >= boxes[0]!.x + boxes[0]!.width, "next to each other");
  assert.equal(await opened.page.locator('figure[data-name="Fig. 3"] .run-column').count(), 1);
  assert.deepEqual(await first.locator(".legend .name").allTextContents(), ["x", "y", "circle", "x", "y", "circle"]);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("a damaged part of a figure costs that part only, and is told", async () => {
  const broken: Loose[] = figures();
  broken[0].panels[0].curves[0].y = pack([1, 2, 3]);
  broken[0].panels[1].curves.push({ label: "gone", x: { n: 5, b: "AAAA" }, y: pack([1]) }, null);
  broken[0].table.rows[0].cells.pop();
  broken[0].image.png = "data:image/svg+xml;base64,PHN2Zy8+";
  broken.push(7 as unknown as Loose, { name: "Fig. 5", panels: { no: "list" }, image: { png: "https://example.com/x.png" } });
  broken.push({ name: "Fig. 6", image: { png: `${IMAGE}" onerror="x` } }, { name: "Fig. 7", image: { png: "data:image/png;base64,AAAA", alt: "noise" } });
  broken.push({ name: "Fig. 8", panels: [{ time: true, curves: [{ label: "back", x: pack([2, 1]), y: pack([1, 1]) }] }] });
  const opened = await open(browser, report("broken", data({ ...run(), figures: broken }, { ...run("b"), figures: "none" })));
  // Beyond eight the page counts.
  const words = await opened.page.evaluate(() => (window.invar as unknown as { data: { runs: { damage: string[] }[] } }).data.runs.map((r) => r.damage.join("; ")));
  for (const part of [/figure Fig\. 2, curve 'x' of panel 1: 3 numbers over 1201/, /curve 'gone' of panel 2/, /Fig\. 2, curve '3' of panel 2: no JSON object/, /Fig\. 2, table: a row 'RMSE'/, /Fig\. 2, image: no PNG/, /figure 3: no JSON/, /figure Fig\. 5: panels are no list/, /Fig\. 5, image: no PNG/, /Fig\. 6, image: no PNG/, /Fig\. 8, curve 'back' of panel 1: times do not rise at sample 1/]) assert.match(words[0], part);
  assert.match(words[1], /figures are no list/);
  assert.match((await opened.page.locator(".warnings").textContent())!, /figure Fig\. 2, /);
  const first = opened.page.locator('figure[data-name="Fig. 2"]');
  assert.deepEqual(await first.locator(".legend .name").allTextContents(), ["y", "circle"]);
  assert.match((await opened.page.locator('figure[data-name="Fig. 5"]').textContent())!, /Nothing of this figure could be read/);
  await opened.page.waitForFunction(() => document.querySelector('figure[data-name="Fig. 7"] .failure'));
  assert.equal(await opened.page.locator("img").count(), 0);
  assert.deepEqual(opened.requests.filter((r) => r.startsWith("http")), []);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("on paper figures are drawn whole, never cut", async () => {
  const opened = await open(browser, report("paper", data({ ...run(), figures: figures() })));
  const pdf = await opened.page.pdf({ preferCSSPageSize: true, printBackground: true });
  assert.ok(pdf.length > 50000);
  assert.ok((await opened.page.evaluate(() => window.invar.figures())).every((f) => f.made));
  await opened.page.emulateMedia({ media: "print" });
  assert.deepEqual(await opened.page.locator(".paper-figure").evaluateAll((all) => all.map((f) => getComputedStyle(f).breakInside)), ["avoid", "avoid"]);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("figures alone are a page: time is theirs where nothing was recorded", async () => {
  const opened = await open(browser, report("alone", data({ name: "n", result: null, complete: true, scene: null, times: [], channels: [], figures: figures() })));
  await opened.page.waitForFunction(() => window.invar.figures()[0].made);
  assert.deepEqual((await opened.page.evaluate(() => window.invar.figures()))[0].ranges!.x, [0, END]);
  await opened.page.evaluate(() => window.invar.seek(3));
  assert.equal(await opened.page.evaluate(() => window.invar.time()), 3);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("at the end the console is still silent", () => assert.deepEqual(shown.trouble, []));

test("a page of a study has facts, sentences and figures, but no motion and no clock", async () => {
  const study = { level: "held", text: "unseen runs leave over 0.06", facts: { Model: "arm", "Samples fitted": "500" }, notes: ["Interrupted."] };
  const opened = await open(browser, report("study", data({ name: "arm", result: null, complete: true, study, figures: figures() })));
  const at = opened.page;
  assert.equal(await at.locator(".badge.held").textContent(), "✓ unseen runs leave over 0.06");
  assert.deepEqual(await at.locator(".facts dt").allTextContents(), ["Model", "Samples fitted"]);
  assert.deepEqual(await at.locator(".verdicts .notes li").allTextContents(), ["Interrupted."]);
  assert.equal(await at.locator(".warnings, .plots").count(), 0);
  assert.equal(await at.locator(".motion").isVisible(), false);
  assert.ok((await at.locator("figure.paper-figure").count()) > 0);
  const [all, figure] = await Promise.all([at.locator("main").boundingBox(), at.locator("figure.paper-figure").first().boundingBox()]);
  assert.ok(figure!.width > 0.9 * all!.width, "figures take the room that the motion would have");
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});
