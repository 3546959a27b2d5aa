// SPDX-License-Identifier: Apache-2.0
// Pixels of a screenshot: PNG with 8 bits, colours with or without opacity, rows in order.
import { inflateSync } from "node:zlib";

export interface Picture {
  width: number;
  height: number;
  depth: number;
  pixels: Uint8Array;
}

export function readPng(file: Buffer): Picture {
  const parts: Buffer[] = [];
  let [width, height, kind] = [0, 0, 0];
  for (let at = 8; at + 8 <= file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString("latin1", at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") {
      [width, height, kind] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9]];
      if (body[8] !== 8 || body[12] !== 0 || (kind !== 2 && kind !== 6)) throw new Error("another kind of PNG");
    }
    if (type === "IDAT") parts.push(body);
    at += 12 + length;
  }
  const depth = kind === 6 ? 4 : 3;
  return { width, height, depth, pixels: unfilter(inflateSync(Buffer.concat(parts)), width, height, depth) };
}

function unfilter(raw: Uint8Array, width: number, height: number, depth: number): Uint8Array {
  const stride = width * depth;
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; ++y) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; ++x) {
      const left = x >= depth ? out[y * stride + x - depth] : 0;
      const up = y > 0 ? out[(y - 1) * stride + x] : 0;
      const corner = x >= depth && y > 0 ? out[(y - 1) * stride + x - depth] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      out[y * stride + x] = raw[y * (stride + 1) + 1 + x] + guess;
    }
  }
  return out;
}

function paeth(a: number, b: number, c: number): number {
  const p = a + b - c;
  const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// The middle of all pixels of a colour, and how many they are.
export function centroid(picture: Picture, color: [number, number, number], tolerance = 40): { x: number; y: number; count: number } {
  let [x, y, count] = [0, 0, 0];
  for (let i = 0, at = 0; i < picture.width * picture.height; ++i, at += picture.depth) {
    if (color.some((c, k) => Math.abs(picture.pixels[at + k] - c) > tolerance)) continue;
    x += (i % picture.width) + 0.5;
    y += Math.floor(i / picture.width) + 0.5;
    ++count;
  }
  return { x: x / count, y: y / count, count };
}
