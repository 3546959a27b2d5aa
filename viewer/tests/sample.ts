// SPDX-License-Identifier: Apache-2.0
// Data with poses that are known in closed form, written as the program writes them.
import { deflateRawSync } from "node:zlib";

export interface Packed {
  n: number;
  b: string;
}
type Json = Record<string, unknown>;

// Little-endian float64, byte planes one after another, raw deflate, base64.
export function pack(numbers: ArrayLike<number>): Packed {
  const n = numbers.length;
  const plain = Buffer.alloc(8 * n);
  for (let i = 0; i < n; ++i) plain.writeDoubleLE(numbers[i], 8 * i);
  const planes = Buffer.alloc(8 * n);
  for (let i = 0; i < n; ++i) for (let k = 0; k < 8; ++k) planes[k * n + i] = plain[8 * i + k];
  return { n, b: deflateRawSync(planes).toString("base64") };
}

export const times = (end: number, count: number): number[] => Array.from({ length: count }, (_, i) => (end * i) / (count - 1));

// Hamilton products, scalar first.
export function product(a: number[], b: number[]): number[] {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}
export const about = (axis: number[], angle: number): number[] => [Math.cos(angle / 2), ...axis.map((x) => x * Math.sin(angle / 2))];
export const turned = (q: number[], v: number[]): number[] => product(product(q, [0, ...v]), [q[0], -q[1], -q[2], -q[3]]).slice(1);
const plus = (a: number[], b: number[]): number[] => a.map((x, i) => x + b[i]);

export const END = 6;
export const MARK_COM = [0.3, -0.1, 0.2];

// Two swinging rods, and a block that flies and tumbles about two axes; its centre of mass is not its origin.
export function poses(t: number): Record<string, { p: number[]; q: number[] }> {
  const [a, b] = [0.9 * Math.cos(1.3 * t), 0.9 * Math.cos(1.3 * t) + 0.7 * Math.sin(2.1 * t)];
  const [upper, lower] = [about([0, 1, 0], a), about([0, 1, 0], b)];
  const elbow = turned(upper, [0, 0, -1]);
  const spin = product(about([0, 0, 1], 0.8 * t), about([1, 0, 0], 0.5 + 0.6 * t));
  return {
    upper: { p: turned(upper, [0, 0, -0.5]), q: upper },
    lower: { p: plus(elbow, turned(lower, [0, 0, -0.4])), q: lower },
    mark: { p: [1.2 * Math.sin(0.7 * t), 0.6 * Math.cos(0.9 * t), 0.4 + 0.3 * Math.sin(1.7 * t)], q: spin },
  };
}

const identity = [1, 0, 0, 0];
export function scene(): Json {
  const rod = (length: number): Json => ({ kind: "capsule", p: [0, 0, -length / 2], q: identity, radius: 0.05, length, axis: 2 });
  return {
    length: 1,
    gravity: [0, 0, -9.81],
    bodies: [
      { name: "upper", mass: 1, com: [0, 0, -0.5], shapes: [rod(1)] },
      { name: "lower", mass: 2, com: [0, 0, -0.4], shapes: [] },
      { name: "mark", mass: 0.5, com: MARK_COM, shapes: [{ kind: "box", p: MARK_COM, q: identity, size: [0.2, 0.12, 0.08] }] },
    ],
    joints: [
      { name: "hinge", kind: "revolute", parent: -1, child: 0, at_parent: { p: [0, 0, 0], q: identity }, at_child: { p: [0, 0, 0], q: identity } },
      { name: "elbow", kind: "revolute", parent: 0, child: 1, at_parent: { p: [0, 0, -1], q: identity }, at_child: { p: [0, 0, 0], q: identity } },
      { name: "float", kind: "free", parent: -1, child: 2 },
    ],
    frames: [{ name: "tip", body: 1, p: [0, 0, -0.8], q: identity }],
    tendons: [{ name: "cord", points: [{ body: -1, p: [1.5, 0, 0] }, { body: 0, p: [0, 0, -0.7] }, { body: 1, p: [0, 0, -0.6] }] }],
    obstacles: [
      { kind: "sphere", a: [-1, 0.5, -0.5], radius: 0.25 },
      { kind: "capsule", a: [1, 1, -1], b: [1, 1, 0], radius: 0.1 },
      { kind: "half_space", a: [0, 0, -2.2], normal: [0, 0, 1] },
    ],
    tasks: [{ path: "control/arm/reference_hand", body: 1, p: [0, 0, -0.8], q: identity }],
    ellipsoids: [{ path: "control/arm/stiffness", body: 1, p: [0, 0, -0.8], unit: "N/m" }],
    limits: [{ path: "control/arm/input_motor", lower: -4, upper: 4 }],
  };
}

