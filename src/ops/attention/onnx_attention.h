// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import_rule.h"

namespace stowage {

/// ONNX's Attention, versions 23 to 25, as the products and the softmax that it is made of.
void import_onnx_attention(ImportNode& node);

}  // namespace stowage
