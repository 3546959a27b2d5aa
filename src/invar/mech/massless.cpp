// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/massless.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <numeric>

namespace invar {
namespace {

constexpr double kZeroInertia = 1e-14;  // of the body's largest
constexpr double kIndependent = 1e-10;  // of the largest column of J Z
constexpr double kVanished = 1e-13;     // of unit rows

std::size_t size(int n) { return static_cast<std::size_t>(n); }

// Inverse of a symmetric positive definite 3x3 by Cholesky; false if a pivot is not positive.
bool invert3(const Mat6& m, int o, Mat6& w) {
  const double a = m(o, o), b = m(o + 1, o), c = m(o + 2, o), d = m(o + 1, o + 1), e = m(o + 2, o + 1), f = m(o + 2, o + 2);
  const double ia = 1.0 / a, l1 = b * ia, l2 = c * ia;
  const double p = d - l1 * b, q = e - l1 * c, ip = 1.0 / p, l3 = q * ip;
  const double r = f - l2 * c - l3 * q, ir = 1.0 / r;
  if (!(a > 0 && p > kZeroInertia * d && r > kZeroInertia * f)) return false;
  // Columns of L⁻¹: (1, −l1, l1 l3 − l2), (0, 1, −l3), (0, 0, 1).
  const double g = l1 * l3 - l2;
  w(o, o) = ia + l1 * l1 * ip + g * g * ir;
  w(o + 1, o) = w(o, o + 1) = -l1 * ip - g * l3 * ir;
  w(o + 2, o) = w(o, o + 2) = g * ir;
  w(o + 1, o + 1) = ip + l3 * l3 * ir;
  w(o + 2, o + 1) = w(o + 1, o + 2) = -l3 * ir;
  w(o + 2, o + 2) = ir;
  return true;
}

// The same for 6x6; bodies by themselves do not couple force and moment about the centre of mass.
bool invert(const Mat6& m, Mat6& w) {
  if (m.bottomLeftCorner<3, 3>().isZero(0)) {
    w.bottomLeftCorner<3, 3>().setZero();
    w.topRightCorner<3, 3>().setZero();
    return invert3(m, 0, w) && invert3(m, 3, w);
  }
  Mat6 l = Mat6::Zero();
  Vec6 inverse;
  for (int k = 0; k < 6; ++k) {
    const double d = m(k, k) - l.row(k).head(k).squaredNorm();
    if (!(d > kZeroInertia * m(k, k))) return false;
    inverse[k] = 1.0 / std::sqrt(d);
    for (int r = k + 1; r < 6; ++r) l(r, k) = (m(r, k) - l.row(r).head(k).dot(l.row(k).head(k))) * inverse[k];
  }
  // Columns of L⁻¹, then W = L⁻ᵀ L⁻¹.
  Mat6 g = Mat6::Zero();
  for (int c = 0; c < 6; ++c) {
    g(c, c) = inverse[c];
    for (int r = c + 1; r < 6; ++r) g(r, c) = -l.row(r).segment(c, r - c).dot(g.col(c).segment(c, r - c)) * inverse[r];
  }
  w.noalias() = g.transpose() * g;
  return true;
}

}  // namespace

std::vector<int> idle_directions(const KktProblem& problem) {
  std::vector<int> idle(problem.mass.size(), 0);
  for (std::size_t i = 0; i < idle.size(); ++i) {
    const Vec6 values = Eigen::SelfAdjointEigenSolver<Mat6>(problem.mass[i], Eigen::EigenvaluesOnly).eigenvalues();
    for (int k = 0; k < 6; ++k) idle[i] += values[k] <= kZeroInertia * values[5];
  }
  return idle;
}

Verdict invert_masses(const KktProblem& problem, const std::vector<int>& idle, std::vector<Mat6>& W, std::vector<Mat6>& Z) {
  for (std::size_t i = 0; i < idle.size(); ++i) {
    const Mat6& m = problem.mass[i];
    if (idle[i] == 6) {
      W[i].setZero();
      Z[i].setIdentity();
    } else if (idle[i] == 0) {
      if (!invert(m, W[i])) return {Status::NoInertia, static_cast<int>(i), -1, m.diagonal().minCoeff()};
    } else {
      const Eigen::SelfAdjointEigenSolver<Mat6> eigen(m);
      Z[i] = eigen.eigenvectors();
      Vec6 inverse = eigen.eigenvalues();
      if (!(inverse[idle[i]] > kZeroInertia * inverse[5])) return {Status::NoInertia, static_cast<int>(i), -1, inverse[idle[i]]};
      for (int k = 0; k < 6; ++k) inverse[k] = k < idle[i] ? 0.0 : 1.0 / inverse[k];
      W[i] = Z[i] * inverse.asDiagonal() * Z[i].transpose();
    }
  }
  return {};
}

Condensation::Condensation(const KktProblem& problem, const std::vector<int>& idle)
    : original_(problem.structure),
      idle_(idle),
      structure_(0),
      cluster_of_body_(idle.size(), -1),
      cluster_of_block_(size(problem.structure.blocks()), -1),
      condensed_block_(size(problem.structure.blocks()), -1),
      rotor_of_block_(size(problem.structure.blocks()), -1) {
  find_clusters(problem);
  lay_out(problem);
  jacobian_.assign(size(structure_.touches()), Mat6::Zero());
  W_.assign(size(structure_.bodies()), Mat6::Zero());
  Z_.assign(idle.size(), Mat6::Zero());
  compliance_ = VecX::Zero(structure_.rows());
}

// Bodies with idle directions that share a block belong together, and so do all blocks that touch them.
void Condensation::find_clusters(const KktProblem& problem) {
  const KktStructure& s = problem.structure;
  std::vector<int> root(idle_.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int i) {
    while (root[size(i)] != i) i = root[size(i)] = root[size(root[size(i)])];
    return i;
  };
  std::vector<int> first_idle(size(s.blocks()), -1);
  for (int j = 0; j < s.blocks(); ++j)
    for (int t = s.block(j).first_touch; t < s.block(j).first_touch + s.block(j).touches; ++t) {
      if (idle(s.body(t)) == 0 || s.block(j).rows == 0) continue;
      int& first = first_idle[size(j)];
      if (first < 0) first = s.body(t);
      root[size(find(s.body(t)))] = find(first);
    }
  std::vector<int> index(idle_.size(), -1);
  for (int i = 0; i < s.bodies(); ++i) {
    if (idle(i) == 0) continue;
    int& k = index[size(find(i))];
    if (k < 0) {
      k = static_cast<int>(clusters_.size());
      clusters_.emplace_back();
    }
    Cluster& cluster = clusters_[size(k)];
    cluster_of_body_[size(i)] = k;
    cluster.bodies.push_back(i);
    cluster.first_unknown.push_back(cluster.unknowns);
    cluster.unknowns += idle(i);
  }
  for (int j = 0; j < s.blocks(); ++j) {
    if (first_idle[size(j)] < 0) continue;
    const int k = cluster_of_block_[size(j)] = cluster_of_body_[size(first_idle[size(j)])];
    clusters_[size(k)].blocks.push_back(j);
    clusters_[size(k)].first_row.push_back(clusters_[size(k)].rows);
    clusters_[size(k)].rows += s.block(j).rows;
  }
}

// Bodies keep their index, rotors follow. Blocks outside clusters are copied; each cluster becomes blocks of at most 6 rows.
void Condensation::lay_out(const KktProblem& problem) {
  const KktStructure& s = problem.structure;
  int bodies = s.bodies();
  for (int j = 0; j < s.blocks(); ++j)
    if (in_cluster(j) && problem.compliance.segment(s.block(j).first_row, s.block(j).rows).maxCoeff() > 0)
      rotor_of_block_[size(j)] = bodies++;
  structure_ = KktStructure(bodies);
  for (int j = 0; j < s.blocks(); ++j) {
    if (in_cluster(j)) continue;
    std::vector<int> touched;
    for (int t = 0; t < s.block(j).touches; ++t) touched.push_back(s.body(s.block(j).first_touch + t));
    condensed_block_[size(j)] = structure_.add(s.block(j).rows, touched);
    for (int i = 0; i < s.block(j).rows; ++i) row_of_condensed_.push_back(s.block(j).first_row + i);
  }
  for (Cluster& cluster : clusters_) {
    for (int j : cluster.blocks) {
      for (int t = 0; t < s.block(j).touches; ++t)
        if (const int i = s.body(s.block(j).first_touch + t); idle(i) < 6) cluster.neighbours.push_back(i);
      if (rotor_of_block_[size(j)] >= 0) cluster.neighbours.push_back(rotor_of_block_[size(j)]);
    }
    std::sort(cluster.neighbours.begin(), cluster.neighbours.end());
    cluster.neighbours.erase(std::unique(cluster.neighbours.begin(), cluster.neighbours.end()), cluster.neighbours.end());
    add_hyper_joint(cluster);
  }
}

void Condensation::add_hyper_joint(Cluster& cluster) {
  cluster.qr = PivotedQr(cluster.rows, cluster.unknowns);
  cluster.massive = MatX::Zero(cluster.rows, 6 * static_cast<int>(cluster.neighbours.size()));
  cluster.y = cluster.phi = VecX::Zero(cluster.rows);
  cluster.t = cluster.z = VecX::Zero(cluster.unknowns);
  cluster.first_block = structure_.blocks();
  for (int left = cluster.rows - cluster.unknowns; left > 0; left -= KktStructure::kMaxRows) {
    const int rows = std::min(left, KktStructure::kMaxRows);
    structure_.add(rows, cluster.neighbours);
    ++cluster.hyper_blocks;
    row_of_condensed_.insert(row_of_condensed_.end(), size(rows), original_.block(cluster.blocks.front()).first_row);
  }
}

Verdict Condensation::refresh(const KktProblem& problem, const std::vector<Mat6>& W, const std::vector<Mat6>& Z) {
  std::copy(W.begin(), W.end(), W_.begin());
  std::copy(Z.begin(), Z.end(), Z_.begin());
  const KktStructure& s = original_;
  for (int j = 0; j < s.blocks(); ++j) {
    const KktBlock& block = s.block(j);
    if (const int rotor = rotor_of_block_[size(j)]; rotor >= 0)
      for (int i = 0; i < block.rows; ++i) W_[size(rotor)](i, i) = problem.compliance[block.first_row + i];
    if (in_cluster(j)) continue;
    const KktBlock& copy = structure_.block(condensed_block_[size(j)]);
    for (int t = 0; t < block.touches; ++t) jacobian_[size(copy.first_touch + t)] = problem.jacobian[size(block.first_touch + t)];
    compliance_.segment(copy.first_row, copy.rows) = problem.compliance.segment(block.first_row, block.rows);
  }
  for (Cluster& cluster : clusters_)
    if (const Verdict verdict = refresh_cluster(problem, cluster); !verdict.ok()) return verdict;
  return {};
}

Verdict Condensation::refresh_cluster(const KktProblem& problem, Cluster& cluster) {
  MatX& a = cluster.qr.matrix();
  a.setZero();
  cluster.massive.setZero();
  const auto column_of = [&](int body) {
    return 6 * static_cast<int>(std::lower_bound(cluster.neighbours.begin(), cluster.neighbours.end(), body) -
                                cluster.neighbours.begin());
  };
  for (std::size_t b = 0; b < cluster.blocks.size(); ++b) {
    const KktBlock& block = original_.block(cluster.blocks[b]);
    const int row = cluster.first_row[b];
    // Each J splits into its part on idle directions, J Z, and the rest, J (1 − Z Zᵀ).
    for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
      const int body = original_.body(t);
      const int k = idle(body);
      Mat6 rest = problem.jacobian[size(t)];
      if (k > 0) {
        const auto place = std::lower_bound(cluster.bodies.begin(), cluster.bodies.end(), body) - cluster.bodies.begin();
        Mat6 z = Z_[size(body)];
        z.rightCols(6 - k).setZero();
        const Mat6 on_idle = rest * z;
        a.block(row, cluster.first_unknown[static_cast<std::size_t>(place)], block.rows, k) =
            on_idle.topLeftCorner(block.rows, k);
        rest -= on_idle * z.transpose();
      }
      if (k < 6) cluster.massive.block(row, column_of(body), block.rows, 6) = rest.topRows(block.rows);
    }
    if (const int rotor = rotor_of_block_[size(cluster.blocks[b])]; rotor >= 0)
      for (int i = 0; i < block.rows; ++i)
        if (problem.compliance[block.first_row + i] > 0) cluster.massive(row + i, column_of(rotor) + i) = 1.0;
  }
  if (const int rank = cluster.qr.factor(kIndependent); rank < cluster.unknowns) return name_idle(cluster, rank);
  cluster.qr.apply_transpose(cluster.massive);

