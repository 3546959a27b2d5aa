// SPDX-License-Identifier: Apache-2.0
//
// Which configuration on World components stands for all is decided as a user would: by the held-out runs, with all samples. Runs
// that judge see the outcome only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/random.hpp"
#include "invar/learn/rivals.hpp"

namespace invar {
namespace {

constexpr int kTurnedWorlds = 3;
constexpr int kLeastColumns = 240;  // of functions of World components: few would be no rival
constexpr const char *kModelTerms = "inertias and joints alone", *kAllTerms = "all terms", *kRaw = "World components",
                     *kRawCopies = "World components, turned copies";

bool of_the_model(const TermSpec& t) { return t.kind <= TermKind::JointOffset; }

// 1, 2, 5, 10, … below all, evenly chosen from those of 20 and more (or of a sample per run), and all.
std::vector<long> counts_of(long all, std::size_t runs, int points) {
  std::vector<long> round;
  for (long decade = 1; decade < all; decade *= 10)
    for (const long k : {1l, 2l, 5l})
      if (k * decade < all * 4 / 5 && k * decade >= std::min<long>(20, static_cast<long>(runs))) round.push_back(k * decade);
  std::erase_if(round, [&](long n) { return n < 20 && round.back() >= 20; });
  std::vector<long> out;
  const int kept = std::min<int>(std::max(0, points - 1), static_cast<int>(round.size()));
  for (int k = 0; k < kept; ++k)
    out.push_back(round[static_cast<std::size_t>(k) * (round.size() - 1) / static_cast<std::size_t>(std::max(1, kept - 1))]);
  out.push_back(all);
  return out;
}

class Judgement {
 public:
  Judgement(const ModelSpec& nominal, const Model& model, const DataSet& data, const LearnSpec& spec, const WorthOptions& options,
            Division division, const std::vector<Actuator>& actuators)
      : model_(model),
        spec_(spec),
        options_(options),
        counts_(counts(data, division, options)),
        comparison_(nominal, model, data, spec, std::move(division), actuators) {}

  Result<Worth> run() {
    std::vector<TermSpec> known, others;
    for (const TermSpec& t : spec_.terms) (of_the_model(t) ? known : others).push_back(t);
    // World components stand where the load stands, beside what the model has a place for; without a load they stand alone.
    const bool beside = !others.empty();
    planned_ = counts_.size() * (known.empty() || !beside ? 1 : 2) + static_cast<std::size_t>(options_.raw) + 2 * counts_.size();
    Contender nothing{"nothing learned", "", {}};
    for (const long n : counts_) nothing.curve.push_back({n, 0, 1, 1, 1, 1});
    out_.contenders.push_back(std::move(nothing));
    if (!known.empty() && beside)
      if (auto done = follow(kModelTerms, known); !done) return tl::unexpected(done.error());
    if (auto done = follow(kAllTerms, spec_.terms); !done) return tl::unexpected(done.error());
    if (auto done = raw(beside ? known : std::vector<TermSpec>{}); !done) return tl::unexpected(done.error());
    return out_;
  }

 private:
  static std::vector<long> counts(const DataSet& data, const Division& division, const WorthOptions& options) {
    long all = 0;
    for (const int r : division.training) all += static_cast<long>(data.runs[static_cast<std::size_t>(r)].samples.size());
    return counts_of(all, division.training.size(), options.points);
  }

  // Whether there is time for another one.
  bool next(const std::string& what) {
    if (spec_.stop && *spec_.stop) out_.interrupted = true;
    if (out_.interrupted) return false;
    if (spec_.progress) spec_.progress("comparison, " + what, static_cast<double>(done_) / static_cast<double>(planned_));
    ++done_;
    return true;
  }

  Result<void> follow(const std::string& name, const std::vector<TermSpec>& terms) {
    Contender c{name, "", {}};
    for (const long n : counts_) {
      if (!next(name)) break;
      auto errors = comparison_.of_terms(terms, n);
      if (!errors) return tl::unexpected(errors.error());
      c.curve.push_back(*errors);
    }
    if (!c.curve.empty()) out_.contenders.push_back(std::move(c));
    return {};
  }

