// SPDX-License-Identifier: Apache-2.0
// XNNPACK's channel shuffle, which is its transposition of two neighbouring groups of axes: the
// packaged version has no general one.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "bench/convert/contender.h"

namespace stowage::bench {
namespace {

/// Axes longer than 1 by descending stride; none where an axis has several digits, tails or gaps.
std::optional<std::vector<int>> order_of(const Mapping& m) {
  std::vector<std::pair<std::int64_t, int>> axes;
  for (const Digit& d : m.linear_digits()) {
    if (d.e > 1) axes.emplace_back(-d.stride, d.dim);
  }
  std::sort(axes.begin(), axes.end());
  std::vector<int> out;
  for (const auto& [stride, dim] : axes) out.push_back(dim);
  std::vector<int> unique = out;
  std::sort(unique.begin(), unique.end());
  if (std::adjacent_find(unique.begin(), unique.end()) != unique.end() ||
      m.cells() != m.shape().elements())
    return std::nullopt;
  return out;
}

/// [batch, groups, channels] to [batch, channels, groups].
struct Shuffle {
  std::size_t batch = 1, groups = 1, channels = 1;
};

std::optional<Shuffle> shuffle_of(const Case& c) {
  const auto from = order_of(c.source()), to = order_of(c.destination());
  if (!from || !to || from->size() != to->size()) return std::nullopt;
  const auto at = std::mismatch(from->begin(), from->end(), to->begin());
  if (at.first == from->end()) return std::nullopt;
  std::vector<int> rest(at.first, from->end());
  const auto split = std::find(rest.begin(), rest.end(), *at.second);
  const auto product = [&](auto begin, auto end) {
    return std::accumulate(begin, end, std::size_t{1}, [&](std::size_t n, int axis) {
      return n * static_cast<std::size_t>(c.shape[axis]);
    });
  };
  Shuffle out{product(from->begin(), at.first), product(rest.begin(), split),
              product(split, rest.end())};
  std::rotate(rest.begin(), split, rest.end());
  if (!std::equal(rest.begin(), rest.end(), at.second)) return std::nullopt;
  return out;
}

}  // namespace

Move make_xnnpack(const Case& c, const ThreadPool& pool) {
  const auto s = shuffle_of(c);
  const int bytes = dtype_bytes(c.src);
  if (!s || c.src != c.dst || (bytes != 1 && bytes != 4) ||
      xnn_initialize(nullptr) != xnn_status_success)
    return {};
  xnn_operator_t made = nullptr;
  const std::size_t row = s->groups * s->channels;
  const auto create =
      bytes == 1 ? xnn_create_channel_shuffle_nc_x8 : xnn_create_channel_shuffle_nc_x32;
  if (create(s->groups, s->channels, row, row, 0, &made) != xnn_status_success) return {};
  const std::shared_ptr<xnn_operator> op(made, xnn_delete_operator);
  static const std::unique_ptr<pthreadpool, void (*)(pthreadpool*)> threads(
      pthreadpool_create(static_cast<std::size_t>(pool.threads())), pthreadpool_destroy);
  return [op, bytes, batch = s->batch, threads = threads.get()](const void* src, void* dst) {
    const auto setup =
        bytes == 1 ? xnn_setup_channel_shuffle_nc_x8 : xnn_setup_channel_shuffle_nc_x32;
    setup(op.get(), batch, src, dst, threads);
    xnn_run_operator(op.get(), threads);
  };
}

}  // namespace stowage::bench
