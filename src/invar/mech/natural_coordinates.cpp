// SPDX-License-Identifier: Apache-2.0
//
// Let r = p_WC + Σ c_i d_i be a material point. With Σ over the mass of c_i = 0 (centre of mass) and of c_i c_j = E_ij,
//   T = ½ m |p'|² + ½ Σ_ij E_ij d_i'·d_j',   E = ½ tr(I) 1 - I,
// for any velocities of the directors, rigid or not: the mass is constant. In the plane J d carries the second axis,
// r = p + (c_1 + c_2 J) d, and T = ½ m |p'|² + ½ I_n |d'|² with I_n the inertia about the normal.
//
// A body-fixed vector a is a matrix of coefficients times x: scalars (space) or conformal 2x2 matrices a1 + a2 J (plane). The
// gradient of c·a is their transpose applied to c, and the second derivative of a·b is the product of one with the other.
//
// Angular velocity from director velocities V: the w that minimises Σ E_ij (V_i - w × d_i)·(V_j - w × d_j) solves
//   Σ E_ij (d_i·d_j 1 - d_j d_iᵀ) w = Σ E_ij d_i × V_j.
#include "invar/mech/natural_coordinates.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>

namespace invar {
namespace {

Vec3 quarter_turn(const Vec3& a) { return {-a.y(), a.x(), 0}; }

// The w of the least squares above, or false where the metric does not determine it.
bool angular_velocity(const Mat3& E, const Mat3& D, const Mat3& V, Vec3& w) {
  Mat3 A = Mat3::Zero();
  Vec3 b = Vec3::Zero();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const Vec3 di = D.col(i), dj = D.col(j), Vj = V.col(j);
      A += E(i, j) * (di.dot(dj) * Mat3::Identity() - dj * di.transpose());
      b += E(i, j) * di.cross(Vj);
    }
  const double size = A.trace();
  if (!(A.determinant() > 1e-9 * size * size * size)) return false;
  w = A.inverse() * b;
  return true;
}

}  // namespace

NaturalCoordinates::NaturalCoordinates(const Model& model, bool flat)
    : model_(model),
      scales_(scales_of(model)),
      plane_(flat ? plane_of(model) : std::nullopt),
      offsets_(model.bodies().size(), 0.0) {
  refresh();
}

void NaturalCoordinates::refresh() {
  measure(model_, scales_);
  mass_.clear(), pseudo_.clear(), forms_.clear(), first_row_.clear();
  std::fill(offsets_.begin(), offsets_.end(), 0.0);
  for (std::size_t b = 0; b < model_.bodies().size(); ++b) {
    const Inertia& inertia = model_.bodies()[b].inertia;
    mass_.push_back(inertia.mass);
    if (plane_) {
      const Vec3& n = plane_->bodies[b].n_B;
      pseudo_.push_back(n.dot(inertia.I_C * n) * Mat3::Identity());
    } else {
      pseudo_.push_back(0.5 * inertia.I_C.trace() * Mat3::Identity() - inertia.I_C);
    }
  }
  add_internal_rows();
  for (int j = 0; j < static_cast<int>(model_.joints().size()); ++j) {
    first_row_.push_back(rows());
    add_joint_rows(j);
  }
  first_row_.push_back(rows());
}

void NaturalCoordinates::set_offsets(const Bodies& bodies) {
  if (!plane_) return;
  for (std::size_t b = 0; b < bodies.size(); ++b) offsets_[b] = bodies[b].p_WC.dot(plane_->normal);
}

void NaturalCoordinates::store(const Bodies& bodies, VecX& x, VecX& v) const {
  x.resize(size());
  v.resize(size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const BodyState& s = bodies[i];
    const int at = per_body() * static_cast<int>(i);
    if (plane_) {
      const Vec3 d = s.q_WB * plane_->bodies[i].b1;
      x.segment<4>(at) << plane_->project(s.p_WC), plane_->project(d);
      v.segment<4>(at) << plane_->project(s.v_WC), plane_->project(s.w_WB.cross(d));
      continue;
    }
    const Mat3 R = s.q_WB.toRotationMatrix();
    x.segment<3>(at) = s.p_WC;
    v.segment<3>(at) = s.v_WC;
    for (int k = 0; k < 3; ++k) {
      x.segment<3>(at + 3 + 3 * k) = R.col(k);
      v.segment<3>(at + 3 + 3 * k) = s.w_WB.cross(Vec3(R.col(k)));
    }
  }
}

