// SPDX-License-Identifier: Apache-2.0
// Which plots a page has: channels sorted by what they mean, runs of a comparison in the same plots. Plots without channels do not exist.
import { plainName, type Channel, type Run } from "./data";
import { energyFloor, positionFloor, solvedFloor, squareFloor, unitFloor, velocityFloor } from "./floors";
import { Poses } from "./poses";
import { balanceOf, component, isZero, lengthOf, magnitude, type Curve } from "./series";
import { matrixOf } from "./stiffness";
import { isReference, references, trackingErrors } from "./tasks";

export interface Series {
  label: string;
  run: number;
  unit: string;
  path: string;
  read: () => Curve;
  color: number;
  dash: number[] | null; // null: that of the run
  limits: (number | null)[];
  floor?: () => number; // what is smaller is round-off
  on: boolean;
}

export interface Plot {
  key: string;
  section: string;
  title: string;
  unit: string;
  log: boolean;
  about: string;
  series: Series[];
  figure?: { x: string; y: string; logX: boolean; overTime: boolean }; // labels of axes; a panel of a figure
}

export const sections = ["Energy and momentum", "Control", "Tendons", "Joints and loads", "Solver", "Chosen"];

// A plot begins with so many curves; the legend has the others.
const AT_FIRST = 8;

// What is put in is exact, however small: loads, efforts, inputs, references.
const GIVEN = /^bodies\/[^/]+\/(force|moment)$|\/effort$|\/input_|\/reference_/;

const xyz = ["x", "y", "z"];
const wxyz = ["w", "x", "y", "z"];

interface Place {
  key: string;
  section: string;
  title: string;
  log?: boolean;
  about?: string;
}

