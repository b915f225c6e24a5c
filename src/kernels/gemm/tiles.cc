// SPDX-License-Identifier: Apache-2.0
// pixel_gemm for every instruction set.
#include "kernels/gemm/tiles.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/caches.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/tiles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/posts-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

// The accumulators of a tile, a row of weights and one pixel must fit into the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_ARCH_ARM_A64
constexpr int kMaxPanel = 4, kFullPixels = 6;
#else
constexpr int kMaxPanel = 2, kFullPixels = 6;
#endif
/// Bytes that a prefetch brings.
constexpr std::int64_t kLine = 64;
/// Channels that a tile takes without a loop.
constexpr int kUnrolled = 16;

/// The part of the sum that one pass over the tiles adds.
struct Slab {
  std::int64_t outer_begin, outer_end;
  int tap_begin, tap_end;
  std::int64_t k_begin, k_end;  // of the run; k_end is for all but the last outer step
  bool first, last;
};

/// Posts that are not for registers. Functions of an element are long chains of operations: over
/// the few vectors of a tile most of the time goes by until the first of them ends.
enum class PostsWhen {
  never,    // there are none
  in_tile,  // a tail is not stored as it is
  later,    // over the results of several tiles, while they are in the L1
};

struct Tile {
  const PixelGemm* gemm;
  const PixelGemmCall* call;
  const float* const* pixels;  // of tap 0
  const float* zero;           // zero_run(): a call here would spill the accumulators
  const std::int64_t* out_at;
  const float* weights;               // of the panel
  const float* bias;                  // of the panel or null
  const float* operands[kMostPosts];  // of the panel
  float* out;                         // of the panel
  std::int64_t last_valid;            // channels of the last block
  bool advances;                      // all pixels alike from block to block of one tap
  PostsWhen posts;
  const Slab* slab;
  // Weights of the next slab, fetched into L2 while this one is multiplied: lines of 64 bytes
  // for each kUnrolled rows.
  const char* next = nullptr;
  int next_lines = 0;
};

template <int P, int NB>
HWY_INLINE void multiply_row(const float* w, const float* const (&px)[P], std::int64_t k,
                             V (&acc)[P][NB]) {
  V wv[NB];
  STOWAGE_UNROLL
  for (int n = 0; n < NB; ++n) wv[n] = hn::LoadU(kTag, w + n * kLanes);
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) {
    const V x = hn::Set(kTag, px[p][k]);
    STOWAGE_UNROLL
    for (int n = 0; n < NB; ++n) acc[p][n] = hn::MulAdd(x, wv[n], acc[p][n]);
  }
}

/// Rows that a tile takes at once where a run of channels is so long; a block is kLanes of them.
constexpr std::int64_t unrolled_rows(std::int64_t run) {
  return run < kUnrolled ? kLanes : kUnrolled;
}

template <int P, int NB>
HWY_INLINE void multiply_taps(const Tile& t, V (&acc)[P][NB]) {
  const PixelGemm& g = *t.gemm;
  const Slab& s = *t.slab;
  const float* const zero = t.zero;
  const std::int64_t row = g.w_row;
  const char* next = t.next;
  for (std::int64_t o = s.outer_begin; o < s.outer_end; ++o) {
    const std::int64_t advance = o * g.in_outer;
    const std::int64_t run = o + 1 == g.outer ? std::min(s.k_end, g.last_run) : s.k_end;
    const float* const* pointers = t.pixels + s.tap_begin * t.call->pixel_stride;
    for (int tap = s.tap_begin; tap < s.tap_end; ++tap, pointers += t.call->pixel_stride) {
      const float* px[P];
      bool padding = g.skips_padding;
      STOWAGE_UNROLL
      for (int p = 0; p < P; ++p) {
        padding = padding && pointers[p] == zero;
        px[p] = pointers[p] == zero ? zero : pointers[p] + advance;
      }
      if (padding) continue;
      const float* w =
          t.weights + o * g.w_outer + g.w_tap[static_cast<std::size_t>(tap)] + s.k_begin * row;
      std::int64_t k = s.k_begin;
      if (run < kUnrolled) {
        for (int i = 0; i < t.next_lines; ++i, next += kLine) __builtin_prefetch(next, 0, 2);
      }
      // A block of channels without a loop: branches at its end would be mispredicted.
      if constexpr (P * NB >= 8) {
        for (; k + kUnrolled <= run; k += kUnrolled) {
          for (int i = 0; i < t.next_lines; ++i, next += kLine) __builtin_prefetch(next, 0, 2);
          STOWAGE_UNROLL
          for (int i = 0; i < kUnrolled; ++i, w += row) multiply_row<P, NB>(w, px, k + i, acc);
        }
      }
      for (; k < run; ++k, w += row) multiply_row<P, NB>(w, px, k, acc);
    }
  }
}

