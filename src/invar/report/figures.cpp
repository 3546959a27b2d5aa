// SPDX-License-Identifier: Apache-2.0
#include "invar/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "invar/report/packed.hpp"
#include "invar/report/picture.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

// The numbers of a curve from those of its terms.
int size_of(const CurveSpec& curve, int terms) {
  const bool whole = curve.value == CurveSpec::Value::Length || curve.value == CurveSpec::Value::Square;
  return whole ? 1 : terms;
}

// One curve, sample by sample.
class Sum {
 public:
  Sum(const CurveSpec& curve, const Layout& layout) : curve_(curve) {
    for (const CurveSpec::Term& term : curve.terms) {
      std::size_t at = 0;
      for (const Channel& c : layout.channels) {
        if (c.path == term.path) {
          offsets_.push_back(at), size_ = static_cast<std::size_t>(c.size);
          break;
        }
        at += static_cast<std::size_t>(c.size);
      }
    }
  }

  int size() const { return static_cast<int>(size_); }

  void operator()(std::span<const double> row, std::span<double> out) {
    std::vector<double> x(size_, 0.0);
    for (std::size_t k = 0; k < offsets_.size(); ++k)
      for (std::size_t i = 0; i < size_; ++i) x[i] += curve_.terms[k].factor * row[offsets_[k] + i];
    if (first_.empty()) first_ = x;
    double square = 0;
    for (const double number : x) square += number * number;
    switch (curve_.value) {
      case CurveSpec::Value::Components: std::copy(x.begin(), x.end(), out.begin()); break;
      case CurveSpec::Value::Change:
        for (std::size_t i = 0; i < size_; ++i) out[i] = x[i] - first_[i];
        break;
      case CurveSpec::Value::Square: out[0] = square; break;
      case CurveSpec::Value::Length: out[0] = std::sqrt(square); break;
    }
    for (double& number : out) number += curve_.offset;
  }

 private:
  CurveSpec curve_;
  std::vector<std::size_t> offsets_;
  std::size_t size_ = 0;
  std::vector<double> first_;
};

std::string label_of(const CurveSpec& curve, int component, int size) {
  const std::string name = curve.label.empty() && size == 1 ? curve.terms[0].path : curve.label;
  if (size == 1) return name;
  static const char* const kParts[] = {"x", "y", "z"};
  const std::string part =
      size == 3 ? kParts[component] : (size == 4 ? std::string(1, "wxyz"[component]) : fmt::format("{}", component + 1));
  return name.empty() ? part : name + " " + part;
}

Json curve_json(const std::string& label, bool dashed, const std::vector<double>& x, const std::vector<double>& y) {
  return {{"label", label}, {"dashed", dashed}, {"x", packed_json(x)}, {"y", packed_json(y)}};
}

// Parts of result.json, which anybody may have written: null, nothing or NaN where it is something else.
Json part(const Json& json, const std::string& key) { return json.is_object() && json.contains(key) ? json[key] : Json(nullptr); }
std::string text(const Json& json) { return json.is_string() ? json.get<std::string>() : std::string(); }
double number(const Json& json) { return json.is_number() ? json.get<double>() : std::nan(""); }
std::vector<double> numbers(const Json& json) {
  std::vector<double> out;
  if (json.is_array())
    for (const Json& x : json) out.push_back(number(x));
  return out;
}

// What was found, over its steps, on logarithmic axes.
Json convergence_json(const PanelSpec& panel, const Json& result) {
  Json out = {{"title", panel.title}, {"x", "step [s]"}, {"y", panel.y},           {"log_x", true},
              {"log_y", true},        {"time", false},   {"curves", Json::array()}};
  const Json all = part(result, "convergence");
  if (!all.is_array()) return out;
  for (const Json& series : all) {
    if (text(part(series, "name")) != panel.convergence) continue;
    const std::vector<double> x = numbers(part(series, "steps")), y = numbers(part(series, "values"));
    if (x.size() == y.size()) out["curves"].push_back(curve_json(text(part(series, "metric")), false, x, y));
  }
  return out;
}

Json table_json(const TableSpec& table, const Json& result) {
  Json out = {{"columns", table.columns}, {"rows", Json::array()}};
  const Json metrics = part(result, "metrics"), units = part(result, "units");
  for (const TableSpec::Row& row : table.rows) {
    Json cells = Json::array();
    for (const std::string& metric : row.metrics) {
      const double value = number(part(metrics, metric));
      std::string unit = text(part(units, metric));
      if (unit == "1") unit.clear();
      cells.push_back(std::isnan(value) ? "–" : fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit));
    }
    for (const double value : row.values) cells.push_back(fmt::format("{:g}", value));
    out["rows"].push_back({{"label", row.label}, {"cells", std::move(cells)}});
  }
  return out;
}

// Null where it cannot be drawn: a recording without poses.
Json trace_json(const FigureSpec& figure, const std::string& directory) {
  PictureOptions look;
  look.strip = figure.trace->poses, look.traces = figure.trace->bodies, look.from = figure.trace->from;
  const auto png = picture_png(directory, look);
  if (!png) return nullptr;
  return {{"png", "data:image/png;base64," + base64(*png)},
          {"alt", fmt::format("{} poses of the mechanism, later ones stronger. {}", look.strip, figure.caption)},
          {"width", look.width},
          {"height", look.height}};
}

}  // namespace

Figures::Figures(const LogReader& log) {
  for (FigureSpec& figure : figures_of(log.layout().scene)) {
    for (PanelSpec& panel : figure.panels) {
      std::erase_if(panel.curves, [&](const CurveSpec& c) { return !flaw(c, log.layout().channels).empty(); });
      for (const CurveSpec& curve : panel.curves) {
        Sum sum(curve, log.layout());
        const Channel channel{fmt::format("figures/{}", curves_.size()), {}, {}, size_of(curve, sum.size())};
        curves_.push_back({channel, std::move(sum)});
      }
    }
    figures_.push_back(std::move(figure));
  }
}

Json Figures::json(const Decimated& data, const Json& result, const std::string& directory) const {
  Json out = Json::array();
  std::size_t next = data.channels.size() - curves_.size();
  for (const FigureSpec& figure : figures_) {
    Json entry = {
        {"name", figure.name}, {"caption", figure.caption}, {"panels", Json::array()}, {"table", nullptr}, {"image", nullptr}};
    for (const PanelSpec& panel : figure.panels) {
      if (!panel.convergence.empty()) {
        entry["panels"].push_back(convergence_json(panel, result));
        continue;
      }
      Json curves = Json::array();
      for (const CurveSpec& curve : panel.curves) {
        const Series& series = data.channels[next];
        const int size = data.layout.channels[++next].size;
        for (int k = 0; k < size; ++k) {
          std::vector<double> y;
          for (auto i = static_cast<std::size_t>(k); i < series.y.size(); i += static_cast<std::size_t>(size))
            y.push_back(series.y[i]);
          curves.push_back(curve_json(label_of(curve, k, size), curve.dashed, series.t, y));
        }
      }
      entry["panels"].push_back({{"title", panel.title},
                                 {"x", "t [s]"},
                                 {"y", panel.y},
                                 {"log_x", false},
                                 {"log_y", panel.log},
                                 {"time", true},
                                 {"curves", std::move(curves)}});
    }
    if (figure.table) entry["table"] = table_json(*figure.table, result);
    if (figure.trace) entry["image"] = trace_json(figure, directory);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace invar
