// SPDX-License-Identifier: Apache-2.0
//
// Space: the rows d_i·d_j = δ_ij ask for DᵀA + AᵀD = -2 VᵀV of the accelerations A of the directors. A_p = -D⁻ᵀVᵀV is one
// solution, and D⁻ᵀΩ with any skew Ω = (w × e_i) makes all. With T = D⁻ᵀ, B = TᵀT (one, where directors are orthonormal) and the
// pseudo-inertia E, the inertia of turning is Σ E_ij (w × e_i)·B (w × e_j) = w·Θw,
//   Θ = (tr E tr B - tr EB) 1 - tr E B - tr B E + EB + BE          (B = 1: tr E 1 - E, the inertia tensor)
// and a vector p + Σ a_i d_i of the body times c has the gradient (c, a × Tᵀc) with respect to y = (p'', w).
#include "invar/mech/natural_reduced.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "invar/mech/independent_rows.hpp"

namespace invar {
namespace {

// Below this pivot of a loan the answer is looked at.
constexpr double kWeakLoan = 1e-6;
// A motion has no inertia whose change of momentum is below this part of it, and whose energy is round-off of its bodies'
// inertia.
constexpr double kZeroInertia = 1e-14;
constexpr double kNoInertia = 1e-10;
// An answer that refinement changes by more than this part of it is none.
constexpr double kUncertain = 1e-8;
constexpr int kRefinements = 4;

int first_row(const NaturalCoordinates& c) { return c.model().joints().empty() ? c.rows() : c.first_joint_row(0); }

std::vector<int> sizes(const NaturalCoordinates& c, const SpanningTree& tree, int per_body) {
  std::vector<int> out;
  for (const TreeNode& node : tree.nodes) out.push_back(per_body + (node.joint < 0 ? 0 : c.joint_rows(node.joint)));
  return out;
}

}  // namespace

NaturalReduced::NaturalReduced(const NaturalCoordinates& c)
    : c_(c),
      preferred_(joints_of_massless_bodies(c.model())),
      spanning_(spanning_tree(c.model(), preferred_)),
      looped_(looped_parts(c, spanning_)),
      n_(c.plane() ? 3 : 6),
      units_(c.model().bodies().size()),
      weight_(static_cast<std::size_t>(c.rows() - first_row(c)), 1.0),
      place_(weight_.size(), Place{-1, 0}),
      active_(static_cast<std::size_t>(closure_rows_of(c, spanning_)), 1),
      tree_({}, {}, n_, 0),
      frames_(c.model().bodies().size()),
      row_right_(VecX::Zero(static_cast<Eigen::Index>(weight_.size()))),
      size_(VecX::Zero(static_cast<Eigen::Index>(active_.size()))),
      inverse_size_(size_) {
  measure();
  std::array<Loan, 6> loans;
  for (int b = 0; b < static_cast<int>(units_.size()); ++b)
    for (int k = 0, count = lend_to(b, loans); k < count; ++k) loans_.push_back(loans[static_cast<std::size_t>(k)]);
  tree_ = BlockTree(inner_nodes(spanning_), sizes(c, spanning_, n_), n_, static_cast<int>(active_.size() + loans_.size()));
  right_ = answer_ = left_ = VecX::Zero(tree_.total());
  const int first = first_row(c);
  for (int n = 0; n < static_cast<int>(spanning_.nodes.size()); ++n) {
    const int j = spanning_.nodes[static_cast<std::size_t>(n)].joint;
    for (int k = 0; j >= 0 && k < c.joint_rows(j); ++k)
      place_[static_cast<std::size_t>(c.first_joint_row(j) + k - first)] = {n, n_ + k};
  }
  int border = 0;
  for (const int j : spanning_.closures)
    for (int k = 0; k < c.joint_rows(j); ++k) place_[static_cast<std::size_t>(c.first_joint_row(j) + k - first)] = {-1, border++};
}

double NaturalReduced::unit(int b, int k) const {
  const Units& u = units_[static_cast<std::size_t>(b)];
  return k < c_.dimension() ? u.position : u.turning;
}

// Turning is measured at the length of the body, rows by the largest of what they tie.
void NaturalReduced::measure() {
  const Scales& scales = c_.scales();
  for (std::size_t b = 0; b < units_.size(); ++b) {
    const Scales::Part& part = scales.parts[static_cast<std::size_t>(scales.part_of_body[b])];
    const double length = power_of_two(part.length);
    units_[b] = {length, length / scales.body_length[b], part.mass * length * length};
  }
  for (std::size_t r = 0; r < weight_.size(); ++r) {
    const NaturalForm& form = c_.row(first_row(c_) + static_cast<int>(r));
    double largest = 1e-300;
    bool length = false;  // in lengths of the part
    for (const NaturalVector* a : {&form.u, &form.w, &form.minus}) {
      if (a->body == kWorld) continue;
      length = length || a->position != 0;
      largest = std::max(largest, units_[static_cast<std::size_t>(a->body)].turning);
    }
    weight_[r] = length ? 1 : 1 / largest;
  }
}

// What a body borrows along: what has little inertia, in a part with closures.
int NaturalReduced::lend_to(int body, std::array<Loan, 6>& loans) const {
  const auto b = static_cast<std::size_t>(body);
  const Scales& scales = c_.scales();
  if (!looped_[static_cast<std::size_t>(scales.part_of_body[b])]) return 0;
  const Inertia& inertia = c_.model().bodies()[b].inertia;
  const double mass = scales.mass_at(body), little = kLentInertia * mass * scales.body_length[b] * scales.body_length[b];
  const int d = c_.dimension();
  std::size_t count = 0;
  for (int k = 0; k < d && inertia.mass < kLentInertia * mass; ++k) loans[count++] = {body, k, Six::Unit(k)};
  if (c_.plane()) {
    const Vec3& n = c_.plane()->bodies[b].n_B;
    if (n.dot(inertia.I_C * n) < little) loans[count++] = {body, d, Six::Unit(d)};
    return static_cast<int>(count);
  }
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inertia.I_C);
  for (int k = 0; k < 3; ++k) {
    if (!(eigen.eigenvalues()[k] < little)) continue;
    Loan& loan = loans[count++] = {body, d + k, Six::Zero()};
    loan.along.tail<3>() = eigen.eigenvectors().col(k);
  }
  return static_cast<int>(count);
}

