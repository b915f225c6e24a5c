// SPDX-License-Identifier: Apache-2.0
// What parameters of ncnn's layers we do not support, in one table: a file can be looked at without
// being imported, and all that is missing be told at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/ncnn/params.h"

namespace stowage::ncnn {

/// Operations count from 0 up to these: of BinaryOp, UnaryOp, Reduction, and activations of
/// convolutions and products.
inline constexpr std::int64_t kBinaryOps = 19, kUnaryOps = 28, kReductions = 11, kActivations = 7;

/// Why there is no graph of such a layer, whatever its inputs hold; empty where there is no such
/// reason. Throws Error(bad_input) for parameters that are something else than the layer takes.
std::string refusal(std::string_view type, const NcnnParams& params, std::size_t inputs);

}  // namespace stowage::ncnn
