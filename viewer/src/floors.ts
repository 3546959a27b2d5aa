// SPDX-License-Identifier: Apache-2.0
// Where round-off begins: 2^-52 of the terms that a number is the difference of, as far as the recording shows them; of what a solver finds, a
// thousand times that. Terms that it does not show only raise it, so what is below is round-off in any case.
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

// What a solver finds, and what thousands of steps add up, is known to some hundred units.
const SOLVED = 1024 * ROUND_OFF;

const ofLeaf = (run: Run, pattern: RegExp): number => Math.max(0, ...[...run.channels.values()].filter((c) => pattern.test(c.path)).slice(0, CHANNELS).map(largest));
const speed = (run: Run): number => Math.max(ofLeaf(run, /^bodies\/[^/]+\/v$/), ...places(run).map(fastest));
const reach = (run: Run): number => Math.max(run.scene?.length ?? 0, ...places(run).map(largest));
const mass = (run: Run): number => (run.scene?.bodies ?? []).reduce((sum, b) => sum + b.mass, 0);
const loads = (run: Run, leaf: string): number => ofLeaf(run, new RegExp(`^(joints|bodies)/[^/]+/${leaf}$`));

// A moment is a sum of forces on their arms, which are of the length of the mechanism, and the other way round.
function force(run: Run): number {
  const arm = run.scene?.length ?? 0;
  return Math.max(loads(run, "force"), mass(run) * Math.hypot(...(run.scene?.gravity ?? [])), arm > 0 ? loads(run, "moment") / arm : 0);
}

// By units: what numbers are made of that a run solves for. Units without an entry have no floor.
const made: Record<string, (run: Run) => number> = {
  N: force,
  "N m": (run) => Math.max(loads(run, "moment"), force(run) * (run.scene?.length ?? 0)),
  W: (run) => force(run) * speed(run),
  J: (run) => energies(run),
  "N s": (run) => mass(run) * speed(run),
  "N m s": (run) => mass(run) * speed(run) * reach(run),
  m: reach,
  rad: () => 1,
  "m/s": speed,
  "rad/s": (run) => Math.max(ofLeaf(run, /^bodies\/[^/]+\/w$/), run.scene && run.scene.length > 0 ? speed(run) / run.scene.length : 0),
};
export const solvedFloor = (run: Run, unit: string): (() => number) | undefined => (made[unit] ? () => SOLVED * made[unit](run) : undefined);

// Errors of energies are differences of these.
const energies = (run: Run): number => Math.max(...["kinetic", "potential", "elastic", "total", "work", "dissipated"].map((name) => largest(run.channels.get(`energy/${name}`))));
export const energyFloor = (run: Run) => (): number => ROUND_OFF * energies(run);

export const positionFloor = (run: Run) => (): number => ROUND_OFF * reach(run);
export const velocityFloor = (run: Run) => (): number => ROUND_OFF * Math.max(0, ...places(run).map(fastest));
export const unitFloor = (): number => ROUND_OFF;

// V is the kinetic energy of a difference of velocities.
export const squareFloor = (run: Run) => (): number => ROUND_OFF ** 2 * largest(run.channels.get("energy/kinetic"));
