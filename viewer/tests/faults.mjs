// SPDX-License-Identifier: Apache-2.0
// Plants mistakes in a copy of the sources, one at a time, and sees that the tests notice: npm run faults [name ...].
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const top = dirname(dirname(fileURLToPath(import.meta.url)));

// `old` occurs once in `file`; `law` is a part of the name of the test that must fail, in the file `suite`.
const faults = [
  { name: "com_on_the_wrong_side", file: "src/poses.ts", old: ".applyQuaternion(pose.q).negate().add(pose.com)", new: ".applyQuaternion(pose.q).add(pose.com)", suite: "page", law: "drawn middle" },
  { name: "scalar_last", file: "src/poses.ts", old: "out.set(y[4 * i + 1], y[4 * i + 2], y[4 * i + 3], y[4 * i]);", new: "out.set(y[4 * i], y[4 * i + 1], y[4 * i + 2], y[4 * i + 3]);", suite: "page", law: "drawn attitude" },
  { name: "attitude_backwards", file: "src/bodies.ts", old: "put(mesh, at, this.placeOf(i), pose.q, UNIT);", new: "put(mesh, at, this.placeOf(i), pose.q.clone().conjugate(), UNIT);", suite: "page", law: "drawn attitude" },
  { name: "shape_without_its_place", file: "src/shapes.ts", old: "new Matrix4().compose(vec(shape.p), quat(shape.q), new Vector3(1, 1, 1))", new: "new Matrix4().compose(new Vector3(), quat(shape.q), new Vector3(1, 1, 1))", suite: "page", law: "drawn middle" },
  { name: "poses_of_the_sample_before", file: "src/poses.ts", old: "return [i, i + 1, span > 0 ? (t - time[i]) / span : 0];", new: "return [Math.max(0, i - 1), i, 0];", suite: "page", law: "drawn middle" },
  { name: "big_endian", file: "src/arrays.ts", old: "view.getFloat64(8 * i, true)", new: "view.getFloat64(8 * i, false)", suite: "parts", law: "unshuffle" },
  { name: "slider_reads_after_the_pause", file: "src/controls.ts", old: "player.seek(player.start + share * (player.end - player.start));", new: "player.seek(player.start + (Number(slider.value) / 10000) * (player.end - player.start));", suite: "page", law: "play, scrub" },
  { name: "lines_stay_behind", file: "src/plots.ts", old: "    this.nowLine.style.transform = place;\n", new: "", suite: "page", law: "play, scrub" },
  { name: "zoom_of_one_plot", file: "src/views.ts", old: "    for (const view of this.all) view.setZoom();\n", new: "", suite: "page", law: "drag zooms" },
  { name: "layers_cannot_be_hidden", file: "src/stage.ts", old: "mechanism.groups.get(layer)!.visible = on;", new: "mechanism.groups.get(layer);", suite: "page", law: "toggles act" },
  { name: "reference_of_another_place", file: "src/tasks.ts", old: "if (task) return { body: task.body, atP: vec(task.p), atQ: quat(task.q) };", new: "", suite: "page", law: "tracking errors" },
  { name: "ghost_at_its_own_origin", file: "src/ghosts.ts", old: "body.position.copy(atP).applyQuaternion(turn).negate().add(point);", new: "body.position.copy(point);", suite: "drawn", law: "ghost" },
  { name: "reference_alone_is_lost", file: "src/ghosts.ts", old: "body.visible = placed || (turned && known);", new: "body.visible = placed && turned;", suite: "drawn", law: "ghost" },
  { name: "loads_at_the_origin_of_bodies", file: "src/mechanism.ts", old: "out.copy(this.poses.all[i].com)", new: "out.copy(this.poses.all[i].origin)", suite: "drawn", law: "arrows" },
  { name: "every_arrow_as_long_as_the_longest", file: "src/fields.ts", old: "arrow.multiplyScalar(perUnit)", new: "arrow.setLength(perUnit * this.most)", suite: "drawn", law: "arrows" },
  { name: "rotation_of_the_wrong_sense", file: "src/eigen.ts", old: "const t = (theta < 0 ? -1 : 1) /", new: "const t = (theta < 0 ? 1 : -1) /", suite: "parts", law: "principal values" },
  { name: "left_handed_axes", file: "src/eigen.ts", old: "volume < 0 ?", new: "volume > 2 ?", suite: "parts", law: "principal axes" },
  { name: "ellipsoid_at_the_origin_of_its_body", file: "src/ellipsoids.ts", old: "point.fromArray(p)", new: "point.set(0, 0, 0)", suite: "drawn", law: "ellipsoid of stiffness" },
  { name: "entries_in_another_order", file: "src/stiffness.ts", old: '"xx", "yy", "zz", "xy", "xz", "yz"];', new: '"xx", "xy", "xz", "yy", "yz", "zz"];', suite: "drawn", law: "ellipsoid of stiffness" },
  { name: "zeros_of_figures_drawn", file: "src/plots.ts", old: "drawable(c, this.plot.log, this.plot.figure !== undefined, this.floor)", new: "drawable(c, this.plot.log, false, this.floor || 1e-9)", suite: "figures", law: "gap on a logarithmic axis" },
  { name: "dashed_curves_drawn_through", file: "src/gallery.ts", old: "dash: dashed ? [6, 4] : []", new: "dash: []", suite: "figures", law: "gap on a logarithmic axis" },
  { name: "ways_sorted_by_x", file: "src/ways.ts", old: "{ time: x, y }: { time: Float64Array; y: ArrayLike<number | null> }, logX: boolean, logY: boolean): uPlot", new: "{ time, y }: { time: Float64Array; y: ArrayLike<number | null> }, logX: boolean, logY: boolean, x = time.slice().sort()): uPlot", suite: "figures", law: "no function of x" },
  { name: "any_picture_is_shown", file: "src/figures.ts", old: "/^data:image\\/png;base64,[A-Za-z0-9+/]+={0,2}$/", new: "/^data:image/", suite: "figures", law: "damaged part" },
  { name: "every_panel_is_over_time", file: "src/plots.ts", old: "if (this.overTime) return this.shared.setZoom(min, max);", new: "return this.shared.setZoom(min, max);", suite: "figures", law: "zoom of their own" },
  { name: "figures_under_each_other", file: "src/style.css", old: "grid-auto-flow: column; grid-auto-columns: minmax(250px, 1fr);", new: "", suite: "figures", law: "side by side" },
  { name: "figures_are_cut", file: "src/style.css", old: "  .paper-figure, .plot, .laws li,", new: "  .plot, .laws li,", suite: "figures", law: "never cut" },
  { name: "slow_motion_stays_sharp", file: "src/sharpness.ts", old: "mean > SLOW &&", new: "mean < 0 &&", suite: "parts", law: "too slow" },
  { name: "rest_stays_coarse", file: "src/sharpness.ts", old: "    this.inMotion = false;\n", new: "", suite: "parts", law: "too slow" },
  { name: "every_run_scales_its_arrows", file: "src/stage.ts", old: "field.most = Math.max(most, floor);", new: "field.most = field.longest();", suite: "drawn", law: "one scale" },
  { name: "texts_as_markup", file: "src/dom.ts", old: 'parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);', new: 'if (typeof child === "string") (parent as Element).insertAdjacentHTML("beforeend", child); else parent.appendChild(child);', suite: "page", law: "never markup" },
  { name: "a_curve_switched_on_stays_empty", file: "src/plots.ts", old: "    this.refresh();\n    this.paintLegend();\n", new: "    this.paintLegend();\n", suite: "others", law: "times of their own" },
  { name: "cylinders_stand_along_y", file: "src/shapes.ts", old: "return axis === 2 ? geometry.rotateX(Math.PI / 2) : geometry;", new: "return geometry;", suite: "others", law: "along their axes" },
  { name: "shape_without_its_attitude", file: "src/shapes.ts", old: "compose(vec(shape.p), quat(shape.q),", new: "compose(vec(shape.p), new Quaternion(),", suite: "others", law: "along their axes" },
  { name: "sizes_are_believed", file: "src/data.ts", old: "if (y.length !== size * time.length) throw", new: "if (y.length < 0) throw", suite: "others", law: "costs its own part" },
  { name: "second_run_is_the_first", file: "src/main.ts", old: "const body = (name: string, run: number): number => page.stage?.mechanisms[run]", new: "const body = (name: string, run: number): number => page.stage?.mechanisms[99 * run]", suite: "others", law: "comparison" },
  { name: "first_row_of_a_message_lost", file: "src/live.ts", old: "for (let at = 0; at < numbers.length; at += width) {", new: "for (let at = numbers.length > 50 * width ? width : 0; at < numbers.length; at += width) {", suite: "live", law: "arrives whole" },
  { name: "rows_in_any_order", file: "src/live.ts", old: "this.rows > 0 && !(numbers[at] >= this.buffers[0][this.rows - 1])", new: "this.rows < 0", suite: "live", law: "breaks off" },
  { name: "ticks_of_uplot", file: "src/plots.ts", old: "splits: (u, i, min, max) => logSplits(min, max, across(u, i) + 3)", new: "splits: undefined, incrs: undefined", suite: "numbers", law: "every plot is drawn" },
  { name: "zero_is_the_least_number", file: "src/plots.ts", old: "log && v < floor ? floor : v", new: "v", suite: "numbers", law: "every plot is drawn" },
  { name: "floor_above_what_is_known", file: "src/floors.ts", old: "=> ROUND_OFF * energies(run)", new: "=> 1e6 * ROUND_OFF * energies(run)", suite: "numbers", law: "floor that is named" },
  { name: "four_digits_of_every_tick", file: "src/axes.ts", old: "Math.min(16, Math.max(4, ", new: "Math.min(4, Math.max(4, ", suite: "numbers", law: "told apart" },
  { name: "green_above_broken_assumptions", file: "src/verdicts.ts", old: "if (exception) return", new: "if (exception && count === 0) return", suite: "numbers", law: "worst of all" },
  { name: "unresolved_is_fine", file: "src/verdicts.ts", old: 'outcome.status === "unresolved" || outcome.unresolved', new: "outcome.unresolved.length > 9999", suite: "numbers", law: "worst of all" },
  { name: "unseen_counts_as_broken", file: "src/verdicts.ts", old: "const unseen = unheld.filter((k) => k.looks === 0).length;", new: "const unseen = unheld.filter((k) => k.looks < 0).length;", suite: "numbers", law: "worst of all" },
  { name: "interruption_untold", file: "src/verdicts.ts", old: 'outcome.status === "interrupted" ? `interrupted; ${text} until then` : text', new: "text", suite: "numbers", law: "worst of all" },
  { name: "sentence_stands_twice", file: "src/verdicts.ts", old: "run.outcome?.unresolved && !summary(run, data.live).text.includes(run.outcome.unresolved)", new: "run.outcome?.unresolved", suite: "numbers", law: "worst of all" },
  { name: "floor_of_hidden_curves", file: "src/plots.ts", old: "    this.refresh();\n    this.paintLegend();\n", new: "    if (on) this.refresh();\n    this.paintLegend();\n", suite: "numbers", law: "curves that are shown" },
  { name: "axis_upside_down", file: "src/plots.ts", old: "to > this.floor ? to : 10 * this.floor", new: "to", suite: "numbers", law: "window without numbers" },
  { name: "noise_fills_the_plot", file: "src/plots.ts", old: "if (most > 0 && most < least && least < Infinity) this.floor = least;", new: "", suite: "numbers", law: "nothing but round-off" },
  { name: "small_inputs_are_noise", file: "src/groups.ts", old: "plot.log || GIVEN.test(path) ?", new: "plot.log ?", suite: "numbers", law: "nothing but round-off" },
  { name: "moments_forget_their_arms", file: "src/floors.ts", old: "force(run) * (run.scene?.length ?? 0)", new: "force(run) * 1e3", suite: "numbers", law: "nothing but round-off" },
  { name: "noise_as_long_arrows", file: "src/stage.ts", old: "field.most = Math.max(most, floor);", new: "field.most = most;", suite: "drawn", law: "nothing but round-off" },
  { name: "theme_of_the_system", file: "src/theme.ts", old: 'asked("theme")', new: 'asked("colours")', suite: "page", law: "theme that its address" },
  { name: "loads_stay_on", file: "src/bodies.ts", old: "this.poses.time < load.until", new: "true", suite: "drawn", law: "attached for a while" },
  { name: "centre_of_mass_of_the_start", file: "src/model.ts", old: "if (t >= later.from) at = later;", new: "if (t < later.from && t > later.from) at = later;", suite: "drawn", law: "attached for a while" },
  { name: "thinning_forgets_the_pace", file: "src/live.ts", old: "    this.stride *= 2;\n", new: "", suite: "parts", law: "grows too long" },
];

