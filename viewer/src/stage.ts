// SPDX-License-Identifier: Apache-2.0
// The 3D view: renderer, camera, light, grid, and the mechanisms of all runs. Drawn when something changed, not otherwise.
import {
  AmbientLight,
  Box3,
  Color,
  DirectionalLight,
  GridHelper,
  PerspectiveCamera,
  Quaternion,
  Scene,
  Vector3,
  WebGLRenderer,
  type LineBasicMaterial,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Run } from "./data";
import { fieldLayers } from "./fields";
import { solvedFloor } from "./floors";
import { Mechanism, type Layer } from "./mechanism";
import { palettes, type Theme } from "./palette";
import { Sharpness } from "./sharpness";

export type View = "oblique" | "front" | "side" | "top";

const point = new Vector3();

// Motion is looked at in so many instants to find its extent, less often with many bodies.
const LOOKS = 60;
const looks = (bodies: number): number => Math.max(8, Math.min(LOOKS, Math.floor(3000 / Math.max(1, bodies))));

export class Stage {
  readonly mechanisms: Mechanism[];
  readonly camera = new PerspectiveCamera(32, 1, 0.01, 100);
  readonly controls: OrbitControls;
  readonly canvas: HTMLCanvasElement;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly sun = new DirectionalLight(0xffffff, 2.1);
  private readonly box = new Box3();
  private seen: { at: Vector3; radius: number }[] = [];
  private readonly right = new Vector3(1, 0, 0);
  private readonly up = new Vector3(0, 0, 1);
  private readonly forward = new Vector3(0, 1, 0);
  private readonly across = new Vector3(1, 0, 0);
  private grid: GridHelper | null = null;
  private gridShown = true;
  private sideBySide = true;
  private followed = -1;
  private readonly lastSeen = new Vector3();
  private theme: Theme = "light";
  private time = 0;
  private dirty = true;
  private readonly sharpness = new Sharpness();
  private ratio = 0;

  constructor(host: HTMLElement, runs: Run[], theme: Theme, live: boolean) {
    this.canvas = document.createElement("canvas");
    // Without opacity the browser need not blend the view with the page below it.
    const context = this.canvas.getContext("webgl2", { alpha: false, antialias: false, powerPreference: "high-performance" });
    if (!context) throw new Error("no WebGL 2");
    this.renderer = new WebGLRenderer({ canvas: this.canvas, context });
    host.prepend(this.canvas);
    this.chooseAxes(runs);
    this.mechanisms = runs.map((run, i) => new Mechanism(run, i, theme, live));
    for (const mechanism of this.mechanisms) this.scene.add(mechanism.root);
    this.measure();
    for (const mechanism of this.mechanisms) mechanism.finish(this.reach());
    this.scaleSigns();
    this.scene.add(new AmbientLight(0xffffff, 1.5), this.sun, this.sun.target);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.setTheme(theme);
    this.resize();
    this.setView(this.bestView());
  }

  // Up is against gravity; without one, z.
  private chooseAxes(runs: Run[]): void {
    const gravity = runs.find((run) => run.scene)?.scene?.gravity ?? [0, 0, 0];
    point.fromArray(gravity);
    this.up.set(0, 0, 1);
    if (point.lengthSq() > 0) this.up.copy(point).normalize().negate();
    this.right.set(1, 0, 0);
    if (Math.abs(this.up.x) > 0.9) this.right.set(0, 1, 0);
    this.right.addScaledVector(this.up, -this.right.dot(this.up)).normalize();
    this.forward.crossVectors(this.up, this.right);
    this.camera.up.copy(this.up);
  }

