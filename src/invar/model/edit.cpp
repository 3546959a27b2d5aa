// SPDX-License-Identifier: Apache-2.0
#include "invar/model/edit.hpp"

#include <algorithm>
#include <cmath>

#include "invar/model/coordinates.hpp"
#include "invar/model/joint/table.hpp"
#include "invar/model/live_model.hpp"
#include "invar/model/model_check.hpp"

// Each edit is carried out by one function of Editor.
namespace invar {
namespace {

using Sort = UndoList::Entry::Sort;

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> sentence, Args&&... args) {
  return fail(ErrorKind::Model, fmt::format(sentence, std::forward<Args>(args)...));
}

template <class Items>
Result<std::size_t> find(const Items& items, const std::string& name, const char* what) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].name == name) return i;
  return fail(ErrorKind::Model, there_is_no(what, name, names_of(items)));
}

template <class Items>
bool exists(const Items& items, const std::string& name) {
  return std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
}

// Keeps a list of indices rising and without repetition.
void touch(std::vector<int>& list, std::size_t index) {
  const int i = static_cast<int>(index);
  const auto at = std::lower_bound(list.begin(), list.end(), i);
  if (at == list.end() || *at != i) list.insert(at, i);
}

// An item is gone: the indices behind it move up.
template <class Item>
void take_away(std::vector<Item>& items, std::size_t index, std::vector<int>* touched, Change& change) {
  change.removed.push_back(items[index].name);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
  if (!touched) return;
  std::erase(*touched, static_cast<int>(index));
  for (int& i : *touched) i -= i > static_cast<int>(index) ? 1 : 0;
}

class Editor {
 public:
  Editor(ModelSpec& spec, Change& change, UndoList* undo) : s_(spec), change_(change), undo_(undo) {}

  Result<void> operator()(const SetInertia& e) {
    const auto b = find(s_.bodies, e.body, "body");
    if (!b) return tl::unexpected(b.error());
    if (const std::string wrong = flaw(e.inertia); !wrong.empty()) return refuse("body '{}': {}", e.body, wrong);
    if (undo_) undo_->add(Sort::Inertia, *b).inertia = s_.bodies[*b].inertia;
    s_.bodies[*b].inertia = e.inertia;
    touch(change_.bodies, *b);
    return {};
  }

  Result<void> operator()(const Attach& e) {
    const auto b = find(s_.bodies, e.body, "body");
    if (!b) return tl::unexpected(b.error());
    if (e.name.empty()) return refuse("what is attached to body '{}' has no name", e.body);
    if (const std::string wrong = flaw(e.inertia); !wrong.empty()) return refuse("payload '{}': {}", e.name, wrong);
    for (const PayloadSpec& p : s_.payloads)
      if (p.name == e.name)
        return refuse("'{}' is attached to body '{}' already; detach it first, or give this one another name", e.name, p.body);
    if (const std::string wrong = flaw(e.shapes); !wrong.empty()) return refuse("payload '{}': {}", e.name, wrong);
    s_.payloads.push_back({e.name, e.body, e.inertia, {}, e.shapes});
    if (undo_) undo_->add(Sort::Attached, s_.payloads.size() - 1);
    touch(change_.bodies, *b);
    return {};
  }

  Result<void> operator()(const Detach& e) {
    const auto p = find(s_.payloads, e.name, "payload");
    if (!p) return tl::unexpected(p.error());
    const auto b = find(s_.bodies, s_.payloads[*p].body, "body");
    if (!b) return tl::unexpected(b.error());
    if (undo_) undo_->add(Sort::Detached, *p).payload = std::move(s_.payloads[*p]);
    s_.payloads.erase(s_.payloads.begin() + static_cast<std::ptrdiff_t>(*p));
    touch(change_.bodies, *b);
    return {};
  }

