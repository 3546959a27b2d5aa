// SPDX-License-Identifier: Apache-2.0
// Colours after Okabe and Ito, told apart by readers with any colour vision, in a light and a dark set.

export interface Palette {
  series: string[];
  bodies: string[];
  background: string;
  ink: string;
  muted: string;
  line: string;
  joint: string;
  tendon: string;
  slack: string;
  obstacle: string;
  reaction: string;
  moment: string;
  load: string;
  loadMoment: string;
  momentum: string;
  com: string;
  ghost: string;
  stiffness: string;
  axisX: string;
  axisY: string;
  axisZ: string;
}

const light: Palette = {
  series: ["#0067a5", "#c4500a", "#00805c", "#a8497f", "#8a6a00", "#2f8fc4", "#5a4fb0", "#4b5563"],
  bodies: ["#5f8fb8", "#d39a5c", "#6fa896", "#b98aa6", "#9a9f6a", "#8a93a8"],
  background: "#f6f7f9",
  ink: "#1c2430",
  muted: "#5c6675",
  line: "#dde2e8",
  joint: "#39424f",
  tendon: "#8a6a00",
  slack: "#c9c3ad",
  obstacle: "#9aa3af",
  reaction: "#c4500a",
  moment: "#a8497f",
  load: "#0067a5",
  loadMoment: "#8a6a00",
  momentum: "#00805c",
  com: "#1c2430",
  ghost: "#5a4fb0",
  stiffness: "#00979c",
  axisX: "#c4500a",
  axisY: "#00805c",
  axisZ: "#0067a5",
};

const dark: Palette = {
  series: ["#5cb8f2", "#ff9b5c", "#4ccfa2", "#e49bc4", "#e0c14a", "#9ad4f5", "#b3a9ff", "#b6bfcb"],
  bodies: ["#6fa3cf", "#d9a66d", "#7dbba8", "#c79ab5", "#b0b47c", "#9aa4ba"],
  background: "#161b22",
  ink: "#e8ecf1",
  muted: "#9aa5b3",
  line: "#2e3743",
  joint: "#cdd4dd",
  tendon: "#e0c14a",
  slack: "#6b6546",
  obstacle: "#77818e",
  reaction: "#ff9b5c",
  moment: "#e49bc4",
  load: "#5cb8f2",
  loadMoment: "#e0c14a",
  momentum: "#4ccfa2",
  com: "#f2f5f8",
  ghost: "#b3a9ff",
  stiffness: "#4fe0dc",
  axisX: "#ff9b5c",
  axisY: "#4ccfa2",
  axisZ: "#5cb8f2",
};

export const palettes = { light, dark };
export type Theme = keyof typeof palettes;

// Runs of a comparison: first drawn through, then dashed, dotted, ...
export const dashes: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2]];
