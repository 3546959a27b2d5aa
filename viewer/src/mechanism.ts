// SPDX-License-Identifier: Apache-2.0
// One run as objects of three: built once, then moved to any time.
import { Box3, Color, Group, Mesh, MeshBasicMaterial, MeshLambertMaterial, Quaternion, Vector3, type InstancedMesh } from "three";
import { escapedName, sampleAt, type Channel, type Run } from "./data";
import { Arrows, hide, instanced, put, Sticks } from "./instances";
import { bodyNames, Poses, attitudeAt, vectorAt } from "./poses";
import { palettes, type Palette, type Theme } from "./palette";
import { bodyGeometry, dotGeometry, jointGeometry, obstacleGeometry, quat } from "./shapes";
import { references, type Reference } from "./tasks";
import { Trace } from "./traces";

export const layers = ["joints", "frames", "tendons", "obstacles", "reactions", "moments", "loads", "com", "momentum", "ghost"] as const;
export type Layer = (typeof layers)[number];

const point = new Vector3();
const end = new Vector3();
const arrow = new Vector3();
const turn = new Quaternion();
const size = new Vector3();

// The longest vector of a channel over the whole run.
function longest(channel: Channel): number {
  let best = 0;
  for (let i = 0; i + 2 < channel.y.length; i += channel.size) {
    const length = Math.hypot(channel.y[i], channel.y[i + 1], channel.y[i + 2]);
    if (length > best) best = length;
  }
  return best;
}

interface VectorField {
  arrows: Arrows;
  channels: (Channel | undefined)[];
  unit: number;
}

export class Mechanism {
  readonly root = new Group();
  readonly poses: Poses;
  readonly names: string[];
  readonly meshes: Mesh[] = [];
  readonly references: Reference[];
  readonly length: number;
  readonly groups = new Map<Layer, Group>();
  private readonly traces = new Map<number, Trace>();
  private readonly joints: { mesh: InstancedMesh; at: number; joint: number }[] = [];
  private readonly telescopes: { sticks: Sticks; at: number; joint: number }[] = [];
  private readonly tendonSticks: { taut: Sticks; slack: Sticks; tendon: number; from: number; tension: Channel | undefined }[] = [];
  private readonly fields = new Map<Layer, VectorField>();
  private readonly ghosts: { reference: Reference; body: Group }[] = [];
  private readonly axes: Sticks[] = [];
  private readonly materials = new Map<keyof Palette, MeshLambertMaterial>();
  private marked: { mesh: Mesh; material: Mesh["material"] } | null = null;
  private shown: boolean[];
  private scale = 1;
  private alone = true;
  private reach = 1;

  constructor(readonly run: Run, readonly index: number, private theme: Theme, private readonly growing: boolean) {
    this.poses = new Poses(run);
    this.names = bodyNames(run);
    this.shown = this.names.map(() => true);
    this.length = run.scene?.length ?? this.guessLength();
    this.references = references(run);
    for (const layer of layers) this.layer(layer);
    this.buildBodies();
    if (run.scene) {
      this.buildJoints();
      this.buildFrames();
      this.buildTendons();
    }
    this.buildGhosts();
  }

  // What depends on the size of the whole motion comes after that is known.
  finish(reach: number): void {
    this.reach = reach;
    this.buildObstacles(reach);
    this.buildFields();
    this.setTheme(this.theme);
  }

  has(layer: Layer): boolean {
    return this.layer(layer).children.length > 0;
  }

  private layer(layer: Layer): Group {
    let group = this.groups.get(layer);
    if (!group) {
      group = new Group();
      this.groups.set(layer, group);
      this.root.add(group);
    }
    return group;
  }

  private material(key: keyof Palette, opacity = 1): MeshLambertMaterial {
    let material = this.materials.get(key);
    if (!material) {
      material = new MeshLambertMaterial({ transparent: opacity < 1, opacity, depthWrite: opacity === 1 });
      this.materials.set(key, material);
    }
    return material;
  }

  // Without a scene: the extent of the first sample gives a scale.
  private guessLength(): number {
    const box = new Box3();
    this.poses.update(this.poses.pathOf(0)?.time[0] ?? 0);
    for (const pose of this.poses.all) if (pose.known) box.expandByPoint(pose.com);
    return box.isEmpty() ? 1 : Math.max(0.1, box.getSize(point).length() / Math.max(2, this.names.length));
  }

