// SPDX-License-Identifier: Apache-2.0
//
// Newton's equations from the leaves to the root. Increments are written as end variations dY = (dv, dψ), dψ = (angle turned at
// node 1)/h, so that kinematics is linear at node 1 while tests live at the means:
//   dY_B = A dY_A + S dq,   A = [1, arm(r_1); 0, 1],   row: e·k,   d(row) = E·dY_B,   E = Kᵀe + (geometry of e)
// With δ = E·S the freedom is eliminated, dq = -(row + E·A dY_A)/δ, and the inner slot receives
//   k_A += Xᵀk - K'S row/δ,   K_A += K'A - K'S (AᵀE)ᵀ/δ,   Xᵀ = [1 0; armᵀ(r_m) 1],   K' = XᵀK + (h/2)[0 0; lever(f) 0],
// where the last term, which comes back with the other sign on A, is the change of the arm r_m.
// A closure row (c on dY, impulse P in k) travels with it:  κ = c·S,  R = e·P,
//   c_A += Aᵀc - κ/δ AᵀE,   P_A += XᵀP - K'S R/δ,   and gives  D_ij -= κ_i R_j/δ,   value_i -= κ_i row/δ.
// Then D dλ = -value, and the increments follow from the root to the leaves. With h = 0 and e = S all of this is the projection
// of velocities in the metric of the masses.
//
// Inertia on loan. A freedom with δ = 0 is no error yet: closures may hold it. It gets δ' = δ + d, and a row of its own, whose
// impulse z does -d to the freedom and which asks for z = dq: κ = 1, R = -d, and on the diagonal -1 + d/δ' = -δ/δ'. That is exact
// for any δ; with it closures see no freedom that is much lighter than others, so their rank is that of the geometry.
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/independent_rows.hpp"