/// The same where pixels advance alike: their pointers are read once, and nothing but products is
/// between one block of channels and the next.
template <int P, int NB>
HWY_INLINE void multiply_blocks(const Tile& t, V (&acc)[P][NB]) {
  const PixelGemm& g = *t.gemm;
  const Slab& s = *t.slab;
  const std::int64_t row = g.w_row, step = g.in_outer;
  const float* px[P];
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) px[p] = t.pixels[p] + s.outer_begin * step;
  const float* w = t.weights + s.outer_begin * g.w_outer + g.w_tap[0];
  const char* next = t.next;
  const int lines = t.next_lines;
  const std::int64_t whole =
      g.last_run == kLanes ? s.outer_end : std::min(s.outer_end, g.outer - 1);
  for (std::int64_t o = s.outer_begin; o < whole; ++o) {
    for (int i = 0; i < lines; ++i, next += kLine) __builtin_prefetch(next, 0, 2);
    STOWAGE_UNROLL
    for (int i = 0; i < kLanes; ++i, w += row) multiply_row<P, NB>(w, px, i, acc);
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) px[p] += step;
  }
  if (whole == s.outer_end) return;
  for (std::int64_t k = 0; k < g.last_run; ++k, w += row) multiply_row<P, NB>(w, px, k, acc);
}

template <int P, int NB>
HWY_INLINE void multiply(const Tile& t, V (&acc)[P][NB]) {
  if constexpr (P * NB >= 8) {
    if (t.advances) return multiply_blocks<P, NB>(t, acc);
  }
  multiply_taps<P, NB>(t, acc);
}

/// Whether the sum has one tap, whole blocks of channels but for the last, and no pixel of padding.
bool pixels_advance(const PixelGemm& g, const PixelGemmCall& call) {
  const float* const* const end = call.pixels + call.count;
  return g.outer > 1 && g.taps() == 1 && g.run == kLanes && g.w_outer == kLanes * g.w_row &&
         std::find(call.pixels, end, zero_run()) == end;
}

/// Posts that are not for registers, over the values of a tile: [pixel][block][lane].
HWY_NOINLINE void finish_values(const Tile& t, float* values, int pixels, int blocks) {
  const DensePixels<2 * kFullPixels> dense(blocks);
  apply_posts(t.gemm->posts,
              {values, dense.at, kLanes, pixels, blocks, t.operands, t.out_at, t.gemm->out_block});
}

/// Likewise over the results of the first `pixels` of `t`, where they lie.
HWY_NOINLINE void finish_results(const Tile& t, int pixels, int blocks) {
  const std::int64_t block = t.gemm->out_block;
  apply_posts(t.gemm->posts, {t.out, t.out_at, block, pixels, blocks, t.operands, t.out_at, block});
}

/// The last block of a pixel: behind it may be another pixel, which another thread writes.
HWY_INLINE V load_last(const Tile& t, const float* at) {
  if (t.last_valid == kLanes || t.gemm->out_padded) return hn::LoadU(kTag, at);
  return load_first(kTag, at, t.last_valid);
}

