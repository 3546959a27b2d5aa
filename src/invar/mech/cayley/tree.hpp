// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/cayley/pins.hpp"
#include "invar/mech/cayley/slot.hpp"
#include "invar/mech/plane.hpp"
#include "invar/mech/scales.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar::cayley {

/// Rows between two parts that the tree does not join, all quadratic in points and directions:
///   Point   p_b - p_a = 0            Dot   u_b · u_a = 0            Along   u_a · (p_b - p_a) = 0
///   Ratio   q_b - f(q_a) = 0 between the coordinates of two slots (a coupling)
/// and soft ones, whose impulse is given by what they measure instead of holding it at zero:
///   Slide   u_a · (p_b - p_a), the displacement of a cut joint along u_a with its spring, damper and stops
///   Turn    the angle of u_b from u_a about n_a, of a cut joint likewise
///   Line    the length of a tendon that is stiff for the step
/// and those of inertia on loan: a freedom that moves nothing that has mass, because a closure alone holds it, gets some; with
///   Loan    the increment of that freedom, times what was lent, it is taken back exactly
template <class G>
struct Tie {
  enum class Sort { Point, Dot, Along, Ratio, Slide, Turn, Line, Loan } sort;
  int row, rows;
  int joint;                           // of the model; -1 for couplings
  int coupling;                        // of the model; -1 for joints
  int line = -1;                       // Line: which
  int freedom = -1;                    // Slide, Turn: of the model, stacked
  const Passive* passive = nullptr;    // Slide, Turn
  double q0 = 0, q1 = 0;               // Slide, Turn: coordinate at the nodes, all turns counted
  double lost = 0;                     // Slide, Turn: W
  typename G::Ang n = G::Ang::Zero();  // Turn: the axis, axes of a

  bool holds() const { return sort == Sort::Point || sort == Sort::Dot || sort == Sort::Along; }
  bool soft() const { return sort == Sort::Slide || sort == Sort::Turn || sort == Sort::Line; }
  int slot[2];                                                                                         // a, b
  typename G::Lin arm[2] = {G::Lin::Zero(), G::Lin::Zero()}, u[2] = {G::Lin::Zero(), G::Lin::Zero()};  // own axes
};

/// One closure row on its way to the ground, at one slot.
template <class G>
struct Column {
  using Vec = Eigen::Matrix<double, G::N, 1>;
  int row;
  int up;                                                        // the same row at the inner slot; -1: that is the ground
  Vec P = Vec::Zero();                                           // wrench of a unit impulse
  Vec c = Vec::Zero();                                           // row on end variations
  double R = 0, kappa = 0;                                       // along the freedom of the slot: of the impulse, of the row
  typename G::Ang RR = G::Ang::Zero(), kappas = G::Ang::Zero();  // the same for balls
};

/// A tendon on slots.
template <class G>
struct Line {
  struct Point {
    int slot = 0;
    typename G::Lin arm = G::Lin::Zero();          // own axes
    typename G::Lin p0 = arm, p1 = arm, sm = arm;  // World; sm: mean arm
    double off = 0;                                // along the normal of the plane
    double span0 = 0, span1 = 0;                   // to the point before it
  };
  const Tendon* tendon;
  int first, count;  // points
  double length0, length1;
  double lost;  // J, by its damper in the step
  Tension now;  // over the step
  bool stiff;   // its impulse is a row
  bool edge;    // it is an edge of Pins
};

/// What acts on bodies in the middle of a step.
class Loading {
 public:
  virtual ~Loading() = default;
  virtual const Load& at(const Bodies& mean) = 0;
};

/// Compositions have five sub-steps, composed once more twenty-five.
inline constexpr int kStages = 25;

/// One step of the energy-exact scheme over the spanning tree, O(N). Unknown are the mean joint rates and the impulses of ties;
/// rotations are turned by the Cayley map, and positions at node 1 are built from joint coordinates, root to leaf.
/// Laws, for the solution: what ties and joints hold at node 0 holds at node 1; energy changes by work and dissipation only;
/// linear and angular momentum change by impulses only.
template <class G>
class Tree {
 public:
  using Lin = typename G::Lin;
  using Ang = typename G::Ang;
  using Rot = typename G::Rot;
  using Vec = Eigen::Matrix<double, G::N, 1>;
  using Mat = Eigen::Matrix<double, G::N, G::N>;

  /// `h` is the length of the steps to come: tendons that are stiff for it become rows.
  Tree(const Model& model, const Plane* plane, double h);

  /// Node 0: joint coordinates (all turns counted) and rates of the model, and the velocities of its bodies.
  /// NoInertia where a freedom moves nothing that has mass.
  Verdict place(const VecX& q, const VecX& v, const Bodies& bodies);
  /// Newton from the predicted rates, or `again` from those of the last solution; node 1 is then complete. `loading` (or nullptr)
  /// says what acts at the mean motion.
  Verdict step(double h, Loading* loading, bool again = false);
  /// Node 1 becomes node 0.
  void accept();
  /// Predictions come from earlier steps with the same `stage`; forgets those of all stages.
  void recall(int stage);
  void forget();