  Result<void> operator()(const SetJointFrame& e) {
    const auto j = find(s_.joints, e.joint, "joint");
    if (!j) return tl::unexpected(j.error());
    if (!e.at_parent && !e.at_child) return refuse("joint '{}': name at_parent, at_child or both", e.joint);
    for (const auto& [pose, field] : {std::pair(&e.at_parent, "at_parent"), std::pair(&e.at_child, "at_child")})
      if (*pose && !is_pose(**pose))
        return refuse("joint '{}': {} is not a pose (finite position, unit quaternion)", e.joint, field);
    JointSpec& joint = s_.joints[*j];
    if (undo_) {
      UndoList::Entry& old = undo_->add(Sort::JointFrames, *j);
      old.a = joint.at_parent, old.b = joint.at_child;
    }
    if (e.at_parent) joint.at_parent = *e.at_parent;
    if (e.at_child) joint.at_child = *e.at_child;
    touch(change_.joints, *j);
    return {};
  }

  Result<void> operator()(const SetMap& e) {
    const auto c = find(s_.couplings, e.coupling, "coupling");
    if (!c) return tl::unexpected(c.error());
    if (e.coefficients.empty()) return refuse("coupling '{}' needs at least one polynomial coefficient", e.coupling);
    for (const double x : e.coefficients)
      if (!std::isfinite(x)) return refuse("coupling '{}': a coefficient is not a finite number", e.coupling);
    if (undo_) undo_->add(Sort::Map, *c).coefficients = s_.couplings[*c].coefficients;
    s_.couplings[*c].coefficients = e.coefficients;
    touch(change_.couplings, *c);
    return {};
  }

  Result<void> operator()(const SetTool& e) {
    if (!is_pose(e.at)) return refuse("frame '{}': at is not a pose (finite position, unit quaternion)", e.frame);
    if (!e.body.empty() && e.body != "world")
      if (const auto b = find(s_.bodies, e.body, "body"); !b) return tl::unexpected(b.error());
    if (!e.body.empty() && !exists(s_.frames, e.frame)) s_.frames.push_back({e.frame, e.body, e.at, {}});
    const auto f = find(s_.frames, e.frame, "frame");
    if (!f) return tl::unexpected(f.error());
    FrameSpec& frame = s_.frames[*f];
    if (undo_) undo_->add(Sort::Tool, *f).a = frame.at;
    frame.at = e.at;
    if (!e.body.empty()) frame.body = e.body;
    touch(change_.frames, *f);
    for (std::size_t t = 0; t < s_.tendons.size(); ++t)
      for (const PointSpec& p : s_.tendons[t].points)
        if (p.frame == e.frame) touch(change_.tendons, t);
    return {};
  }

  // [initial] may only repeat where a locked joint is held, and says where an unlocked one starts.
  Result<void> operator()(const Lock& e) {
    const auto j = find(s_.joints, e.joint, "joint");
    if (!j) return tl::unexpected(j.error());
    JointSpec& joint = s_.joints[*j];
    if (freedoms(joint.kind) == 0)
      return refuse("{} joint '{}' has no freedom: there is nothing to lock", name(joint.kind), e.joint);
    if (joint.locked) return refuse("joint '{}' is locked already", e.joint);
    for (const CouplingSpec& c : s_.couplings)
      if (c.joint == e.joint || c.of == e.joint)
        return refuse("joint '{}' cannot be locked: coupling '{}' drives or is driven by it", e.joint, c.name);
    const auto start = s_.initial.find(e.joint);
    joint.locked = true;
    joint.locked_at = e.at ? *e.at : (start == s_.initial.end() ? std::vector<double>{} : start->second);
    if (const auto q = coordinates_from(joint.kind, joint.name, joint.locked_at, joint.where, "locked_at"); !q)
      return tl::unexpected(q.error());
    s_.initial.erase(e.joint);
    touch(change_.joints, *j);
    return {};
  }

  Result<void> operator()(const Unlock& e) {
    const auto j = find(s_.joints, e.joint, "joint");
    if (!j) return tl::unexpected(j.error());
    JointSpec& joint = s_.joints[*j];
    if (!joint.locked) return refuse("joint '{}' is not locked", e.joint);
    if (!joint.locked_at.empty()) s_.initial[e.joint] = joint.locked_at;
    joint.locked = false;
    joint.locked_at.clear();
    touch(change_.joints, *j);
    return {};
  }

