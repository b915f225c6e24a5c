// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/overlap.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "kernels/gemm/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/window/overlap.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/posts-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// to[i] += from[i]; `from` is read a vector beyond its end.
void add_run(const float* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(kTag, to + i), hn::LoadU(kTag, from + i)), kTag, to + i);
  }
  if (i == n) return;
  const V sum = hn::Add(load_first(kTag, to + i, n - i), hn::LoadU(kTag, from + i));
  store_first(kTag, sum, n - i, to + i);
}

/// Products of the input pixels [first, first + count) of a row, `pixel` floats apart, for the
/// columns [begin, end) of the output row at `row`, which have `outputs` channels.
void add_products(const Window& w, std::int64_t outputs, const float* products, std::int64_t pixel,
                  std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
                  float* row) {
  const std::int64_t taps = w.kernel[2], stride = w.stride[2], dilation = w.dilation[2];
  std::int64_t at = first * stride - w.pad_begin[2];
  for (std::int64_t x = 0; x < count; ++x, at += stride, products += pixel) {
    if (dilation == 1) {  // taps that touch are one run
      const std::int64_t from = std::max<std::int64_t>(begin - at, 0),
                         to = std::min(end - at, taps);
      if (from < to) {
        add_run(products + from * outputs, (to - from) * outputs, row + (at + from) * outputs);
      }
      continue;
    }
    for (std::int64_t k = 0; k < taps; ++k) {
      const std::int64_t to = at + k * dilation;
      if (to >= begin && to < end) add_run(products + k * outputs, outputs, row + to * outputs);
    }
  }
}

