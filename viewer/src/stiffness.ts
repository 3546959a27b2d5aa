// SPDX-License-Identifier: Apache-2.0
// Symmetric matrices in a recording, by their six entries, and their principal values over time.
import { plainName, type Channel, type Run } from "./data";
import { principal, type Principal, type Symmetric } from "./eigen";
import { bracket } from "./poses";
import type { Curve } from "./series";

const entries = ["xx", "yy", "zz", "xy", "xz", "yz"];
const pattern = /^(control\/([^/]+)\/stiffness)_(?:xx|yy|zz|xy|xz|yz)$/;

// The matrix that a channel is an entry of; null where it is none, or where the matrix is not complete.
export function matrixOf(run: Run, channel: Channel): Matrix | null {
  const match = pattern.exec(channel.path);
  return match && readMatrix(run, match[1], plainName(match[2]));
}

export function readMatrix(run: Run, path: string, name = path): Matrix | null {
  const found = entries.map((e) => run.channels.get(`${path}_${e}`));
  const whole = found.every((c) => c && c.size === 1 && c.time === found[0]?.time);
  return whole ? new Matrix(path, name, found as Channel[]) : null;
}

export class Matrix {
  // Three values of each sample so far.
  private values = new Float64Array(0);
  private count = 0;
  private lastTime = NaN;

  constructor(readonly path: string, readonly name: string, private readonly parts: Channel[]) {}

  get unit(): string {
    return this.parts[0].unit;
  }
  // The path of an entry: its matrix is read at the first.
  get first(): string {
    return this.parts[0].path;
  }

  private sample(i: number): Symmetric {
    return this.parts.map((c) => c.y[i]) as Symmetric;
  }

  at(t: number): Principal | null {
    const [i, j, share] = bracket(this.parts[0].time, t);
    if (i < 0) return null;
    const [a, b] = [this.sample(i), this.sample(j)];
    const made = principal(a.map((x, k) => (share > 0 ? x + share * (b[k] - x) : x)) as Symmetric);
    return made.values.every(Number.isFinite) ? made : null;
  }

  // Live runs grow, and are thinned: what is known already is not computed again unless its samples have moved.
  private complete(): Float64Array {
    const { time } = this.parts[0];
    const n = time.length;
    if (n < this.count || (this.count > 0 && time[this.count - 1] !== this.lastTime)) this.count = 0;
    if (3 * n > this.values.length) {
      const larger = new Float64Array(Math.max(3 * n, 2 * this.values.length));
      larger.set(this.values);
      this.values = larger;
    }
    for (; this.count < n; ++this.count) this.values.set(principal(this.sample(this.count)).values, 3 * this.count);
    if (n > 0) this.lastTime = time[n - 1];
    return this.values.subarray(0, 3 * n);
  }

  curve(k: number): Curve {
    const all = this.complete();
    return { time: this.parts[0].time, y: Float64Array.from({ length: all.length / 3 }, (_, i) => all[3 * i + k]) };
  }
  largest(): number {
    return this.complete().reduce((best, v) => (v > best ? v : best), 0);
  }
}