  // The box of everything that moves, over the whole time.
  private measure(): void {
    this.box.makeEmpty();
    this.seen = [];
    for (const mechanism of this.mechanisms) {
      const time = mechanism.poses.pathOf(0)?.time;
      if (!time || time.length === 0) continue;
      const stride = Math.max(1, Math.floor(time.length / looks(mechanism.names.length)));
      for (let i = 0; i < time.length; i += stride) this.include(mechanism, time[i]);
      this.include(mechanism, time[time.length - 1]);
      for (const obstacle of mechanism.run.scene?.obstacles ?? []) {
        if (obstacle.kind === "half_space") continue;
        for (const at of [obstacle.a, obstacle.b]) this.includeBall(point.fromArray(at), obstacle.radius);
      }
    }
    if (this.box.isEmpty()) this.includeBall(new Vector3(), 0.5);
  }

  private includeBall(at: Vector3, radius: number): void {
    this.seen.push({ at: at.clone(), radius });
    this.box.expandByPoint(at.clone().addScalar(radius));
    this.box.expandByPoint(at.clone().addScalar(-radius));
  }

  private include(mechanism: Mechanism, t: number): void {
    mechanism.poses.update(t);
    mechanism.poses.all.forEach((pose, i) => {
      if (!pose.known) return;
      for (const geometry of mechanism.bodies.geometriesOf(i)) {
        if (!geometry.boundingBox) geometry.computeBoundingBox();
        const { min, max } = geometry.boundingBox!;
        for (let corner = 0; corner < 8; ++corner) {
          point.set(corner & 1 ? max.x : min.x, corner & 2 ? max.y : min.y, corner & 4 ? max.z : min.z);
          this.includeBall(point.applyQuaternion(pose.q).add(mechanism.bodies.placeOf(i)), 0);
        }
      }
    });
    for (const joint of mechanism.run.scene?.joints ?? []) {
      if (joint.kind === "free" || !mechanism.poses.known(joint.parent)) continue;
      this.includeBall(mechanism.poses.toWorld(joint.parent, point.fromArray(joint.atParent.p)), 0);
    }
    const points = [...(mechanism.run.scene?.frames ?? []), ...(mechanism.run.scene?.tendons ?? []).flatMap((t) => t.points)];
    for (const { body, p } of points) if (mechanism.poses.known(body)) this.includeBall(mechanism.poses.toWorld(body, point.fromArray(p)), 0);
  }

  private extent(axis: Vector3): number {
    return Math.abs(this.box.getSize(point).dot(new Vector3(Math.abs(axis.x), Math.abs(axis.y), Math.abs(axis.z))));
  }
  private reach(): number {
    return Math.max(0.5 * this.box.getSize(point).length(), 1e-3);
  }

  // A motion in a plane is looked at from in front of its plane.
  private bestView(): View {
    const [r, f, u] = [this.right, this.forward, this.up].map((axis) => this.motionExtent(axis));
    const small = 1e-6 * Math.max(r, f, u);
    if (f <= small) return "front";
    if (r <= small) return "side";
    return u <= small ? "top" : "oblique";
  }

  private motionExtent(axis: Vector3): number {
    let low = Infinity;
    let high = -Infinity;
    for (const mechanism of this.mechanisms) {
      mechanism.poses.all.forEach((_, i) => {
        const path = mechanism.poses.pathOf(i);
        if (!path) return;
        const stride = 3 * Math.max(1, Math.floor(path.time.length / LOOKS));
        for (let k = 0; k + 2 < path.y.length; k += stride) {
          const at = axis.x * path.y[k] + axis.y * path.y[k + 1] + axis.z * path.y[k + 2];
          low = Math.min(low, at);
          high = Math.max(high, at);
        }
      });
    }
    return high - low;
  }

  // Runs next to each other across the picture, or all in one place.
  private arrange(): void {
    const count = this.mechanisms.length;
    const across = this.seen.map(({ at }) => at.dot(this.across));
    const step = 1.12 * (across.reduce((a, b) => Math.max(a, b), -Infinity) - across.reduce((a, b) => Math.min(a, b), Infinity));
    this.mechanisms.forEach((mechanism, i) => {
      const shift = this.sideBySide ? (i - 0.5 * (count - 1)) * step : 0;
      mechanism.root.position.copy(this.across).multiplyScalar(shift);
      mechanism.bodies.setTransparent(!this.sideBySide && count > 1);
    });
    this.dirty = true;
  }