template <int P, int NB>
HWY_NOINLINE void compute_tile(const Tile& t) {
  const std::int64_t out_block = t.gemm->out_block;
  // Stores may alias what `t` points at, so that it would be read again after each.
  const std::int64_t* const out_at = t.out_at;
  float* const out = t.out;
  V acc[P][NB];
  if (!t.slab->first) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      STOWAGE_UNROLL
      for (int n = 0; n + 1 < NB; ++n) {
        acc[p][n] = hn::LoadU(kTag, out + out_at[p] + n * out_block);
      }
      acc[p][NB - 1] = load_last(t, out + out_at[p] + (NB - 1) * out_block);
    }
  } else if (t.bias != nullptr) {
    STOWAGE_UNROLL
    for (int n = 0; n < NB; ++n) {
      const V b = hn::LoadU(kTag, t.bias + n * kLanes);
      STOWAGE_UNROLL
      for (int p = 0; p < P; ++p) acc[p][n] = b;
    }
  } else {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      STOWAGE_UNROLL
      for (int n = 0; n < NB; ++n) acc[p][n] = hn::Zero(kTag);
    }
  }
  multiply<P, NB>(t, acc);
  const BoundPosts& posts = t.gemm->posts;
  if (t.slab->last && posts.adds && t.operands[0] != nullptr) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      const float* added = t.operands[0] + out_at[p];
      STOWAGE_UNROLL
      for (int n = 0; n < NB; ++n) {
        acc[p][n] = hn::Add(acc[p][n], hn::LoadU(kTag, added + n * out_block));
      }
    }
  }
  if (t.slab->last && posts.clips) {
    const V lo = hn::Set(kTag, posts.lo), hi = hn::Set(kTag, posts.hi);
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      STOWAGE_UNROLL
      for (int n = 0; n < NB; ++n) acc[p][n] = at_least(acc[p][n], lo);
    }
    // A Relu has no upper bound.
    if (posts.hi < std::numeric_limits<float>::infinity()) {
      STOWAGE_UNROLL
      for (int p = 0; p < P; ++p) {
        STOWAGE_UNROLL
        for (int n = 0; n < NB; ++n) acc[p][n] = at_most(acc[p][n], hi);
      }
    }
  }
  if (t.slab->last && t.posts == PostsWhen::in_tile) {
    HWY_ALIGN float values[P * NB * kLanes];
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      STOWAGE_UNROLL
      for (int n = 0; n < NB; ++n) hn::Store(acc[p][n], kTag, values + (p * NB + n) * kLanes);
    }
    finish_values(t, values, P, NB);
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      STOWAGE_UNROLL
      for (int n = 0; n < NB; ++n) acc[p][n] = hn::Load(kTag, values + (p * NB + n) * kLanes);
    }
  }
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) {
    STOWAGE_UNROLL
    for (int n = 0; n + 1 < NB; ++n) hn::StoreU(acc[p][n], kTag, out + out_at[p] + n * out_block);
  }
  float* const last = out + (NB - 1) * out_block;
  if (t.last_valid == kLanes) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) hn::StoreU(acc[p][NB - 1], kTag, last + out_at[p]);
  } else if (t.gemm->out_padded) {
    // An infinite input times the zeros behind the weights is no zero.
    const auto mask = hn::FirstN(kTag, static_cast<std::size_t>(t.last_valid));
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      hn::StoreU(hn::IfThenElseZero(mask, acc[p][NB - 1]), kTag, last + out_at[p]);
    }
  } else {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      store_first(kTag, acc[p][NB - 1], t.last_valid, last + out_at[p]);
    }
  }
}

using TileFunction = void (*)(const Tile&);

struct TileChoice {
  int pixels;
  TileFunction function;
};

