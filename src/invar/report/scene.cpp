// SPDX-License-Identifier: Apache-2.0
#include "invar/report/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "invar/io/mesh_file.hpp"
#include "invar/report/figures.hpp"
#include "invar/report/packed.hpp"
#include "invar/run/sink.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

Json list(const Vec3& v) { return {v.x(), v.y(), v.z()}; }
Json list(const Quat& q) { return {q.w(), q.x(), q.y(), q.z()}; }
Json pose(const Pose& X) { return {{"p", list(X.p)}, {"q", list(X.q)}}; }
Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json shape_json(const ShapeSpec& s) {
  static const char* const kKinds[] = {"box", "cylinder", "capsule", "sphere", "mesh"};
  Json out = {{"kind", kKinds[static_cast<int>(s.kind)]}, {"p", list(s.at.p)}, {"q", list(s.at.q)}};
  switch (s.kind) {
    case ShapeSpec::Kind::Box: out["size"] = list(s.size); break;
    case ShapeSpec::Kind::Cylinder:
    case ShapeSpec::Kind::Capsule: out["length"] = s.length, out["axis"] = s.axis; [[fallthrough]];
    case ShapeSpec::Kind::Sphere: out["radius"] = s.radius; break;
    case ShapeSpec::Kind::Mesh: break;  // its triangles are in a file
  }
  return out;
}

// Bodies of all models that a run passes through, each once; indices are those of the list.
class Scene {
 public:
  Scene(std::filesystem::path folder, std::vector<std::string>* warnings) : folder_(std::move(folder)), warnings_(warnings) {}

  void add(const Model& model) {
    for (const Body& b : model.bodies()) {
      if (!bodies_.emplace(b.name, static_cast<int>(bodies_.size())).second) continue;
      Json body = {{"name", b.name}, {"mass", b.inertia.mass}, {"com", list(b.inertia.p_BC)}, {"shapes", Json::array()}};
      for (const ShapeSpec& s : b.shapes) add_shape(s, body);
      out_["bodies"].push_back(std::move(body));
    }
    for (const Joint& j : model.joints())
      if (joints_.insert(j.name).second)
        out_["joints"].push_back({{"name", j.name},
                                  {"kind", name(j.spec_kind)},
                                  {"parent", index(model, j.parent)},
                                  {"child", index(model, j.child)},
                                  {"at_parent", pose(j.X_PF)},
                                  {"at_child", pose(j.X_CM)}});
    for (const Frame& f : model.frames())
      if (frames_.insert(f.name).second)
        out_["frames"].push_back(
            {{"name", f.name}, {"body", index(model, f.body)}, {"p", list(f.X_BE.p)}, {"q", list(f.X_BE.q)}});
    for (const Tendon& t : model.tendons()) {
      if (!tendons_.insert(t.name).second) continue;
      Json points = Json::array();
      for (const Tendon::Point& p : t.points) points.push_back({{"body", index(model, p.body)}, {"p", list(p.p_BP)}});
      out_["tendons"].push_back({{"name", t.name}, {"points", points}});
    }
  }

  /// Mass and centre of mass of bodies that have others from `t` on.
  void weigh(const Model& model, double t) {
    for (const Body& b : model.bodies()) {
      Json& body = body_json(b.name);
      const Json& last = body.contains("weighed") ? body["weighed"].back() : body;
      const Json com = list(b.inertia.p_BC);
      if (last["mass"] == b.inertia.mass && last["com"] == com) continue;
      body["weighed"].push_back({{"from", t}, {"mass", b.inertia.mass}, {"com", com}});
    }
  }

  /// Shapes of what is attached from `t` on, and the end of what is not any more. A load that was exchanged for one of its name
  /// with other shapes ends, and begins. The first call is for the start.
  void attach(const ModelSpec& spec, double t, bool first) {
    std::set<Load> now;
    for (const PayloadSpec& p : spec.payloads)
      if (bodies_.count(p.body)) now.insert({p.name, p.body, look_of(p)});
    for (auto there = attached_.begin(); there != attached_.end();) {
      const bool stays = now.count(there->first) != 0;
      for (const std::size_t k : there->second)
        if (!stays) body_json(there->first.body)["shapes"][k]["until"] = t;
      there = stays ? std::next(there) : attached_.erase(there);
    }
    for (const PayloadSpec& p : spec.payloads) {
      if (!bodies_.count(p.body) || attached_.count({p.name, p.body, look_of(p)})) continue;
      Json& body = body_json(p.body);
      std::vector<std::size_t>& places = attached_[{p.name, p.body, look_of(p)}];
      for (const ShapeSpec& s : p.shapes) {
        if (!add_shape(s, body)) continue;
        Json& shape = body["shapes"].back();
        shape["payload"] = p.name;
        if (!first) shape["from"] = t;
        places.push_back(body["shapes"].size() - 1);
      }
    }
  }

