// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the address of the page asks for, otherwise the system, until somebody chooses.
import { asked } from "./address";
import type { Theme } from "./palette";

export function watchTheme(changed: (theme: Theme) => void): { current(): Theme; toggle(): void; set(theme: Theme): void } {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const wanted = asked("theme");
  let chosen = wanted === "dark" || wanted === "light";
  let theme: Theme = chosen ? (wanted as Theme) : dark.matches ? "dark" : "light";
  const set = (now: Theme): void => {
    theme = now;
    document.documentElement.dataset.theme = now;
    changed(now);
  };
  dark.addEventListener("change", () => {
    if (!chosen) set(dark.matches ? "dark" : "light");
  });
  document.documentElement.dataset.theme = theme;
  return {
    current: () => theme,
    toggle: () => {
      chosen = true;
      set(theme === "dark" ? "light" : "dark");
    },
    set,
  };
}