  // The rows below R are the hyper-joint. A body held twice by one neighbour asks nothing of it: such rows are round-off of
  // unit rows, and must be zero lest their ratios to themselves look strong.
  for (int i = cluster.unknowns; i < cluster.rows; ++i)
    if (cluster.massive.row(i).norm() < kVanished) cluster.massive.row(i).setZero();
  int row = cluster.unknowns;
  for (int h = cluster.first_block; h < cluster.first_block + cluster.hyper_blocks; ++h) {
    const KktBlock& block = structure_.block(h);
    for (int t = 0; t < block.touches; ++t)
      jacobian_[size(block.first_touch + t)].topRows(block.rows) = cluster.massive.block(row, 6 * t, block.rows, 6);
    row += block.rows;
  }
  return {};
}

// The body that moves most in the motion that nothing resists.
Verdict Condensation::name_idle(const Cluster& cluster, int rank) {
  const VecX z = cluster.qr.null_vector(rank);
  int body = -1;
  double most = -1;
  for (std::size_t b = 0; b < cluster.bodies.size(); ++b) {
    const int i = cluster.bodies[b];
    const Vec6 twist = Z_[size(i)].leftCols(idle(i)) * z.segment(cluster.first_unknown[b], idle(i));
    if (twist.norm() > most * (1 + 1e-9)) {
      most = twist.norm();
      body = i;
      direction_ = twist / most;
    }
  }
  return {Status::NoInertia, body, cluster.blocks.empty() ? -1 : cluster.blocks.front(), 0.0};
}

