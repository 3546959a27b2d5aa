// SPDX-License-Identifier: Apache-2.0
//
// Samples are taken in pieces of fixed size, each with a solver of its own, because decisions of rank have memory: so what a
// piece gives does not depend on who computes it, nor on what came before. A piece leaves two matrices, left and right, with one
// column per term column and one for d; its share of (G, b; bᵀ, dd) is leftᵀ right. With A = B Bᵀ both are the rows Bᵀ(φ, d);
// with solves right is W = A (φ, d) and left M W, because A = A M A: what joints carry alone then counts as the square of
// round-off. Tiles of the sum are added piece after piece: the order of additions is fixed.
#include "invar/learn/gram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/learn/parallel.hpp"

namespace invar {
namespace {

constexpr int kPiece = 16;  // samples
constexpr int kBatch = 8;   // pieces that wait to be added
constexpr int kTile = 96;   // columns

struct Place {
  int run;
  int sample;
};

struct SamplePiece {
  MatX left, right;  // right is empty where it is the same
  long rows = 0;
  Verdict verdict;
  int failed = -1;      // sample
  int unanswered = -1;  // body

  const MatX& other() const { return right.size() > 0 ? right : left; }
};

class Worker {
 public:
  Worker(const Model& model, const Terms& terms, const DataSet& data, bool by_factor)
      : terms_(terms),
        data_(data),
        by_factor_(by_factor),
        factor_(model),
        d_(model.bodies().size()),
        column_(d_),
        a_(model.bodies().size()),
        moved_(a_) {}

  void fill(const Place* places, int count, SamplePiece& out) {
    const Eigen::Index directions = 6 * static_cast<Eigen::Index>(d_.size()), columns = terms_.columns() + 1;
    out.left.setZero(count * directions, columns);
    if (!by_factor_) out.right.setZero(count * directions, columns);
    Eigen::Index row = 0;
    for (int i = 0; i < count; ++i) {
      const DataSample& s =
          data_.runs[static_cast<std::size_t>(places[i].run)].samples[static_cast<std::size_t>(places[i].sample)];
      out.verdict = prepare(s);
      if (out.verdict.ok()) out.verdict = by_factor_ ? by_rows(out, row) : by_solves(out, row);
      if (!out.verdict.ok() || out.unanswered >= 0) {
        out.failed = i;
        return;
      }
    }
    out.left.conservativeResize(row, Eigen::NoChange);
    if (!by_factor_) out.right.conservativeResize(row, Eigen::NoChange);
  }

 private:
  // The motion, d and all columns of a sample.
  Verdict prepare(const DataSample& s) {
    if (const Verdict verdict = factor_.at(s.bodies); !verdict.ok()) return verdict;
    if (const Verdict verdict = allowed(factor_.inverse(), s.accelerations, d_, a_); !verdict.ok()) return verdict;
    left_over(factor_.inverse(), a_, s.port, s.efforts, d_);
    Surroundings around = data_.around(s);
    around.accelerations = &a_;
    terms_.list(s.bodies, around, entries_);
    const int last = terms_.columns();
    for (std::size_t b = 0; b < d_.size(); ++b) entries_.push_back({last, static_cast<int>(b), d_[b]});
    return {};
  }

  Verdict by_rows(SamplePiece& out, Eigen::Index& row) {
    if (const Verdict verdict = factor_.factor(); !verdict.ok()) return verdict;
    for (const ColumnEntry& e : entries_) factor_.add(e.body, e.wrench, out.left.col(e.column).segment(row, factor_.rows()));
    for (const ColumnEntry& e : entries_) {
      if (factor_.answers_all() || e.column == terms_.columns()) continue;  // data may be noisy there
      column_[static_cast<std::size_t>(e.body)] = e.wrench;
      out.unanswered = std::max(out.unanswered, factor_.unanswered(column_));
      column_[static_cast<std::size_t>(e.body)] = Wrench{};
    }
    row += factor_.rows();
    out.rows += factor_.rows();
    return {};
  }

