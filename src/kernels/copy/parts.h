// SPDX-License-Identifier: Apache-2.0
// A tensor and its parts along an axis: concat and split are the same copies, in either direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/copy/box_copy.h"

namespace stowage {

/// The parts of a tensor along an axis, in one layout.
struct PartsParams {
  struct Part {
    bool there = false;      ///< it is an operand and has elements
    std::int64_t begin = 0;  ///< along the axis
    Mapping mapping;

    void fields(Archive& a) { a("there", there)("begin", begin)("mapping", mapping); }
  };

  int axis = 0;
  Mapping whole;
  std::vector<Part> parts;

  void fields(Archive& a) { a("axis", axis)("whole", whole)("parts", parts); }
};

/// A copy between the whole and one part, in one layout.
struct PartCopy {
  std::size_t part;
  BoxCopy copy;
};

/// One for each part that is there.
std::vector<PartCopy> part_copies(const PartsParams& p, bool split);

extern const KernelDef kConcat, kSplit;

}  // namespace stowage