void Condensation::gather_rows(const Cluster& cluster, const VecX& rows, VecX& y) const {
  for (std::size_t b = 0; b < cluster.blocks.size(); ++b) {
    const KktBlock& block = original_.block(cluster.blocks[b]);
    y.segment(cluster.first_row[b], block.rows) = rows.segment(block.first_row, block.rows);
  }
}

void Condensation::condense(const VecX& f, const VecX& gamma, VecX& f_c, VecX& gamma_c) {
  f_c.head(f.size()) = f;
  f_c.tail(f_c.size() - f.size()).setZero();
  for (int j = 0; j < original_.blocks(); ++j)
    if (!in_cluster(j))
      gamma_c.segment(structure_.block(condensed_block_[size(j)]).first_row, original_.block(j).rows) =
          gamma.segment(original_.block(j).first_row, original_.block(j).rows);
  for (Cluster& cluster : clusters_) {
    for (std::size_t b = 0; b < cluster.bodies.size(); ++b) {
      const int i = cluster.bodies[b];
      cluster.z.segment(cluster.first_unknown[b], idle(i)).noalias() =
          Z_[size(i)].leftCols(idle(i)).transpose() * f.segment<6>(6 * i);
    }
    cluster.qr.solve_transpose(cluster.z, cluster.t);
    for (std::size_t k = 0; k < cluster.neighbours.size(); ++k)
      f_c.segment<6>(6 * cluster.neighbours[k]).noalias() -=
          cluster.massive.block(0, 6 * static_cast<int>(k), cluster.unknowns, 6).transpose() * cluster.t;
    gather_rows(cluster, gamma, cluster.y);
    cluster.qr.apply_transpose(cluster.y);
    if (cluster.hyper_blocks > 0)
      gamma_c.segment(structure_.block(cluster.first_block).first_row, cluster.rows - cluster.unknowns) =
          cluster.y.tail(cluster.rows - cluster.unknowns);
  }
}

