// SPDX-License-Identifier: Apache-2.0
//
// Rows of a sample: y = Bᵀ d, predicted as Σ_b K_b C φ(x_b) with K_b = Bᵀ_b (E, E) the rows per unit wrench along the axes of the
// term, φ = (1, y₂) of the network and C its last layer. For e = prediction - y the gradient goes back through C to both tanh
// layers,
//   g₂ = (C₂ᵀ K_bᵀ e) ∘ (1 - y₂²),   g₁ = (W₂ᵀ g₂) ∘ (1 - y₁²),
// summed over bodies, which share the network. Steps are Adam's.
#include "invar/learn/train_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "invar/base/random.hpp"
#include "invar/base/tangents.hpp"
#include "invar/learn/motion_factor.hpp"

namespace invar {
namespace {

constexpr std::size_t kBatch = 16;  // samples per step

struct Row {
  std::vector<VecX> x;  // per body of the term
  std::vector<MatX> K;  // rows × 6
  VecX y;
};

struct Network {
  HiddenLayers hidden;
  MatX C;  // 6 × (width + 1)

  Eigen::Index parameters() const { return hidden.W1.size() + hidden.b1.size() + hidden.W2.size() + hidden.b2.size() + C.size(); }
  // All numbers in a row.
  template <class Visit>
  void each(Visit&& visit) {
    for (Eigen::Map<VecX> part :
         {Eigen::Map<VecX>(hidden.W1.data(), hidden.W1.size()), Eigen::Map<VecX>(hidden.b1.data(), hidden.b1.size()),
          Eigen::Map<VecX>(hidden.W2.data(), hidden.W2.size()), Eigen::Map<VecX>(hidden.b2.data(), hidden.b2.size()),
          Eigen::Map<VecX>(C.data(), C.size())})
      visit(part);
  }
};

class Trainer {
 public:
  Trainer(Network network, const TrainOptions& options)
      : net_(std::move(network)),
        options_(options),
        slope_{net_},
        first_(VecX::Zero(net_.parameters())),
        second_(first_),
        y1_(net_.hidden.width()),
        phi_(VecX::Ones(net_.hidden.width() + 1)) {}

  // Σ|e|² of a sample; its gradient is added where wanted.
  double look(const Row& row, bool with_slope) {
    VecX e = -row.y;
    for (std::size_t b = 0; b < row.x.size(); ++b) {
      forward(row.x[b]);
      e.noalias() += row.K[b] * (net_.C * phi_);
    }
    if (with_slope)
      for (std::size_t b = 0; b < row.x.size(); ++b) {
        forward(row.x[b]);
        backward(row.x[b], row.K[b].transpose() * e);
      }
    return e.squaredNorm();
  }

  void epoch(const std::vector<Row>& rows, Random& random, double rate) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    for (std::size_t at = 0; at < order.size(); at += kBatch) {
      slope_.each([](auto part) { part.setZero(); });
      const std::size_t end = std::min(order.size(), at + kBatch);
      for (std::size_t i = at; i < end; ++i) look(rows[order[i]], true);
      step(rate, static_cast<double>(end - at));
    }
  }

  double left(const std::vector<Row>& rows) {
    double sum = 0;
    for (const Row& row : rows) sum += look(row, false);
    return sum;
  }

  const HiddenLayers& layers() const { return net_.hidden; }

 private:
  void forward(const VecX& x) {
    y1_.noalias() = net_.hidden.W1 * x;
    y1_ += net_.hidden.b1;
    hyperbolic_tangents(y1_.data(), y1_.size());
    phi_.tail(y1_.size()).noalias() = net_.hidden.W2 * y1_;
    phi_.tail(y1_.size()) += net_.hidden.b2;
    hyperbolic_tangents(phi_.data() + 1, y1_.size());
  }

  void backward(const VecX& x, const Vec6& g) {
    const Eigen::Index n = y1_.size();
    slope_.C.noalias() += g * phi_.transpose();
    const VecX g2 = (net_.C.rightCols(n).transpose() * g).array() * (1 - phi_.tail(n).array().square());
    slope_.hidden.W2.noalias() += g2 * y1_.transpose();
    slope_.hidden.b2 += g2;
    const VecX g1 = (net_.hidden.W2.transpose() * g2).array() * (1 - y1_.array().square());
    slope_.hidden.W1.noalias() += g1 * x.transpose();
    slope_.hidden.b1 += g1;
  }

  void step(double rate, double samples) {
    constexpr double kFirst = 0.9, kSecond = 0.999;
    VecX g(first_.size()), w(first_.size());
    Eigen::Index at = 0;
    slope_.each([&](auto part) { g.segment(at, part.size()) = part, at += part.size(); });
    at = 0;
    net_.each([&](auto part) { w.segment(at, part.size()) = part, at += part.size(); });
    g = g / samples + options_.decay * w;
    ++steps_;
    first_ = kFirst * first_ + (1 - kFirst) * g;
    second_ = kSecond * second_ + (1 - kSecond) * g.cwiseAbs2();
    const double now = rate * std::sqrt(1 - std::pow(kSecond, steps_)) / (1 - std::pow(kFirst, steps_));
    w.array() -= now * first_.array() / (second_.array().sqrt() + 1e-8);
    at = 0;
    net_.each([&](auto part) { part = w.segment(at, part.size()), at += part.size(); });
  }

