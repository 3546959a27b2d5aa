// SPDX-License-Identifier: Apache-2.0
// Signs on buttons, drawn on a square of 16.

const paths = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
  back: "M11 3v10L4 8z",
  next: "M5 3v10l7-5z",
  loop: "M8 2.5a5.5 5.5 0 0 1 5.4 4.5h1.8L12.4 10.4 9.6 7h1.8A3.6 3.6 0 0 0 4.8 6.3L3.2 5.2A5.5 5.5 0 0 1 8 2.5zM8 13.5A5.5 5.5 0 0 1 2.6 9H.8l2.8-3.4L6.4 9H4.6a3.6 3.6 0 0 0 6.6.7l1.6 1.1A5.5 5.5 0 0 1 8 13.5z",
};
export type Icon = keyof typeof paths;

export function icon(name: Icon): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}
