// SPDX-License-Identifier: Apache-2.0
// Casts by way of scratch memory: where elements would be cast in short runs, a few ranges of the
// side with wider elements are cast as they lie, to or from narrower ones in scratch memory, and
// the conversion without a cast moves those between scratch memory and the other side.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Scratch memory of a stage.
inline constexpr std::int64_t kStageBytes = 32 * 1024;

struct Stage {
  bool cast_first;        ///< the source is cast; else the destination is, last
  std::int64_t elements;  ///< of a range, gaps between those of the source too
  Loop ranges;            ///< that are cast, between the side that is and scratch memory
  Nest move;              ///< between scratch memory and the other side, of the narrower elements
};

/// Takes the loops of a stage out of the pool; false, and any pool, where no range is dense enough.
bool cut_stage(Pool& pool, int src_bytes, int dst_bytes, Stage& out) noexcept;

/// Makes the job of a cast whose elements are not scaled one of stages, of at least so many
/// elements, if that is faster. The nest moves scalars of so many bytes.
void choose_stage(const Nest& nest, int src_scalar, int dst_scalar, std::int64_t least,
                  Job& job) noexcept;

}  // namespace stowage::conversion