type Maker = (t: number) => number | number[];
function channel(path: string, unit: string, meaning: string, size: number, at: number[], make: Maker, time = 0): Json {
  return { path, unit, meaning, size, time, y: pack(at.flatMap(make)) };
}

// Where the reference of the hand is: a fixed way beside the hand, and turned by a tenth.
export const OFFSET = [0.03, 0, 0.04];
export const wanted = (t: number): number[] => product(poses(t).lower.q, about([1, 0, 0], 0.1));
export const hand = (t: number): number[] => {
  const { lower } = poses(t);
  return plus(lower.p, turned(lower.q, [0, 0, -0.4]));
};

// Largest along x of the lower rod, smaller along its y, none along the rod.
export const principalStiffness = (t: number): number[] => [100 + 10 * Math.sin(t), 60, 0];
export function stiffness(t: number): number[] {
  const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((e) => turned(poses(t).lower.q, e));
  const entry = (i: number, j: number): number => principalStiffness(t).reduce((sum, v, k) => sum + v * axes[k][i] * axes[k][j], 0);
  return [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)];
}

export function channels(at: number[], coarse: number[]): Json[] {
  const names = Object.keys(poses(0));
  const bodies = names.flatMap((name) => [
    channel(`bodies/${name}/p`, "m", "centre of mass, World", 3, coarse, (t) => poses(t)[name].p),
    channel(`bodies/${name}/q`, "1", "attitude", 4, coarse, (t) => poses(t)[name].q),
  ]);
  const one = (path: string, unit: string, make: Maker): Json => channel(path, unit, "", 1, at, make, 1);
  const three = (path: string, unit: string, make: Maker): Json => channel(path, unit, "World", 3, at, make, 1);
  return [
    ...bodies,
    three("bodies/mark/force", "N", (t) => (t > 1 && t < 2 ? [0, 0, -3] : [0, 0, 0])),
    three("bodies/lower/force", "N", () => [1.5, 0, 0]),
    three("bodies/upper/moment", "N m", (t) => [0, 0.5 * Math.cos(t), 0]),
    three("bodies/mark/moment", "N m", () => [0.3, 0, 0.4]),
    one("joints/hinge/q", "rad", (t) => 0.9 * Math.cos(1.3 * t)),
    one("joints/elbow/q", "rad", (t) => 0.7 * Math.sin(2.1 * t)),
    three("joints/hinge/force", "N", (t) => [5 * Math.sin(t), 0, 20 + 8 * Math.cos(2 * t)]),
    three("joints/elbow/force", "N", (t) => [3 * Math.cos(t), 0, 9]),
    three("joints/hinge/moment", "N m", () => [0, 0, 0]),
    one("tendons/cord/length", "m", (t) => 1.5 + 0.2 * Math.sin(t)),
    one("tendons/cord/tension", "N", (t) => Math.max(0, 6 * Math.sin(t))),
    one("energy/kinetic", "J", (t) => 4 * Math.sin(t) ** 2),
    one("energy/potential", "J", (t) => 4 * Math.cos(t) ** 2),
    one("energy/total", "J", (t) => 4 + 1e-12 * Math.sin(40 * t)),
    one("energy/balance", "J", (t) => 1e-12 * Math.sin(40 * t)),
    three("momentum/linear", "N s", (t) => [Math.cos(t), Math.sin(t), 0.2]),
    three("momentum/angular", "N m s", (t) => [0.1, Math.sin(2 * t), Math.cos(2 * t)]),
    one("residual/position", "m or rad", (t) => 1e-15 * (1 + Math.sin(9 * t) ** 2)),
    one("residual/velocity", "m/s or rad/s", (t) => 1e-13 * (1 + Math.cos(9 * t) ** 2)),
    one("control/arm/V", "J", (t) => Math.exp(-2 * t)),
    one("control/arm/V_dot", "W", (t) => -2 * Math.exp(-2 * t)),
    one("control/arm/V_dot_promised", "W", (t) => -1.9 * Math.exp(-2 * t)),
    one("control/arm/input_motor", "N m", (t) => 4 * Math.cos(3 * t)),
    ...["xx", "yy", "zz", "xy", "xz", "yz"].map((entry, k) => channel(`control/arm/stiffness_${entry}`, "N/m", "", 1, coarse, (t) => stiffness(t)[k])),
    one("control/arm/clearance", "m", (t) => (t < 3 ? NaN : 0.2 + 0.1 * Math.sin(t))),
    channel("control/arm/reference_hand_p", "m", "World", 3, coarse, (t) => plus(hand(t), OFFSET)),
    channel("control/arm/reference_hand_q", "1", "", 4, coarse, wanted),
    one("solver/iterations", "1", (t) => 2 + Math.round(Math.sin(5 * t))),
    one("solver/substeps", "1", () => 1),
  ];
}

