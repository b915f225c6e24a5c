// SPDX-License-Identifier: Apache-2.0
// y = scale * x + shift with one of each a channel, or a column, or an element of the normalised
// axes: BatchNorm, and sums and products with constants, fold into the convolution, the matrix
// product or the normalisation before them, or into each other.
#include <algorithm>
#include <optional>

#include "base/index.h"
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// How often each value is read, kept up to date while nodes fold.
class Reads {
 public:
  explicit Reads(const Graph& graph) {
    for (NodeId id : graph.topological_order()) count(graph, graph.node(id).inputs, 1);
  }

  /// Counts these reads, or (by -1) takes them out again.
  void count(const Graph& graph, const std::vector<ValueId>& inputs, int by) {
    of_.resize(idx(graph.value_count()), 0);
    for (const ValueId v : inputs) {
      if (v != kNoValue) of_[idx(v)] += by;
    }
  }

  /// It is wanted exactly once.
  bool once(const Graph& graph, ValueId v) const { return of_[idx(v)] == 1 && !graph.is_output(v); }

  bool never(const Graph& graph, ValueId v) const {
    return of_[idx(v)] == 0 && !graph.is_output(v);
  }

 private:
  std::vector<int> of_;
};

/// A node that scales and shifts its input `input`, and what computes that for it alone.
struct Pair {
  NodeId producer = kNoNode, follower = kNoNode;
  int input = 0;
};

std::string fold_label(const Graph& graph, const Pair& pair) {
  const Node& n = graph.node(pair.follower);
  return text("fold '", n.name, "' (", n.op->name, ") into '", graph.node(pair.producer).name, "'");
}

std::optional<ScaleShift> follower_along(const Graph& graph, const Pair& pair, AxisRange axes) {
  const NodeRef follower(graph, pair.follower);
  return follower.node().op->scale_shift(follower, pair.input, axes);
}

/// A scale may change every constant of the node. One that others read would then be there twice:
/// a vector as long as the scale may be, weights may not.
bool shares_weights(const Graph& graph, const Reads& reads, NodeId id, const ScaleShift& by) {
  return std::ranges::any_of(graph.node(id).inputs, [&](ValueId v) {
    return v != kNoValue && graph.value(v).constant != nullptr && !reads.once(graph, v) &&
           graph.value(v).shape.elements() > std::ssize(by.scale);
  });
}

/// The producer's own constants take the scale and the shift.
bool take(Graph& graph, const Pair& pair, const Reads& reads) {
  const NodeRef producer(graph, pair.producer);
  const OpDef& op = *producer.node().op;
  const auto axes = op.scaled_axes(producer);
  if (!axes) return false;
  const auto by = follower_along(graph, pair, *axes);
  if (!by || (by->scales() && shares_weights(graph, reads, pair.producer, *by))) return false;
  auto now = op.take_scale_shift(producer, *by);
  if (!now) return false;
  Patch patch(graph, fold_label(graph, pair));
  for (auto& [input, tensor] : now->constants) {
    std::string name =
        producer.has(input) ? producer.input(input).name : text(producer.node().name, ".", input);
    if (!name.ends_with(".folded")) name += ".folded";
    const ValueId v = patch.add_constant(std::move(name), std::move(tensor));
    Node& n = patch.edit(pair.producer);
    n.inputs.resize(std::max(n.inputs.size(), idx(input) + 1), kNoValue);
    n.inputs[idx(input)] = v;
  }
  patch.edit(pair.producer).attrs = std::move(now->attrs);
  patch.infer(pair.producer);
  patch.take_over(pair.producer, pair.follower);
  return true;
}

/// Both of the pair as one batch_norm of the input `input` of the producer.
bool compose(Graph& graph, const Pair& pair, int input) {
  const NodeRef producer(graph, pair.producer);
  if (producer.output().shape.rank() < 2 || !producer.has(input)) return false;
  constexpr AxisRange kChannels{1, 2};
  auto a = producer.node().op->scale_shift(producer, input, kChannels);
  const auto b = a ? follower_along(graph, pair, kChannels) : std::nullopt;
  if (!b || a->scale.size() != b->scale.size()) return false;
  const std::size_t channels = a->scale.size();
  for (std::size_t c = 0; c < channels; ++c) {
    a->scale[c] *= b->scale[c];
    a->shift[c] = b->shift[c] + a->shift[c] * b->scale[c];
  }
  Patch patch(graph, fold_label(graph, pair));
  const std::string base = producer.node().name;
  const std::vector<float> zero(channels, 0.0f), one(channels, 1.0f);
  const ValueId inputs[] = {producer.node().inputs[idx(input)],
                            patch.add_constant(base + ".scale", vector_tensor(a->scale)),
                            patch.add_constant(base + ".shift", vector_tensor(a->shift)),
                            patch.add_constant(base + ".mean", vector_tensor(zero)),
                            patch.add_constant(base + ".variance", vector_tensor(one))};
  Node& n = patch.edit(pair.producer);
  n.op = find_op("batch_norm");
  n.attrs = Attributes();
  n.attrs.set("epsilon", 0.0f);
  n.inputs.assign(std::begin(inputs), std::end(inputs));
  patch.infer(pair.producer);
  patch.take_over(pair.producer, pair.follower);
  return true;
}

/// Folds the follower into the producer, where that can take it.
bool fold(Graph& graph, const Pair& pair, const Reads& reads) {
  const Node& p = graph.node(pair.producer);
  if (p.op->take_scale_shift != nullptr) return take(graph, pair, reads);
  if (p.op->scale_shift == nullptr) return false;
  for (int i = 0; i < static_cast<int>(p.inputs.size()); ++i) {
    if (compose(graph, pair, i)) return true;
  }
  return false;
}

/// Weights that were folded are half of the memory until simplify ends: they go at once.
void release_unread(Graph& graph, const Reads& reads, const std::vector<ValueId>& values) {
  for (const ValueId v : values) {
    if (v != kNoValue && reads.never(graph, v)) graph.value(v).constant = nullptr;
  }
}

/// Folds the node into what computes one of its inputs for it alone.
bool fold(Graph& graph, NodeId id, Reads& reads) {
  const auto inputs = graph.node(id).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId x = inputs[i];
    const NodeId producer = x == kNoValue ? kNoNode : graph.value(x).producer;
    if (producer == kNoNode || !reads.once(graph, x)) continue;
    if (graph.node(producer).outputs[0] != x || !graph.node(producer).posts.empty()) continue;
    const auto old = graph.node(producer).inputs;
    if (!fold(graph, Pair{producer, id, static_cast<int>(i)}, reads)) continue;
    reads.count(graph, inputs, -1);
    reads.count(graph, old, -1);
    reads.count(graph, graph.node(producer).inputs, 1);
    release_unread(graph, reads, old);
    return true;
  }
  return false;
}

}  // namespace

bool fold_affine(Graph& graph) {
  bool changed = false;
  Reads reads(graph);
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (n.removed || n.op->scale_shift == nullptr || !n.posts.empty() ||
        graph.value(n.outputs[0]).dtype != DType::f32) {
      continue;
    }
    changed |= fold(graph, id, reads);
  }
  return changed;
}

}  // namespace stowage