  void add(const ControllerSpec& controller) {
    for (const ActuatorSpec& a : controller.actuators)
      if (std::isfinite(a.lower) || std::isfinite(a.upper))
        out_["limits"].push_back({{"path", "control/" + escaped(controller.name) + "/" + escaped("input_" + name_of(a))},
                                  {"lower", finite(a.lower)},
                                  {"upper", finite(a.upper)}});
    static const char* const kKinds[] = {"sphere", "capsule", "half_space"};
    const auto law = controller.law(*controller.nominal);
    for (const Obstacle& o : law->obstacles())
      out_["obstacles"].push_back({{"kind", kKinds[static_cast<int>(o.kind)]},
                                   {"a", list(o.a)},
                                   {"b", list(o.b)},
                                   {"normal", list(o.normal)},
                                   {"radius", o.radius}});
    // Where readings belong: a nominal body is one of the plant by name.
    for (const Mark& mark : law->marks()) {
      const auto body = bodies_.find(controller.nominal->body_name(mark.body));
      if (body == bodies_.end()) continue;
      Json place = pose(mark.X_BE);
      place["path"] = "control/" + escaped(controller.name) + "/" + escaped(mark.readings);
      place["body"] = body->second;
      out_[mark.readings == "stiffness" ? "ellipsoids" : "tasks"].push_back(std::move(place));
    }
  }

  std::string text(const Model& model, const std::vector<FigureSpec>& figures) {
    out_["figures"] = figures_json(figures);
    out_["length"] = model.length();
    out_["gravity"] = list(model.gravity());
    return out_.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  /// Something attached: its name, the body that carries it, and how it looks.
  struct Load {
    std::string name, body, look;
    auto operator<=>(const Load&) const = default;
  };

  static std::string look_of(const PayloadSpec& p) {
    Json all = Json::array();
    for (const ShapeSpec& s : p.shapes) {
      all.push_back(shape_json(s));
      all.back()["file"] = s.file;
    }
    return all.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Json& body_json(const std::string& name) { return out_["bodies"][static_cast<std::size_t>(bodies_.at(name))]; }

  bool add_shape(const ShapeSpec& s, Json& body) {
    Json shape = shape_json(s);
    if (s.kind == ShapeSpec::Kind::Mesh && !add_mesh(s.file, shape)) return false;
    body["shapes"].push_back(std::move(shape));
    return true;
  }

  bool add_mesh(const std::string& file, Json& shape) {
    Result<Mesh> mesh = read_mesh_file((folder_ / file).string());
    if (mesh && triangles_ + mesh->triangles.size() / 3 > kMostTriangles)
      mesh = fail(ErrorKind::File, fmt::format("is not drawn: all meshes together have more than {} triangles", kMostTriangles),
                  file);
    if (!mesh && warnings_ != nullptr) warnings_->push_back(mesh.error().text());
    if (!mesh) return false;
    triangles_ += mesh->triangles.size() / 3;
    shape["vertices"] = packed_json(mesh->vertices);
    shape["triangles"] = mesh->triangles;
    return true;
  }

  int index(const Model& model, int body) const { return body == kWorld ? -1 : bodies_.at(model.body_name(body)); }

  Json out_ = {{"bodies", Json::array()},    {"joints", Json::array()}, {"frames", Json::array()}, {"tendons", Json::array()},
               {"obstacles", Json::array()}, {"limits", Json::array()}, {"tasks", Json::array()},  {"ellipsoids", Json::array()}};
  std::filesystem::path folder_;  // of meshes
  std::vector<std::string>* warnings_;
  std::size_t triangles_ = 0;  // of all meshes
  std::map<std::string, int> bodies_;
  std::map<Load, std::vector<std::size_t>> attached_;  // places of its shapes among those of the body
  std::set<std::string> joints_, frames_, tendons_;
};

}  // namespace

std::string scene_json(const Scenario& scenario, std::vector<std::string>* warnings) {
  Scene scene(std::filesystem::path(scenario.model_path).parent_path(), warnings);
  scene.add(*scenario.model);
  if (scenario.spec) scene.attach(*scenario.spec, scenario.start_time, true);
  if (const auto models = models_of(scenario)) {
    ModelSpec spec = scenario.spec ? *scenario.spec : ModelSpec{};
    for (std::size_t k = 0; k < scenario.edits.size(); ++k) {
      const EditEvent& event = scenario.edits[k];
      scene.add(*(*models)[k + 1]);
      scene.weigh(*(*models)[k + 1], event.at);
      if (auto next = edited(spec, event.edits)) spec = std::move(*next);
      scene.attach(spec, event.at, false);
    }
  }
  for (const ControllerSpec& controller : scenario.controllers) scene.add(controller);
  return scene.text(*scenario.model, scenario.figures);
}

}  // namespace invar
