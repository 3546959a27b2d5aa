// SPDX-License-Identifier: Apache-2.0
#include "invar/model/joint/table.hpp"

#include <array>

#include "invar/model/joint/kind/cylindrical.hpp"
#include "invar/model/joint/kind/fixed.hpp"
#include "invar/model/joint/kind/free.hpp"
#include "invar/model/joint/kind/planar.hpp"
#include "invar/model/joint/kind/prismatic.hpp"
#include "invar/model/joint/kind/revolute.hpp"
#include "invar/model/joint/kind/screw.hpp"
#include "invar/model/joint/kind/spherical.hpp"
#include "invar/model/joint/kind/universal.hpp"

namespace invar {
namespace {

/// In the order of JointKind.
struct Entry {
  Facts (*make)(double pitch);
  bool pitch = false;
};
constexpr Entry kTable[] = {
    {[](double) { return kind::fixed(); }},       {[](double) { return kind::revolute(); }},
    {[](double) { return kind::prismatic(); }},   {[](double pitch) { return kind::screw(pitch); }, true},
    {[](double) { return kind::cylindrical(); }}, {[](double) { return kind::universal(); }},
    {[](double) { return kind::spherical(); }},   {[](double) { return kind::planar(); }},
    {[](double) { return kind::free(); }},
};
static_assert(std::size(kTable) == kJointKinds);

const Entry& entry(JointKind kind) { return kTable[static_cast<std::size_t>(kind)]; }

const std::shared_ptr<const Facts>& shared_facts(JointKind kind) {
  static const auto all = [] {
    std::array<std::shared_ptr<const Facts>, std::size(kTable)> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::make_shared<const Facts>(kTable[i].make(0));
    return out;
  }();
  return all[static_cast<std::size_t>(kind)];
}

}  // namespace

Facts own_facts_of(JointKind kind, double pitch) { return entry(kind).make(pitch); }

std::shared_ptr<const Facts> facts_of(JointKind kind, double pitch) {
  return pitch == 0 ? shared_facts(kind) : std::make_shared<const Facts>(own_facts_of(kind, pitch));
}

const Facts& kind_facts(JointKind kind) { return *shared_facts(kind); }

const Facts& floating_facts() { return kind_facts(JointKind::Free); }

bool takes_pitch(JointKind kind) { return entry(kind).pitch; }

const char* name(JointKind kind) { return kind_facts(kind).word(); }

}  // namespace invar
