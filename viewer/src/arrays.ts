// SPDX-License-Identifier: Apache-2.0
// Numbers as the program writes them: little-endian float64, byte planes one after another, raw deflate, base64.

export interface PackedArray {
  n: number;
  b: string;
}

// No array of a page is longer; a size is never believed before it is checked.
const LONGEST = 1 << 27;

export function isPacked(value: unknown): value is PackedArray {
  const a = value as PackedArray | null;
  return typeof a === "object" && a !== null && typeof a.b === "string" && Number.isInteger(a.n) && a.n >= 0 && a.n <= LONGEST;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Inflates to exactly `size` bytes; stops as soon as there are more.
async function inflate(bytes: Uint8Array<ArrayBuffer>, size: number): Promise<Uint8Array> {
  const out = new Uint8Array(size);
  if (size === 0) return out;
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > size) {
      void reader.cancel();
      throw new Error(`more than the ${size / 8} numbers that were announced`);
    }
    out.set(value, at);
    at += value.length;
  }
  if (at !== size) throw new Error(`${Math.floor(at / 8)} numbers instead of ${size / 8}`);
  return out;
}

// Byte k of number i stands at plane k, place i.
export function unshuffle(planes: Uint8Array, n: number): Float64Array {
  const bytes = new Uint8Array(8 * n);
  for (let k = 0; k < 8; ++k) {
    for (let i = 0, from = k * n, to = k; i < n; ++i, ++from, to += 8) bytes[to] = planes[from];
  }
  return doublesOf(bytes);
}

// Numbers of a byte string in little-endian order, on any machine.
export function doublesOf(bytes: Uint8Array): Float64Array {
  const n = Math.floor(bytes.length / 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8 * n);
  const out = new Float64Array(n);
  for (let i = 0; i < n; ++i) out[i] = view.getFloat64(8 * i, true);
  return out;
}

export async function unpack(packed: unknown): Promise<Float64Array> {
  if (!isPacked(packed)) throw new Error("not an array of numbers");
  return unshuffle(await inflate(bytesOf(packed.b), 8 * packed.n), packed.n);
}
