// SPDX-License-Identifier: Apache-2.0
// Many sticks or arrows in one call to the renderer.
import {
  ConeGeometry,
  CylinderGeometry,
  Group,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  Quaternion,
  Vector3,
  type BufferGeometry,
} from "three";

const Z = new Vector3(0, 0, 1);
const NOWHERE = new Matrix4().makeScale(0, 0, 0);
const matrix = new Matrix4();
const turn = new Quaternion();
const direction = new Vector3();
const scale = new Vector3();

export function instanced(geometry: BufferGeometry, material: MeshLambertMaterial, count: number): InstancedMesh {
  const mesh = new InstancedMesh(geometry, material, count);
  mesh.frustumCulled = false;
  for (let i = 0; i < count; ++i) mesh.setMatrixAt(i, NOWHERE);
  return mesh;
}

export function hide(mesh: InstancedMesh, i: number): void {
  mesh.setMatrixAt(i, NOWHERE);
  mesh.instanceMatrix.needsUpdate = true;
}

export function put(mesh: InstancedMesh, i: number, at: Vector3, q: Quaternion, size: Vector3): void {
  mesh.setMatrixAt(i, matrix.compose(at, q, size));
  mesh.instanceMatrix.needsUpdate = true;
}

// Cylinders between two points.
export class Sticks {
  readonly mesh: InstancedMesh;
  constructor(count: number, readonly radius: number, material: MeshLambertMaterial) {
    this.mesh = instanced(new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5), material, count);
  }
  set(i: number, a: Vector3, b: Vector3, radius = this.radius): void {
    direction.copy(b).sub(a);
    const length = direction.length();
    if (!(length > 0)) return hide(this.mesh, i);
    turn.setFromUnitVectors(Z, direction.divideScalar(length));
    put(this.mesh, i, a, turn, scale.set(radius, radius, length));
  }
}

// Arrows with one head, or two for moments; they begin at a point.
export class Arrows {
  readonly group = new Group();
  readonly material = new MeshLambertMaterial();
  private readonly shafts: InstancedMesh;
  private readonly heads: InstancedMesh[];

  constructor(readonly count: number, readonly radius: number, heads: 1 | 2) {
    this.shafts = instanced(new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5), this.material, count);
    const cone = new ConeGeometry(1, 1, 14).rotateX(Math.PI / 2).translate(0, 0, -0.5);
    this.heads = Array.from({ length: heads }, () => instanced(cone, this.material, count));
    this.group.add(this.shafts, ...this.heads);
  }

  set(i: number, from: Vector3, arrow: Vector3): void {
    const length = arrow.length();
    if (!(length > 0.2 * this.radius)) return this.hide(i);
    direction.copy(arrow).divideScalar(length);
    turn.setFromUnitVectors(Z, direction);
    const head = Math.min(6 * this.radius, 0.5 * length);
    const width = 0.42 * head;
    put(this.shafts, i, from, turn, scale.set(0.35 * width, 0.35 * width, length - head));
    const tip = new Vector3();
    this.heads.forEach((mesh, k) => {
      tip.copy(from).addScaledVector(direction, length - 0.7 * k * head);
      put(mesh, i, tip, turn, scale.set(width, width, head));
    });
  }

  // Where the renderer has an arrow; null where it has none.
  ends(i: number): { from: number[]; tip: number[] } | null {
    this.shafts.getMatrixAt(i, matrix);
    if (matrix.determinant() === 0) return null;
    const from = direction.setFromMatrixPosition(matrix).toArray();
    this.heads[0].getMatrixAt(i, matrix);
    return { from, tip: direction.setFromMatrixPosition(matrix).toArray() };
  }

  hide(i: number): void {
    hide(this.shafts, i);
    for (const mesh of this.heads) hide(mesh, i);
  }
}
