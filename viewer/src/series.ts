// SPDX-License-Identifier: Apache-2.0
// Curves out of channels: a component, a length, a magnitude, a difference of energies. Each reads its channel anew when asked, so that
// live runs may grow; every number is one of the recording or computed from numbers of one sample.
import { nearestSample, type Channel, type Run } from "./data";

export interface Curve {
  time: Float64Array;
  y: Float64Array;
}

export const component = (channel: Channel, k: number) => (): Curve => {
  if (channel.size === 1) return { time: channel.time, y: channel.y };
  const n = channel.time.length;
  const y = new Float64Array(n);
  for (let i = 0; i < n; ++i) y[i] = channel.y[channel.size * i + k];
  return { time: channel.time, y };
};

export const lengthOf = (channel: Channel) => (): Curve => {
  const n = channel.time.length;
  const y = new Float64Array(n);
  for (let i = 0; i < n; ++i) {
    let sum = 0;
    for (let k = 0; k < channel.size; ++k) sum += channel.y[channel.size * i + k] ** 2;
    // Squares of very large and very small numbers leave the range that their lengths are in.
    const safe = sum > 1e-200 && sum < 1e300;
    y[i] = safe ? Math.sqrt(sum) : Math.hypot(...channel.y.subarray(channel.size * i, channel.size * (i + 1)));
  }
  return { time: channel.time, y };
};

export const magnitude = (read: () => Curve) => (): Curve => {
  const { time, y } = read();
  return { time, y: y.map(Math.abs) };
};

// Change of an energy since its first sample, less work, plus what was dissipated: at instants that all of them have.
export const balanceOf = (run: Run, name: string) => (): Curve => {
  const energy = run.channels.get(`energy/${name}`);
  const parts: [Channel, number][] = [];
  for (const [path, sign] of [["energy/work", -1], ["energy/dissipated", 1], ["energy/edited", -1]] as const) {
    const channel = run.channels.get(path);
    if (channel) parts.push([channel, sign]);
  }
  const time: number[] = [];
  const y: number[] = [];
  energy?.time.forEach((t, i) => {
    let sum = energy.y[i] - energy.y[0];
    for (const [channel, sign] of parts) {
      const at = channel.time === energy.time ? i : nearestSample(channel.time, t);
      if (at < 0 || channel.time[at] !== t) return;
      sum += sign * channel.y[at];
    }
    time.push(t);
    y.push(Math.abs(sum));
  });
  return { time: new Float64Array(time), y: new Float64Array(y) };
};

export const isZero = (y: Float64Array): boolean => y.every((v) => v === 0 || Number.isNaN(v));

export function valueAt({ time, y }: Curve, t: number): number {
  const i = nearestSample(time, t);
  return i < 0 ? NaN : y[i];
}