export function result(): Json {
  return {
    format: 1,
    status: "ok",
    laws: [
      { name: "joint_gap", bound: 1e-12, value: 2e-15, held: true, sense: "below", unit: "m or rad" },
      { name: "power_balance", bound: 1e-9, value: 1e-12, held: true, sense: "below", unit: "J" },
    ],
    metrics: { time: END },
    units: { time: "s" },
    notes: ["edit at 2 s: nothing <b>happened</b>"],
    certificates: [
      {
        controller: "arm",
        law: "III",
        guarantee: "V falls",
        held: false,
        clauses: [
          { name: "law_is_defined", meaning: "the law can be evaluated", held: true, text: "held: at most 0" },
          { name: "disturbance_is_absent", meaning: "what a disturbance moves", held: false, text: "violated first at 1 s by 'mark'" },
        ],
        findings: [{ name: "rate", value: 10, unit: "1/s", how: "smallest" }],
        tracking: [{ name: "hand.position", unit: "m", final: 0.05, largest: 0.05, rms: 0.05 }],
      },
    ],
    versions: { invar: "0.1.0", compiler: "g++ 12.2.0" },
    seed: 0,
    timing: { wall: 0.5, steps_per_second: 1000, times_real_time: 12 },
    model: { name: "sample", path: "sample.toml" },
    scenario: { name: "sample", formulation: "augmented", integrator: "rk4", options: { step: 0.005 }, start: 0, end: END },
  };
}

export const FINE = times(END, 1201);
export const COARSE = FINE.filter((_, i) => i % 4 === 0);

// 8 by 4 pixels, one colour.
export const IMAGE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAECAIAAAA8r+mnAAAAEUlEQVR4nGM4EsCFFTFQTwIAE40jwQyGRF0AAAAASUVORK5CYII=";

