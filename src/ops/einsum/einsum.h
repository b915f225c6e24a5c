// SPDX-License-Identifier: Apache-2.0
// ONNX' Einsum as transposes, sums, products of matrices and of elements.
#pragma once

#include "graph/import_rule.h"

namespace stowage {

/// Sums of products of the inputs, as the attribute `equation` says (ONNX Einsum-12, numpy.einsum):
/// "bij,bjk->bik"; "..." stands for any axes, a letter twice in a term for a diagonal. Throws
/// Error(bad_input) where the equation does not fit the inputs.
void import_einsum(ImportNode& node);

}  // namespace stowage
