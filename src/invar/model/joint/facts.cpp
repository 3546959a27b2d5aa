// SPDX-License-Identifier: Apache-2.0
#include "invar/model/joint/facts.hpp"

#include <algorithm>

#include "invar/base/check.hpp"
#include "invar/model/joint/motion.hpp"

namespace invar {
namespace {

using Motion = Element::Motion;

Form meeting(int f, int m) {
  Form form;
  form.A(f, m) = 1;
  return form;
}

Form level(int f) {
  Form form;
  form.b = Vec3::Unit(f);
  return form;
}

}  // namespace

double Form::value(const Mat3& R, const Vec3& p) const {
  return (A.array() * R.array()).sum() + b.dot(p) + d.dot(R.transpose() * p) + e * p.squaredNorm() - c;
}

Vec6 Form::row(const Mat3& R, const Vec3& p) const {
  const Vec3 Rd = R * d;
  Vec3 angular = Rd.cross(p);
  for (int j = 0; j < 3; ++j) angular += R.col(j).cross(A.col(j));
  Vec6 out;
  out << angular, b + Rd + 2 * e * p;
  return out;
}

double Form::velocity_part(const Mat3& R, const Vec3& p, const Vec3& w, const Vec3& v) const {
  const Vec3 Rd = R * d;
  double out = w.cross(w.cross(Rd)).dot(p) + 2 * w.cross(Rd).dot(v) + 2 * e * v.squaredNorm();
  for (int j = 0; j < 3; ++j) out += A.col(j).dot(w.cross(w.cross(Vec3(R.col(j)))));
  return out;
}

std::string Facts::order_of_freedoms() const {
  std::string out;
  for (int k = 0; k < nv_; ++k) out += (k > 0 ? ", " : "") + std::string(labels_[static_cast<std::size_t>(k)]);
  return out;
}

bool Facts::on_z() const {
  return nv_ == 1 &&
         std::all_of(path().begin(), path().end(), [](const Element& e) { return e.motion != Motion::Ball && e.axis == 2; });
}

FactsOf&& FactsOf::add(Motion motion, Axis axis, int freedom, double factor, const char* label) && {
  static constexpr const char* kAlong[] = {"along x", "along y", "along z"};
  static constexpr const char* kAbout[] = {"about x", "about y", "about z"};
  INVAR_CHECK(facts_.elements_ < Facts::kElements && facts_.ball_ < 0,
              "a path has at most eight elements, a ball the last of them");
  const int freedoms = motion == Motion::Ball ? 3 : 1, a = static_cast<int>(axis);
  INVAR_CHECK(freedom + freedoms <= Facts::kFreedoms, "a joint has at most six freedoms");
  facts_.path_[static_cast<std::size_t>(facts_.elements_++)] = {motion, a, freedom, factor};
  facts_.nv_ = std::max(facts_.nv_, freedom + freedoms);
  if (motion == Motion::Ball) facts_.ball_ = freedom;
  for (int i = 0; i < freedoms; ++i) {
    const auto k = static_cast<std::size_t>(freedom + i);
    if (motion != Motion::Slide) facts_.turns_[k] = true;
    if (label != nullptr) facts_.labels_[k] = label;
    if (facts_.labels_[k] == nullptr)
      facts_.labels_[k] = motion == Motion::Slide ? kAlong[a] : kAbout[motion == Motion::Ball ? i : a];
  }
  return std::move(*this);
}

FactsOf&& FactsOf::form(const Form& form) && {
  INVAR_CHECK(facts_.form_count_ < Facts::kForms, "two bodies allow at most six conditions");
  facts_.forms_[static_cast<std::size_t>(facts_.form_count_++)] = form;
  return std::move(*this);
}

// The turns alone, in their order.
void FactsOf::find_turning() {
  std::array<Element, Facts::kElements> turn{};
  std::size_t n = 0;
  for (const Element& e : facts_.path())
    if (e.motion != Motion::Slide) turn[n++] = e;
  bool one_axis = true;
  for (std::size_t i = 1; i < n; ++i) one_axis = one_axis && turn[i].axis == turn[0].axis && turn[i].freedom == turn[0].freedom;
  const auto own = [&](std::size_t i) { return turn[i].factor == 1; };
  if (n == 0)
    facts_.turning_ = Turning::None;
  else if (turn[n - 1].motion == Motion::Ball)
    facts_.turning_ = n == 1 ? Turning::Ball : Turning::Other;
  else if (one_axis)
    facts_.turning_ = Turning::OneAxis;
  else if (n == 2 && turn[0].axis != turn[1].axis && turn[0].freedom != turn[1].freedom && own(0) && own(1))
    facts_.turning_ = Turning::TwoAxes;
  else if (n == 3 && turn[0].axis == turn[2].axis && turn[0].freedom == turn[2].freedom && turn[0].axis != turn[1].axis &&
           turn[0].freedom != turn[1].freedom && turn[0].factor == 0.5 && turn[2].factor == 0.5 && own(1))
    facts_.turning_ = Turning::Mirrored;
  else
    facts_.turning_ = Turning::Other;
}

void FactsOf::generate_forms() {
  bool slides[3] = {}, plain = true, turned = false;
  std::array<int, Facts::kFreedoms> used{};
  std::array<int, 3> axis{};
  int turns = 0;
  for (const Element& e : facts_.path()) {
    plain = plain && e.factor == 1 && ++used[static_cast<std::size_t>(e.freedom)] == 1;
    if (e.motion == Motion::Slide) {
      plain = plain && !turned && !slides[e.axis];
      slides[e.axis] = true;
      continue;
    }
    turned = true;
    if (e.motion == Motion::Turn && turns < 3) axis[static_cast<std::size_t>(turns++)] = e.axis;
  }
  plain = plain && facts_.turning_ != Turning::Other && facts_.turning_ != Turning::Mirrored;
  if (!plain) return;
  const auto add = [&](const Form& form) { facts_.forms_[static_cast<std::size_t>(facts_.form_count_++)] = form; };
  for (int k = 0; k < 3; ++k)
    if (!slides[k]) add(level(k));
  if (facts_.turning_ == Turning::None) add(meeting(1, 0)), add(meeting(2, 1)), add(meeting(0, 2));
  if (facts_.turning_ == Turning::OneAxis)
    for (int i = 0; i < 3; ++i)
      if (i != axis[0]) add(meeting(i, axis[0]));
  if (facts_.turning_ == Turning::TwoAxes) add(meeting(axis[0], axis[1]));
}

Facts FactsOf::facts() && {
  if (!facts_.has_path_) {
    INVAR_CHECK(facts_.elements_ == 0 && facts_.form_count_ > 0, "a joint without a path is its forms");
    facts_.steady_ = false;
    return facts_;
  }
  bool moved = false;  // something follows the first turn
  std::array<int, Facts::kFreedoms> used{};
  for (const Element& e : facts_.path()) {
    facts_.steady_ = facts_.steady_ && !moved;
    facts_.slides_first_ = facts_.slides_first_ && !(moved && e.motion == Motion::Slide);
    moved = moved || e.motion != Motion::Slide;
    ++used[static_cast<std::size_t>(e.freedom)];
  }
  for (const Element& e : facts_.path())
    if (e.motion == Motion::Turn && e.factor == 1 && used[static_cast<std::size_t>(e.freedom)] == 1)
      facts_.winds_[static_cast<std::size_t>(e.freedom)] = true;
  find_turning();
  if (facts_.form_count_ == 0) generate_forms();
  if (facts_.steady_) {
    double q[7] = {};
    if (facts_.ball_ >= 0) q[facts_.ball_] = 1;
    const PathMotion<double> at(facts_, q, nullptr);
    at.columns(facts_, facts_.motion_);
    const PathRows<double> across(facts_, at);
    across.duals(facts_, facts_.dual_);
    across.matrix(facts_.rows_);
  }
  return facts_;
}

}  // namespace invar
