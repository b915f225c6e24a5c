// SPDX-License-Identifier: Apache-2.0
// What normalisations of ONNX and of ncnn become that are no operators here.
#pragma once

#include "graph/import_rule.h"

namespace stowage {

/// A constant vector of `count` equal elements.
ValueId filled(ImportNode& node, std::int64_t count, float value);

/// (x - mean) / sqrt(variance + epsilon) over the channels of each of `groups` groups and what is
/// behind them, of each of `batch` images; times `scale`, plus `shift`, each a vector of one for a
/// group, or kNoValue.
ValueId normalise_groups(ImportNode& node, ValueId x, std::int64_t batch, std::int64_t groups,
                         float epsilon, ValueId scale = kNoValue, ValueId shift = kNoValue);

/// x / sqrt(mean(x * x) + epsilon), the mean over the axes from `axis` on.
ValueId over_root_mean_square(ImportNode& node, ValueId x, int axis, float epsilon);

}  // namespace stowage
