// SPDX-License-Identifier: Apache-2.0
// Extents that a layer computes from those of its inputs, as pnnx writes them:
//
//   "*(0w,2),//(0h,2),-1"   twice the w of input 0, half its h, what is left
//
// A list of integers, reals, dims of inputs (0w 0h 0d 0c) and functions of them. Arithmetic of
// integers stays among integers; reals are rounded towards zero in the end.
#pragma once

#include "graph/import_rule.h"
#include "ops/ncnn/params.h"

namespace stowage::ncnn {

/// The numbers of the list that parameter `id` is. Throws Error(bad_input) for what is no list, or
/// no extents.
Ints evaluate(ImportNode& node, const NcnnParams& params, int id);

}  // namespace stowage::ncnn
