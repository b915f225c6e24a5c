// SPDX-License-Identifier: Apache-2.0
// Square windows of slide() with their size and stride known to the compiler. A few output rows are
// computed at once, column by column of the input: each vector is loaded once for all the sums that
// it is a part of, and columns of padding are left out. Included once a target.
#if defined(STOWAGE_KERNELS_SLIDE_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_SLIDE_COLUMNS_INL_H_
#undef STOWAGE_KERNELS_SLIDE_COLUMNS_INL_H_
#else
#define STOWAGE_KERNELS_SLIDE_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/first_lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/posts-inl.h"
#include "kernels/vectors-inl.h"
#include "kernels/window/slide.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

struct Depthwise {
  static constexpr bool kWeights = true, kWalks = true;

  static HWY_INLINE V step(V acc, V x, V w) { return hn::MulAdd(x, w, acc); }
};

struct Max {
  static constexpr bool kWeights = false, kWalks = true;

  static HWY_INLINE V step(V acc, V x, V) { return larger(acc, x); }
};

struct Sum {
  static constexpr bool kWeights = false, kWalks = false;

  static HWY_INLINE V step(V acc, V x, V) { return hn::Add(acc, x); }
};

/// What a sum or a maximum starts from, and what padding holds.
float initial(const Slide& s) {
  return s.kind == Slide::Kind::max ? -std::numeric_limits<float>::infinity() : 0.0f;
}

/// Output rows [begin, end) of a plane.
struct RowTask {
  std::int64_t image, block, begin, end;
};

/// Results of a plane whose posts wait until there are some of them: functions of an element are
/// long chains of operations, and over the few pixels of a tile most of the time goes by until the
/// first of them ends.
class Waiting {
 public:
  /// `operands`: of the plane that begins at `out`.
  Waiting(const BoundPosts& posts, float* out, const float* const* operands)
      : posts_(posts), out_(out), operands_(operands) {}

  void add(std::int64_t at) {
    at_[count_++] = at;
    if (count_ == kMost) finish();
  }

  HWY_NOINLINE void finish() {
    apply_posts(posts_, {out_, at_, 0, count_, 1, operands_, at_, 0});
    count_ = 0;
  }

 private:
  static constexpr int kMost = 128;

  const BoundPosts& posts_;
  float* out_;
  const float* const* operands_;
  int count_ = 0;
  std::int64_t at_[kMost];
};

/// How a window of K by K with stride S moves. Output column x takes input column v, counted from
/// the first column of padding, while x * S <= v < x * S + K, so that kRing sums of a row are under
/// way at a time, and every kGroup columns their places in the ring are the same again.
template <int K, int S>
struct Steps {
  static constexpr int kRing = (K + S - 1) / S, kGroup = kRing * S;

  /// Input rows under `rows` output rows.
  static constexpr int rows_in(int rows) { return (rows - 1) * S + K; }

  /// The place of the sum to which tap k of column j of a group belongs.
  static constexpr int place(int j, int k) { return ((j - k) / S + 2 * kRing) % kRing; }
};

/// Some output rows of one block of channels.
struct ColumnRows {
  static constexpr int kMostIn = 8, kMostOut = 2;

  struct In {
    const float* at;
    std::int64_t pixel;  ///< 0 in a row of padding, all of which is one vector
  };

  In in[kMostIn];
  float* out[kMostOut];
  const float* added[kMostOut];  ///< a post's, or null
  const Slide* s;
  const float* weights;
  const float* bias;   ///< or null
  std::int64_t valid;  ///< channels of the block
};

/// What is done with a sum before it is stored. Stores may alias what a ColumnRows holds, so that
/// it would be read again after each: here it is read once.
template <int R>
class ColumnEnds {
 public:
  explicit ColumnEnds(const ColumnRows& rows)
      : adds_(rows.added[0] != nullptr),
        clips_(rows.s->posts.clips),
        bounded_(clips_ && rows.s->posts.hi < std::numeric_limits<float>::infinity()),
        whole_(rows.valid == kLanes),
        padded_(rows.s->out.padded),
        valid_(rows.valid),
        lo_(rows.s->posts.lo),
        hi_(rows.s->posts.hi) {
    std::copy_n(rows.out, R, out_);
    std::copy_n(rows.added, R, added_);
  }

