// SPDX-License-Identifier: Apache-2.0
// The clock of the page: one time for the 3D view and all plots.

export const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16];

export class Player {
  playing = false;
  loop = false;
  speed = 1;
  private now: number;
  private last = 0;
  private readonly listeners: ((t: number) => void)[] = [];
  private readonly stateListeners: (() => void)[] = [];

  constructor(public start: number, public end: number, private samples: Float64Array) {
    this.now = start;
  }

  get time(): number {
    return this.now;
  }
  onTime(listener: (t: number) => void): void {
    this.listeners.push(listener);
  }
  onState(listener: () => void): void {
    this.stateListeners.push(listener);
  }

  seek(t: number): void {
    if (!Number.isFinite(t)) return;
    this.now = Math.min(Math.max(t, this.start), this.end);
    for (const listener of this.listeners) listener(this.now);
  }

  // At the end, playing begins anew.
  play(): void {
    if (this.now >= this.end) this.seek(this.start);
    this.playing = true;
    this.last = performance.now();
    this.tell();
  }
  pause(): void {
    this.playing = false;
    this.tell();
  }
  toggle(): void {
    if (this.playing) this.pause();
    else this.play();
  }
  setLoop(on: boolean): void {
    this.loop = on;
    this.tell();
  }
  setSpeed(speed: number): void {
    this.speed = speed;
    this.tell();
  }
  faster(steps: number): void {
    const at = speeds.findIndex((s) => s >= this.speed);
    this.setSpeed(speeds[Math.min(Math.max(at + steps, 0), speeds.length - 1)]);
  }

  // To the next or the last recorded sample.
  step(direction: 1 | -1): void {
    this.pause();
    const { samples } = this;
    let best = direction > 0 ? this.end : this.start;
    for (let low = 0, high = samples.length - 1; low <= high; ) {
      const middle = (low + high) >> 1;
      const beyond = direction > 0 ? samples[middle] > this.now : samples[middle] < this.now;
      if (beyond) best = samples[middle];
      if (beyond === direction > 0) high = middle - 1;
      else low = middle + 1;
    }
    this.seek(best);
  }

  // A live run: the end moves, and whoever watched the end goes with it.
  extend(samples: Float64Array, end: number): void {
    const atEnd = this.now >= this.end && !this.playing;
    this.samples = samples;
    this.end = Math.max(end, this.start);
    if (atEnd) this.seek(this.end);
    this.tell();
  }

  tick(wall: number): void {
    if (!this.playing) return;
    const passed = (Math.max(0, wall - this.last) / 1000) * this.speed;
    this.last = wall;
    const next = this.now + passed;
    if (next < this.end) return this.seek(next);
    if (this.loop && this.end > this.start) return this.seek(this.start + ((next - this.start) % (this.end - this.start)));
    this.seek(this.end);
    this.pause();
  }

  private tell(): void {
    for (const listener of this.stateListeners) listener();
  }
}
