// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

/// The kernels live in registers: a call, or a copy of a block through memory, costs more than the arithmetic.
#define INVAR_KERNEL [[gnu::always_inline]] inline

namespace invar::kernel {

/// Three numbers of type T and the operations that the hot recursions need. The kernels are templates over a vector type
/// with this interface; T may be double, a dual number, or a pack of lanes (one mechanism per lane).
/// These types are private to the library's sources: their layout follows the target of the build and must not reach an ABI.
template <class T>
struct Vec {
  using Number = T;
  T x{}, y{}, z{};

  static Vec of(T x, T y, T z) { return {x, y, z}; }
  static Vec load(const T* p) { return {p[0], p[1], p[2]}; }
  static Vec load_end(const T* p) { return {p[0], p[1], p[2]}; }
  void store(T* p) const { p[0] = x, p[1] = y, p[2] = z; }
  /// s times the unit vector e_i.
  static Vec axis(int i, T s) { return {i == 0 ? s : T(0), i == 1 ? s : T(0), i == 2 ? s : T(0)}; }

  friend Vec operator+(const Vec& a, const Vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec operator-(const Vec& a) { return {-a.x, -a.y, -a.z}; }
  friend Vec operator*(const T& s, const Vec& a) { return {s * a.x, s * a.y, s * a.z}; }
  Vec& operator+=(const Vec& b) { return *this = *this + b; }
  Vec& operator-=(const Vec& b) { return *this = *this - b; }
};

template <class T>
INVAR_KERNEL T dot(const Vec<T>& a, const Vec<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
INVAR_KERNEL Vec<T> cross(const Vec<T>& a, const Vec<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
/// a × e_x, a × e_y, a × e_z: the columns of hat(a).
template <class T>
INVAR_KERNEL Vec<T> cross_x(const Vec<T>& a) {
  return {T(0), a.z, -a.y};
}
template <class T>
INVAR_KERNEL Vec<T> cross_y(const Vec<T>& a) {
  return {-a.z, T(0), a.x};
}
template <class T>
INVAR_KERNEL Vec<T> cross_z(const Vec<T>& a) {
  return {a.y, -a.x, T(0)};
}
template <class T>
INVAR_KERNEL T first(const Vec<T>& a) {
  return a.x;
}
template <class T>
INVAR_KERNEL T second(const Vec<T>& a) {
  return a.y;
}
template <class T>
INVAR_KERNEL T third(const Vec<T>& a) {
  return a.z;
}
/// A component, ready to multiply a vector with.
template <int I, class T>
INVAR_KERNEL T component(const Vec<T>& a) {
  if constexpr (I == 0) return a.x;
  if constexpr (I == 1) return a.y;
  return a.z;
}

#if defined(__AVX2__) && defined(__FMA__)
/// Three doubles in four lanes, the last one always zero: sums over lanes and cross products then need no masks.
/// Measured 27-30 % faster than packed scalars in the tree recursion; below AVX2 the compiler makes it slow, hence the guard.
struct Packed {
  using Number = double;
  using Lanes = double __attribute__((vector_size(32)));
  using Mask = long long __attribute__((vector_size(32)));
  Lanes v{};

  /// From registers: a load of what was stored one by one a moment ago would wait for it.
  static Packed of(double x, double y, double z) { return {Lanes{x, y, z, 0}}; }
  /// Reads four doubles and clears the last: the caller guarantees that p[3] may be read.
  static Packed load(const double* p) {
    Lanes a;
    __builtin_memcpy(&a, p, sizeof a);
    return {__builtin_shufflevector(a, Lanes{}, 0, 1, 2, 4)};
  }
  /// The same where p[-1] may be read and p[3] may not (the end of an array).
  static Packed load_end(const double* p) {
    Lanes a;
    __builtin_memcpy(&a, p - 1, sizeof a);
    return {__builtin_shufflevector(a, Lanes{}, 1, 2, 3, 4)};
  }
  void store(double* p) const { p[0] = v[0], p[1] = v[1], p[2] = v[2]; }
  static Packed axis(int i, double s) {
    const Mask keep{i == 0 ? -1 : 0, i == 1 ? -1 : 0, i == 2 ? -1 : 0, 0};
    return {Lanes(Mask(Lanes{s, s, s, s}) & keep)};
  }

  friend Packed operator+(const Packed& a, const Packed& b) { return {a.v + b.v}; }
  friend Packed operator-(const Packed& a, const Packed& b) { return {a.v - b.v}; }
  friend Packed operator-(const Packed& a) { return {-a.v}; }
  friend Packed operator*(double s, const Packed& a) { return {s * a.v}; }
  Packed& operator+=(const Packed& b) {
    v += b.v;
    return *this;
  }
  Packed& operator-=(const Packed& b) {
    v -= b.v;
    return *this;
  }
};

INVAR_KERNEL double dot(const Packed& a, const Packed& b) {
  using Half = double __attribute__((vector_size(16)));
  const Packed::Lanes p = a.v * b.v;
  const Half h = __builtin_shufflevector(p, p, 0, 1) + __builtin_shufflevector(p, p, 2, 3);
  return h[0] + h[1];
}
INVAR_KERNEL Packed cross(const Packed& a, const Packed& b) {
  const Packed::Lanes a1 = __builtin_shufflevector(a.v, a.v, 1, 2, 0, 3);
  const Packed::Lanes b1 = __builtin_shufflevector(b.v, b.v, 1, 2, 0, 3);
  const Packed::Lanes c = a.v * b1 - a1 * b.v;
  return {__builtin_shufflevector(c, c, 1, 2, 0, 3)};
}
INVAR_KERNEL Packed cross_x(const Packed& a) { return {__builtin_shufflevector(a.v, -a.v, 3, 2, 5, 3)}; }
INVAR_KERNEL Packed cross_y(const Packed& a) { return {__builtin_shufflevector(a.v, -a.v, 6, 3, 0, 3)}; }
INVAR_KERNEL Packed cross_z(const Packed& a) { return {__builtin_shufflevector(a.v, -a.v, 1, 4, 3, 3)}; }
INVAR_KERNEL double first(const Packed& a) { return a.v[0]; }
INVAR_KERNEL double second(const Packed& a) { return a.v[1]; }
INVAR_KERNEL double third(const Packed& a) { return a.v[2]; }

/// One component in all lanes; multiplying keeps the zero lane of the other factor.
struct Spread {
  Packed::Lanes v;
  friend Packed operator*(const Spread& s, const Packed& a) { return {s.v * a.v}; }
};
template <int I>
INVAR_KERNEL Spread component(const Packed& a) {
  return {__builtin_shufflevector(a.v, a.v, I, I, I, I)};
}
using Fast = Packed;
#else
using Fast = Vec<double>;
#endif

/// A 3x3 block as three columns. Copied column by column: as one large object the compiler would move it in pieces wider
/// than a column, and a wide load after narrow stores stalls (a third of the time of the whole recursion).
template <class V>
struct Mat {
  V c0{}, c1{}, c2{};
  Mat() = default;
  INVAR_KERNEL Mat(const V& a, const V& b, const V& c) : c0(a), c1(b), c2(c) {}
  INVAR_KERNEL Mat(const Mat& o) : c0(o.c0), c1(o.c1), c2(o.c2) {}
  INVAR_KERNEL Mat& operator=(const Mat& o) {
    c0 = o.c0, c1 = o.c1, c2 = o.c2;
    return *this;
  }
  Mat& operator+=(const Mat& o) {
    c0 += o.c0, c1 += o.c1, c2 += o.c2;
    return *this;
  }
  friend Mat operator+(Mat a, const Mat& b) { return a += b; }
  friend Mat operator-(const Mat& a, const Mat& b) { return {a.c0 - b.c0, a.c1 - b.c1, a.c2 - b.c2}; }
};

/// A x
template <class V>
INVAR_KERNEL V operator*(const Mat<V>& A, const V& x) {
  return component<0>(x) * A.c0 + component<1>(x) * A.c1 + component<2>(x) * A.c2;
}

/// Three numbers in memory, used one at a time: on Intel a broadcast from memory is free where a shuffle of lanes is not.
template <class T>
struct [[gnu::may_alias]] Triple {
  T x{}, y{}, z{};
};

/// The components of a vector that already lies in memory.
template <class V>
INVAR_KERNEL const Triple<typename V::Number>& in_memory(const V& a) {
  static_assert(sizeof(V) >= sizeof(Triple<typename V::Number>));
  return reinterpret_cast<const Triple<typename V::Number>&>(a);
}

/// A x
template <class V>
INVAR_KERNEL V operator*(const Mat<V>& A, const Triple<typename V::Number>& x) {
  return x.x * A.c0 + x.y * A.c1 + x.z * A.c2;
}

template <class T>
INVAR_KERNEL Mat<Vec<T>> transpose(const Mat<Vec<T>>& A) {
  return {{A.c0.x, A.c1.x, A.c2.x}, {A.c0.y, A.c1.y, A.c2.y}, {A.c0.z, A.c1.z, A.c2.z}};
}
#if defined(__AVX2__) && defined(__FMA__)
INVAR_KERNEL Mat<Packed> transpose(const Mat<Packed>& A) {
  using L = Packed::Lanes;
  const L a = __builtin_shufflevector(A.c0.v, A.c1.v, 0, 4, 2, 6);  // a0 b0 a2 b2
  const L b = __builtin_shufflevector(A.c0.v, A.c1.v, 1, 5, 3, 7);  // a1 b1 0  0
  const L c = __builtin_shufflevector(A.c2.v, A.c2.v, 0, 3, 2, 3);  // c0 0  c2 0
  const L d = __builtin_shufflevector(A.c2.v, A.c2.v, 1, 3, 3, 3);  // c1 0  0  0
  return {{__builtin_shufflevector(a, c, 0, 1, 4, 5)},
          {__builtin_shufflevector(b, d, 0, 1, 4, 5)},
          {__builtin_shufflevector(a, c, 2, 3, 6, 7)}};
}
#endif

/// Aᵀ x
template <class V>
INVAR_KERNEL V transposed_times(const Mat<V>& A, const V& x) {
  return transpose(A) * x;
}

/// A hat(r): its columns are A (r × e_k).
template <class V>
INVAR_KERNEL Mat<V> times_hat(const Mat<V>& A, const Triple<typename V::Number>& r) {
  return {r.z * A.c1 - r.y * A.c2, r.x * A.c2 - r.z * A.c0, r.y * A.c0 - r.x * A.c1};
}

/// hat(r) A
template <class V>
INVAR_KERNEL Mat<V> hat_times(const V& r, const Mat<V>& A) {
  return {cross(r, A.c0), cross(r, A.c1), cross(r, A.c2)};
}

/// A - a bᵀ
template <class V>
INVAR_KERNEL Mat<V> minus_outer(const Mat<V>& A, const V& a, const V& b) {
  return {A.c0 - component<0>(b) * a, A.c1 - component<1>(b) * a, A.c2 - component<2>(b) * a};
}
/// A + a bᵀ
template <class V>
INVAR_KERNEL Mat<V> plus_outer(const Mat<V>& A, const V& a, const V& b) {
  return {A.c0 + component<0>(b) * a, A.c1 + component<1>(b) * a, A.c2 + component<2>(b) * a};
}

/// A B
template <class V>
INVAR_KERNEL Mat<V> operator*(const Mat<V>& A, const Mat<V>& B) {
  return {A * B.c0, A * B.c1, A * B.c2};
}

}  // namespace invar::kernel