// Links without mass decide which joints the tree prefers, masses which bodies floating parts hang on and who borrows.
bool NaturalReduced::refresh() {
  const Model& model = c_.model();
  for (std::size_t j = 0; j < preferred_.size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (preferred_[j] != (is_massless(model, joint.parent) || is_massless(model, joint.child))) return false;
  }
  if (!still_spans(spanning_, model)) return false;
  measure();
  std::fill(active_.begin(), active_.end(), 1);
  chosen_ = {};
  return renew_loans();
}

void NaturalReduced::place(const VecX& x, const VecX* v) {
  for (int b = 0; b < static_cast<int>(frames_.size()); ++b) {
    Frame& f = frames_[static_cast<std::size_t>(b)];
    if (c_.plane()) {
      f.d = x.segment<2>(4 * b + 2);
      if (v) f.a_p.col(0).head<2>() = -(v->segment<2>(4 * b + 2).squaredNorm() / f.d.squaredNorm()) * f.d;
      continue;
    }
    f.T = c_.directors(b, x).inverse().transpose();
    if (!v) continue;
    const Mat3 V = c_.directors(b, *v);
    f.a_p.noalias() = -f.T * (V.transpose() * V).eval();
  }
}

// Adds factor times the gradient of c · a, in scaled numbers.
void NaturalReduced::reduce(const NaturalVector& a, const Vec3& c, double factor, Six& row) const {
  const Frame& f = frames_[static_cast<std::size_t>(a.body)];
  const Units& u = units_[static_cast<std::size_t>(a.body)];
  const double move = factor * a.position * u.position, turn = factor * u.turning;
  if (c_.plane()) {
    row[0] += move * c.x(), row[1] += move * c.y();
    const double re = a.axes.x(), im = a.axes.y();  // (re + im J) J d = re J d - im d
    row[2] += turn * (c.x() * (-re * f.d.y() - im * f.d.x()) + c.y() * (re * f.d.x() - im * f.d.y()));
    return;
  }
  if (a.position != 0) row.head<3>() += move * c;
  row.tail<3>() += turn * a.axes.cross(f.T.transpose() * c);
}

