// SPDX-License-Identifier: Apache-2.0
//
// A turned copy of the data has turned bodies, loads and gravity. In the metric of motion nothing of this shows: A turns along,
// and so do columns of terms that turn with the World. What changes are functions of World components, and those see the same
// numbers when their axes are turned instead (RawWorldTerm::seen_from). So sums over a copy are sums over the data themselves.
#include "invar/learn/rivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/random.hpp"
#include "invar/learn/as_written.hpp"
#include "invar/learn/domain.hpp"
#include "invar/learn/term/fourier.hpp"
#include "invar/learn/turned.hpp"

namespace invar {
namespace {

Quat random_turn(Random& random) {
  Quat q;
  for (double& x : q.coeffs()) x = random.normal();
  return q.normalized();
}

// The World of the data, then those of the copies.
std::vector<Quat> seen_from(const RawRival& rival) {
  Random random(rival.seed, 2);
  std::vector<Quat> out = {Quat::Identity()};
  for (int k = 0; k < rival.copies; ++k) out.push_back(random_turn(random));
  return out;
}

std::vector<RawWorldTerm> terms_of(const Model& model, const RawRival& rival, std::shared_ptr<const Features> features,
                                   FeatureScales scales, const std::vector<Quat>& worlds) {
  std::vector<RawWorldTerm> out;
  for (const Quat& q : worlds) out.emplace_back(model, rival.sharing, features, scales, rival.attitude, q);
  return out;
}

bool on_actuators(const TermSpec& t) { return t.kind == TermKind::ActuatorGain || t.kind == TermKind::ActuatorMisalignment; }

std::vector<int> first_numbers(std::size_t n, std::size_t from = 0) {
  std::vector<int> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<int>(from + i));
  return out;
}

}  // namespace

std::string RawRival::words() const {
  std::string out =
      network ? fmt::format("network of 2 × {}", functions) : fmt::format("{} cosines, spread {:g}", functions, spread);
  out += attitude > 0 ? fmt::format(", attitude times {:g}", attitude) : ", velocities only";
  out += sharing == Sharing::Each ? ", per body" : ", shared";
  return copies > 0 ? out + fmt::format(", {} turned copies", copies) : out;
}

std::vector<RawRival> raw_rivals(const Model& model, int columns, int most) {
  std::vector<RawRival> out;
  const auto add = [&](RawRival r) {
    std::vector<std::string> names;
    for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) names.push_back(model.body_name(b));
    const int per_function = 6 * std::max(1, classes_of(names, r.sharing, "all bodies").count());
    const int wanted = (columns + per_function - 1) / per_function;
    const int others = r.network ? 1 : RawWorldTerm::inputs(r.attitude) + 1;
    r.functions = std::clamp(wanted - others, r.network ? 4 : 1, Features::kMost - 1 - others);
    out.push_back(r);
  };
  // In turns with and without attitude and copies, so that a few of them are of every kind.
  for (const double spread : {3.0, 6.0, 1.5, 10.0, 0.75})
    for (const int copies : {0, 4})
      for (const double attitude : {1.0, 0.0}) add({.spread = spread, .attitude = attitude, .copies = copies});
  for (const int copies : {0, 4})
    for (const double attitude : {1.0, 0.0}) add({.network = true, .attitude = attitude, .copies = copies});
  for (const double spread : {3.0, 6.0, 10.0})
    for (const int copies : {0, 4}) add({.spread = spread, .attitude = 1, .sharing = Sharing::Each, .copies = copies});
  for (const int copies : {0, 4}) add({.spread = 3, .attitude = 0.5, .copies = copies});
  for (const int copies : {0, 4}) add({.network = true, .attitude = 1, .sharing = Sharing::Each, .copies = copies});
  if (static_cast<int>(out.size()) > most) out.resize(static_cast<std::size_t>(std::max(0, most)));
  return out;
}

Rivals::Rivals(const ModelSpec& nominal, const Model& model, const DataSet& data, const LearnSpec& spec, Division division,
               const std::vector<Actuator>& actuators)
    : nominal_(nominal), model_(model), data_(data), spec_(spec), division_(std::move(division)), actuators_(actuators) {}

// Training runs thinned, then the held-out runs whole.
DataSet Rivals::chosen(long samples) const {
  DataSet out = data_;
  out.runs.clear();
  for (const int r : division_.training) out.runs.push_back(data_.runs[static_cast<std::size_t>(r)]);
  if (samples > 0) out = thinned(out, static_cast<std::size_t>(samples));
  for (const int r : division_.held_out) out.runs.push_back(data_.runs[static_cast<std::size_t>(r)]);
  return out;
}

Result<Gram> Rivals::sums(const Model& model, const Terms& terms, const DataSet& data, const std::vector<int>& runs) const {
  GramOptions options;
  options.threads = spec_.threads;
  return gram_of(model, terms, data, runs, options);
}

