// SPDX-License-Identifier: Apache-2.0
// slide() for every instruction set: a vector is a block of channels, a tile some pixels of a row.
#include "kernels/window/slide.h"

#include <algorithm>

#include "base/caches.h"
#include "base/checked.h"
#include "base/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/window/slide.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/posts-inl.h"
#include "kernels/window/padded_rows-inl.h"
#include "kernels/window/slide_columns-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

constexpr int kPixels = 8;

/// A row of taps and the input row under it.
struct Row {
  const float* in;
  const float* w;
};

/// The pixels [first, last) of a row, of which [begin, end) see only taps that can be read: tiles
/// of `pixels`, the first `larger` of them one larger.
struct Cut {
  std::int64_t first, last, begin, end, tiles, pixels, larger;
};

/// One output row of one block of channels.
struct Line {
  Line() {}  // an implicit one would not be compiled for the instruction set (GCC on Arm)

  const Slide* s;
  Cut cut;
  Row rows[kSlideRows];
  int row_count;
  V init, lo, hi;      // lo and hi: of a clip
  bool padded;         // there is room for all lanes
  bool posts_wait;     // those that are not for registers; else a tile applies them
  std::int64_t valid;  // channels of the block
  std::int64_t in_pixel, out_pixel;
  std::int64_t in_first;              // column of the input to which Row::in points
  float row_scale;                    // average: one over the taps that count, over d and h
  const float* operands[kMostPosts];  // of the posts
  float* out;
};

/// Posts that are not for registers, over `pixels` from `x`.
HWY_NOINLINE void finish_values(const Line& line, float* values, int pixels, std::int64_t x) {
  const DensePixels<kPixels> dense(1);
  std::int64_t at[kPixels];
  for (int p = 0; p < pixels; ++p) at[p] = (x + p) * line.out_pixel;
  apply_posts(line.s->posts, {values, dense.at, 0, pixels, 1, line.operands, at, 0});
}

template <int P>
HWY_INLINE void store_pixels(const Line& line, V (&acc)[P], std::int64_t x) {
  float* out = line.out + x * line.out_pixel;
  const BoundPosts& posts = line.s->posts;
  if (posts.adds && line.operands[0] != nullptr) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) {
      acc[p] = hn::Add(acc[p], hn::LoadU(kTag, line.operands[0] + (x + p) * line.out_pixel));
    }
  }
  if (posts.clips) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) acc[p] = clip(acc[p], line.lo, line.hi);
  }
  if (posts.in_registers < posts.count && !line.posts_wait) {
    HWY_ALIGN float values[P * kLanes];
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) hn::Store(acc[p], kTag, values + p * kLanes);
    finish_values(line, values, P, x);
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) acc[p] = hn::Load(kTag, values + p * kLanes);
  }
  if (line.valid != kLanes && !line.padded) {
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) store_first(kTag, acc[p], line.valid, out + p * line.out_pixel);
    return;
  }
  if (line.valid != kLanes) {
    const auto mask = hn::FirstN(kTag, static_cast<std::size_t>(line.valid));
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) acc[p] = hn::IfThenElseZero(mask, acc[p]);
  }
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) hn::StoreU(acc[p], kTag, out + p * line.out_pixel);
}

/// Vectors in which every lane is one of its group of kN.
template <int kN>
class GroupLanes {
  using Indices = decltype(hn::SetTableIndices(kTag, static_cast<const std::int32_t*>(nullptr)));

 public:
  GroupLanes() : of_{} {
    for (int k = 0; k < kN; ++k) {
      HWY_ALIGN std::int32_t lane[kLanes];
      for (std::int64_t i = 0; i < kLanes; ++i)
        lane[i] = static_cast<std::int32_t>(i / kN * kN + k);
      of_[k] = hn::SetTableIndices(kTag, lane);
    }
  }

  /// The k-th of the group that each lane of x belongs to.
  HWY_INLINE V pick(V x, int k) const { return hn::TableLookupLanes(x, of_[k]); }

 private:
  Indices of_[kN];
};

