// SPDX-License-Identifier: Apache-2.0
// A browser without network, and pages of which everything that went wrong is kept.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readPng } from "./png";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const pageHtml = (): string => readFileSync(join(here, "..", "page.html"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "invar-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const slot = '<script id="invar-data" type="application/json">';

export const executable = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch(): Promise<Browser> {
  assert.ok(existsSync(executable), `no browser at ${executable}; CHROMIUM names another one`);
  return chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
}

// A report as the program writes it.
export function report(name: string, json: unknown): string {
  const text = typeof json === "string" ? json : JSON.stringify(json);
  const file = join(folder, `${name}.html`);
  writeFileSync(file, pageHtml().replace(slot, () => slot + text.replace(/<\//g, "<\\/")));
  return pathToFileURL(file).href;
}

export interface Invar {
  ready: boolean;
  time(): number;
  seek(t: number): void;
  play(): void;
  pause(): void;
  playing(): boolean;
  pixelOf(name: string, run?: number): { x: number; y: number } | null;
  mark(name: string | null, color?: string, run?: number): void;
  view(): { matrix: number[]; target: number[] };
  render(): void;
  drawn(run?: number): {
    arrows: { layer: string; name: string; from: number[]; tip: number[] }[];
    ghosts: { path: string; visible: boolean; p: number[]; q: number[] }[];
    ellipsoids: { path: string; centre: number[]; halves: number[][] }[];
    loads: { payload: string; body: number; p: number[] }[];
  };
  sample(path: string, t: number, run?: number): number[] | null;
  series(path: string, run?: number): { size: number; time: number[]; y: number[] } | null;
  plots(): Told[];
  figures(): Told[];
  framesPerSecond(): number;
  resetFrames(): void;
  rows(): number;
  skipped(): number;
}
interface Told {
  title: string;
  made: boolean;
  lineTime: number;
  ranges: { x: [number, number]; y: [number, number] } | null;
  floor: string;
  ticks: string[];
  series: { label: string; run: number; path: string; on: boolean; now: number }[];
}
declare global {
  interface Window {
    invar: Invar;
  }
}

export interface Opened {
  page: Page;
  trouble: string[];
  requests: string[];
  close(): Promise<void>;
}

export async function open(browser: Browser, address: string, options: BrowserContextOptions = {}, offline = true): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, offline, ...options });
  const page = await context.newPage();
  const trouble: string[] = [];
  const requests: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") trouble.push(m.text());
  });
  page.on("pageerror", (e) => trouble.push(e.message));
  page.on("request", (r) => requests.push(r.url()));
  await page.goto(address);
  await page.waitForFunction(() => window.invar?.ready || document.querySelector(".complaint"), null, { timeout: 30000 });
  return { page, trouble, requests, close: () => context.close() };
}

// Until the page has drawn what it was told.
export async function settled(page: Page): Promise<void> {
  await page.evaluate(() => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
}

// Where a point of the World is in the canvas, in CSS pixels.
export async function projected(page: Page, p: number[]): Promise<{ x: number; y: number }> {
  const { matrix } = await page.evaluate(() => window.invar.view());
  const box = (await page.locator(".canvas canvas").boundingBox())!;
  const [x, y, , w] = [0, 1, 2, 3].map((row) => [...p, 1].reduce((sum, v, k) => sum + matrix[4 * k + row] * v, 0));
  return { x: (0.5 + (0.5 * x) / w) * box.width, y: (0.5 - (0.5 * y) / w) * box.height };
}

// Pixels of the canvas that something changes, as columns and rows.
export async function changedPixels(page: Page, act: () => Promise<void>): Promise<[number, number][]> {
  const picture = async () => {
    await page.evaluate(() => window.invar.render());
    await settled(page);
    return readPng(await page.locator(".canvas canvas").screenshot());
  };
  const a = await picture();
  await act();
  const b = await picture();
  const changed: [number, number][] = [];
  for (let i = 0, at = 0; i < a.width * a.height; ++i, at += a.depth) {
    if ([0, 1, 2].some((k) => Math.abs(a.pixels[at + k] - b.pixels[at + k]) > 12)) changed.push([i % a.width, Math.floor(i / a.width)]);
  }
  return changed;
}
