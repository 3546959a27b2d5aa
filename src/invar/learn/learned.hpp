// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <optional>

#include "invar/control/remainder.hpp"
#include "invar/learn/fit.hpp"
#include "invar/model/edit.hpp"

namespace invar {

/// Where coefficients come from.
struct Provenance {
  std::uint64_t data = 0;             ///< hash of the data set
  std::uint64_t seed = 0;             ///< of everything that was drawn
  std::vector<std::string> training;  ///< runs
  std::vector<std::string> held_out;
  long samples = 0;               ///< fitted
  int window = 0;                 ///< samples of the window of differences; 0: accelerations were measured
  std::vector<double> strengths;  ///< per group of the terms as fitted
  double training_error = 1, held_out_error = 1;
  double noise = 0;  ///< N/√kg per freedom
};

/// The numbers of the nominal model that learning took for known; none of them turns with the World.
struct NominalNumbers {
  std::vector<Inertia> inertias;               ///< per body
  std::vector<std::vector<Passive>> passives;  ///< per joint and freedom
  /// Where a joint is: its frames in the body frames of its parent (identity for the World, where they turn along) and its child.
  struct Ends {
    Pose in_parent, in_child;
  };
  std::vector<Ends> ends;          ///< per joint; empty: the file does not tell
  std::vector<std::string> kinds;  ///< per joint; empty: the file does not tell
  double gravity = 0;              ///< m/s², its size; told with `ends`
};
NominalNumbers numbers_of(const Model& model);

/// What was learned about a machine, in two parts: edits of the nominal model (inertias, friction, stiffness, offsets), so that
/// M, C and A of whoever uses it are right; and a load, for everything that a model has no place for.
struct Learned {
  std::string model;                        ///< name of the nominal model
  std::vector<std::string> bodies, joints;  ///< of it
  NominalNumbers nominal;                   ///< of it; terms on bodies act at its centres of mass
  std::vector<Edit> edits;                  ///< SetInertia and SetPassive
  std::vector<TermSpec> terms;              ///< of the load
  std::vector<int> counts;                  ///< per term: how many columns it has
  VecX coefficients;                        ///< of the load's columns, SI
  std::vector<std::string> labels, units;   ///< per column
  std::vector<std::string> obstacles, inputs;
  Provenance from;
  std::vector<std::string> undetermined;  ///< in words
  std::vector<std::string> notes;         ///< what was done to coefficients on the way
  bool learned = false;                   ///< false: the data say nothing; there are no edits and no load then
  std::optional<RemainderBound> bound;
  std::vector<std::string> bound_loop;      ///< the loop that it is of: "gains.rate = 20", …; empty: nobody knows
  double largest_remainder = std::nan("");  ///< of the runs that the bound was found from, N/sqrt(kg); NaN: not told
};

/// Makes both parts of a fit. Coefficients of joints that would make a damping, friction or stiffness negative are cut at zero,
/// inertias become the nearest that a body can have; either is a note.
Result<Learned> conclude(const ModelSpec& nominal, const Model& model, const Terms& terms, const Fit& fit, const DataSet& data,
                         Provenance from);

/// The first number of the nominal model that is another one here than where it was learned, as a clause; empty where there is
/// none. Bodies and joints that only one of them has are passed over.
std::string other_number(const Learned& learned, const Model& model);

/// Makes it one that learned nothing: no edits, no load, and the sentence that says why.
void forget(Learned& learned, const char* sentence);

/// What an identification of inertias, friction and springs gives: its edits, and of its load what joints do (friction at
/// several smoothing rates, offsets without a spring). No drag, obstacles, actuators and generic terms, and no bound.
Learned identified(const Learned& learned);

/// Sentences of a model that learned nothing: of its terms, of terms that explain something that cannot be written, and of both.
inline constexpr const char* kNothingExplained =
    "the terms explain nothing of the data: nothing was learned, and the nominal model stays as it is";
inline constexpr const char* kNothingWritten =
    "what could be written explains nothing of the data: nothing was learned, and the nominal model stays as it is";
inline constexpr const char* kNothingLearned = "nothing was learned, and the nominal model stays as it is";

}  // namespace invar
