// SPDX-License-Identifier: Apache-2.0
// The bodies of a run. Those of the same shape are one call to the renderer, so that long chains stay cheap.
import { Color, Group, Mesh, MeshBasicMaterial, MeshLambertMaterial, Vector3, type BufferGeometry, type InstancedMesh } from "three";
import type { Run } from "./data";
import { hide, instanced, put } from "./instances";
import type { Poses } from "./poses";
import type { Load } from "./model";
import { bodyGeometry, bodyKey, dotGeometry, loadGeometry } from "./shapes";

const UNIT = new Vector3(1, 1, 1);

export class Bodies {
  readonly group = new Group();
  private readonly material = new MeshLambertMaterial();
  private readonly members: { mesh: InstancedMesh; at: number }[] = [];
  private readonly shown: boolean[];
  // What is on bodies for a while; few, so each is a mesh of its own.
  private readonly loads: { body: number; load: Load; mesh: Mesh; material: MeshLambertMaterial }[] = [];
  private marked: { body: number; mesh: Mesh } | null = null;

  constructor(private readonly run: Run, private readonly poses: Poses, names: string[], length: number) {
    this.shown = names.map(() => true);
    const kinds = new Map<string, number[]>();
    names.forEach((_, i) => {
      const key = run.scene ? bodyKey(run.scene, i) : "dot";
      kinds.set(key, [...(kinds.get(key) ?? []), i]);
    });
    for (const same of kinds.values()) {
      const geometry = run.scene ? bodyGeometry(run.scene, same[0]) : dotGeometry(0.08 * length);
      const mesh = instanced(geometry, this.material, same.length);
      same.forEach((body, at) => (this.members[body] = { mesh, at }));
      this.group.add(mesh);
    }
    run.scene?.bodies.forEach(({ loads }, body) => {
      for (const load of loads) {
        const material = new MeshLambertMaterial();
        const mesh = new Mesh(loadGeometry(load), material);
        this.loads.push({ body, load, mesh, material });
        this.group.add(mesh);
      }
    });
  }
  // Names of what is drawn on bodies, and where its body is.
  loadsDrawn(): { payload: string; body: number; p: number[] }[] {
    return this.loads.filter(({ mesh }) => mesh.visible).map(({ load, body, mesh }) => ({ payload: load.payload, body, p: mesh.position.toArray() }));
  }
  // Shapes that a body has at some time, in its own frame.
  geometriesOf(body: number): BufferGeometry[] {
    return [this.geometryOf(body), ...this.loads.filter((l) => l.body === body).map((l) => l.mesh.geometry)];
  }

  // In its own frame; without a scene around its centre of mass.
  geometryOf(body: number): BufferGeometry {
    return this.members[body].mesh.geometry;
  }
  placeOf(body: number): Vector3 {
    return this.run.scene ? this.poses.all[body].origin : this.poses.all[body].com;
  }

  setColors(colorOf: (body: number) => string): void {
    const color = new Color();
    this.members.forEach(({ mesh, at }, i) => {
      mesh.setColorAt(at, color.set(colorOf(i)));
      mesh.instanceColor!.needsUpdate = true;
    });
    for (const { body, material } of this.loads) material.color.set(colorOf(body));
  }
  // Overlaid runs shine through each other.
  setTransparent(transparent: boolean): void {
    for (const material of [this.material, ...this.loads.map((l) => l.material)]) {
      material.transparent = transparent;
      material.opacity = transparent ? 0.55 : 1;
      material.needsUpdate = true;
    }
  }
  setShown(body: number, shown: boolean): void {
    if (body >= 0) this.shown[body] = shown;
  }

  // For tests: the body in one flat colour, in front of everything; null takes that away.
  mark(body: number | null, color = "#ff00ff"): void {
    if (this.marked) this.group.remove(this.marked.mesh);
    this.marked = null;
    if (body === null || !this.members[body]) return;
    const mesh = new Mesh(this.geometryOf(body), new MeshBasicMaterial({ color: new Color(color), depthTest: false, transparent: true, toneMapped: false }));
    mesh.renderOrder = 1000;
    mesh.matrixAutoUpdate = false;
    this.marked = { body, mesh };
    this.group.add(mesh);
  }

  update(): void {
    this.members.forEach(({ mesh, at }, i) => {
      const pose = this.poses.all[i];
      if (pose.known && this.shown[i]) put(mesh, at, this.placeOf(i), pose.q, UNIT);
      else hide(mesh, at);
    });
    for (const { body, load, mesh } of this.loads) {
      const pose = this.poses.all[body];
      mesh.visible = pose.known && this.shown[body] && this.poses.time >= load.from && this.poses.time < load.until;
      mesh.position.copy(this.placeOf(body));
      mesh.quaternion.copy(pose.q);
    }
    if (!this.marked) return;
    // As the renderer has it.
    const { mesh, at } = this.members[this.marked.body];
    mesh.getMatrixAt(at, this.marked.mesh.matrix);
  }
}
