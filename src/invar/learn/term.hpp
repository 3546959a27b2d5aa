// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar {

/// What is around the mechanism and turns with the World: measured, or known beforehand.
struct Surroundings {
  Vec3 flow = Vec3::Zero();            ///< velocity of the fluid, World, m/s
  std::span<const Vec3> obstacles;     ///< points, World, m; in the order of the names that terms were made with
  std::span<const double> inputs;      ///< of the actuators that terms were made with, N or N m
  const Accelerations* accelerations;  ///< of all bodies; null: no term that needs them is evaluated
};

/// A wrench of one column on one body, about its centre of mass, World, per unit of the column's coefficient.
struct ColumnEntry {
  int column;
  int body;
  Wrench wrench;
};

/// What may act beyond the model: wrenches that are linear in a few coefficients, made of Bodies and of vectors that turn with
/// the World. So what was learned in one World holds in every turned one.
/// Velocities are those of the Bodies given: who wants the term at reference velocities passes Bodies that have them.
/// Laws: in a turned World the wrenches are the turned ones; add is Σ coefficient · entry. In a mirrored World they are the
/// mirrored ones, moments axial, where a column may change its sign (first moments across the mirror, products of inertia,
/// offsets of turns); functions of body components (fourier, network) know left from right, and are others there. No heap in
/// `add`; none in `list` once `out` is large enough.
class Term {
 public:
  virtual ~Term() = default;

  virtual int columns() const = 0;
  /// "mass of 'body5'", and the unit of its coefficient.
  virtual std::string label(int column) const = 0;
  virtual std::string unit(int column) const = 0;
  /// Whether a column takes energy from the mechanism whenever its coefficient is positive (in still surroundings).
  virtual bool dissipates(int column) const { return (void)column, false; }

  /// Columns whose ridge has a strength in common: what one coefficient says about the size of the others.
  virtual int groups() const { return 1; }
  virtual int group(int column) const { return (void)column, 0; }

  /// Appends the entries of all columns; columns count from `first`.
  virtual void list(const Bodies& bodies, const Surroundings& around, int first, std::vector<ColumnEntry>& out) const = 0;
  /// Adds the wrenches for these coefficients.
  virtual void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const = 0;
  /// How far outside of its data the motion is: at most 1 inside; 0 where a term holds everywhere.
  virtual double leverage(const Bodies& bodies, const Surroundings& around) const { return (void)bodies, (void)around, 0; }
};

/// Both faces of a term from one function, T::each(bodies, around, emit) with emit(column, body, wrench).
template <class T>
class TermOf : public Term {
 public:
  void list(const Bodies& bodies, const Surroundings& around, int first, std::vector<ColumnEntry>& out) const override {
    static_cast<const T&>(*this).each(bodies, around,
                                      [&](int column, int body, const Wrench& w) { out.push_back({first + column, body, w}); });
  }
  void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const override {
    static_cast<const T&>(*this).each(bodies, around, [&](int column, int body, const Wrench& w) {
      port[static_cast<std::size_t>(body)] += coefficients[column] * w;
    });
  }
};

}  // namespace invar
