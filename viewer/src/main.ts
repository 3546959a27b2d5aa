// SPDX-License-Identifier: Apache-2.0
import { askedTime } from "./address";
import { readData, type Data } from "./data";
import { openLive, type Growth } from "./live";
import { complain, loadJson, Unreadable } from "./load";
import { Page } from "./page";
import type { PlotView } from "./plots";
import { valueAt } from "./series";
import { isRecord } from "./values";

const host = document.getElementById("invar") ?? document.body;
const notices = document.getElementById("notices")?.textContent?.trim() ?? "";
const words = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// What tests and consoles may touch.
function expose(page: Page, growth: Growth | null): void {
  const body = (name: string, run: number): number => page.stage?.mechanisms[run]?.names.indexOf(name) ?? -1;
  const told = (views: PlotView[]) =>
    views.map((view) => ({
      title: view.plot.title,
      made: view.made,
      lineTime: view.lineTime(),
      ranges: view.ranges(),
      floor: view.floorText(),
      ticks: view.ticks(),
      series: view.plot.series.map((s) => ({ label: s.label, run: s.run, path: s.path, on: s.on, now: valueAt(s.read(), page.player.time) })),
    }));
  const api = {
    data: page.data,
    ready: true,
    time: () => page.player.time,
    seek: (t: number) => page.player.seek(t),
    play: () => page.player.play(),
    pause: () => page.player.pause(),
    playing: () => page.player.playing,
    pixelOf: (name: string, run = 0) => page.stage?.pixelOf(body(name, run), run) ?? null,
    mark: (name: string | null, color?: string, run = 0) => {
      page.stage?.mechanisms[run]?.bodies.mark(name === null ? null : body(name, run), color);
      page.stage?.touch();
    },
    render: () => page.stage?.render(),
    view: () => {
      const camera = page.stage?.camera;
      camera?.updateMatrixWorld();
      return camera ? { matrix: camera.projectionMatrix.clone().multiply(camera.matrixWorldInverse).toArray(), target: page.stage!.controls.target.toArray() } : null;
    },
    drawn: (run = 0) => {
      const mechanism = page.stage?.mechanisms[run];
      page.stage?.render();
      return mechanism ? mechanism.drawn() : null;
    },
    sample: (path: string, t: number, run = 0) => page.sample(path, t, run),
    series: (path: string, run = 0) => {
      const channel = page.data.runs[run]?.channels.get(path);
      return channel ? { size: channel.size, time: [...channel.time], y: [...channel.y] } : null;
    },
    plots: () => told(page.views.all.filter((view) => !view.plot.figure)),
    figures: () => told(page.views.all.filter((view) => view.plot.figure)),
    framesPerSecond: () => page.framesPerSecond(),
    resetFrames: () => page.resetFrames(),
    rows: () => growth?.rows ?? 0,
    skipped: () => growth?.skipped ?? 0,
  };
  (window as unknown as { invar: typeof api }).invar = api;
}

function show(data: Data, growth: Growth | null = null): Page {
  document.title = data.title;
  const page = new Page(host, data, notices);
  expose(page, growth);
  const wanted = askedTime(); // a link to a moment
  if (Number.isFinite(wanted)) page.player.seek(wanted);
  return page;
}

function watch(): void {
  const address = new URL("live", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let page: Page | null = null;
  let grown: Growth | null = null;
  let due = false;
  // Rows come faster than anybody looks: plots are drawn anew a few times a second.
  const refresh = (): void => {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      page?.grown();
    }, 200);
  };
  openLive(address.href, {
    begun: (data, growth) => {
      grown = growth;
      page = show(data, growth);
    },
    grown: refresh,
    ended: () => {
      page?.ended(null);
      if (grown && grown.skipped > 0) page?.warn(`${grown.skipped} rows were left out on the way because this page was slow; the recording has them.`);
    },
    failed: (message) => {
      if (!page) return complain(host, `No live run: ${message}.`);
      page.data.live = false;
      page.ended(message);
    },
  });
}

async function start(): Promise<void> {
  try {
    const json = await loadJson();
    if (isRecord(json) && json.live === true) return watch();
    show(await readData(json));
  } catch (error) {
    complain(host, error instanceof Unreadable ? error.message : `The data cannot be read: ${words(error)}.`);
  }
}

void start();
