// SPDX-License-Identifier: Apache-2.0
// Values out of JSON that may be anything, and numbers as people read them.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const numberOr = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise);
export const textOr = (value: unknown, otherwise: string): string => (typeof value === "string" ? value : otherwise);

// `count` finite numbers, or what stands for them.
export function numbersOr(value: unknown, count: number, otherwise: number[]): number[] {
  const fits = Array.isArray(value) && value.length === count && value.every((x) => typeof x === "number" && Number.isFinite(x));
  return fits ? (value as number[]) : otherwise;
}

// Four significant digits, powers of ten where they are shorter.
export function shortNumber(x: number): string {
  if (Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(2).replace(/\.?0+e/, "e") : String(Number(x.toPrecision(4)));
  return text.replace("e+", "e").replace(/-/g, "−");
}

export function withUnit(x: number, unit: string): string {
  return unit === "" || unit === "1" ? shortNumber(x) : `${shortNumber(x)} ${unit}`;
}