Result<Errors> Rivals::of_terms(const std::vector<TermSpec>& terms, long samples) const {
  const DataSet data = chosen(samples);
  const std::size_t held_out = division_.held_out.size(), training = data.runs.size() - held_out;
  LearnSpec spec = spec_;
  spec.terms = terms, spec.judges.clear(), spec.progress = nullptr, spec.stop = nullptr, spec.checked = true;
  spec.held_out = first_numbers(held_out, training);
  if (terms.size() != spec_.terms.size()) spec.fit.strengths.clear();
  auto learned = learn(nominal_, model_, data, spec, actuators_);
  if (!learned) return tl::unexpected(learned.error());
  const TermContext context{data_.obstacle_names, actuators_};
  const auto unseen = error_as_written(nominal_, model_, learned->learned, data_, division_.judges, context);
  if (!unseen) return tl::unexpected(unseen.error());
  const auto judges = sums(model_, *Terms::build(model_, learned->terms, context), data_, division_.judges);
  if (!judges) return tl::unexpected(judges.error());
  Errors out;
  out.samples = learned->learned.from.samples, out.columns = static_cast<int>(learned->labels.size());
  out.held_out = learned->fit.held_out, out.unseen = *unseen;
  out.regression = judges->error(learned->fit.coefficients);
  auto there = in_turned_worlds(learned->learned, terms);
  if (!there) return tl::unexpected(there.error());
  out.turned = *there;
  return out;
}

// Measured, not promised: model and data are turned. What the nominal model leaves over weighs the same in all Worlds.
Result<double> Rivals::in_turned_worlds(const Learned& learned, const std::vector<TermSpec>& terms) const {
  if (std::any_of(terms.begin(), terms.end(), on_actuators) || division_.worlds.empty()) return std::nan("");
  double squares = 0;
  for (const Quat& q : division_.worlds) {
    const ModelSpec spec = turned(nominal_, q);
    const auto model = Model::build(spec);
    if (!model) return tl::unexpected(model.error());
    DataSet judges = data_;
    judges.runs.clear();
    for (const int r : division_.judges) judges.runs.push_back(data_.runs[static_cast<std::size_t>(r)]);
    const auto there = error_as_written(spec, *model, learned, turned(std::move(judges), q),
                                        first_numbers(division_.judges.size()), {data_.obstacle_names, actuators_});
    if (!there) return tl::unexpected(there.error());
    squares += *there * *there;
  }
  return std::sqrt(squares / static_cast<double>(division_.worlds.size()));
}

Result<Errors> Rivals::of_raw(const RawRival& rival, const std::vector<TermSpec>& beside, long samples) const {
  const DataSet data = chosen(samples);
  const std::size_t held = division_.held_out.size();
  const std::vector<int> training = first_numbers(data.runs.size() - held), held_out = first_numbers(held, training.size());
  const FeatureScales scales = scales_of(data, model_.length(), training);
  auto others = Terms::build(model_, beside, {data_.obstacle_names, actuators_});
  if (!others) return tl::unexpected(others.error());
  const std::vector<Quat> worlds = seen_from(rival);
  const int inputs = RawWorldTerm::inputs(rival.attitude);
  std::shared_ptr<const Features> features;
  if (rival.network) {
    const HiddenLayers start = HiddenLayers::drawn(rival.seed, rival.functions, inputs);
    VecX known = VecX::Zero(others->columns());
    if (!beside.empty()) {
      auto fitted = sums(model_, *others, data, training), held_sums = sums(model_, *others, data, held_out);
      if (!fitted) return tl::unexpected(fitted.error());
      if (!held_sums) return tl::unexpected(held_sums.error());
      auto done = fit(*others, *fitted, *held_sums);
      if (!done) return tl::unexpected(done.error());
      known = done->coefficients;
    }
    const auto seen = terms_of(model_, rival, std::make_shared<NetworkFeatures>(start), scales, worlds);
    TrainOptions options = spec_.train;
    options.epochs = rival.epochs, options.progress = nullptr, options.stop = spec_.stop;
    auto layers = train_network(model_, start, seen, *others, known, data, training, held_out, rival.seed, options);
    if (!layers) return tl::unexpected(layers.error());
    features = std::make_shared<NetworkFeatures>(std::move(*layers));
  } else {
    features = std::make_shared<FourierFeatures>(rival.seed, rival.functions, rival.spread, inputs);
  }
  const auto terms = [&](const Quat& q) {
    return others->with(std::make_shared<RawWorldTerm>(model_, rival.sharing, features, scales, rival.attitude, q));
  };
  Gram fitted;
  for (const Quat& q : worlds) {
    auto copy = sums(model_, terms(q), data, training);
    if (!copy) return tl::unexpected(copy.error());
    fitted += *copy;
  }
  const Terms here = terms(Quat::Identity());
  auto held_sums = sums(model_, here, data, held_out), judges = sums(model_, here, data_, division_.judges);
  if (!held_sums) return tl::unexpected(held_sums.error());
  if (!judges) return tl::unexpected(judges.error());
  auto done = fit(here, fitted, *held_sums);
  if (!done) return tl::unexpected(done.error());
  Errors out;
  out.samples = fitted.samples / static_cast<long>(worlds.size()), out.columns = here.columns();
  out.held_out = done->held_out, out.unseen = out.regression = judges->error(done->coefficients);
  double left = 0, all = 0;
  for (const Quat& q : division_.worlds) {
    auto there = sums(model_, terms(q), data_, division_.judges);
    if (!there) return tl::unexpected(there.error());
    left += there->left(done->coefficients), all += there->dd;
  }
  out.turned = all > 0 ? std::sqrt(left / all) : std::nan("");
  return out;
}

}  // namespace invar