template <>
class GroupLanes<1> {
 public:
  HWY_INLINE V pick(V x, int) const { return x; }
};

/// P pixels from `x` whose taps [tap_begin, tap_end) of the w axis all lie inside.
template <class Op, int P>
HWY_INLINE void compute_pixels(const Line& line, std::int64_t x, std::int64_t tap_begin,
                               std::int64_t tap_end) {
  const Window& w = line.s->w;
  const GroupLanes<Op::kWidth> group;
  V acc[P];
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) acc[p] = line.init;
  const std::int64_t pitch = w.stride[2] * line.in_pixel;
  const std::int64_t first =
      (x * w.stride[2] - w.pad_begin[2] + tap_begin * w.dilation[2] - line.in_first) *
      line.in_pixel;
  for (int r = 0; r < line.row_count; ++r) {
    const float* in = line.rows[r].in + first;
    const float* weights =
        Op::kWeights ? line.rows[r].w + tap_begin * Op::kWidth * kLanes : nullptr;
    for (std::int64_t k = tap_begin; k < tap_end; ++k, in += w.dilation[2] * line.in_pixel) {
      V px[P];
      STOWAGE_UNROLL
      for (int p = 0; p < P; ++p) px[p] = hn::LoadU(kTag, in + p * pitch);
      STOWAGE_UNROLL
      for (int c = 0; c < Op::kWidth; ++c) {
        V wv = line.init;
        if constexpr (Op::kWeights) {
          wv = hn::LoadU(kTag, weights);
          weights += kLanes;
        }
        STOWAGE_UNROLL
        for (int p = 0; p < P; ++p) acc[p] = Op::step(acc[p], group.pick(px[p], c), wv);
      }
    }
  }
  if (line.s->kind == Slide::Kind::average) {
    const float* scale = line.s->scale[2].data() + x;
    STOWAGE_UNROLL
    for (int p = 0; p < P; ++p) acc[p] = hn::Mul(acc[p], hn::Set(kTag, line.row_scale * scale[p]));
  }
  store_pixels<P>(line, acc, x);
}

template <class Op>
HWY_INLINE void compute_tile(const Line& line, std::int64_t x, std::int64_t pixels) {
  const std::int64_t taps = line.s->w.kernel[2];
  switch (pixels) {
    case 8:
      return compute_pixels<Op, 8>(line, x, 0, taps);
    case 7:
      return compute_pixels<Op, 7>(line, x, 0, taps);
    case 6:
      return compute_pixels<Op, 6>(line, x, 0, taps);
    case 5:
      return compute_pixels<Op, 5>(line, x, 0, taps);
    case 4:
      return compute_pixels<Op, 4>(line, x, 0, taps);
    case 3:
      return compute_pixels<Op, 3>(line, x, 0, taps);
    case 2:
      return compute_pixels<Op, 2>(line, x, 0, taps);
    default:
      return compute_pixels<Op, 1>(line, x, 0, taps);
  }
}

/// A pixel near the border of the image: only some taps along w are inside.
template <class Op>
void compute_border(const Line& line, std::int64_t x) {
  const Window& w = line.s->w;
  const std::int64_t x0 = x * w.stride[2] - w.pad_begin[2];
  const std::int64_t first = x0 < 0 ? ceil_div(-x0, w.dilation[2]) : 0;
  std::int64_t last = x0 >= w.in[2] ? 0 : (w.in[2] - 1 - x0) / w.dilation[2] + 1;
  last = std::min(last, w.kernel[2]);
  compute_pixels<Op, 1>(line, x, std::min(first, last), last);
}

/// Tiles of nearly equal size instead of a small last one.
void cut_tiles(Cut& cut) {
  const std::int64_t count = cut.end - cut.begin;
  cut.tiles = ceil_div(count, kPixels);
  cut.pixels = cut.tiles == 0 ? 0 : count / cut.tiles;
  cut.larger = cut.tiles == 0 ? 0 : count % cut.tiles;
}

