// SPDX-License-Identifier: Apache-2.0
// A run that is still computing: its rows arrive over a WebSocket and are put behind those that are there.
import { doublesOf } from "./arrays";
import { readOutcome, type Channel, type Data, type Run } from "./data";
import { readScene } from "./model";
import { readFigures } from "./figures";
import { isRecord, numberOr, textOr } from "./values";

// Beyond so many numbers every second row is given up, and from then on every second row that arrives.
const MOST_NUMBERS = 24e6;

export class Growth {
  rows = 0;
  skipped = 0;
  readonly time: Channel;
  private readonly all: Channel[];
  private buffers: Float64Array[];
  private capacity = 1024;
  private stride = 1;
  private arrived = 0;

  constructor(channels: Channel[], private readonly most = MOST_NUMBERS) {
    this.time = { path: "time", unit: "s", meaning: "", size: 1, time: new Float64Array(0), y: new Float64Array(0) };
    this.all = [this.time, ...channels];
    this.buffers = this.all.map((c) => new Float64Array(c.size * this.capacity));
  }

  get width(): number {
    return this.all.reduce((sum, c) => sum + c.size, 0);
  }

  // A whole number of rows: time, then all channels in order.
  add(bytes: Uint8Array): void {
    const width = this.width;
    if (bytes.length % (8 * width) !== 0) throw new Error(`a message of ${bytes.length} bytes is no whole number of rows of ${8 * width}`);
    const numbers = doublesOf(bytes);
    for (let at = 0; at < numbers.length; at += width) {
      if (this.arrived++ % this.stride !== 0) continue;
      if (this.rows > 0 && !(numbers[at] >= this.buffers[0][this.rows - 1])) throw new Error("times do not rise");
      this.makeRoom();
      let from = at;
      this.all.forEach((channel, i) => {
        this.buffers[i].set(numbers.subarray(from, from + channel.size), channel.size * this.rows);
        from += channel.size;
      });
      ++this.rows;
    }
    this.publish();
  }

  private makeRoom(): void {
    if (this.rows < this.capacity) return;
    if (2 * this.capacity * this.width > this.most) return this.thin();
    this.capacity *= 2;
    this.buffers = this.buffers.map((old, i) => {
      const larger = new Float64Array(this.all[i].size * this.capacity);
      larger.set(old);
      return larger;
    });
  }

  private thin(): void {
    const kept = Math.ceil(this.rows / 2);
    this.all.forEach(({ size }, i) => {
      for (let row = 0; row < kept; ++row) this.buffers[i].copyWithin(size * row, 2 * size * row, 2 * size * row + size);
    });
    this.rows = kept;
    this.stride *= 2;
  }

  private publish(): void {
    const time = this.buffers[0].subarray(0, this.rows);
    this.all.forEach((channel, i) => {
      channel.time = time;
      channel.y = this.buffers[i].subarray(0, channel.size * this.rows);
    });
  }
}

export interface LiveHandlers {
  begun(data: Data, growth: Growth): void;
  grown(): void;
  ended(): void;
  failed(message: string): void;
}

async function begin(json: unknown): Promise<{ data: Data; growth: Growth }> {
  if (!isRecord(json) || json.format !== 1 || !Array.isArray(json.runs) || !isRecord(json.runs[0])) throw new Error("the stream does not begin with the data of a run");
  const first = json.runs[0];
  const damage: string[] = [];
  const channels: Channel[] = (Array.isArray(first.channels) ? first.channels.filter(isRecord) : []).map((c) => ({
    path: textOr(c.path, ""),
    unit: textOr(c.unit, ""),
    meaning: textOr(c.meaning, ""),
    size: Math.max(1, Math.floor(numberOr(c.size, 1))),
    time: new Float64Array(0),
    y: new Float64Array(0),
  }));
  const run: Run = {
    study: null,
    name: textOr(first.name, "live"),
    outcome: readOutcome(first.result),
    complete: false,
    scene: first.scene ? await readScene(first.scene, damage) : null,
    channels: new Map(channels.map((c) => [c.path, c])),
    figures: [],
    damage,
  };
  return { data: { title: textOr(json.title, run.name), live: true, runs: [run] }, growth: new Growth(channels) };
}

export function openLive(address: string, handlers: LiveHandlers): void {
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  let state: { data: Data; growth: Growth } | null = null;
  let ended = false;
  // One message after the other: the first takes a moment to read, and rows may come meanwhile.
  let queue = Promise.resolve();
  const stop = (message: string): void => {
    if (ended) return;
    ended = true;
    handlers.failed(message);
    socket.close();
  };
  const take = async (message: unknown): Promise<void> => {
    if (ended) return;
    if (message instanceof ArrayBuffer) {
      if (!state) throw new Error("numbers came before their description");
      state.growth.add(new Uint8Array(message));
      return handlers.grown();
    }
    const json: unknown = JSON.parse(String(message));
    if (!state) {
      state = await begin(json);
      return handlers.begun(state.data, state.growth);
    }
    if (!isRecord(json)) return;
    if (typeof json.skipped === "number") state.growth.skipped += json.skipped;
    if ("result" in json) {
      state.data.live = false;
      state.data.runs[0].outcome = readOutcome(json.result);
      state.data.runs[0].complete = json.complete !== false;
      state.data.runs[0].figures = await readFigures(json.figures, state.data.runs[0].damage);
      ended = true;
      handlers.ended();
      socket.close();
    }
  };
  socket.addEventListener("message", (event) => {
    queue = queue.then(() => take(event.data)).catch((error) => stop(`the stream is damaged: ${error instanceof Error ? error.message : String(error)}`));
  });
  socket.addEventListener("error", () => void queue.then(() => stop("the connection to the program failed")));
  socket.addEventListener("close", () => void queue.then(() => stop("the program ended before the run was complete")));
}