  private buildBodies(): void {
    this.names.forEach((name, i) => {
      const geometry = this.run.scene ? bodyGeometry(this.run.scene, i) : dotGeometry(0.08 * this.length);
      const mesh = new Mesh(geometry, new MeshLambertMaterial());
      mesh.name = name;
      this.meshes.push(mesh);
      this.root.add(mesh);
    });
  }

  private buildJoints(): void {
    const joints = this.run.scene!.joints;
    const kinds = new Map<string, number[]>();
    joints.forEach((joint, i) => kinds.set(joint.kind, [...(kinds.get(joint.kind) ?? []), i]));
    for (const [kind, members] of kinds) {
      const geometry = jointGeometry(kind, joints.length);
      if (!geometry) continue;
      const mesh = instanced(geometry, this.material("joint"), members.length);
      this.layer("joints").add(mesh);
      members.forEach((joint, at) => this.joints.push({ mesh, at, joint }));
      if (kind !== "prismatic" && kind !== "cylindrical" && kind !== "screw") continue;
      const sticks = new Sticks(members.length, 0.016 * this.length, this.material("joint"));
      this.layer("joints").add(sticks.mesh);
      members.forEach((joint, at) => this.telescopes.push({ sticks, at, joint }));
    }
  }

  private buildFrames(): void {
    const count = this.run.scene!.frames.length;
    if (count === 0) return;
    for (const key of ["axisX", "axisY", "axisZ"] as const) this.axes.push(new Sticks(count, 0.011 * this.length, this.material(key)));
    this.layer("frames").add(...this.axes.map((a) => a.mesh));
  }

  private buildTendons(): void {
    const tendons = this.run.scene!.tendons;
    const segments = tendons.reduce((sum, t) => sum + Math.max(0, t.points.length - 1), 0);
    if (segments === 0) return;
    const taut = new Sticks(segments, 0.012 * this.length, this.material("tendon"));
    const slack = new Sticks(segments, 0.007 * this.length, this.material("slack"));
    this.layer("tendons").add(taut.mesh, slack.mesh);
    let from = 0;
    tendons.forEach((tendon, i) => {
      const tension = this.run.channels.get(`tendons/${escapedName(tendon.name)}/tension`);
      this.tendonSticks.push({ taut, slack, tendon: i, from, tension });
      from += Math.max(0, tendon.points.length - 1);
    });
  }

  private buildObstacles(reach: number): void {
    for (const obstacle of this.run.scene?.obstacles ?? []) {
      const geometry = obstacleGeometry(obstacle, reach);
      if (!geometry) continue;
      const material = this.material("obstacle", 0.4);
      material.side = 2;
      this.layer("obstacles").add(new Mesh(geometry, material));
    }
  }

  private buildFields(): void {
    const { channels } = this.run;
    const joints = (this.run.scene?.joints ?? []).map((j) => `joints/${escapedName(j.name)}`);
    const bodies = this.names.map((n) => `bodies/${escapedName(n)}`);
    this.field("reactions", "reaction", joints.map((j) => channels.get(`${j}/force`)), 1);
    this.field("moments", "moment", joints.map((j) => channels.get(`${j}/moment`)), 2);
    this.field("loads", "load", bodies.map((b) => channels.get(`${b}/force`)), 1);
    // Without masses nobody knows the common centre of mass.
    if (!this.run.scene?.bodies.some((b) => b.mass > 0)) return;
    this.field("momentum", "momentum", [channels.get("momentum/linear")], 1);
    this.layer("com").add(new Mesh(dotGeometry(0.045 * this.length), this.material("com")));
  }

  private field(layer: Layer, color: keyof Palette, channels: (Channel | undefined)[], heads: 1 | 2): void {
    const most = channels.reduce((best, c) => Math.max(best, c ? longest(c) : 0), 0);
    if (!(most > 0) && !(this.growing && channels.some((c) => c))) return;
    const arrows = new Arrows(channels.length, 0.014 * this.length, palettes[this.theme][color] as string, heads);
    this.layer(layer).add(arrows.group);
    this.fields.set(layer, { arrows, channels, unit: most > 0 ? 1 / most : 0 });
  }