void NaturalCoordinates::load(const VecX& x, const VecX& v, Bodies& bodies) const {
  bodies.resize(mass_.size());
  for (int b = 0; b < static_cast<int>(mass_.size()); ++b) {
    BodyState& s = bodies[static_cast<std::size_t>(b)];
    plane_ ? load_flat(b, x, v, s) : load_space(b, x, v, s);
  }
}

void NaturalCoordinates::load_space(int b, const VecX& x, const VecX& v, BodyState& s) const {
  const Mat3 D = directors(b, x), V = directors(b, v);
  s.p_WC = x.segment<3>(12 * b);
  s.v_WC = v.segment<3>(12 * b);
  s.q_WB = normalized(Quat(nearest_rotation(D)));
  if (!angular_velocity(pseudo_[static_cast<std::size_t>(b)], D, V, s.w_WB)) angular_velocity(Mat3::Identity(), D, V, s.w_WB);
}

void NaturalCoordinates::load_flat(int b, const VecX& x, const VecX& v, BodyState& s) const {
  const Plane::InBody& in = plane_->bodies[static_cast<std::size_t>(b)];
  const Eigen::Vector2d d = x.segment<2>(4 * b + 2), V = v.segment<2>(4 * b + 2);
  s.p_WC = plane_->lift(x.segment<2>(4 * b)) + offset(b) * plane_->normal;
  s.v_WC = plane_->lift(v.segment<2>(4 * b));
  s.w_WB = (d.x() * V.y() - d.y() * V.x()) / d.squaredNorm() * plane_->normal;
  const Vec3 along = plane_->lift(d).normalized();
  Mat3 world, body;
  world << along, plane_->normal.cross(along), plane_->normal;
  body << in.b1, in.b2, in.n_B;
  s.q_WB = normalized(Quat(Mat3(world * body.transpose())));
}

Mat3 NaturalCoordinates::nearest_rotation(const Mat3& D) {
  // Newton for the orthogonal polar factor, R <- (R + R^-T)/2: quadratic, and D is near a rotation.
  Mat3 R = D;
  for (int k = 0; k < 12; ++k) {
    const Mat3 next = 0.5 * (R + R.inverse().transpose());
    const double change = (next - R).lpNorm<Eigen::Infinity>();
    R = next;
    if (!(change > 1e-15)) break;
  }
  return R;
}

void NaturalCoordinates::apply_mass(const VecX& v, VecX& y) const {
  for (int b = 0; b < static_cast<int>(mass_.size()); ++b) {
    const double m = mass_[static_cast<std::size_t>(b)];
    const Mat3& E = pseudo_[static_cast<std::size_t>(b)];
    if (plane_) {
      y.segment<2>(4 * b) = m * v.segment<2>(4 * b);
      y.segment<2>(4 * b + 2) = E(0, 0) * v.segment<2>(4 * b + 2);
    } else {
      y.segment<3>(12 * b) = m * v.segment<3>(12 * b);
      Eigen::Map<Mat3>(y.data() + 12 * b + 3).noalias() = Eigen::Map<const Mat3>(v.data() + 12 * b + 3) * E;
    }
  }
}

double NaturalCoordinates::twice_kinetic(const VecX& v) const {
  double sum = 0;
  for (int b = 0; b < static_cast<int>(mass_.size()); ++b) {
    const double m = mass_[static_cast<std::size_t>(b)];
    const Mat3& E = pseudo_[static_cast<std::size_t>(b)];
    if (plane_) {
      sum += m * v.segment<2>(4 * b).squaredNorm() + E(0, 0) * v.segment<2>(4 * b + 2).squaredNorm();
    } else {
      const Mat3 V = directors(b, v);
      sum += m * v.segment<3>(12 * b).squaredNorm() + (V * E).cwiseProduct(V).sum();
    }
  }
  return sum;
}