/// Posts over n floats, which are whole pixels of so many output channels.
void finish_run(const BoundPosts& posts, const float* const* operands, std::int64_t outputs,
                std::int64_t n, float* to) {
  constexpr std::int64_t kFloats = 8 * kLanes;
  const std::int64_t step = std::max<std::int64_t>(kFloats / outputs, 1) * outputs;
  HWY_ALIGN float values[kFloats] = {}, repeated[kMostPosts][kFloats];
  const float* of[kMostPosts];
  std::copy_n(operands, posts.count, of);
  repeat_operands(posts, outputs, repeated, of);
  const bool adds = posts.adds && operands[0] != nullptr;
  for (std::int64_t begin = 0; begin < n; begin += step) {
    const std::int64_t count = std::min(n - begin, step);
    for (std::int64_t i = 0; i < count; i += kLanes) {
      V y = load_first(kTag, to + begin + i, std::min(count - i, kLanes));
      if (adds) y = hn::Add(y, hn::LoadU(kTag, operands[0] + begin + i));
      if (posts.clips) y = clip(y, hn::Set(kTag, posts.lo), hn::Set(kTag, posts.hi));
      hn::Store(y, kTag, values + i);
    }
    apply_flat_posts(posts, values, static_cast<int>(ceil_div(count, kLanes)), of, begin);
    for (std::int64_t i = 0; i < count; i += kLanes) {
      store_first(kTag, hn::Load(kTag, values + i), std::min(count - i, kLanes), to + begin + i);
    }
  }
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(add_products);
HWY_EXPORT(finish_run);

/// Products of so many floats are kept until they are added: they stay in the L2 cache of a core,
/// and a pixel has no more.
constexpr std::int64_t kKept = 16384;
constexpr std::int64_t kMostTaps = 64, kMostPixels = 64, kMostPhases = 256;

/// The rows of the output that see the same rows of taps.
struct RowPhase {
  PhaseAxis z, y;
  PixelGemm gemm;
};

struct Overlap {
  Window w;
  std::int64_t batch = 1, channels = 1, outputs = 1;
  std::int64_t product = 0;  ///< floats of a pixel's products, whole blocks
  std::int64_t pixels = 1;   ///< whose products are kept at a time
  std::vector<RowPhase> phases;
  std::shared_ptr<float> weights;  ///< [panel][kz][ky][channel][column: kx, output]
  std::int64_t bands = 1;          ///< of columns, where rows are few
  std::int64_t tasks = 1;
  BoundPosts posts;
  int bias = -1;

  std::int64_t rows() const { return batch * w.out[0] * w.out[1]; }

  std::int64_t units() const { return rows() * bands; }
};

Overlap place(const ConvTransposeParams& p) {
  const std::int64_t lanes = tile_lanes();
  Overlap o;
  o.w = p.w;
  o.batch = p.batch;
  o.channels = p.in_channels;
  o.outputs = p.out_channels;
  o.posts = BoundPosts(p.posts);
  o.bias = p.bias;
  PixelGemm g;
  g.channels = p.w.kernel[2] * p.out_channels;
  g.panel = tile_panel(ceil_div(g.channels, lanes));
  g.w_row = g.panel * lanes;
  g.run = g.last_run = p.in_channels;
  const std::int64_t tap = p.in_channels * g.w_row;
  g.w_panel = p.w.kernel[0] * p.w.kernel[1] * tap;
  g.out_block = lanes;
  o.product = g.panels(static_cast<int>(lanes)) * g.w_row;
  o.pixels = std::clamp<std::int64_t>(kKept / o.product, 1, kMostPixels);
  for (std::int64_t i = 0; i < p.w.stride[0] * p.w.stride[1]; ++i) {
    RowPhase phase{phase_axis(p.w, 0, i / p.w.stride[1]), phase_axis(p.w, 1, i % p.w.stride[1]), g};
    for (const std::int64_t kz : phase.z.taps) {
      for (const std::int64_t ky : phase.y.taps) {
        phase.gemm.w_tap.push_back((kz * p.w.kernel[1] + ky) * tap);
      }
    }
    o.phases.push_back(std::move(phase));
  }
  // Bands make the products of pixels at their edges again.
  const std::int64_t wanted = p.threads > 1 ? 4 * std::int64_t{p.threads} : 1;
  const std::int64_t edge = ceil_div((p.w.kernel[2] - 1) * p.w.dilation[2] + 1, p.w.stride[2]);
  o.bands = std::clamp<std::int64_t>(ceil_div(wanted, std::max<std::int64_t>(o.rows(), 1)), 1,
                                     std::max<std::int64_t>(p.w.in[2] / (4 * edge), 1));
  o.tasks = std::min(o.units(), wanted);
  return o;
}

Overlap bind(const ConvTransposeParams& p, const BindArgs& args) {
  Overlap o = place(p);
  const PixelGemm& g = o.phases.front().gemm;
  const std::int64_t floats = g.panels(tile_lanes()) * g.w_panel;
  o.weights.reset(reinterpret_cast<float*>(allocate_zeroed(idx(floats) * sizeof(float))), Free());
  const float* from = args.constant<float>(1);
  const std::int64_t rows = p.w.kernel[0] * p.w.kernel[1];
  for (std::int64_t c = 0; c < o.channels; ++c) {
    for (std::int64_t out = 0; out < o.outputs; ++out) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t kx = 0; kx < p.w.kernel[2]; ++kx) {
          const std::int64_t column = kx * o.outputs + out;
          o.weights.get()[column / g.w_row * g.w_panel + (row * o.channels + c) * g.w_row +
                          column % g.w_row] = *from++;
        }
      }
    }
  }
  return o;
}