namespace invar::cayley {
namespace {

// Freedoms with less than this part of the usual inertia borrow.
constexpr double kLend = 1e-3;
// Below this pivot of a loan the motion is looked at; it has no inertia if its momentum is below this part of it, and its energy
// is round-off of its bodies' inertia.
constexpr double kWeak = 1e-9, kNoMomentum = 1e-10, kNoEnergy = 1e-14;

// Moves a wrench to φ of the inner slot.
template <class G, class V>
V shifted(const V& k, const typename G::Lin& r) {
  V out = k;
  out.template tail<G::A>() += G::moment(r, k.template head<G::L>());
  return out;
}

// Aᵀ c.
template <class G, class V>
V back(const V& c, const typename G::Lin& r1) {
  return shifted<G>(c, r1);
}

}  // namespace

template <class G>
void Tree<G>::columns_one(Slot<G>& b, const Vec& e, const Vec& y) {
  const double inverse = 1 / b.delta;
  const int end = b.column + b.columns;
  for (int i = b.column; i < end; ++i) {
    Column<G>& col = columns_[i];
    if (idle_[col.row]) continue;
    col.R += e.dot(col.P);
    col.kappa += col.c.dot(b.S);
    value_[col.row] -= col.kappa * b.row * inverse;
    if (col.up < 0) continue;
    columns_[col.up].P += shifted<G>(col.P, b.rm) - (col.R * inverse) * y;
    columns_[col.up].c += back<G>(col.c, b.r1) - (col.kappa * inverse) * b.E;
  }
  for (int i = b.column; i < end; ++i) {
    if (idle_[columns_[i].row]) continue;
    double* D = D_.data() + static_cast<std::ptrdiff_t>(columns_[i].row) * rows_;
    const double factor = columns_[i].kappa * inverse;
    for (int j = b.column; j < end; ++j) D[columns_[j].row] -= factor * columns_[j].R;
  }
}

template <class G>
bool Tree<G>::eliminate_one(Slot<G>& b, Slot<G>& a, double h) {
  Mat K = b.K;
  const Vec k = b.k;
  const Lin f = k.template head<G::L>();
  const Ang t = k.template tail<G::A>();
  Vec e, E;
  Ang inner_geometry = Ang::Zero();
  if (b.hang == Hang::Slide) {
    e << b.am, Ang::Zero();
    b.S << b.a1, Ang::Zero();
    E.noalias() = K.transpose() * e;
    E.template tail<G::A>() += 0.5 * h * (G::differential(0.5 * h * b.w).transpose() * G::moment(b.a0, f));
  } else {
    e << G::cross(b.nm, b.gamm), b.nm;
    b.S << G::cross(b.n1, b.gam1), b.n1;
    if constexpr (G::A == 3) {
      if (b.hang == Hang::Screw) {
        e.template head<3>() += b.pitch * b.work * b.am;
        b.S.template head<3>() += b.pitch * b.n1;
        inner_geometry = 0.5 * h * b.pitch * b.work * (G::differential(0.5 * h * a.w).transpose() * b.n0.cross(f));
      }
    }
    const Ang mu = t + G::moment(b.gamm, f);
    E.noalias() = K.transpose() * e;
    E.template tail<G::A>() += 0.5 * h * (G::turn(b.n1, mu) - G::moment(b.gam1, G::cross(b.nm, f)));
  }
  b.row = e.dot(k) + b.extra;
  b.delta = E.dot(b.S) + b.slope;
  // What moving the part this far along, or around at the distance of the model's size, would take at most.
  const auto weight = K.diagonal().cwiseAbs();
  const double turn2 = b.S.template tail<G::A>().squaredNorm(), move2 = b.S.template head<G::L>().squaredNorm();
  const double most = weight.template head<G::L>().maxCoeff() * (move2 + b.size * b.size * turn2) +
                      weight.template tail<G::A>().maxCoeff() * turn2;
  const double own = b.delta;
  if (b.loan >= 0) {
    // Decided where velocities are projected, and kept.
    const double usual = b.usual * (move2 + b.size * b.size * turn2);
    if (h == 0 && b.lent == 0 && !(own > kLend * usual)) b.lent = usual, idle_[b.loan] = 0;
    if (b.lent > 0) {
      Column<G>& loan = columns_[loan_column(b)];
      loan.R -= b.lent;
      loan.kappa += 1;
      b.delta += b.lent;
    }
  }
  const auto settle_loan = [&] {
    if (b.lent > 0) D_[static_cast<std::size_t>(b.loan) * static_cast<std::size_t>(rows_ + 1)] = -own / b.delta;
  };
  if (!(std::abs(b.delta) > kNoInertia * most)) return false;
  if (b.inner == 0) {
    if (b.columns > 0) columns_one(b, e, Vec::Zero());
    settle_loan();
    return true;
  }
  Vec inner = back<G>(E, b.r1);
  inner.template tail<G::A>() += inner_geometry;
  b.E = inner;
  // K', K'S, and K'A - K'S Eᵀ/δ.
  K.template bottomRows<G::A>() += G::arm(b.rm).transpose() * K.template topRows<G::L>();
  const typename G::AL turn = 0.5 * h * G::lever(f);
  K.template bottomLeftCorner<G::A, G::L>() += turn;
  const Vec y = K * b.S;
  const double inverse = 1 / b.delta;
  K.template rightCols<G::A>() += K.template leftCols<G::L>() * G::arm(b.r1);
  K.template bottomLeftCorner<G::A, G::L>() -= turn;
  K.noalias() -= y * (inverse * inner).transpose();
  a.K += K;
  a.k += shifted<G>(k, b.rm) - (b.row * inverse) * y;
  if (b.columns > 0) columns_one(b, e, y);
  settle_loan();
  return true;
}

// Where the columns of its loan are among all.
template <class G>
int Tree<G>::loan_column(const Slot<G>& b) const {
  int i = b.column;
  while (columns_[i].row != b.loan) ++i;
  return i;
}

// A ball: three rows t + γ_m × f, the inner slot feels the force alone.
template <class G>
bool Tree<G>::eliminate_ball(Slot<G>& b, Slot<G>& a, double h) {
  using AN = Eigen::Matrix<double, G::A, G::N>;
  using NA = Eigen::Matrix<double, G::N, G::A>;
  const Lin f = b.k.template head<G::L>();
  const typename G::LA arm1 = G::arm(b.gam1), rho1 = G::arm(b.rho1);
  AN E = G::arm(b.gamm).transpose() * b.K.template topRows<G::L>() + b.K.template bottomRows<G::A>();
  E.template rightCols<G::A>() += 0.5 * h * G::lever(f) * arm1;
  b.rows = b.k.template tail<G::A>() + G::moment(b.gamm, f);
  typename G::AA pivot = E.template leftCols<G::L>() * arm1 + E.template rightCols<G::A>() + b.resist;
  const typename G::AA own = pivot;
  if (b.loan >= 0) {
    const double usual = b.usual * (b.size * b.size + b.gam1.squaredNorm());
    if (h == 0 && b.lent == 0) {
      const double least = G::A == 1 ? own(0, 0) : Eigen::SelfAdjointEigenSolver<typename G::AA>(own).eigenvalues()[0];
      if (!(least > kLend * usual)) b.lent = usual, std::fill_n(idle_.begin() + b.loan, G::A, 0);
    }
    if (b.lent > 0) pivot.diagonal().array() += b.lent;
  }
  const double size = pivot.cwiseAbs().maxCoeff(), det = pivot.determinant();
  if (!(size > 0) || !(std::abs(det) > kNoInertia * (G::A == 1 ? size : size * size * size))) return false;
  b.pivot = pivot.inverse();
  // On the inner slot: E A with A = [1, arm(ρ_1); 0, 0].
  b.EE.template leftCols<G::L>() = E.template leftCols<G::L>();
  b.EE.template rightCols<G::A>() = E.template leftCols<G::L>() * rho1 - b.resist;
  NA y;  // XᵀK S
  y.template topRows<G::L>() = b.K.template topLeftCorner<G::L, G::L>() * arm1 + b.K.template topRightCorner<G::L, G::A>();
  y.template bottomRows<G::A>() = G::arm(b.rhom).transpose() * y.template topRows<G::L>() - b.resist;
  const NA yp = y * b.pivot;
  if (b.inner != 0) {
    Mat K;
    K.template topLeftCorner<G::L, G::L>() = b.K.template topLeftCorner<G::L, G::L>();
    K.template topRightCorner<G::L, G::A>() = b.K.template topLeftCorner<G::L, G::L>() * rho1;
    K.template bottomRows<G::A>() = G::arm(b.rhom).transpose() * K.template topRows<G::L>();
    K.noalias() -= yp * b.EE;
    K.template bottomRightCorner<G::A, G::A>() += 0.5 * h * G::lever(f) * rho1 + b.resist;
    a.K += K;
    a.k.template head<G::L>() += f;
    a.k.template tail<G::A>() += G::moment(b.rhom, f);
    a.k -= yp * b.rows;
  }
  for (int i = b.column; i < b.column + b.columns; ++i) {
    Column<G>& col = columns_[i];
    if (idle_[col.row]) continue;
    const Lin F = col.P.template head<G::L>(), c = col.c.template head<G::L>();
    col.RR = col.P.template tail<G::A>() + G::moment(b.gamm, F);
    col.kappas = b.pivot.transpose() * (col.c.template tail<G::A>() + arm1.transpose() * c);
    if (const int k = col.row - b.loan; b.lent > 0 && k >= 0 && k < G::A) {
      col.RR[k] -= b.lent;
      col.kappas += b.pivot.transpose().col(k);
    }
    value_[col.row] -= col.kappas.dot(b.rows);
    if (col.up < 0) continue;
    Column<G>& up = columns_[col.up];
    up.P.template head<G::L>() += F;
    up.P.template tail<G::A>() += G::moment(b.rhom, F);
    up.P -= yp * col.RR;
    up.c.template head<G::L>() += c;
    up.c.template tail<G::A>() += rho1.transpose() * c;
    up.c -= b.EE.transpose() * col.kappas;
  }
  add_to_D(b);
  if (b.lent > 0) settle_loans<G::A>(b, -b.pivot * own);
  return true;
}

// What a loan leaves on its own diagonal, written rather than computed.
template <class G>
template <int Size>
void Tree<G>::settle_loans(const Slot<G>& b, const Eigen::Matrix<double, Size, Size>& left) {
  for (int i = 0; i < Size; ++i)
    for (int j = 0; j < Size; ++j) D_[static_cast<std::size_t>((b.loan + i) * rows_ + b.loan + j)] = left(i, j);
}

template <class G>
void Tree<G>::add_to_D(const Slot<G>& b) {
  for (int i = b.column; i < b.column + b.columns; ++i)
    for (int j = b.column; j < b.column + b.columns && !idle_[columns_[i].row]; ++j)
      D_[static_cast<std::size_t>(columns_[i].row * rows_ + columns_[j].row)] -= columns_[i].kappas.dot(columns_[j].RR);
}

// A floating root: K dY = -k, all at once.
template <class G>
bool Tree<G>::eliminate_free(Slot<G>& b, double h) {
  // Turning measured at the distance of the body's size: kg everywhere.
  Vec unit = Vec::Ones();
  unit.template tail<G::A>().setConstant(1 / b.size);
  const Mat own = b.K;
  if (b.loan >= 0) {
    if (h == 0 && b.lent == 0) {
      const Mat scaled = unit.asDiagonal() * own * unit.asDiagonal();
      if (!(Eigen::SelfAdjointEigenSolver<Mat>(scaled).eigenvalues()[0] > kLend * b.usual))
        b.lent = b.usual, std::fill_n(idle_.begin() + b.loan, G::N, 0);
    }
    if (b.lent > 0) {
      const int first = loan_column(b);
      for (int k = 0; k < G::N; ++k) {
        const double lent = b.lent / (unit[k] * unit[k]);
        columns_[first + k].c[k] += 1;
        columns_[first + k].P[k] -= lent;
        b.K(k, k) += lent;
      }
    }
  }
  const Eigen::PartialPivLU<Mat> lu(unit.asDiagonal() * b.K * unit.asDiagonal());
  const auto diagonal = lu.matrixLU().diagonal().cwiseAbs();
  if (!(diagonal.minCoeff() > kNoInertia * diagonal.maxCoeff())) return false;
  b.K = unit.asDiagonal() * lu.inverse() * unit.asDiagonal();
  for (int i = b.column; i < b.column + b.columns; ++i) {
    if (idle_[columns_[i].row]) continue;
    const Vec c = b.K.transpose() * columns_[i].c;
    value_[columns_[i].row] -= c.dot(b.k);
    for (int j = b.column; j < b.column + b.columns; ++j)
      D_[static_cast<std::size_t>(columns_[i].row * rows_ + columns_[j].row)] -= c.dot(columns_[j].P);
  }
  if (b.lent > 0) settle_loans<G::N>(b, -b.K * own);
  return true;
}

template <class G>
Verdict Tree<G>::eliminate(double h) {
  for (std::size_t i = slots_.size(); i-- > 1;) {
    Slot<G>& b = slots_[i];
    Slot<G>& a = slots_[b.inner];
    bool fine = true;
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball: fine = eliminate_ball(b, a, h); break;
      case Hang::Free: fine = eliminate_free(b, h); break;
      default: fine = eliminate_one(b, a, h);
    }
    if (!fine) return {Status::NoInertia, skeleton_.parts[i].body, skeleton_.parts[i].joint, b.delta};
  }
  return {};
}

