// SPDX-License-Identifier: Apache-2.0
// Attention as files write it, a product of queries and keys, a scale, a mask, a softmax and a
// product with the values, becomes one node (ops/attention.cc).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// The nodes of one attention, read backwards from the product with the values.
class Primitives {
 public:
  Primitives(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, NodeId last)
      : graph_(graph), readers_(readers), last_(last) {}

  ValueId q = kNoValue, k = kNoValue, v = kNoValue, mask = kNoValue;
  float scale = 1;
  std::vector<NodeId> inner;                          ///< all but the last
  std::vector<std::pair<NodeId, ValueId>> now_reads;  ///< transposes of what was scaled

  bool match() {
    if (!is_product(last_)) return false;
    const Node& sums = graph_.node(last_);
    v = sums.inputs[1];
    const NodeId softmax = take(sums.inputs[0], "softmax");
    if (softmax == kNoNode || !along_last(softmax)) return false;
    NodeId scores = kNoNode;
    const ValueId masked = graph_.node(softmax).inputs[0];
    if (const NodeId add = take(masked, "add"); add != kNoNode) {
      const Node& n = graph_.node(add);
      for (const std::size_t i : {0, 1}) {
        if (scores != kNoNode || !same_shape(n.inputs[i], masked)) continue;
        scores = take(n.inputs[i], "matmul", true);
        if (scores != kNoNode) mask = n.inputs[1 - i];
      }
    } else {
      scores = take(masked, "matmul", true);
    }
    if (scores == kNoNode || !is_product(scores) || !posts_of(scores)) return false;
    q = without_scale(graph_.node(scores).inputs[0]);
    k = without_scale(graph_.node(scores).inputs[1]);
    return shapes_fit(graph_.node(scores).outputs[0]);
  }

 private:
  const Shape& shape(ValueId value) const { return graph_.value(value).shape; }

  bool same_shape(ValueId a, ValueId b) const {
    return std::ranges::equal(shape(a).extents(), shape(b).extents());
  }

  /// The node that makes `value`, if it is this operator and the only reader is among ours.
  NodeId take(ValueId value, std::string_view op, bool with_posts = false) {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode) return kNoNode;
    const Node& n = graph_.node(id);
    if (n.op->name != op || (!with_posts && !n.posts.empty()) || n.outputs[0] != value ||
        sole_reader(graph_, readers_, value) == kNoNode) {
      return kNoNode;
    }
    inner.push_back(id);
    return id;
  }

  /// A product of f32 without a bias.
  bool is_product(NodeId id) const {
    const Node& n = graph_.node(id);
    const NodeRef node(graph_, id);
    return n.op->name == "matmul" && node.input_count() == 2 && node.dtype(0) == DType::f32;
  }

  bool along_last(NodeId softmax) const {
    const Node& n = graph_.node(softmax);
    return n.facts.integer("axis", -1) == shape(n.inputs[0]).rank() - 1;
  }

  /// Factors, then at most one addition, the mask, unless there is one.
  bool posts_of(NodeId scores) {
    const Node& n = graph_.node(scores);
    bool added = false;
    for (const Post& post : n.posts) {
      if (added) return false;
      if (post.kind == Post::Kind::scale) {
        scale *= post.factor;
      } else if (post.kind == Post::Kind::divide) {
        scale /= post.factor;
      } else if (post.kind == Post::Kind::add && post.broadcast != Post::Broadcast::scalar &&
                 mask == kNoValue) {
        mask = n.inputs[idx(post.input)];
        added = true;
      } else {
        return false;
      }
    }
    return true;
  }

  /// What `value` is a constant multiple of, if it is, directly or before a transpose; the factor
  /// goes into the scale.
  ValueId without_scale(ValueId value) {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode || sole_reader(graph_, readers_, value) == kNoNode) return value;
    const Node& n = graph_.node(id);
    if (n.op->transposes && n.posts.empty()) {
      const ValueId whole = without_scale_here(n.inputs[0]);
      if (whole != n.inputs[0]) now_reads.emplace_back(id, whole);
      return value;
    }
    return without_scale_here(value);
  }

  ValueId without_scale_here(ValueId value) {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode || graph_.node(id).op->name != "mul") return value;
    const Node& n = graph_.node(id);
    for (const std::size_t i : {0, 1}) {
      const auto factor = scalar_constant(graph_, n.inputs[i], n.inputs[1 - i]);
      if (!factor || take(value, "mul") == kNoNode) continue;
      scale *= *factor;
      return n.inputs[1 - i];
    }
    return value;
  }

  /// Batches are those of q, and a mask has a column for each key.
  bool shapes_fit(ValueId scores) const {
    const Shape& s = shape(scores);
    const int rank = s.rank();
    for (const ValueId value : {q, k, v, graph_.node(last_).outputs[0]}) {
      if (shape(value).rank() != rank) return false;
    }
    const auto leading = [&](ValueId value, int axes) {
      return shape(value).extents().first(idx(axes));
    };
    if (rank < 2 || s.elements() == 0 || s[rank - 1] > kMostKeys ||
        !std::ranges::equal(leading(q, rank - 1), leading(scores, rank - 1)) ||
        !std::ranges::equal(leading(q, rank - 1),
                            leading(graph_.node(last_).outputs[0], rank - 1))) {
      return false;
    }
    if (mask == kNoValue) return true;
    const Shape& m = shape(mask);
    return graph_.value(mask).dtype == DType::f32 && m.rank() > 0 && m[m.rank() - 1] == s[rank - 1];
  }

  /// Scores of a few rows are to stay in a cache.
  static constexpr std::int64_t kMostKeys = 1 << 15;

  const Graph& graph_;
  const std::vector<std::vector<NodeId>>& readers_;
  NodeId last_;
};

void become(Graph& graph, NodeId id, const Primitives& p) {
  Patch patch(graph, text("fuse attention into '", graph.node(id).name, "'"));
  for (const NodeId inner : p.inner) patch.remove(inner);
  for (const auto& [transpose, value] : p.now_reads) patch.edit(transpose).inputs[0] = value;
  Node& n = patch.edit(id);
  std::vector<ValueId> inputs = {p.q, p.k, p.v};
  if (p.mask != kNoValue) inputs.push_back(p.mask);
  const int further = static_cast<int>(inputs.size()) - 2;
  inputs.insert(inputs.end(), n.inputs.begin() + 2, n.inputs.end());
  n.inputs = std::move(inputs);
  for (Post& post : n.posts) {
    if (post.input >= 0) post.input += further;
  }
  n.op = find_op("attention");
  n.type.clear();
  n.attrs = Attributes();
  n.attrs.set("scale", p.scale);
  n.facts = Attributes();  // there are none; inference would forget the names of the axes
}

std::optional<Primitives> attention_at(const Graph& graph,
                                       const std::vector<std::vector<NodeId>>& readers, NodeId id) {
  Primitives p(graph, readers, id);
  if (!p.match()) return std::nullopt;
  return p;
}

}  // namespace

bool has_attention(const Graph& graph) {
  const auto readers = graph.consumers();
  const auto order = graph.topological_order();
  return std::ranges::any_of(
      order, [&](NodeId id) { return attention_at(graph, readers, id).has_value(); });
}

bool fuse_attention(Graph& graph) {
  auto readers = graph.consumers();
  bool changed = false;
  for (const NodeId id : graph.topological_order()) {
    const auto p = attention_at(graph, readers, id);
    if (!p) continue;
    become(graph, id, *p);
    readers = graph.consumers();
    changed = true;
  }
  return changed;
}

}  // namespace stowage
