// SPDX-License-Identifier: Apache-2.0
#include "bench/convert/permutation.h"

#include <algorithm>

namespace stowage::bench {
bool strides_of(const Mapping& m, Strides& out) {
  std::array<int, kMaxRank> digits{};
  for (const Digit& d : m.linear_digits()) {
    if (d.e == 1) continue;
    out[static_cast<std::size_t>(d.dim)] = d.stride;
    if (++digits[static_cast<std::size_t>(d.dim)] > 1) return false;
  }
  return true;
}

std::optional<std::vector<Axis>> axes_of(const Case& c) {
  const auto dense = [](const Mapping& m) { return m.cells() == m.shape().elements(); };
  const Mapping src = c.source(), dst = c.destination();
  Strides is{}, os{};
  if (c.src != c.dst || !dense(src) || !dense(dst) || !strides_of(src, is) || !strides_of(dst, os))
    return std::nullopt;
  std::vector<Axis> axes;
  for (int i = 0; i < c.shape.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (c.shape[i] > 1) axes.push_back({c.shape[i], is[k], os[k]});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.os > b.os; });
  std::vector<Axis> fused;
  for (const Axis& x : axes) {
    if (!fused.empty() && fused.back().is == x.n * x.is && fused.back().os == x.n * x.os) {
      fused.back() = {fused.back().n * x.n, x.is, x.os};
    } else {
      fused.push_back(x);
    }
  }
  return fused;
}

std::optional<Transposition> transposition_of(const Case& c) {
  const auto axes = axes_of(c);
  if (!axes || axes->size() < 2 || axes->size() > 3) return std::nullopt;
  const Axis &columns = (*axes)[axes->size() - 2], &rows = axes->back();
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (columns.is != 1 || rows.is != columns.n) return std::nullopt;
  return Transposition{axes->size() == 3 ? size((*axes)[0].n) : 1, size(rows.n), size(columns.n)};
}

}  // namespace stowage::bench