  Result<void> raw(const std::vector<TermSpec>& beside) {
    if (out_.contenders.size() < 2 || options_.raw < 1) return {};
    const int columns = std::max(kLeastColumns, out_.contenders.back().curve.front().columns);
    struct Best {
      RawRival rival;
      double error = std::numeric_limits<double>::infinity();
      int tried = 0;
    } plain, copied;
    for (const RawRival& rival : raw_rivals(model_, columns, options_.raw)) {
      if (!next(rival.words())) return {};
      auto errors = comparison_.of_raw(rival, beside, counts_.back());
      if (!errors) return tl::unexpected(errors.error());
      Best& best = rival.copies > 0 ? copied : plain;
      ++best.tried;
      if (errors->held_out < best.error) best.error = errors->held_out, best.rival = rival;
    }
    for (const Best* best : {&plain, &copied}) {
      if (best->tried == 0) continue;
      Contender c{best == &plain ? kRaw : kRawCopies, fmt::format("{} (best of {})", best->rival.words(), best->tried), {}};
      for (const long n : counts_) {
        if (!next(c.name)) break;
        auto errors = comparison_.of_raw(best->rival, beside, n);
        if (!errors) return tl::unexpected(errors.error());
        c.curve.push_back(*errors);
      }
      if (!c.curve.empty()) out_.contenders.push_back(std::move(c));
    }
    return {};
  }

  const Model& model_;
  const LearnSpec& spec_;
  const WorthOptions& options_;
  std::vector<long> counts_;
  Rivals comparison_;
  Worth out_;
  std::size_t planned_ = 1, done_ = 0;
};

}  // namespace

Result<Worth> worth_of(const ModelSpec& nominal, const Model& model, const DataSet& data, const LearnSpec& spec,
                       const LearnResult& learned, const WorthOptions& options, const std::vector<Actuator>& actuators) {
  Division division{learned.training, learned.held_out, spec.judges, {}};
  if (division.judges.empty()) division.judges = division.held_out;
  if (division.held_out.empty() || division.judges.empty())
    return fail(ErrorKind::State, "there is one run only: nothing is left to judge what was learned by");
  Random random(spec.seed, 3);
  for (int k = 0; k < kTurnedWorlds; ++k) {
    Quat q;
    for (double& x : q.coeffs()) x = random.normal();
    division.worlds.push_back(q.normalized());
  }
  std::vector<std::string> names;
  for (const int r : division.judges) names.push_back(data.runs[static_cast<std::size_t>(r)].name);
  const bool held_out_judged = spec.judges.empty();
  auto done = Judgement(nominal, model, data, spec, options, std::move(division), actuators).run();
  if (!done) return tl::unexpected(done.error());
  done->judges = std::move(names), done->held_out_judged = held_out_judged;
  return done;
}

namespace {

// Differences below this are chance: other seeds of the noise give as much.
constexpr double kAlike = 1.1;

double last(const Worth& worth, const std::string& name, double Errors::* what = &Errors::unseen) {
  for (const Contender& c : worth.contenders)
    if (c.name == name && !c.curve.empty()) return c.curve.back().*what;
  return std::numeric_limits<double>::infinity();
}

}  // namespace

bool pays(const Worth& worth) { return last(worth, kAllTerms) < kWorthIt; }

std::string advice(const Worth& worth) {
  const double all = last(worth, kAllTerms), known = last(worth, kModelTerms);
  const double raw = std::min(last(worth, kRaw), last(worth, kRawCopies));
  if (!(all < std::numeric_limits<double>::infinity())) return "the comparison was interrupted before it said anything";
  if (!pays(worth)) return "nothing that the terms could explain shows on unseen runs: keep the nominal model";
  std::string out = fmt::format("unseen runs leave over {:.3f} of what the model leaves over", all);
  if (known <= kAlike * all)
    out += fmt::format("; inertias and joints alone leave {:.3f}, so take those terms alone", known);
  else if (known < 1e9)
    out += fmt::format(", inertias and joints alone {:.3f}", known);
  // A term is missing where the regression explains less; what cannot be written is no term's fault.
  if (raw * kAlike < last(worth, kAllTerms, &Errors::regression))
    out += fmt::format(
        "; functions of World components leave {:.3f} here, so a term is missing (in a turned World they leave {:.3f})", raw,
        std::min(last(worth, kRaw, &Errors::turned), last(worth, kRawCopies, &Errors::turned)));
  return out;
}

}  // namespace invar
