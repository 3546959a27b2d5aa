// SPDX-License-Identifier: Apache-2.0
// Laws of parts that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unshuffle } from "../src/arrays";
import { principal, type Symmetric } from "../src/eigen";
import { escapedName, nearestSample, plainName, sampleAt, type Channel } from "../src/data";
import { Growth } from "../src/live";
import { Player } from "../src/player";
import { Sharpness } from "../src/sharpness";
import { shortNumber } from "../src/values";
import { inflateRawSync } from "node:zlib";
import { pack } from "./sample";

test("unshuffle undoes the planes of bytes, bit by bit", () => {
  const numbers = [0, -0, 1, -1.5, Math.PI, 5e-324, Number.MAX_VALUE, Infinity, NaN];
  const packed = pack(numbers);
  const back = unshuffle(inflateRawSync(Buffer.from(packed.b, "base64")), packed.n);
  numbers.forEach((x, i) => assert.ok(Object.is(back[i], x), `${x}`));
});

test("samples at and around a time are found", () => {
  const time = new Float64Array([0, 1, 2, 2, 4]);
  assert.deepEqual([-1, 0, 0.5, 2, 3.9, 9].map((t) => sampleAt(time, t)), [-1, 0, 0, 3, 3, 4]);
  assert.deepEqual([-1, 0.4, 0.6, 3.5, 9].map((t) => nearestSample(time, t)), [0, 0, 1, 4, 4]);
  assert.equal(nearestSample(new Float64Array(0), 1), -1);
});

test("names survive their way into paths", () => {
  for (const name of ["a/b", "100%", "tab\there", "plain", "%2F", "ü/ß"]) {
    assert.equal(plainName(escapedName(name)), name);
    assert.ok(!escapedName(name).includes("/"));
  }
});

test("numbers are written with four digits, or three and a power", () => {
  const cases: [number, string][] = [[0, "0"], [NaN, "–"], [1.23456, "1.235"], [-0.5, "−0.5"], [1e-12, "1e−12"], [1.23456e-7, "1.23e−7"], [123456, "1.23e5"], [-Infinity, "−∞"], [10, "10"], [1e20, "1e20"]];
  for (const [x, text] of cases) assert.equal(shortNumber(x), text);
});

test("steps of the clock go to the next sample on either side", () => {
  const player = new Player(0, 3, new Float64Array([0, 1, 2, 3]));
  const go = (t: number, direction: 1 | -1): number => (player.seek(t), player.step(direction), player.time);
  assert.deepEqual([go(0, 1), go(0.5, 1), go(1, 1), go(3, 1)], [1, 1, 2, 3]);
  assert.deepEqual([go(3, -1), go(2.5, -1), go(1, -1), go(0, -1)], [2, 2, 0, 0]);
  player.seek(99);
  assert.equal(player.time, 3);
});

test("the clock runs with its speed, loops, and stops at the end", () => {
  const player = new Player(0, 2, new Float64Array([0, 2]));
  player.setSpeed(2);
  player.play();
  const start = performance.now();
  player.tick(start + 500);
  assert.ok(Math.abs(player.time - 1) < 0.05);
  player.setLoop(true);
  player.tick(start + 1250);
  assert.ok(Math.abs(player.time - 0.5) < 0.05, "2.5 s are 0.5 s in the second round");
  player.setLoop(false);
  player.tick(start + 9000);
  assert.deepEqual([player.time, player.playing], [2, false]);
});

const channel = (size: number): Channel => ({ path: "x", unit: "", meaning: "", size, time: new Float64Array(0), y: new Float64Array(0) });
const bytes = (numbers: number[]): Uint8Array => new Uint8Array(new Float64Array(numbers).buffer);

test("a live run that grows too long keeps evenly spaced rows, the first among them", () => {
  const x = channel(2);
  // Room for 2048 rows of three numbers.
  const growth = new Growth([x], 3 * 2048);
  for (let i = 0; i < 10000; ++i) growth.add(bytes([i, 10 * i, i + 0.5]));
  assert.ok(growth.rows <= 2048 && growth.rows > 1000);
  const stride = x.time[1];
  x.time.forEach((t, i) => {
    assert.equal(t, stride * i);
    assert.deepEqual([x.y[2 * i], x.y[2 * i + 1]], [10 * t, t + 0.5]);
  });
});

// A matrix of size one; a few dozen operations are rounded.
const ROUNDED = 1e-14;

test("principal values of symmetric matrices are those of closed forms", () => {
  const cases: [Symmetric, number[]][] = [
    [[3, 7, 5, 0, 0, 0], [7, 5, 3]],
    [[2, 2, 2, 1, 1, 1], [4, 1, 1]],
    [[1, 1, 5, -2, 0, 0], [5, 3, -1]],
    [[2, 2, 2, -1, 0, -1], [2 + Math.SQRT2, 2, 2 - Math.SQRT2]],
    [[0, 0, 0, 0, 0, 0], [0, 0, 0]],
    [[1, 1, 1, 1, 1, 1], [3, 0, 0]],
    [[1e200, 1e-200, 0, 0, 0, 0], [1e200, 1e-200, 0]],
  ];
  for (const [matrix, values] of cases) {
    const most = Math.max(...values.map(Math.abs), 1);
    principal(matrix).values.forEach((v, k) => assert.ok(Math.abs(v - values[k]) <= ROUNDED * most, `${matrix}: ${v} instead of ${values[k]}`));
  }
  assert.ok(principal([1, NaN, 1, 0, 0, 0]).values.every(Number.isNaN));
});

test("principal axes are a right-handed triad that the matrix only stretches", () => {
  let seed = 7;
  const random = (): number => 2 * ((seed = (1103515245 * seed + 12345) % 2147483648) / 2147483648) - 1;
  for (let trial = 0; trial < 200; ++trial) {
    const [xx, yy, zz, xy, xz, yz] = Array.from({ length: 6 }, random);
    const { values, axes } = principal([xx, yy, zz, xy, xz, yz]);
    const rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    const dot = (a: number[], b: number[]): number => a.reduce((sum, x, k) => sum + x * b[k], 0);
    axes.forEach((e, k) => {
      rows.forEach((row, i) => assert.ok(Math.abs(dot(row, e) - values[k] * e[i]) < ROUNDED));
      axes.forEach((f, j) => assert.ok(Math.abs(dot(e, f) - (j === k ? 1 : 0)) < ROUNDED));
    });
    const [x, y, z] = axes;
    assert.ok(Math.abs(dot([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], z) - 1) < ROUNDED);
    assert.ok(values[0] >= values[1] && values[1] >= values[2]);
  }
});

test("motion that is too slow is drawn with fewer pixels, and what rests with all of them", () => {
  Object.assign(globalThis, { devicePixelRatio: 1 });
  const play = (sharpness: Sharpness, gap: number): number => {
    let wall = 0;
    for (let k = 0; k < 100; ++k) sharpness.frame((wall += gap));
    assert.equal(sharpness.due(wall + 100), false, "a pause between frames is no rest");
    const ratio = sharpness.ratio;
    assert.equal(sharpness.due(wall + 1000), ratio < 2);
    sharpness.rest();
    assert.equal(sharpness.ratio, 2);
    return ratio;
  };
  assert.equal(play(new Sharpness(), 16), 2);
  const slow = new Sharpness();
  assert.equal(play(slow, 50), 0.5);
  assert.equal(play(slow, 16), 0.5, "what was too slow is not tried again");
  slow.reset();
  assert.equal(play(slow, 16), 2, "but when the size has changed");
});