// The rows that hold independently. Those kept before stay unless others are much stronger, so that impulses can be extrapolated.
template <class G>
void Tree<G>::decide_rows() {
  const auto n = static_cast<std::size_t>(rows_);
  std::copy(D_.begin(), D_.end(), lu_.begin());
  // A row that moves next to nothing says nothing, and those of springs and loans hold nothing.
  for (std::size_t r = 0; r < n; ++r) right_[r] = lu_[r * n + r] > kMovesNothing * least_[r] ? lu_[r * n + r] : 0.0;
  std::fill(taken_.begin(), taken_.end(), 0);
  for (const int r : kept_) taken_[r] = 1;
  independent_rows(
      rows_, [&](int r, int c) -> double& { return lu_[static_cast<std::size_t>(r) * n + static_cast<std::size_t>(c)]; }, right_,
      strength_, taken_, wanted_rank_);
  bool same = true;
  std::size_t k = 0;
  for (int r = 0; r < rows_; ++r)
    if (taken_[r]) same = same && k < kept_.size() && kept_[k++] == r;
  same = same && k == kept_.size();
  if (same) return;
  kept_.clear();
  for (int r = 0; r < rows_; ++r)
    if (taken_[r]) kept_.push_back(r);
  // Impulses on other rows say nothing about these.
  forget();
}

