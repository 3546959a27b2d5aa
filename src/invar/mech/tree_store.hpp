// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kernel/link.hpp"
#include "invar/mech/tree_solver.hpp"

namespace invar {

/// Rows whose strengths differ by less are equal, and the first of them is taken: rounding must not choose.
inline constexpr double kTie = 1e-8;

using V = kernel::Fast;

inline V pack(const Vec3& a) {
  const double four[4] = {a.x(), a.y(), a.z(), 0};
  return V::load(four);
}
inline kernel::Triple<double> triple(const Vec3& a) { return {a.x(), a.y(), a.z()}; }
inline Vec3 unpack(const V& a) { return {kernel::first(a), kernel::second(a), kernel::third(a)}; }

/// Adds the bias of a tree joint to the bias acceleration of its body.
inline void add_bias(const kernel::Link<V>& k, const kernel::Work<V>& in, const Twist& bias, kernel::Work<V>& x) {
  const V angular = pack(bias.angular), linear = pack(bias.linear);
  if (k.reversed) {
    x.alphabar -= angular;
    x.abar -= linear + cross(angular, x.r - in.R * k.d);
  } else {
    x.alphabar += angular, x.abar += linear;
  }
}

/// Joint effort of a ball in World axes: efforts are along F's axes and act on the joint's child.
inline V ball_effort(const Model& model, const kernel::Link<V>& k, const kernel::Work<V>& x, const kernel::Work<V>& in,
                     const VecX* efforts) {
  if (!efforts) return V{};
  const Joint& joint = model.joints()[k.joint];
  const Vec3 t = efforts->segment<3>(k.effort);
  if (t.isZero(0)) return V{};
  const V on_child = (k.reversed ? x.R : in.R) * pack(joint.X_PF.q * t);
  return k.reversed ? -on_child : on_child;
}

/// Right sides of the closure rows that pass a body: += w e of one freedom, or P·e of a block.
inline void add_to_right(const kernel::Column<V>* columns, int n, int freedom, double e, double* right) {
  for (int a = 0; a < n; ++a) right[columns[a].id] += e * columns[a].w[freedom];
}
inline void add_to_right(const kernel::Column<V>* columns, int n, const V& e, V kernel::Column<V>::* block, double* right) {
  for (int a = 0; a < n; ++a) right[columns[a].id] += dot(e, columns[a].*block);
}

/// A column at which a row begins: the slot, and the wrench that it begins with.
struct RowStart {
  int column, slot;
  V f{}, n{};
};

/// Rows that couple bodies across the tree: those of a cut joint, of a coupling, or of a rotor on a cut joint.
struct Closure {
  enum class Sort { Joint, Coupling, Rotor };
  Sort sort;
  int index;      // joint or coupling
  int freedom;    // Rotor: which freedom of the joint
  int row, rows;  // place in Lambda
  double unit;    // Rotor, Coupling: the row is that of unit · rate, unit being the length of the part for an angular rate
  // A cut ball, whose rows need little else: per end (0 parent, 1 child) the body, the first of its columns, and the arm
  // from O to the joint point in body axes.
  int slot[2] = {0, 0};
  int column[2] = {-1, -1};
  kernel::Triple<double> arm[2] = {};
  kernel::Triple<double> axis[3] = {};  // of F, in axes of the parent
};

/// A freedom without inertia that got some on loan: turning or sliding it moves nothing of the subtree (I_A s = 0), so nothing of
/// it goes inwards. Its acceleration z is one more unknown of Lambda, with the column -w of the rows that drive it.
struct TreeLoan {
  int slot;
  int freedom;  // Serial: which of its freedoms; Revolute: 0
  double size;  // the loan, d
};

struct TreeSolver::Store {
  std::vector<kernel::Link<V>> links;        // slot 0 is the ground
  std::vector<kernel::Work<V>> work;         // one per slot
  std::vector<kernel::Freedom<V>> freedoms;  // of Serial hangs
  std::vector<kernel::Column<V>> columns;    // per body, the closure columns that pass it
  std::vector<Closure> closures;
  std::vector<RowStart> starts;  // their columns are cleared before every solve
  std::vector<int> loose;        // joints outside the tree, free ones included
  std::vector<int> slot_of_body;

  std::vector<double> lambda;             // rows x rows, row-major; lower part as assembled, then the factor
  std::vector<double> right, multiplier;  // rows
  std::vector<double> diagonal;           // rows: of Lambda before the factorization
  std::vector<double> pivot_column;       // rows
  std::vector<double> reduced;            // rows: of the right side, in order of elimination
  std::vector<int> order;                 // rows in order of elimination
  std::vector<int> chosen;                // rows: those kept at the last settled state, in order of elimination
  std::vector<double> gram;               // rows x rows: Φ Φᵀ there, and what is left of it
  std::vector<RowStart> carried;          // columns: the wrenches of rows, carried inwards
  std::vector<double> entries;            // columns x 3: Φ of the freedoms of one link
  std::vector<Vec6> direction;            // rows: (moment; force) on the child at the joint point, World (closure joints)
  std::vector<Vec3> p_BO;                 // slots: reference point in the body frame
  std::vector<double> masses, moments;    // slots: of the subtree, for the floors
  std::vector<TreeLoan> loans;            // never more than rows
  std::vector<double> loan_of_slot;       // slots: Revolute, 0 without
  std::vector<double> loan_of_freedom;    // freedoms of Serial hangs, 0 without
  std::vector<double> loan_columns;       // rows x loans, column-major: L⁻¹ times the columns, in the order of elimination
  std::vector<double> loan_factor;        // loans x loans, row-major: Cholesky of columnsᵀ D⁻¹ columns
  std::vector<double> loan_motion;        // loans: z
  Port external;                          // port plus the efforts of loose joints
  double total_mass = 1;

  // Place of row `id` among the columns of a slot.
  int column_at(int slot, int id) const {
    const kernel::Link<V>& link = links[slot];
    for (int c = link.column; c < link.column + link.columns; ++c)
      if (columns[c].id == id) return c;
    return -1;
  }
};

}  // namespace invar