  Result<void> operator()(const AddBody& e) {
    if (e.joint.child != e.body.name && e.joint.parent != e.body.name)
      return refuse("joint '{}' does not hold the new body '{}'", e.joint.name, e.body.name);
    if (exists(s_.bodies, e.body.name)) return refuse("there is a body '{}' already", e.body.name);
    s_.bodies.push_back(e.body);
    touch(change_.bodies, s_.bodies.size() - 1);
    if (auto added = add_joint(e.joint); !added) return added;
    const auto v_size = static_cast<std::size_t>(e.joint.locked ? 0 : freedoms(e.joint.kind));
    if (!e.v.empty() && e.v.size() != v_size)
      return refuse("joint '{}': v has {} numbers, expected {}", e.joint.name, e.v.size(), v_size);
    if (const auto q = coordinates_from(e.joint.kind, e.joint.name, e.q, e.joint.where, "q"); !q)
      return tl::unexpected(q.error());
    if (!e.q.empty() && !e.joint.locked) s_.initial[e.joint.name] = e.q;
    return {};
  }

  Result<void> operator()(const RemoveBody& e) {
    const auto b = find(s_.bodies, e.body, "body");
    if (!b) return tl::unexpected(b.error());
    if (s_.bodies.size() == 1) return refuse("body '{}' is the only one: a mechanism has bodies", e.body);
    const auto on_body = [&](const TendonSpec& t) {
      return std::any_of(t.points.begin(), t.points.end(), [&](const PointSpec& p) {
        if (p.frame.empty()) return p.body == e.body;
        const auto f = find(s_.frames, p.frame, "frame");
        return f && s_.frames[*f].body == e.body;
      });
    };
    for (std::size_t t = s_.tendons.size(); t-- > 0;) {
      if (!on_body(s_.tendons[t])) continue;
      if (!e.whole) return refuse("body '{}' cannot be removed: tendon '{}' runs over it", e.body, s_.tendons[t].name);
      take_away(s_.tendons, t, &change_.tendons, change_);
    }
    for (std::size_t j = s_.joints.size(); j-- > 0;)
      if (s_.joints[j].parent == e.body || s_.joints[j].child == e.body)
        if (auto cut = remove_joint(j, e.whole, "body '" + e.body + "'"); !cut) return cut;
    for (std::size_t f = s_.frames.size(); f-- > 0;)
      if (s_.frames[f].body == e.body) take_away(s_.frames, f, &change_.frames, change_);
    for (std::size_t p = s_.payloads.size(); p-- > 0;)
      if (s_.payloads[p].body == e.body) take_away(s_.payloads, p, nullptr, change_);
    take_away(s_.bodies, *b, &change_.bodies, change_);
    return {};
  }

  Result<void> operator()(const CloseLoop& e) {
    if (!(e.within >= 0) || !std::isfinite(e.within))
      return refuse("joint '{}': 'within' is a distance, it cannot be negative", e.joint.name);
    return add_joint(e.joint);
  }

  Result<void> operator()(const CutLoop& e) {
    const auto j = find(s_.joints, e.joint, "joint");
    if (!j) return tl::unexpected(j.error());
    return remove_joint(*j, e.whole, "joint '" + e.joint + "'");
  }

  // Numbers are checked by Model::build, as those of a file are.
  Result<void> operator()(const SetPassive& e) {
    const auto j = find(s_.joints, e.joint, "joint");
    if (!j) return tl::unexpected(j.error());
    JointSpec& joint = s_.joints[*j];
    if (!e.stiffness && !e.rest && !e.damping && !e.friction && !e.friction_velocity)
      return refuse("joint '{}': name stiffness, rest, damping, friction or friction_velocity", e.joint);
    if (e.stiffness) joint.spring.stiffness = *e.stiffness;
    if (e.rest) joint.spring.rest = *e.rest;
    if (e.damping) joint.damping = *e.damping;
    if (e.friction) joint.friction = *e.friction;
    if (e.friction_velocity) joint.friction_velocity = *e.friction_velocity;
    touch(change_.joints, *j);
    return {};
  }

