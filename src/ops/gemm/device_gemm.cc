// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/device_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/index.h"
#include "kernels/layouts.h"
#include "ops/device/device_offer.h"
#include "ops/device/item_work.h"

namespace stowage {

namespace {

struct Way {
  int rows = 1, split = 1, columns = 1;
  ItemWork work;
};

/// `texels` of a row, `sum` texels along k. More rows of an item read b less often, but leave fewer
/// items, and so do fewer that share a sum. A group that shares one is narrow: the more parts, the
/// fewer neighbours read one line of b.
Way gemm_way(const DeviceFacts& facts, double batches, std::int64_t m, std::int64_t texels,
             std::int64_t sum) {
  constexpr int kGroup = 256, kMostSplit = 128;
  const auto group =
      static_cast<int>(std::bit_floor(idx(std::clamp<std::int64_t>(facts.group_items, 1, kGroup))));
  std::optional<Way> best;
  for (const int rows : {1, 2, 4, 8}) {
    if (rows > 1 && m < rows) break;
    const double items =
        batches * static_cast<double>(ceil_div(m, rows)) * static_cast<double>(texels);
    for (int split = 1; split <= kMostSplit && split <= sum; split = split == 1 ? 16 : 2 * split) {
      const int columns = split == 1 ? 1 : group / split;
      const std::int64_t local = std::int64_t{group} * rows * kTexel * sizeof(float);
      if (split > 1 && (columns < 2 || local > facts.local_bytes)) break;
      const double line = split == 1 ? 1 : std::max(1.0, 8.0 / columns);
      const double each = 4 * rows + 4 * line + rows;  // multiplications, b, a
      const double end = 4 * rows + (split > 1 ? std::log2(split) * (2 + rows) : 0);
      const double units = kItemUnits + static_cast<double>(ceil_div(sum, split)) * each + end;
      const Way way{rows, split, columns, {items * split, units, each}};
      if (!best || way.work.total(facts.rates) < best->work.total(facts.rates)) best = way;
    }
  }
  return *best;
}

}  // namespace

void offer_device_gemm(const OfferRequest& request, GemmDeviceParams params,
                       std::vector<Offer>& offers) {
  constexpr int kMostRank = 6;
  const NodeRef& node = request.node;
  if (!request.target.device) return;
  const Shape &a = node.shape(0), &b = node.shape(1), &y = node.output().shape;
  const int last = y.rank() - 1;
  if (a.rank() < 2 || b.rank() < 2 || y.rank() > kMostRank) return;
  const int k = params.trans_a ? a.rank() - 2 : a.rank() - 1;
  const int n = params.trans_b ? b.rank() - 2 : b.rank() - 1;
  const std::int64_t m = y[last - 1];
  const double matrix = std::max(static_cast<double>(m) * static_cast<double>(y[last]), 1.0);
  const DeviceFacts& facts = request.target.device->facts;
  const Way way = gemm_way(facts, static_cast<double>(y.elements()) / matrix, m, texels_of(y[last]),
                           texels_of(a[k]));
  params.rows = way.rows;
  params.split = way.split;
  params.columns = way.columns;
  params.posts = node.node().posts;
  DeviceOffer offer(request);
  offer.in(0, texels_along(a, k));
  offer.in(1, texels_along(b, n));
  offer.out(texels_along(y, last));
  if (params.c >= 0) offer.in_texels(params.c, node.rank(params.c) - 1);
  offer.posts();
  const double flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(a[k]);
  offer.add(kGemmDevice, std::move(params), flops, way.work.efficiency(facts.rates, flops), offers);
}

}  // namespace stowage
