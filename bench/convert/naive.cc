// SPDX-License-Identifier: Apache-2.0
// What one writes first: a loop over the elements in the order of the destination, with strides.
#include <algorithm>
#include <vector>

#include "bench/convert/permutation.h"

namespace stowage::bench {
namespace {

template <class T>
void walk(const Shape& shape, const Strides& is, const Strides& os, const std::vector<int>& order,
          int depth, const T* src, T* dst) {
  const auto axis = static_cast<std::size_t>(order[static_cast<std::size_t>(depth)]);
  const std::int64_t n = shape[static_cast<int>(axis)];
  if (depth + 1 < shape.rank()) {
    for (std::int64_t i = 0; i < n; ++i)
      walk(shape, is, os, order, depth + 1, src + i * is[axis], dst + i * os[axis]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i * os[axis]] = src[i * is[axis]];
  }
}

template <class T>
Move move_of(const Case& c) {
  Strides is{}, os{};
  const Mapping src = c.source(), dst = c.destination();
  if (src.count().tail != 0 || dst.count().tail != 0) return {};
  if (!strides_of(src, is) || !strides_of(dst, os)) return {};
  std::vector<int> order(static_cast<std::size_t>(c.shape.rank()));
  for (int i = 0; i < c.shape.rank(); ++i) order[static_cast<std::size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return os[static_cast<std::size_t>(a)] > os[static_cast<std::size_t>(b)];
  });
  return [=, shape = c.shape](const void* from, void* to) {
    walk(shape, is, os, order, 0, static_cast<const T*>(from), static_cast<T*>(to));
  };
}

}  // namespace

Move make_naive(const Case& c, ThreadPool& pool) {
  if (c.src != c.dst || pool.threads() != 1 || c.shape.rank() == 0) return {};
  switch (dtype_bytes(c.src)) {
    case 1:
      return move_of<std::uint8_t>(c);
    case 2:
      return move_of<std::uint16_t>(c);
    case 4:
      return move_of<std::uint32_t>(c);
    default:
      return move_of<std::uint64_t>(c);
  }
}

}  // namespace stowage::bench
