// SPDX-License-Identifier: Apache-2.0
// The path of a body's centre of mass: all of it pale, what lies behind the present time strong.
import { BufferGeometry, Float32BufferAttribute, Group, Line, LineBasicMaterial } from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { sampleAt, type Channel } from "./data";

// More points than a screen can show are left out of the drawing.
const MOST = 2000;

export class Trace {
  readonly group = new Group();
  private readonly strong = new LineMaterial({ linewidth: 2.2 });
  private readonly pale = new LineBasicMaterial({ transparent: true, opacity: 0.4 });
  private time: Float64Array = new Float64Array(0);
  private past: Line2 | null = null;
  private samples = -1;

  constructor(color: string) {
    this.setColor(color);
  }

  setColor(color: string): void {
    this.strong.color.set(color);
    this.pale.color.set(color);
  }

  // Made anew only when the recording has grown.
  refresh(path: Channel): void {
    if (path.time.length === this.samples) return;
    this.samples = path.time.length;
    this.clear();
    const stride = Math.max(1, Math.ceil(this.samples / MOST));
    const points: number[] = [];
    const time: number[] = [];
    for (let i = 0; i < this.samples; i += stride) {
      const [x, y, z] = path.y.subarray(3 * i, 3 * i + 3);
      if (!Number.isFinite(x + y + z)) continue;
      points.push(x, y, z);
      time.push(path.time[i]);
    }
    if (time.length < 2) return;
    this.time = new Float64Array(time);
    this.past = new Line2(new LineGeometry().setPositions(points), this.strong);
    const whole = new Line(new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3)), this.pale);
    for (const made of [whole, this.past]) {
      made.frustumCulled = false;
      this.group.add(made);
    }
  }

  update(t: number): void {
    if (this.past) this.past.geometry.instanceCount = Math.max(0, sampleAt(this.time, t));
  }

  clear(): void {
    for (const made of this.group.children) (made as Line | Line2).geometry.dispose();
    this.group.clear();
    this.past = null;
  }
}