/// How a row of output pixels is cut where the input has no padding; the same for every row.
Cut cut_row(const Window& w) {
  const OutRange inside = outputs_inside(w, 2);
  Cut cut{0, w.out[2], inside.begin, inside.end, 0, 0, 0};
  cut_tiles(cut);
  return cut;
}

template <class Op>
void compute_line(const Line& line) {
  const Cut& cut = line.cut;
  for (std::int64_t x = cut.first; x < cut.begin; ++x) compute_border<Op>(line, x);
  std::int64_t x = cut.begin;
  for (std::int64_t i = 0; i < cut.tiles; ++i) {
    const std::int64_t pixels = cut.pixels + (i < cut.larger ? 1 : 0);
    compute_tile<Op>(line, x, pixels);
    x += pixels;
  }
  for (x = cut.end; x < cut.last; ++x) compute_border<Op>(line, x);
}

/// Finds the rows of the input and of the weights that output row (z, y) sees.
void find_rows(const Slide& s, const float* in, const float* weights, std::int64_t z,
               std::int64_t y, PaddedRows* copies, Line& line) {
  const Window& w = s.w;
  line.row_count = 0;
  for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
    const std::int64_t iz = z * w.stride[0] - w.pad_begin[0] + kz * w.dilation[0];
    if (iz < 0 || iz >= w.in[0]) continue;
    for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
      const std::int64_t iy = y * w.stride[1] - w.pad_begin[1] + ky * w.dilation[1];
      if (iy < 0 || iy >= w.in[1]) continue;
      Row& r = line.rows[line.row_count++];
      r.in = in + (iz * w.in[1] + iy) * w.in[2] * s.in.pixel;
      if (copies != nullptr) r.in = copies->row(iz, iy, r.in);
      const std::int64_t tap = (kz * w.kernel[1] + ky) * w.kernel[2];
      r.w = weights == nullptr ? nullptr : weights + tap * s.width * kLanes;
    }
  }
  line.row_scale = 1;
  if (s.kind == Slide::Kind::average) {
    line.row_scale =
        s.scale[0][static_cast<std::size_t>(z)] * s.scale[1][static_cast<std::size_t>(y)];
  }
}

template <class Op>
void compute_rows(const Slide& s, const SlideCall& call, const RowTask& task, const Cut& cut,
                  const Channels& channels, PaddedRows* copies) {
  const Window& w = s.w;
  const std::int64_t image = task.image, block = task.block;
  Line line;
  line.s = &s;
  line.cut = cut;
  line.valid = std::min(s.channels - block * kLanes, kLanes);
  line.lo = hn::Set(kTag, s.posts.lo);
  line.hi = hn::Set(kTag, s.posts.hi);
  line.padded = s.out.padded;
  line.posts_wait = s.posts.in_registers < s.posts.count && line.valid == kLanes;
  line.in_pixel = copies == nullptr ? s.in.pixel : kLanes;
  line.in_first = copies == nullptr ? 0 : copies->first();
  line.out_pixel = s.out.pixel;
  line.init = hn::Set(kTag, initial(s));
  if (call.bias != nullptr) line.init = hn::LoadU(kTag, call.bias + block * kLanes);
  const float* in = call.in + image * s.in.image + channels.offset();
  const float* weights =
      call.weights == nullptr ? nullptr : call.weights + block * w.taps() * s.width * kLanes;
  const std::int64_t plane = image * s.out.image + block * s.out.block;
  const float* operands[kMostPosts];
  s.posts.advance(call.operands, plane, block * kLanes, operands);
  Waiting waiting(s.posts, call.out + plane, operands);
  std::int64_t z = task.begin / w.out[1], y = task.begin % w.out[1];
  for (std::int64_t row = task.begin; row < task.end; ++row) {
    find_rows(s, in, weights, z, y, copies, line);
    if (++y == w.out[1]) {
      y = 0;
      ++z;
    }
    const std::int64_t at = row * w.out[2] * s.out.pixel;
    s.posts.advance(operands, at, 0, line.operands);
    line.out = call.out + plane + at;
    compute_line<Op>(line);
    if (!line.posts_wait) continue;
    waiting.add(at + cut.first * s.out.pixel, (cut.last - cut.first) * s.out.pixel, s.out.pixel);
  }
  if (line.posts_wait) waiting.finish();
}

