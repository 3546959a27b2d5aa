// SPDX-License-Identifier: Apache-2.0
// Frames per second of a long chain that plays beside its plots, in a software renderer: npm run bench [-- bodies [seconds]].
import { loadavg } from "node:os";
import { launch, open, report } from "./browser";
import { chain } from "./sample";

const [bodies, seconds] = [Number(process.argv[2] ?? 100), Number(process.argv[3] ?? 10)];

const browser = await launch();
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
await browser.close();
