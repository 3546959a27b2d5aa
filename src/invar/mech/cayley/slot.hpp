// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/cayley/geometry.hpp"
#include "invar/mech/cayley/skeleton.hpp"

namespace invar::cayley {

/// A Part in numbers, with the work of one step. Index 0 is the node at which the step starts, 1 the node at which it ends, m the
/// mean of the two; s, v, w are mean velocities over the step.
template <class G>
struct Slot {
  using Lin = typename G::Lin;
  using Ang = typename G::Ang;
  using Rot = typename G::Rot;
  using AA = typename G::AA;
  using Vec = Eigen::Matrix<double, G::N, 1>;
  using Mat = Eigen::Matrix<double, G::N, G::N>;

  // Constants.
  Hang hang = Hang::Ground;
  int inner = 0;                     // slot it hangs on; 0 is the ground
  int unknown = 0;                   // first of its unknowns
  Rot Q = Rot::Identity();           // its axes at coordinate zero, in those of the inner slot
  Lin rho = Lin::Zero();             // from φ of the inner slot to the joint point, inner axes
  Lin gam = Lin::Zero();             // from the joint point to φ, own axes
  double pitch = 0;                  // of screws, m/rad
  bool massive = false;              // has mass or inertia
  double mass = 0;                   // kg
  AA J = AA::Zero();                 // about φ, own axes
  const Passive* passive = nullptr;  // of its freedom, if there is any
  double armature = 0;               // kg m² or kg
  double size = 0;                   // m; makes turning comparable to moving
  int part = 0;                      // connected part
  int pace = 0;                      // where its increments are measured: with its part, pins all together
  double usual = 1;                  // kg; mass of a body of its connected part
  double reach = 1;                  // m; length of its connected part
  int loan = -1;                     // first row of the unknowns that take back inertia on loan; -1: never borrows
  int freedom = -1;                  // of the model, stacked
  bool angle = false;                // whether somebody needs its coordinate within the step
  double sign = 1;                   // its coordinate = sign · coordinate of the model
  int column = 0, columns = 0;       // closure rows whose path to the ground passes here

  // Node 0.
  double q0 = 0, c0 = 1, s0 = 0;             // coordinate; cosine and sine of an angle
  double rate0 = 0;                          // of the rotor, if it has armature
  Rot R0 = Rot::Identity();                  // axes in World
  Lin phi0 = Lin::Zero(), v0 = Lin::Zero();  // m, m/s
  Ang W0 = Ang::Zero();                      // rad/s, own axes
  Lin rho0 = Lin::Zero(), gam0 = Lin::Zero();
  Ang n0 = Ang::Zero();  // hinge axis
  Lin a0 = Lin::Zero();  // slide axis
  Ang pi0 = Ang::Zero();

  // The step: mean velocities, node 1, means.
  double s = 0;     // hinge, screw: (2/h) tan(Δq/2); slide: Δq/h
  double rate = 0;  // hinge, screw: component of w - w_inner along n_m
  double work = 1;  // hinge, screw: Δq/(h rate), the ratio of what efforts and tests see
  double q1 = 0, c1 = 1, s1 = 0;
  Lin v = Lin::Zero();
  Ang w = Ang::Zero();
  Rot R1 = Rot::Identity();
  Lin phi1 = Lin::Zero(), rho1 = Lin::Zero(), gam1 = Lin::Zero(), r1 = Lin::Zero();
  Lin rhom = Lin::Zero(), gamm = Lin::Zero(), rm = Lin::Zero();
  Ang n1 = Ang::Zero(), nm = Ang::Zero();
  Lin a1 = Lin::Zero(), am = Lin::Zero();  // am: a0 + (h/2) w × a0, along which a slide is tested
  Lin v1 = Lin::Zero();
  Ang W1 = Ang::Zero(), pi1 = Ang::Zero();
  double rate1 = 0;  // of the rotor

  // Elimination.
  Mat K = Mat::Zero();        // d(wrench)/d(end variation) of the subtree
  Vec k = Vec::Zero();        // wrench of the subtree about φ
  Vec S = Vec::Zero();        // end variation per unit of its own
  Vec E = Vec::Zero();        // d(row)/d(end variation of the inner slot)
  double delta = 0, row = 0;  // pivot, residual of its row
  Eigen::Matrix<double, G::A, G::A> pivot = Eigen::Matrix<double, G::A, G::A>::Zero();  // ball: inverse
  Eigen::Matrix<double, G::A, G::N> EE = Eigen::Matrix<double, G::A, G::N>::Zero();     // ball: as E
  Ang rows = Ang::Zero();                                                               // ball: residual
  AA resist = AA::Zero();       // ball: d(impulse of its springs and dampers)/dψ
  double lent = 0;              // inertia on loan along its freedom; 0: none
  double extra = 0, slope = 0;  // of passive parts and efforts: added to row and pivot
  double lost = 0;              // W, by passive parts
  double dq = 0;                // increment along the freedom
  Vec dY = Vec::Zero();         // increment: (dv, dψ)
};

}  // namespace invar::cayley
