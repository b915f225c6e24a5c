// SPDX-License-Identifier: Apache-2.0
// Casting a run of scalars from any dtype to any other.
#pragma once

#include "convert/kernels.h"
#include "stowage/layout.h"

namespace stowage::conversion {

/// A compiled cast of runs. The pairs that kernels.h knows are vectors; the others are loops over
/// cast_scalar, and so is every pair when `plain` is asked for.
class RowCast {
 public:
  RowCast() = default;
  RowCast(DType src, DType dst, bool mapped, bool plain) noexcept;

  /// `src` and `dst` need no alignment beyond their scalars' and do not overlap.
  void operator()(const Byte* src, Byte* dst, std::int64_t n, const RowMap& map) const noexcept;

  /// The kernels that move what they cast as this does.
  const CastMoves& moves() const noexcept { return moves_; }

 private:
  CastRow cast_ = nullptr;  ///< null: by way of f32
  CastRow widen_ = nullptr, narrow_ = nullptr;
  CastMoves moves_;
  int src_bytes_ = 4, dst_bytes_ = 4;
};

}  // namespace stowage::conversion