/// The tile for the next of `rest` pixels in a panel of `blocks`.
TileChoice choose_tile(int blocks, int rest) {
  if (blocks == kMaxPanel) {
    // Tiles of nearly equal size instead of a small last one.
    static constexpr TileFunction full[] = {compute_tile<1, kMaxPanel>, compute_tile<2, kMaxPanel>,
                                            compute_tile<3, kMaxPanel>, compute_tile<4, kMaxPanel>,
                                            compute_tile<5, kMaxPanel>, compute_tile<6, kMaxPanel>};
    static_assert(std::size(full) == kFullPixels);
    const int tiles = (rest + kFullPixels - 1) / kFullPixels;
    const int pixels = (rest + tiles - 1) / tiles;
    return {pixels, full[pixels - 1]};
  }
  if constexpr (kMaxPanel > 2) {
    if (blocks == 3) {
      if (rest >= 8) return {8, compute_tile<8, 3>};
      if (rest >= 4) return {4, compute_tile<4, 3>};
      if (rest >= 2) return {2, compute_tile<2, 3>};
      return {1, compute_tile<1, 3>};
    }
    if (blocks == 2) {
      if (rest >= 12) return {12, compute_tile<12, 2>};
      if (rest >= 6) return {6, compute_tile<6, 2>};
      if (rest >= 3) return {3, compute_tile<3, 2>};
      return {1, compute_tile<1, 2>};
    }
  }
  if (rest >= 12) return {12, compute_tile<12, 1>};
  if (rest >= 6) return {6, compute_tile<6, 1>};
  if (rest >= 3) return {3, compute_tile<3, 1>};
  return {1, compute_tile<1, 1>};
}

/// The weights that the slab after this one reads, if they follow it in memory.
struct NextWeights {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::int64_t tile_steps = 0;  // of a tile: how often it takes kUnrolled rows
  int lines = 0;                // for each of them
};

NextWeights next_weights(const PixelGemmCall& call, const Tile& t) {
  const PixelGemm& g = *t.gemm;
  const Slab& s = *t.slab;
  const float *begin, *end;
  if (s.first && s.last) {
    begin = t.weights + g.w_panel;
    end = begin + g.w_panel;
  } else if (g.outer > 1) {
    begin = t.weights + s.outer_end * g.w_outer;
    end = begin + (s.outer_end - s.outer_begin) * g.w_outer;
  } else if (g.taps() == 1) {
    begin = t.weights + s.k_end * g.w_row;
    end = begin + (s.k_end - s.k_begin) * g.w_row;
  } else {
    return {};
  }
  end = std::min(end, call.weights + call.panel_end * g.w_panel);
  NextWeights next;
  const std::int64_t run = s.k_end - s.k_begin;
  next.tile_steps =
      (s.outer_end - s.outer_begin) * (s.tap_end - s.tap_begin) * (run / unrolled_rows(run));
  const std::int64_t steps = next.tile_steps * ((call.count + kFullPixels - 1) / kFullPixels);
  if (begin >= end || steps == 0) return {};
  next.begin = reinterpret_cast<const char*>(begin);
  next.end = reinterpret_cast<const char*>(end);
  next.lines = static_cast<int>(((next.end - next.begin) / kLine + steps - 1) / steps);
  return next;
}

/// Tiles of one panel for one slab.
void run_tiles(const PixelGemmCall& call, Tile t, int blocks) {
  const NextWeights next = next_weights(call, t);
  t.next = next.begin;
  constexpr int kFinished = 64;
  int finished = 0;
  for (int p = 0; p < call.count;) {
    t.next_lines = t.next < next.end ? next.lines : 0;
    const TileChoice tile = choose_tile(blocks, call.count - p);
    t.pixels = call.pixels + p;
    t.out_at = call.out_at + p;
    tile.function(t);
    t.next += t.next_lines * next.tile_steps * kLine;
    p += tile.pixels;
    if (!t.slab->last || t.posts != PostsWhen::later) continue;
    if (p - finished < kFinished && p < call.count) continue;
    t.out_at = call.out_at + finished;
    finish_results(t, p - finished, blocks);
    finished = p;
  }
}

