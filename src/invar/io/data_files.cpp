// SPDX-License-Identifier: Apache-2.0
#include "invar/io/data_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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
  for (std::size_t i = 0; i < s.inputs.size(); ++i) place(&s.inputs[i], options.actuators[i].name() + ".input", true);
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

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
  return fmt::format("'{}'{}", fmt::join(shown, "', '"), more);
}

// A recording, number by number.
class Recording {
 public:
  Recording(const Model& model, const DataFileOptions& options, const RecordedColumns& all, const std::string& file)
      : model_(model),
        options_(options),
        all_(all),
        file_(file),
        sample_(empty_sample(model, options.actuators.size())),
        q_(sample_.bodies.size()),
        told_(static_cast<std::size_t>(model.nv())) {}

  // Where every number stands. Refuses what is not there and must be.
  Result<void> find() {
    take("time", &sample_.t, 1, true);
    take("flow/measured", sample_.flow.data(), 3, false);
    for (std::size_t b = 0; b < sample_.bodies.size(); ++b) find_body(b);
    for (const Joint& j : model_.joints()) find_efforts(j);
    for (std::size_t i = 0; i < sample_.inputs.size(); ++i)
      if (const std::string& name = options_.actuators[i].name(); add_inputs(name, &sample_.inputs[i]) == 0 && fine_)
        fine_ = fail(ErrorKind::File, fmt::format("has no input of actuator '{}'", name), file_);
    if (const std::string name = driven_untold(); fine_ && !name.empty())
      fine_ = fail(ErrorKind::File,
                   fmt::format("a controller commands joint '{}', but its input is not recorded, and would be learned as a load; "
                               "add `actuators` to the control table",
                               name),
                   file_);
    return fine_;
  }

  Result<DataSample> sample(std::size_t i, const std::map<std::string, std::vector<RecordedCentre>>& centres) {
    for (const Source& from : sources_) *from.to = -0.0;  // which changes no number that is added
    for (const Source& from : sources_)
      *from.to += from.from->values[i * static_cast<std::size_t>(from.from->size) + static_cast<std::size_t>(from.at)];
    for (std::size_t b = 0; b < q_.size(); ++b) sample_.bodies[b].q_WB = Quat(q_[b][0], q_[b][1], q_[b][2], q_[b][3]);
    if (auto unit = normalise(model_, sample_, fmt::format("{}, sample {}", file_, i + 1)); !unit)
      return tl::unexpected(unit.error());
    DataSample out = sample_;
    about_nominal_centres(model_, centres, out);
    add_pushes(out);
    return out;
  }

  // What the recording leaves open and is taken for zero, in clauses.
  std::vector<std::string> remarks() const {
    std::vector<std::string> out;
    if (all_.channels.count("flow/measured") == 0 && moves("flow/velocity"))
      out.emplace_back("says how the water flows, but nobody measured it ('measured' in [flow]): it is taken for still");
    const bool at_work = all_.channels.count("energy/work") == 0 || moves("energy/work");
    if (!bare_.empty() && at_work) {
      const bool only_actuators = !wrenches_ && has_pushes();
      out.push_back(fmt::format("has no wrenches on {} ('loads' in [record]): {} taken to act there",
                                bare_.size() == q_.size() ? "its bodies" : quoted(bare_),
                                only_actuators ? "only the actuators named are" : "none are"));
    }
    if (const auto joints = joints_untold(); !joints.empty() && at_work)
      out.push_back(
          fmt::format("does not tell what motors do in {} from what joints do by themselves: no motor is taken to act "
                      "there ('actuators' of the control table record their inputs)",
                      quoted(joints)));
    return out;
  }

 private:
  struct Source {
    double* to;
    const RecordedColumns::Column* from;
    int at;
  };

  bool take(const std::string& name, double* to, int size, bool required) {
    if (!fine_) return false;
    auto found = channel(all_, name, size, required, file_);
    if (!found) fine_ = tl::unexpected(found.error());
    if (!found || !*found) return false;
    for (int k = 0; k < size; ++k) sources_.push_back({to + k, *found, k});
    return true;
  }