  HWY_INLINE void store(int r, std::int64_t at, V sum) const {
    if (adds_) sum = hn::Add(sum, hn::LoadU(kTag, added_[r] + at));
    if (clips_) sum = at_least(sum, hn::Set(kTag, lo_));
    if (bounded_) sum = at_most(sum, hn::Set(kTag, hi_));
    if (whole_) {
      hn::StoreU(sum, kTag, out_[r] + at);
    } else if (padded_) {
      // An infinite input times the zeros behind the weights is no zero.
      const auto mask = hn::FirstN(kTag, static_cast<std::size_t>(valid_));
      hn::StoreU(hn::IfThenElseZero(mask, sum), kTag, out_[r] + at);
    } else {
      store_first(kTag, sum, valid_, out_[r] + at);
    }
  }

 private:
  float* out_[R];
  const float* added_[R];
  bool adds_, clips_, bounded_, whole_, padded_;
  std::int64_t valid_;
  float lo_, hi_;
};

template <class Op, int K, int S, int R>
class ColumnWalk {
  using Window = Steps<K, S>;
  static constexpr int kIn = Window::rows_in(R), kRing = Window::kRing, kGroup = Window::kGroup;
  static_assert(kIn <= ColumnRows::kMostIn && R <= ColumnRows::kMostOut);

 public:
  static HWY_NOINLINE void run(const ColumnRows& rows) {
    const ColumnEnds<R> ends(rows);
    ColumnWalk walk(rows);
    V w[Op::kWeights ? K * K : 1];
    if constexpr (Op::kWeights) {
      STOWAGE_UNROLL
      for (int i = 0; i < K * K; ++i) w[i] = hn::LoadU(kTag, rows.weights + i * kLanes);
    }
    const V init =
        rows.bias != nullptr ? hn::LoadU(kTag, rows.bias) : hn::Set(kTag, initial(*rows.s));
    V sums[R][kRing];
    STOWAGE_UNROLL
    for (int r = 0; r < R; ++r) {
      STOWAGE_UNROLL
      for (int i = 0; i < kRing; ++i) sums[r][i] = init;
    }
    const std::int64_t end = (rows.s->w.out[2] - 1) * S + K;
    const std::int64_t whole = std::min(walk.end_, end);
    walk.template group<false>(0, ends, w, init, sums);
    std::int64_t v = kGroup;
    for (; v + kGroup <= whole; v += kGroup) walk.template group<true>(v, ends, w, init, sums);
    for (; v < end; v += kGroup) walk.template group<false>(v, ends, w, init, sums);
  }

 private:
  explicit ColumnWalk(const ColumnRows& rows)
      : pixel_(rows.s->out.pixel),
        begin_(rows.s->w.pad_begin[2]),
        end_(begin_ + rows.s->w.in[2]),
        out_end_(rows.s->w.out[2] * pixel_) {
    std::copy_n(rows.in, kIn, in_);
  }

  /// The columns from `v` on. `kInside`: none of them is padding, and each ends a sum that there
  /// is.
  template <bool kInside, int J = 0>
  HWY_INLINE void group(std::int64_t v, const ColumnEnds<R>& ends,
                        const V (&w)[Op::kWeights ? K * K : 1], V init, V (&sums)[R][kRing]) {
    if constexpr (J % S == 0) {
      STOWAGE_UNROLL
      for (int r = 0; r < R; ++r) sums[r][Window::place(J, 0)] = init;
    }
    if (kInside || (v + J >= begin_ && v + J < end_)) take<J>(w, sums);
    if constexpr ((J - (K - 1)) % S == 0) {
      if (kInside || (v + J >= K - 1 && at_ < out_end_)) {
        STOWAGE_UNROLL
        for (int r = 0; r < R; ++r) ends.store(r, at_, sums[r][Window::place(J, K - 1)]);
        at_ += pixel_;
      }
    }
    if constexpr (J + 1 < kGroup) group<kInside, J + 1>(v, ends, w, init, sums);
  }

