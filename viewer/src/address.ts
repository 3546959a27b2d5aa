// SPDX-License-Identifier: Apache-2.0
// What the address of a page asks for, after # or after ?: report.html#t=9&theme=dark, report.html?theme=dark. What stands after # comes first.

export function asked(name: string, address: { hash: string; search: string } = location): string | null {
  return new URLSearchParams(address.hash.slice(1)).get(name) ?? new URLSearchParams(address.search).get(name);
}

// A moment, s; NaN: none.
export function askedTime(address?: { hash: string; search: string }): number {
  const text = asked("t", address);
  return text === null || text.trim() === "" ? NaN : Number(text);
}