// Calls f(row, body, gradient, value of G a_p there) for every body that a row of a joint touches.
template <class F>
void NaturalReduced::for_rows(const VecX& x, F&& f) const {
  const int first = first_row(c_);
  Six row;
  for (int r = 0; r < static_cast<int>(weight_.size()); ++r) {
    const NaturalForm& form = c_.row(first + r);
    const Vec3 on_u = c_.value(form.w, x) - c_.value(form.minus, x), on_w = c_.value(form.u, x);
    const NaturalVector* at[3] = {&form.u, &form.w, &form.minus};
    const double weight = weight_[static_cast<std::size_t>(r)];
    for (int k = 0; k < 3; ++k) {
      const int b = at[k]->body;
      if (b == kWorld || (k > 0 && b == at[0]->body) || (k > 1 && b == at[1]->body)) continue;
      row.setZero();
      for (int i = k; i < 3; ++i)
        if (at[i]->body == b) reduce(*at[i], i == 0 ? on_u : on_w, i == 2 ? -weight : weight, row);
      f(r, b, row);
    }
  }
}

void NaturalReduced::assemble_rows(const VecX& x) {
  for_rows(x, [&](int r, int b, const Six& g) {
    const Place& at = place_[static_cast<std::size_t>(r)];
    const int node = node_of(b);
    const bool border = at.node < 0, own = at.node == node;
    MatX& row = border ? tree_.border_rows(node) : (own ? tree_.own(node) : tree_.by_inner(at.node));
    MatX& column = border ? tree_.border_columns(node) : (own ? tree_.own(node) : tree_.on_inner(at.node));
    for (int i = 0; i < n_; ++i) row(at.index, i) += g[i], column(i, at.index) -= g[i];
  });
}

Eigen::Matrix<double, 6, 6> NaturalReduced::mass_of(int b) const {
  const Inertia& inertia = c_.model().bodies()[static_cast<std::size_t>(b)].inertia;
  const Frame& f = frames_[static_cast<std::size_t>(b)];
  const Units& u = units_[static_cast<std::size_t>(b)];
  Eigen::Matrix<double, 6, 6> out = Eigen::Matrix<double, 6, 6>::Zero();
  const double move = inertia.mass * u.position * u.position / u.inertia, turn = u.turning * u.turning / u.inertia;
  for (int k = 0; k < c_.dimension(); ++k) out(k, k) = move;
  if (c_.plane()) {
    out(2, 2) = turn * c_.pseudo(b)(0, 0) * f.d.squaredNorm();
    return out;
  }
  const Mat3 B = f.T.transpose() * f.T;
  const Mat3& E = c_.pseudo(b);
  const Mat3 EB = E * B;
  Mat3 theta = -E.trace() * B - B.trace() * E + EB + EB.transpose();
  theta.diagonal().array() += E.trace() * B.trace() - EB.trace();
  out.bottomRightCorner<3, 3>() = turn * theta;
  return out;
}

void NaturalReduced::lend() {
  const int rows = static_cast<int>(active_.size());
  for (std::size_t k = 0; k < loans_.size(); ++k) {
    const Loan& loan = loans_[k];
    const int node = node_of(loan.body), at = rows + static_cast<int>(k);
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) tree_.own(node)(i, j) += loan.along[i] * loan.along[j];
      tree_.border_columns(node)(i, at) -= loan.along[i];
      tree_.border_rows(node)(at, i) += loan.along[i];
    }
    tree_.corner()(at, at) -= 1;
  }
}

// Rows that depend on others become z = 0.
void NaturalReduced::drop_inactive() {
  for (int r = 0; r < static_cast<int>(active_.size()); ++r) {
    if (active_[static_cast<std::size_t>(r)]) continue;
    tree_.corner().row(r).setZero();
    tree_.corner().col(r).setZero();
    tree_.corner()(r, r) = 1;
  }
}

