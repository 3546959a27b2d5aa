// SPDX-License-Identifier: Apache-2.0
// Where bodies are at a time: between two samples centres of mass move straight and attitudes turn along the shortest way.
import { Quaternion, Vector3 } from "three";
import { escapedName, plainName, sampleAt, type Channel, type Run } from "./data";
import { weightAt } from "./model";

export interface Pose {
  known: boolean;
  com: Vector3;
  q: Quaternion;
  origin: Vector3;
}

// Names of the bodies of a run: those of the scene, or those that were recorded.
export function bodyNames(run: Run): string[] {
  if (run.scene) return run.scene.bodies.map((b) => b.name);
  const names: string[] = [];
  for (const path of run.channels.keys()) {
    const match = /^bodies\/([^/]+)\/p$/.exec(path);
    if (match) names.push(plainName(match[1]));
  }
  return names;
}

// Two neighbouring samples and the share of the second.
export function bracket(time: Float64Array, t: number): [number, number, number] {
  if (time.length === 0) return [-1, -1, 0];
  const i = sampleAt(time, t);
  if (i < 0) return [0, 0, 0];
  if (i + 1 >= time.length) return [i, i, 0];
  const span = time[i + 1] - time[i];
  return [i, i + 1, span > 0 ? (t - time[i]) / span : 0];
}

// A vector of three at a time, into `out`; false where it has no value.
export function vectorAt(channel: Channel | undefined, t: number, out: Vector3): boolean {
  if (!channel || channel.size < 3) return false;
  const [i, j, share] = bracket(channel.time, t);
  if (i < 0) return false;
  const { y, size } = channel;
  const at = (k: number): number => y[size * i + k] + (share > 0 ? share * (y[size * j + k] - y[size * i + k]) : 0);
  out.set(at(0), at(1), at(2));
  return Number.isFinite(out.x + out.y + out.z);
}

const other = new Quaternion();
export function attitudeAt(channel: Channel | undefined, t: number, out: Quaternion): boolean {
  if (!channel || channel.size !== 4) return false;
  const [i, j, share] = bracket(channel.time, t);
  if (i < 0) return false;
  const { y } = channel;
  out.set(y[4 * i + 1], y[4 * i + 2], y[4 * i + 3], y[4 * i]);
  if (share > 0) out.slerp(other.set(y[4 * j + 1], y[4 * j + 2], y[4 * j + 3], y[4 * j]), share);
  if (!Number.isFinite(out.x + out.y + out.z + out.w) || out.lengthSq() === 0) return false;
  out.normalize();
  return true;
}

export class Poses {
  readonly all: Pose[];
  private readonly channels: { p: Channel | undefined; q: Channel | undefined }[];
  private readonly arm = new Vector3();
  time = NaN;

  constructor(readonly run: Run) {
    const names = bodyNames(run);
    this.all = names.map(() => ({ known: false, com: new Vector3(), q: new Quaternion(), origin: new Vector3() }));
    this.channels = names.map((name) => {
      const base = `bodies/${escapedName(name)}`;
      return { p: run.channels.get(`${base}/p`), q: run.channels.get(`${base}/q`) };
    });
  }

  update(t: number): void {
    this.time = t;
    this.all.forEach((pose, i) => {
      const { p, q } = this.channels[i];
      pose.known = vectorAt(p, t, pose.com);
      if (!attitudeAt(q, t, pose.q)) pose.q.identity();
      // Edits move centres of mass; body frames stay.
      const com = this.run.scene ? this.arm.fromArray(weightAt(this.run.scene.bodies[i], t).com) : this.arm.set(0, 0, 0);
      pose.origin.copy(com).applyQuaternion(pose.q).negate().add(pose.com);
    });
  }

  // A point or attitude fixed to a body, or to the ground (-1), in the World.
  toWorld(body: number, point: Vector3): Vector3 {
    if (body < 0) return point;
    return point.applyQuaternion(this.all[body].q).add(this.all[body].origin);
  }
  turnToWorld(body: number, q: Quaternion): Quaternion {
    return body < 0 ? q : q.premultiply(this.all[body].q);
  }
  known(body: number): boolean {
    return body < 0 || this.all[body].known;
  }
  pathOf(body: number): Channel | undefined {
    return this.channels[body]?.p;
  }
}
