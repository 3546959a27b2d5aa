#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a recording as SVG: poses of the mechanism over time, and what its laws left over.

usage: docs/pictures/draw.py SCENARIO RUN.h5 OUT.svg [--plane xy] [--poses N]

Bodies are drawn as lines through their joints, seen along the third axis; the newest pose is the darkest. The curves are, over time,
the energy that is not accounted for (over the largest kinetic energy), the linear momentum that is not the impulse of the pulses, and
the largest gap of a joint. NumPy and h5py only.
"""
import argparse
import pathlib
import tomllib

import h5py
import numpy as np

WIDTH, HEIGHT, MARGIN = 900, 330, 12
INK, GRID = "#333", "#ddd"
CURVES = ("#0b6", "#c60", "#46c")


def turned(q, p):
    """p turned by unit quaternions q, scalar first, one per row."""
    w, u = q[:, :1], q[:, 1:]
    return p + 2 * np.cross(u, np.cross(u, p) + w * p)


def points_of_bodies(model):
    """Per body the points that its line passes, in the body frame: its joints, or the ends of its shape."""
    points = {b["name"]: [] for b in model["body"]}
    for joint in model.get("joint", []):
        for side, place in (("parent", "at_parent"), ("child", "at_child")):
            if joint.get(side, "world") in points and joint["kind"] != "free":
                points[joint[side]].append(joint.get(place, {}).get("p", [0, 0, 0]))
    for body in model["body"]:
        shape = body.get("shape", {})
        if "length" in shape and len(points[body["name"]]) < 2:
            half = np.zeros(3)
            half["xyz".index(shape.get("axis", "z"))] = shape["length"] / 2
            com = np.array(body.get("com", [0, 0, 0]))
            points[body["name"]] = [com - half, com + half]
    return points


def impulse(scenario, t):
    """What the pulses fixed in space have given until t, N s."""
    total = np.zeros((len(t), 3))
    for d in scenario.get("disturbance", []):
        signal = d.get("signal", {"kind": "constant"})
        if signal["kind"] != "pulse" or d.get("axes", "world") != "world":
            continue
        acting = np.clip(t, signal["from"], signal["to"]) - signal["from"]
        total += np.outer(acting * signal.get("value", 1), d.get("force", [0, 0, 0]))
    return total


def text(x, y, words, anchor="start", colour=INK, size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def line(points, colour, width=1.0, opacity=1.0):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity:.2f}" stroke-linecap="round" stroke-linejoin="round"/>'


def poses(f, model, plane, count, box):
    """The mechanism at equal distances of time, overlaid."""
    x0, y0, x1, y1 = box
    axes = ["xyz".index(c) for c in plane]
    t = f["time"][:]
    samples = [int(np.argmin(np.abs(t - s))) for s in np.linspace(t[0], t[-1], count)]
    lines = {}
    for body, places in points_of_bodies(model).items():
        com = np.array(next(b for b in model["body"] if b["name"] == body).get("com", [0, 0, 0]))
        p, q = f[f"bodies/{body}/p"][:][samples], f[f"bodies/{body}/q"][:][samples]
        ends = [p + turned(q, np.tile(np.array(place, float) - com, (count, 1))) for place in places]
        lines[body] = np.stack(ends, axis=1)[:, :, axes]
    everything = np.concatenate([v.reshape(-1, 2) for v in lines.values()])
    low, high = everything.min(0), everything.max(0)
    scale = min((x1 - x0) / max(high[0] - low[0], 1e-9), (y1 - y0 - 30) / max(high[1] - low[1], 1e-9))
    place = lambda u: (x0 + (u[0] - low[0]) * scale, y1 - 5 - (u[1] - low[1]) * scale)
    out = []
    for k in range(count):
        fade = 0.15 + 0.85 * k / (count - 1)
        for ends in lines.values():
            on_paper = [place(u) for u in ends[k]]
            out.append(line(on_paper, INK, 4, fade))
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#fff" stroke="{INK}" stroke-opacity="{fade:.2f}"/>' for x, y in on_paper]
    out.append(text(x0, y0 + 10, f"{count} poses from {t[0]:g} s to {t[-1]:g} s, seen in the {plane} plane"))
    return out


def curves(f, scenario, box):
    """Logarithms of what should be zero."""
    x0, y0, x1, y1 = box
    t = f["time"][:]
    kinetic = f["energy/kinetic"][:].max()
    rest = f["momentum/linear"][:] - f["momentum/linear"][0] - impulse(scenario, t)
    what = [("energy not accounted for, of the largest kinetic energy", np.abs(f["energy/balance"][:]) / kinetic),
            ("linear momentum that is not impulse, N s", np.linalg.norm(rest, axis=1)),
            ("largest gap of a joint, m or rad", f["residual/position"][:])]
    low, high = -17, -3
    across = lambda s: x0 + (s - t[0]) / (t[-1] - t[0]) * (x1 - x0)
    up = lambda y: y1 - (np.clip(np.log10(np.maximum(y, 1e-300)), low, high) - low) / (high - low) * (y1 - y0)
    out = []
    for e in range(low + 1, high + 1, 2):
        out += [line([(x0, up(10.0**e)), (x1, up(10.0**e))], GRID), text(x0 - 6, up(10.0**e) + 4, f"1e{e}", "end", size=11)]
    for s in np.linspace(t[0], t[-1], 5):
        out += [line([(across(s), y0), (across(s), y1)], GRID), text(across(s), y1 + 15, f"{s:g} s", "middle", size=11)]
    every = max(1, len(t) // 400)
    for k, (name, y) in enumerate(what):
        out.append(line(list(zip(across(t[::every]), up(y[::every]))), CURVES[k], 1.2))
        out.append(text(x0 + 8, y0 + 14 + 16 * k, name, colour=CURVES[k]))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", type=pathlib.Path)
    parser.add_argument("recording")
    parser.add_argument("svg", type=pathlib.Path)
    parser.add_argument("--plane", default="xy")
    parser.add_argument("--poses", type=int, default=9)
    args = parser.parse_args()
    scenario = tomllib.loads(args.scenario.read_text())
    model = tomllib.loads((args.scenario.parent / scenario["model"]).read_text())
    with h5py.File(args.recording) as f:
        drawn = poses(f, model, args.plane, args.poses, (MARGIN + 8, MARGIN, 0.45 * WIDTH, HEIGHT - MARGIN))
        drawn += curves(f, scenario, (0.54 * WIDTH, MARGIN, WIDTH - MARGIN - 10, HEIGHT - 30))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    args.svg.write_text("\n".join([head, back, *drawn, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
