// SPDX-License-Identifier: Apache-2.0
// How does the time of one KKT solve grow with the number of bodies, by kind of graph, and how does it compare with general
// sparse factorizations (Eigen's SimplicialLLT of S = J M⁻¹ Jᵀ, already assembled, and SparseLU of the whole KKT matrix)?
// Microseconds per body: factor (assembly of S included), first solve, solve with refinement; exponents are least squares
// fits of log(time of factor + solve) over log(bodies).
#include <Eigen/Dense>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "clock.hpp"
#include "invar/mech/fronts.hpp"
#include "support/block_graphs.hpp"

namespace {

using namespace invar;
using bench::now;
using namespace invar::graphs;
using Sparse = Eigen::SparseMatrix<double>;

/// Best of several runs, in microseconds.
double best_time(const std::function<void()>& run, double budget = 0.3) {
  double best = 1e300, spent = 0;
  for (int k = 0; k < 3 || (spent < budget && k < 1000); ++k) {
    const double start = now();
    run();
    const double seconds = now() - start;
    best = std::min(best, seconds);
    spent += seconds;
  }
  return 1e6 * best;
}

void add_block(std::vector<Eigen::Triplet<double>>& list, int row, int column, const MatX& m) {
  for (Eigen::Index r = 0; r < m.rows(); ++r)
    for (Eigen::Index c = 0; c < m.cols(); ++c)
      if (m(r, c) != 0) list.emplace_back(row + static_cast<int>(r), column + static_cast<int>(c), m(r, c));
}

struct Peers {
  Sparse S, K;
  explicit Peers(const KktProblem& p) {
    const int n = 6 * p.structure.bodies(), rows = p.structure.rows();
    std::vector<Eigen::Triplet<double>> j, w, k;
    for (int b = 0; b < p.structure.blocks(); ++b) {
      const KktBlock& block = p.structure.block(b);
      for (int t = 0; t < block.touches; ++t)
        add_block(j, block.first_row, 6 * p.structure.body(block.first_touch + t), p.jac(b, t).topRows(block.rows));
    }
    for (int i = 0; i < p.structure.bodies(); ++i) {
      add_block(w, 6 * i, 6 * i, p.mass[static_cast<std::size_t>(i)].inverse());
      add_block(k, 6 * i, 6 * i, p.mass[static_cast<std::size_t>(i)]);
    }
    Sparse J(rows, n), W(n, n);
    J.setFromTriplets(j.begin(), j.end());
    W.setFromTriplets(w.begin(), w.end());
    S = J * W * J.transpose();
    for (const auto& e : j) {
      k.emplace_back(n + e.row(), e.col(), e.value());
      k.emplace_back(e.col(), n + e.row(), e.value());
    }
    K.resize(n + rows, n + rows);
    K.setFromTriplets(k.begin(), k.end());
  }
};

struct Row {
  double bodies = 0, factor = 0, solve = 0;
};

Row measure(const char* name, const Graph& g, bool peers) {
  const KktProblem p = g.problem();
  Random random(1);
  const int n = 6 * p.structure.bodies();
  const VecX f = random_entries(random, n);
  VecX gamma = VecX::Zero(p.structure.rows()), x(n), F(p.structure.rows());
  add_jacobian_times(p.structure, p.jacobian, random_entries(random, n), gamma);
  FrontSolver solver(p.structure);
  const double analysis = best_time([&] { FrontTree tree(p.structure); }, 0.0);
  const double decision = best_time([&] { (void)solver.decide(p); }, 0.0);
  bool fine = solver.factor(p).ok();
  const double factor = best_time([&] { fine &= solver.factor(p).ok(); });
  const double solve = best_time([&] { fine &= solver.solve(p, f, gamma, x, F).ok(); });
  const double bodies = static_cast<double>(g.bodies.size());
  std::printf("%-8s %6.0f  %8.2f %8.2f   %8.2f %8.2f   %8.1e %d", name, bodies, factor / bodies, solve / bodies,
              analysis / bodies, decision / bodies, solver.residual(), solver.refinements());
  if (peers) {
    const Peers other(p);
    Eigen::SimplicialLLT<Sparse> llt;
    llt.analyzePattern(other.S);
    const double cholesky = best_time([&] { llt.factorize(other.S); });
    std::printf("   %8.2f (x%.1f)", cholesky / bodies, cholesky / factor);
    if (bodies <= 2500) {
      Eigen::SparseLU<Sparse, Eigen::COLAMDOrdering<int>> lu;
      lu.analyzePattern(other.K);
      const double general = best_time([&] { lu.factorize(other.K); }, 0.0);
      std::printf(" %8.2f (x%.1f)", general / bodies, general / factor);
    }
  }
  std::printf("%s\n", fine ? "" : "   FAILED");
  std::fflush(stdout);
  return {bodies, factor, solve};
}

double exponent(const std::vector<Row>& rows) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Row& r : rows) {
    const double x = std::log(r.bodies), y = std::log(r.factor + r.solve);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double n = static_cast<double>(rows.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

void family(const char* name, const std::vector<int>& sizes, bool peers, const std::function<Graph(int)>& make) {
  std::vector<Row> rows;
  for (int n : sizes) rows.push_back(measure(name, make(n), peers));
  std::printf("%-8s exponent %.2f\n", name, exponent(rows));
}

}  // namespace

int main(int argc, char** argv) {
  const bool peers = !(argc > 1 && std::strcmp(argv[1], "--alone") == 0);
  std::printf("us/body         factor    solve   analysis decision   residual n   LLT of S            SparseLU of KKT\n");
  family("chain", {100, 1000, 3000}, peers, [](int n) { return chain(n); });
  family("tree", {127, 1023, 4095}, peers, [](int n) { return binary_tree(n); });
  family("ladder", {33, 333, 1000}, peers, [](int n) { return ladder(n); });
  family("net", {16, 32, 64}, peers, [](int n) { return net(n); });
  family("crystal", {6, 10, 13}, peers, [](int n) { return crystal(n); });
  return 0;
}
