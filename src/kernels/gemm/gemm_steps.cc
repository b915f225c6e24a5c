// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_steps.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/scalar.h"
#include "base/thread_pool.h"
#include "kernels/gemm/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_steps.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/posts-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// Adds two rows of weights, times x[0] and x[1].
template <int NB>
HWY_INLINE void add_two_rows(const std::uint32_t* words, const float* x, V (&even)[NB],
                             V (&odd)[NB]) {
  const hn::RebindToUnsigned<D> du;
  const V x0 = hn::Set(kTag, x[0]), x1 = hn::Set(kTag, x[1]);
  const auto high = hn::Set(du, 0xFFFF0000u);
  STOWAGE_UNROLL
  for (int b = 0; b < NB; ++b) {
    const auto w = hn::LoadU(du, words + b * kLanes);
    even[b] = hn::MulAdd(x0, hn::BitCast(kTag, hn::ShiftLeft<16>(w)), even[b]);
    odd[b] = hn::MulAdd(x1, hn::BitCast(kTag, hn::And(w, high)), odd[b]);
  }
}

/// The products of a panel without step and bias.
template <int NB>
HWY_INLINE void multiply(const GemmSteps& g, const std::uint32_t* words, const float* x,
                         V (&sum)[NB]) {
  // So many sums that none is waited for.
  constexpr int kSets = std::max(4 / NB, 1);
  V even[kSets][NB], odd[kSets][NB];
  STOWAGE_UNROLL
  for (int s = 0; s < kSets; ++s) {
    STOWAGE_UNROLL
    for (int b = 0; b < NB; ++b) even[s][b] = odd[s][b] = hn::Zero(kTag);
  }
  const std::int64_t row = g.row;
  const float* const end = x + g.k;
  for (; end - x >= 2 * kSets; x += 2 * kSets, words += kSets * row) {
    STOWAGE_UNROLL
    for (int s = 0; s < kSets; ++s) add_two_rows(words + s * row, x + 2 * s, even[s], odd[s]);
  }
  for (; end - x >= 2; x += 2, words += row) add_two_rows(words, x, even[0], odd[0]);
  if (x != end) {
    // There is no x for the zeros beside the last row.
    const float last[2] = {*x, 0};
    add_two_rows(words, last, even[0], odd[0]);
  }
  STOWAGE_UNROLL
  for (int b = 0; b < NB; ++b) {
    sum[b] = hn::Add(even[0][b], odd[0][b]);
    STOWAGE_UNROLL
    for (int s = 1; s < kSets; ++s) sum[b] = hn::Add(sum[b], hn::Add(even[s][b], odd[s][b]));
  }
}

HWY_NOINLINE void finish(const GemmSteps& g, float* values, int blocks,
                         const float* const* operands) {
  const std::int64_t at = 0;
  apply_posts(g.posts, {values, &at, kLanes, 1, blocks, operands, &at, kLanes});
}

/// Panel `p`, of which NB blocks are there.
template <int NB>
HWY_NOINLINE void compute_panel(const GemmSteps& g, const GemmStepsCall& call, std::int64_t p) {
  const std::int64_t first = p * g.row;
  V sum[NB];
  multiply<NB>(g, g.words.get() + p * g.panel_words, call.x, sum);
  const V step = hn::Set(kTag, g.step);
  STOWAGE_UNROLL
  for (int b = 0; b < NB; ++b) {
    V added = hn::Zero(kTag);
    if (call.bias != nullptr) added = hn::LoadU(kTag, call.bias + first + b * kLanes);
    sum[b] = hn::MulAdd(sum[b], step, added);
  }
  if (g.posts.count > 0) {
    HWY_ALIGN float values[NB * kLanes];
    STOWAGE_UNROLL
    for (int b = 0; b < NB; ++b) hn::Store(sum[b], kTag, values + b * kLanes);
    const float* operands[kMostPosts];
    g.posts.advance(call.operands, first, first, operands);
    finish(g, values, NB, operands);
    STOWAGE_UNROLL
    for (int b = 0; b < NB; ++b) sum[b] = hn::Load(kTag, values + b * kLanes);
  }
  float* const y = call.y + first;
  STOWAGE_UNROLL
  for (int b = 0; b + 1 < NB; ++b) hn::StoreU(sum[b], kTag, y + b * kLanes);
  constexpr std::int64_t kBefore = (NB - 1) * kLanes;
  store_first(kTag, sum[NB - 1], std::min(kLanes, g.n - first - kBefore), y + kBefore);
}