template <class Op>
void run_rows_of(const Slide& s, const SlideCall& call, const RowTask& task) {
  if constexpr (Op::kWalks) {
    // Posts of a tail that are not for registers are for tiles.
    const bool whole = s.channels - task.block * kLanes >= kLanes;
    const bool walks = whole || s.posts.in_registers == s.posts.count;
    const WalkRows walk = walks ? walk_rows_of<Op>(s) : nullptr;
    if (walk != nullptr) return walk(s, call, task);
  }
  const Channels channels(s, task.block);
  if (s.multiplier == 1 && !PaddedRows::pays(s.w)) {
    compute_rows<Op>(s, call, task, cut_row(s.w), channels, nullptr);
    return;
  }
  PaddedRows copies(s.w, channels, s.in.pixel, hn::Set(kTag, initial(s)));
  const std::int64_t columns = s.w.out[2];
  const std::int64_t strip = s.multiplier == 1 ? columns : PaddedRows::strip(s.w);
  for (std::int64_t begin = 0; begin < columns; begin += strip) {
    const std::int64_t end = std::min(begin + strip, columns);
    copies.start(begin, end);
    Cut cut{begin, end, begin, end, 0, 0, 0};
    cut_tiles(cut);
    compute_rows<Op>(s, call, task, cut, channels, &copies);
  }
}

void run_depthwise(const Slide& s, const SlideCall& call, const RowTask& task) {
  if (s.width == 1) return run_rows_of<Depthwise>(s, call, task);
  if (s.width == 2) return run_rows_of<Grouped<2>>(s, call, task);
  if (s.width == 4) return run_rows_of<Grouped<4>>(s, call, task);
  run_rows_of<Grouped<8>>(s, call, task);
}

void run_rows(const Slide& s, const SlideCall& call, std::int64_t plane, std::int64_t begin,
              std::int64_t end) {
  const std::int64_t blocks = ceil_div(s.channels, kLanes);
  const RowTask task{plane / blocks, plane % blocks, begin, end};
  switch (s.kind) {
    case Slide::Kind::depthwise:
      run_depthwise(s, call, task);
      break;
    case Slide::Kind::max:
      run_rows_of<Max>(s, call, task);
      break;
    case Slide::Kind::average:
      run_rows_of<Sum>(s, call, task);
      break;
  }
}

template <class Op>
V reduce_all(const float* in, std::int64_t pixels, std::int64_t pitch, V init) {
  V acc[4] = {init, init, init, init};
  std::int64_t i = 0;
  for (; i + 4 <= pixels; i += 4) {
    STOWAGE_UNROLL
    for (int j = 0; j < 4; ++j) {
      acc[j] = Op::step(acc[j], hn::LoadU(kTag, in + (i + j) * pitch), init);
    }
  }
  for (; i < pixels; ++i) acc[0] = Op::step(acc[0], hn::LoadU(kTag, in + i * pitch), init);
  return Op::step(Op::step(acc[0], acc[1], init), Op::step(acc[2], acc[3], init), init);
}

void run_global(const Slide& s, const SlideCall& call, std::int64_t plane) {
  const std::int64_t pixels = s.w.in_pixels();
  const std::int64_t blocks = ceil_div(s.channels, kLanes);
  const std::int64_t image = plane / blocks, block = plane % blocks;
  const float* in = call.in + image * s.in.image + block * s.in.block;
  V y;
  if (s.kind == Slide::Kind::max) {
    y = reduce_all<Max>(in, pixels, s.in.pixel,
                        hn::Set(kTag, -std::numeric_limits<float>::infinity()));
  } else {
    y = hn::Mul(reduce_all<Sum>(in, pixels, s.in.pixel, hn::Zero(kTag)),
                hn::Set(kTag, 1.0f / static_cast<float>(pixels)));
  }
  const std::int64_t valid = std::min(s.channels - block * kLanes, kLanes);
  float* const out = call.out + image * s.out.image + block * s.out.block;
  if (s.out.padded) {
    const auto mask = hn::FirstN(kTag, static_cast<std::size_t>(valid));
    hn::StoreU(hn::IfThenElseZero(mask, y), kTag, out);
  } else {
    store_first(kTag, y, valid, out);
  }
}