// Columns are factored in their order, those of loans last: a small pivot there is a direction that closures hardly hold.
void NaturalReduced::find_weakest() {
  weakest_ = -1, least_ = 1;
  for (int k = 0; k < static_cast<int>(loans_.size()); ++k) {
    const int at = static_cast<int>(active_.size()) + k;
    const double pivot = 1 / std::abs(tree_.corner()(at, at));  // reciprocals are kept
    if (pivot < least_) least_ = pivot, weakest_ = k;
  }
}

int NaturalReduced::rank() const {
  return static_cast<int>(weight_.size()) - static_cast<int>(std::count(active_.begin(), active_.end(), 0));
}

// The column of the corner in which nothing is left: a loan that no closure holds, or a closure row.
Verdict NaturalReduced::without_pivot() {
  const MatX& corner = tree_.corner();
  const Eigen::Index n = corner.rows(), rows = static_cast<Eigen::Index>(active_.size());
  Eigen::Index k = 0;
  while (k + 1 < n && corner.col(k).tail(n - k).cwiseAbs().maxCoeff() > 0) ++k;
  if (k >= rows) {
    const int body = loans_[static_cast<std::size_t>(k - rows)].body;
    return {Status::NoInertia, body, joint_of(body), 0};
  }
  for (const int j : spanning_.closures)
    if ((k -= c_.joint_rows(j)) < 0) return {Status::Singular, -1, j, 0};
  return {Status::Singular, -1, -1, 0};
}

int NaturalReduced::joint_of(int body) const { return spanning_.nodes[static_cast<std::size_t>(node_of(body))].joint; }

Verdict NaturalReduced::factor(const VecX& x, const VecX& v) {
  if (!chosen_.ok()) return chosen_;
  place(x, &v);
  tree_.clear();
  for (int b = 0; b < static_cast<int>(frames_.size()); ++b)
    tree_.own(node_of(b)).topLeftCorner(n_, n_) = mass_of(b).topLeftCorner(n_, n_);
  assemble_rows(x);
  lend();
  const int first = first_row(c_);
  for (int r = 0; r < row_right_.size(); ++r) {
    const NaturalForm& form = c_.row(first + r);
    const Vec3 on_u = c_.value(form.w, x) - c_.value(form.minus, x), on_w = c_.value(form.u, x);
    // G a_p: what the particular accelerations of directors do.
    const auto along = [&](const NaturalVector& a) -> Vec3 {
      if (a.body == kWorld) return Vec3::Zero();
      const Mat3& A = frames_[static_cast<std::size_t>(a.body)].a_p;
      if (!c_.plane()) return A * a.axes;
      return {a.axes.x() * A(0, 0) - a.axes.y() * A(1, 0), a.axes.x() * A(1, 0) + a.axes.y() * A(0, 0), 0};
    };
    const double particular = on_u.dot(along(form.u)) + on_w.dot(along(form.w) - along(form.minus));
    row_right_[r] = -(c_.curvature(form, v) + particular) * weight_[static_cast<std::size_t>(r)];
  }
  if (const int node = tree_.eliminate(kNaturalPivot); node >= 0) {
    const TreeNode& n = spanning_.nodes[static_cast<std::size_t>(node)];
    return {Status::NoInertia, n.body, n.joint, 0};
  }
  drop_inactive();
  if (!tree_.finish(0)) return without_pivot();
  find_weakest();
  return {};
}

// Zᵀ f of a body, scaled.
void NaturalReduced::pull(int b, const double* f, Six& out) const {
  const Frame& frame = frames_[static_cast<std::size_t>(b)];
  const Units& u = units_[static_cast<std::size_t>(b)];
  const double move = u.position / u.inertia, turn = u.turning / u.inertia;
  if (c_.plane()) {
    out.head<3>() << move * f[0], move * f[1], turn * (frame.d.x() * f[3] - frame.d.y() * f[2]);
    return;
  }
  const Mat3 g = frame.T.transpose() * Eigen::Map<const Mat3>(f + 3);
  out << move * f[0], move * f[1], move * f[2], turn * (g(2, 1) - g(1, 2)), turn * (g(0, 2) - g(2, 0)),
      turn * (g(1, 0) - g(0, 1));
}

