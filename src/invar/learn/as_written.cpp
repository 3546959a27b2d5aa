// SPDX-License-Identifier: Apache-2.0
//
// A sample about the centres of mass of the edited model, and what is left over there brought back: the wrench about the nominal
// centre C is that about the edited one E with the moment of its force, m_C = m_E + (E - C) × f.
#include "invar/learn/as_written.hpp"

#include <cmath>
#include <limits>

#include "invar/learn/learned_load.hpp"
#include "invar/learn/motion_factor.hpp"

namespace invar {
namespace {

class Written {
 public:
  Written(const Model& nominal, std::shared_ptr<const Model> edited, LearnedLoad load)
      : edited_(std::move(edited)), load_(std::move(load)), factor_(nominal), inverse_(*edited_), all_(*edited_) {
    for (const Body& b : edited_->bodies()) shift_.push_back(b.inertia.p_BC);
    for (std::size_t b = 0; b < shift_.size(); ++b) shift_[b] -= nominal.bodies()[b].inertia.p_BC;
    a_.resize(shift_.size()), a_edited_ = a_, d_.resize(shift_.size()), known_ = d_, d_edited_ = d_;
    bodies_.resize(shift_.size());
  }

  // Adds |d|²_A and |d_w|²_A of a sample. Motions at which the mechanism has no answer were refused before.
  Verdict add(const DataSet& data, const DataSample& s, double& all, double& left) {
    Verdict verdict = factor_.at(s.bodies);
    if (verdict.ok()) verdict = allowed(factor_.inverse(), s.accelerations, d_, a_);
    if (!verdict.ok()) return verdict;
    left_over(factor_.inverse(), a_, s.port, s.efforts, d_);
    move(s);
    verdict = inverse_.at(bodies_);
    if (verdict.ok()) verdict = factor_.factor();
    if (!verdict.ok()) return verdict;
    left_over(inverse_, a_edited_, known_, s.efforts, d_edited_);
    all_.clear();
    Surroundings around = data.around(s);
    around.accelerations = &a_edited_;
    load_.set_around(around);
    load_.add(Instant(s.t), bodies_, all_);
    for (std::size_t b = 0; b < d_.size(); ++b) {
      d_edited_[b] -= all_.port[b];
      d_edited_[b].moment += (s.bodies[b].q_WB * shift_[b]).cross(d_edited_[b].force);
    }
    all += size_of(d_), left += size_of(d_edited_);
    return {};
  }

 private:
  void move(const DataSample& s) {
    for (std::size_t b = 0; b < shift_.size(); ++b) {
      const BodyState& x = s.bodies[b];
      const Vec3 arm = x.q_WB * shift_[b];
      bodies_[b] = x;
      bodies_[b].p_WC += arm, bodies_[b].v_WC += x.w_WB.cross(arm);
      a_edited_[b] = a_[b];
      a_edited_[b].a_WC += a_[b].alpha_WB.cross(arm) + x.w_WB.cross(x.w_WB.cross(arm));
      known_[b] = s.port[b];
      known_[b].moment -= arm.cross(s.port[b].force);
    }
  }
  double size_of(const Port& d) {
    column_.setZero(factor_.rows());
    for (std::size_t b = 0; b < d.size(); ++b) factor_.add(static_cast<int>(b), d[b], column_);
    return column_.squaredNorm();
  }

  std::shared_ptr<const Model> edited_;
  LearnedLoad load_;
  MotionFactor factor_;
  ConstrainedInverse inverse_;
  Load all_;
  std::vector<Vec3> shift_;  // per body: from the nominal to the edited centre of mass, body axes
  Accelerations a_, a_edited_;
  Port d_, known_, d_edited_;
  Bodies bodies_;
  VecX column_;
};

}  // namespace

Result<double> error_as_written(const ModelSpec& nominal, const Model& model, const Learned& learned, const DataSet& data,
                                const std::vector<int>& runs, const TermContext& context) {
  auto spec = edited(nominal, learned.edits);
  if (!spec) return tl::unexpected(spec.error());
  auto built = Model::build(*spec);
  if (!built) return tl::unexpected(built.error());
  const auto shared = std::make_shared<const Model>(std::move(*built));
  auto load = LearnedLoad::build(shared, std::make_shared<const Learned>(learned), context);
  if (!load) return tl::unexpected(load.error());
  Written written(model, shared, std::move(*load));
  double all = 0, left = 0;
  for (const int r : runs)
    for (const DataSample& s : data.runs[static_cast<std::size_t>(r)].samples)
      if (!written.add(data, s, all, left).ok()) return std::numeric_limits<double>::infinity();
  if (runs.empty()) return std::numeric_limits<double>::quiet_NaN();
  return all > 0 ? std::sqrt(left / all) : 1;
}

}  // namespace invar
