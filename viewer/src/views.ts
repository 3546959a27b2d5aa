// SPDX-License-Identifier: Apache-2.0
// All plots of a page, wherever they stand: made when they come into sight, and told time, zoom, colours and sizes.
import type { PlotView, Shared } from "./plots";

export class Views {
  readonly all: PlotView[] = [];
  private readonly seen = new Map<Element, PlotView>();
  private readonly visible = new Set<PlotView>();
  private readonly watcher = new IntersectionObserver((entries) => entries.forEach((entry) => this.cameIntoSight(entry)), { rootMargin: "300px" });

  constructor(private readonly shared: Shared) {}

  add(view: PlotView, parent: HTMLElement): void {
    this.all.push(view);
    parent.append(view.root);
    this.seen.set(view.root, view);
    this.watcher.observe(view.root);
  }

  private cameIntoSight(entry: IntersectionObserverEntry): void {
    const view = this.seen.get(entry.target);
    if (!view) return;
    if (entry.isIntersecting) {
      view.make();
      view.setTime(this.shared.time);
      this.visible.add(view);
    } else {
      this.visible.delete(view);
    }
  }

  makeAll(): void {
    for (const view of this.all) view.make();
  }
  setTime(t: number): void {
    for (const view of this.visible) view.setTime(t);
  }
  setLines(): void {
    for (const view of this.visible) view.placeNow();
  }
  setZoom(): void {
    for (const view of this.all) view.setZoom();
  }
  // Plots that are not over time have a zoom of their own.
  resetOwnZoom(): void {
    for (const view of this.all) view.resetOwnZoom();
  }
  setTheme(): void {
    for (const view of this.all) view.setTheme();
  }
  resize(onSheet = false): void {
    for (const view of this.all) view.resize(onSheet);
  }
  // Live runs: only what is in sight is drawn anew.
  refresh(all = false): void {
    for (const view of all ? this.all : this.visible) view.refresh();
  }
}
