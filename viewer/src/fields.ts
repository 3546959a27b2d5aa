// SPDX-License-Identifier: Apache-2.0
// Vectors as arrows: reactions at joints, what acts on bodies from outside, momentum. The longest of a layer, over all runs and times, has
// one length, so that arrows of one layer can be compared.
import { Vector3, type Group } from "three";
import type { Channel } from "./data";
import { Arrows } from "./instances";
import { vectorAt } from "./poses";

export const fieldLayers = ["reactions", "moments", "loads", "load_moments", "momentum"] as const;
export type FieldLayer = (typeof fieldLayers)[number];

export interface Source {
  name: string;
  channel: Channel | undefined;
  place: (out: Vector3) => boolean;
}

const point = new Vector3();
const arrow = new Vector3();

// The longest vector of a channel over the whole run.
function longest({ size, y }: Channel): number {
  let best = 0;
  for (let i = 0; size >= 3 && i + 2 < y.length; i += size) {
    const length = Math.hypot(y[i], y[i + 1], y[i + 2]);
    if (length > best) best = length;
  }
  return best;
}

export class Field {
  readonly arrows: Arrows;
  // Metres of drawing for the longest vector, and how long that is.
  reach = 0;
  most = 0;
  // Nothing but round-off, drawn in the scale of its floor.
  noise = false;

  constructor(readonly layer: Group, radius: number, private readonly sources: Source[], heads: 1 | 2) {
    this.arrows = new Arrows(sources.length, radius, heads);
    layer.add(this.arrows.group);
  }

  longest(): number {
    return this.sources.reduce((best, { channel }) => Math.max(best, channel ? longest(channel) : 0), 0);
  }
  get unit(): string {
    return this.sources.find((s) => s.channel)?.channel?.unit ?? "";
  }

  update(t: number, scale: number): void {
    if (!this.layer.visible) return;
    const perUnit = this.most > 0 ? (scale * this.reach) / this.most : 0;
    this.sources.forEach(({ channel, place }, i) => {
      if (!place(point) || !vectorAt(channel, t, arrow)) this.arrows.hide(i);
      else this.arrows.set(i, point, arrow.multiplyScalar(perUnit));
    });
  }

  // As the renderer has them.
  drawn(): { name: string; from: number[]; tip: number[] }[] {
    return this.sources.flatMap(({ name }, i) => {
      const ends = this.arrows.ends(i);
      return ends ? [{ name, ...ends }] : [];
    });
  }
}