void run_panels(const GemmSteps& g, const GemmStepsCall& call) {
  for (std::int64_t p = call.panel_begin; p < call.panel_end; ++p) {
    switch (std::min(g.panel, g.blocks - p * g.panel)) {
      case 1:
        compute_panel<1>(g, call, p);
        break;
      case 2:
        compute_panel<2>(g, call, p);
        break;
      case 3:
        compute_panel<3>(g, call, p);
        break;
      default:
        compute_panel<4>(g, call, p);
    }
  }
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace stowage {

namespace {

HWY_EXPORT(run_panels);

/// Bytes of weights that are worth a thread: with half as many, two took longer than one.
constexpr std::int64_t kTaskBytes = 256 << 10;

GemmSteps bind(const GemmStepsParams& p, const BindArgs& args) {
  GemmSteps g;
  const std::int64_t lanes = tile_lanes(), rows = ceil_div(p.k, 2);
  g.n = p.n;
  g.k = p.k;
  g.blocks = ceil_div(p.n, lanes);
  g.panel = tile_panel(g.blocks);
  g.panels = ceil_div(g.blocks, g.panel);
  g.row = g.panel * lanes;
  g.panel_words = rows * g.row;
  g.step = p.step;
  g.bias = p.bias;
  g.posts = BoundPosts(p.posts);
  g.posts.in_registers = 0;
  const std::int64_t bytes = g.panels * g.panel_words * std::int64_t{sizeof(std::uint32_t)};
  g.shares = std::clamp<std::int64_t>(bytes / kTaskBytes, 1, std::max(p.threads, 1));
  g.shares = std::min(g.shares, g.panels);
  g.words.reset(static_cast<std::uint32_t*>(allocate(idx(bytes))), Free());
  const float* w = args.constant<float>(1);
  std::uint32_t* to = g.words.get();
  for (std::int64_t panel = 0; panel < g.panels; ++panel) {
    for (std::int64_t k = 0; k < p.k; k += 2, to += g.row) {
      const bool both = k + 1 < p.k;
      for (std::int64_t j = 0; j < g.row; ++j) {
        const float low = std::round(w[j] / p.step);
        const float high = both ? std::round(w[g.row + j] / p.step) : 0;
        to[j] = std::uint32_t{f32_to_bf16(high)} << 16 | f32_to_bf16(low);
      }
      w += both ? 2 * g.row : g.row;
    }
  }
  return g;
}

void run(const GemmSteps& g, const KernelArgs& args) noexcept {
  GemmStepsCall all;
  all.x = args.input<float>(0);
  all.bias = args.optional_input<float>(g.bias);
  g.posts.resolve(args, 0, 0, all.operands);
  all.y = args.output<float>(0);
  parallel(args.pool, idx(g.shares), [&](std::size_t i) {
    const auto share = static_cast<std::int64_t>(i);
    GemmStepsCall call = all;
    call.panel_begin = g.panels * share / g.shares;
    call.panel_end = g.panels * (share + 1) / g.shares;
    HWY_DYNAMIC_DISPATCH(run_panels)(g, call);
  });
}

}  // namespace

constexpr KernelDef kGemmSteps = kernel_def<GemmStepsParams, bind, run>("gemm_steps", takes_any);

}  // namespace stowage

#endif
