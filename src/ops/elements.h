// SPDX-License-Identifier: Apache-2.0
// Typed elements for references: what arithmetic on them is, and a call for each dtype.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/text.h"
#include "stowage/layout.h"
#include "tensor/stored_type.h"

namespace stowage {

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
  for_stored_type(dtype, [&]<class T>() {
    if constexpr (kIsSmallFloat<T> || std::is_floating_point_v<T>) {
      f.template operator()<T>();
    } else {
      fail(ErrorCode::unsupported, dtype_name(dtype), " is not a floating-point type");
    }
  });
}

/// Likewise for floats and integers.
template <class F>
void for_number_dtype(DType dtype, F&& f) {
  for_stored_type(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Bool>) {
      fail(ErrorCode::unsupported, "bool is not a number type");
    } else {
      f.template operator()<T>();
    }
  });
}

/// Likewise for every dtype; bool elements are `bool`.
template <class F>
void for_dtype(DType dtype, F&& f) {
  for_stored_type(dtype, [&]<class T>() {
    f.template operator()<std::conditional_t<std::is_same_v<T, Bool>, bool, T>>();
  });
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