  /// Node 1 is where node 0 is.
  void go_back();
  /// Replaces velocities ((v, w) World per slot, rates of rotors) by the nearest ones that joints and ties allow at node 1.
  Verdict project(std::vector<Vec>& velocities, std::vector<double>& rotors);
  /// Adds what unit-consistent multipliers of the ties do, at node 0 or 1, per slot.
  void add_tie_wrenches(int node, const std::vector<double>& multipliers, std::vector<Vec>& wrenches) const;

  /// The largest rate that these velocities leave on independent ties at node 1, as a part of the largest velocity that their
  /// connected part has at node 0.
  double tie_rate(const std::vector<Vec>& velocities);
  /// That velocity of the connected part of a slot, m/s, as measured by the last step.
  double speed(const Slot<G>& slot) const { return paces_[slot.pace].scale; }

  /// Energy of gravity, springs, stops and tendons at node 1, J, and the sum of the sizes of its terms: its rounding is some
  /// 1e-16 of that. Not known where a spring has no energy.
  struct Potential {
    double value = 0, size = 0;
    bool known = true;
  };
  Potential potential() const;

  int iterations() const { return iterations_; }
  double dissipated() const { return dissipated_; }  ///< J, in the last step
  double work(double h) const;                       ///< J, of the load in the last step
  void bodies(Bodies& out) const;                    ///< at node 0
  Quat attitude(int body, const Rot& R) const;       ///< of a body whose slot has the axes R
  std::vector<Slot<G>>& slots() { return slots_; }
  const std::vector<Slot<G>>& slots() const { return slots_; }
  /// Of the ties in the last projection: M (v_given - v_found) = Σ rowᵀ multiplier + joint wrenches.
  const std::vector<double>& projection_multipliers() const { return mu_; }
  const std::vector<Tie<G>>& ties() const { return ties_; }
  const Skeleton& skeleton() const { return skeleton_; }
  const Plane* plane() const { return plane_; }
  const Scales& scales() const { return scales_; }
  const Lin& gravity() const { return gravity_; }
  int rank() const { return static_cast<int>(kept_.size()); }
  /// How many rows of ties the joint graph counts (see independent_rows); 0: nobody asked it.
  void set_wanted_rank(int rank) { wanted_rank_ = rank; }
  int rows() const { return rows_; }
  bool tied_to_ground() const;  ///< whether a closure or a tendon ends there
  bool redundant() const { return rank() < hard_rows_; }

  /// From φ of its slot to the centre of mass of a body, axes of the slot.
  const Lin& centre(int body) const { return centres_[body]; }
  Lin lin(const Vec3& a) const;
  Ang ang(const Vec3& a) const;
  /// The axes of G in those of the part.
  const Eigen::Matrix<double, 3, G::L>& basis(int slot) const { return basis_[slot]; }

 private:
  void compile(double h);
  void compile_slot(int i);
  bool coupled(int freedom) const;
  void compile_ties();
  void compile_joint_ties(int joint);
  void compile_soft_ties(int joint, const Lin& arm_a, const Lin& arm_b);
  void compile_loans();
  void compile_columns();
  void compile_lines(double h);
  int edge_of(const Line<G>& line) const;
  void compile_pins();
  void place_pins();
  double start_pins();
  bool finish_pins(double h);
  void forward_pins(double h, const Load* load);
  void pull_pins(double h);
  double contraction(const Line<G>& line, double h) const;
  void store(int body, const Lin& p, const Lin& v, const Ang& w, const Rot& R, Bodies& out) const;
  void place_slot(int i, const VecX& q, const VecX& v, const Bodies& bodies);
  void predict(bool again);
  void copy_unknowns(double* out) const;
  void remember();
  void measure_speeds();
  void measure_extents();
  bool converged(double h, double feedback, double noise);
  void measure_contraction(double shrank);
  bool finish(double h);
  void move(Slot<G>& b, const Slot<G>& a, double h) const;
  void forward(double h, const Load* load);
  void efforts(Slot<G>& b, double h, const Load* load);
  void measure_lines();
  void keep_lines();
  void pull(double h);
  void push(double h, const Load* load);
  Verdict iterate(double h, const Load* load);
  Verdict newton(double h, Loading* loading);
  Verdict damped(double h, Loading* loading);
  const Load* load_of(double h, Loading* loading, double& feedback);
  void set_scales(double h, const Load* load);
  /// Whether Newton converges linearly: its Jacobian leaves something out, or a load answers to the motion.
  bool slow(double feedback) const { return inexact_ > 0 || feedback > 0; }
  Verdict astray() const;
  double increment() const;
  void take_unknowns(double part);
  void set_unknowns();
  void repeat();
  double ask(double h, Loading& loading);
  void spread(double h, const Bodies& bodies, Load& load) const;
  void mean_bodies(Bodies& out) const;
  double coordinate(const Tie<G>& tie) const;
  void start_ties(double h, bool step);
  void start_tie(const Tie<G>& tie, double h, bool step);
  void start_soft(Tie<G>& tie, double h);
  void start_line(const Tie<G>& tie, double h);
  void add_to_column(int slot, int row, const Vec& P, const Vec& c);
  void soften();
  void add_loans();
  void ball_efforts(int i, double h);
  void start_ratio(const Tie<G>& tie, double h, bool step);
  Column<G>* column(int slot, int row);
  int loan_column(const Slot<G>& b) const;
  Verdict look_at_loans();
  Verdict eliminate(double h);
  bool eliminate_one(Slot<G>& b, Slot<G>& a, double h);
  bool eliminate_ball(Slot<G>& b, Slot<G>& a, double h);
  bool eliminate_free(Slot<G>& b, double h);
  template <int Size>
  void settle_loans(const Slot<G>& b, const Eigen::Matrix<double, Size, Size>& left);
  void columns_one(Slot<G>& b, const Vec& e, const Vec& y);
  void add_to_D(const Slot<G>& b);
  void decide_rows();
  void scale_rows();
  int solve_rows(const std::vector<int>& rows);
  int joint_of_row(int row) const;
  void substitute(bool update, double h);

