// SPDX-License-Identifier: Apache-2.0
// Laws of a run that arrives while it is computed, from a server of a few lines.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launch, open, pageHtml, settled } from "./browser";
import { channels, COARSE, poses, result, scene } from "./sample";

type Script = (send: (message: string | Buffer) => void, socket: Duplex) => Promise<void>;
let browser: Browser;
let server: Server;
let script: Script;

// One frame from server to page: never masked, never in parts.
function frame(message: string | Buffer): Buffer {
  const body = Buffer.from(message as string);
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65536 ? 4 : 10);
  head[0] = 0x80 | (typeof message === "string" ? 1 : 2);
  if (head.length === 2) head[1] = body.length;
  else if (head.length === 4) [head[1]] = [126, head.writeUInt16BE(body.length, 2)];
  else [head[1]] = [127, head.writeBigUInt64BE(BigInt(body.length), 2)];
  return Buffer.concat([head, body]);
}

before(async () => {
  browser = await launch();
  server = createServer((request, response) => {
    if (request.url === "/") response.setHeader("content-type", "text/html").end(pageHtml());
    else if (request.url === "/data.json") response.end(JSON.stringify({ format: 1, title: "live", live: true, runs: [] }));
    else response.writeHead(404).end();
  });
  server.on("upgrade", (request, socket) => {
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("error", () => undefined);
    void script((message) => void socket.write(frame(message)), socket);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
after(async () => {
  await browser.close();
  server.closeAllConnections?.();
  server.close();
});

const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

// All channels with one time, as a live run has them.
const names = channels(COARSE, COARSE).map(({ path, unit, meaning, size }) => ({ path, unit, meaning, size }));
const description = JSON.stringify({ format: 1, title: "live", live: true, runs: [{ name: "live", result: null, complete: false, scene: scene(), times: [], channels: names }] });
// Channel c has the number 1000 c + k + t in component k; bodies are where they belong.
function row(t: number): number[] {
  const at = poses(t) as Record<string, { p: number[]; q: number[] }>;
  return [
    t,
    ...names.flatMap(({ path, size }, c) => {
      const body = /^bodies\/(\w+)\/([pq])$/.exec(path as string);
      if (body) return at[body[1]][body[2] as "p" | "q"];
      return Array.from({ length: size as number }, (_, k) => 1000 * c + k + t);
    }),
  ];
}
const bytes = (rows: number[][]): Buffer => Buffer.from(new Float64Array(rows.flat()).buffer);

test("a live run arrives whole: every row, in order, to the bit, and its verdict", async () => {
  const all = Array.from({ length: 2600 }, (_, i) => i * 0.0023);
  script = async (send) => {
    send(description);
    let at = 0;
    for (let k = 1; at < all.length; k = (k * 7 + 3) % 97) {
      send(bytes(all.slice(at, at + k + 1).map(row)));
      at += k + 1;
      if (k % 5 === 0) await pause(10);
    }
    send(JSON.stringify({ skipped: 3 }));
    send(JSON.stringify({ result: result(), complete: true }));
  };
  const { page, trouble, close } = await open(browser, address(), {}, false);
  await page.waitForFunction(() => !/running/.test(document.querySelector(".badge")?.textContent ?? "running"), null, { timeout: 20000 });
  assert.equal(await page.evaluate(() => window.invar.rows()), all.length);
  assert.equal(await page.evaluate(() => window.invar.skipped()), 3);
  assert.match((await page.locator(".warnings").textContent())!, /3 rows were left out/);
  const path = "joints/elbow/force";
  const c = names.findIndex((n) => n.path === path);
  const series = (await page.evaluate((p) => window.invar.series(p), path))!;
  assert.deepEqual(series.time, all);
  assert.deepEqual(series.y, all.flatMap((t) => [0, 1, 2].map((k) => 1000 * c + k + t)));
  assert.match((await page.locator(".badge").textContent())!, /all 2 stated laws were kept/);
  await page.evaluate((t) => window.invar.seek(t), all[1300]);
  await settled(page);
  assert.equal(await page.evaluate(() => window.invar.time()), all[1300]);
  assert.ok(await page.evaluate(() => window.invar.pixelOf("mark")));
  assert.deepEqual(trouble, []);
  await close();
});

test("while it runs, whoever looks at the end stays there", async () => {
  let go = (): void => undefined;
  const more = new Promise<void>((done) => (go = done));
  script = async (send) => {
    send(description);
    send(bytes([0, 0.5, 1].map(row)));
    await more;
    send(bytes([1.5, 2].map(row)));
  };
  const { page, close } = await open(browser, address(), {}, false);
  await page.waitForFunction(() => window.invar.time() === 1);
  assert.match((await page.locator(".badge").textContent())!, /running/);
  go();
  await page.waitForFunction(() => window.invar.time() === 2);
  await close();
});

test("a stream that breaks off or is damaged is told, and what came is kept", async () => {
  const cases: [Script, RegExp][] = [
    [async (send, socket) => (send(description), send(bytes([0, 1].map(row))), await pause(300), void socket.destroy()), /ended before the run was complete|connection to the program failed/],
    [async (send) => (send(description), send(bytes([0, 1].map(row))), await pause(300), send(Buffer.alloc(12))), /no whole number of rows/],
    [async (send) => (send(description), send(bytes([0, 1].map(row))), await pause(300), send(bytes([0.5].map(row)))), /times do not rise/],
    [async (send) => (send(description), send(bytes([0, 1].map(row))), await pause(300), send("{not json")), /damaged/],
  ];
  for (const [acts, words] of cases) {
    script = acts;
    const { page, close } = await open(browser, address(), {}, false);
    await page.waitForFunction(() => document.querySelector(".warnings"));
    assert.match((await page.locator(".warnings").allTextContents()).join(" "), words);
    assert.equal(await page.evaluate(() => window.invar.rows()), 2);
    await close();
  }
  script = async (send) => send(bytes([row(0)]));
  const { page, close } = await open(browser, address(), {}, false);
  assert.match((await page.locator(".complaint").textContent())!, /before their description/);
  await close();
});
