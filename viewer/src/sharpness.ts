// SPDX-License-Identifier: Apache-2.0
// How many pixels the 3D view is drawn with. At rest twice as many as the screen has, which makes edges smooth; in motion as many as
// leave thirty frames a second. Smoothing by the renderer itself cannot be switched off while it would be too slow.

const FACTORS = [2, 1, 0.75, 0.5];
const MOST = 3;
const SLOW = 33;
// So many intervals between frames decide.
const WINDOW = 8;

export class Sharpness {
  private moving = 0; // the factor in motion; once found too slow, a factor is not tried again until the size changes
  private inMotion = false;
  private last = -Infinity;
  private gaps: number[] = [];

  // Pixels of the drawing for a pixel of the page.
  get ratio(): number {
    return Math.min(MOST, devicePixelRatio * FACTORS[this.inMotion ? this.moving : 0]);
  }

  get lowered(): boolean {
    return this.moving > 0;
  }

  reset(): void {
    this.moving = 0;
    this.rest();
  }
  rest(): void {
    this.inMotion = false;
    this.gaps = [];
    this.last = -Infinity;
  }

  // A frame is about to be drawn because something moved.
  frame(wall: number): void {
    const gap = wall - this.last;
    this.last = wall;
    this.inMotion = gap < 200;
    if (!this.inMotion) return void (this.gaps = []);
    this.gaps.push(gap);
    if (this.gaps.length < WINDOW) return;
    const mean = this.gaps.reduce((a, b) => a + b) / this.gaps.length;
    this.gaps = [];
    if (mean > SLOW && this.moving + 1 < FACTORS.length) ++this.moving;
  }

  // Whether what was drawn in motion can be drawn better now.
  due(wall: number): boolean {
    return this.inMotion && this.moving > 0 && wall - this.last > 250;
  }
}