  Verdict by_solves(SamplePiece& out, Eigen::Index& row) {
    const Eigen::Index directions = 6 * static_cast<Eigen::Index>(d_.size());
    auto left = out.left.middleRows(row, directions), right = out.right.middleRows(row, directions);
    for (const ColumnEntry& e : entries_) {
      left.col(e.column).segment<3>(6 * e.body) += e.wrench.force;
      left.col(e.column).segment<3>(6 * e.body + 3) += e.wrench.moment;
    }
    for (Eigen::Index k = 0; k < left.cols(); ++k) {
      for (std::size_t b = 0; b < column_.size(); ++b) {
        const auto at = 6 * static_cast<Eigen::Index>(b);
        column_[b] = {left.col(k).segment<3>(at + 3), left.col(k).segment<3>(at)};
      }
      if (const Verdict verdict = factor_.inverse().apply(&column_, nullptr, moved_); !verdict.ok()) return verdict;
      for (std::size_t b = 0; b < column_.size(); ++b) {
        const auto at = 6 * static_cast<Eigen::Index>(b);
        const Body& body = factor_.model().bodies()[b];
        right.col(k).segment<3>(at) = moved_[b].a_WC;
        right.col(k).segment<3>(at + 3) = moved_[b].alpha_WB;
        left.col(k).segment<3>(at) = body.inertia.mass * moved_[b].a_WC;
        left.col(k).segment<3>(at + 3) = spun(body, factor_.inverse().bodies()[b], moved_[b].alpha_WB);
      }
    }
    for (Wrench& w : column_) w = Wrench{};
    row += directions;
    out.rows += factor_.inverse().freedoms();
    return {};
  }