void NaturalCoordinates::mass_block(int b, Eigen::Ref<MatX> block) const {
  const double m = mass_[static_cast<std::size_t>(b)];
  const Mat3& E = pseudo_[static_cast<std::size_t>(b)];
  const int d = dimension();
  block.setZero();
  for (int k = 0; k < d; ++k) {
    block(k, k) = m;
    if (plane_) {
      block(d + k, d + k) = E(0, 0);
      continue;
    }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) block(d + d * i + k, d + d * j + k) = E(i, j);
  }
}

NaturalVector NaturalCoordinates::direction(int body, const Vec3& a_B) const {
  if (!plane_) return {body, 0, a_B};
  if (body == kWorld) return {kWorld, 0, {a_B.dot(plane_->e1), a_B.dot(plane_->e2), 0}};
  const Plane::InBody& in = plane_->bodies[static_cast<std::size_t>(body)];
  return {body, 0, {a_B.dot(in.b1), a_B.dot(in.b2), 0}};
}

NaturalVector NaturalCoordinates::point(int body, const Vec3& p_B) const {
  if (body == kWorld) return direction(kWorld, p_B);
  NaturalVector a = direction(body, p_B - model_.bodies()[static_cast<std::size_t>(body)].inertia.p_BC);
  a.position = 1;
  return a;
}

double NaturalCoordinates::height(int body, const Vec3& p_B) const {
  if (!plane_) return 0;
  if (body == kWorld) return p_B.dot(plane_->normal);
  const auto b = static_cast<std::size_t>(body);
  return offset(body) + (p_B - model_.bodies()[b].inertia.p_BC).dot(plane_->bodies[b].n_B);
}

Vec3 NaturalCoordinates::linear(const NaturalVector& a, const VecX& v) const {
  if (a.body == kWorld) return Vec3::Zero();
  const double* c = v.data() + per_body() * a.body;
  if (plane_) {
    const double re = a.axes.x(), im = a.axes.y();
    return {a.position * c[0] + re * c[2] - im * c[3], a.position * c[1] + re * c[3] + im * c[2], 0};
  }
  Vec3 sum;
  for (int k = 0; k < 3; ++k) sum[k] = a.position * c[k] + a.axes[0] * c[3 + k] + a.axes[1] * c[6 + k] + a.axes[2] * c[9 + k];
  return sum;
}

Vec3 NaturalCoordinates::value(const NaturalVector& a, const VecX& x) const { return a.body == kWorld ? a.axes : linear(a, x); }

double NaturalCoordinates::value(const NaturalForm& form, const VecX& x) const {
  return value(form.u, x).dot(value(form.w, x) - value(form.minus, x)) - form.constant;
}

double NaturalCoordinates::rate(const NaturalForm& form, const VecX& x, const VecX& v) const {
  return value(form.u, x).dot(linear(form.w, v) - linear(form.minus, v)) +
         linear(form.u, v).dot(value(form.w, x) - value(form.minus, x));
}

double NaturalCoordinates::curvature(const NaturalForm& form, const VecX& v) const {
  return 2 * linear(form.u, v).dot(linear(form.w, v) - linear(form.minus, v));
}

void NaturalCoordinates::spread(const NaturalVector& a, const Vec3& c, double factor, double* out) const {
  if (a.body == kWorld) return;
  const Vec3 f = factor * c;
  if (plane_) {
    const Vec3 turned_f = -quarter_turn(f);  // transpose of J
    for (int k = 0; k < 2; ++k) out[k] += a.position * f[k], out[2 + k] += a.axes.x() * f[k] + a.axes.y() * turned_f[k];
    return;
  }
  for (int k = 0; k < 3; ++k) out[k] += a.position * f[k];
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) out[3 + 3 * i + k] += a.axes[i] * f[k];
}

void NaturalCoordinates::add_gradient(const NaturalForm& form, const VecX& x, int b, double factor, double* out,
                                      bool linear_part) const {
  const auto at = [&](const NaturalVector& a) { return linear_part ? linear(a, x) : value(a, x); };
  if (form.u.body == b) spread(form.u, at(form.w) - at(form.minus), factor, out);
  if (form.w.body == b) spread(form.w, at(form.u), factor, out);
  if (form.minus.body == b) spread(form.minus, at(form.u), -factor, out);
}

