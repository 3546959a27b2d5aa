// SPDX-License-Identifier: Apache-2.0
// Laws of a report that was opened from disk.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { changedPixels, launch, open, projected, report, settled, type Opened } from "./browser";
import { centroid, readPng } from "./png";
import { data, END, FINE, hand, OFFSET, poses, run, scene } from "./sample";

let browser: Browser;
let shown: Opened;
let page: Page;
before(async () => {
  browser = await launch();
  shown = await open(browser, report("sample", data()));
  page = shown.page;
});
after(async () => {
  await browser.close();
});

const seek = async (t: number): Promise<void> => {
  await page.evaluate((now) => window.invar.seek(now), t);
  await settled(page);
};
const now = (): Promise<number> => page.evaluate(() => window.invar.time());
const bring = async (title: string): Promise<void> => {
  await page.locator(".plot", { has: page.locator("h4", { hasText: title }) }).first().scrollIntoViewIfNeeded();
  await page.waitForFunction((name) => window.invar.plots().find((p) => p.title === name)?.made, title);
  await settled(page);
};
const canvasChange = async (act: () => Promise<void>): Promise<number> => (await changedPixels(page, act)).length;

test("a report opens from disk without network, requests or messages of the console", async () => {
  assert.deepEqual(shown.trouble, []);
  assert.deepEqual(shown.requests.filter((r) => !r.startsWith("file:") && !r.startsWith("data:")), []);
  assert.equal(shown.requests.filter((r) => r.startsWith("file:")).length, 1);
  assert.equal(await page.locator("h1").textContent(), "sample");
});

// Silhouette and centre differ by perspective: a body of half size s at distance d is drawn (s/d)² of its own size off, here well below
// one pixel; counting whole pixels at the rim costs less than one more.
test("the drawn middle of a body lies within 3 pixels of where its centre of mass projects to", async () => {
  await page.evaluate(() => {
    scrollTo(0, 0);
    window.invar.mark("mark", "#ff00ff");
  });
  for (const t of [0, 0.7315, 2.1, 3.9007, END]) {
    await seek(t);
    const canvas = page.locator(".canvas canvas");
    const box = (await canvas.boundingBox())!;
    const drawn = centroid(readPng(await canvas.screenshot()), [255, 0, 255]);
    const expected = await projected(page, poses(t).mark.p);
    const told = (await page.evaluate(() => window.invar.pixelOf("mark")))!;
    assert.ok(drawn.count > 60, `the body is drawn at ${t} s: ${drawn.count} pixels`);
    assert.ok(Math.hypot(drawn.x - expected.x, drawn.y - expected.y) < 3, `at ${t} s drawn at ${drawn.x}, ${drawn.y}, expected ${expected.x}, ${expected.y}`);
    assert.ok(Math.hypot(told.x - box.x - expected.x, told.y - box.y - expected.y) < 0.5, `pixelOf tells the same at ${t} s`);
  }
  await page.evaluate(() => window.invar.mark(null));
});

// A flat plate that is drawn with its long edge along its own x axis: the attitude turns it as the data say.
test("the drawn attitude is that of the data", async () => {
  await page.evaluate(() => window.invar.mark("mark", "#ff00ff"));
  const canvas = page.locator(".canvas canvas");
  for (const t of [0.4, 2.6]) {
    await seek(t);
    const picture = readPng(await canvas.screenshot());
    const { p, q } = poses(t).mark;
    const { turned } = await import("./sample");
    // All corners of the box are at the rim of what is drawn or inside: the hull of both has the same extent.
    const corners = [-1, 1].flatMap((i) => [-1, 1].flatMap((j) => [-1, 1].map((k) => turned(q, [0.1 * i, 0.06 * j, 0.04 * k]).map((v, c) => v + p[c]))));
    const pixels = await Promise.all(corners.map((c) => projected(page, c)));
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0, at = 0; i < picture.width * picture.height; ++i, at += picture.depth) {
      if (Math.abs(picture.pixels[at] - 255) > 40 || picture.pixels[at + 1] > 40 || Math.abs(picture.pixels[at + 2] - 255) > 40) continue;
      [left, right] = [Math.min(left, i % picture.width), Math.max(right, (i % picture.width) + 1)];
      [top, bottom] = [Math.min(top, Math.floor(i / picture.width)), Math.max(bottom, Math.floor(i / picture.width) + 1)];
    }
    const xs = pixels.map((c) => c.x);
    const ys = pixels.map((c) => c.y);
    const off = [left - Math.min(...xs), right - Math.max(...xs), top - Math.min(...ys), bottom - Math.max(...ys)];
    assert.ok(off.every((d) => Math.abs(d) < 3), `edges at ${t} s are off by ${off.map((d) => d.toFixed(1)).join(", ")} pixels`);
  }
  await page.evaluate(() => window.invar.mark(null));
});