// Units in which rows compare: closures by their own diagonal, loans by what was lent. Powers of two do not round.
template <class G>
void Tree<G>::scale_rows() {
  for (const Tie<G>& tie : ties_) {
    if (tie.soft()) continue;
    for (int r = tie.row; r < tie.row + tie.rows; ++r) {
      if (tie.sort != Tie<G>::Sort::Loan) {
        const double own = D_[static_cast<std::size_t>(r) * static_cast<std::size_t>(rows_ + 1)];
        if (own > 0) row_scale_[r] = unknown_scale_[r] = power_of_two(1 / std::sqrt(own));
      } else if (const Slot<G>& b = slots_[tie.slot[1]]; b.lent > 0) {
        const bool turns = b.hang == Hang::Free && r - tie.row >= G::L;
        row_scale_[r] = power_of_two(std::sqrt(b.lent) * (turns ? b.size : 1.0));
        unknown_scale_[r] = 1 / row_scale_[r];
      }
    }
  }
}

// The loans that are taken are unknowns of every solution.
template <class G>
void Tree<G>::add_loans() {
  for (const Tie<G>& tie : ties_)
    if (tie.sort == Tie<G>::Sort::Loan && !idle_[tie.row])
      for (int r = tie.row; r < tie.row + tie.rows; ++r) active_.push_back(r);
}