// Curves over time with a gap where they are not positive; a circle, which is no function; a table; an image.
export function figures(): Json[] {
  const curve = (label: string, dashed: boolean, x: number[], y: number[]): Json => ({ label, dashed, x: pack(x), y: pack(y) });
  const angles = times(2 * Math.PI, 200);
  const decay = { title: "", x: "t [s]", y: "|p| [N s]", log_x: false, log_y: true, time: true };
  const own = FINE.filter((_, i) => i % 3 === 0);
  return [
    {
      name: "Fig. 2",
      caption: "Momentum <b>falls</b>.",
      panels: [
        { ...decay, curves: [curve("x", false, FINE, FINE.map((t) => 10 * Math.exp(-t))), curve("y", true, own, own.map((t) => (t > 2 && t < 4 ? -1 : 1)))] },
        { title: "Path", x: "x [m]", y: "y [m]", time: false, curves: [curve("circle", false, angles.map(Math.cos), angles.map((a) => 2 + Math.sin(a)))] },
      ],
      table: { columns: ["φ", "θ"], rows: [{ label: "RMSE", cells: ["0.1235 rad", "0.2 rad"] }, { label: "max", cells: ["1 rad", "<i>2</i>"] }] },
      image: { png: IMAGE, alt: "a <plain> colour", width: 8, height: 4 },
    },
    { name: "Fig. 3", caption: "", panels: [{ title: "Order", x: "h [s]", y: "error", log_x: true, log_y: true, time: false, curves: [curve("rk4", true, [0.1, 0.05, 0.025, 0, 0.0125], [1e-4, 6e-6, 4e-7, 1, 2.5e-8])] }], table: null, image: null },
  ];
}

export function run(name = "sample"): Json {
  return { name, result: result(), complete: true, scene: scene(), times: [pack(COARSE), pack(FINE)], channels: channels(FINE, COARSE) };
}
export function data(...runs: Json[]): Json {
  return { format: 1, title: "sample", live: false, runs: runs.length > 0 ? runs : [run()] };
}

// A hundred links that swing like a whip.
export function chain(links = 100, samples = 400, end = 8): Json {
  const at = times(end, samples);
  const angle = (i: number, t: number): number => 0.5 * Math.sin(1.5 * t - 0.08 * i);
  const all: Json[] = [];
  const knots = at.map((t) => {
    const points = [[0, 0, 0]];
    for (let i = 0; i < links; ++i) points.push(plus(points[i], [0.1 * Math.sin(angle(i, t)), 0, -0.1 * Math.cos(angle(i, t))]));
    return points;
  });
  for (let i = 0; i < links; ++i) {
    const centres = knots.flatMap((k) => k[i].map((x, c) => 0.5 * (x + k[i + 1][c])));
    all.push({ path: `bodies/link${i}/p`, unit: "m", meaning: "", size: 3, time: 0, y: pack(centres) });
    all.push({ path: `bodies/link${i}/q`, unit: "1", meaning: "", size: 4, time: 0, y: pack(at.flatMap((t) => about([0, 1, 0], -angle(i, t)))) });
    all.push({ path: `joints/hinge${i}/q`, unit: "rad", meaning: "", size: 1, time: 0, y: pack(at.map((t) => angle(i, t))) });
  }
  for (const [k, name] of ["kinetic", "potential", "total"].entries()) all.push(channel(`energy/${name}`, "J", "", 1, at, (t) => 5 + k + Math.sin(3 * t + k)));
  all.push(channel("energy/balance", "J", "", 1, at, (t) => 1e-12 * Math.sin(40 * t)));
  for (const name of ["linear", "angular"]) all.push(channel(`momentum/${name}`, "N s", "", 3, at, (t) => [Math.sin(t), Math.cos(t), 0.1]));
  const place = (z: number): Json => ({ p: [0, 0, z], q: identity });
  const bodies = Array.from({ length: links }, (_, i) => ({ name: `link${i}`, mass: 0.1, com: [0, 0, 0], shapes: [{ kind: "capsule", p: [0, 0, 0], q: identity, radius: 0.015, length: 0.08, axis: 2 }] }));
  const joints = bodies.map((_, i) => ({ name: `hinge${i}`, kind: "revolute", parent: i - 1, child: i, at_parent: place(i === 0 ? 0 : -0.05), at_child: place(0.05) }));
  return data({ name: "chain", result: null, complete: true, scene: { length: 0.3, gravity: [0, 0, -9.81], bodies, joints }, times: [pack(at)], channels: all });
}