test("numbers of the page are those of the data, to the bit", async () => {
  let seed = 12345;
  const random = (): number => (seed = (1103515245 * seed + 12345) % 2147483648) / 2147483648;
  for (let k = 0; k < 10; ++k) {
    const i = Math.floor(random() * FINE.length);
    const t = FINE[i];
    assert.deepEqual(await page.evaluate((at) => window.invar.sample("joints/hinge/force", at), t), [5 * Math.sin(t), 0, 20 + 8 * Math.cos(2 * t)]);
    const coarse = FINE[i - (i % 4)];
    assert.deepEqual(await page.evaluate((at) => window.invar.sample("bodies/mark/p", at), coarse), poses(coarse).mark.p);
  }
  await bring("Joint coordinates");
  await seek(FINE[300]);
  const text = await page.locator(".plot", { has: page.locator("h4", { hasText: "Joint coordinates" }) }).first().locator(".value").first().textContent();
  assert.equal(Number(text!.replace("−", "-")), Number((0.9 * Math.cos(1.3 * FINE[300])).toPrecision(4)));
});

// The way beside the hand is 0.05 m long at every sample; p and q are rounded numbers of size one, and a dozen operations follow.
test("tracking errors are distances between places on bodies and their references", async () => {
  const plot = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Tracking error")!;
  assert.equal(plot.series[0].label, "hand position");
  assert.ok(Math.abs(plot.series[0].now - Math.hypot(...OFFSET)) < 1e-14);
  const path = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Path of hand")!;
  const t = await now();
  const x = path.series.find((s) => s.label === "x")!;
  // The nearest pose is at most half a sample of 0.02 s away, and the hand is slower than 3 m/s.
  assert.ok(Math.abs(x.now - hand(t)[0]) < 0.03);
});

test("play, scrub and the lines of all plots agree in time", async () => {
  await bring("Linear momentum");
  await seek(2.5);
  const lines = async (): Promise<number[]> => (await page.evaluate(() => window.invar.plots())).filter((p) => p.made).map((p) => p.lineTime).filter((t) => !Number.isNaN(t));
  // A tenth of a pixel of plots that are some 200 pixels wide.
  const close = (t: number, at: number[]): void => assert.ok(at.length > 0 && at.some((x) => Math.abs(x - t) < 0.005 * END), `${at.join(" ")} around ${t}`);
  close(2.5, await lines());
  await page.locator("#time").evaluate((slider: HTMLInputElement) => {
    slider.value = "7500";
    slider.dispatchEvent(new Event("input"));
  });
  await settled(page);
  assert.ok(Math.abs((await now()) - 0.75 * END) < 1e-9);
  assert.equal(await page.locator("#time-text").textContent(), "4.500 s");
  close(4.5, await lines());
  await page.evaluate(() => {
    window.invar.seek(1);
    window.invar.play();
  });
  await page.waitForTimeout(700);
  await page.evaluate(() => window.invar.pause());
  await settled(page);
  const t = await now();
  assert.ok(t > 1.2 && t < 3, `playing moves the time: ${t}`);
  const visible = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Linear momentum")!;
  assert.ok(Math.abs(visible.lineTime - t) < 0.005 * END, `the line stands at ${visible.lineTime}, time is ${t}`);
  const px = await page.evaluate(() => window.invar.pixelOf("upper"));
  assert.ok(px, "and the mechanism is there");
});

