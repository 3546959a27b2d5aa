// SPDX-License-Identifier: Apache-2.0
#include "invar/io/data_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "invar/geom/unit_quaternion.hpp"
#include "invar/io/csv.hpp"
#include "invar/io/recorded_columns.hpp"
#include "invar/run/sink.hpp"

namespace invar {
namespace {

DataSample empty_sample(const Model& model, std::size_t inputs) {
  DataSample s;
  s.bodies.resize(model.bodies().size());
  s.accelerations.resize(model.bodies().size());
  s.port.resize(model.bodies().size());
  s.efforts = VecX::Zero(model.nv());
  s.inputs.assign(inputs, 0.0);
  return s;
}

// A recording speaks of the plant's centres of mass, which an unknown payload moves: the same motion and the same wrenches about
// those of the nominal model.
void about_nominal_centres(const Model& model, const std::map<std::string, std::vector<RecordedCentre>>& centres, DataSample& s) {
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    const auto found = centres.find(model.bodies()[b].name);
    if (found == centres.end()) continue;
    Vec3 recorded = found->second.front().p_BC;
    for (const RecordedCentre& c : found->second)
      if (c.from <= s.t) recorded = c.p_BC;
    BodyState& x = s.bodies[b];
    const Vec3 arm = x.q_WB * (model.bodies()[b].inertia.p_BC - recorded);
    BodyAcceleration& a = s.accelerations[b];
    x.p_WC += arm, x.v_WC += x.w_WB.cross(arm);
    a.a_WC += a.alpha_WB.cross(arm) + x.w_WB.cross(x.w_WB.cross(arm));
    s.port[b].moment -= arm.cross(s.port[b].force);
  }
}

// Where the numbers of a sample come from: a table by names of columns, or a recording by paths of channels.
struct Slot {
  double* to;
  std::vector<double> from;  // one per sample
};

// Calls place(sample, name, required) for every number of a sample, names as in tables.
template <class Place>
void each_number(const Model& model, const DataFileOptions& options, DataSample& s, Place&& place) {
  constexpr const char* kAxes[] = {"x", "y", "z"};
  place(&s.t, "time", true);
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    const std::string body = model.bodies()[b].name + ".";
    BodyState& at = s.bodies[b];
    place(&at.q_WB.w(), body + "qw", true), place(&at.q_WB.x(), body + "qx", true);
    place(&at.q_WB.y(), body + "qy", true), place(&at.q_WB.z(), body + "qz", true);
    for (int k = 0; k < 3; ++k) {
      place(&at.p_WC[k], body + "p" + kAxes[k], true);
      place(&at.v_WC[k], body + "v" + kAxes[k], true);
      place(&at.w_WB[k], body + "w" + kAxes[k], true);
      place(&s.accelerations[b].a_WC[k], body + "a" + kAxes[k], options.accelerations);
      place(&s.accelerations[b].alpha_WB[k], body + "alpha" + kAxes[k], options.accelerations);
      place(&s.port[b].force[k], body + "f" + kAxes[k], false);
      place(&s.port[b].moment[k], body + "m" + kAxes[k], false);
    }
  }
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k) place(&s.efforts[j.v0 + k], freedom_name(j, k) + ".effort", false);
  for (int k = 0; k < 3; ++k) place(&s.flow[k], std::string("flow.") + kAxes[k], false);
  for (std::size_t i = 0; i < s.inputs.size(); ++i) place(&s.inputs[i], options.inputs[i] + ".input", true);
}

// Quaternions from outside are of unit length to six digits or so.
Result<void> normalise(const Model& model, DataSample& s, const std::string& where) {
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    double q[] = {s.bodies[b].q_WB.w(), s.bodies[b].q_WB.x(), s.bodies[b].q_WB.y(), s.bodies[b].q_WB.z()};
    if (const double length = make_unit(q); length != 1)
      return fail(ErrorKind::State,
                  fmt::format("the quaternion of body '{}' has norm {:g}, not 1", model.bodies()[b].name, length), where);
    s.bodies[b].q_WB = Quat(q[0], q[1], q[2], q[3]);
  }
  return {};
}

// A channel of a recording that must have one value per sample and this many numbers.
Result<const RecordedColumns::Column*> channel(const RecordedColumns& all, const std::string& path, int size, bool required,
                                               const std::string& file) {
  const auto found = all.channels.find(path);
  if (found == all.channels.end()) {
    if (!required) return nullptr;
    const bool wanted_accelerations = path.size() > 2 && (path.ends_with("/a") || path.ends_with("/alpha"));
    return fail(ErrorKind::File,
                fmt::format("has no channel '{}'{}", path,
                            wanted_accelerations ? "; record 'accelerations', or give a 'window' of differences" : ""),
                file);
  }
  const auto& column = found->second;
  if (column.size != size || column.values.size() != all.samples * static_cast<std::size_t>(size))
    return fail(ErrorKind::File, fmt::format("channel '{}' does not have {} numbers per sample", path, size), file);
  return &column;
}

}  // namespace