/// Calls run(slab) for slabs of at most `rows` rows of weights, cut along the outermost loop that
/// has more than one step.
template <class F>
void for_each_slab(const PixelGemm& g, std::int64_t rows, F&& run) {
  const std::int64_t taps = g.taps();
  const std::int64_t steps = g.outer > 1 ? g.outer : taps > 1 ? taps : g.run;
  const std::int64_t step_rows = g.outer > 1 ? taps * g.run : taps > 1 ? g.run : 1;
  const std::int64_t slabs = std::max<std::int64_t>((steps * step_rows + rows - 1) / rows, 1);
  const std::int64_t length = std::max<std::int64_t>((steps + slabs - 1) / slabs, 1);
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(begin + length, steps);
    Slab s{0, g.outer, 0, static_cast<int>(taps), 0, g.run, begin == 0, end == steps};
    if (g.outer > 1) {
      s.outer_begin = begin;
      s.outer_end = end;
    } else if (taps > 1) {
      s.tap_begin = static_cast<int>(begin);
      s.tap_end = static_cast<int>(end);
    } else {
      s.k_begin = begin;
      s.k_end = end;
    }
    run(s);
    begin = end;
  } while (begin < steps);
}

void run(const PixelGemm& g, const PixelGemmCall& call) {
  const std::int64_t width = g.panel * kLanes;
  const bool advances = pixels_advance(g, call);
  for (std::int64_t panel = call.panel_begin; panel < call.panel_end; ++panel) {
    const std::int64_t channel = panel * width;
    const std::int64_t channels = std::min(g.channels - channel, width);
    const int blocks = static_cast<int>((channels + kLanes - 1) / kLanes);
    Tile t{};
    t.gemm = &g;
    t.call = &call;
    t.zero = zero_run();
    t.advances = advances;
    t.weights = call.weights + panel * g.w_panel;
    t.bias = call.bias == nullptr ? nullptr : call.bias + channel;
    const std::int64_t at = panel * g.panel * g.out_block;
    g.posts.advance(call.operands, at, channel, t.operands);
    t.out = call.out + at;
    t.last_valid = channels - (blocks - 1) * kLanes;
    if (g.posts.in_registers < g.posts.count) {
      t.posts = t.last_valid == kLanes ? PostsWhen::later : PostsWhen::in_tile;
    }
    const std::int64_t rows = std::max<std::int64_t>(g.slab / (blocks * kLanes), 1);
    for_each_slab(g, rows, [&](const Slab& slab) {
      t.slab = &slab;
      run_tiles(call, t, blocks);
    });
  }
}

/// Multiply-adds that take as long as one row of weights for that many pixels: sums of few vectors
/// wait for themselves.
double row_cost(std::int64_t pixels, int blocks) {
  constexpr int kInFlight = 8;
  // Of so many pixels no tile is left over, whatever the panel.
  constexpr std::int64_t kWhole = 24;
  auto cost = static_cast<double>(pixels / kWhole * kWhole * blocks);
  for (auto rest = static_cast<int>(pixels % kWhole); rest > 0;) {
    const int tile = choose_tile(blocks, rest).pixels;
    cost += std::max(tile * blocks, kInFlight);
    rest -= tile;
  }
  // A row for one block is loaded for a few multiply-adds only.
  return blocks == 1 ? 1.1 * cost : cost;
}

int lanes() { return static_cast<int>(kLanes); }

int max_panel() { return kMaxPanel; }

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(run);
HWY_EXPORT(lanes);
HWY_EXPORT(max_panel);
HWY_EXPORT(row_cost);

alignas(64) constinit const float kZeros[kZeroRun] = {};