  void find_body(std::size_t b) {
    const std::string& name = model_.bodies()[b].name;
    const std::string body = "bodies/" + escaped(name) + "/";
    BodyState& at = sample_.bodies[b];
    take(body + "p", at.p_WC.data(), 3, true), take(body + "q", q_[b].data(), 4, true);
    take(body + "v", at.v_WC.data(), 3, true), take(body + "w", at.w_WB.data(), 3, true);
    if (options_.accelerations) {
      take(body + "a", sample_.accelerations[b].a_WC.data(), 3, true);
      take(body + "alpha", sample_.accelerations[b].alpha_WB.data(), 3, true);
    }
    if (!options_.loads) return;
    const bool force = take(body + "force", sample_.port[b].force.data(), 3, false);
    const bool moment = take(body + "moment", sample_.port[b].moment.data(), 3, false);
    if (!force || !moment) bare_.push_back(name);
    wrenches_ = wrenches_ || force || moment;
  }

  // Several controllers may push the same.
  int add_inputs(const std::string& name, double* to) {
    const std::string end = "/input_" + escaped(name);
    int found = 0;
    for (const auto& [where, column] : all_.channels)
      if (where.starts_with("control/") && where.ends_with(end) && take(where, to, 1, true)) ++found;
    return found;
  }

  // An actuator of the options acts by itself, see add_pushes.
  void find_efforts(const Joint& j) {
    for (int k = 0; k < j.nv; ++k) {
      bool told = false, named = false;
      for (const Actuator& a : options_.actuators)
        told = told || a.freedom() == j.v0 + k, named = named || a.name() == freedom_name(j, k);
      if (!named) told = add_inputs(freedom_name(j, k), &sample_.efforts[j.v0 + k]) > 0 || told;
      told_[static_cast<std::size_t>(j.v0 + k)] = told;
    }
  }

  // The first joint with a freedom that a law in freedoms drives without a recorded input; empty where there is none.
  std::string driven_untold() const {
    for (const auto& [where, column] : all_.channels) {
      const std::string law = where.substr(0, where.rfind('/') + 1);
      if (!where.starts_with("control/") || column.size != 1 || !where.substr(law.size()).starts_with("reference_")) continue;
      const auto input = all_.channels.lower_bound(law + "input_");
      if (input != all_.channels.end() && input->first.starts_with(law + "input_")) continue;
      for (const Joint& j : model_.joints())
        for (int k = 0; k < j.nv; ++k)
          if (!told_[static_cast<std::size_t>(j.v0 + k)] && where == law + "reference_" + escaped(freedom_name(j, k)))
            return j.name;
    }
    return {};
  }

  bool has_pushes() const {
    return std::any_of(options_.actuators.begin(), options_.actuators.end(), [](const Actuator& a) { return a.freedom() < 0; });
  }

  void add_pushes(DataSample& s) const {
    Load load(model_);
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
      if (const Actuator& a = options_.actuators[i]; a.freedom() >= 0 || !wrenches_) a.add(s.bodies, s.inputs[i], load);
    for (std::size_t b = 0; b < s.port.size(); ++b) s.port[b] += load.port[b];
    s.efforts += load.efforts;
  }

  // Some recorded number is not zero; of every sample those from `first` on, `count` of them.
  bool moves(const std::string& path, int first = 0, int count = 1 << 20) const {
    const auto found = all_.channels.find(path);
    if (found == all_.channels.end()) return false;
    const auto& [size, values] = found->second;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int k = static_cast<int>(i % static_cast<std::size_t>(size));
      if (k >= first && k - first < count && std::isfinite(values[i]) && values[i] != 0) return true;
    }
    return false;
  }

  // Joints in which a motor may have acted that nothing tells of: they have an effort, or a controller without inputs.
  std::vector<std::string> joints_untold() const {
    bool controlled = false, inputs = false;
    for (const auto& [where, column] : all_.channels)
      if (where.starts_with("control/")) controlled = true, inputs = inputs || where.find("/input_") != std::string::npos;
    std::vector<std::string> out;
    for (const Joint& j : model_.joints()) {
      const std::string path = "joints/" + escaped(j.name) + "/effort";
      const bool recorded = all_.channels.count(path) > 0;
      bool open = false;
      for (int k = 0; k < j.nv; ++k)
        if (!told_[static_cast<std::size_t>(j.v0 + k)]) open = open || (recorded ? moves(path, k, 1) : controlled && !inputs);
      if (open && !j.facts->is_free()) out.push_back(j.name);
    }
    return out;
  }

  const Model& model_;
  const DataFileOptions& options_;
  const RecordedColumns& all_;
  const std::string& file_;
  DataSample sample_;
  std::vector<std::array<double, 4>> q_;
  std::vector<Source> sources_;
  Result<void> fine_;
  std::vector<bool> told_;         // per freedom: what a motor does there is known
  std::vector<std::string> bare_;  // bodies whose wrenches should be known and are not recorded
  bool wrenches_ = false;          // some are taken from the recording
};