int slide_lanes() { return static_cast<int>(kLanes); }

/// Output columns that copied rows serve at a time.
std::int64_t copied_columns(const Window& w) { return PaddedRows::strip(w); }

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(run_rows);
HWY_EXPORT(run_global);
HWY_EXPORT(slide_lanes);
HWY_EXPORT(copied_columns);

std::int64_t planes_of(const Slide& s) {
  return s.images * ceil_div(s.channels, HWY_DYNAMIC_DISPATCH(slide_lanes)());
}

Slide::Side side(bool blocked, std::int64_t pixels, std::int64_t channels) {
  const std::int64_t lanes = HWY_DYNAMIC_DISPATCH(slide_lanes)();
  if (!blocked) return {channels, lanes, pixels * channels, false};
  return {lanes, pixels * lanes, ceil_div(channels, lanes) * pixels * lanes, true};
}

/// How threads divide an image: bands of rows, each of them shares of the planes of channels.
struct Division {
  std::int64_t bands, shares;
};

Division divide(const Slide& s, std::int64_t planes, std::int64_t rows, int threads) {
  // In multiply-adds of a vector: shorter tasks are not worth finding.
  constexpr std::int64_t kLeastWork = 1024;
  const std::int64_t work = s.images * planes * s.w.out_pixels() * s.w.taps() * s.width;
  const std::int64_t wanted = threads > 1 ? 4 * std::int64_t{threads} : 1;
  const std::int64_t tasks = std::clamp<std::int64_t>(work / kLeastWork, 1, wanted);
  if (s.in.padded && s.out.padded) {
    return {std::clamp<std::int64_t>(ceil_div(tasks, s.images * planes), 1, rows), planes};
  }
  // A cache line holds channels of several planes. Rows before channels, as products share pixels:
  // what a thread reads it wrote itself in the step before, and it writes no line that another one
  // writes. Bands of so many rows that what one plane brings in is there for the next.
  const std::int64_t bytes =
      (s.w.in_pixels() * (s.channels / s.multiplier) + s.w.out_pixels() * s.channels) *
      std::int64_t{sizeof(float)};
  const std::int64_t staying = ceil_div(bytes, std::max<std::int64_t>(host_caches().l2 / 2, 1));
  const std::int64_t bands =
      std::clamp<std::int64_t>(std::max(staying, ceil_div(tasks, s.images)), 1, rows);
  return {bands, std::clamp<std::int64_t>(ceil_div(tasks, s.images * bands), 1, planes)};
}

}  // namespace

void place(Slide& s, SlideEnds ends) noexcept {
  s.in = side(ends.in_blocked, s.w.in_pixels(), s.channels / s.multiplier);
  s.out = side(ends.out_blocked, s.w.out_pixels(), s.channels);
}

bool slide_walks(const Slide& s) noexcept {
  const Window& w = s.w;
  const std::int64_t k = w.kernel[2], stride = w.stride[2];
  const bool plane = w.kernel[0] == 1 && w.in[0] == 1 && w.out[0] == 1 && w.pad_begin[0] == 0;
  return plane && s.kind != Slide::Kind::average && s.multiplier == 1 && s.width == 1 &&
         (k == 3 || k == 5) && w.kernel[1] == k && (stride == 1 || stride == 2) &&
         w.stride[1] == stride && w.dilation[1] == 1 && w.dilation[2] == 1 && w.pad_begin[2] >= 0 &&
         w.pad_begin[2] < k;
}