export class Plots {
  readonly list: Plot[] = [];
  readonly silent: string[] = [];
  constructor(private readonly runs: Run[], live: boolean) {
    runs.forEach((run, i) => this.collect(run, i));
    if (!live) this.dropZeros();
    this.list.sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section));
    for (const plot of this.list) this.finish(plot);
  }

  private add(place: Place, run: number, label: string, unit: string, path: string, read: () => Curve, more: Partial<Series> = {}): void {
    const key = `${place.key} ${unit}`;
    let plot = this.list.find((p) => p.key === key);
    if (!plot) {
      plot = { key, section: place.section, title: place.title, unit, log: place.log ?? false, about: place.about ?? "", series: [] };
      this.list.push(plot);
    }
    const floor = plot.log || GIVEN.test(path) ? undefined : solvedFloor(this.runs[run], unit);
    plot.series.push({ label, run, unit, path, read, color: 0, dash: null, limits: [], on: true, floor, ...more });
  }

  // Every component of a channel in the plot of its unit.
  private addChannel(place: Place, run: number, channel: Channel, name: string): void {
    const units = channel.unit.split(",").map((u) => u.trim());
    for (let k = 0; k < channel.size; ++k) {
      const parts = channel.size === 3 ? xyz : channel.size === 4 && channel.unit === "1" ? wxyz : null;
      const label = channel.size === 1 ? name : `${name} ${parts ? parts[k] : k + 1}`.trim();
      this.add(place, run, label, units[k] ?? units[0], channel.path, component(channel, k));
    }
  }

  private collect(run: Run, i: number): void {
    const get = (path: string): Channel | undefined => run.channels.get(path);
    for (const name of ["kinetic", "potential", "elastic", "total", "work", "dissipated", "edited"]) {
      const channel = get(`energy/${name}`);
      if (channel) this.add({ key: "energy", section: "Energy and momentum", title: "Energies" }, i, name, channel.unit, channel.path, component(channel, 0));
    }
    this.collectErrors(run, i);
    for (const [name, title] of [["linear", "Linear momentum"], ["angular", "Angular momentum, origin"], ["angular_com", "Angular momentum, centre of mass"]]) {
      const channel = get(`momentum/${name}`);
      if (channel) this.addChannel({ key: name, section: "Energy and momentum", title }, i, channel, "");
    }
    for (const name of ["position", "velocity", "quaternion"]) {
      const channel = get(`residual/${name}`);
      if (!channel) continue;
      const place = { key: "residual", section: "Energy and momentum", title: "Residuals", log: true, about: "largest over all joints and quaternions" };
      const floor = { position: positionFloor(run), velocity: velocityFloor(run), quaternion: unitFloor }[name];
      this.add(place, i, `${name} (${channel.unit})`, "", channel.path, magnitude(component(channel, 0)), { floor });
    }
    this.collectTasks(run, i);
    for (const channel of run.channels.values()) this.collectNamed(run, i, channel);
  }

  private collectErrors(run: Run, i: number): void {
    const balance = run.channels.get("energy/balance");
    if (!balance) return;
    const place = { key: "energy error", section: "Energy and momentum", title: "Error of energy", log: true, about: "|change of energy − work + dissipation|" };
    this.add(place, i, "total", balance.unit, balance.path, magnitude(component(balance, 0)), { floor: energyFloor(run) });
    const total = run.channels.get("energy/total");
    for (const name of ["hamiltonian", "physical"]) {
      const channel = run.channels.get(`energy/${name}`);
      if (!channel || !total || (channel.y.length > 0 && channel.y.every((v, k) => v === total.y[k]))) continue;
      this.add(place, i, name, channel.unit, channel.path, balanceOf(run, name), { floor: energyFloor(run) });
    }
  }

  private collectTasks(run: Run, i: number): void {
    const poses = new Poses(run);
    for (const reference of references(run)) {
      const { name, controller, p } = reference;
      const place = { key: `track ${reference.path}`, section: "Control", title: `Path of ${name}`, about: `controller ${controller}; thin: reference` };
      const path = poses.pathOf(reference.body);
      if (p) {
        for (let k = 0; k < 3; ++k) {
          if (path && reference.body >= 0) this.add(place, i, xyz[k], p.unit, path.path, () => this.pathOfTask(reference.body, reference.atP.toArray(), poses, k));
          if (i === 0) this.add(place, i, `${xyz[k]} reference`, p.unit, p.path, component(p, k), { dash: [3, 3] });
        }
      }
      const error = { key: "track error", section: "Control", title: "Tracking error", log: true };
      const empty: Curve = { time: new Float64Array(0), y: new Float64Array(0) };
      if (p && path) this.add(error, i, `${name} position`, "m", reference.path, () => trackingErrors(reference, poses).position ?? empty, { floor: positionFloor(run) });
      if (reference.q && path) this.add(error, i, `${name} attitude`, "rad", reference.path, () => trackingErrors(reference, poses).attitude ?? empty, { floor: unitFloor });
    }
  }

  private pathOfTask(body: number, at: number[], poses: Poses, k: number): Curve {
    const time = poses.pathOf(body)!.time;
    const y = new Float64Array(time.length);
    const place = poses.all[body].com.clone();
    time.forEach((t, i) => {
      poses.update(t);
      y[i] = poses.toWorld(body, place.fromArray(at)).getComponent(k);
    });
    return { time, y };
  }

  private collectNamed(run: Run, i: number, channel: Channel): void {
    const [room, rawName, leaf] = channel.path.split("/");
    const name = plainName(rawName ?? "");
    if (room === "joints") this.collectJoint(i, channel, name, leaf);
    else if (room === "tendons") {
      const titles: Record<string, string> = { tension: "Tendon tensions", length: "Tendon lengths", rate: "Tendon rates" };
      if (titles[leaf]) this.add({ key: `tendon ${leaf}`, section: "Tendons", title: titles[leaf] }, i, name, channel.unit, channel.path, component(channel, 0));
    } else if (room === "bodies" && (leaf === "force" || leaf === "moment")) {
      const title = leaf === "force" ? "Forces on bodies" : "Moments on bodies";
      this.add({ key: `load ${leaf}`, section: "Joints and loads", title, about: "from outside: disturbances and commands; lengths" }, i, name, channel.unit, channel.path, lengthOf(channel));
    } else if (room === "solver") {
      this.add({ key: "solver", section: "Solver", title: "Newton iterations" }, i, name, "", channel.path, component(channel, 0));
    } else if (room === "control" && !isReference(channel)) {
      this.collectControl(run, i, channel, name, plainName(channel.path.split("/").slice(2).join("/")));
    }
  }

  private collectJoint(i: number, channel: Channel, name: string, leaf: string): void {
    const titles: Record<string, string> = { q: "Joint coordinates", v: "Joint rates", effort: "Joint efforts" };
    if (titles[leaf]) return this.addChannel({ key: `joint ${leaf}`, section: "Joints and loads", title: titles[leaf] }, i, channel, name);
    if (leaf !== "force" && leaf !== "moment") return;
    const title = leaf === "force" ? "Reaction forces" : "Reaction moments";
    this.add({ key: `reaction ${leaf}`, section: "Joints and loads", title, about: "lengths; on the parent" }, i, name, channel.unit, channel.path, lengthOf(channel));
  }

  private collectControl(run: Run, i: number, channel: Channel, controller: string, leaf: string): void {
    const several = new Set([...run.channels.keys()].filter((p) => p.startsWith("control/")).map((p) => p.split("/")[1])).size > 1;
    const label = (text: string): string => (several ? `${controller}: ${text}` : text);
    const section = "Control";
    if (leaf === "V") return this.add({ key: "V", section, title: "V", log: true, about: channel.meaning }, i, label("V"), channel.unit, channel.path, magnitude(component(channel, 0)), { floor: squareFloor(run) });
    if (leaf.startsWith("V_dot")) {
      const promised = leaf === "V_dot_promised";
      const text = promised ? "promised" : leaf === "V_dot" ? "V̇" : leaf.slice(6).replace(/_/g, " ");
      return this.add({ key: "V_dot", section, title: "V̇ and what was promised" }, i, label(text), channel.unit, channel.path, component(channel, 0), promised ? { dash: [4, 4] } : {});
    }
    if (leaf.startsWith("input_")) {
      const limit = run.scene?.limits.find((l) => l.path === channel.path);
      const limits = limit ? [limit.lower, limit.upper] : [];
      return this.add({ key: "input", section, title: "Actuator inputs", about: "dotted: limits" }, i, label(leaf.slice(6)), channel.unit, channel.path, component(channel, 0), { limits });
    }
    const matrix = matrixOf(run, channel);
    if (matrix) {
      const place = { key: `stiffness ${controller}`, section, title: `Stiffness of ${controller}`, about: "principal values" };
      if (channel.path === matrix.first) ["largest", "middle", "smallest"].forEach((name, k) => this.add(place, i, name, matrix.unit, matrix.path, () => matrix.curve(k)));
      return;
    }
    this.addChannel({ key: `control ${leaf}`, section, title: leaf.replace(/[_/]/g, " "), about: channel.meaning }, i, channel, label(leaf.replace(/_/g, " ")));
  }

  // What is zero from beginning to end is named, not drawn.
  private dropZeros(): void {
    for (const plot of [...this.list]) {
      if (!plot.series.every((s) => isZero(s.read().y))) continue;
      this.list.splice(this.list.indexOf(plot), 1);
      this.silent.push(plot.unit ? `${plot.title} (${plot.unit})` : plot.title);
    }
  }

  // Curves of the same name have the same colour in all runs, and stand together.
  private finish(plot: Plot): void {
    const labels = [...new Set(plot.series.map((s) => s.label.replace(/ reference$/, "")))];
    for (const series of plot.series) {
      series.color = labels.indexOf(series.label.replace(/ reference$/, ""));
      series.on = series.color < AT_FIRST;
    }
    plot.series.sort((a, b) => a.color - b.color);
  }

  // Plots of any channel, chosen by hand, one for each unit that it has.
  choose(path: string): Plot[] {
    const before = new Set(this.list);
    this.runs.forEach((run, i) => {
      const channel = run.channels.get(path);
      if (channel) this.addChannel({ key: `chosen ${path}`, section: "Chosen", title: path, about: channel.meaning }, i, channel, "");
    });
    const made = this.list.filter((p) => !before.has(p));
    made.forEach((plot) => this.finish(plot));
    return made;
  }
}
