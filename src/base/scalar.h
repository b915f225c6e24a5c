// SPDX-License-Identifier: Apache-2.0
// What a scalar is in each dtype, and what casting one means. Plain C++: the meaning that every
// vector kernel must reproduce bit by bit.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace stowage {

/// Nearest even; overflow becomes infinity; NaN stays NaN and turns quiet.
inline std::uint16_t f32_to_f16(float value) noexcept {
  std::uint32_t x = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = x >> 16 & 0x8000u;
  x &= 0x7fffffffu;
  std::uint32_t out;
  if (x > 0x7f800000u) {
    out = 0x7e00u | (x >> 13 & 0x3ffu);
  } else if (x >= 0x477ff000u) {  // 65520 and above
    out = 0x7c00u;
  } else if (x < 0x38800000u) {  // subnormal: the addition rounds
    out = std::bit_cast<std::uint32_t>(std::bit_cast<float>(x) + 0.5f) - 0x3f000000u;
  } else {
    out = (x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | out);
}

/// Exact; a signalling NaN turns quiet.
inline float f16_to_f32(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  std::uint32_t out;
  if (magnitude > 0x7c00u) {
    out = 0x7fc00000u | magnitude << 13;
  } else if (magnitude == 0x7c00u) {
    out = 0x7f800000u;
  } else if (magnitude < 0x400u) {
    out = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  } else {
    out = (magnitude << 13) + 0x38000000u;
  }
  return std::bit_cast<float>(sign | out);
}

/// Nearest even; NaN stays NaN and turns quiet.
inline std::uint16_t f32_to_bf16(float value) noexcept {
  const std::uint32_t x = std::bit_cast<std::uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(x >> 16 | 0x40u);
  return static_cast<std::uint16_t>((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
}

inline float bf16_to_f32(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// IEEE binary16, as stored. Arithmetic happens in float.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;

  explicit Half(float value) noexcept : bits(f32_to_f16(value)) {}

  explicit operator float() const noexcept { return f16_to_f32(bits); }
};

/// The upper half of an f32, as stored. Arithmetic happens in float.
struct Bfloat {
  std::uint16_t bits = 0;

  Bfloat() = default;

  explicit Bfloat(float value) noexcept : bits(f32_to_bf16(value)) {}

  explicit operator float() const noexcept { return bf16_to_f32(bits); }
};

/// One byte, 0 or 1, as stored; any other value counts as 1.
struct Bool {
  std::uint8_t bits = 0;
};

template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

/// How a real number becomes an integer.
enum class Rounding : std::uint8_t { half_even, toward_zero };

/// Saturating; NaN becomes 0.
template <class D, Rounding kRounding = Rounding::half_even, class F>
D real_to_integer(F value) noexcept {
  static_assert(std::is_integral_v<D> && std::is_floating_point_v<F>);
  if (value != value) return 0;
  const F whole = kRounding == Rounding::half_even ? std::nearbyint(value) : std::trunc(value);
  // max + 1 is a power of two, hence exact in F.
  constexpr F above = static_cast<F>(std::numeric_limits<D>::max() / 2 + 1) * 2;
  if (whole >= above) return std::numeric_limits<D>::max();
  if (whole < static_cast<F>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  return static_cast<D>(whole);
}

/// Saturating.
template <class D, class S>
D integer_to_integer(S value) noexcept {
  static_assert(std::is_integral_v<D> && std::is_integral_v<S>);
  const __int128 wide = value;
  if (wide > std::numeric_limits<D>::max()) return std::numeric_limits<D>::max();
  if (wide < std::numeric_limits<D>::min()) return std::numeric_limits<D>::min();
  return static_cast<D>(value);
}

/// The value of a stored scalar as a C++ arithmetic type: Half and Bfloat become float, Bool
/// becomes 0 or 1.
template <class S>
auto scalar_value(S s) noexcept {
  if constexpr (kIsSmallFloat<S>) {
    return static_cast<float>(s);
  } else if constexpr (std::is_same_v<S, Bool>) {
    return static_cast<std::uint8_t>(s.bits != 0);
  } else {
    return s;
  }
}

/// One scalar from dtype to dtype. Real to integer rounds and saturates (NaN: 0), integer to
/// integer saturates, to f16 and bf16 goes through f32, to bool is "not zero".
template <class D, Rounding kRounding = Rounding::half_even, class S>
D cast_scalar(S s) noexcept {
  const auto v = scalar_value(s);
  using V = decltype(v);
  if constexpr (kIsSmallFloat<D>) {
    return D(static_cast<float>(v));
  } else if constexpr (std::is_same_v<D, Bool>) {
    return {static_cast<std::uint8_t>(v != 0)};
  } else if constexpr (std::is_floating_point_v<D>) {
    return static_cast<D>(v);
  } else if constexpr (std::is_floating_point_v<std::remove_const_t<V>>) {
    return real_to_integer<D, kRounding>(v);
  } else {
    return integer_to_integer<D>(v);
  }
}

}  // namespace stowage
