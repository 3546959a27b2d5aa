// SPDX-License-Identifier: Apache-2.0
// References in a recording and the place on a body that shall be there: said by the scene, or found by the task's name.
import { Quaternion, Vector3 } from "three";
import { plainName, type Channel, type Run } from "./data";
import { bracket, type Poses } from "./poses";
import { quat, vec } from "./shapes";

export interface Reference {
  path: string;
  controller: string;
  name: string;
  p: Channel | undefined;
  q: Channel | undefined;
  body: number; // -2: nobody knows whose
  atP: Vector3;
  atQ: Quaternion;
}

const pattern = /^(control\/([^/]+)\/reference_([^/]+))_([pq])$/;

// A channel that says where a task shall be, or how it shall be turned.
export function isReference(channel: Channel | undefined): boolean {
  const match = channel && pattern.exec(channel.path);
  return !!match && channel.size === (match[4] === "p" ? 3 : 4);
}

export function references(run: Run): Reference[] {
  const found = new Map<string, Reference>();
  for (const channel of run.channels.values()) {
    if (!isReference(channel)) continue;
    const [, path, controller, task] = pattern.exec(channel.path)!;
    if (found.has(path)) continue;
    const name = plainName(task);
    found.set(path, { path, controller: plainName(controller), name, ...channelsOf(run, path), ...placeOf(run, path, name) });
  }
  return [...found.values()];
}

// A task may have either alone.
function channelsOf(run: Run, path: string): { p: Channel | undefined; q: Channel | undefined } {
  const [p, q] = [run.channels.get(`${path}_p`), run.channels.get(`${path}_q`)];
  return { p: isReference(p) ? p : undefined, q: isReference(q) ? q : undefined };
}

function placeOf(run: Run, path: string, name: string): { body: number; atP: Vector3; atQ: Quaternion } {
  const scene = run.scene;
  const task = scene?.tasks.find((t) => t.path === path);
  if (task) return { body: task.body, atP: vec(task.p), atQ: quat(task.q) };
  const body = scene ? scene.bodies.findIndex((b) => b.name === name) : -1;
  if (scene && body >= 0) return { body, atP: vec(scene.bodies[body].com), atQ: new Quaternion() };
  const frame = scene?.frames.find((f) => f.name === name);
  if (frame) return { body: frame.body, atP: vec(frame.p), atQ: quat(frame.q) };
  return { body: -2, atP: new Vector3(), atQ: new Quaternion() };
}

export interface TrackingError {
  time: Float64Array;
  y: Float64Array;
}

// Distance (or angle) between a task's place and its reference, at samples that both have.
export function trackingErrors(reference: Reference, poses: Poses): { position: TrackingError | null; attitude: TrackingError | null } {
  if (reference.body < 0) return { position: null, attitude: null };
  const place = new Vector3();
  const turn = new Quaternion();
  const wanted = new Quaternion();
  const path = poses.pathOf(reference.body);
  const each = (channel: Channel | undefined, error: (i: number) => number): TrackingError | null => {
    if (!channel || !path) return null;
    const time: number[] = [];
    const y: number[] = [];
    channel.time.forEach((t, i) => {
      const [at] = bracket(path.time, t);
      if (at < 0 || path.time[at] !== t) return;
      poses.update(t);
      time.push(t);
      y.push(error(i));
    });
    return { time: new Float64Array(time), y: new Float64Array(y) };
  };
  return {
    position: each(reference.p, (i) => {
      const y = reference.p!.y;
      poses.toWorld(reference.body, place.copy(reference.atP));
      return Math.hypot(place.x - y[3 * i], place.y - y[3 * i + 1], place.z - y[3 * i + 2]);
    }),
    attitude: each(reference.q, (i) => {
      const y = reference.q!.y;
      poses.turnToWorld(reference.body, turn.copy(reference.atQ));
      wanted.set(y[4 * i + 1], y[4 * i + 2], y[4 * i + 3], y[4 * i]).normalize();
      // The vector part keeps small angles that the scalar part rounds away.
      const apart = wanted.invert().multiply(turn);
      return 2 * Math.atan2(Math.hypot(apart.x, apart.y, apart.z), Math.abs(apart.w));
    }),
  };
}
