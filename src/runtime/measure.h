// SPDX-License-Identifier: Apache-2.0
// For what runs small graphs on this machine: making them, and timing work.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace stowage {

/// Microseconds of one call: the lower quartile of samples that last long enough to be timed.
/// Others may be using the machine; what they take away is not what it can do.
double measure_us(const std::function<void()>& work);

/// What a thread reads and writes of memory, as the last level of measure_peaks(1) has it.
double memory_gb_per_s();

/// A graph made node by node.
class SmallGraph {
 public:
  SmallGraph() : graph_(std::make_shared<Graph>()) {}

  /// A model input of f32.
  ValueId input(const Ints& extents);
  ValueId constant(Tensor tensor);
  std::vector<ValueId> node(std::string_view op, const std::map<std::string, Attribute>& attrs,
                            std::vector<ValueId> inputs, int outputs = 1, Posts posts = {});
  /// Shapes are inferred and axes named.
  std::shared_ptr<Graph> finish(std::vector<ValueId> outputs);

 private:
  std::shared_ptr<Graph> graph_;
};

/// An f32 tensor over the axes a, b, c, ...
Tensor plain_tensor(const Ints& extents);

}  // namespace stowage
