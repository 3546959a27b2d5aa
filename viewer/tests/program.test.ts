// SPDX-License-Identifier: Apache-2.0
// Laws of what the program itself writes and serves. INVAR_PROGRAM names it; without it these tests are left out, and say so.
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { launch, open, projected, settled } from "./browser";

const program = process.env.INVAR_PROGRAM;
const options = { skip: program ? false : "INVAR_PROGRAM names no program" };
const top = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const scenario = join(top, "scenarios", "paper_a_closed_loop.toml");
const folder = mkdtempSync(join(tmpdir(), "invar-program-"));
const children: ChildProcess[] = [];
let browser: Browser;

before(async () => {
  if (!program) return;
  execFileSync(program, ["run", "-q", scenario, "-o", join(folder, "run")]);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

// A log, read as docs/recording.md says.
interface Log {
  channels: { path: string; size: number }[];
  rows: Float64Array[];
}
function readLog(file: string): Log {
  const bytes = readFileSync(file);
  const length = bytes.readUInt32LE(12);
  const { channels } = JSON.parse(bytes.subarray(16, 16 + length).toString("utf8")) as Log;
  const width = channels.reduce((sum, c) => sum + c.size, 0);
  const rows: Float64Array[] = [];
  const record = 12 + 8 * width + 4;
  for (let at = 20 + length; at + record <= bytes.length && bytes.subarray(at, at + 4).toString() === "SMPL"; at += record) {
    rows.push(Float64Array.from({ length: width }, (_, k) => bytes.readDoubleLE(at + 12 + 8 * k)));
  }
  return { channels, rows };
}
function columnOf(log: Log, path: string): number {
  let at = 0;
  for (const c of log.channels) {
    if (c.path === path) return at;
    at += c.size;
  }
  throw new Error(`no channel ${path}`);
}

// Numbers that look random, the same every time.
function* draws(seed: number): Generator<number> {
  for (;;) yield (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

// A verb that serves: its address is the first line that has one.
function serve(args: string[]): Promise<{ address: string; child: ChildProcess; ended: Promise<number | null> }> {
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const ended = new Promise<number | null>((done) => child.on("exit", (code) => done(code)));
  return new Promise((done, fail) => {
    let said = "";
    const look = (chunk: Buffer): void => {
      said += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
      if (found) done({ address: found[0], child, ended });
    };
    child.stdout!.on("data", look);
    child.stderr!.on("data", look);
    void ended.then((code) => fail(new Error(`ended with ${code}: ${said}`)));
  });
}

test("the numbers of a report are those of the recording, from disk and without network", options, async () => {
  const log = readLog(join(folder, "run", "run.log"));
  const { page, trouble, requests, close } = await open(browser, pathToFileURL(join(folder, "run", "report.html")).href);
  const random = draws(20);
  const draw = (n: number): number => Math.floor(random.next().value! * n);
  for (let compared = 0; compared < 10; ) {
    const { path, size } = log.channels[1 + draw(log.channels.length - 1)];
    const series = await page.evaluate((p) => window.invar.series(p), path);
    if (!series) continue; // rates are left to the recording
    const i = draw(series.time.length);
    const row = log.rows.find((r) => r[0] === series.time[i])!;
    const recorded = [...row.subarray(columnOf(log, path), columnOf(log, path) + size)];
    assert.deepEqual(series.y.slice(size * i, size * (i + 1)), recorded, path);
    assert.deepEqual(await page.evaluate(([p, t]) => window.invar.sample(p as string, t as number), [path, series.time[i]]), recorded, path);
    ++compared;
  }
  assert.deepEqual(trouble, []);
  assert.deepEqual(requests.filter((r) => !/^(file|data|blob):/.test(r)), []);
  await close();
});

test("bodies are drawn where they were recorded", options, async () => {
  const log = readLog(join(folder, "run", "run.log"));
  const { page, close } = await open(browser, pathToFileURL(join(folder, "run", "report.html")).href);
  const times = (await page.evaluate(() => window.invar.series("bodies/body3/p")))!.time;
  const canvas = (await page.locator(".canvas canvas").boundingBox())!;
  for (const part of [0, 0.2, 0.5, 0.8, 1]) {
    const t = times[Math.round(part * (times.length - 1))];
    await page.evaluate((at) => window.invar.seek(at), t);
    await settled(page);
    const at = columnOf(log, "bodies/body3/p");
    const drawn = (await page.evaluate(() => window.invar.pixelOf("body3")))!;
    const expected = await projected(page, [...log.rows.find((r) => r[0] === t)!.subarray(at, at + 3)]);
    assert.ok(Math.hypot(drawn.x - canvas.x - expected.x, drawn.y - canvas.y - expected.y) < 3, `${t} s: ${JSON.stringify([drawn, expected])}`);
  }
  await close();
});

test("a link may name a moment", options, async () => {
  const { page, close } = await open(browser, `${pathToFileURL(join(folder, "run", "report.html")).href}#t=9`);
  assert.ok(Math.abs((await page.evaluate(() => window.invar.time())) - 9) < 0.03); // the nearest of six hundred poses
  await close();
});

test("the figures of the paper are on the page", options, async () => {
  const { page, close } = await open(browser, pathToFileURL(join(folder, "run", "report.html")).href);
  const captions = (await page.locator("figure figcaption").allTextContents()).join(" ");
  assert.match(captions, /Fig\. 4.*Fig\. 5/s);
  assert.equal(await page.locator("figure img").evaluateAll((all) => all.filter((i) => (i as HTMLImageElement).naturalWidth > 1000).length), 1);
  await close();
});

test("a live run arrives whole", options, async () => {
  const text = readFileSync(scenario, "utf8").replace("../models", join(top, "models")).replace("end = 15.0", "end = 300.0\n[record]\nevery = 20");
  writeFileSync(join(folder, "long.toml"), text.slice(0, text.indexOf("[must]")) + text.slice(text.indexOf("[[figure]]")));
  const { address, ended } = await serve(["run", join(folder, "long.toml"), "-o", join(folder, "live"), "--live", "--no-browser"]);
  const { page, trouble, close } = await open(browser, address, {}, false);
  await page.waitForFunction(() => !/running/.test(document.querySelector(".badge")?.textContent ?? "running"), null, { timeout: 60000 });
  assert.equal(await ended, 0);
  const log = readLog(join(folder, "live", "run.log"));
  assert.equal(log.rows.length, 3001);
  assert.equal(await page.evaluate(() => window.invar.rows()), log.rows.length);
  assert.equal(await page.evaluate(() => window.invar.skipped()), 0);
  for (const path of ["bodies/body5/p", "energy/total", "control/arm/V"]) {
    const at = columnOf(log, path);
    const series = (await page.evaluate((p) => window.invar.series(p), path))!;
    assert.deepEqual(series.time, log.rows.map((r) => r[0]));
    assert.deepEqual(series.y, log.rows.flatMap((r) => [...r.subarray(at, at + series.size)]), path);
  }
  assert.match((await page.locator("figure figcaption").allTextContents()).join(" "), /Fig\. 4.*Fig\. 5/s);
  assert.ok((await page.evaluate(() => window.invar.figures()))[0].series.length > 3);
  assert.deepEqual(trouble, []);
  await close();
});

// The answer's code to a request as it stands, whatever a browser would make of it.
function answer(address: string, path: string, headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(address);
  return new Promise((done, fail) => {
    const asked = request({ hostname, port, path, headers }, (response) => (response.resume(), done(response.statusCode!)));
    asked.on("upgrade", (response, socket) => (socket.destroy(), done(response.statusCode!)));
    asked.on("error", fail);
    asked.end();
  });
}

test("a second origin, a foreign host and paths outside are refused", options, async () => {
  const { address, child } = await serve(["view", join(folder, "run"), "--no-browser"]);
  const own = new URL(address).host;
  const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==" };
  assert.equal(await answer(address, "/data.json", { Host: own }), 200);
  assert.equal(await answer(address, "/data.json", { Host: own, Origin: `http://${own}` }), 200);
  for (const [headers, code] of [
    [{ Host: "example.org" }, 403],
    [{ Host: "127.0.0.1:1" }, 403],
    [{ Host: own, Origin: "http://example.org" }, 403],
    [{ Host: own, Origin: "null" }, 403],
    [{ Host: own, Origin: "http://example.org", ...upgrade }, 403],
  ] as [Record<string, string>, number][]) {
    for (const path of headers.Upgrade ? ["/live"] : ["/", "/data.json"]) assert.equal(await answer(address, path, headers), code, JSON.stringify([path, headers]));
  }
  for (const path of ["/../run.log", "/..%2frun.log", "/%2e%2e/run.log", "/a/../../run.log", "/../../../../etc/passwd"]) assert.equal(await answer(address, path, { Host: own }), 400, path);
  for (const path of ["/run.log", "/result.json", "/etc/passwd"]) assert.equal(await answer(address, path, { Host: own }), 404, path);

  // A page from elsewhere in the same browser learns nothing.
  const elsewhere = createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>elsewhere</title>"));
  await new Promise<void>((done) => elsewhere.listen(0, "127.0.0.1", done));
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
  const got = await page.evaluate(async (base) => {
    const read = await fetch(`${base}data.json`).then((r) => r.text(), () => "refused");
    const opened = await new Promise((done) => {
      const socket = new WebSocket(`${base.replace("http", "ws")}live`);
      socket.onopen = () => done("opened");
      socket.onerror = () => done("refused");
    });
    return [read, opened];
  }, address);
  assert.deepEqual(got, ["refused", "refused"]);
  await page.context().close();
  elsewhere.close();
  child.kill("SIGINT");
});

test("a recording that was cut is shown up to there, and said so", options, async () => {
  const cut = join(folder, "cut");
  mkdirSync(cut);
  copyFileSync(join(folder, "run", "run.log"), join(cut, "run.log"));
  truncateSync(join(cut, "run.log"), Math.floor(0.6 * readFileSync(join(cut, "run.log")).length));
  const { rows } = readLog(join(cut, "run.log"));
  assert.ok(rows.length > 100);
  execFileSync(program!, ["report", "-q", cut]);
  const { page, trouble, close } = await open(browser, pathToFileURL(join(cut, "report.html")).href);
  assert.match((await page.locator("body").innerText()), /cut|not complete|incomplete/i);
  const series = (await page.evaluate(() => window.invar.series("bodies/body1/p")))!;
  assert.equal(series.time[series.time.length - 1], rows[rows.length - 1][0]);
  assert.deepEqual(trouble, []);
  await close();
});