Verdict NaturalReduced::solve(const VecX& x, VecX& f) {
  const int n = c_.per_body(), rows = static_cast<int>(active_.size());
  Six part;
  for (int b = 0; b < static_cast<int>(frames_.size()); ++b) {
    const Frame& frame = frames_[static_cast<std::size_t>(b)];
    double* own = f.data() + n * b;
    if (c_.plane())
      Eigen::Map<Eigen::Vector2d>(own + 2) -= c_.pseudo(b)(0, 0) * frame.a_p.col(0).head<2>();
    else
      Eigen::Map<Mat3>(own + 3) -= frame.a_p * c_.pseudo(b);
    pull(b, own, part);
    right_.segment(tree_.first(node_of(b)), n_) = part.head(n_);
  }
  for (int r = 0; r < row_right_.size(); ++r) {
    const Place& at = place_[static_cast<std::size_t>(r)];
    right_[(at.node < 0 ? tree_.first_border() : tree_.first(at.node)) + at.index] = row_right_[r];
  }
  right_.tail(static_cast<Eigen::Index>(loans_.size())).setZero();
  answer_ = right_;
  const auto leave_out = [&](double* z) {
    for (int r = 0; r < rows; ++r)
      if (!active_[static_cast<std::size_t>(r)]) z[r] = 0;
  };
  tree_.solve(answer_, leave_out);
  const Verdict verdict = weakest_ >= 0 && least_ < kWeakLoan ? make_sure(x) : Verdict{};
  for (int b = 0; b < static_cast<int>(frames_.size()); ++b) {
    const Frame& frame = frames_[static_cast<std::size_t>(b)];
    const auto y = answer_.segment(tree_.first(node_of(b)), n_);
    double* own = f.data() + n * b;
    for (int k = 0; k < c_.dimension(); ++k) own[k] = y[k] * unit(b, k);
    const double turn = units_[static_cast<std::size_t>(b)].turning;
    if (c_.plane()) {
      own[2] = frame.a_p(0, 0) - turn * y[2] * frame.d.y();
      own[3] = frame.a_p(1, 0) + turn * y[2] * frame.d.x();
      continue;
    }
    const Vec3 w = turn * y.tail<3>();
    Mat3 omega;
    omega << 0, -w.z(), w.y(), w.z(), 0, -w.x(), -w.y(), w.x(), 0;
    Eigen::Map<Mat3>(own + 3) = frame.a_p + frame.T * omega;
  }
  return verdict;
}

double NaturalReduced::size_of(const VecX& stacked) const {
  double sum = 0;
  for (int k = 0; k < tree_.nodes(); ++k) sum += stacked.segment(tree_.first(k), n_).squaredNorm();
  return std::sqrt(sum);
}

