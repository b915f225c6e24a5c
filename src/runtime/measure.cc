// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.h"

#include <algorithm>

#include "base/text.h"
#include "base/trail.h"

namespace stowage {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

double measure_us(const std::function<void()>& work) {
  constexpr double kSampleMs = 1.5, kBudgetMs = 90;
  work();
  std::vector<double> samples;
  int calls = 1;
  const Clock::time_point begin = Clock::now();
  while (samples.size() < 5 || ms_since(begin) < kBudgetMs) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) work();
    const double ms = ms_since(start);
    if (ms < kSampleMs && calls < (1 << 20)) {
      calls *= 2;
      continue;
    }
    samples.push_back(ms * 1e3 / calls);
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 4];
}

Tensor plain_tensor(const Ints& extents) { return Tensor(DType::f32, Shape::unnamed(extents)); }

ValueId SmallGraph::input(const Ints& extents) {
  Value v;
  v.name = text("x", graph_->inputs.size());
  v.shape = Shape::unnamed(extents);
  graph_->inputs.push_back(graph_->add_value(std::move(v)));
  return graph_->inputs.back();
}

ValueId SmallGraph::constant(Tensor tensor) { return graph_->add_constant("w", std::move(tensor)); }

std::vector<ValueId> SmallGraph::node(std::string_view op,
                                      const std::map<std::string, Attribute>& attrs,
                                      std::vector<ValueId> inputs, int outputs, Posts posts) {
  Node n;
  n.op = find_op(op);
  if (n.op == nullptr) fail(ErrorCode::internal, "no operator '", op, "'");
  n.name = std::string(op);
  for (const auto& [name, value] : attrs) n.attrs.set(name, value);
  n.inputs = std::move(inputs);
  n.posts = std::move(posts);
  for (int i = 0; i < outputs; ++i) {
    Value v;
    v.name = text("y", i);
    n.outputs.push_back(graph_->add_value(std::move(v)));
  }
  const std::vector<ValueId> made = n.outputs;
  graph_->add_node(std::move(n));
  return made;
}

std::shared_ptr<Graph> SmallGraph::finish(std::vector<ValueId> outputs) {
  graph_->outputs = std::move(outputs);
  infer_shapes(*graph_);
  name_axes(*graph_);
  return graph_;
}

}  // namespace stowage