  // A live run has longer vectors and a wider motion than it began with.
  grow(reach: number): void {
    this.reach = reach;
    for (const field of this.fields.values()) {
      const most = field.channels.reduce((best, c) => Math.max(best, c ? longest(c) : 0), 0);
      field.unit = most > 0 ? 1 / most : 0;
    }
  }

  private buildGhosts(): void {
    for (const reference of this.references) {
      const body = new Group();
      const material = this.material("ghost", 0.35);
      if (reference.body >= 0) body.add(new Mesh(this.meshes[reference.body].geometry, material));
      else body.add(new Mesh(dotGeometry(0.06 * this.length), material));
      this.layer("ghost").add(body);
      this.ghosts.push({ reference, body });
    }
  }

  // One run has a colour for every body; several have one each.
  setTheme(theme: Theme, alone = this.alone): void {
    this.theme = theme;
    this.alone = alone;
    const palette = palettes[theme];
    for (const [key, material] of this.materials) material.color.set(palette[key] as string);
    const colors: [Layer, keyof Palette][] = [["reactions", "reaction"], ["moments", "moment"], ["loads", "load"], ["momentum", "momentum"]];
    for (const [layer, key] of colors) this.fields.get(layer)?.arrows.material.color.set(palette[key] as string);
    this.meshes.forEach((mesh, i) => {
      const material = this.marked?.mesh === mesh ? this.marked.material : mesh.material;
      (material as MeshLambertMaterial).color.set(alone ? palette.bodies[i % palette.bodies.length] : palette.series[this.index % palette.series.length]);
    });
    for (const [i, trace] of this.traces) trace.setColor(this.traceColor(i));
  }

  // Overlaid runs shine through each other.
  setTransparent(transparent: boolean): void {
    for (const mesh of this.meshes) {
      const material = (this.marked?.mesh === mesh ? this.marked.material : mesh.material) as MeshLambertMaterial;
      material.transparent = transparent;
      material.opacity = transparent ? 0.55 : 1;
      material.needsUpdate = true;
    }
  }

  private traceColor(body: number): string {
    const series = palettes[this.theme].series;
    return series[(this.alone ? body : this.index) % series.length];
  }

  setShown(body: number, shown: boolean): void {
    if (body >= 0) this.shown[body] = shown;
  }
  setArrowScale(scale: number): void {
    this.scale = scale;
  }

  setTrace(body: number, on: boolean): void {
    const made = this.traces.get(body);
    if (made && !on) {
      made.clear();
      this.root.remove(made.group);
      this.traces.delete(body);
    } else if (!made && on && body >= 0 && body < this.names.length) {
      const trace = new Trace(this.traceColor(body));
      this.traces.set(body, trace);
      this.root.add(trace.group);
    }
  }
  hasTrace(body: number): boolean {
    return this.traces.has(body);
  }

  // For tests: the body in one flat colour, in front of everything; null gives it back its own.
  mark(body: number | null, color = "#ff00ff"): void {
    if (this.marked) {
      this.marked.mesh.material = this.marked.material;
      this.marked.mesh.renderOrder = 0;
      this.marked = null;
    }
    const mesh = body === null ? undefined : this.meshes[body];
    if (!mesh) return;
    this.marked = { mesh, material: mesh.material };
    mesh.material = new MeshBasicMaterial({ color: new Color(color), depthTest: false, transparent: true, toneMapped: false });
    mesh.renderOrder = 1000;
  }

  // Whether a layer is drawn costs nothing while it is hidden.
  update(t: number): void {
    this.poses.update(t);
    this.meshes.forEach((mesh, i) => {
      const pose = this.poses.all[i];
      mesh.visible = pose.known && this.shown[i];
      mesh.position.copy(this.run.scene ? pose.origin : pose.com);
      mesh.quaternion.copy(pose.q);
    });
    if (this.layer("joints").visible) this.updateJoints();
    if (this.layer("frames").visible) this.updateFrames();
    if (this.layer("tendons").visible) this.updateTendons(t);
    if (this.layer("ghost").visible) this.updateGhosts(t);
    this.updateFields(t);
    for (const [i, trace] of this.traces) {
      const path = this.poses.pathOf(i);
      if (path && path.size === 3) trace.refresh(path);
      trace.update(t);
    }
  }