/// What a block costs in a panel of that many, relative to a panel of four: small panels reuse
/// a pixel less often.
double block_cost(int blocks) {
  static constexpr double cost[] = {0, 1.25, 1.08, 1.04, 1.0};
  return cost[std::min(blocks, 4)];
}

}  // namespace

int tile_lanes() noexcept { return HWY_DYNAMIC_DISPATCH(lanes)(); }

double in_multiply_adds(double of_8_lanes) noexcept { return 8 * of_8_lanes / tile_lanes(); }

int tile_panel(std::int64_t blocks) noexcept {
  const int most = HWY_DYNAMIC_DISPATCH(max_panel)();
  int best = 1;
  double best_cost = 1e300;
  for (int panel = static_cast<int>(std::min<std::int64_t>(blocks, most)); panel >= 1; --panel) {
    const auto whole = static_cast<double>(blocks / panel);
    const int rest = static_cast<int>(blocks % panel);
    const double cost = whole * panel * block_cost(panel) + rest * block_cost(rest);
    if (cost < best_cost) {
      best = panel;
      best_cost = cost;
    }
  }
  return best;
}

int tile_panel_dividing(std::int64_t blocks) noexcept {
  int panel = HWY_DYNAMIC_DISPATCH(max_panel)();
  while (blocks % panel != 0) --panel;
  return panel;
}

std::int64_t slab_floats() noexcept {
  // Longer ones win nothing where the cache is larger.
  constexpr std::int64_t kLongest = 48 * 1024;
  return std::min(kLongest, host_caches().l2 / 4 / std::int64_t{sizeof(float)});
}

const float* zero_run() noexcept { return kZeros; }

bool all_finite(const float* x, std::int64_t count) noexcept {
  // Exponents of all ones, found without a branch for each.
  constexpr std::uint32_t kExponent = 0x7f800000;
  constexpr std::int64_t kRun = 4096;
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    std::uint32_t found = 0;
    for (std::int64_t i = begin; i < std::min(begin + kRun, count); ++i) {
      found |=
          static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x[i]) & kExponent) == kExponent);
    }
    if (found != 0) return false;
  }
  return true;
}

void pixel_gemm(const PixelGemm& gemm, const PixelGemmCall& call) noexcept {
  HWY_DYNAMIC_DISPATCH(run)(gemm, call);
}

TileWork tile_work(const PixelGemm& g, std::int64_t pixels) noexcept {
  // Fitted to some two thousand convolutions of real models, nine in ten within a tenth: what a
  // pixel costs for each pointer of the table that is made, for each that a tile follows, for each
  // panel, and for each block that is stored. Of several taps a tile follows its pointers anew for
  // every block of input channels; that is left out, because whole ResNets, DenseNets and U-Nets in
  // one long run of channels are no faster than in blocks, though each convolution alone is, by a
  // twentieth.
  constexpr double kEntry = 4, kPointer = 4, kPanel = 5, kStore = 8;
  const double finish = kStore + posts_cost(g.posts);
  const std::int64_t lanes = tile_lanes(), panels = g.panels(static_cast<int>(lanes));
  const std::int64_t blocks = (g.channels + lanes - 1) / lanes;
  const double taps = g.taps(), count = static_cast<double>(pixels);
  const double rows = taps * static_cast<double>((g.outer - 1) * g.run + g.last_run);
  const int last = static_cast<int>(blocks - (panels - 1) * g.panel);
  TileWork work;
  work.useful = rows * count * static_cast<double>(g.channels) / static_cast<double>(lanes);
  work.spent =
      rows * (static_cast<double>(panels - 1) * HWY_DYNAMIC_DISPATCH(row_cost)(pixels, g.panel) +
              HWY_DYNAMIC_DISPATCH(row_cost)(pixels, last)) +
      count * (taps * (kEntry + kPointer * static_cast<double>(panels)) +
               kPanel * static_cast<double>(panels) + finish * static_cast<double>(blocks));
  return work;
}

}  // namespace stowage
#endif
