// SPDX-License-Identifier: Apache-2.0
// Ranges, ticks and floors of axes, for whatever numbers a recording holds. Every loop here is bounded by a count of ticks, never by a sum of
// increments: increments that vanish beside what they are added to are no matter.

export type Range = [number, number];

// 2^-52. What is a sum of terms is known to this part of them, what is a square of one to its square.
export const ROUND_OFF = Number.EPSILON;
// Numbers beyond it are not drawn: differences of two of them need not be finite.
export const MOST = 1e300;
// Axes of logarithms do not go below it; powers of ten near the least number lose their digits.
const LEAST = 1e-290;

export const isDrawable = (v: number): boolean => Math.abs(v) <= MOST;

// 1, 2 or 5 times a power of ten, at least x > 0.
function niceStep(x: number): number {
  const power = Math.floor(Math.log10(x));
  for (const [digit, up] of [[1, 0], [2, 0], [5, 0], [1, 1], [2, 1]]) {
    const step = Number(`${digit}e${power + up}`);
    if (step >= x) return step;
  }
  return x;
}

// Room above and below. A range is never so narrow that its ends have the same digits.
export function linearRange(low: number | null, high: number | null): Range {
  if (low === null || high === null || !isDrawable(low) || !isDrawable(high) || low > high) return [0, 1];
  const most = Math.max(Math.abs(low), Math.abs(high));
  if (most <= LEAST) return [-1, 1];
  const least = 1e-9 * most;
  if (high - low > least) return [low - 0.06 * (high - low), high + 0.06 * (high - low)];
  const middle = 0.5 * low + 0.5 * high;
  const pad = high > low ? least : 0.1 * most;
  return [middle - pad, middle + pad];
}

// One digit and a power of ten around positive numbers.
export function logRange(low: number | null, high: number | null): Range {
  if (low === null || high === null || !(low > 0) || !isDrawable(high) || low > high) return [0.1, 1];
  const rounded = (x: number, up: boolean): number => {
    const power = Math.floor(Math.log10(x) + 1e-12);
    const digit = x / powerOfTen(power);
    return Number(`${up ? Math.ceil(digit - 1e-9) : Math.floor(digit + 1e-9)}e${power}`);
  };
  const [from, to] = [rounded(Math.max(low, LEAST), false), rounded(Math.max(high, LEAST), true)];
  return from < to ? [from, to] : [powerBelow(from / 2), powerOfTen(Math.floor(Math.log10(to) + 1e-9) + 1)];
}

export const powerOfTen = (k: number): number => Number(`1e${k}`);
export const powerBelow = (x: number): number => Math.max(LEAST, powerOfTen(Math.floor(Math.log10(x) + 1e-9)));

export function linearSplits(min: number, max: number, count: number): number[] {
  const span = max - min;
  const most = Math.max(Math.abs(min), Math.abs(max));
  if (!(span > 8 * ROUND_OFF * most) || !Number.isFinite(span)) return [min];
  // 1, 2 and 5 are up to 2.5 apart: so there are from half to one and a half times as many as asked for.
  const step = niceStep(span / (1.5 * Math.max(1, count)));
  const out: number[] = [];
  for (let k = Math.ceil(min / step), last = Math.floor(max / step); k <= last && out.length <= 2 * count + 2; ++k) out.push(Number((k * step).toPrecision(15)));
  return out;
}

// Powers of ten, every second or third of them where there are many; within a decade or two also twice and five times them.
export function logSplits(min: number, max: number, count: number): number[] {
  const from = Math.ceil(Math.log10(min) - 1e-9);
  const to = Math.floor(Math.log10(max) + 1e-9);
  const digits = to - from < 2 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil((to - from) / Math.max(1, count)));
  const out: number[] = [];
  for (let k = stride * Math.floor((from - 1) / stride); k <= to; k += stride) {
    for (const digit of digits) {
      const v = Number(`${digit}e${k}`);
      if (v >= min * (1 - 1e-9) && v <= max * (1 + 1e-9)) out.push(v);
    }
  }
  return out.length > 1 ? out : linearSplits(min, max, count);
}

// As many digits as tell neighbouring ticks apart.
export function tickTexts(splits: (number | null)[]): string[] {
  const known = splits.filter((v): v is number => v !== null);
  const most = Math.max(...known.map(Math.abs), 0);
  let step = Infinity;
  for (let i = 1; i < known.length; ++i) step = Math.min(step, Math.abs(known[i] - known[i - 1]));
  const digits = step > 0 && step < Infinity && most > 0 ? Math.min(16, Math.max(4, Math.ceil(Math.log10(most / step) - 1e-9) + 2)) : 4;
  return splits.map((v) => (v === null ? "" : tickText(v, digits)));
}
function tickText(v: number, digits: number): string {
  if (v === 0) return "0";
  const size = Math.abs(v);
  const plain = Number(v.toPrecision(digits));
  const text = size >= 1e5 || size < 1e-3 ? plain.toExponential() : String(plain);
  return text.replace("e+", "e").replace(/-/g, "−");
}