  private jointPoint(joint: number, out: Vector3): boolean {
    const { parent, child, atChild } = this.run.scene!.joints[joint];
    if (!this.poses.known(parent) || !this.poses.known(child)) return false;
    this.poses.toWorld(child, out.fromArray(atChild.p));
    return true;
  }

  private updateJoints(): void {
    const scene = this.run.scene!;
    for (const { mesh, at, joint } of this.joints) {
      if (!this.jointPoint(joint, point)) {
        hide(mesh, at);
        continue;
      }
      this.poses.turnToWorld(scene.joints[joint].child, turn.copy(quat(scene.joints[joint].atChild.q)));
      put(mesh, at, point, turn, size.setScalar(0.075 * this.length));
    }
    for (const { sticks, at, joint } of this.telescopes) {
      const { parent, atParent } = scene.joints[joint];
      if (!this.jointPoint(joint, point)) hide(sticks.mesh, at);
      else sticks.set(at, this.poses.toWorld(parent, end.fromArray(atParent.p)), point);
    }
  }

  private updateFrames(): void {
    this.run.scene?.frames.forEach(({ body, p, q }, i) => {
      this.poses.toWorld(body, point.fromArray(p));
      this.poses.turnToWorld(body, turn.copy(quat(q)));
      this.axes.forEach((sticks, k) => {
        if (!this.poses.known(body)) return hide(sticks.mesh, i);
        end.set(0, 0, 0).setComponent(k, 0.2 * this.length).applyQuaternion(turn).add(point);
        sticks.set(i, point, end);
      });
    });
  }

  private updateTendons(t: number): void {
    for (const { taut, slack, tendon, from, tension } of this.tendonSticks) {
      const { points } = this.run.scene!.tendons[tendon];
      const pull = tension ? tension.y[Math.max(0, sampleAt(tension.time, t))] : 1;
      const [drawn, hidden] = pull === 0 ? [slack, taut] : [taut, slack];
      for (let k = 0; k + 1 < points.length; ++k) {
        this.poses.toWorld(points[k].body, point.fromArray(points[k].p));
        this.poses.toWorld(points[k + 1].body, end.fromArray(points[k + 1].p));
        drawn.set(from + k, point, end);
        hide(hidden.mesh, from + k);
      }
    }
  }

  private updateGhosts(t: number): void {
    for (const { reference, body } of this.ghosts) {
      const { p, q, atP, atQ } = reference;
      const turned = attitudeAt(q, t, turn);
      if (!turned) {
        if (reference.body >= 0) turn.copy(this.poses.all[reference.body].q);
        else turn.identity();
      } else {
        turn.multiply(atQ.clone().invert());
      }
      const placed = vectorAt(p, t, point);
      if (!placed && reference.body >= 0) this.poses.toWorld(reference.body, point.copy(atP));
      body.visible = placed || turned;
      body.quaternion.copy(turn);
      body.position.copy(point).sub(end.copy(atP).applyQuaternion(turn));
    }
  }

  // The common centre of mass; false where no mass is known.
  commonCentre(out: Vector3): boolean {
    let mass = 0;
    out.set(0, 0, 0);
    this.run.scene?.bodies.forEach((body, i) => {
      if (!this.poses.all[i].known) return;
      mass += body.mass;
      out.addScaledVector(this.poses.all[i].com, body.mass);
    });
    if (mass > 0) out.divideScalar(mass);
    return mass > 0;
  }

  private updateFields(t: number): void {
    const joints = this.run.scene?.joints ?? [];
    for (const [layer, { arrows, channels, unit }] of this.fields) {
      if (!this.layer(layer).visible) continue;
      channels.forEach((channel, i) => {
        let placed = true;
        if (layer === "loads") point.copy(this.poses.all[i].com);
        else if (layer === "momentum") placed = this.commonCentre(point);
        else placed = joints[i].kind !== "free" && this.jointPoint(i, point);
        if (!placed || !vectorAt(channel, t, arrow)) arrows.hide(i);
        else arrows.set(i, point, arrow.multiplyScalar(unit * this.scale * 0.24 * this.reach));
      });
    }
    const com = this.layer("com");
    if (com.visible && com.children.length > 0) {
      com.children[0].visible = this.commonCentre(point);
      com.children[0].position.copy(point);
    }
  }
}