  /// The next column of the input, the J-th of a group.
  template <int J>
  HWY_INLINE void take(const V (&w)[Op::kWeights ? K * K : 1], V (&sums)[R][kRing]) {
    STOWAGE_UNROLL
    for (int i = 0; i < kIn; ++i) {
      const V x = hn::LoadU(kTag, in_[i].at);
      in_[i].at += in_[i].pixel;
      STOWAGE_UNROLL
      for (int r = 0; r < R; ++r) {
        const int ky = i - r * S;
        if (ky < 0 || ky >= K) continue;
        STOWAGE_UNROLL
        for (int k = J % S; k < K; k += S) {
          V& sum = sums[r][Window::place(J, k)];
          sum = Op::step(sum, x, w[Op::kWeights ? ky * K + k : 0]);
        }
      }
    }
  }

  ColumnRows::In in_[kIn];
  std::int64_t at_ = 0;  // of the next result in a row of the output
  const std::int64_t pixel_, begin_, end_, out_end_;
};

/// The rows of a task, a few at once.
template <class Op, int K, int S>
void walk_rows(const Slide& s, const SlideCall& call, const RowTask& task) {
  constexpr int kMost = 2;
  using Window = Steps<K, S>;
  HWY_ALIGN float padding[kLanes];
  hn::Store(hn::Set(kTag, initial(s)), kTag, padding);
  const std::int64_t block = task.block;
  const std::int64_t plane = task.image * s.out.image + block * s.out.block;
  const float* operands[kMostPosts];
  s.posts.advance(call.operands, plane, block * kLanes, operands);
  ColumnRows rows;
  rows.s = &s;
  rows.weights = Op::kWeights ? call.weights + block * s.w.taps() * kLanes : nullptr;
  rows.bias = call.bias == nullptr ? nullptr : call.bias + block * kLanes;
  rows.valid = std::min(s.channels - block * kLanes, kLanes);
  const bool adds = s.posts.adds && operands[0] != nullptr;
  const bool wait = s.posts.in_registers < s.posts.count;
  Waiting waiting(s.posts, call.out + plane, operands);
  const float* const in = call.in + task.image * s.in.image + block * s.in.block;
  const std::int64_t out_row = s.w.out[2] * s.out.pixel, in_row = s.w.in[2] * s.in.pixel;
  for (std::int64_t y = task.begin; y < task.end;) {
    const int count = task.end - y >= kMost ? kMost : 1;
    for (int i = 0; i < Window::rows_in(count); ++i) {
      const std::int64_t iy = y * S - s.w.pad_begin[1] + i;
      const bool inside = iy >= 0 && iy < s.w.in[1];
      rows.in[i] =
          inside ? ColumnRows::In{in + iy * in_row, s.in.pixel} : ColumnRows::In{padding, 0};
    }
    for (int r = 0; r < count; ++r) {
      const std::int64_t at = (y + r) * out_row;
      rows.out[r] = call.out + plane + at;
      rows.added[r] = adds ? operands[0] + at : nullptr;
    }
    if (count == kMost) {
      ColumnWalk<Op, K, S, kMost>::run(rows);
    } else {
      ColumnWalk<Op, K, S, 1>::run(rows);
    }
    for (std::int64_t x = 0; wait && x < count * s.w.out[2]; ++x) {
      waiting.add(y * out_row + x * s.out.pixel);
    }
    y += count;
  }
  if (wait) waiting.finish();
}

using WalkRows = void (*)(const Slide&, const SlideCall&, const RowTask&);

/// walk_rows for the window, or null where there is none.
template <class Op>
WalkRows walk_rows_of(const Slide& s) {
  if (!slide_walks(s)) return nullptr;
  const bool single = s.w.stride[2] == 1;
  if (s.w.kernel[2] == 3) return single ? walk_rows<Op, 3, 1> : walk_rows<Op, 3, 2>;
  return single ? walk_rows<Op, 5, 1> : walk_rows<Op, 5, 2>;
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
