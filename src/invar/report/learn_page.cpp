// SPDX-License-Identifier: Apache-2.0
#include "invar/report/learn_page.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "invar/io/whole_file.hpp"
#include "invar/report/packed.hpp"
#include "invar/report/page.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 400;  // of coefficients
constexpr const char* kNoBound =
    "None is known yet: `invar calibrate SCENARIO… --into FILE.learned.json` drives runs of one family with the learned model "
    "and "
    "writes the bound into it; `invar learn` then shows it here.";

std::string number(double x, const char* infinite = "–") { return std::isfinite(x) ? fmt::format("{:.3g}", x) : infinite; }

Json figure(const std::string& name, const std::string& caption) {
  return {{"name", name}, {"caption", caption}, {"panels", Json::array()}, {"table", nullptr}, {"image", nullptr}};
}

Json curves_of(const Worth& worth) {
  Json out = Json::array();
  for (const Contender& c : worth.contenders) {
    std::vector<double> x, y;
    for (const Errors& e : c.curve) x.push_back(static_cast<double>(e.samples)), y.push_back(e.unseen);
    out.push_back({{"label", c.name}, {"dashed", false}, {"x", packed_json(x)}, {"y", packed_json(y)}});
  }
  return out;
}

Json errors_figure(const Worth& worth) {
  Json out =
      figure("Errors on unseen runs",
             "√(Σ|d_w|²_A / Σ|d|²_A): the part of what the nominal model leaves over that is still left over by what is written "
             "(of World components, which nobody writes, by the regression), in the metric of motion, over the samples that were "
             "fitted. "
             "Turned Worlds: the same numbers, all samples, without new data.");
  out["panels"].push_back({{"title", "Learning curves"},
                           {"x", "samples fitted"},
                           {"y", "error on unseen runs"},
                           {"log_x", true},
                           {"log_y", true},
                           {"time", false},
                           {"curves", curves_of(worth)}});
  Json columns = Json::array(), rows = Json::array();
  for (const Errors& e : worth.contenders.front().curve) columns.push_back(fmt::format("{} samples", e.samples));
  columns.push_back("turned Worlds"), columns.push_back("columns"), columns.push_back("how");
  for (const Contender& c : worth.contenders) {
    Json cells = Json::array();
    for (std::size_t k = 0; k < worth.contenders.front().curve.size(); ++k)
      cells.push_back(k < c.curve.size() ? number(c.curve[k].unseen) : "–");
    cells.push_back(number(c.curve.back().turned)), cells.push_back(fmt::format("{}", c.curve.back().columns));
    cells.push_back(c.how);
    rows.push_back({{"label", c.name}, {"cells", cells}});
  }
  out["table"] = {{"columns", columns}, {"rows", rows}};
  return out;
}

Json coefficients_figure(const LearnResult& r) {
  const std::size_t shown = std::min(kMostRows, r.labels.size());
  Json out = figure("Coefficients",
                    "Values and standard deviations, as if what is left over were white noise; ∞: the data do not determine it" +
                        (shown < r.labels.size() ? fmt::format(". The first {} of {}.", shown, r.labels.size()) : "."));
  Json rows = Json::array();
  for (std::size_t k = 0; k < shown; ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    rows.push_back(
        {{"label", r.labels[k]}, {"cells", {number(r.fit.coefficients[i]), number(r.fit.deviations[i], "∞"), r.units[k]}}});
  }
  out["table"] = {{"columns", {"value", "deviation", "unit"}}, {"rows", rows}};
  return out;
}

Json sentences(const std::string& name, const std::string& caption, const std::vector<std::string>& all) {
  Json out = figure(name, caption), rows = Json::array();
  for (std::size_t k = 0; k < all.size(); ++k) rows.push_back({{"label", fmt::format("{}", k + 1)}, {"cells", {all[k]}}});
  out["table"] = {{"columns", {""}}, {"rows", rows}};
  return out;
}

// How a bound on the loop's remainder was found, or the command that finds one.
Json bound_figure(const Learned& learned) {
  const auto& bound = learned.bound;
  const char* const name = "Bound on the remainder in a loop";
  const char* const caption =
      "d̄: a new run of the family that was driven to calibrate keeps |e|_A, all that the law's error equation does not say, "
      "below "
      "it, with this confidence.";
  if (!bound) return sentences(name, caption, {kNoBound});
  Json out = figure(name, caption), rows = Json::array();
  const auto row = [&](const char* label, const std::string& cell) { rows.push_back({{"label", label}, {"cells", {cell}}}); };
  row("bound, N/√kg", number(bound->most));
  row("confidence", number(bound->confidence));
  row("runs", fmt::format("{}", bound->runs));
  row("largest remainder of these runs, N/√kg", number(learned.largest_remainder, "not told"));
  row("settling that is not judged, s", number(bound->after));
  out["table"] = {{"columns", {""}}, {"rows", rows}};
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

Json facts_of(const LearnResult& r, const Worth& worth) {
  const Provenance& from = r.learned.from;
  Json out = {{"Model", r.learned.model},
              {"Samples fitted", fmt::format("{}", from.samples)},
              {"Training runs", joined(from.training)},
              {"Strengths chosen on", joined(from.held_out)},
              {"Judged on", joined(worth.judges)},
              {"Data", fmt::format("{:016x}", from.data)}};
  if (from.window > 0) out["Accelerations"] = fmt::format("differences over {} samples", from.window);
  return out;
}

}  // namespace

std::string learn_page_data(const LearnResult& r, const Worth& worth, const std::string& title) {
  Json figures = Json::array();
  if (!worth.contenders.empty()) figures.push_back(errors_figure(worth));
  if (!r.learned.undetermined.empty())
    figures.push_back(sentences("What the data do not determine", "These directions of the coefficients stay nominal.",
                                r.learned.undetermined));
  figures.push_back(bound_figure(r.learned));
  figures.push_back(coefficients_figure(r));
  std::vector<std::string> notes = r.learned.notes;
  if (worth.held_out_judged)
    notes.push_back(
        "The runs that judge are those on which strengths were chosen: errors are a little too good. Name runs with judges = "
        "true.");
  if (worth.interrupted || r.interrupted) notes.push_back("Interrupted: this is what was complete.");
  const bool unworthy = worth.contenders.size() > 1 && !pays(worth);
  const bool doubt = !r.learned.learned || unworthy || worth.interrupted || r.interrupted;
  const Json study = {{"level", doubt ? "doubt" : "held"},
                      {"text", r.learned.learned ? advice(worth) : kNothingLearned},
                      {"facts", facts_of(r, worth)},
                      {"notes", notes}};
  const Json run = {{"name", title}, {"result", nullptr}, {"complete", true}, {"study", study}, {"figures", figures}};
  return Json({{"format", 1}, {"title", title}, {"live", false}, {"runs", Json::array({run})}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<void> write_learn_page(const LearnResult& result, const Worth& worth, const std::string& title, const std::string& path) {
  if (viewer_page().empty())
    return fail(ErrorKind::File, "this program was built without the viewer; see docs/dependencies.md", path);
  return write_text(path, page_with(viewer_page(), learn_page_data(result, worth, title)));
}

}  // namespace invar