bool slide_fits(const Slide& s) noexcept {
  if (s.w.kernel[0] * s.w.kernel[1] > kSlideRows) return false;
  const std::int64_t widths[] = {1, 2, 4, 8};
  if (std::ranges::find(widths, s.width) == std::end(widths)) return false;
  if (HWY_DYNAMIC_DISPATCH(slide_lanes)() % s.width != 0) return false;
  return s.multiplier == 1 || HWY_DYNAMIC_DISPATCH(copied_columns)(s.w) > 0;
}

void slide(const Slide& s, const SlideCall& call, int threads) noexcept {
  const std::int64_t rows = s.w.out[0] * s.w.out[1];
  if (planes_of(s) == 0 || rows == 0) return;
  const std::int64_t planes = planes_of(s) / s.images;
  const Division d = divide(s, planes, rows, threads);
  const std::int64_t bands = d.bands, shares = d.shares;
  parallel(call.pool, static_cast<std::size_t>(s.images * bands * shares), [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    const std::int64_t share = task % shares, band = task / shares % bands;
    const std::int64_t first = task / shares / bands * planes;
    for (std::int64_t p = planes * share / shares; p < planes * (share + 1) / shares; ++p) {
      HWY_DYNAMIC_DISPATCH(run_rows)
      (s, call, first + p, rows * band / bands, rows * (band + 1) / bands);
    }
  });
}

double slide_efficiency(const Slide& s) noexcept {
  // In multiply-adds of a vector, fitted to the windows of real models: a tap, which is loaded for
  // one operation; an output; a row of outputs. A pixel that is copied, with a multiplier.
  struct Cost {
    double tap, output, row, copy;
  };

  const bool walks = slide_walks(s);
  Cost cost = walks ? Cost{1.1, 0.5, 22, 0} : Cost{2, 3, 60, 3};
  if (walks && s.kind == Slide::Kind::max) cost.tap = 1.7;
  // Each column of the input goes into fewer sums.
  if (walks && s.w.stride[2] > 1) cost.output += 4;
  const std::int64_t lanes = HWY_DYNAMIC_DISPATCH(slide_lanes)();
  const double used =
      static_cast<double>(s.channels) / static_cast<double>(round_up(s.channels, lanes));
  if (s.width > 1) cost.tap = 1.6;  // of a channel: a vector is loaded once, and shuffled for each
  const auto taps = static_cast<double>(s.w.taps() * s.width);
  const double copied = s.multiplier == 1 ? 0
                                          : static_cast<double>(s.w.in_pixels()) /
                                                static_cast<double>(s.w.out_pixels());
  return used * taps /
         (cost.tap * taps + cost.output + posts_cost(s.posts) +
          cost.row / static_cast<double>(s.w.out[2]) + cost.copy * copied);
}

double slide_extra_bytes(const Slide& s) noexcept {
  // As measured; reads are awaited, writes hardly. What the cache of a core holds comes once.
  constexpr double kRead = 1, kWritten = 0.2, kCache = 1 << 20;
  if (s.channels <= HWY_DYNAMIC_DISPATCH(slide_lanes)()) return 0;
  const auto bytes = [&](std::int64_t pixels, std::int64_t channels) {
    return static_cast<double>(s.images * pixels * channels) * sizeof(float);
  };
  const double in = bytes(s.w.in_pixels(), s.channels / s.multiplier);
  const double out = bytes(s.w.out_pixels(), s.channels);
  if (in + out <= kCache) return 0;
  return (s.in.padded ? 0 : kRead * in) + (s.out.padded ? 0 : kWritten * out);
}

void slide_global(const Slide& s, const SlideCall& call, int threads) noexcept {
  const std::int64_t planes = planes_of(s);
  // A block is little work: give each task several.
  const std::int64_t tasks = std::min<std::int64_t>(planes, threads > 1 ? 4 * threads : 1);
  parallel(call.pool, static_cast<std::size_t>(tasks), [&](std::size_t i) {
    const auto t = static_cast<std::int64_t>(i);
    for (std::int64_t p = planes * t / tasks; p < planes * (t + 1) / tasks; ++p) {
      HWY_DYNAMIC_DISPATCH(run_global)(s, call, p);
    }
  });
}

}  // namespace stowage
#endif