test("a click into a plot sets the time, a drag zooms all plots, a double click shows all", async () => {
  await bring("Linear momentum");
  const over = page.locator(".plot", { has: page.locator("h4", { hasText: "Linear momentum" }) }).first().locator(".u-over");
  const box = (await over.boundingBox())!;
  await page.mouse.move(box.x + 0.25 * box.width, box.y + 40);
  await settled(page);
  // One pixel of the plot, as pointers stand on whole pixels.
  const pixel = END / box.width;
  assert.ok(Math.abs((await now()) - 0.25 * END) < 1.5 * pixel, "the cursor moves the motion while it is paused");
  await page.mouse.click(box.x + 0.6 * box.width, box.y + 40);
  await settled(page);
  assert.ok(Math.abs((await now()) - 0.6 * END) < 1.5 * pixel);
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.75 * box.width, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  await page.evaluate((t) => window.invar.seek(t), 0.625 * END);
  await settled(page);
  const line = async (): Promise<number> => over.locator(".now-line").evaluate((l) => l.getBoundingClientRect().left + 1 - l.parentElement!.getBoundingClientRect().left);
  assert.ok(Math.abs((await line()) - 0.5 * box.width) < 3, "the middle of what was dragged over is in the middle");
  await over.dblclick({ position: { x: 20, y: 40 } });
  await page.evaluate((t) => window.invar.seek(t), 0.625 * END);
  await settled(page);
  assert.ok(Math.abs((await line()) - 0.625 * box.width) < 3, "all times are shown again");
});

test("toggles act: layers and bodies appear and vanish, traces too", async () => {
  await page.evaluate(() => scrollTo(0, 0));
  await seek(1.5);
  for (const layer of ["joints", "frames", "tendons", "obstacles", "reactions", "loads", "load_moments", "com", "momentum", "ghost", "stiffness"]) {
    const box = page.locator(`[data-layer="${layer}"] input`);
    const changed = await canvasChange(async () => void (await box.click()));
    assert.ok(changed > 15, `${layer} changes ${changed} pixels`);
    assert.equal(await canvasChange(async () => undefined), 0);
  }
  await page.locator(".bodies summary").click();
  for (const label of ["show upper", "trace of upper"]) {
    const changed = await canvasChange(async () => void (await page.locator(".bodies").getByLabel(label).click()));
    assert.ok(changed > 50, `${label} changes ${changed} pixels`);
  }
  assert.equal(await page.locator('[data-layer="moments"]').count(), 0, "what is zero has no toggle");
});

test("curves can be switched off and on, and limits are told", async () => {
  await bring("Actuator inputs");
  const plot = page.locator(".plot", { has: page.locator("h4", { hasText: "Actuator inputs" }) });
  const toggle = plot.getByRole("button").first();
  assert.match((await toggle.textContent())!, /−4 … 4/);
  assert.equal(await toggle.getAttribute("aria-pressed"), "true");
  await toggle.click();
  assert.equal(await toggle.getAttribute("aria-pressed"), "false");
  const state = (await page.evaluate(() => window.invar.plots())).find((p) => p.title === "Actuator inputs")!;
  assert.equal(state.series[0].on, false);
  await toggle.click();
});

test("only plots with something to show exist", async () => {
  const titles = (await page.evaluate(() => window.invar.plots())).map((p) => p.title);
  for (const title of ["Energies", "Error of energy", "Linear momentum", "Residuals", "Joint coordinates", "Reaction forces", "Tracking error", "V", "V̇ and what was promised", "Actuator inputs", "Tendon tensions", "Stiffness of arm", "Newton iterations", "clearance"]) {
    assert.ok(titles.includes(title), `${title} is there`);
  }
  assert.ok(!titles.includes("Reaction moments"));
  assert.match((await page.locator(".plots").textContent())!, /not drawn: .*Reaction moments/);
});

