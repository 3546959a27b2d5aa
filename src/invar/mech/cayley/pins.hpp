// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/cayley/geometry.hpp"

namespace invar::cayley {

/// A vector of the plane as the complex number x + iy: turning it is a product.
struct Complex {
  double x = 0, y = 0;
  Complex() = default;
  Complex(double re, double im) : x(re), y(im) {}
  explicit Complex(const InPlane::Lin& a) : x(a.x()), y(a.y()) {}
  InPlane::Lin vector() const { return {x, y}; }
};
inline Complex operator+(Complex a, Complex b) { return {a.x + b.x, a.y + b.y}; }
inline Complex operator-(Complex a, Complex b) { return {a.x - b.x, a.y - b.y}; }
inline Complex operator*(double s, Complex a) { return {s * a.x, s * a.y}; }
inline Complex operator*(Complex a, Complex b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
inline double dot(Complex a, Complex b) { return a.x * b.x + a.y * b.y; }
inline Complex across(Complex a) { return {-a.y, a.x}; }  ///< i a

/// Newton's equations of the step for trees that hang together by pins alone, in the plane: what a Tree<InPlane> does, with the
/// pin of each body as its reference, so that bodies pass forces and no moments and all blocks are two by two.
class Pins {
 public:
  struct Pin {
    // Constants.
    int inner = 0;       // 0 is the ground
    bool next = false;   // whether the next pin hangs on it
    bool edged = false;  // whether edges span it
    bool more = false;   // whether sums_ has something for it
    double mass = 0;     // kg
    double J = 0;        // about φ, kg m²
    double size = 0;     // m; makes turning comparable to moving
    Complex arm, gam;    // from the inner body's pin to this one in its axes; from this one to φ, own axes
    // Node 0: axes, velocity of φ, rate.
    Complex r0 = {1, 0}, v0;
    double W0 = 0;
    // The step.
    double w = 0;                    // unknown: mean rate
    Complex z = {1, 0}, u = {0, 1};  // turn from node 0 to the mean; i times the mean axes
    Complex V;                       // mean velocity of the pin
    Complex r1 = {1, 0}, p1;         // node 1: axes, pin
    // What tendons and loads add: to its row, to the derivative of that, to the force through the pin; and, of edges, the
    // derivatives of its row by the rate of the inner body and of the inner body's row by its own.
    double row = 0, slope = 0;
    Complex force;
    double eps = 0, beta = 0;
    // Increments: dw = -(R + E·dV + c dw_inner), dV of the pin.
    double R = 0, c = 0, dw = 0;
    Complex E, dV;
  };

  /// A tendon from a point of a body to one of the body it hangs on.
  struct Edge {
    int line;                      // of the tree
    int outer;                     // pin
    Complex outer_arm, inner_arm;  // both from the outer body's pin, each in the axes of its own body
    double off;                    // along the normal
    Complex d0 = {}, d1 = {};      // from the inner to the outer point, at the nodes
  };

  /// With their constants, inner pins first.
  void hang(std::vector<Pin> pins, std::vector<Edge> edges);
  std::vector<Pin>& pins() { return pins_; }
  std::vector<Edge>& edges() { return edges_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const Pin& operator[](int i) const { return pins_[static_cast<std::size_t>(i)]; }
  bool empty() const { return pins_.empty(); }
  void rates(double* out) const {
    for (std::size_t i = 1; i < pins_.size(); ++i) out[i - 1] = pins_[i].w;
  }

  /// Mean motion from the rates.
  void forward(double h);
  /// Axes and pins at node 1, then where a point of body i is there (arm from φ, own axes).
  void travel();
  Complex position(int i, Complex arm) const {
    const Pin& b = pins_[static_cast<std::size_t>(i)];
    return b.p1 + b.r1 * (b.gam + arm);
  }
  /// An impulse at a point of body i (arm from φ, own axes), with a moment.
  void push(int i, Complex arm, Complex impulse, double moment, double h) {
    Pin& b = pins_[static_cast<std::size_t>(i)];
    const Complex e = b.u * (b.gam + arm);
    b.force = b.force - impulse;
    b.row -= dot(e, impulse) + moment;
    b.slope -= 0.5 * h * dot(across(b.z * e), impulse);
  }
  /// The length of an edge at node 1 (h = 0: at node 0).
  double stretch(Edge& edge, double h) const;
  /// Its pull with the tension T, whose derivative by the length l1 is `slope`.
  void pull(const Edge& edge, double T, double slope, double l0, double l1, double h);
  /// From the leaves to the root, with inertia and weight (an impulse per mass); false where a body has no inertia left.
  bool eliminate(double h, Complex weight);
  /// From the root to the leaves; returns the largest increment, as a velocity, and where it is.
  double substitute(std::size_t& where);

 private:
  struct Block {
    double xx = 0, xy = 0, yx = 0, yy = 0;
  };
  /// Of a body: row of its turning R + δ dw + E·dV, force through its pin k + G dw + K dV.
  struct Sum {
    double R = 0, delta = 0, most = 0;
    Complex k, E, G;
    Block K;
  };
  /// Of what hangs on a pin, once it follows: F + K dV.
  struct Passed {
    Complex F;
    Block K;
    // Across edges also for the rate of the inner body: force g dw, and to its row r + H·dV + c dw.
    Complex g, H;
    double r = 0, c = 0;
  };
  static void add(Sum& s, const Passed& p, Complex e, Complex b, double half);
  static void couple(Sum& s, const Passed& p, Complex e, Complex b);

  Complex turned(const Pin& b, double h) const {
    const double t = 0.5 * h * b.w;
    return (1 + t * t) * (b.z * (b.z * b.r0));
  }

  std::vector<Pin> pins_;
  std::vector<Edge> edges_;
  std::vector<Sum> sums_;  // what hangs on a body beside the next one
};

}  // namespace invar::cayley
