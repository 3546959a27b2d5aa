// SPDX-License-Identifier: Apache-2.0
// On paper: light colours, all plots as wide as the sheet, and six stills instead of the replay.
import { timeText } from "./controls";
import { el } from "./dom";
import type { Theme } from "./palette";
import type { Player } from "./player";
import type { Stage } from "./stage";
import type { Views } from "./views";

const STILLS = 6;

function stills(stage: Stage, player: Player): HTMLElement {
  const strip = el("div", { class: "stills" });
  for (let k = 0; k < STILLS; ++k) {
    const t = player.start + (k / (STILLS - 1)) * (player.end - player.start);
    stage.seek(t);
    stage.render();
    const copy = el("canvas", { width: String(stage.canvas.width), height: String(stage.canvas.height) });
    copy.getContext("2d")?.drawImage(stage.canvas, 0, 0);
    strip.append(el("figure", {}, copy, el("figcaption", {}, timeText(t))));
  }
  stage.seek(player.time);
  return strip;
}

export function bindPrinting(host: HTMLElement, stage: Stage | null, views: Views, player: Player, theme: { current(): Theme; set(theme: Theme): void }): void {
  let before: Theme = "light";
  let strip: HTMLElement | null = null;
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    before = theme.current();
    theme.set("light");
    views.makeAll();
    views.resize(true);
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details.certificate:not([open])")];
    for (const details of opened) details.open = true;
    strip?.remove();
    strip = stage ? stills(stage, player) : null;
    if (strip) host.append(strip);
  });
  addEventListener("afterprint", () => {
    strip?.remove();
    for (const details of opened) details.open = false;
    theme.set(before);
    views.resize();
  });
}

