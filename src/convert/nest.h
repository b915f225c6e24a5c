// SPDX-License-Identifier: Apache-2.0
// Any pair of mappings as a few rectangular nests of strided loops: the planner of conversions.
//
// Each axis is refined to the digits that both sides share. Where the digits of the two sides do
// not divide each other (blocks of 48 against blocks of 32) one loop of the axis is "computed":
// its offsets come from the digits themselves. The ragged end of an axis makes a second box, so
// that a nest never tests a bound. The last box of an axis is stretched over the tail of the
// destination as far as the destination stays linear; its loop then knows how many iterations are
// valid and the rest write zero. What cannot be reached so is zeroed by nests of their own.
//
// A ragged end may also be one box with all of its digits, of which a table says where each of its
// few cells comes from: join_ends().
#pragma once

#include <array>
#include <cstdint>

#include "stowage/layout.h"

namespace stowage::conversion {

inline constexpr int kMaxLevels = 2 * kMaxDigits + 2 * kMaxRank;
inline constexpr int kMaxLoops = kMaxLevels;

/// A loop of a nest. Strides in bytes; `ps` is the step of the parameter index.
struct Loop {
  std::int64_t n, valid;  ///< iterations, and how many of them have a source
  std::int64_t is, os, ps;
  std::int64_t step;  ///< computed loops, and digits of an end: distance along the axis
  int dim;            ///< axis of such a loop, or -1
  /// Of a digit of an end: how many cells this has, of which the first `valid` have a source.
  /// Digits may count beyond them.
  int end;
};

constexpr bool is_of_end(const Loop& loop) noexcept { return loop.dim >= 0 && loop.end > 0; }

struct Nest {
  bool fill;  ///< there is no source: everything becomes zero
  std::int64_t src, dst, param;
  int count;
  std::array<Loop, kMaxLoops> loops;  ///< ascending by os; computed loops and ends last
};

/// Ascending by destination stride, computed loops and digits of ends last, neighbours fused.
void normalise(Nest& nest) noexcept;

/// One side of a conversion: where the elements of a tensor, or of a part of one, are.
struct Side {
  Side(const Mapping& mapping, int scalar_bytes);

  /// Cells of the axis, tail included.
  std::int64_t padded(int dim) const noexcept;

  Shape shape;
  int bytes;  ///< of a scalar
  int count;
  std::array<Digit, kMaxDigits> digits;  ///< strides in scalars
};

/// Deliberate faults for the test of the tests: a check that no fault escapes shows that the
/// property tests see what they claim to see.
enum class Fault : std::uint8_t {
  none,
  drop_last_box,
  swap_source_strides,
  forget_tail,
  short_first_loop,
  wrong_base,
  ignore_computed,
};

/// The nests of a pair of mappings, built one by one: there may be many (a product over the axes
/// of a few boxes each), so they are counted at once and made on demand.
class NestPlan {
 public:
  /// `param_axis` indexes parameters. Throws Error(usage) when the shapes differ.
  NestPlan(const Side& src, const Side& dst, Axis param_axis, Fault fault = Fault::none);

  std::int64_t count() const noexcept { return copies_ + fills_; }

  void make(std::int64_t index, Nest& out) const noexcept;

  /// Joins the boxes and the tail of the ragged end of each axis, where these are several and of at
  /// most so many cells, some of which have a source and which do not carry in the destination.
  /// False, and the same plan: there is no such end, or another axis still has a tail.
  bool join_ends(std::int64_t most) noexcept;

  /// Offset of iteration `v` of a computed loop.
  std::int64_t source_offset(const Loop& loop, std::int64_t v) const noexcept {
    return fault_ == Fault::ignore_computed ? v * loop.is
                                            : offset(axes_[loop.dim].src, v * loop.step);
  }

  std::int64_t destination_offset(const Loop& loop, std::int64_t v) const noexcept {
    return offset(axes_[loop.dim].dst, v * loop.step);
  }

 private:
  struct Radix {
    std::int64_t q, e, stride;
  };

  /// A range of radix_ of one axis.
  struct Digits {
    int begin = 0, end = 0;
  };

  /// [base, base + count * level) with the levels below in full.
  struct Box {
    std::int64_t base, count;
    int level;
  };

  struct AxisPlan {
    std::int64_t extent, covered, padded;  ///< covered: data and the part of the tail that the
                                           ///< last box takes along
    Digits src, dst;
    int level_begin, level_count, computed;  ///< computed: that level, or -1
    int box_begin, box_count;
    std::int64_t last_count;  ///< iterations of the last box's top loop, tail included
    bool is_param, joined;    ///< joined: the last box is an end of so many cells
  };

  using BoxList = std::array<Box, 2 * kMaxLevels>;

  std::int64_t offset(Digits digits, std::int64_t x) const noexcept {
    std::int64_t sum = 0;
    for (int i = digits.begin; i < digits.end; ++i)
      sum += x / radix_[i].q % radix_[i].e * radix_[i].stride;
    return sum;
  }

  void add_digits(const Side& side, int dim, Digits& out);
  void refine(AxisPlan& axis);
  void cut(AxisPlan& axis);
  void cut_boxes(AxisPlan& axis, std::int64_t extent) noexcept;
  bool join_end(AxisPlan& axis, std::int64_t most) noexcept;
  int fill_boxes(const AxisPlan& axis, std::int64_t lo, std::int64_t hi,
                 BoxList& out) const noexcept;
  int fill_range(int dim, int padded_dim, BoxList& out) const noexcept;
  void make_copy(std::int64_t index, Nest& out) const noexcept;
  void append_end(int dim, Nest& out) const noexcept;
  void make_fill(std::int64_t index, Nest& out) const noexcept;

  Fault fault_;
  int rank_ = 0, radix_count_ = 0, level_total_ = 0, box_total_ = 0;
  std::int64_t copies_ = 1, fills_ = 0;
  std::array<AxisPlan, kMaxRank * 2> axes_;
  std::array<Radix, 2 * kMaxDigits> radix_;
  std::array<std::int64_t, 2 * kMaxLevels> levels_;
  std::array<Box, 2 * kMaxLevels> boxes_;
};

}  // namespace stowage::conversion