  const Model& model_;
  const Plane* plane_;
  Scales scales_;
  Skeleton skeleton_;
  std::vector<Eigen::Matrix<double, 3, G::L>> basis_;  // per slot
  std::vector<double> offset_;                         // per slot, of φ along the normal, m
  std::vector<Vec3> normal_;                           // per slot, in axes of the part
  std::vector<Lin> centres_;                           // per body: from φ of its slot, own axes, m
  std::vector<double> heights_;                        // per body: of its centre of mass along the normal, m
  std::vector<Slot<G>> slots_;
  Pins pins_;  // empty where there is more than pins in the plane
  std::vector<Tie<G>> ties_;
  std::vector<Column<G>> columns_;
  std::vector<Line<G>> lines_;
  std::vector<typename Line<G>::Point> points_;
  Lin gravity_;
  double length_ = 0;  // s; of usual steps
  int unknowns_ = 0, rows_ = 0, hard_rows_ = 0, first_loan_ = 0, iterations_ = 0;
  std::size_t worst_ = 0;  // slot of the largest increment
  struct Pace {
    double scale = 0;            // m/s: what increments are compared with
    double now = 0, before = 0;  // m/s: the largest increment, and the one before
    double least = 0;            // m/s: the smallest increment of this iteration
    int stalled = 0;             // increments since then
    double ratio = 0;            // of the last two increments
    int steady = 0;              // increments for which it has been the same
    double extent = 0;           // m
  };
  std::vector<Pace> paces_;                    // per connected part; pins count as one
  double inexact_ = 0, inexact_at_first_ = 0;  // contraction of Newton by what the Jacobian leaves out; 0: nothing
  int since_measured_ = 0;                     // steps
  bool measured_ = false;                      // whether efforts need the angles of all hinges
  double dissipated_ = 0;
  Bodies bodies_;      // at the mean of the nodes
  Load load_, asked_;  // what acts there; as it was told

  std::vector<double> guess_;                      // unknowns
  std::vector<double> base_, whole_, here_;        // unknowns and impulses of damped iterates
  std::vector<Vec> at_rest_;                       // per slot; workspace of place
  std::vector<double> rotors_at_rest_;             // per slot; workspace of place
  std::vector<double> lambda_, dlambda_, mu_;      // rows: impulses, increments, of the projection
  std::vector<double> D_, value_, lu_, right_;     // rows x rows, rows; workspace
  std::vector<double> least_;                      // rows: inverse mass or inertia of the whole
  std::vector<double> given_, stiffness_;          // rows, soft ones: impulse and its derivative
  std::vector<double> row_scale_, unknown_scale_;  // rows: of equations and impulses, powers of two
  std::vector<char> idle_;                         // rows: a loan that is not taken
  double weakest_ = 1;                             // least pivot of a loan
  std::vector<int> active_;                        // independent and soft rows, loans
  std::vector<int> loose_;                         // joints whose efforts act as wrenches: balls, free and cut ones
  std::vector<int> sprung_balls_;                  // slots
  std::vector<int> kept_;                          // independent rows, ascending
  int wanted_rank_ = 0;
  std::vector<char> taken_;       // rows; workspace
  std::vector<double> strength_;  // rows: mass or inertia of the whole, what makes them comparable
  struct Past {
    std::array<std::vector<double>, 4> unknowns, impulses;  // of the last steps, a ring
    int latest = 0;                                         // where the last one is; older ones follow
    int known = 0;                                          // how many of them
  };
  std::array<Past, kStages> past_;
  int stage_ = 0;
};

}  // namespace invar::cayley