 private:
  Result<void> add_joint(const JointSpec& joint) {
    if (exists(s_.joints, joint.name)) return refuse("there is a joint '{}' already", joint.name);
    s_.joints.push_back(joint);
    touch(change_.joints, s_.joints.size() - 1);
    return {};
  }

  Result<void> remove_joint(std::size_t j, bool whole, const std::string& what) {
    const std::string name = s_.joints[j].name;
    for (std::size_t c = s_.couplings.size(); c-- > 0;) {
      const CouplingSpec& coupling = s_.couplings[c];
      if (coupling.joint != name && coupling.of != name) continue;
      if (!whole) return refuse("{} cannot be removed: coupling '{}' refers to joint '{}'", what, coupling.name, name);
      take_away(s_.couplings, c, &change_.couplings, change_);
    }
    s_.initial.erase(name);
    take_away(s_.joints, j, &change_.joints, change_);
    return {};
  }

  ModelSpec& s_;
  Change& change_;
  UndoList* undo_;
};

}  // namespace

const std::vector<std::string>& edit_names() {
  static const std::vector<std::string> names = {"set_inertia", "attach", "detach",     "set_joint_frame", "set_map",
                                                 "set_tool",    "lock",   "unlock",     "add_body",        "remove_body",
                                                 "close",       "cut",    "set_passive"};
  return names;
}

const char* name(const Edit& edit) { return edit_names()[edit.index()].c_str(); }

std::string words(const Edit& edit) {
  struct Clause {
    std::string operator()(const SetInertia& e) const { return fmt::format("set inertia of '{}'", e.body); }
    std::string operator()(const Attach& e) const { return fmt::format("attach '{}' to '{}'", e.name, e.body); }
    std::string operator()(const Detach& e) const { return fmt::format("detach '{}'", e.name); }
    std::string operator()(const SetJointFrame& e) const { return fmt::format("move frames of joint '{}'", e.joint); }
    std::string operator()(const SetMap& e) const { return fmt::format("other map of coupling '{}'", e.coupling); }
    std::string operator()(const SetTool& e) const { return fmt::format("move frame '{}'", e.frame); }
    std::string operator()(const Lock& e) const { return fmt::format("lock joint '{}'", e.joint); }
    std::string operator()(const Unlock& e) const { return fmt::format("unlock joint '{}'", e.joint); }
    std::string operator()(const AddBody& e) const { return fmt::format("add body '{}'", e.body.name); }
    std::string operator()(const RemoveBody& e) const { return fmt::format("remove body '{}'", e.body); }
    std::string operator()(const CloseLoop& e) const { return fmt::format("close joint '{}'", e.joint.name); }
    std::string operator()(const CutLoop& e) const { return fmt::format("cut joint '{}'", e.joint); }
    std::string operator()(const SetPassive& e) const { return fmt::format("other passive parts of joint '{}'", e.joint); }
  };
  return std::visit(Clause{}, edit);
}

Result<void> edit_spec(ModelSpec& spec, const Edit& edit, Change& change, UndoList* undo) {
  return std::visit(Editor(spec, change, undo), edit);
}

bool is_value_edit(const ModelSpec& spec, const Edit& edit) {
  if (const auto* tool = std::get_if<SetTool>(&edit)) {
    if (tool->body.empty()) return true;
    return std::any_of(spec.frames.begin(), spec.frames.end(),
                       [&](const FrameSpec& f) { return f.name == tool->frame && f.body == tool->body; });
  }
  return edit.index() < Edit(SetTool{}).index();
}

Result<ModelSpec> edited(const ModelSpec& spec, std::span<const Edit> edits) {
  ModelSpec out = spec;
  Change change;
  for (const Edit& edit : edits)
    if (auto done = edit_spec(out, edit, change); !done) return tl::unexpected(done.error());
  return out;
}

}  // namespace invar
