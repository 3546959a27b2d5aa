// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "invar/report/figures.hpp"
#include "invar/report/json_text.hpp"

namespace invar {

using Json = nlohmann::ordered_json;

// Words of their own for nlohmann::json, which looks for them here.
static void to_json(Json& out, const CurveSpec::Term& t) { out = {{"path", t.path}, {"factor", t.factor}}; }
static void from_json(const Json& in, CurveSpec::Term& t) { in.at("path").get_to(t.path), in.at("factor").get_to(t.factor); }

static void to_json(Json& out, const CurveSpec& c) {
  out = {
      {"terms", c.terms}, {"value", static_cast<int>(c.value)}, {"offset", c.offset}, {"label", c.label}, {"dashed", c.dashed}};
}
static void from_json(const Json& in, CurveSpec& c) {
  in.at("terms").get_to(c.terms), in.at("offset").get_to(c.offset);
  in.at("label").get_to(c.label), in.at("dashed").get_to(c.dashed);
  const auto value = in.at("value").get<double>();  // of any size
  if (value >= 0 && value < static_cast<double>(std::size(kCurveValues)))
    c.value = static_cast<CurveSpec::Value>(static_cast<int>(value));
}

static void to_json(Json& out, const PanelSpec& p) {
  out = {{"title", p.title}, {"y", p.y}, {"log", p.log}, {"convergence", p.convergence}, {"curves", p.curves}};
}
static void from_json(const Json& in, PanelSpec& p) {
  in.at("title").get_to(p.title), in.at("y").get_to(p.y), in.at("log").get_to(p.log);
  in.at("convergence").get_to(p.convergence), in.at("curves").get_to(p.curves);
}

static void to_json(Json& out, const TableSpec::Row& r) {
  out = {{"label", r.label}, {"metrics", r.metrics}, {"values", r.values}};
}
static void from_json(const Json& in, TableSpec::Row& r) {
  in.at("label").get_to(r.label), in.at("metrics").get_to(r.metrics), in.at("values").get_to(r.values);
}

Json figures_json(const std::vector<FigureSpec>& figures) {
  Json out = Json::array();
  for (const FigureSpec& f : figures) {
    Json entry = {{"name", f.name}, {"caption", f.caption}, {"panels", f.panels}};
    if (f.table) entry["table"] = {{"columns", f.table->columns}, {"rows", f.table->rows}};
    if (f.trace) {
      entry["trace"] = {{"poses", f.trace->poses}, {"bodies", f.trace->bodies}};
      if (f.trace->from) entry["trace"]["from"] = {f.trace->from->x(), f.trace->from->y(), f.trace->from->z()};
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<FigureSpec> figures_of(const std::string& scene) {
  std::vector<FigureSpec> out;
  const Json all = object_of(scene);
  if (!all.is_object() || !all.contains("figures")) return out;
  for (const Json& in : all["figures"]) try {
      FigureSpec f;
      in.at("name").get_to(f.name), in.at("caption").get_to(f.caption), in.at("panels").get_to(f.panels);
      if (in.contains("table")) f.table = TableSpec{in["table"].at("columns"), in["table"].at("rows")};
      if (in.contains("trace")) {
        const Json& trace = in["trace"];
        f.trace = TraceSpec{static_cast<int>(std::clamp(trace.at("poses").get<double>(), 1.0, static_cast<double>(kMostPoses))),
                            trace.at("bodies"),
                            {}};
        if (trace.contains("from")) f.trace->from = Vec3(trace["from"].at(0), trace["from"].at(1), trace["from"].at(2));
      }
      out.push_back(std::move(f));
    } catch (const Json::exception&) {
      continue;  // a foreign or damaged entry costs itself only
    }
  return out;
}

}  // namespace invar