// A loan whose pivot is small behind all closures is a freedom that they hardly hold. Pivots fall with the square of a distance,
// the momentum of the motion with the distance itself, and its energy is what is left of the inertia of its bodies: the motion
// says whether there is inertia. Everything is at rest here.
template <class G>
Verdict Tree<G>::look_at_loans() {
  if (!(weakest_ < kWeak)) return {};
  for (const Tie<G>& tie : ties_)
    if (tie.sort == Tie<G>::Sort::Loan && !idle_[tie.row])
      for (int r = tie.row; r < tie.row + tie.rows; ++r) value_[r] = 1 / row_scale_[r];
  const int without = solve_rows(active_);
  if (without < 0) {
    substitute(false, 0);
    double moved = 0, momentum = 0, energy = 0, most_energy = 0;
    std::size_t most = 1;
    double farthest = 0;
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      const Slot<G>& b = slots_[i];
      const double v = b.dY.template head<G::L>().norm(), w = b.dY.template tail<G::A>().norm();
      const double here = v * v + b.size * b.size * w * w;
      const Ang turning = into<G>(b.R1, Ang(b.dY.template tail<G::A>()));
      if (here > farthest && skeleton_.parts[i].body != kWorld) farthest = here, most = i;
      moved += here;
      momentum += std::pow(b.mass * v / b.usual, 2) + (b.J * turning).squaredNorm() / std::pow(b.usual * b.size, 2);
      momentum += std::pow(b.armature * b.dq / b.usual, 2) / (b.hang == Hang::Slide ? 1 : b.size * b.size);
      energy += b.mass * v * v + turning.dot(b.J * turning) + b.armature * b.dq * b.dq;
      most_energy += b.mass * v * v + b.J.trace() * w * w + b.armature * b.dq * b.dq;
    }
    if (momentum > kNoMomentum * kNoMomentum * moved || energy > kNoEnergy * most_energy) return {};
    return {Status::NoInertia, skeleton_.parts[most].body, skeleton_.parts[most].joint, weakest_};
  }
  // No pivot at all: the freedom of that loan has no inertia, or the row depends on the others.
  for (const Tie<G>& tie : ties_)
    if (tie.sort == Tie<G>::Sort::Loan && without >= tie.row && without < tie.row + tie.rows) {
      const auto& part = skeleton_.parts[static_cast<std::size_t>(tie.slot[1])];
      return {Status::NoInertia, part.body, part.joint, 0};
    }
  return {Status::Singular, -1, joint_of_row(without), 0};
}

// D dλ = -value on some rows, by elimination with row exchanges. Returns -1, or the row that is left without a pivot.
template <class G>
int Tree<G>::solve_rows(const std::vector<int>& rows) {
  const std::size_t n = rows.size();
  std::fill(dlambda_.begin(), dlambda_.end(), 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    const double* D = D_.data() + static_cast<std::ptrdiff_t>(rows[r]) * rows_;
    const double scale = row_scale_[rows[r]];
    for (std::size_t c = 0; c < n; ++c) lu_[r * n + c] = scale * D[rows[c]] * unknown_scale_[rows[c]];
    right_[r] = -scale * value_[static_cast<std::size_t>(rows[r])];
  }
  weakest_ = 1;
  for (std::size_t p = 0; p < n; ++p) {
    std::size_t best = p;
    for (std::size_t r = p + 1; r < n; ++r)
      if (std::abs(lu_[r * n + p]) > std::abs(lu_[best * n + p])) best = r;
    if (!(std::abs(lu_[best * n + p]) > 0)) return rows[p];
    if (best != p) {
      std::swap_ranges(lu_.begin() + static_cast<std::ptrdiff_t>(best * n),
                       lu_.begin() + static_cast<std::ptrdiff_t>(best * n + n), lu_.begin() + static_cast<std::ptrdiff_t>(p * n));
      std::swap(right_[best], right_[p]);
    }
    if (rows[p] >= first_loan_) weakest_ = std::min(weakest_, std::abs(lu_[p * n + p]));
    const double inverse = 1 / lu_[p * n + p];
    for (std::size_t r = p + 1; r < n; ++r) {
      const double factor = lu_[r * n + p] * inverse;
      if (factor == 0) continue;
      for (std::size_t c = p + 1; c < n; ++c) lu_[r * n + c] -= factor * lu_[p * n + c];
      right_[r] -= factor * right_[p];
    }
  }
  for (std::size_t p = n; p-- > 0;) {
    for (std::size_t c = p + 1; c < n; ++c) right_[p] -= lu_[p * n + c] * right_[c];
    right_[p] /= lu_[p * n + p];
    dlambda_[static_cast<std::size_t>(rows[p])] = unknown_scale_[rows[p]] * right_[p];
  }
  return -1;
}