  private placeGrid(): void {
    if (this.grid) {
      this.scene.remove(this.grid);
      this.grid.dispose();
    }
    // Squares of 1, 2 or 5 times a power of ten, about ten of them.
    const wanted = (2.2 * this.reach() * (this.sideBySide ? this.mechanisms.length : 1)) / 10;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const cell = [1, 2, 5, 10].map((k) => k * power).find((c) => c >= wanted) ?? wanted;
    const color = new Color(palettes[this.theme].line);
    this.grid = new GridHelper(12 * cell, 12, color, color);
    (this.grid.material as LineBasicMaterial).transparent = true;
    this.grid.quaternion.copy(new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), this.up));
    const centre = this.box.getCenter(new Vector3());
    const low = centre.dot(this.up) - 0.5 * this.extent(this.up);
    this.grid.position.copy(centre).addScaledVector(this.up, low - centre.dot(this.up));
    this.grid.visible = this.gridShown;
    this.scene.add(this.grid);
  }

  // Arrows of a layer have one scale in all runs, and ellipsoids too.
  private scaleSigns(): void {
    for (const layer of fieldLayers) {
      const fields = this.mechanisms.flatMap((m) => m.fields.get(layer) ?? []);
      const most = fields.reduce((best, field) => Math.max(best, field.longest()), 0);
      // Noise is not drawn as if it were something; what acts from outside is exact.
      const floors = layer.startsWith("load") ? [] : this.mechanisms.map((m) => solvedFloor(m.run, fields[0]?.unit ?? "")?.() ?? 0);
      const floor = Math.max(0, ...floors);
      for (const field of fields) {
        field.most = Math.max(most, floor);
        field.noise = most < floor;
        field.reach = 0.24 * this.reach();
      }
    }
    const stiffest = this.mechanisms.reduce((best, m) => Math.max(best, m.ellipsoids.largest()), 0);
    for (const { ellipsoids } of this.mechanisms) ellipsoids.most = stiffest;
  }

  setView(view: View): void {
    const away = new Vector3();
    if (view === "front") away.copy(this.forward).negate();
    else if (view === "side") away.copy(this.right);
    // Straight from above the camera would not know which way is up.
    else if (view === "top") away.copy(this.up).addScaledVector(this.forward, -1e-4);
    else away.copy(this.forward).multiplyScalar(-1).addScaledVector(this.right, 0.75).addScaledVector(this.up, 0.55);
    away.normalize();
    this.across.crossVectors(this.up, away).normalize();
    this.arrange();
    const target = this.box.getCenter(new Vector3());
    this.camera.position.copy(target).addScaledVector(away, this.distance(away, target));
    this.controls.target.copy(target);
    this.lastSeen.set(NaN, NaN, NaN);
    this.controls.update();
    this.dirty = true;
  }

  // How far away everything that was seen of the motion is within the picture, with a margin.
  private distance(away: Vector3, target: Vector3): number {
    const side = new Vector3().crossVectors(this.camera.up, away).normalize();
    const top = new Vector3().crossVectors(away, side);
    const tall = Math.tan((0.5 * this.camera.fov * Math.PI) / 180) / 1.1;
    const wide = tall * this.camera.aspect;
    let best = 0;
    for (const { root } of this.mechanisms) {
      for (const { at, radius } of this.seen) {
        point.copy(at).add(root.position).sub(target);
        const need = Math.max((Math.abs(point.dot(side)) + radius) / wide, (Math.abs(point.dot(top)) + radius) / tall);
        best = Math.max(best, need + point.dot(away));
      }
    }
    const far = Math.max(best, 1e-3);
    this.camera.near = 0.01 * far;
    this.camera.far = 30 * far;
    this.camera.updateProjectionMatrix();
    return far;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new Color(palettes[theme].background);
    for (const mechanism of this.mechanisms) mechanism.setTheme(theme, this.mechanisms.length === 1);
    this.placeGrid();
    this.dirty = true;
  }

  setLayer(layer: Layer | "grid", on: boolean): void {
    if (layer === "grid") {
      this.gridShown = on;
      if (this.grid) this.grid.visible = on;
    } else {
      for (const mechanism of this.mechanisms) mechanism.groups.get(layer)!.visible = on;
    }
    this.touch();
  }
  setSideBySide(on: boolean): void {
    this.sideBySide = on;
    this.placeGrid();
    this.setView(this.bestView());
  }
  setArrowScale(scale: number): void {
    for (const mechanism of this.mechanisms) mechanism.setArrowScale(scale);
    this.touch();
  }

  // -1: the camera stays where it is.
  follow(body: number): void {
    this.followed = body;
    this.lastSeen.set(NaN, NaN, NaN);
    this.touch();
  }
  get following(): number {
    return this.followed;
  }

  // A live run has grown: room for all of it, without moving the camera.
  grow(): void {
    this.measure();
    this.scaleSigns();
    this.placeGrid();
    this.touch();
  }
  reframe(): void {
    this.setView(this.bestView());
  }

  seek(t: number): void {
    this.time = t;
    this.dirty = true;
  }
  touch(): void {
    this.dirty = true;
  }

  resize(): void {
    const host = this.canvas.parentElement;
    if (!host || host.clientWidth === 0 || host.clientHeight === 0) return;
    this.sharpness.reset();
    this.ratio = this.sharpness.ratio;
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(host.clientWidth, host.clientHeight);
    this.camera.aspect = host.clientWidth / host.clientHeight;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  private moveWithFollowed(): void {
    const first = this.mechanisms[0];
    const pose = this.followed >= 0 ? first?.poses.all[this.followed] : undefined;
    if (!pose?.known) return;
    const seen = pose.com.clone().add(first.root.position);
    const shift = Number.isNaN(this.lastSeen.x) ? seen.clone().sub(this.controls.target) : seen.clone().sub(this.lastSeen);
    this.lastSeen.copy(seen);
    this.controls.target.add(shift);
    this.camera.position.add(shift);
    this.controls.update();
  }

  // Draws if anything changed since the last frame; true if it did.
  frame(wall: number): boolean {
    const moved = this.dirty;
    if (moved) this.sharpness.frame(wall);
    else if (this.sharpness.due(wall)) this.sharpness.rest();
    else return false;
    this.draw();
    return moved;
  }
  // Whether motion was found too much for this computer.
  get slow(): boolean {
    return this.sharpness.lowered;
  }
  // Draws now, as well as can be.
  render(): void {
    this.sharpness.rest();
    this.draw();
  }

  private draw(): void {
    if (this.ratio !== this.sharpness.ratio) this.renderer.setPixelRatio((this.ratio = this.sharpness.ratio));
    for (const mechanism of this.mechanisms) mechanism.update(this.time);
    this.moveWithFollowed();
    // Light comes over the left shoulder of whoever looks.
    this.sun.position.copy(this.camera.position).addScaledVector(this.up, 0.6 * this.camera.position.distanceTo(this.controls.target));
    this.sun.target.position.copy(this.controls.target);
    this.renderer.render(this.scene, this.camera);
    this.dirty = false;
  }

  // The centre of mass of a body on the page, in CSS pixels; null where it is not known.
  pixelOf(body: number, run: number): { x: number; y: number } | null {
    const mechanism = this.mechanisms[run];
    if (!mechanism?.poses.all[body]?.known) return null;
    this.camera.updateMatrixWorld();
    point.copy(mechanism.poses.all[body].com).add(mechanism.root.position).project(this.camera);
    const at = this.canvas.getBoundingClientRect();
    return { x: at.left + 0.5 * (point.x + 1) * at.width, y: at.top + 0.5 * (1 - point.y) * at.height };
  }
}
