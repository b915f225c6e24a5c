// SPDX-License-Identifier: Apache-2.0
// A Conversion moves a tensor from one layout to another, and from one dtype to another.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stowage/tensor.h"

namespace stowage {

class ThreadPool;

/// What happens to each scalar on the way:
///     dst = cast((src - mean[c]) * norm[c])
/// in f32, rounded half to even and saturated when `dst` is an integer. Without mean and norm
/// a conversion between equal dtypes moves bytes, whatever they are.
struct ScalarMap {
  std::span<const float> mean;  ///< one per index of `axis`, or one for all, or none (0)
  std::span<const float> norm;  ///< likewise; a multiplier, none = 1
  Axis axis;                    ///< the axis that indexes mean and norm when they hold several
};

/// How transpositions walk memory. Any values give the same bytes; which are fast depends on the
/// processor. `stowage calibrate` measures them (measure_conversion_tuning in stowage/machine.h).
struct ConversionTuning {
  /// Lines are asked for ahead of the stores that fill them; without streams, they always are.
  bool prefetch_for_write = false;
  /// How many rows, or columns, that are far from each other the hardware's prefetchers follow:
  /// as many as fill a line are walked at once to the end of a block, but all of them, up to 16
  /// times as many as these, where a line would be met twice; 0: all of the block, but for rows
  /// whose lines crowd the L2.
  int streams = 0;
  /// Beyond L2, non-temporal stores are faster than stores to the caches. Transpositions then use
  /// them for results beyond L2: always for NextUse::later, for NextUse::soon where rows and
  /// columns are so many that it pays even though the next reader finds the result in memory.
  bool non_temporal = false;

  friend bool operator==(const ConversionTuning&, const ConversionTuning&) = default;
};

/// More streams are the same as all.
inline constexpr int kMostStreams = 1024;

/// What suits the family of this processor.
ConversionTuning default_conversion_tuning() noexcept;

/// What conversions that are compiled from now on use: the default, until it is set.
ConversionTuning conversion_tuning() noexcept;

/// For the whole process, from any thread; conversions that exist keep theirs. Streams beyond
/// kMostStreams, and negative ones, become the nearest number allowed.
void set_conversion_tuning(const ConversionTuning& tuning) noexcept;

/// When the result of a conversion is read.
enum class NextUse {
  soon,   ///< by the next call, as within a model: what fits into the caches is kept there
  later,  ///< it may bypass the caches, where that makes the conversion faster on this processor
};

/// A compiled move. Compiling decides everything in about a microsecond; running cannot fail.
/// Neither allocates, except for more than 16 values of mean or norm: the object itself is some 30
/// KiB. Tail cells of the destination become zero, gaps stay as they are. A value type.
class Conversion {
 public:
  /// `src` and `dst` bind the same axes to the same extents (in any order).
  /// Throws Error(usage) when they differ, Error(unsupported) for a dtype pair that has no cast.
  Conversion(DType src_dtype, const Mapping& src, DType dst_dtype, const Mapping& dst,
             const ScalarMap& map = {}, NextUse next_use = NextUse::soon);
  Conversion(const Conversion&);
  Conversion& operator=(const Conversion&);
  ~Conversion();

  /// The bytes are the same on both sides: nothing need move.
  bool is_alias() const noexcept;

  /// Bytes read plus bytes written, for the planner and for reports.
  std::size_t bytes_moved() const noexcept;

  /// The inner kernel that does most of the bytes: "copy", "transpose 4" (elements of 4 bytes),
  /// "interleave 3" (rows), ... With "u8->f32 " before it where elements are cast.
  std::string kernel() const;

  /// A line for each part that the conversion is made of, in words: the kernel, its block, in which
  /// order blocks follow each other, and what was decided for this machine and size.
  std::string explain() const;

  /// What the time depends on beside the bytes.
  enum class Speed {
    none,     ///< nothing moves
    copy,     ///< runs
    shuffle,  ///< elements change places within vectors, change their type, or are made
    single,   ///< element by element
  };

  /// That of the kernel that does most of the bytes.
  Speed speed() const noexcept;

  /// `src` and `dst` point at cell 0 and do not overlap. `pool` may be null.
  void run(const void* src, void* dst, ThreadPool* pool = nullptr) const noexcept;

 private:
  struct Program;
  Program& program() noexcept;
  const Program& program() const noexcept;

  alignas(16) std::byte program_[32 * 1024];
};

/// Converts the whole tensor; a convenience for tools and tests.
Tensor convert(const Tensor& src, const Layout& layout);
Tensor convert(const Tensor& src, DType dtype, const Layout& layout);

}  // namespace stowage