// The joint that a row belongs to; -1 for couplings and tendons.
template <class G>
int Tree<G>::joint_of_row(int row) const {
  for (const Tie<G>& tie : ties_)
    if (row >= tie.row && row < tie.row + tie.rows) return tie.joint;
  return -1;
}

// Increments from the root to the leaves, and the largest in each connected part, as a velocity.
template <class G>
void Tree<G>::substitute(bool update, double h) {
  double worst = 0;
  for (Pace& pace : paces_) pace.now = 0;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    const Slot<G>& a = slots_[b.inner];
    const bool ground = b.inner == 0;
    const Column<G>* columns = columns_.data() + b.column;
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball: {
        Ang right = b.rows;
        for (int c = 0; c < b.columns; ++c) right += columns[c].RR * dlambda_[columns[c].row];
        if (!ground) right += b.EE * a.dY;
        const Ang turn = -(b.pivot * right);
        b.dY.template tail<G::A>() = turn;
        b.dY.template head<G::L>() =
            a.dY.template head<G::L>() + G::cross(a.dY.template tail<G::A>(), b.rho1) + G::cross(turn, b.gam1);
        if (update) b.w += G::differential(0.5 * h * b.w) * turn;
        break;
      }
      case Hang::Free: {
        Vec right = b.k;
        for (int c = 0; c < b.columns; ++c) right += columns[c].P * dlambda_[columns[c].row];
        b.dY.noalias() = -b.K * right;
        if (!update) break;
        b.v += b.dY.template head<G::L>();
        b.w += G::differential(0.5 * h * b.w) * b.dY.template tail<G::A>();
        break;
      }
      default: {
        double right = b.row;
        for (int c = 0; c < b.columns; ++c) right += columns[c].R * dlambda_[columns[c].row];
        if (!ground) right += b.E.dot(a.dY);
        b.dq = -right / b.delta;
        b.dY = b.dq * b.S;
        if (!ground) {
          b.dY += a.dY;
          b.dY.template head<G::L>() += G::cross(a.dY.template tail<G::A>(), b.r1);
        }
        if (update) b.s += b.hang == Hang::Slide ? b.dq : b.dq * (1 + 0.25 * h * h * b.s * b.s);
      }
    }
    const double size = b.dY.template head<G::L>().squaredNorm() + b.size * b.size * b.dY.template tail<G::A>().squaredNorm();
    Pace& pace = paces_[b.pace];
    if (size > pace.now || !(size == size)) pace.now = size;
    const double relative = size / (pace.scale * pace.scale);
    if (relative > worst || !(size == size)) worst = relative, worst_ = i;
  }
  for (Pace& pace : paces_) pace.now = std::sqrt(pace.now);
  if (update)
    for (std::size_t r = 0; r < lambda_.size(); ++r) lambda_[r] += dlambda_[r];
}

#define INVAR_MEMBERS(G)                                     \
  template Verdict Tree<G>::eliminate(double);               \
  template void Tree<G>::decide_rows();                      \
  template void Tree<G>::scale_rows();                       \
  template void Tree<G>::add_loans();                        \
  template Verdict Tree<G>::look_at_loans();                 \
  template int Tree<G>::solve_rows(const std::vector<int>&); \
  template int Tree<G>::joint_of_row(int) const;             \
  template void Tree<G>::substitute(bool, double);
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
