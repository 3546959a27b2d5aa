// SPDX-License-Identifier: Apache-2.0
// Figures of a run as its program made them: panels of curves, a table, an image. What is damaged costs its own part and is told.
import { unpack } from "./arrays";
import { isRecord, numberOr, textOr } from "./values";

export interface FigureCurve {
  label: string;
  dashed: boolean;
  x: Float64Array;
  y: Float64Array;
}
export interface Panel {
  title: string;
  x: string;
  y: string;
  logX: boolean;
  logY: boolean;
  time: boolean; // x is the time of the run
  curves: FigureCurve[];
}
export interface Table {
  columns: string[];
  rows: { label: string; cells: string[] }[];
}
export interface Image {
  png: string;
  alt: string;
  width: number;
  height: number;
}
export interface Figure {
  name: string;
  caption: string;
  panels: Panel[];
  table: Table | null;
  image: Image | null;
}

type Json = Record<string, unknown>;

async function readCurve(json: unknown, time: boolean): Promise<FigureCurve> {
  if (!isRecord(json)) throw new Error("no JSON object");
  const [x, y] = await Promise.all([unpack(json.x), unpack(json.y)]);
  if (x.length !== y.length) throw new Error(`${y.length} numbers over ${x.length}`);
  const falls = time ? x.findIndex((t, i) => !Number.isFinite(t) || (i > 0 && t < x[i - 1])) : -1;
  if (falls >= 0) throw new Error(`times do not rise at sample ${falls}`);
  return { label: textOr(json.label, ""), dashed: json.dashed === true, x, y };
}

function readTable(json: unknown): Table {
  if (!isRecord(json) || !Array.isArray(json.columns) || !Array.isArray(json.rows)) throw new Error("columns or rows are missing");
  const columns = json.columns.map(String);
  const rows = json.rows.map((row: unknown) => {
    const { label, cells }: Json = isRecord(row) ? row : {};
    if (!Array.isArray(cells) || cells.length !== columns.length) throw new Error(`a row '${textOr(label, "")}' does not have ${columns.length} cells`);
    return { label: textOr(label, ""), cells: cells.map(String) };
  });
  return { columns, rows };
}

// Nothing but a PNG within the page: no other address, no other kind of picture.
function readImage(json: unknown): Image {
  if (!isRecord(json)) throw new Error("no JSON object");
  const png = textOr(json.png, "");
  if (!/^data:image\/png;base64,[A-Za-z0-9+/]+={0,2}$/.test(png)) throw new Error("no PNG within the page");
  const size = (x: unknown): number => Math.max(0, Math.floor(numberOr(x, 0))) || 0;
  return { png, alt: textOr(json.alt, ""), width: size(json.width), height: size(json.height) };
}

class Reader {
  constructor(private readonly name: string, private readonly damage: string[]) {}

  private async part<T>(what: string, read: () => T | Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      this.damage.push(`figure ${this.name}, ${what}: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }
  private list(value: unknown, what: string): unknown[] {
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.damage.push(`figure ${this.name}: ${what} are no list`);
    return [];
  }

  private async panel(json: unknown, index: number): Promise<Panel> {
    if (!isRecord(json)) throw new Error("no JSON object");
    const time = json.time === true;
    const read = this.list(json.curves, "curves").map((c, k) => this.part(`curve '${isRecord(c) ? textOr(c.label, "") : k + 1}' of panel ${index + 1}`, () => readCurve(c, time)));
    const curves = (await Promise.all(read)).filter((c) => c !== null);
    return { title: textOr(json.title, ""), x: textOr(json.x, ""), y: textOr(json.y, ""), logX: json.log_x === true, logY: json.log_y === true, time, curves };
  }

  async figure(json: Json): Promise<Figure> {
    const panels = await Promise.all(this.list(json.panels, "panels").map((p, i) => this.part(`panel ${i + 1}`, () => this.panel(p, i))));
    const given = (value: unknown): boolean => value !== undefined && value !== null;
    return {
      name: this.name,
      caption: textOr(json.caption, ""),
      panels: panels.filter((p) => p !== null),
      table: given(json.table) ? await this.part("table", () => readTable(json.table)) : null,
      image: given(json.image) ? await this.part("image", () => readImage(json.image)) : null,
    };
  }
}

export async function readFigures(json: unknown, damage: string[]): Promise<Figure[]> {
  if (json === undefined || json === null) return [];
  if (!Array.isArray(json)) {
    damage.push("figures are no list");
    return [];
  }
  const figures: Figure[] = [];
  for (const [i, one] of json.entries()) {
    const name = isRecord(one) ? textOr(one.name, `${i + 1}`) : `${i + 1}`;
    if (isRecord(one)) figures.push(await new Reader(name, damage).figure(one));
    else damage.push(`figure ${name}: no JSON object`);
  }
  return figures;
}