  Network net_;
  const TrainOptions& options_;
  Network slope_;
  VecX first_, second_;  // moments of Adam
  VecX y1_, phi_;
  long steps_ = 0;
};

template <class Featured>
Result<std::vector<Row>> rows_of(const Model& model, const Featured& term, const Terms& others, const VecX& coefficients,
                                 const DataSet& data, const std::vector<int>& runs) {
  std::vector<Row> out;
  MotionFactor factor(model);
  Port d(model.bodies().size()), known(d);
  Accelerations a(model.bodies().size());
  for (const int r : runs)
    for (const DataSample& s : data.runs[static_cast<std::size_t>(r)].samples) {
      Verdict verdict = factor.at(s.bodies);
      if (verdict.ok()) verdict = allowed(factor.inverse(), s.accelerations, d, a);
      if (verdict.ok()) verdict = factor.factor();
      if (!verdict.ok())
        return fail(ErrorKind::Numerics, fmt::format("run '{}' at {:g} s: the mechanism has no accelerations there ({})",
                                                     data.runs[static_cast<std::size_t>(r)].name, s.t, name(verdict.status)));
      Surroundings around = data.around(s);
      around.accelerations = &a;
      known = s.port;
      others.add(s.bodies, around, coefficients.data(), known);
      left_over(factor.inverse(), a, known, s.efforts, d);
      Row row;
      row.y = VecX::Zero(factor.rows());
      for (std::size_t b = 0; b < d.size(); ++b) factor.add(static_cast<int>(b), d[b], row.y);
      for (std::size_t n = 0; n < term.bodies().size(); ++n) {
        const int b = term.bodies()[n];
        const Mat3 E = term.axes(s.bodies, n);
        MatX K(factor.rows(), 6);
        K << factor.Bt().middleCols(6 * b, 3) * E, factor.Bt().middleCols(6 * b + 3, 3) * E;
        row.K.push_back(std::move(K));
        row.x.push_back(term.seen(s.bodies, around, n));
      }
      out.push_back(std::move(row));
    }
  return out;
}

// Of all rows together.
HiddenLayers trained(const HiddenLayers& start, std::vector<Row>& rows, std::vector<Row>& judges, std::uint64_t seed,
                     const TrainOptions& options) {
  double size = 0, all = 0;
  for (const Row& row : rows) size += row.y.squaredNorm();
  const double unit =
      std::sqrt(std::max(size / static_cast<double>(std::max<std::size_t>(1, rows.size())), std::numeric_limits<double>::min()));
  for (std::vector<Row>* set : {&rows, &judges})
    for (Row& row : *set) row.y /= unit;
  for (const Row& row : judges) all += row.y.squaredNorm();
  Trainer trainer(Network{start, MatX::Zero(6, start.width() + 1)}, options);
  Random random(seed, 1);
  HiddenLayers best = start;
  double least = std::numeric_limits<double>::infinity();
  for (int epoch = 0; epoch < options.epochs && !(options.stop && *options.stop); ++epoch) {
    const double along = static_cast<double>(epoch) / options.epochs;
    trainer.epoch(rows, random, options.rate * (0.55 + 0.45 * std::cos(std::numbers::pi * along)));
    const double left = trainer.left(judges.empty() ? rows : judges);
    if (left < least) least = left, best = trainer.layers();
    if (options.progress) options.progress((epoch + 1.0) / options.epochs, all > 0 ? std::sqrt(left / all) : 1.0);
  }
  return best;
}

}  // namespace

Result<HiddenLayers> train_network(const Model& model, const TermSpec& network, const Terms& others, const VecX& coefficients,
                                   const DataSet& data, const std::vector<int>& training, const std::vector<int>& held_out,
                                   const TrainOptions& options) {
  auto made = Terms::build(model, {network});
  if (!made) return tl::unexpected(made.error());
  const auto& term = static_cast<const FeatureTerm&>(made->term(0));
  auto rows = rows_of(model, term, others, coefficients, data, training);
  if (!rows) return tl::unexpected(rows.error());
  auto judges = rows_of(model, term, others, coefficients, data, held_out);
  if (!judges) return tl::unexpected(judges.error());
  return trained(static_cast<const NetworkFeatures&>(term.features()).layers(), *rows, *judges, network.seed, options);
}

Result<HiddenLayers> train_network(const Model& model, const HiddenLayers& start, const std::vector<RawWorldTerm>& seen,
                                   const Terms& others, const VecX& coefficients, const DataSet& data,
                                   const std::vector<int>& training, const std::vector<int>& held_out, std::uint64_t seed,
                                   const TrainOptions& options) {
  std::vector<Row> rows;
  for (const RawWorldTerm& term : seen) {
    auto more = rows_of(model, term, others, coefficients, data, training);
    if (!more) return tl::unexpected(more.error());
    std::move(more->begin(), more->end(), std::back_inserter(rows));
  }
  auto judges = rows_of(model, seen.front(), others, coefficients, data, held_out);
  if (!judges) return tl::unexpected(judges.error());
  return trained(start, rows, *judges, seed, options);
}

}  // namespace invar
