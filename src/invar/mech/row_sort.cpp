// SPDX-License-Identifier: Apache-2.0
// The pivot of a row is |g|² with g = Jᵀ n, n = e_r − S_AA⁻¹ S_Ar. As a Schur complement it carries an error u κ, as the square
// of a computed vector (u κ)²: hence rows that elimination set aside are judged by g. |g| at round-off: redundant. Otherwise n
// is made orthogonal to all kept rows, also later ones, and a pivoted Gram-Schmidt over the few rows in question finds which of
// them are independent of the kept rows and of each other (border) and which are not (redundant).
#include "invar/mech/row_sort.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr double kFar = 0.03;  // noise, a sine, that may be larger than that of rows that count

struct Candidate {
  int row = 0;
  double length = 1;  // |J_r|
  VecX n;             // rows
  VecX g;             // 6 bodies, then one entry per row: what a row with compliance has of its own
};

class Sorter {
 public:
  Sorter(FrontFactor& factor, const KktStructure& s, const std::vector<Mat6>& jacobian, const VecX& compliance,
         const RankTolerance& tol, const KnownRank& known)
      : factor_(factor),
        s_(s),
        jacobian_(jacobian),
        compliance_(compliance),
        tol_(tol),
        known_(known),
        n_(VecX::Zero(s.rows())),
        g_(VecX::Zero(6 * s.bodies())),
        b_(VecX::Zero(s.rows())),
        stamp_(size(s.blocks()), -1) {}

  RowSort run() {
    factor_.take_neutral(jacobian_, compliance_);
    const int known = known_.rank + static_cast<int>((compliance_.array() > 0).count());
    choose(known);
    std::vector<Candidate> candidates;
    for (int row : factor_.row_at())
      if (!factor_.kept(row)) question(row, candidates);
    wanted_ = known - factor_.rows_kept();
    for (Candidate& c : candidates) orthogonalize(c);
    separate(candidates);
    estimate_sigma();
    return std::move(out_);
  }

 private:
  // Far off the constraints no threshold tells dependent rows from weak ones: then the strongest are kept, no more than the rank
  // known before, and the others follow as a border.
  void choose(int known) {
    const bool far = known_.rank > 0 && known_.noise > kFar;
    double weak = far ? tol_.weak : std::max(tol_.weak, known_.noise * known_.noise);
    factor_.choose(weak);
    while (far && factor_.rows_kept() > known && weak < 1) factor_.choose(weak *= 4);
  }

  double length_of(int row) const {
    const KktBlock& block = s_.block(s_.block_of_row(row));
    double sum = compliance_[row] > 0 ? 1.0 : 0.0;
    for (int t = block.first_touch; t < block.first_touch + block.touches; ++t)
      sum += jacobian_[size(t)].row(row - block.first_row).squaredNorm();
    return std::sqrt(sum);
  }

  // g = Jᵀ n over the blocks that n touches; returns its norm, rows with compliance included. clear_g undoes it.
  double gather_g(int mark) {
    double sum = 0;
    for (int row : rows_) {
      if (compliance_[row] > 0) sum += n_[row] * n_[row];
      const int j = s_.block_of_row(row);
      if (stamp_[size(j)] == mark) continue;
      stamp_[size(j)] = mark;
      const KktBlock& block = s_.block(j);
      for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
        g_.segment<6>(6 * s_.body(t)).noalias() +=
            jacobian_[size(t)].topRows(block.rows).transpose() * n_.segment(block.first_row, block.rows);
        touched_.push_back(s_.body(t));
      }
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (int i : touched_) sum += g_.segment<6>(6 * i).squaredNorm();
    return std::sqrt(sum);
  }

  void clear_g() {
    for (int i : touched_) g_.segment<6>(6 * i).setZero();
    touched_.clear();
  }

  // n came from S, so it is off by u/σ². One step n −= S_AA⁻¹ J g brings that to u/σ; only entries that exist are moved.
  double correct(int row) {
    double norm = gather_g(2 * row);
    double length = 0;
    for (int r : rows_) length += n_[r] * n_[r];
    if (norm > 1e-15 * std::sqrt(length)) {
      for (int r : factor_.rows_below(row)) {
        const KktBlock& block = s_.block(s_.block_of_row(r));
        b_[r] = compliance_[r] > 0 ? n_[r] : 0.0;
        for (int t = block.first_touch; t < block.first_touch + block.touches; ++t)
          b_[r] += jacobian_[size(t)].row(r - block.first_row).dot(g_.segment<6>(6 * s_.body(t)));
      }
      factor_.solve_below(row, b_, b_);
      for (int r : rows_) n_[r] -= b_[r];
      clear_g();
      norm = gather_g(2 * row + 1);
    }
    clear_g();
    return norm;
  }

