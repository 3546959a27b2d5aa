// SPDX-License-Identifier: Apache-2.0
#include "invar/model/coordinates.hpp"

#include <cmath>

#include "invar/geom/unit_quaternion.hpp"
#include "invar/model/joint/table.hpp"
#include "invar/model/model_check.hpp"

namespace invar {
namespace {

const char* order_of_coordinates(const Facts& facts) {
  if (facts.ball() < 0) return "";
  if (facts.ball() == 0) return " (a quaternion, scalar first) or 3 (a rotation vector)";
  return facts.ball() == 3 ? " (position, then quaternion, scalar first)" : " (displacements, then quaternion, scalar first)";
}

Error wrong_number(JointKind kind, const std::string& joint, std::size_t found, const Where& where, const std::string& field) {
  const int n = coordinates(kind);
  return error_at(where, field, "{} joint '{}': expected {} coordinate{}{}, found {}", name(kind), joint, n, n == 1 ? "" : "s",
                  order_of_coordinates(kind_facts(kind)), found);
}

// "; for this attitude write [..]", where there is one.
std::string advice(const Eigen::Vector4d& q, double norm) {
  if (!(norm > 0) || !std::isfinite(norm)) return "";
  const Eigen::Vector4d unit = q / norm;
  return fmt::format("; for this attitude write [{:.17g}, {:.17g}, {:.17g}, {:.17g}]", unit[0], unit[1], unit[2], unit[3]);
}

}  // namespace

Result<VecX> written_coordinates(JointKind kind, const std::string& joint, const std::vector<double>& numbers, const Where& where,
                                 const std::string& field) {
  for (const double x : numbers)
    if (!std::isfinite(x))
      return tl::unexpected(error_at(where, field, "joint '{}': a coordinate is not a finite number", joint));

  // A rotation vector in place of a quaternion.
  const int ball = kind_facts(kind).ball();
  if (ball == 0 && numbers.size() == 3) {
    const Vec3 u(numbers[0], numbers[1], numbers[2]);
    if (!(u.norm() <= 1e6))
      return tl::unexpected(error_at(where, field, "joint '{}': a rotation vector of more than 1e6 rad says no attitude", joint));
    const Quat r = exp_so3(u);
    return VecX(Eigen::Vector4d(r.w(), r.x(), r.y(), r.z()));
  }
  if (numbers.size() != static_cast<std::size_t>(coordinates(kind)))
    return tl::unexpected(wrong_number(kind, joint, numbers.size(), where, field));
  VecX q = Eigen::Map<const VecX>(numbers.data(), coordinates(kind));
  if (ball < 0) return q;

  if (const double norm = make_unit(q.data() + ball); norm != 1)
    return tl::unexpected(error_at(where, field, "joint '{}': the quaternion (scalar first) is not unit, its length is {:.9g}{}",
                                   joint, norm, advice(q.tail<4>(), norm)));
  return q;
}

Result<VecX> coordinates_from(JointKind kind, const std::string& joint, const std::vector<double>& numbers, const Where& where,
                              const std::string& field) {
  if (!numbers.empty()) return written_coordinates(kind, joint, numbers, where, field);
  VecX q = VecX::Zero(coordinates(kind));
  if (const int ball = kind_facts(kind).ball(); ball >= 0) q[ball] = 1;
  return q;
}

Result<VecX> start_from(const JointSpec& joint, const std::vector<double>& numbers, const Where& where,
                        const std::string& field) {
  auto q = written_coordinates(joint.kind, joint.name, numbers, where, field);
  if (!q || !joint.locked) return q;
  const auto held = coordinates_from(joint.kind, joint.name, joint.locked_at, where, field);
  if (held && q->size() > 0 && (*held - *q).lpNorm<Eigen::Infinity>() > 1e-12)
    return tl::unexpected(error_at(
        where, field, "joint '{}' is locked, but [initial] puts it elsewhere; move it there with locked_at", joint.name));
  return VecX();
}

}  // namespace invar
