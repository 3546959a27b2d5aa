// SPDX-License-Identifier: Apache-2.0
// Where the data come from: inside the page, or from the server that sent it.
import { el } from "./dom";

export class Unreadable extends Error {}

export async function loadJson(): Promise<unknown> {
  const inside = document.getElementById("invar-data")?.textContent?.trim() ?? "";
  let text = inside;
  if (text === "") {
    if (!location.protocol.startsWith("http")) {
      throw new Unreadable("This page was opened from disk but holds no data. Reports are written by “invar report DIR”; recordings are shown by “invar view DIR”.");
    }
    const answer = await fetch("data.json").catch(() => null);
    if (!answer?.ok) throw new Unreadable(`The program did not answer with data${answer ? ` (status ${answer.status})` : ""}. Is “invar view” still running?`);
    text = await answer.text();
    if (text.trim() === "") throw new Unreadable("The program answered with nothing.");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreadable(`The data are damaged: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

// Instead of a blank page.
export function complain(host: HTMLElement, message: string): void {
  host.replaceChildren(el("div", { class: "complaint", role: "alert" }, el("h1", {}, "This page cannot show a run"), el("p", {}, message)));
}