  void question(int row, std::vector<Candidate>& candidates) {
    rows_.clear();
    factor_.combination(row, n_, rows_);
    const double length = length_of(row);
    if (correct(row) <= tol_.null * length) {
      SparseRow stress;
      for (int r : rows_)
        if (n_[r] != 0) {
          stress.rows.push_back(r);
          stress.values.push_back(n_[r]);
        }
      out_.redundant.push_back(row);
      out_.stresses.push_back(std::move(stress));
    } else {
      candidates.push_back({row, length, n_, {}});
    }
    for (int r : rows_) n_[r] = 0;
  }

  void fill_g(Candidate& c) const {
    VecX body = VecX::Zero(6 * s_.bodies());
    add_transpose_times(s_, jacobian_, c.n, body);
    c.g.resize(body.size() + s_.rows());
    c.g << body, (compliance_.array() > 0).select(c.n, 0.0);
  }

  void orthogonalize(Candidate& c) {
    VecX y(s_.rows()), correction(s_.rows()), body(6 * s_.bodies());
    for (int pass = 0; pass < 3; ++pass) {
      apply_joint_matrix(s_, jacobian_, nullptr, compliance_, c.n, body, y);
      factor_.solve(y, correction);
      c.n -= correction;
      if (correction.norm() <= 1e-15 * c.n.norm()) break;
    }
    c.n /= c.length;
    fill_g(c);
  }

  // Gram-Schmidt with the strongest first; n follows g, so that what is left over at the end is a self-stress.
  void separate(std::vector<Candidate>& candidates) {
    std::vector<Candidate*> left;
    for (Candidate& c : candidates) left.push_back(&c);
    double weakest = -1;
    while (!left.empty()) {
      const auto best =
          std::max_element(left.begin(), left.end(), [](auto a, auto b) { return a->g.squaredNorm() < b->g.squaredNorm(); });
      Candidate& chosen = **best;
      const double norm = chosen.g.norm();
      const bool wanted = static_cast<int>(out_.border.size()) < wanted_;
      if (!(norm > (wanted ? tol_.singular : std::max(tol_.singular, known_.noise)))) break;
      left.erase(best);
      const double sigma = norm / chosen.n.norm();
      weakest = weakest < 0 ? sigma : std::min(weakest, sigma);
      out_.border.push_back(chosen.row);
      for (Candidate* other : left)
        for (int pass = 0; pass < 2; ++pass) {
          const double share = chosen.g.dot(other->g) / (norm * norm);
          other->n -= share * chosen.n;
          other->g -= share * chosen.g;
        }
    }
    for (Candidate* c : left) {
      SparseRow stress;
      const double floor = 1e-15 * c->n.lpNorm<Eigen::Infinity>();
      for (int r = 0; r < s_.rows(); ++r)
        if (std::abs(c->n[r]) > floor) {
          stress.rows.push_back(r);
          stress.values.push_back(c->n[r] * c->length);
        }
      out_.redundant.push_back(c->row);
      out_.stresses.push_back(std::move(stress));
    }
    out_.sigma = weakest;
  }

  // Inverse iteration from the weakest kept row, unless a border row is weaker anyway.
  void estimate_sigma() {
    if (out_.sigma >= 0) return;
    int weakest = -1;
    for (int row : factor_.row_at())
      if (factor_.kept(row) && compliance_[row] == 0 && (weakest < 0 || factor_.ratio(row) < factor_.ratio(weakest)))
        weakest = row;
    out_.sigma = 0;
    if (weakest < 0) return;
    VecX v = VecX::Zero(s_.rows()), next(s_.rows());
    v[weakest] = 1;
    double growth = 1;
    for (int pass = 0; pass < 4; ++pass) {
      factor_.solve(v, next);
      growth = next.norm();
      v = next / growth;
    }
    out_.sigma = 1.0 / std::sqrt(growth);
  }

  FrontFactor& factor_;
  const KktStructure& s_;
  const std::vector<Mat6>& jacobian_;
  const VecX& compliance_;
  RankTolerance tol_;
  KnownRank known_;
  int wanted_ = 0;  // rows beside those kept that the known rank asks for
  VecX n_, g_, b_;  // rows, 6 bodies, rows
  std::vector<int> stamp_, rows_, touched_;
  RowSort out_;
};

}  // namespace

void apply_joint_matrix(const KktStructure& s, const std::vector<Mat6>& jacobian, const std::vector<Mat6>* W,
                        const VecX& compliance, const VecX& n, VecX& body, VecX& y) {
  body.setZero();
  add_transpose_times(s, jacobian, n, body);
  if (W)
    for (int i = 0; i < s.bodies(); ++i) body.segment<6>(6 * i) = ((*W)[size(i)] * body.segment<6>(6 * i)).eval();
  for (int r = 0; r < s.rows(); ++r) y[r] = (W ? compliance[r] : (compliance[r] > 0 ? 1.0 : 0.0)) * n[r];
  add_jacobian_times(s, jacobian, body, y);
}

RowSort sort_rows(FrontFactor& factor, const KktStructure& structure, const std::vector<Mat6>& jacobian, const VecX& compliance,
                  const RankTolerance& tolerance, const KnownRank& known) {
  return Sorter(factor, structure, jacobian, compliance, tolerance, known).run();
}

}  // namespace invar
