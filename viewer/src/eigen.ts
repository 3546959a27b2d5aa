// SPDX-License-Identifier: Apache-2.0
// Principal values and axes of a symmetric 3 by 3 matrix, by rotations that take one entry beside the diagonal to zero after another
// (Jacobi). Every rotation takes twice the square of that entry off the sum of squares beside the diagonal, so it ends; small values
// keep their digits.

export type Symmetric = [xx: number, yy: number, zz: number, xy: number, xz: number, yz: number];

export interface Principal {
  values: number[]; // falling
  axes: number[][]; // of unit length, a right-handed triad
}

const SWEEPS = 30;

export function principal([xx, yy, zz, xy, xz, yz]: Symmetric): Principal {
  if (!Number.isFinite(xx + yy + zz + xy + xz + yz)) return { values: [NaN, NaN, NaN], axes: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
  const a = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
  const v = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    if (a[0][1] === 0 && a[0][2] === 0 && a[1][2] === 0) break;
    for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) rotate(a, v, p, q);
  }
  const order = [0, 1, 2].sort((i, j) => a[j][j] - a[i][i]);
  const axes = order.map((i) => [v[0][i], v[1][i], v[2][i]]);
  const [x, y, z] = axes;
  const volume = x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) + x[2] * (y[0] * z[1] - y[1] * z[0]);
  return { values: order.map((i) => a[i][i]), axes: volume < 0 ? [x, y, z.map((c) => -c)] : axes };
}

// a := Jᵀ a J, v := v J, where J turns the axes p and q so that a_pq becomes zero.
function rotate(a: number[][], v: number[][], p: number, q: number): void {
  if (a[p][q] === 0) return;
  const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  // The smaller root of t² + 2 θ t − 1 = 0.
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  const r = 3 - p - q;
  const [apq, arp, arq] = [a[p][q], a[r][p], a[r][q]];
  a[p][p] -= t * apq;
  a[q][q] += t * apq;
  a[p][q] = a[q][p] = 0;
  a[r][p] = a[p][r] = c * arp - s * arq;
  a[r][q] = a[q][r] = s * arp + c * arq;
  for (const row of v) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
}
