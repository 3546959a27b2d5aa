// SPDX-License-Identifier: Apache-2.0
// Curves that are no functions of time: from point to point in their order, wherever they go.
import uPlot from "uplot";
import { isDrawable } from "./axes";
import type { Curve } from "./series";

const shown = (x: number, y: number | null, logX: boolean, logY: boolean): boolean => y !== null && isDrawable(x) && isDrawable(y) && !(logX && x <= 0) && !(logY && y <= 0);

// The extent of curves along an axis, nulls where there is nothing; points that a logarithm does not have do not count.
export function extent(curves: Curve[], axis: "x" | "y", logX: boolean, logY: boolean): [number | null, number | null] {
  let [low, high] = [Infinity, -Infinity];
  for (const { time: x, y } of curves) {
    for (let i = 0; i < x.length; ++i) {
      if (!shown(x[i], y[i], logX, logY)) continue;
      const v = axis === "x" ? x[i] : y[i];
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return low > high ? [null, null] : [low, high];
}

export function wayOf(u: uPlot, { time: x, y }: { time: Float64Array; y: ArrayLike<number | null> }, logX: boolean, logY: boolean): uPlot.Series.Paths {
  const stroke = new Path2D();
  const there = (i: number): boolean => i >= 0 && i < x.length && shown(x[i], y[i], logX, logY);
  for (let i = 0; i < x.length; ++i) {
    if (!there(i)) continue;
    const [at, up] = [u.valToPos(x[i], "x", true), u.valToPos(y[i]!, "y", true)];
    if (there(i - 1)) stroke.lineTo(at, up);
    else stroke.moveTo(at, up);
    // A point without neighbours would not be seen; its circle is shorter than a dash.
    if (!there(i - 1) && !there(i + 1)) stroke.arc(at, up, 0.8 * devicePixelRatio, 0, 2 * Math.PI);
  }
  return { stroke };
}
