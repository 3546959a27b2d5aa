// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/mech/system.hpp"
#include "support/plain_mechanism.hpp"

namespace invar::testing {

/// The judge of reactions: Newton and Euler for every body of the file, with every term written from the documents.
///   m a           = m g + port + Σ tendons + Σ ± (reaction, efforts, rotors, couplings of every joint at the body)
///   I α + ω × I ω = the moments of the same about the centre of mass
/// A reaction acts on the parent at the origin of M, World axes (docs/notation.md); an effort is positive on the child. A rotor
/// pushes its freedom with -armature v'; a coupling pushes the driven freedom with its effort and the driving one with -dq/dq_of
/// of it. No function of the mechanics of the library takes part (see plain_mechanism.hpp).
///
/// Residuals are judged relative to the sum of the magnitudes of all terms in the part of the mechanism that joints and couplings
/// connect: a reaction is recovered from the inertia of all that hangs beyond it, so a light body at the root of a heavy part
/// that falls freely sees the rounding of the heavy one. One term is a product of about 20 rounded factors, and solvers that
/// refine leave residuals of that size: 20 u to 200 u of the sum, u = 1.1e-16. The bound leaves a
/// factor of about fifty for loops that are nearly singular.
/// Where a joint gapes by g, its point and axes differ by g between parent and child: g |f| and g |m| are allowed besides, up to
/// kOpen. Where its rates are off by s, those of rotors are known but for s times the rates (dense output lies off the
/// constraints).
inline constexpr double kBalance = 1e-12;
/// How far a joint may gape, rad and parts of the lengths at the joint: steps close joints to rounding and end where they cannot
/// be closed to 1e-6; what is wider hides errors of reactions behind itself. Where a test opens a joint it says by how much.
inline constexpr double kOpen = 1e-6;
/// What accelerations across a joint may miss, relative to the largest acceleration at any joint: rows are solved with
/// refinement, and accelerations add up along chains of a few dozen bodies.
inline constexpr double kKept = 1e-12;

/// The mechanism as its file or its test has it, never as the library has it; a test that opens joints says how far.
struct Judged {
  Judged(const ModelSpec& s, double gape = kOpen) : spec(s), open(gape) {}
  const ModelSpec& spec;
  double open;
};

/// How far the worst body is out of balance: residuals over what is allowed (1: at the bound), NaN where anything is not finite.
struct Balance {
  double force = 0, moment = 0;
  int body = -1;    ///< where the larger of the two is
  double open = 0;  ///< the widest gap over what is allowed
  int joint = -1;   ///< where it is
};
Balance balance(const Judged& by, const Evaluation& e, const Port& port);

/// Balance alone: for readers of recordings, who know efforts but not which part of them was commanded.
void expect_balance(const Judged& by, const Evaluation& e, const Port& port, const std::string& what = {});
/// The same at a state of a system, under what acts there; a failure where it cannot be evaluated.
void expect_balance(const Judged& by, System& system, double t, const State& x);

/// Balance, and all that an evaluation says besides: coordinates, rates and their derivatives; efforts (commanded + passive);
/// tendons; reactions do no work on freedoms; accelerations keep joints and couplings.
void expect_newton_euler(const Judged& by, const Evaluation& e, const Load& load, const std::string& what = {});

}  // namespace invar::testing
