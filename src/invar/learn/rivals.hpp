// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/learn.hpp"

namespace invar {

/// A way to learn from World components, as everybody would begin (term/raw_world.hpp): to compare with.
struct RawRival {
  bool network = false;              ///< two tanh layers of `functions` each; otherwise seeded cosines
  int functions = 100;               ///< cosines, or units per layer
  double spread = 3;                 ///< of cosines, in units of what is seen
  double attitude = 0;               ///< weight of the attitude among what is seen; 0: velocities only
  Sharing sharing = Sharing::Alike;  ///< of coefficients among bodies
  int copies = 0;                    ///< of the training data, seen from Worlds turned at random
  int epochs = 100;                  ///< of networks
  std::uint64_t seed = 1;

  std::string words() const;
};

/// Those that have as many columns at least, `most` of them, the ones that do best most often first: cosines of several spreads,
/// with and without attitude, shared and per body, with and without turned copies, and networks. 34 at most.
std::vector<RawRival> raw_rivals(const Model& model, int columns, int most);

/// What is compared: data and how they are divided, and from where else they are seen.
struct Division {
  std::vector<int> training, held_out;  ///< runs: fitted; strengths are chosen on these
  std::vector<int> judges;              ///< neither
  std::vector<Quat> worlds;             ///< turned ones in which what was learned is judged, too, without new data
};

/// Errors on the runs that judge, √(Σ|d_w|²_A / Σ|d|²_A), in the World of the data and in turned ones (all together): of terms
/// what their edits and load leave over as they are written (as_written.hpp), of functions of World components, which nobody
/// writes, what the regression leaves over. `held_out` and `regression`, on the runs that judge, are those of the regression:
/// like is compared with like by these.
struct Errors {
  long samples = 0;  ///< fitted
  int columns = 0;
  double held_out = 1, unseen = 1, turned = 1, regression = 1;
};

/// Fits terms, or functions of World components beside terms, to so many samples of the training runs (0: all) and judges them.
class Rivals {
 public:
  /// Models, data and `spec` must outlive it. `spec` has terms, fit, training of networks, threads and stop; its held-out runs
  /// are not used.
  Rivals(const ModelSpec& nominal, const Model& model, const DataSet& data, const LearnSpec& spec, Division division,
         const std::vector<Actuator>& actuators = {});

  Result<Errors> of_terms(const std::vector<TermSpec>& terms, long samples) const;
  Result<Errors> of_raw(const RawRival& rival, const std::vector<TermSpec>& beside, long samples) const;

 private:
  DataSet chosen(long samples) const;
  Result<Gram> sums(const Model& model, const Terms& terms, const DataSet& data, const std::vector<int>& runs) const;
  Result<double> in_turned_worlds(const Learned& learned, const std::vector<TermSpec>& terms) const;

  const ModelSpec& nominal_;
  const Model& model_;
  const DataSet& data_;
  const LearnSpec& spec_;
  Division division_;
  std::vector<Actuator> actuators_;
};

/// One way to explain the same data, over how many samples were fitted.
struct Contender {
  std::string name;
  std::string how;  ///< of raw ones: which configuration did best on the held-out runs, of how many
  std::vector<Errors> curve;
};

/// What learning was worth beside nothing, less, and the obvious.
struct Worth {
  std::vector<Contender> contenders;  ///< nothing; inertias and joints alone; all terms; raw; raw with turned copies
  std::vector<std::string> judges;    ///< runs
  bool held_out_judged = false;       ///< there were no other runs: strengths were chosen on those that judge
  bool interrupted = false;
};

/// What follows from it for whoever has to choose, in one or two sentences.
std::string advice(const Worth& worth);
/// Whether what is written of all terms explains anything on the runs that judge: the advice is to take it, or a part of it.
bool pays(const Worth& worth);

struct WorthOptions {
  int points = 5;  ///< of every curve at most
  int raw = 8;     ///< configurations on World components that are tried
};

/// Compares on the runs that judge, or on the held-out ones where there are none. Ends early, with what is complete, when
/// `spec.stop` is set.
Result<Worth> worth_of(const ModelSpec& nominal, const Model& model, const DataSet& data, const LearnSpec& spec,
                       const LearnResult& learned, const WorthOptions& options, const std::vector<Actuator>& actuators = {});

}  // namespace invar