// A test that fails by itself would notice anything.
const passing = new Map();
function passes(cwd, { suite, law }) {
  return spawnSync(process.execPath, ["--test", "--test-name-pattern", law, `dist/tests/${suite}.test.mjs`], { cwd, encoding: "utf8" }).status === 0;
}
function checkAlone(fault) {
  const key = `${fault.suite} ${fault.law}`;
  if (!passing.has(key)) passing.set(key, passes(top, fault));
  if (!passing.get(key)) throw new Error(`the test '${fault.law}' fails without any fault`);
}

const wanted = process.argv.slice(2);
let survivors = 0;
if (spawnSync(process.execPath, ["build.mjs", "--tests"], { cwd: top }).status !== 0) throw new Error("the viewer does not build");
for (const fault of faults.filter((f) => wanted.length === 0 || wanted.includes(f.name))) {
  const text = readFileSync(join(top, fault.file), "utf8");
  if (text.split(fault.old).length !== 2) throw new Error(`${fault.name}: its place in ${fault.file} is not there exactly once`);
  const copy = mkdtempSync(join(tmpdir(), "invar-fault-"));
  for (const part of ["src", "tests", "build.mjs", "package.json"]) cpSync(join(top, part), join(copy, part), { recursive: true });
  symlinkSync(join(top, "node_modules"), join(copy, "node_modules"));
  writeFileSync(join(copy, fault.file), text.replace(fault.old, () => fault.new));
  checkAlone(fault);
  const built = spawnSync(process.execPath, ["build.mjs", "--tests"], { cwd: copy, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`${fault.name} does not build: ${built.stderr}`);
  const noticed = !passes(copy, fault);
  console.log(`${noticed ? "noticed " : "SURVIVED"} ${fault.name}`);
  if (!noticed) ++survivors;
  rmSync(copy, { recursive: true, force: true });
}
process.exit(survivors > 0 ? 1 : 0);
