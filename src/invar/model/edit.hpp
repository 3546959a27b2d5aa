// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <variant>

#include "invar/base/error.hpp"
#include "invar/model/spec.hpp"

namespace invar {

/// Typed edits of a mechanism. Items are found by name; poses and inertias are SI, in the frames of the spec.

/// The body's own mass properties; payloads that are attached to it stay.
struct SetInertia {
  std::string body;
  Inertia inertia;
};
/// Fixes a tool or load to a body, remembered by its name.
struct Attach {
  std::string name;
  std::string body;
  Inertia inertia;  ///< in the body's frame and axes
  std::vector<ShapeSpec> shapes = {};
};
/// Takes it off again: the body has the bits that it would have without it.
struct Detach {
  std::string name;
};
/// Moves F on the parent or M on the child, or both: link lengths, assembly errors.
struct SetJointFrame {
  std::string joint;
  std::optional<Pose> at_parent, at_child;
};
/// Another polynomial for a coupling.
struct SetMap {
  std::string coupling;
  std::vector<double> coefficients;
  bool from_here = false;  ///< the offset becomes what the present positions ask for (who knows no state takes the one given)
};
/// Moves a named frame; with `body` also to another body, and then a frame that does not exist is made.
struct SetTool {
  std::string frame;
  Pose at;
  std::string body;  ///< empty: where it is
};
/// Holds a joint: where it stands (who knows no state: where [initial] has it), or at given coordinates.
struct Lock {
  std::string joint;
  std::optional<std::vector<double>> at;
};
struct Unlock {
  std::string joint;
};
/// A new body that hangs on the mechanism by a new joint; `q`, `v` say how, empty: zero.
struct AddBody {
  BodySpec body;
  JointSpec joint;
  std::vector<double> q, v;
};
/// Takes a body away, and with it its joints, frames and payloads. Couplings of these joints and tendons over it stand in the way
/// unless they go too (`whole`).
struct RemoveBody {
  std::string body;
  bool whole = false;
};
/// Adds a joint between bodies that exist. In a running simulation its frames must be as near as `within`.
struct CloseLoop {
  JointSpec joint;
  double within = 0;  ///< m or rad; 0: a thousandth of the model's length
};
/// Takes a joint away; couplings of it stand in the way unless they go too (`whole`).
struct CutLoop {
  std::string joint;
  bool whole = false;
};

/// Other passive parts of a joint, one number per freedom; what is not named stays.
struct SetPassive {
  std::string joint;
  std::optional<std::vector<double>> stiffness, rest, damping, friction;
  std::optional<double> friction_velocity;
};

using Edit = std::variant<SetInertia, Attach, Detach, SetJointFrame, SetMap, SetTool, Lock, Unlock, AddBody, RemoveBody,
                          CloseLoop, CutLoop, SetPassive>;

/// The word of scenario files ("set_inertia"), all of them in the order of Edit, and a clause: "attach 'gripper' to 'hand'".
const char* name(const Edit& edit);
const std::vector<std::string>& edit_names();
std::string words(const Edit& edit);

/// What edits changed, as indices in the model afterwards, each once and in rising order.
struct Change {
  bool structure = false;            ///< there is a new Model: sizes or the graph may differ
  std::vector<int> bodies;           ///< other inertia, or new
  std::vector<int> joints;           ///< other frames, locked, unlocked, or new
  std::vector<int> couplings;        ///< other polynomials
  std::vector<int> frames;           ///< moved, or new
  std::vector<int> tendons;          ///< with points on such frames
  std::vector<std::string> removed;  ///< names of bodies, joints, frames, couplings, tendons, payloads that are gone

  void clear();
};

/// What can be restored after an edit of values was refused; see edit_spec.
class UndoList;

/// Carries an edit out on a spec, or refuses it with a sentence (the spec may then be half edited where the edit is one of
/// structure; edits of values are undone by `undo`). `change` grows by what was touched. Whether the result makes a mechanism is
/// Model::build's affair.
Result<void> edit_spec(ModelSpec& spec, const Edit& edit, Change& change, UndoList* undo = nullptr);

/// Whether an edit changes numbers only: no size, no name, no edge of the graph.
bool is_value_edit(const ModelSpec& spec, const Edit& edit);

/// The spec after all edits, in their order; where one is refused nothing of it is left.
Result<ModelSpec> edited(const ModelSpec& spec, std::span<const Edit> edits);

}  // namespace invar