void Condensation::expand(const VecX& x_c, const VecX& F_c, VecX& x, VecX& F) {
  x = x_c.head(x.size());
  for (int j = 0; j < original_.blocks(); ++j)
    if (!in_cluster(j))
      F.segment(original_.block(j).first_row, original_.block(j).rows) =
          F_c.segment(structure_.block(condensed_block_[size(j)]).first_row, original_.block(j).rows);
  for (Cluster& cluster : clusters_) {
    // z from the rows above, x = x_m + Z z.
    for (std::size_t k = 0; k < cluster.neighbours.size(); ++k)
      cluster.y.head(cluster.unknowns).noalias() -=
          cluster.massive.block(0, 6 * static_cast<int>(k), cluster.unknowns, 6) * x_c.segment<6>(6 * cluster.neighbours[k]);
    cluster.qr.solve(cluster.y, cluster.z);
    for (std::size_t b = 0; b < cluster.bodies.size(); ++b) {
      const int i = cluster.bodies[b];
      x.segment<6>(6 * i).noalias() += Z_[size(i)].leftCols(idle(i)) * cluster.z.segment(cluster.first_unknown[b], idle(i));
    }
    // F = Q (t, φ).
    cluster.phi.head(cluster.unknowns) = cluster.t;
    if (cluster.hyper_blocks > 0)
      cluster.phi.tail(cluster.rows - cluster.unknowns) =
          F_c.segment(structure_.block(cluster.first_block).first_row, cluster.rows - cluster.unknowns);
    cluster.qr.apply(cluster.phi);
    for (std::size_t b = 0; b < cluster.blocks.size(); ++b) {
      const KktBlock& block = original_.block(cluster.blocks[b]);
      F.segment(block.first_row, block.rows) = cluster.phi.segment(cluster.first_row[b], block.rows);
    }
  }
}

void Condensation::expand_stress(const VecX& F_c, VecX& F) const {
  for (int j = 0; j < original_.blocks(); ++j)
    if (!in_cluster(j))
      F.segment(original_.block(j).first_row, original_.block(j).rows) =
          F_c.segment(structure_.block(condensed_block_[size(j)]).first_row, original_.block(j).rows);
  for (const Cluster& cluster : clusters_) {
    VecX phi = VecX::Zero(cluster.rows);
    if (cluster.hyper_blocks > 0)
      phi.tail(cluster.rows - cluster.unknowns) =
          F_c.segment(structure_.block(cluster.first_block).first_row, cluster.rows - cluster.unknowns);
    cluster.qr.apply(phi);
    for (std::size_t b = 0; b < cluster.blocks.size(); ++b) {
      const KktBlock& block = original_.block(cluster.blocks[b]);
      F.segment(block.first_row, block.rows) = phi.segment(cluster.first_row[b], block.rows);
    }
  }
}

}  // namespace invar