/// A band of a row of the output.
void run_unit(const Overlap& o, const KernelArgs& args, std::int64_t unit, float* kept) noexcept {
  const Window& w = o.w;
  const std::int64_t band = unit % o.bands, r = unit / o.bands, oy = r % w.out[1],
                     oz = r / w.out[1] % w.out[0], image = r / w.out[1] / w.out[0];
  const std::int64_t begin = w.out[2] * band / o.bands, end = w.out[2] * (band + 1) / o.bands;
  float* const row = args.output<float>(0) + r * w.out[2] * o.outputs;
  const float* bias = args.optional_input<float>(o.bias);
  for (std::int64_t i = begin * o.outputs; i < end * o.outputs; ++i) {
    row[i] = bias == nullptr ? 0 : bias[i % o.outputs];
  }
  const RowPhase& phase = o.phases[idx(oz % w.stride[0] * w.stride[1] + oy % w.stride[1])];
  const std::int64_t span = (w.kernel[2] - 1) * w.dilation[2];
  const std::int64_t reach = begin + w.pad_begin[2] - span;
  const std::int64_t first = reach <= 0 ? 0 : ceil_div(reach, w.stride[2]);
  const std::int64_t last =
      std::min(w.in[2], std::max<std::int64_t>(end - 1 + w.pad_begin[2], -1) / w.stride[2] + 1);
  const float* table[kMostTaps * kMostPixels];
  std::int64_t at[kMostPixels];
  for (std::int64_t i = 0; i < o.pixels; ++i) at[i] = i * o.product;
  PixelGemmCall call;
  call.pixels = table;
  call.pixel_stride = o.pixels;
  call.out_at = at;
  call.weights = o.weights.get();
  call.out = kept;
  call.panel_end = phase.gemm.panels(tile_lanes());
  for (std::int64_t x = first; x < last && phase.gemm.taps() > 0; x += o.pixels) {
    call.count = static_cast<int>(std::min(o.pixels, last - x));
    const float** entry = table;
    for (const std::int64_t bz : phase.z.base) {
      for (const std::int64_t by : phase.y.base) {
        const std::int64_t z = bz + oz / w.stride[0], y = by + oy / w.stride[1];
        const bool inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
        const float* in = args.input<float>(0) +
                          (((image * w.in[0] + z) * w.in[1] + y) * w.in[2] + x) * o.channels;
        for (int i = 0; i < call.count; ++i) entry[i] = inside ? in + i * o.channels : zero_run();
        entry += o.pixels;
      }
    }
    pixel_gemm(phase.gemm, call);
    HWY_DYNAMIC_DISPATCH(add_products)
    (w, o.outputs, kept, o.product, x, call.count, begin, end, row);
  }
  const float *operands[kMostPosts], *here[kMostPosts];
  if (o.posts.count == 0) return;
  o.posts.resolve(args, 0, 0, operands);
  const std::int64_t from = (r * w.out[2] + begin) * o.outputs;
  o.posts.advance(operands, from, 0, here);
  HWY_DYNAMIC_DISPATCH(finish_run)
  (o.posts, here, o.outputs, (end - begin) * o.outputs, row + begin * o.outputs);
}

void run(const Overlap& o, const KernelArgs& args) noexcept {
  parallel(args.pool, idx(o.tasks), [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    float* const kept = reinterpret_cast<float*>(args.scratch) + task * o.pixels * o.product;
    for (std::int64_t u = o.units() * task / o.tasks; u < o.units() * (task + 1) / o.tasks; ++u) {
      run_unit(o, args, u, kept);
    }
  });
}

}  // namespace

constexpr KernelDef kConvTransposeOverlap =
    kernel_def<ConvTransposeParams, bind, run>("conv_transpose_overlap", takes_any);

bool overlap_fits(const ConvTransposeParams& p) {
  const Window& w = p.w;
  return p.group == 1 && p.out_channels < tile_lanes() && p.in_channels <= kZeroRun &&
         w.kernel[0] * w.kernel[1] <= kMostTaps && w.stride[0] <= kMostPhases &&
         w.stride[1] <= kMostPhases && w.stride[0] * w.stride[1] <= kMostPhases &&
         w.kernel[2] <= kKept / 16 / p.out_channels;
}

OverlapWork overlap_work(const ConvTransposeParams& p) {
  // In multiply-adds of a vector: products are stored, and read again with what they are added to.
  const double vector = in_multiply_adds(4), pixel = in_multiply_adds(8);
  const Overlap o = place(p);
  const auto lanes = static_cast<double>(tile_lanes());
  const auto pixels = static_cast<double>(p.w.in[2]);
  const std::int64_t columns = p.w.kernel[2] * p.out_channels;
  double spent = 0, useful = 0;
  for (const RowPhase& phase : o.phases) {
    const auto rows = static_cast<double>(p.batch * phase.z.count * phase.y.count);
    const TileWork work = tile_work(phase.gemm, p.w.in[2]);
    spent +=
        rows * (work.spent +
                pixels * (pixel + vector * static_cast<double>(ceil_div(columns, tile_lanes()))));
    useful += rows * static_cast<double>(phase.gemm.taps()) * pixels *
              static_cast<double>(p.in_channels * columns) / lanes;
  }
  spent += (1 + posts_cost(o.posts)) *
           static_cast<double>(p.batch * p.w.out_pixels() * p.out_channels) / lanes;
  const PixelGemm& g = o.phases.front().gemm;
  const auto packed = static_cast<double>(g.panels(tile_lanes()) * g.w_panel);
  return {spent > 0 ? useful / spent : 1, packed * sizeof(float),
          idx(o.tasks * o.pixels * o.product) * sizeof(float)};
}

}  // namespace stowage
#endif