Result<DataRun> read_csv_run(const Model& model, const std::string& path, const DataFileOptions& options) {
  auto table = CsvTable::read(path);
  if (!table) return tl::unexpected(table.error());
  const auto& known = table->names();
  DataRun run{path, {}};
  DataSample s = empty_sample(model, options.inputs.size());
  std::vector<Slot> slots;
  Result<void> fine;
  each_number(model, options, s, [&](double* to, const std::string& name, bool required) {
    const bool there = std::find(known.begin(), known.end(), name) != known.end();
    if (!fine || (!there && !required)) return;
    auto column = table->column(name);
    if (column)
      slots.push_back({to, std::move(*column)});
    else
      fine = tl::unexpected(column.error());
  });
  if (!fine) return tl::unexpected(fine.error());
  for (std::size_t i = 0; i < table->rows(); ++i) {
    for (const Slot& slot : slots) *slot.to = slot.from[i];
    if (auto unit = normalise(model, s, table->where(i)); !unit) return tl::unexpected(unit.error());
    run.samples.push_back(s);
  }
  return run;
}

Result<DataRun> read_recorded_run(const Model& model, const std::string& path, const DataFileOptions& options) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string file = fs::is_directory(path, ignored) ? (fs::path(path) / "run.log").string() : path;
  auto all = fs::path(file).extension() == ".h5" ? columns_of_hdf5(file) : columns_of_log(file);
  if (!all) return tl::unexpected(all.error());

  DataSample s = empty_sample(model, options.inputs.size());
  struct Source {
    double* to;
    const RecordedColumns::Column* from;
    int at;
  };
  std::vector<Source> sources;
  Result<void> fine;
  const auto take = [&](const std::string& name, double* to, int size, bool required) {
    if (!fine) return;
    auto found = channel(*all, name, size, required, file);
    if (!found) {
      fine = tl::unexpected(found.error());
    } else if (*found) {
      for (int k = 0; k < size; ++k) sources.push_back({to + k, *found, k});
    }
  };
  take("time", &s.t, 1, true);
  std::vector<std::array<double, 4>> q(s.bodies.size());
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    const std::string body = "bodies/" + escaped(model.bodies()[b].name) + "/";
    take(body + "p", s.bodies[b].p_WC.data(), 3, true), take(body + "q", q[b].data(), 4, true);
    take(body + "v", s.bodies[b].v_WC.data(), 3, true), take(body + "w", s.bodies[b].w_WB.data(), 3, true);
    if (options.accelerations) {
      take(body + "a", s.accelerations[b].a_WC.data(), 3, true);
      take(body + "alpha", s.accelerations[b].alpha_WB.data(), 3, true);
    }
    if (!options.loads) continue;
    take(body + "force", s.port[b].force.data(), 3, false), take(body + "moment", s.port[b].moment.data(), 3, false);
  }
  const auto input_of = [&](const std::string& name, double* to, bool required) {
    const std::string end = "/input_" + escaped(name);
    for (const auto& [where, column] : all->channels)
      if (where.rfind("control/", 0) == 0 && where.ends_with(end)) return take(where, to, 1, true);
    if (required && fine) fine = fail(ErrorKind::File, fmt::format("has no input of actuator '{}'", name), file);
  };
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k) input_of(freedom_name(j, k), &s.efforts[j.v0 + k], false);
  for (std::size_t i = 0; i < s.inputs.size(); ++i) input_of(options.inputs[i], &s.inputs[i], true);
  if (!fine) return tl::unexpected(fine.error());

  DataRun run{path, {}};
  const auto centres = recorded_centres(*all, file);
  if (centres.empty())
    run.remark = "does not say where its centres of mass are: they are taken for the model's (a directory with its run.log says)";
  for (std::size_t i = 0; i < all->samples; ++i) {
    for (const Source& from : sources)
      *from.to = from.from->values[i * static_cast<std::size_t>(from.from->size) + static_cast<std::size_t>(from.at)];
    for (std::size_t b = 0; b < q.size(); ++b) s.bodies[b].q_WB = Quat(q[b][0], q[b][1], q[b][2], q[b][3]);
    if (auto unit = normalise(model, s, fmt::format("{}, sample {}", file, i + 1)); !unit) return tl::unexpected(unit.error());
    run.samples.push_back(s);
    about_nominal_centres(model, centres, run.samples.back());
  }
  return run;
}

Result<DataRun> read_run(const Model& model, const std::string& path, const DataFileOptions& options) {
  return std::filesystem::path(path).extension() == ".csv" ? read_csv_run(model, path, options)
                                                           : read_recorded_run(model, path, options);
}

}  // namespace invar