void NaturalCoordinates::add_product(const NaturalVector& a, const NaturalVector& b, double factor,
                                     Eigen::Ref<MatX> block) const {
  if (a.body == kWorld || b.body == kWorld) return;
  if (plane_) {
    // conj(a_i) b_j as 2x2 matrices [re -im; im re].
    const double ar[2] = {a.position, a.axes.x()}, ai[2] = {0, a.axes.y()};
    const double br[2] = {b.position, b.axes.x()}, bi[2] = {0, b.axes.y()};
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const double re = factor * (ar[i] * br[j] + ai[i] * bi[j]), im = factor * (ar[i] * bi[j] - ai[i] * br[j]);
        block(2 * i, 2 * j) += re, block(2 * i + 1, 2 * j + 1) += re;
        block(2 * i, 2 * j + 1) -= im, block(2 * i + 1, 2 * j) += im;
      }
    return;
  }
  const double ca[4] = {a.position, a.axes[0], a.axes[1], a.axes[2]}, cb[4] = {b.position, b.axes[0], b.axes[1], b.axes[2]};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const double f = factor * ca[i] * cb[j];
      if (f == 0) continue;
      for (int k = 0; k < 3; ++k) block(3 * i + k, 3 * j + k) += f;
    }
}

void NaturalCoordinates::add_curvature(const NaturalForm& form, int a, int b, double factor, Eigen::Ref<MatX> block) const {
  const auto add = [&](const NaturalVector& w, double sign) {
    if (form.u.body == a && w.body == b) add_product(form.u, w, sign * factor, block);
    if (w.body == a && form.u.body == b) add_product(w, form.u, sign * factor, block);
  };
  add(form.w, 1);
  add(form.minus, -1);
}

void NaturalCoordinates::residual(const VecX& x, VecX& g) const {
  for (int r = 0; r < rows(); ++r) g[r] = value(row(r), x);
}

void NaturalCoordinates::apply_rows(const VecX& x, const VecX& v, VecX& y) const {
  for (int r = 0; r < rows(); ++r) y[r] = rate(row(r), x, v);
}

void NaturalCoordinates::add_transposed(const VecX& x, const VecX& mu, double factor, VecX& f, bool linear_part) const {
  for (int r = 0; r < rows(); ++r) {
    const NaturalForm& form = row(r);
    const int bodies[3] = {form.u.body, form.w.body, form.minus.body};
    for (int k = 0; k < 3; ++k) {
      const int b = bodies[k];
      const bool seen = (k > 0 && b == bodies[0]) || (k > 1 && b == bodies[1]);
      if (b != kWorld && !seen) add_gradient(form, x, b, factor * mu[r], f.data() + per_body() * b, linear_part);
    }
  }
}

std::string natural_objection(const Model& model) {
  for (const Joint& joint : model.joints()) {
    if (!joint.facts->quadratic())
      return fmt::format("joint '{}' is a {}, which is no polynomial of degree two in natural coordinates", joint.name,
                         name(joint.kind));
    if (joint.has_armature())
      return fmt::format("joint '{}' has a rotor (armature), with which the mass of natural coordinates is not constant",
                         joint.name);
  }
  if (!model.couplings().empty())
    return fmt::format("coupling '{}' is no polynomial of degree two in natural coordinates", model.couplings()[0].name);
  return {};
}

int closure_rows_of(const NaturalCoordinates& c, const SpanningTree& tree) {
  int sum = 0;
  for (const int j : tree.closures) sum += c.joint_rows(j);
  return sum;
}

std::vector<bool> looped_parts(const NaturalCoordinates& c, const SpanningTree& tree) {
  const Scales& scales = c.scales();
  std::vector<bool> out(scales.parts.size(), false);
  for (const int j : tree.closures) {
    const int b = c.model().joints()[static_cast<std::size_t>(j)].child;
    out[static_cast<std::size_t>(scales.part_of_body[static_cast<std::size_t>(b)])] = true;
  }
  return out;
}

}  // namespace invar
