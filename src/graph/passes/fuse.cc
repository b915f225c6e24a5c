// SPDX-License-Identifier: Apache-2.0
// Elementwise work that follows a kernel becomes one of its posts, where all kernels of the
// operator can do it.
#include <algorithm>
#include <optional>

#include "base/index.h"
#include "base/text.h"
#include "graph/constants.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// How a post of `result` can read `operand`; nothing when it stretches in another way.
std::optional<Post::Broadcast> broadcast_of(const Value& operand, const Shape& result,
                                            int channel_axis) {
  const Shape& shape = operand.shape;
  if (operand.dtype != DType::f32 || shape.rank() > result.rank()) return std::nullopt;
  if (std::ranges::equal(shape.extents(), result.extents())) return Post::Broadcast::none;
  if (shape.elements() == 1) return Post::Broadcast::scalar;
  const int axis = channel_axis < 0 ? channel_axis + result.rank() : channel_axis;
  if (axis < 0 || axis >= result.rank() || shape.elements() != result[axis] ||
      !stretches_over(shape, result, axis, axis + 1)) {
    return std::nullopt;
  }
  return Post::Broadcast::channel;
}

/// The post of `producer` that the node, its only reader, would be.
struct Fusion {
  NodeId producer;
  Post post;
  ValueId operand;
};

class Fuser {
 public:
  explicit Fuser(Graph& graph)
      : graph_(graph),
        order_(graph.topological_order()),
        readers_(graph.consumers()),
        position_(idx(graph.node_count()), -1) {
    for (std::size_t i = 0; i < order_.size(); ++i) position_[idx(order_[i])] = static_cast<int>(i);
  }

  bool run() {
    bool changed = false;
    for (const NodeId id : order_) {
      if (const auto fusion = best(id)) {
        apply(*fusion, id);
        changed = true;
      }
    }
    return changed;
  }

 private:
  std::optional<Fusion> fusion(NodeId id, int x) const {
    const NodeRef node(graph_, id);
    const ValueId value = node.node().inputs[idx(x)];
    if (value == kNoValue || graph_.value(value).dtype != DType::f32) return std::nullopt;
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || sole_reader(graph_, readers_, value) != id ||
        graph_.node(producer).outputs[0] != value) {
      return std::nullopt;
    }
    const Shape& result = graph_.value(value).shape;
    const auto post = node.node().op->post(node, x);
    // Broadcasting must not enlarge the result.
    if (!post || !std::ranges::equal(result.extents(), node.output().shape.extents())) {
      return std::nullopt;
    }
    Fusion out{producer, *post, kNoValue};
    if (post->input >= 0) {
      out.operand = node.node().inputs[idx(post->input)];
      const auto broadcast =
          broadcast_of(node.input(post->input), result, graph_.node(producer).op->channel_axis);
      if (!broadcast) return std::nullopt;
      out.post.broadcast = *broadcast;
      out.post.input = static_cast<int>(graph_.node(producer).inputs.size());
    }
    if (!takes_post(NodeRef(graph_, producer), out.post)) return std::nullopt;
    return out;
  }

  std::optional<Fusion> best(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->post == nullptr || !n.posts.empty()) return std::nullopt;
    std::optional<Fusion> best;
    for (int x = 0; x < static_cast<int>(n.inputs.size()); ++x) {
      const auto f = fusion(id, x);
      if (!f) continue;
      // The later of two producers: the other operand's memory is ready, and shorter-lived.
      if (!best || position_[idx(f->producer)] > position_[idx(best->producer)]) best = f;
    }
    return best;
  }

  void apply(const Fusion& fusion, NodeId id) {
    const Node& n = graph_.node(id);
    Patch patch(graph_, text("fuse '", n.name, "' (", n.op->name, ") into '",
                             graph_.node(fusion.producer).name, "'"));
    Node& into = patch.edit(fusion.producer);
    into.posts.push_back(fusion.post);
    if (fusion.operand != kNoValue) {
      into.inputs.push_back(fusion.operand);
      std::ranges::replace(readers_[idx(fusion.operand)], id, fusion.producer);
    }
    patch.take_over(fusion.producer, id);
    // The producer now stands where the node stood.
    position_[idx(fusion.producer)] = position_[idx(id)];
  }

  Graph& graph_;
  const std::vector<NodeId> order_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<int> position_;  ///< of each node, in the order in which they run
};

}  // namespace

bool fuse_posts(Graph& graph) { return Fuser(graph).run(); }

}  // namespace stowage
