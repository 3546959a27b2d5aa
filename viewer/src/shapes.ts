// SPDX-License-Identifier: Apache-2.0
// Geometry of bodies, obstacles and joints. One geometry per body, whatever it is made of, so that a body is one call to the renderer.
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  Matrix4,
  PlaneGeometry,
  Quaternion,
  SphereGeometry,
  TorusGeometry,
  Vector3,
} from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Body, Load, Obstacle, Scene, Shape } from "./model";

export const vec = (p: number[]): Vector3 => new Vector3(p[0], p[1], p[2]);
export const quat = (q: number[]): Quaternion => new Quaternion(q[1], q[2], q[3], q[0]).normalize();

// Cylinders of three stand along y.
function alongAxis(geometry: BufferGeometry, axis: number): BufferGeometry {
  if (axis === 0) return geometry.rotateZ(-Math.PI / 2);
  return axis === 2 ? geometry.rotateX(Math.PI / 2) : geometry;
}

function meshGeometry(shape: Shape): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(shape.vertices), 3));
  geometry.setIndex(shape.triangles);
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}

// Round bodies have so many sides; the more bodies there are, the smaller they look.
const sidesFor = (bodies: number): number => (bodies > 60 ? 8 : bodies > 20 ? 14 : 24);

function shapeGeometry(shape: Shape, sides: number): BufferGeometry | null {
  switch (shape.kind) {
    case "box": return new BoxGeometry(...shape.size);
    case "sphere": return new SphereGeometry(shape.radius, sides, (sides * 2) / 3);
    case "cylinder": return alongAxis(new CylinderGeometry(shape.radius, shape.radius, shape.length, sides), shape.axis);
    case "capsule": return alongAxis(new CapsuleGeometry(shape.radius, shape.length, Math.floor(sides / 6), sides), shape.axis);
    case "mesh": return meshGeometry(shape);
    default: return null;
  }
}

// A straight rod from a to b.
export function rod(a: Vector3, b: Vector3, radius: number, sides = 12): BufferGeometry {
  const along = b.clone().sub(a);
  const geometry = new CylinderGeometry(radius, radius, along.length(), sides);
  const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), along.clone().normalize());
  return geometry.applyMatrix4(new Matrix4().compose(a.clone().addScaledVector(along, 0.5), turn, new Vector3(1, 1, 1)));
}

// Joint points of a body, in its own frame.
function jointPoints(scene: Scene, index: number): number[][] {
  return scene.joints.flatMap((joint) => {
    if (joint.kind === "free") return [];
    return [...(joint.parent === index ? [joint.atParent.p] : []), ...(joint.child === index ? [joint.atChild.p] : [])];
  });
}

// Bodies of the same key have the same geometry.
export function bodyKey(scene: Scene, index: number): string {
  const { shapes, com } = scene.bodies[index];
  if (shapes.length === 0) return JSON.stringify([com, jointPoints(scene, index)]);
  return shapes.some((s) => s.kind === "mesh") ? String(index) : JSON.stringify(shapes);
}

// Without shapes: a ball at the centre of mass and rods from there to every joint point.
function plainParts(scene: Scene, index: number): BufferGeometry[] {
  const com = vec(scene.bodies[index].com);
  const thickness = 0.022 * scene.length;
  const sides = Math.min(14, sidesFor(scene.bodies.length));
  const ball = new SphereGeometry(2.2 * thickness, sides, sides);
  ball.translate(com.x, com.y, com.z);
  const parts: BufferGeometry[] = [ball];
  for (const end of jointPoints(scene, index).map(vec)) {
    if (end.distanceTo(com) > thickness) parts.push(rod(com, end, thickness, sides));
  }
  return parts;
}

function merged(parts: BufferGeometry[]): BufferGeometry {
  for (const part of parts) {
    part.deleteAttribute("uv");
    if (!part.index) part.setIndex(Array.from({ length: part.getAttribute("position").count }, (_, i) => i));
  }
  return mergeGeometries(parts) ?? new BufferGeometry();
}

function placed(shape: Shape, sides: number): BufferGeometry[] {
  const geometry = shapeGeometry(shape, sides);
  return geometry ? [geometry.applyMatrix4(new Matrix4().compose(vec(shape.p), quat(shape.q), new Vector3(1, 1, 1)))] : [];
}

// The body in its own frame, without what is on it for a while.
export function bodyGeometry(scene: Scene, index: number): BufferGeometry {
  const body: Body = scene.bodies[index];
  const parts = body.shapes.flatMap((shape) => placed(shape, sidesFor(scene.bodies.length)));
  return merged(parts.length > 0 ? parts : plainParts(scene, index));
}
export function loadGeometry(load: Load): BufferGeometry {
  return merged(placed(load.shape, 24));
}

// A dot for a body of which only the centre of mass is known.
export function dotGeometry(radius: number): BufferGeometry {
  return new SphereGeometry(radius, 20, 14);
}

// A symbol along z, of unit size.
export function jointGeometry(kind: string, count: number): BufferGeometry | null {
  const sides = Math.min(20, sidesFor(count));
  switch (kind) {
    case "revolute": return alongAxis(new CylinderGeometry(0.5, 0.5, 1.7, sides), 2);
    case "screw":
    case "cylindrical": return alongAxis(new CylinderGeometry(0.38, 0.38, 2.6, sides), 2);
    case "prismatic": return new BoxGeometry(0.9, 0.9, 1.6);
    case "spherical": return new SphereGeometry(0.6, sides, Math.ceil(sides / 1.5));
    case "universal": return merged([
      alongAxis(new CylinderGeometry(0.25, 0.25, 1.7, 12), 0),
      alongAxis(new CylinderGeometry(0.25, 0.25, 1.7, 12), 1),
      new TorusGeometry(0.62, 0.14, 8, 24),
    ]);
    case "planar": return new BoxGeometry(1.6, 1.6, 0.15);
    case "fixed": return new BoxGeometry(0.8, 0.8, 0.8);
    default: return null;
  }
}

// An obstacle in the World; a half space is drawn as a square of the given reach.
export function obstacleGeometry(obstacle: Obstacle, reach: number): BufferGeometry | null {
  const a = vec(obstacle.a);
  if (obstacle.kind === "sphere") {
    return new SphereGeometry(obstacle.radius, 32, 20).translate(a.x, a.y, a.z);
  }
  if (obstacle.kind === "capsule") {
    const along = vec(obstacle.b).sub(a);
    const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), along.lengthSq() > 0 ? along.clone().normalize() : new Vector3(0, 1, 0));
    const middle = a.clone().addScaledVector(along, 0.5);
    const geometry = new CapsuleGeometry(obstacle.radius, along.length(), 10, 28);
    return geometry.applyMatrix4(new Matrix4().compose(middle, turn, new Vector3(1, 1, 1)));
  }
  if (obstacle.kind === "half_space") {
    const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), vec(obstacle.normal).normalize());
    return new PlaneGeometry(2 * reach, 2 * reach).applyMatrix4(new Matrix4().compose(a, turn, new Vector3(1, 1, 1)));
  }
  return null;
}
