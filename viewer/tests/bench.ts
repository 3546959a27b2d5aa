// SPDX-License-Identifier: Apache-2.0
// Frames per second of a long chain that plays beside its plots, in a software renderer: npm run bench [-- bodies [seconds]].
// How long a recording takes until it is seen, and what it costs: INVAR_PROGRAM=… npm run bench -- DIR.
import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { launch, open, report } from "./browser";
import { chain } from "./sample";

async function play(bodies: number, seconds: number): Promise<void> {
  const { page, trouble } = await open(browser, report("bench", chain(bodies, 3001, 60)), { viewport: { width: 1400, height: 900 } });
  for (const signs of [false, true]) {
    if (signs) await page.locator('[data-layer="joints"] input').check();
    await page.evaluate(() => window.invar.play());
    // The first second compiles shaders and draws the plots.
    await page.waitForTimeout(1500);
    const gaps = await page.evaluate(async (wanted) => {
      const frame = (): Promise<number> => new Promise((done) => requestAnimationFrame(done));
      window.invar.resetFrames();
      const at = [await frame()];
      while (at[at.length - 1] < at[0] + 1000 * wanted) at.push(await frame());
      return at.slice(1).map((t, i) => t - at[i]).sort((a, b) => a - b);
    }, seconds);
    const rate = await page.evaluate(() => window.invar.framesPerSecond());
    await page.evaluate(() => window.invar.pause());
    const share = (q: number): string => gaps[Math.floor(q * (gaps.length - 1))].toFixed(1);
    console.log(
      `${bodies} bodies${signs ? " with signs of joints" : ""}: ${rate.toFixed(1)} frames per second; nine of ten take less than ${share(0.9)} ms; load ${loadavg()[0].toFixed(1)}`,
    );
  }
  if (trouble.length > 0) console.log(trouble.join("\n"));
}

async function load(directory: string): Promise<void> {
  const began = performance.now();
  const child = spawn(process.env.INVAR_PROGRAM ?? "invar", ["view", directory, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise<string>((done) => child.stdout!.on("data", (said: Buffer) => done(said.toString().trim().split("\n")[0])));
  const served = performance.now();
  const { page } = await open(browser, address, {}, false);
  const seen = performance.now();
  const most = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))![1];
  const heap = await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize);
  const size = statSync(join(directory, "run.log")).size / 1e6;
  console.log(`${size.toFixed(0)} MB: served after ${((served - began) / 1000).toFixed(2)} s, seen after ${((seen - began) / 1000).toFixed(2)} s; program ${(Number(most) / 1000).toFixed(0)} MB, page ${(heap / 1e6).toFixed(0)} MB; load ${loadavg()[0].toFixed(1)}`);
  child.kill("SIGINT");
}

const browser = await launch();
if (Number.isNaN(Number(process.argv[2] ?? 100))) await load(process.argv[2]);
else await play(Number(process.argv[2] ?? 100), Number(process.argv[3] ?? 10));
await browser.close();
