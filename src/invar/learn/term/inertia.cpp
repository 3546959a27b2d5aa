// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/inertia.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr const char* kMoments[] = {"mass",       "first moment x", "first moment y", "first moment z", "inertia xx",
                                    "inertia yy", "inertia zz",     "inertia xy",     "inertia xz",     "inertia yz"};

std::vector<std::string> names_at(const Model& model, const std::vector<int>& bodies) {
  std::vector<std::string> names;
  for (const int b : bodies) names.push_back(model.body_name(b));
  return names;
}

Mat3 spread(const Vec3& p) { return p.squaredNorm() * Mat3::Identity() - p * p.transpose(); }

}  // namespace

InertiaTerm::InertiaTerm(const Model& model, std::vector<int> bodies, Sharing sharing)
    : model_(model), bodies_(std::move(bodies)), classes_(classes_of(names_at(model, bodies_), sharing, "all bodies")) {}

std::string InertiaTerm::label(int k) const {
  return std::string(kMoments[k % kPerBody]) + " of '" + classes_.names[static_cast<std::size_t>(k / kPerBody)] + "'";
}

std::string InertiaTerm::unit(int k) const {
  const int moment = k % kPerBody;
  return moment == 0 ? "kg" : (moment < 4 ? "kg m" : "kg m²");
}

// About the nominal centre of mass first; the new one lies at c = h/m from there.
Inertia with_added(const Inertia& nominal, const double* ten) {
  Inertia out;
  out.mass = nominal.mass + ten[0];
  Mat3 added;
  added << ten[4], ten[7], ten[8], ten[7], ten[5], ten[9], ten[8], ten[9], ten[6];
  const Vec3 h(ten[1], ten[2], ten[3]);
  const Vec3 c = out.mass > 0 ? Vec3(h / out.mass) : Vec3(Vec3::Zero());
  out.p_BC = nominal.p_BC + c;
  out.I_C = nominal.I_C + added - out.mass * spread(c);
  return out;
}

void added_to(const Inertia& nominal, const Inertia& now, double* ten) {
  const Vec3 c = now.p_BC - nominal.p_BC, h = now.mass * c;
  const Mat3 added = now.I_C + now.mass * spread(c) - nominal.I_C;
  const double all[] = {
      now.mass - nominal.mass, h[0], h[1], h[2], added(0, 0), added(1, 1), added(2, 2), added(0, 1), added(0, 2), added(1, 2)};
  std::copy(std::begin(all), std::end(all), ten);
}

// With Σ = ∫ r rᵀ dm = ½ tr(I) 1 - I a mass distribution exists exactly where the matrix of moments is positive semidefinite.
// Moments are taken about the centre of mass, so that the clipped matrix stays block diagonal: mass and Σ are clipped apart.
Inertia nearest_physical(const Inertia& inertia, double length) {
  Inertia out = inertia;
  out.mass = std::max(0.0, inertia.mass);
  const Mat3 second = (0.5 * inertia.I_C.trace() * Mat3::Identity() - inertia.I_C) / (length * length);
  const Eigen::SelfAdjointEigenSolver<Mat3> solved(second);
  if (solved.eigenvalues()[0] >= 0 && out.mass == inertia.mass) return out;
  const Vec3 kept = out.mass > 0 ? Vec3(solved.eigenvalues().cwiseMax(0)) : Vec3(Vec3::Zero());
  const Mat3 moments = length * length * (solved.eigenvectors() * kept.asDiagonal() * solved.eigenvectors().transpose());
  out.I_C = moments.trace() * Mat3::Identity() - moments;
  return out;
}

}  // namespace invar
