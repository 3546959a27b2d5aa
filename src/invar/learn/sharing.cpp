// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/sharing.hpp"

#include <algorithm>

#include "invar/mech/passive.hpp"

namespace invar {
namespace {

// The class of this name; a new one where there is none yet.
int class_named(std::vector<std::string>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

// What is like none of the others keeps its name.
std::string shared_name(const std::string& name, Sharing sharing, const std::string& all, const std::vector<std::string>& names) {
  if (sharing != Sharing::Alike) return sharing == Sharing::All ? all : name;
  const std::string root = stem(name);
  return std::count_if(names.begin(), names.end(), [&](const std::string& n) { return stem(n) == root; }) > 1 ? root : name;
}

}  // namespace

std::string stem(const std::string& name) {
  const std::size_t letters = name.find_last_not_of("0123456789");
  if (letters == std::string::npos) return name;
  const std::size_t end = name.find_last_not_of("_-. ", letters);
  return letters + 1 == name.size() || end == std::string::npos ? name : name.substr(0, end + 1);
}

Classes classes_of(const std::vector<std::string>& names, Sharing sharing, const std::string& all) {
  Classes out;
  for (const std::string& name : names) out.of.push_back(class_named(out.names, shared_name(name, sharing, all, names)));
  return out;
}

FreedomClasses freedom_classes(const Model& model, const std::vector<int>& joints, Sharing sharing) {
  FreedomClasses out;
  std::vector<std::string> names;
  for (const int j : joints) names.push_back(model.joints()[static_cast<std::size_t>(j)].name);
  for (const int j : joints) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv; ++k) {
      const bool angle = joint.turns(k), ball = k >= ball_start(joint);
      std::string name = shared_name(joint.name, sharing, angle ? "all turns" : "all shifts", names);
      if (sharing == Sharing::Each)
        name = freedom_name(joint, k);
      else if (sharing == Sharing::Alike && joint.nv > 1 && !(ball && ball_start(joint) == 0))
        name.append(".").append(std::to_string(ball ? ball_start(joint) : k));
      const int column = class_named(out.names, name);
      if (column == static_cast<int>(out.turns.size())) out.turns.push_back(angle);
      out.freedoms.push_back({j, k, column});
    }
  }
  return out;
}

}  // namespace invar
