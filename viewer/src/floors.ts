// SPDX-License-Identifier: Apache-2.0
// Where round-off begins: 2^-52 of the terms that a number is the difference of, as far as the recording shows them. Terms that it does not show
// only raise it, so what is below is round-off in any case.
import { ROUND_OFF } from "./axes";
import type { Channel, Run } from "./data";

// Live runs ask again and again: a thousand samples of a hundred channels are enough to know how large numbers are.
const SAMPLES = 1000;
const CHANNELS = 100;

const strideOf = (n: number): number => Math.max(1, Math.floor(n / SAMPLES));

function largest(channel: Channel | undefined): number {
  let most = 0;
  const n = channel?.time.length ?? 0;
  for (let i = 0; i < n; i += strideOf(n)) for (let k = 0; k < channel!.size; ++k) if (Math.abs(channel!.y[channel!.size * i + k]) > most) most = Math.abs(channel!.y[channel!.size * i + k]);
  return most;
}

// Distance over time between samples: no speed is less.
function fastest({ time, y, size }: Channel): number {
  let most = 0;
  const stride = strideOf(time.length);
  for (let i = stride; i < time.length; i += stride) {
    const span = time[i] - time[i - stride];
    let square = 0;
    for (let k = 0; k < size; ++k) square += (y[size * i + k] - y[size * (i - stride) + k]) ** 2;
    if (span > 0 && Math.sqrt(square) / span > most) most = Math.sqrt(square) / span;
  }
  return most;
}

const places = (run: Run): Channel[] => [...run.channels.values()].filter((c) => /^bodies\/[^/]+\/p$/.test(c.path)).slice(0, CHANNELS);

// Errors of energies are differences of these.
export const energyFloor = (run: Run) => (): number =>
  ROUND_OFF * Math.max(...["kinetic", "potential", "elastic", "total", "work", "dissipated"].map((name) => largest(run.channels.get(`energy/${name}`))));

export const positionFloor = (run: Run) => (): number => ROUND_OFF * Math.max(run.scene?.length ?? 0, ...places(run).map(largest));
export const velocityFloor = (run: Run) => (): number => ROUND_OFF * Math.max(0, ...places(run).map(fastest));
export const unitFloor = (): number => ROUND_OFF;

// V is the kinetic energy of a difference of velocities.
export const squareFloor = (run: Run) => (): number => ROUND_OFF ** 2 * largest(run.channels.get("energy/kinetic"));
