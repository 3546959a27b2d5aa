// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "invar/base/check.hpp"
#include "invar/base/random.hpp"
#include "invar/mech/bodies.hpp"

namespace invar {

/// What something remembers, as a list of numbers: it names all of that in one order, and the list keeps it or gives it back.
///   void remember(Recall& memory) { memory(sum_), memory(begun_); }
/// Law: what was built alike and is given back what another one kept goes on as that one does, to the bit.
class Recall {
 public:
  /// Keeps.
  Recall() = default;
  /// Gives back; as many numbers as were kept by something that is built alike.
  explicit Recall(std::vector<double> kept) : numbers_(std::move(kept)), gives_(true) {}

  bool gives() const { return gives_; }
  const std::vector<double>& numbers() const { return numbers_; }

  void operator()(double& x) {
    if (!gives_) return numbers_.push_back(x);
    INVAR_CHECK(next_ < numbers_.size(), "memories are given back to what is built alike");
    x = numbers_[next_++];
  }
  void operator()(bool& x) { x = as(x ? 1 : 0) != 0; }
  void operator()(int& x) { x = static_cast<int>(within(as(x), 2147483647)); }
  void operator()(long& x) { x = static_cast<long>(within(as(static_cast<double>(x)), kWhole)); }
  template <class M>
  void operator()(Eigen::PlainObjectBase<M>& x) {
    for (Eigen::Index k = 0; k < x.size(); ++k) (*this)(x.data()[k]);
  }
  void operator()(Quat& q) { (*this)(q.coeffs()); }
  void operator()(Wrench& w) { (*this)(w.moment), (*this)(w.force); }
  void operator()(BodyState& b) { (*this)(b.p_WC), (*this)(b.v_WC), (*this)(b.w_WB), (*this)(b.q_WB); }
  void operator()(BodyAcceleration& a) { (*this)(a.a_WC), (*this)(a.alpha_WB); }
  template <class T>
  void operator()(std::vector<T>& all) {
    for (T& x : all) (*this)(x);
  }
  void operator()(Load& load) { (*this)(load.port), (*this)(load.efforts); }
  void operator()(Random& random) {
    const std::uint64_t place = random.place();
    const double high = half(as(static_cast<double>(place >> 32))), low = half(as(static_cast<double>(place & 0xFFFFFFFFu)));
    random.go_to((static_cast<std::uint64_t>(high) << 32) | static_cast<std::uint64_t>(low));
  }

 private:
  static constexpr double kWhole = 9007199254740992;  // 2^53: whole numbers up to it are exact
  // Numbers that were never kept may be anything: a count becomes one that is a number of its type.
  static double within(double x, double most) { return x >= -most && x <= most ? x : 0; }
  static double half(double x) { return x >= 0 && x <= 4294967295.0 ? x : 0; }

  double as(double x) {
    (*this)(x);
    return x;
  }

  std::vector<double> numbers_;
  std::size_t next_ = 0;
  bool gives_ = false;
};

}  // namespace invar
