// SPDX-License-Identifier: Apache-2.0
// One run as objects of three: built once, then moved to any time.
import { Box3, Group, Mesh, MeshLambertMaterial, Quaternion, Vector3, type InstancedMesh } from "three";
import { Bodies } from "./bodies";
import { escapedName, sampleAt, type Channel, type Run } from "./data";
import { Ellipsoids } from "./ellipsoids";
import { Field, fieldLayers, type FieldLayer, type Source } from "./fields";
import { Ghosts } from "./ghosts";
import { hide, instanced, put, Sticks } from "./instances";
import { weightAt } from "./model";
import { bodyNames, Poses } from "./poses";
import { palettes, type Palette, type Theme } from "./palette";
import { dotGeometry, jointGeometry, obstacleGeometry, quat } from "./shapes";
import { references, type Reference } from "./tasks";
import { Trace } from "./traces";

export const layers = ["joints", "frames", "tendons", "obstacles", ...fieldLayers, "com", "ghost", "stiffness"] as const;
export type Layer = (typeof layers)[number];

// What a layer is drawn in; frames have the three colours of their axes.
export const layerColors: Partial<Record<Layer, keyof Palette>> & Record<FieldLayer, keyof Palette> = {
  joints: "joint",
  tendons: "tendon",
  obstacles: "obstacle",
  reactions: "reaction",
  moments: "moment",
  loads: "load",
  load_moments: "loadMoment",
  momentum: "momentum",
  com: "com",
  ghost: "ghost",
  stiffness: "stiffness",
};

const point = new Vector3();
const end = new Vector3();
const turn = new Quaternion();
const size = new Vector3();

export class Mechanism {
  readonly root = new Group();
  readonly poses: Poses;
  readonly names: string[];
  readonly bodies: Bodies;
  readonly references: Reference[];
  readonly length: number;
  readonly groups = new Map<Layer, Group>();
  private readonly traces = new Map<number, Trace>();
  private readonly joints: { mesh: InstancedMesh; at: number; joint: number }[] = [];
  private readonly telescopes: { sticks: Sticks; at: number; joint: number }[] = [];
  private readonly tendonSticks: { taut: Sticks; slack: Sticks; tendon: number; from: number; tension: Channel | undefined }[] = [];
  readonly fields = new Map<FieldLayer, Field>();
  readonly ghosts: Ghosts;
  readonly ellipsoids: Ellipsoids;
  private readonly axes: Sticks[] = [];
  private readonly materials = new Map<keyof Palette, MeshLambertMaterial>();
  private scale = 1;
  private alone = true;

  constructor(readonly run: Run, readonly index: number, private theme: Theme, private readonly growing: boolean) {
    this.poses = new Poses(run);
    this.names = bodyNames(run);
    this.length = run.scene?.length ?? this.guessLength();
    this.references = references(run);
    for (const layer of layers) this.layer(layer);
    this.bodies = new Bodies(run, this.poses, this.names, this.length);
    this.root.add(this.bodies.group);
    if (run.scene) {
      this.buildJoints();
      this.buildFrames();
      this.buildTendons();
    }
    const geometryOf = (body: number) => (body >= 0 ? this.bodies.geometryOf(body) : dotGeometry(0.06 * this.length));
    this.ghosts = new Ghosts(this.layer("ghost"), this.references, this.poses, geometryOf, this.material("ghost", 0.35));
    this.ellipsoids = new Ellipsoids(this.layer("stiffness"), run, this.poses, this.length, this.material("stiffness", 0.4));
    this.buildFields();
  }

  // What depends on the size of the whole motion comes after that is known.
  finish(reach: number): void {
    this.buildObstacles(reach);
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
    const at = (path: string): Channel | undefined => this.run.channels.get(path);
    const joints = (leaf: string): Source[] =>
      (this.run.scene?.joints ?? []).map(({ name, kind }, i) => ({ name, channel: at(`joints/${escapedName(name)}/${leaf}`), place: (out) => kind !== "free" && this.jointPoint(i, out) }));
    const bodies = (leaf: string): Source[] =>
      this.names.map((name, i) => ({ name, channel: at(`bodies/${escapedName(name)}/${leaf}`), place: (out) => (out.copy(this.poses.all[i].com), this.poses.known(i)) }));
    this.field("reactions", joints("force"), 1);
    this.field("moments", joints("moment"), 2);
    this.field("loads", bodies("force"), 1);
    this.field("load_moments", bodies("moment"), 2);
    // Without masses nobody knows the common centre of mass.
    if (!this.run.scene?.bodies.some((b) => b.mass > 0)) return;
    this.field("momentum", [{ name: "", channel: at("momentum/linear"), place: (out) => this.commonCentre(out) }], 1);
    this.layer("com").add(new Mesh(dotGeometry(0.045 * this.length), this.material("com")));
  }

  private field(layer: FieldLayer, sources: Source[], heads: 1 | 2): void {
    if (!sources.some((s) => s.channel)) return;
    const field = new Field(this.layer(layer), 0.014 * this.length, sources, heads);
    if (!(field.longest() > 0) && !this.growing) return void this.layer(layer).clear();
    this.fields.set(layer, field);
  }

  // One run has a colour for every body; several have one each.
  setTheme(theme: Theme, alone = this.alone): void {
    this.theme = theme;
    this.alone = alone;
    const palette = palettes[theme];
    for (const [key, material] of this.materials) material.color.set(palette[key] as string);
    for (const [layer, field] of this.fields) field.arrows.material.color.set(palette[layerColors[layer]] as string);
    this.bodies.setColors((i) => (alone ? palette.bodies[i % palette.bodies.length] : palette.series[this.index % palette.series.length]));
    for (const [i, trace] of this.traces) trace.setColor(this.traceColor(i));
    this.ghosts.setColor(palette.ghost);
  }

  private traceColor(body: number): string {
    const series = palettes[this.theme].series;
    return series[(this.alone ? body : this.index) % series.length];
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

  // Whether a layer is drawn costs nothing while it is hidden.
  update(t: number): void {
    this.poses.update(t);
    this.bodies.update();
    if (this.layer("joints").visible) this.updateJoints();
    if (this.layer("frames").visible) this.updateFrames();
    if (this.layer("tendons").visible) this.updateTendons(t);
    this.ghosts.update(t);
    this.ellipsoids.update(t);
    for (const field of this.fields.values()) field.update(t, this.scale);
    this.updateCentre();
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

  // The common centre of mass; false where no mass is known.
  commonCentre(out: Vector3): boolean {
    let mass = 0;
    out.set(0, 0, 0);
    this.run.scene?.bodies.forEach((body, i) => {
      if (!this.poses.all[i].known) return;
      const own = weightAt(body, this.poses.time).mass;
      mass += own;
      out.addScaledVector(this.poses.all[i].com, own);
    });
    if (mass > 0) out.divideScalar(mass);
    return mass > 0;
  }

  // What the renderer was told, for tests.
  drawn() {
    const arrows = [...this.fields].flatMap(([layer, field]) => (field.layer.visible ? field.drawn().map((a) => ({ layer, ...a })) : []));
    return { arrows, ghosts: this.ghosts.drawn(), ellipsoids: this.ellipsoids.drawn(), loads: this.bodies.loadsDrawn() };
  }

  private updateCentre(): void {
    const dot = this.layer("com").children[0];
    if (!dot || !this.layer("com").visible) return;
    dot.visible = this.commonCentre(dot.position);
  }
}
