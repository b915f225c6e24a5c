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
  static constexpr int kWidth = 1;  ///< channels of a group

  static HWY_INLINE V step(V acc, V x, V w) { return hn::MulAdd(x, w, acc); }
};

/// Each lane reads all kN lanes of its group.
template <int kN>
struct Grouped : Depthwise {
  static constexpr bool kWalks = false;
  static constexpr int kWidth = kN;
};

struct Max {
  static constexpr bool kWeights = false, kWalks = true;
  static constexpr int kWidth = 1;

  static HWY_INLINE V step(V acc, V x, V) { return larger(acc, x); }
};

struct Sum {
  static constexpr bool kWeights = false, kWalks = false;
  static constexpr int kWidth = 1;

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

  /// The pixels of [begin, begin + length).
  void add(std::int64_t begin, std::int64_t length, std::int64_t pixel) {
    int count = count_;
    for (std::int64_t at = begin; at < begin + length; at += pixel) {
      at_[count++] = at;
      if (count == kMost) {
        count_ = count;
        finish();
        count = 0;
      }
    }
    count_ = count;
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

/// A plane of one block of channels, of which some output rows are asked for.
struct ColumnPlane {
  const Slide* s;
  const float* in;
  const float* padding;  ///< a vector of it
  const float* weights;
  const float* bias;   ///< or null
  std::int64_t valid;  ///< channels of the block
  float* out;
  const float* added;  ///< a post's, or null
};

/// What is done with a sum before it is stored.
template <int R>
class ColumnEnds {
 public:
  explicit ColumnEnds(const ColumnPlane& plane)
      : row_(plane.s->w.out[2] * plane.s->out.pixel),
        adds_(plane.added != nullptr),
        clips_(plane.s->posts.clips),
        bounded_(clips_ && plane.s->posts.hi < std::numeric_limits<float>::infinity()),
        whole_(plane.valid == kLanes),
        padded_(plane.s->out.padded),
        valid_(plane.valid),
        lo_(plane.s->posts.lo),
        hi_(plane.s->posts.hi) {}

  /// From now on for rows from `y` on.
  void start(const ColumnPlane& plane, std::int64_t y) {
    for (int r = 0; r < R; ++r) {
      const std::int64_t at = (y + r) * row_;
      out_[r] = plane.out + at;
      added_[r] = adds_ ? plane.added + at : nullptr;
    }
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
  std::int64_t row_;
  bool adds_, clips_, bounded_, whole_, padded_;
  std::int64_t valid_;
  float lo_, hi_;
};

/// R rows of the output at once. Stores may alias what a ColumnPlane or a Slide holds, so that it
/// would be read again after each: here it is read once.
template <class Op, int K, int S, int R>
class ColumnWalk {
  using Window = Steps<K, S>;
  static constexpr int kIn = Window::rows_in(R), kRing = Window::kRing, kGroup = Window::kGroup;

 public:
  /// Output rows [begin, end), a multiple of R.
  static HWY_NOINLINE void run(const ColumnPlane& plane, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    ColumnEnds<R> ends(plane);
    ColumnWalk walk(plane);
    V w[Op::kWeights ? K * K : 1];
    if constexpr (Op::kWeights) {
      STOWAGE_UNROLL
      for (int i = 0; i < K * K; ++i) w[i] = hn::LoadU(kTag, plane.weights + i * kLanes);
    }
    const V init =
        plane.bias != nullptr ? hn::LoadU(kTag, plane.bias) : hn::Set(kTag, initial(*plane.s));
    for (std::int64_t y = begin; y < end; y += R) {
      walk.start(plane, y);
      ends.start(plane, y);
      walk.rows(ends, w, init);
    }
  }

 private:
  struct In {
    const float* at;
    std::int64_t pixel;  ///< 0 in a row of padding, all of which is one vector
  };

  explicit ColumnWalk(const ColumnPlane& plane)
      : pixel_(plane.s->out.pixel),
        begin_(plane.s->w.pad_begin[2]),
        end_(begin_ + plane.s->w.in[2]),
        out_end_(plane.s->w.out[2] * pixel_),
        walked_((plane.s->w.out[2] - 1) * S + K) {}

  /// From now on for output rows from `y` on.
  void start(const ColumnPlane& plane, std::int64_t y) {
    const Slide& s = *plane.s;
    const std::int64_t first = y * S - s.w.pad_begin[1], row = s.w.in[2] * s.in.pixel;
    STOWAGE_UNROLL
    for (int i = 0; i < kIn; ++i) {
      const bool inside = first + i >= 0 && first + i < s.w.in[1];
      in_[i] = inside ? In{plane.in + (first + i) * row, s.in.pixel} : In{plane.padding, 0};
    }
    at_ = 0;
  }

  HWY_INLINE void rows(const ColumnEnds<R>& ends, const V (&w)[Op::kWeights ? K * K : 1], V init) {
    V sums[R][kRing];
    STOWAGE_UNROLL
    for (int r = 0; r < R; ++r) {
      STOWAGE_UNROLL
      for (int i = 0; i < kRing; ++i) sums[r][i] = init;
    }
    const std::int64_t whole = std::min(end_, walked_);
    group<false>(0, ends, w, init, sums);
    std::int64_t v = kGroup;
    for (; v + kGroup <= whole; v += kGroup) group<true>(v, ends, w, init, sums);
    for (; v < walked_; v += kGroup) group<false>(v, ends, w, init, sums);
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

  In in_[kIn];
  std::int64_t at_ = 0;  // of the next result in a row of the output
  const std::int64_t pixel_, begin_, end_, out_end_, walked_;
};

/// The rows of a task, a few at once.
template <class Op, int K, int S>
void walk_rows(const Slide& s, const SlideCall& call, const RowTask& task) {
  constexpr int kMost = 2;
  HWY_ALIGN float padding[kLanes];
  hn::Store(hn::Set(kTag, initial(s)), kTag, padding);
  const std::int64_t block = task.block;
  const std::int64_t place = task.image * s.out.image + block * s.out.block;
  const float* operands[kMostPosts];
  s.posts.advance(call.operands, place, block * kLanes, operands);
  const bool wait = s.posts.in_registers < s.posts.count;
  Waiting waiting(s.posts, call.out + place, operands);
  ColumnPlane plane;
  plane.s = &s;
  plane.in = call.in + task.image * s.in.image + block * s.in.block;
  plane.padding = padding;
  plane.weights = Op::kWeights ? call.weights + block * s.w.taps() * kLanes : nullptr;
  plane.bias = call.bias == nullptr ? nullptr : call.bias + block * kLanes;
  plane.valid = std::min(s.channels - block * kLanes, kLanes);
  plane.out = call.out + place;
  plane.added = s.posts.adds ? operands[0] : nullptr;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t together = end - (end - begin) % kMost;
    ColumnWalk<Op, K, S, kMost>::run(plane, begin, together);
    ColumnWalk<Op, K, S, 1>::run(plane, together, end);
  };
  if (!wait) return run(task.begin, task.end);
  const std::int64_t row = s.w.out[2] * s.out.pixel;
  for (std::int64_t y = task.begin; y < task.end; y += kMost) {
    const std::int64_t end = std::min(y + kMost, task.end);
    run(y, end);
    waiting.add(y * row, (end - y) * row, s.out.pixel);
  }
  waiting.finish();
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
