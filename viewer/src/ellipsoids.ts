// SPDX-License-Identifier: Apache-2.0
// Stiffness as ellipsoids at points of bodies: half axes along the principal directions, as long as the principal values say.
import { Matrix4, Mesh, SphereGeometry, Vector3, type Group, type MeshLambertMaterial } from "three";
import type { Run } from "./data";
import type { Poses } from "./poses";
import { readMatrix, type Matrix } from "./stiffness";

// The largest value over all times, in typical lengths of the scene; and what is left of a value that is not positive.
const LARGEST = 0.35;
const FLAT = 1e-3;

const point = new Vector3();

interface Ellipsoid {
  matrix: Matrix;
  mesh: Mesh;
  body: number;
  p: number[];
  unit: string;
}

export class Ellipsoids {
  readonly all: Ellipsoid[] = [];
  // The largest principal value of all runs.
  most = 0;

  constructor(private readonly layer: Group, run: Run, private readonly poses: Poses, private readonly length: number, material: MeshLambertMaterial) {
    const ball = new SphereGeometry(1, 40, 28);
    for (const { path, body, p, unit } of run.scene?.ellipsoids ?? []) {
      const matrix = readMatrix(run, path);
      if (!matrix) continue;
      const mesh = new Mesh(ball, material);
      mesh.matrixAutoUpdate = false;
      mesh.frustumCulled = false;
      layer.add(mesh);
      this.all.push({ matrix, mesh, body, p, unit: unit || matrix.unit });
    }
  }

  largest(): number {
    return this.all.reduce((best, { matrix }) => Math.max(best, matrix.largest()), 0);
  }

  update(t: number): void {
    if (!this.layer.visible) return;
    for (const { matrix, mesh, body, p } of this.all) {
      const now = this.poses.known(body) && this.most > 0 ? matrix.at(t) : null;
      mesh.visible = now !== null;
      if (!now) continue;
      const [x, y, z] = now.values.map((v, k) => new Vector3(...now.axes[k]).multiplyScalar(this.length * Math.max(FLAT, (LARGEST * v) / this.most)));
      mesh.matrix.makeBasis(x, y, z).setPosition(this.poses.toWorld(body, point.fromArray(p)));
      mesh.matrixWorldNeedsUpdate = true;
    }
  }

  // Principal values at a time, falling; null where there are none.
  values(t: number): { values: number[] | null; unit: string }[] {
    return this.all.map(({ matrix, unit }) => ({ values: matrix.at(t)?.values ?? null, unit }));
  }

  // Centre and half axes as the renderer has them.
  drawn(): { path: string; centre: number[]; halves: number[][] }[] {
    return this.all
      .filter(({ mesh }) => mesh.visible)
      .map(({ matrix, mesh }) => {
        const half = (k: number): number[] => point.setFromMatrixColumn(mesh.matrix as Matrix4, k).toArray();
        return { path: matrix.path, centre: half(3), halves: [half(0), half(1), half(2)] };
      });
  }
}
