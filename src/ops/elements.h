// SPDX-License-Identifier: Apache-2.0
// Typed elements for references: 16-bit floats as classes, and a call for each dtype.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/text.h"
#include "stowage/layout.h"

namespace stowage {

/// IEEE binary16; arithmetic happens in float.
class Half {
 public:
  Half() = default;

  explicit Half(float value) : bits_(round(value)) {}

  explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits_ & 0x8000u) << 16;
    const std::uint32_t exponent = (bits_ >> 10) & 31u, mantissa = bits_ & 1023u;
    if (exponent == 0) {
      const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
    return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
  }

 private:
  static std::uint16_t round(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
    const std::uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal: an integer multiple of 2^-24
      const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
      return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    const std::uint32_t rounded = magnitude + 0xfffu + odd - (112u << 23);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded >> 13));
  }

  std::uint16_t bits_ = 0;
};

/// The upper half of a float; arithmetic happens in float.
class BFloat {
 public:
  BFloat() = default;

  explicit BFloat(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    bits_ = std::isnan(value) ? std::uint16_t{0x7fc0}
                              : static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }

  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  std::uint16_t bits_ = 0;
};

template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

/// The type in which arithmetic on T happens.
template <class T>
using Compute = std::conditional_t<kIsSmallFloat<T>, float, T>;

/// The type in which sums of T are gathered.
template <class T>
using Accumulator = std::conditional_t<kIsSmallFloat<T> || std::is_floating_point_v<T>, double, T>;

/// C++ casts with defined results everywhere: floats saturate into integers, NaN becomes 0.
template <class To, class From>
To element_cast(From from) {
  if constexpr (kIsSmallFloat<From>) {
    return element_cast<To>(static_cast<float>(from));
  } else if constexpr (kIsSmallFloat<To>) {
    return To(static_cast<float>(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr int digits = std::numeric_limits<To>::digits;
    const From limit = std::ldexp(From(1), digits);
    if (std::isnan(from)) return To(0);
    if (from >= limit) return std::numeric_limits<To>::max();
    if (from <= (std::is_signed_v<To> ? -limit : From(0))) return std::numeric_limits<To>::min();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

/// f.operator()<T>() with the element type of a float dtype. Throws Error(unsupported) otherwise.
template <class F>
void for_float_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::f16:
      return f.template operator()<Half>();
    case DType::bf16:
      return f.template operator()<BFloat>();
    default:
      fail(ErrorCode::unsupported, dtype_name(dtype), " is not a floating-point type");
  }
}

/// Likewise for floats and integers.
template <class F>
void for_number_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::u16:
      return f.template operator()<std::uint16_t>();
    case DType::i16:
      return f.template operator()<std::int16_t>();
    case DType::u32:
      return f.template operator()<std::uint32_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u64:
      return f.template operator()<std::uint64_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::boolean:
      fail(ErrorCode::unsupported, "bool is not a number type");
    default:
      return for_float_dtype(dtype, f);
  }
}

/// Likewise for every dtype; bool elements are `bool`.
template <class F>
void for_dtype(DType dtype, F&& f) {
  if (dtype == DType::boolean) return f.template operator()<bool>();
  for_number_dtype(dtype, f);
}

/// Likewise with an unsigned integer of the same size: for operators that move elements.
template <class F>
void for_bytes(DType dtype, F&& f) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

inline bool is_float(DType d) {
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

}  // namespace stowage