  const Terms& terms_;
  const DataSet& data_;
  bool by_factor_;
  MotionFactor factor_;
  Port d_, column_;
  Accelerations a_, moved_;
  std::vector<ColumnEntry> entries_;
};

// The lower triangle of the sum, tile by tile.
void add_pieces(const std::vector<SamplePiece>& pieces, int count, int threads, MatX& sum) {
  const int across = static_cast<int>((sum.cols() + kTile - 1) / kTile);
  std::vector<std::pair<int, int>> tiles;
  for (int i = 0; i < across; ++i)
    for (int j = 0; j <= i; ++j) tiles.emplace_back(i, j);
  parallel_for(threads, static_cast<int>(tiles.size()), [&](int t) {
    const Eigen::Index r = tiles[static_cast<std::size_t>(t)].first * kTile,
                       c = tiles[static_cast<std::size_t>(t)].second * kTile;
    const Eigen::Index nr = std::min<Eigen::Index>(kTile, sum.cols() - r), nc = std::min<Eigen::Index>(kTile, sum.cols() - c);
    for (int p = 0; p < count; ++p) {
      const SamplePiece& piece = pieces[static_cast<std::size_t>(p)];
      sum.block(r, c, nr, nc).noalias() += piece.left.middleCols(r, nr).transpose() * piece.other().middleCols(c, nc);
    }
  });
}

std::vector<Place> places_of(const DataSet& data, const std::vector<int>& runs) {
  std::vector<Place> out;
  for (int r = 0; r < static_cast<int>(data.runs.size()); ++r)
    if (runs.empty() || std::find(runs.begin(), runs.end(), r) != runs.end())
      for (int i = 0; i < static_cast<int>(data.runs[static_cast<std::size_t>(r)].samples.size()); ++i) out.push_back({r, i});
  return out;
}

Result<void> judge(const Model& model, const DataSet& data, const SamplePiece& piece, const Place* places) {
  if (piece.failed < 0) return {};
  const Place& at = places[piece.failed];
  const std::string where = fmt::format("sample {} of run '{}'", at.sample + 1, data.runs[static_cast<std::size_t>(at.run)].name);
  const int body = piece.unanswered >= 0 ? piece.unanswered : piece.verdict.body;
  if (piece.unanswered < 0 && piece.verdict.status == Status::NoInertia)
    return fail(
        ErrorKind::Numerics,
        fmt::format("{}: {} is free along a direction in which it has no inertia, and what it does there no load says; give "
                    "it an inertia",
                    where, body >= 0 ? fmt::format("body '{}'", model.body_name(body)) : std::string("a body")));
  if (piece.unanswered >= 0)
    return fail(
        ErrorKind::Numerics,
        fmt::format("{}: a term pushes {} along a direction in which it has no inertia and is free, so that nothing can be "
                    "learned there; give it an inertia, or name the bodies of the term without it",
                    where, body >= 0 ? fmt::format("body '{}'", model.body_name(body)) : std::string("a body")));
  return fail(ErrorKind::Numerics, fmt::format("{}: the mechanism has no accelerations there ({}); leave the sample out", where,
                                               name(piece.verdict.status)));
}

}  // namespace

double Gram::left(const VecX& c) const { return samples == 0 ? 0.0 : std::max(0.0, dd - 2 * b.dot(c) + c.dot(G * c)); }

double Gram::error(const VecX& c) const { return dd > 0 ? std::sqrt(left(c) / dd) : 1.0; }

Gram& Gram::operator+=(const Gram& other) {
  if (G.size() == 0) return *this = other;
  G += other.G, b += other.b, dd += other.dd, samples += other.samples, rows += other.rows;
  return *this;
}

Result<Gram> gram_of(const Model& model, const Terms& terms, const DataSet& data, const std::vector<int>& runs,
                     const GramOptions& options) {
  if (const int j = ConstrainedInverse(model).rotors(); j >= 0)
    return fail(ErrorKind::Model, fmt::format("joint '{}' has an armature, which learning does not know",
                                              model.joints()[static_cast<std::size_t>(j)].name));
  const std::vector<Place> places = places_of(data, runs);
  const bool by_factor =
      options.way == GramOptions::Way::Factor ||
      (options.way == GramOptions::Way::Choose && terms.columns() >= 6 * static_cast<int>(model.bodies().size()));
  const int columns = terms.columns() + 1, all = static_cast<int>(places.size());
  MatX sum = MatX::Zero(columns, columns);
  std::vector<SamplePiece> pieces(kBatch);
  Gram out;
  for (int begin = 0; begin < all; begin += kBatch * kPiece) {
    if (options.stop && *options.stop) break;
    const int count = std::min(kBatch, (all - begin + kPiece - 1) / kPiece);
    parallel_for(options.threads, count, [&](int p) {
      pieces[static_cast<std::size_t>(p)].failed = pieces[static_cast<std::size_t>(p)].unanswered = -1;
      pieces[static_cast<std::size_t>(p)].rows = 0;
      const int first = begin + p * kPiece;
      Worker(model, terms, data, by_factor)
          .fill(places.data() + first, std::min(kPiece, all - first), pieces[static_cast<std::size_t>(p)]);
    });
    for (int p = 0; p < count; ++p)
      if (auto fine = judge(model, data, pieces[static_cast<std::size_t>(p)], places.data() + begin + p * kPiece); !fine)
        return tl::unexpected(fine.error());
    add_pieces(pieces, count, options.threads, sum);
    for (int p = 0; p < count; ++p) out.rows += pieces[static_cast<std::size_t>(p)].rows;
    out.samples += std::min(all - begin, count * kPiece);
    if (options.progress) options.progress(static_cast<double>(out.samples) / all);
  }
  const Eigen::Index m = terms.columns();
  sum.triangularView<Eigen::StrictlyUpper>() = sum.transpose();
  out.G = sum.topLeftCorner(m, m);
  out.b = sum.row(m).head(m).transpose();
  out.dd = sum(m, m);
  return out;
}

}  // namespace invar
