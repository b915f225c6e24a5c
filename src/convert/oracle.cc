// SPDX-License-Identifier: Apache-2.0
#include "convert/oracle.h"

#include <array>
#include <cstring>

#include "tensor/stored_type.h"

namespace stowage {
namespace {

/// Coordinates of an element under another shape with the same axes.
std::array<std::int64_t, kMaxRank> matched(const Shape& from, std::span<const std::int64_t> x,
                                           const Shape& to) {
  std::array<std::int64_t, kMaxRank> out{};
  for (int i = 0; i < to.rank(); ++i) {
    const int j = from.index_of(to.axis(i));
    if (j >= 0) out[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(j)];
  }
  return out;
}

float parameter(std::span<const float> values, std::int64_t index, float none) {
  if (values.empty()) return none;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(index)];
}

}  // namespace

void cast_by_oracle(DType src_dtype, const void* from, DType dst_dtype, void* to) {
  for_stored_type(src_dtype, [&]<class S>() {
    S s;
    std::memcpy(&s, from, sizeof(s));
    for_stored_type(dst_dtype, [&]<class D>() {
      D d;
      if constexpr (std::is_same_v<S, D>) {
        d = s;
      } else {
        d = cast_scalar<D>(s);
      }
      std::memcpy(to, &d, sizeof(d));
    });
  });
}

void convert_by_oracle(DType src_dtype, const Mapping& src, const void* from, DType dst_dtype,
                       const Mapping& dst, void* to, const ScalarMap& map) {
  const auto* source = static_cast<const unsigned char*>(from);
  auto* destination = static_cast<unsigned char*>(to);
  const int axis = dst.shape().index_of(map.axis);
  for (std::int64_t cell = 0; cell < dst.cells(); ++cell) {
    std::array<std::int64_t, kMaxRank> x{};
    const Cell kind = dst.inverse(cell, x);
    unsigned char* const out = destination + cell * dtype_bytes(dst_dtype);
    if (kind == Cell::gap) continue;
    if (kind == Cell::tail) {
      std::memset(out, 0, static_cast<std::size_t>(dtype_bytes(dst_dtype)));
      continue;
    }
    const auto y = matched(dst.shape(), x, src.shape());
    const unsigned char* const in = source + src.offset(y) * dtype_bytes(src_dtype);
    if (map.mean.empty() && map.norm.empty()) {
      cast_by_oracle(src_dtype, in, dst_dtype, out);
      continue;
    }
    const std::int64_t k = axis >= 0 ? x[static_cast<std::size_t>(axis)] : 0;
    float value;
    cast_by_oracle(src_dtype, in, DType::f32, &value);
    value = (value - parameter(map.mean, k, 0.0f)) * parameter(map.norm, k, 1.0f);
    cast_by_oracle(DType::f32, &value, dst_dtype, out);
  }
}

}  // namespace stowage
