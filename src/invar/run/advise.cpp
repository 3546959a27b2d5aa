// SPDX-License-Identifier: Apache-2.0
//
// With T = period + delay + lag, the time that the loop takes to answer, gains are pure numbers: κ T, Λ/κ, κ_i/κ², k_o T. The
// grid has two values of each; a pattern search then goes up and down by a factor f in each, f = 1.6, 1.26, 1.12. A candidate
// that does not do better than the best so far needs no margin, and most do not: the margin takes twice as long as the run.
#include "invar/run/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include "invar/run/calibration.hpp"

namespace invar {
namespace {

constexpr double kDefaultAnswer = 0.02;  // s; of a loop without period, delay and lag
constexpr double kAsGood = 1.2;          // differences below a fifth are those of noise and of a coarse search
constexpr double kFinest = 1.1;

using Genes = std::array<double, 4>;  // logarithms of κ T, Λ/κ, κ_i/κ², k_o T

/// Tracking errors and changes of command of one controller.
class Follow final : public Sink {
 public:
  Follow(const std::string& controller, double after) : prefix_("control/" + escaped(controller) + "/"), after_(after) {}

  Result<void> begin(const Layout& layout) override {
    std::vector<std::size_t> turns;
    std::size_t at = 0;
    for (const Channel& c : layout.channels) {
      if (c.path.starts_with(prefix_ + "error_")) (c.unit == "m" ? errors_ : turns).push_back(at);
      if (c.path == prefix_ + "command_change") change_ = static_cast<int>(at);
      at += static_cast<std::size_t>(c.size);
    }
    turns_ = errors_.empty();
    if (turns_) errors_ = turns;
    return {};
  }
  Result<void> sample(std::span<const double> row) override {
    if (row[0] < after_) return {};
    ++samples_;
    for (const std::size_t k : errors_) error_ += row[k] * row[k];
    // The first commands have none before them.
    const double change = change_ >= 0 ? row[static_cast<std::size_t>(change_)] : std::nan("");
    if (changes_ > 0 || std::isfinite(change)) ++changes_, change2_ += change * change;
    return {};
  }
  Result<void> end() override { return {}; }

  bool any() const { return samples_ > 0 && !errors_.empty(); }
  bool turns() const { return turns_; }
  double error() const { return std::sqrt(error_ / static_cast<double>(samples_)); }
  double jitter() const { return changes_ > 0 ? std::sqrt(change2_ / static_cast<double>(changes_)) : std::nan(""); }

 private:
  std::string prefix_;
  double after_, error_ = 0, change2_ = 0;
  std::vector<std::size_t> errors_;
  int change_ = -1;
  bool turns_ = false;
  long samples_ = 0, changes_ = 0;
};

double geometric_mean(const std::vector<LoopScore>& scores, double LoopScore::* what) {
  double sum = 0;
  for (const LoopScore& s : scores) sum += std::log(s.*what);
  return scores.empty() ? std::numeric_limits<double>::infinity() : std::exp(sum / static_cast<double>(scores.size()));
}

const ControllerSpec* controller_of(const Scenario& s, const std::string& name) {
  for (const ControllerSpec& c : s.controllers)
    if (c.name == name) return &c;
  return nullptr;
}

double answer_of(const Scenario& s, const std::string& name) {
  const ControllerSpec* c = controller_of(s, name);
  if (c == nullptr) return kDefaultAnswer;
  double lag = c->lag;
  for (const ActuatorSpec& a : c->actuators) lag = std::max(lag, a.lag);
  const double T = c->period + c->delay + lag;
  return T > 0 ? T : kDefaultAnswer;
}

class Search {
 public:
  Search(const MakeLoop& make, const AdviseOptions& options, double answer, const LoopWay& way)
      : make_(make), options_(options), answer_(answer) {
    out_.way = way;
  }

