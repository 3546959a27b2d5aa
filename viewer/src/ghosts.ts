// SPDX-License-Identifier: Apache-2.0
// Where references want bodies: a pale body and the path of its place.
import { Group, Mesh, Quaternion, Vector3, type BufferGeometry, type MeshLambertMaterial } from "three";
import { attitudeAt, vectorAt, type Poses } from "./poses";
import type { Reference } from "./tasks";
import { Trace } from "./traces";

const point = new Vector3();
const turn = new Quaternion();

export class Ghosts {
  private readonly all: { reference: Reference; body: Group; path: Trace }[] = [];

  constructor(private readonly layer: Group, references: Reference[], private readonly poses: Poses, geometryOf: (body: number) => BufferGeometry, material: MeshLambertMaterial) {
    for (const reference of references) {
      const body = new Group();
      body.add(new Mesh(geometryOf(reference.body), material));
      const path = new Trace("#000000");
      layer.add(body, path.group);
      this.all.push({ reference, body, path });
    }
  }

  setColor(color: string): void {
    for (const { path } of this.all) path.setColor(color);
  }

  // A task may say only where its place shall be, or only how it shall be turned; the body itself says the other.
  update(t: number): void {
    if (!this.layer.visible) return;
    for (const { reference, body, path } of this.all) {
      const { p, q, atP, atQ } = reference;
      if (p) path.refresh(p);
      path.update(t);
      const known = reference.body >= 0 && this.poses.known(reference.body);
      const turned = attitudeAt(q, t, turn);
      if (turned) turn.multiply(atQ.clone().invert());
      else if (known) turn.copy(this.poses.all[reference.body].q);
      else turn.identity();
      const placed = vectorAt(p, t, point);
      if (!placed && known) this.poses.toWorld(reference.body, point.copy(atP));
      body.visible = placed || (turned && known);
      body.quaternion.copy(turn);
      body.position.copy(atP).applyQuaternion(turn).negate().add(point);
    }
  }

  // The origins of the drawn bodies.
  drawn(): { path: string; visible: boolean; p: number[]; q: number[] }[] {
    return this.all.map(({ reference, body }) => {
      const { x, y, z, w } = body.quaternion;
      return { path: reference.path, visible: body.visible, p: body.position.toArray(), q: [w, x, y, z] };
    });
  }
}
