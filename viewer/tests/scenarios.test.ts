// SPDX-License-Identifier: Apache-2.0
// Every scenario that is shipped, on its page: from top to end, everything opened, both themes, and not one error of page or console.
// INVAR_PROGRAM names the program. Pages that the tests of scenarios left in INVAR_PAGES are taken where they are younger than it; what is missing is run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser";

const program = process.env.INVAR_PROGRAM;
const options = { skip: program ? false : "INVAR_PROGRAM names no program" };
const top = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const names = readdirSync(join(top, "scenarios")).filter((f) => f.endsWith(".toml")).map((f) => f.slice(0, -5)).sort();
const folder = mkdtempSync(join(tmpdir(), "invar-scenarios-"));
let browser: Browser;
let page: Page;
let trouble: string[] = [];

// One page for all: what counts is what each says, not that a context is fresh.
before(async () => {
  if (!program) return;
  browser = await launch();
  page = await (await browser.newContext({ viewport: { width: 900, height: 700 }, offline: true })).newPage();
  page.on("console", (m) => void (["error", "warning"].includes(m.type()) && trouble.push(m.text())));
  page.on("pageerror", (e) => void trouble.push(e.message));
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function pageOf(name: string): string {
  const left = join(process.env.INVAR_PAGES ?? folder, `${name}.html`);
  if (existsSync(left) && statSync(left).mtimeMs >= statSync(program!).mtimeMs) return left;
  const out = join(folder, name);
  // A law that is broken (exit code 1) is the business of others.
  try {
    execFileSync(program!, ["run", "-q", join(top, "scenarios", `${name}.toml`), "-o", out], { stdio: "pipe" });
  } catch (error) {
    if ((error as { status?: number }).status !== 1) throw error;
  }
  return join(out, "report.html");
}

async function scrolled(): Promise<void> {
  await page.evaluate(async () => {
    const frame = (): Promise<unknown> => new Promise((done) => requestAnimationFrame(done));
    for (let y = 0; y <= document.body.scrollHeight; y += 900) {
      scrollTo(0, y);
      await frame();
      await frame();
    }
  });
}

for (const name of names) {
  test(`the page of ${name} is without errors, and every plot is drawn`, options, async () => {
    trouble = [];
    await page.goto(pathToFileURL(pageOf(name)).href);
    await page.waitForFunction(() => window.invar?.ready || document.querySelector(".complaint"), null, { timeout: 30000 });
    await page.evaluate(() => {
      for (const each of document.querySelectorAll("details")) each.open = true;
      for (const box of document.querySelectorAll<HTMLInputElement>(".motion input[type=checkbox]:not(:checked)")) box.click();
    });
    await scrolled();
    await page.locator("#theme").click();
    await page.evaluate(() => window.invar.seek(1e9));
    await scrolled();
    assert.deepEqual(trouble, []);
    const plots = await page.evaluate(() => [...window.invar.plots(), ...window.invar.figures()]);
    assert.ok(plots.length > 0);
    for (const plot of plots) {
      assert.ok(plot.made, `${plot.title} was not drawn`);
      assert.ok(plot.ranges!.y[0] < plot.ranges!.y[1] && plot.ticks.length >= 2, `${plot.title} from ${plot.ranges!.y.join(" to ")} has ${plot.ticks.length} ticks`);
    }
    // Green where, and only where, nothing is open.
    const [badge, marks] = await page.evaluate(() => [document.querySelector(".head .badge")!.className, document.querySelectorAll(".verdicts .mark.broken, .conclusion, .failure").length]);
    assert.equal(/held/.test(badge), marks === 0);
  });
}
