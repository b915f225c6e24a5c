// SPDX-License-Identifier: Apache-2.0
// From a dtype, which is known when a program runs, to the C++ type that stores its scalars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/scalar.h"
#include "stowage/layout.h"

namespace stowage {

/// In the order of DType.
using StoredTypes =
    std::tuple<float, Half, Bfloat, double, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
               std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, Bool>;

inline constexpr std::size_t kDTypes = std::tuple_size_v<StoredTypes>;

static_assert(static_cast<int>(DType::f32) == 0 && static_cast<int>(DType::f64) == 3 &&
              static_cast<int>(DType::u8) == 4 &&
              static_cast<std::size_t>(DType::boolean) == kDTypes - 1);

template <DType kDType>
using StoredType = std::tuple_element_t<static_cast<std::size_t>(kDType), StoredTypes>;

/// f.operator()<T>() with the type that stores `dtype`.
template <class F>
void for_stored_type(DType dtype, F&& f) {
  const auto call = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const auto one = [&]<std::size_t kOne>() {
      if (static_cast<std::size_t>(dtype) != kOne) return;
      f.template operator()<std::tuple_element_t<kOne, StoredTypes>>();
    };
    (one.template operator()<kIndex>(), ...);
  };
  call(std::make_index_sequence<kDTypes>());
}

}  // namespace stowage