  AdvisedLoop run(const std::function<void()>& counted) {
    counted_ = counted;
    grid();
    for (double f = 1.6; f > kFinest && going() && out_.found; f = std::sqrt(f)) improve(f);
    if (out_.found) judge();
    if (!out_.found) out_.searched.failure = why_none();
    return std::move(out_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  bool going() const { return out_.candidates < options_.budget && !stopped(); }
  std::vector<std::size_t> active() const {
    std::vector<std::size_t> out = {0, 1};
    if (out_.way.integral) out.push_back(2);
    if (out_.way.observer) out.push_back(3);
    return out;
  }
  LoopGains gains_of(const Genes& g) const {
    LoopGains out;
    out.damping = std::exp(g[0]) / answer_;
    out.error = std::exp(g[1]) * out.damping;
    if (out_.way.integral) out.integral = std::exp(g[2]) * out.damping * out.damping;
    if (out_.way.observer) out.observer = std::min(std::exp(g[3]) / answer_, options_.most_observer);
    return out;
  }

  LoopScore scored(const Genes& g) {
    ++out_.candidates;
    auto scenario = make_(out_.way, gains_of(g));
    LoopScore out;
    if (scenario)
      out = score_of(std::move(*scenario), options_.controller, options_.after, options_.stop);
    else
      out.failure = scenario.error().text();
    ran_ = ran_ || out.failure.empty();
    if (first_failure_.empty()) first_failure_ = out.failure;
    counted_();
    return out;
  }

  // Where some candidate ran, what others failed of is not why no gains were found: the margin is.
  std::string why_none() const {
    if (stopped()) return "interrupted before gains with that margin were found";
    return ran_ ? std::string() : first_failure_;
  }

  // Whether it keeps the margin; it is the best so far then.
  bool take(const Genes& g, LoopScore score) {
    if (!std::isfinite(score.error) || (out_.found && !(score.error < out_.searched.error))) return false;
    weigh(make_, gains_of(g), score);
    if (!score.kept) return false;
    best_ = g, out_.gains = gains_of(g), out_.searched = std::move(score), out_.found = true;
    return true;
  }

  void weigh(const MakeLoop& make, const LoopGains& gains, LoopScore& score) const {
    auto scenario = make(out_.way, gains);
    if (!scenario) return;
    MarginOptions options = options_.margin;
    options.stop = options_.stop, options.progress = nullptr;
    const auto found = margin(*scenario, options);
    if (!found || found->interrupted) return;
    score.left = found->worst(), score.kept = found->kept(options);
  }

  // All points first, then margins from the best one on until one is kept. Without integral action and observer there are few
  // gains, and margins are narrow: their grid has more points.
  void grid() {
    constexpr double kCoarse[4][2] = {{0.3, 0.7}, {0.2, 0.4}, {0.1, 0.3}, {0.2, 0.5}};
    constexpr double kFine[2][4] = {{0.3, 0.5, 0.7, 1}, {0.1, 0.2, 0.3, 0.5}};
    std::vector<std::pair<LoopScore, Genes>> all;
    const std::vector<std::size_t> genes = active();
    const bool few = genes.size() == 2;
    const std::size_t values = few ? 4 : 2, points = few ? 16 : std::size_t{1} << genes.size();
    for (std::size_t k = 0; k < points && going(); ++k) {
      Genes g{};
      std::size_t rest = k;
      for (const std::size_t gene : genes) {
        g[gene] = std::log(few ? kFine[gene][rest % values] : kCoarse[gene][rest % values]);
        rest /= values;
      }
      all.emplace_back(scored(g), g);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first.error < b.first.error; });
    for (auto& [score, g] : all)
      if (take(g, std::move(score))) return;
  }

  void improve(double f) {
    for (bool moved = true; moved && going();) {
      moved = false;
      for (const std::size_t i : active())
        for (const double way : {1.0, -1.0}) {
          while (going()) {
            Genes g = best_;
            g[i] += way * std::log(f);
            if (std::find(seen_.begin(), seen_.end(), g) != seen_.end()) break;
            seen_.push_back(g);
            if (!take(g, scored(g))) break;
            moved = true;
          }
        }
    }
  }

  void judge() {
    for (const MakeLoop& make : options_.judges) {
      LoopScore score;
      auto scenario = make(out_.way, out_.gains);
      if (scenario)
        score = score_of(std::move(*scenario), options_.controller, options_.after, options_.stop);
      else
        score.failure = scenario.error().text();
      if (options_.margin_at_judges) weigh(make, out_.gains, score);
      out_.judged.push_back(std::move(score));
    }
    if (!options_.judges.empty()) return;
    auto again = make_(out_.way, out_.gains);
    if (!again) return;
    ++again->seed;
    out_.judged.push_back(score_of(std::move(*again), options_.controller, options_.after, options_.stop));
    out_.judged.back().left = out_.searched.left, out_.judged.back().kept = out_.searched.kept;
  }

  const MakeLoop& make_;
  const AdviseOptions& options_;
  double answer_;
  AdvisedLoop out_;
  Genes best_{};
  bool ran_ = false;  // some candidate to its end
  std::string first_failure_;
  std::vector<Genes> seen_;
  std::function<void()> counted_;
};

// "0.35 mm rms, jitter 1.1 N/√kg"; a loop without ticks has no jitter.
std::string left_words(const AdvisedLoop& loop, bool turns, const char* rms = "") {
  const double error = loop.error(), jitter = loop.jitter();
  const char* unit = turns ? "rad" : "m";
  std::string out = error < 0.1 ? fmt::format("{:.3g} m{}", 1e3 * error, unit) : fmt::format("{:.3g} {}", error, unit);
  out += rms;
  if (std::isfinite(jitter)) out += fmt::format(", jitter {:.2g} N/√kg", jitter);
  return out;
}

}  // namespace

std::string LoopWay::name() const {
  std::string out = knows == Knows::Identified ? "identified" : knows == Knows::Learned ? "learned" : "";
  const auto add = [&](const char* part) { out += (out.empty() ? "" : " + ") + std::string(part); };
  if (integral) add("integral");
  if (observer) add("observer");
  return out.empty() ? "nothing" : out;
}

std::vector<LoopWay> loop_ways(bool identified, bool learned) {
  std::vector<LoopWay> out;
  using enum LoopWay::Knows;
  for (const LoopWay::Knows knows : {Nominal, Identified, Learned})
    for (const auto& [integral, observer] : {std::pair(false, false), {true, false}, {false, true}, {true, true}})
      if (knows == Nominal || (knows == Identified ? identified : learned)) out.push_back({knows, integral, observer});
  return out;
}

double AdvisedLoop::error() const { return judged.empty() ? searched.error : geometric_mean(judged, &LoopScore::error); }
double AdvisedLoop::jitter() const { return judged.empty() ? searched.jitter : geometric_mean(judged, &LoopScore::jitter); }
int AdvisedLoop::keeping() const {
  return static_cast<int>(std::count_if(judged.begin(), judged.end(), [](const LoopScore& s) { return s.kept; }));
}

LoopScore score_of(Scenario scenario, const std::string& controller, double after, const std::atomic<bool>* stop) {
  LoopScore out;
  scenario.laws.clear(), scenario.figures.clear(), scenario.convergence.clear();
  // Once per tick: nothing that is asked for changes in between.
  const ControllerSpec* c = controller_of(scenario, controller);
  scenario.sampling.steps = c != nullptr ? std::max(1l, std::lround(c->period / scenario.method.step)) : 1;
  for (const char* word : kRecordGroups) *group(scenario.sampling.what, word) = false;
  Follow follow(controller, scenario.start_time + after);
  RunOptions options;
  options.sink = &follow, options.stop = stop;
  const auto done = run(scenario, options);
  if (!done) return out.failure = done.error().text(), out;
  if (done->end != Outcome::End::Finished) return out.failure = done->words.empty() ? "interrupted" : done->words, out;
  if (std::string why = unfit(*done, controller); !why.empty()) return out.failure = std::move(why), out;
  if (!follow.any()) return out.failure = "nothing is followed once settling is over", out;
  for (const Metric& m : done->metrics)
    if (m.name == controller + ".remainder") out.remainder = m.value;
  out.turns = follow.turns();
  if (std::isfinite(follow.error())) out.error = follow.error(), out.jitter = follow.jitter();
  return out;
}

Result<Advice> advise(const MakeLoop& make, const AdviseOptions& options) {
  auto first = make({}, {});
  if (!first) return tl::unexpected(first.error());
  if (controller_of(*first, options.controller) == nullptr)
    return fail(ErrorKind::Scenario, fmt::format("there is no controller '{}'", options.controller), first->path);
  if (const auto fine = check(*first); !fine) return tl::unexpected(fine.error());
  if (const auto one = one_mechanism(*first); !one) return tl::unexpected(one.error());
  if (const auto lasts = lasts_for_margin(*first, options.margin); !lasts) return tl::unexpected(lasts.error());
  if (const double span = first->end_time - first->start_time; !(options.after < span))
    return fail(
        ErrorKind::Scenario,
        fmt::format("the run lasts {:g} s, of which {:g} s are for settling: nothing is left to judge", span, options.after),
        first->path);
  for (const LoopWay& way : options.ways)
    if (way.knows == LoopWay::Knows::Identified && !way.integral && !way.observer)
      if (const auto made = make(way, {}); !made) return tl::unexpected(made.error());
  const double answer = answer_of(*first, options.controller);
  Advice out;
  out.loops.resize(options.ways.size());
  std::mutex told;
  std::size_t next = 0;
  int done = 0;
  const double all = static_cast<double>(options.budget) * static_cast<double>(options.ways.size());
  const auto work = [&] {
    for (;;) {
      std::size_t k;
      {
        const std::scoped_lock lock(told);
        if (next == options.ways.size() || (options.stop != nullptr && options.stop->load())) return;
        k = next++;
      }
      int mine = 0;
      Search search(make, options, answer, options.ways[k]);
      out.loops[k] = search.run([&] {
        const std::scoped_lock lock(told);
        ++done, ++mine;
        if (options.progress) options.progress(options.ways[k].name(), std::min(1.0, done / all));
      });
      const std::scoped_lock lock(told);
      done += options.budget - mine;  // a search may end before its budget does
    }
  };
  std::vector<std::thread> others;
  for (int k = 1; k < options.threads; ++k) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  out.interrupted = options.stop != nullptr && options.stop->load();
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < out.loops.size(); ++k) {
    out.loops[k].way = options.ways[k];
    if (out.interrupted) out.loops[k].judged.clear();
    if (out.loops[k].candidates == 0) out.loops[k].searched.failure = "not tried";
    if (out.loops[k].found) best = std::min(best, out.loops[k].error()), out.turns = out.loops[k].searched.turns;
  }
  for (std::size_t k = 0; k < out.loops.size() && out.taken < 0; ++k)
    if (out.loops[k].found && out.loops[k].error() <= kAsGood * best && std::isfinite(best)) out.taken = static_cast<int>(k);
  return out;
}

std::string sentence(const Advice& advice, bool flow_is_guessed) {
  const bool any = std::any_of(advice.loops.begin(), advice.loops.end(), [](const AdvisedLoop& l) { return l.found; });
  if (advice.taken < 0 && any) return "gains that keep the margin were found, but no run that judges them has a score";
  // A margin is that of candidates that ran.
  const auto ran = [](const AdvisedLoop& l) { return l.found || l.searched.failure.empty(); };
  if (advice.taken < 0 && !advice.interrupted && !advice.loops.empty() &&
      std::none_of(advice.loops.begin(), advice.loops.end(), ran))
    return "no candidate could be judged: " + advice.loops.front().searched.failure;
  if (advice.taken < 0)
    return advice.interrupted ? "interrupted: until then no way kept the margin with any gains that were tried"
                              : "no way keeps the margin with any gains that were tried";
  const AdvisedLoop& taken = advice.loops[static_cast<std::size_t>(advice.taken)];
  const AdvisedLoop *classical = nullptr, *learned = nullptr;
  for (const AdvisedLoop& l : advice.loops) {
    const AdvisedLoop*& best = l.way.knows == LoopWay::Knows::Learned ? learned : classical;
    if (l.found && std::isfinite(l.error()) && (best == nullptr || l.error() < best->error())) best = &l;
  }
  std::string out = fmt::format("{}take {}: {}", advice.interrupted ? "interrupted; of what was tried until then " : "",
                                taken.way.name(), left_words(taken, advice.turns, " rms"));
  const bool learning = taken.way.knows == LoopWay::Knows::Learned;
  if (learning && classical != nullptr)
    out += fmt::format("; without a learned load {} leaves {}", classical->way.name(), left_words(*classical, advice.turns));
  if (!learning && learned != nullptr)
    out += fmt::format("; {}{} leaves {}", advice.interrupted ? "" : "a learned load is not needed here: ", learned->way.name(),
                       left_words(*learned, advice.turns));
  if (!learning && learned != nullptr && flow_is_guessed)
    out += "; nobody measures the flow, whose force it cannot tell therefore";
  return out;
}

}  // namespace invar
