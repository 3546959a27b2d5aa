// SPDX-License-Identifier: Apache-2.0
// The scene of a run: what the mechanism looks like, read from JSON and checked so that whoever draws can trust it.
import { unpack } from "./arrays";
import { isRecord, numberOr, numbersOr, textOr } from "./values";

export type Vec = number[];
export interface Place {
  p: Vec;
  q: Vec;
}
export interface Shape extends Place {
  kind: string;
  size: Vec;
  radius: number;
  length: number;
  axis: number;
  vertices: Float64Array;
  triangles: number[];
}
// What is on a body for a while.
export interface Load {
  payload: string;
  from: number;
  until: number;
  shape: Shape;
}
export interface Body {
  name: string;
  mass: number;
  com: Vec;
  shapes: Shape[];
  loads: Load[];
  weighed: { from: number; mass: number; com: Vec }[]; // after edits, by rising time
}

// Mass and centre of mass at a time.
export function weightAt(body: Body, t: number): { mass: number; com: Vec } {
  let at: { mass: number; com: Vec } = body;
  for (const later of body.weighed) if (t >= later.from) at = later;
  return at;
}
export interface Joint {
  name: string;
  kind: string;
  parent: number;
  child: number;
  atParent: Place;
  atChild: Place;
}
export interface Frame extends Place {
  name: string;
  body: number;
}
export interface Tendon {
  name: string;
  points: { body: number; p: Vec }[];
}
export interface Obstacle {
  kind: string;
  a: Vec;
  b: Vec;
  normal: Vec;
  radius: number;
}
// A reference and the place on a body that shall be there.
export interface Task extends Place {
  path: string;
  body: number;
}
// A symmetric matrix of the recording, drawn at a point of a body.
export interface EllipsoidAt {
  path: string;
  body: number;
  p: Vec;
  unit: string;
}
export interface Limit {
  path: string;
  lower: number | null;
  upper: number | null;
}
export interface Scene {
  length: number;
  gravity: Vec;
  bodies: Body[];
  joints: Joint[];
  frames: Frame[];
  tendons: Tendon[];
  obstacles: Obstacle[];
  tasks: Task[];
  ellipsoids: EllipsoidAt[];
  limits: Limit[];
}

const ORIGIN = [0, 0, 0];
const UPRIGHT = [1, 0, 0, 0];
const place = (json: unknown): Place => {
  const r = isRecord(json) ? json : {};
  return { p: numbersOr(r.p, 3, ORIGIN), q: numbersOr(r.q, 4, UPRIGHT) };
};
const records = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const boundOr = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

async function readShape(json: Record<string, unknown>): Promise<Shape> {
  const triangles = Array.isArray(json.triangles) ? json.triangles.filter((i): i is number => Number.isInteger(i)) : [];
  const vertices = json.kind === "mesh" ? await unpack(json.vertices) : new Float64Array(0);
  if (triangles.some((i) => i < 0 || 3 * i + 2 >= vertices.length)) throw new Error("a triangle names a vertex that is not there");
  return {
    ...place(json),
    kind: textOr(json.kind, ""),
    size: numbersOr(json.size, 3, [0, 0, 0]),
    radius: numberOr(json.radius, 0),
    length: numberOr(json.length, 0),
    axis: [0, 1, 2].includes(numberOr(json.axis, 2)) ? numberOr(json.axis, 2) : 2,
    vertices,
    triangles,
  };
}

async function readBody(json: Record<string, unknown>, damage: string[]): Promise<Body> {
  const name = textOr(json.name, "");
  const shapes: Shape[] = [];
  const loads: Load[] = [];
  for (const shape of records(json.shapes)) {
    try {
      const made = await readShape(shape);
      if (typeof shape.payload === "string") loads.push({ payload: shape.payload, from: numberOr(shape.from, -Infinity), until: numberOr(shape.until, Infinity), shape: made });
      else shapes.push(made);
    } catch (error) {
      damage.push(`shape of ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const weighed = records(json.weighed).map((w) => ({ from: numberOr(w.from, Infinity), mass: numberOr(w.mass, 0), com: numbersOr(w.com, 3, ORIGIN) }));
  return { name, mass: numberOr(json.mass, 0), com: numbersOr(json.com, 3, ORIGIN), shapes, loads, weighed: weighed.sort((a, b) => a.from - b.from) };
}

export async function readScene(json: unknown, damage: string[]): Promise<Scene | null> {
  if (!isRecord(json)) {
    damage.push("the scene is no JSON object");
    return null;
  }
  const bodies = await Promise.all(records(json.bodies).map((b) => readBody(b, damage)));
  // An index of a body, or -1 for the ground; whatever else is left out and told.
  const known = (body: number, what: string): boolean => {
    const fits = Number.isInteger(body) && body >= -1 && body < bodies.length;
    if (!fits) damage.push(`${what} names a body that is not there`);
    return fits;
  };
  const length = numberOr(json.length, 1);
  return {
    length: length > 0 && Number.isFinite(length) ? length : 1,
    gravity: numbersOr(json.gravity, 3, ORIGIN),
    bodies,
    joints: records(json.joints)
      .map((j) => ({
        name: textOr(j.name, ""),
        kind: textOr(j.kind, ""),
        parent: numberOr(j.parent, -1),
        child: numberOr(j.child, -1),
        atParent: place(j.at_parent),
        atChild: place(j.at_child),
      }))
      .filter((j) => known(j.parent, `joint ${j.name}`) && known(j.child, `joint ${j.name}`)),
    frames: records(json.frames)
      .map((f) => ({ name: textOr(f.name, ""), body: numberOr(f.body, -1), ...place(f) }))
      .filter((f) => known(f.body, `frame ${f.name}`)),
    tendons: records(json.tendons)
      .map((t) => ({
        name: textOr(t.name, ""),
        points: records(t.points).map((p) => ({ body: numberOr(p.body, -1), p: numbersOr(p.p, 3, ORIGIN) })),
      }))
      .filter((t) => t.points.every((p) => known(p.body, `tendon ${t.name}`))),
    obstacles: records(json.obstacles).map((o) => ({
      kind: textOr(o.kind, ""),
      a: numbersOr(o.a, 3, ORIGIN),
      b: numbersOr(o.b, 3, numbersOr(o.a, 3, ORIGIN)),
      normal: numbersOr(o.normal, 3, [0, 0, 1]),
      radius: numberOr(o.radius, 0),
    })),
    tasks: records(json.tasks)
      .map((t) => ({ path: textOr(t.path, ""), body: numberOr(t.body, -1), ...place(t) }))
      .filter((t) => known(t.body, `task ${t.path}`)),
    ellipsoids: records(json.ellipsoids)
      .map((e) => ({ path: textOr(e.path, ""), body: numberOr(e.body, -1), p: numbersOr(e.p, 3, ORIGIN), unit: textOr(e.unit, "") }))
      .filter((e) => known(e.body, `ellipsoid ${e.path}`)),
    limits: records(json.limits).map((l) => ({
      path: textOr(l.path, ""),
      lower: boundOr(l.lower),
      upper: boundOr(l.upper),
    })),
  };
}
