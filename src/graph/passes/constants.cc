// SPDX-License-Identifier: Apache-2.0
// Constant operands of elementwise nodes, as passes ask for them.
#include "graph/passes/passes.h"

namespace stowage {

std::optional<float> scalar_constant(const Graph& graph, ValueId v, ValueId like) {
  const Value& value = graph.value(v);
  if (value.constant == nullptr || value.dtype != DType::f32 || value.shape.elements() != 1 ||
      value.shape.rank() > graph.value(like).shape.rank()) {
    return std::nullopt;
  }
  return value.constant->as<float>()[0];
}

}  // namespace stowage
