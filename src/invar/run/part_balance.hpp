// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/scales.hpp"
#include "invar/run/leg.hpp"

// For the sources of this room only.
namespace invar {

/// Energies of the connected parts of a mechanism on which nothing acts but gravity and joints: each keeps its own, and a part
/// that does not is no better for others beside it that turn over more. Parts with springs, dampers, friction, stops or tendons
/// are judged together, by what the balance of the whole leaves for them. Mechanisms on which anything acts from outside have
/// the balance of the whole only. Nothing to do where there is one part.
class PartBalance {
 public:
  /// Begins, or goes on with another leg after an edit: parts begin anew with it.
  void enter(const Leg& leg, const Observation& seen);
  /// After a step, at the state that the leg's observer saw last. No heap.
  void step(const Leg& leg, const Observation& seen);

  /// The part that is off by most of what it turned over, over all legs.
  struct Worst {
    double off = 0, turned_over = 0;  ///< J
    double size = 0;                  ///< J; largest of its energies: what digits are relative to
    std::string body;                 ///< one of it
    bool acted = false;               ///< passive parts act on it
  };
  /// None where all parts keep their energy to `bound` of what they turn over, or to round-off. `acted`: whether those on which
  /// something acts have an energy at all.
  std::optional<Worst> above(double bound, double rounding, bool acted) const;

 private:
  struct Part {
    int body = -1;  // its first
    double kinetic = 0, potential = 0, at_start = 0;
    double off = 0, kinetic_max = 0, low = 0, high = 0;
    double exchanged = 0;  // the most of elastic energy, work and dissipation since the beginning

    void begin();
    void raise(double off_now);
  };
  void measure(const Leg& leg);
  void keep(const Model& model);

  Part acted_;  // parts on which something acts, together; body -1: none
  double balance_at_start_ = 0, elastic_at_start_ = 0, work_at_start_ = 0, dissipated_at_start_ = 0;
  std::vector<int> part_of_body_;   // -1: acted_
  std::vector<int> part_of_joint_;  // with rotors; -1: acted_
  std::vector<Part> parts_;
  std::vector<Worst> before_;  // of earlier legs
  std::shared_ptr<const Model> model_;
};

}  // namespace invar