// Where closures hardly hold what has no inertia of its own. A pivot falls with the square of a distance, the momentum of the
// motion with the distance itself, and its energy is what is left of the inertia of its bodies, to rounding: the motion decides
// whether there is inertia. It is that of a push along the weakest loan, of which the motion without inertia has most (a push
// along all of them at once may be orthogonal to it). Then the answer is refined, and refused where that does not settle.
Verdict NaturalReduced::make_sure(const VecX& x) {
  const int body = loans_[static_cast<std::size_t>(weakest_)].body;
  const auto leave_out = [&](double* z) {
    for (std::size_t r = 0; r < active_.size(); ++r)
      if (!active_[r]) z[r] = 0;
  };
  left_.setZero();
  left_.segment(tree_.first(node_of(body)), n_) = loans_[static_cast<std::size_t>(weakest_)].along.head(n_);
  tree_.solve(left_, leave_out);
  const double moved = size_of(left_);
  double momentum = 0, energy = 0, most = 0;
  for (int b = 0; b < static_cast<int>(frames_.size()); ++b) {
    Six own = Six::Zero();
    own.head(n_) = left_.segment(tree_.first(node_of(b)), n_);
    const Eigen::Matrix<double, 6, 6> mass = mass_of(b);
    const Six change = mass * own;
    momentum += change.squaredNorm();
    energy += own.dot(change);
    const int d = c_.dimension();
    most += mass.diagonal().head(d).maxCoeff() * own.head(d).squaredNorm() +
            mass.diagonal().tail(6 - d).maxCoeff() * own.tail(6 - d).squaredNorm();
  }
  if (!(std::sqrt(momentum) > kNoInertia * moved) && !(energy > kZeroInertia * most))
    return {Status::NoInertia, body, joint_of(body), least_};
  double off = 0;
  for (int pass = 0; pass < kRefinements; ++pass) {
    left_ = right_;
    for (int b = 0; b < static_cast<int>(frames_.size()); ++b) {
      const int at = tree_.first(node_of(b));
      left_.segment(at, n_) -= mass_of(b).topLeftCorner(n_, n_) * answer_.segment(at, n_);
    }
    for_rows(x, [&](int r, int b, const Six& g) {
      const Place& at = place_[static_cast<std::size_t>(r)];
      if (at.node < 0 && !active_[static_cast<std::size_t>(at.index)]) return;
      const int row = (at.node < 0 ? tree_.first_border() : tree_.first(at.node)) + at.index, own = tree_.first(node_of(b));
      for (int k = 0; k < n_; ++k) left_[row] -= g[k] * answer_[own + k];
      left_.segment(own, n_) += answer_[row] * g.head(n_);
    });
    left_.tail(static_cast<Eigen::Index>(loans_.size())).setZero();
    tree_.solve(left_, leave_out);
    answer_ += left_;
    off = size_of(left_);
    if (off <= 1e-15 * size_of(answer_)) break;
  }
  if (!(off <= kUncertain * size_of(answer_))) return {Status::NotConverged, body, joint_of(body), off};
  return {};
}

// With unit masses the corner holds the products of the closure rows after what the tree's rows span was taken from them: its
// diagonal begins with the squared distance of each row from that span. Elimination with the largest part of its row first stops
// where the rest is what rounding left.
Verdict NaturalReduced::choose(const VecX& x) {
  const int n = static_cast<int>(active_.size());
  chosen_ = {};
  if (n == 0) return chosen_;
  place(x, nullptr);
  tree_.clear();
  for (int node = 0; node < tree_.nodes(); ++node)
    for (int i = 0; i < n_; ++i) tree_.own(node)(i, i) = 1;
  assemble_rows(x);
  for (int k = 0; k < n; ++k) {
    size_[k] = 0;
    for (int node = 0; node < tree_.nodes(); ++node) size_[k] += tree_.border_rows(node).row(k).squaredNorm();
  }
  // Without the tree nothing is known: the rows stay as they were, and nobody computes with them.
  if (const int node = tree_.eliminate(kNaturalPivot); node >= 0 || !tree_.corner().allFinite()) {
    chosen_ = {x.allFinite() ? Status::Singular : Status::NotFinite};
    if (node < 0) return chosen_;
    const TreeNode& at = spanning_.nodes[static_cast<std::size_t>(node)];
    chosen_.body = at.body, chosen_.joint = at.joint;
    return chosen_;
  }
  std::fill(active_.begin(), active_.end(), 0);
  MatX& S = tree_.corner();
  inverse_size_ = size_.cwiseInverse();
  independent_rows(n, [&](int r, int c) -> double& { return S(c, r); }, size_, inverse_size_, active_, 0);
  return chosen_;
}

// Whether the same bodies borrow as many directions, which are then taken as they are now.
bool NaturalReduced::renew_loans() {
  std::array<Loan, 6> now;
  std::size_t k = 0;
  for (int b = 0; b < static_cast<int>(units_.size()); ++b) {
    const int count = lend_to(b, now);
    for (int i = 0; i < count; ++i) {
      const Loan& loan = now[static_cast<std::size_t>(i)];
      if (k >= loans_.size() || loans_[k].body != b || loans_[k].axis != loan.axis) return false;
      loans_[k++] = loan;
    }
  }
  return k == loans_.size();
}

}  // namespace invar