// Of columns of tables, "body.ax" and "body.alphax", and what they are the derivatives of.
std::string velocity_of(const std::string& acceleration) {
  const std::size_t dot = acceleration.rfind('.');
  const bool turns = acceleration.compare(dot + 1, 5, "alpha") == 0;
  return acceleration.substr(0, dot + 1) + (turns ? "w" : "v") + acceleration.back();
}
bool is_acceleration(const std::string& name) {
  const std::string what = name.substr(name.rfind('.') + 1);
  return what.starts_with('a') && (what.size() == 2 || (what.size() == 6 && what.starts_with("alpha")));
}

// Three columns of a vector are there together or not at all.
Result<void> no_half_vectors(const CsvTable& table, const std::vector<std::string>& wanted) {
  const auto& known = table.names();
  const auto there = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  for (const std::string& name : wanted) {
    if (!there(name) || !(name.ends_with('x') || name.ends_with('y') || name.ends_with('z'))) continue;
    for (const char axis : {'x', 'y', 'z'}) {
      const std::string other = name.substr(0, name.size() - 1) + axis;
      const bool asked = std::find(wanted.begin(), wanted.end(), other) != wanted.end();
      if (asked && !there(other))
        return fail(ErrorKind::Syntax,
                    fmt::format("there is a column '{}', but none '{}': a vector has all of its components", name, other),
                    table.where_header());
    }
  }
  return {};
}

// Columns that nothing asks for, as a clause.
std::string unused_columns(const std::vector<std::string>& known, const std::vector<std::string>& wanted) {
  std::vector<std::string> unused;
  std::string hint;
  for (const std::string& name : known) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) continue;
    unused.push_back(name);
    if (hint.empty()) hint = did_you_mean(name, wanted);
  }
  if (unused.empty()) return {};
  return fmt::format("has columns that say nothing here: {}{}", quoted(unused), hint);
}

}  // namespace

Result<DataRun> read_csv_run(const Model& model, const std::string& path, const DataFileOptions& options) {
  auto table = CsvTable::read(path);
  if (!table) return tl::unexpected(table.error());
  const auto& known = table->names();
  DataRun run{path, {}};
  std::vector<std::string> wanted;
  DataSample s = empty_sample(model, options.actuators.size());
  std::vector<Slot> slots;
  Result<void> fine;
  const auto measured = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  each_number(model, options, s, [&](double* to, const std::string& name, bool required) {
    const bool there = measured(name);
    wanted.push_back(name);
    if (!fine || (!there && !required)) return;
    if (!there && is_acceleration(name) && measured(velocity_of(name))) {
      fine = fail(ErrorKind::Syntax,
                  fmt::format("there is no column '{}': accelerations are measured, or made from velocities by a 'window' of "
                              "differences in the learn file",
                              name),
                  table->where_header());
      return;
    }
    auto column = table->column(name);
    if (column)
      slots.push_back({to, std::move(*column)});
    else
      fine = tl::unexpected(column.error());
  });
  if (!fine) return tl::unexpected(fine.error());
  if (auto whole = no_half_vectors(*table, wanted); !whole) return tl::unexpected(whole.error());
  run.remark = unused_columns(known, wanted);
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

  Recording recording(model, options, *all, file);
  if (auto found = recording.find(); !found) return tl::unexpected(found.error());
  DataRun run{path, {}};
  std::vector<std::string> remarks = recording.remarks();
  const auto centres = recorded_centres(*all, file);
  if (centres.empty())
    remarks.insert(
        remarks.begin(),
        "does not say where its centres of mass are: they are taken for the model's (a directory with its run.log says)");
  if (all->cut && all->samples > 0)
    remarks.push_back(fmt::format("was cut off behind {:g} s: its run was killed, or is still going on",
                                  all->channels.at("time").values.back()));
  run.remark = fmt::format("{}", fmt::join(remarks, "; "));
  for (std::size_t i = 0; i < all->samples; ++i) {
    auto sample = recording.sample(i, centres);
    if (!sample) return tl::unexpected(sample.error());
    run.samples.push_back(std::move(*sample));
  }
  return run;
}

Result<DataRun> read_run(const Model& model, const std::string& path, const DataFileOptions& options) {
  if (std::filesystem::path(path).extension() == ".toml")
    return fail(ErrorKind::File,
                "is a description, not a recording: name the directory that `invar run` wrote for it, or a table "
                "(.csv)",
                path);
  return std::filesystem::path(path).extension() == ".csv" ? read_csv_run(model, path, options)
                                                           : read_recorded_run(model, path, options);
}

}  // namespace invar
