// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the system asks for, until somebody chooses.
import type { Theme } from "./palette";

export function watchTheme(changed: (theme: Theme) => void): { current(): Theme; toggle(): void; set(theme: Theme): void } {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let theme: Theme = dark.matches ? "dark" : "light";
  let chosen = false;
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