test("the keyboard plays, steps, jumps, changes speed and view, and shows its keys", async () => {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.keyboard.press("Home");
  assert.equal(await now(), 0);
  await page.keyboard.press("ArrowRight");
  assert.equal(await now(), FINE[4], "one sample on");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await now(), 0);
  await page.keyboard.press("End");
  assert.equal(await now(), END);
  await page.keyboard.press("Home");
  await page.keyboard.press("Space");
  assert.equal(await page.evaluate(() => window.invar.playing()), true);
  assert.equal(await page.locator("#play").getAttribute("aria-label"), "pause");
  await page.keyboard.press("Space");
  assert.equal(await page.evaluate(() => window.invar.playing()), false);
  assert.match((await page.locator("#said").textContent())!, /paused at/);
  await page.keyboard.press("+");
  assert.equal(await page.locator("#speed").inputValue(), "2");
  await page.keyboard.press("-");
  const front = await page.evaluate(() => window.invar.view().matrix);
  await page.keyboard.press("3");
  assert.notDeepEqual(await page.evaluate(() => window.invar.view().matrix), front);
  await page.keyboard.press("f");
  assert.equal(await page.locator("#follow").inputValue(), "0");
  await settled(page);
  const { target } = await page.evaluate(() => window.invar.view());
  const com = poses(await now()).upper.p;
  assert.ok(target.every((x, k) => Math.abs(x - com[k]) < 0.05), "the camera looks at the body it follows");
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog[open] .keys").isVisible());
  await page.keyboard.press("Escape");
  await page.keyboard.press("d");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.keyboard.press("d");
});

test("a page opens in the theme that its address asks for, otherwise in that of the system, and can still be changed", async () => {
  const address = report("theme", data());
  const cases: [string, "light" | "dark", string, number][] = [
    ["", "light", "light", 0],
    ["", "dark", "dark", 0],
    ["?theme=dark", "light", "dark", 0],
    ["#theme=light", "dark", "light", 0],
    ["#t=2&theme=dark", "light", "dark", 2],
    ["?theme=dark#t=3", "light", "dark", 3],
    ["?theme=dark#theme=light", "dark", "light", 0],
    ["?theme=purple#t=", "dark", "dark", 0],
  ];
  for (const [asked, system, theme, t] of cases) {
    const { page, trouble, close } = await open(browser, address + asked, { colorScheme: system });
    const now = (): Promise<string | undefined> => page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await now(), theme, asked);
    assert.equal(await page.evaluate(() => window.invar.time()), t, asked);
    // What was asked for stays when the system changes its mind.
    await page.emulateMedia({ colorScheme: system === "dark" ? "light" : "dark" });
    await settled(page);
    assert.equal((await now()) === theme, /theme=(dark|light)/.test(asked), asked);
    const before = await now();
    await page.locator("#theme").click();
    assert.notEqual(await now(), before);
    assert.deepEqual(trouble, []);
    await close();
  }
});

test("everything that can be pressed has a name, and focus reaches the controls in order", async () => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, input")].filter((e) => {
      const control = e as HTMLInputElement;
      return !(control.getAttribute("aria-label") || control.labels?.[0]?.textContent?.trim() || control.textContent?.trim());
    }).map((e) => e.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await page.locator("#first").focus();
  const order: string[] = [];
  for (let i = 0; i < 7; ++i) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement?.id ?? ""));
  }
  assert.deepEqual(order, ["back", "play", "next", "last", "time", "speed", "loop"]);
});

test("names and notes are text, never markup", async () => {
  const evil = run('<img src=x onerror="document.title=1">');
  const drawn = scene() as { bodies: { name: string }[] };
  drawn.bodies[0].name = "</script><script>document.title='gone'</script>";
  const opened = await open(browser, report("evil", { ...data({ ...evil, scene: drawn }, run("b")), title: "<i>t</i>" }));
  await settled(opened.page);
  assert.equal(await opened.page.title(), "<i>t</i>");
  assert.equal(await opened.page.locator("img, i, .notes b").count(), 0);
  assert.match((await opened.page.locator(".notes").textContent())!, /nothing <b>happened<\/b>/);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
});

test("verdicts are told in words, not by colour alone", async () => {
  assert.match((await page.locator(".badge").textContent())!, /all 2 stated laws were kept/);
  assert.deepEqual(await page.locator(".verdicts > .laws .mark").allTextContents(), ["✓ kept", "✓ kept"]);
  assert.match((await page.locator(".certificate summary").textContent())!, /with exceptions.*1 of 2 assumptions did not hold/);
  assert.match((await page.locator(".certificate").textContent())!, /violated first at 1 s by 'mark'/);
});

test("at the end the console is still silent", () => assert.deepEqual(shown.trouble, []));
