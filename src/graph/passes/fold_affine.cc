// SPDX-License-Identifier: Apache-2.0
// y = scale[c] * x + shift[c]: BatchNorm, and products and sums with constants that have one
// value a channel, fold into the convolution before them or into each other.
#include <cmath>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

struct Affine {
  std::vector<float> scale, shift;  // one a channel
};

std::span<const float> floats(const Tensor* t) {
  return t->as<float>().first(static_cast<std::size_t>(t->shape().elements()));
}

/// The elements of a constant operand of an elementwise node, one a channel (axis 1 of `x`), or
/// nothing when it varies along another axis.
std::optional<std::vector<float>> per_channel(const Tensor* t, const Shape& x) {
  if (t == nullptr || t->dtype() != DType::f32 || x.rank() < 2) return std::nullopt;
  const auto channels = static_cast<std::size_t>(x[1]);
  const Shape& s = t->shape();
  if (s.rank() > x.rank()) return std::nullopt;
  const int shift = x.rank() - s.rank();
  for (int i = 0; i < s.rank(); ++i) {
    if (s[i] != 1 && (i + shift != 1 || s[i] != x[1])) return std::nullopt;
  }
  const auto data = floats(t);
  if (data.size() == channels) return std::vector<float>(data.begin(), data.end());
  if (data.size() == 1) return std::vector<float>(channels, data[0]);
  return std::nullopt;
}

std::optional<Affine> batch_norm_affine(const NodeRef& node) {
  if (node.output_count() > 1 && node.has_output(1)) return std::nullopt;
  for (int i = 1; i < 5; ++i) {
    if (node.constant(i) == nullptr || node.constant(i)->dtype() != DType::f32) return std::nullopt;
  }
  const auto scale = floats(node.constant(1)), bias = floats(node.constant(2)),
             mean = floats(node.constant(3)), variance = floats(node.constant(4));
  const float epsilon = node.attrs().real("epsilon", 1e-5f);
  Affine out;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double s = scale[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    out.scale.push_back(static_cast<float>(s));
    out.shift.push_back(static_cast<float>(bias[c] - mean[c] * s));
  }
  return out;
}

/// What a node does to its input `x` when it is a scale and a shift a channel.
struct AffineNode {
  ValueId x;
  Affine affine;
};

std::optional<AffineNode> affine_of(const NodeRef& node) {
  const Node& n = node.node();
  if (!n.epilogue.empty() || n.outputs.empty() || node.output().dtype != DType::f32) {
    return std::nullopt;
  }
  if (n.op->name == "batch_norm") {
    auto affine = batch_norm_affine(node);
    if (!affine) return std::nullopt;
    return AffineNode{n.inputs[0], std::move(*affine)};
  }
  const bool add = n.op->name == "add", sub = n.op->name == "sub", mul = n.op->name == "mul",
             div = n.op->name == "div";
  if ((!add && !sub && !mul && !div) || n.inputs.size() != 2) return std::nullopt;
  for (const int c : {1, 0}) {
    if (node.constant(c) == nullptr || (c == 0 && (sub || div))) continue;
    const ValueId x = n.inputs[static_cast<std::size_t>(1 - c)];
    const Shape& shape = node.graph().value(x).shape;
    // Broadcasting must not enlarge x.
    bool same = shape.rank() == node.output().shape.rank();
    for (int i = 0; same && i < shape.rank(); ++i) same = shape[i] == node.output().shape[i];
    auto k = per_channel(node.constant(c), shape);
    if (!same || !k || node.graph().value(x).constant != nullptr) continue;
    Affine out{std::vector<float>(k->size(), 1.0f), std::vector<float>(k->size(), 0.0f)};
    for (std::size_t i = 0; i < k->size(); ++i) {
      if (add) out.shift[i] = (*k)[i];
      if (sub) out.shift[i] = -(*k)[i];
      if (mul) out.scale[i] = (*k)[i];
      if (div) out.scale[i] = 1.0f / (*k)[i];
    }
    return AffineNode{x, std::move(out)};
  }
  return std::nullopt;
}

Tensor vector_tensor(std::span<const float> data) {
  Tensor t(DType::f32, Shape("a", {static_cast<std::int64_t>(data.size())}));
  std::copy(data.begin(), data.end(), t.as<float>().begin());
  return t;
}

/// Weights and bias of a convolution times scale plus shift. Output channels are axis 0 of the
/// weights of a convolution; axis 1 within each group of a transposed one.
bool fold_into_conv(Graph& graph, NodeId conv, NodeId follower, const Affine& affine) {
  const NodeRef p(graph, conv);
  const bool transposed = p.node().op->name == "conv_transpose";
  if (!transposed && p.node().op->name != "conv") return false;
  const Tensor* w = p.constant(1);
  if (w == nullptr || w->dtype() != DType::f32 || !p.node().epilogue.empty()) return false;
  if (p.has(2) && p.constant(2) == nullptr) return false;
  const auto channels = static_cast<std::int64_t>(affine.scale.size());
  const std::int64_t group = p.attrs().integer("group", 1);
  Tensor weights = *w;
  auto data = weights.as<float>();
  const Shape& s = w->shape();
  std::int64_t run = 1;  // elements of one (axis 0, axis 1) pair
  for (int i = 2; i < s.rank(); ++i) run *= s[i];
  for (std::int64_t a = 0; a < s[0]; ++a) {
    for (std::int64_t b = 0; b < s[1]; ++b) {
      const std::int64_t o = transposed ? a / (s[0] / group) * s[1] + b : a;
      for (std::int64_t k = 0; k < run; ++k) {
        data[static_cast<std::size_t>((a * s[1] + b) * run + k)] *=
            affine.scale[static_cast<std::size_t>(o)];
      }
    }
  }
  std::vector<float> bias(affine.shift);
  if (p.has(2)) {
    const auto old = floats(p.constant(2));
    for (std::int64_t o = 0; o < channels; ++o) {
      const auto i = static_cast<std::size_t>(o);
      bias[i] += old[i] * affine.scale[i];
    }
  }
  const std::string base = graph.value(p.node().inputs[1]).name;
  Patch patch(graph, text("fold '", graph.node(follower).name, "' (", graph.node(follower).op->name,
                          ") into '", p.node().name, "'"));
  const ValueId w_id = patch.add_constant(base + ".folded", std::move(weights));
  const ValueId b_id = patch.add_constant(base + ".bias", vector_tensor(bias));
  Node& n = patch.edit(conv);
  const ValueId old_w = n.inputs[1];
  n.inputs.resize(std::max<std::size_t>(n.inputs.size(), 3), kNoValue);
  n.inputs[1] = w_id;
  n.inputs[2] = b_id;
  patch.take_over(conv, follower);
  // The unfolded weights are half of the memory until simplify ends; drop them at once.
  const auto readers = graph.consumers();
  if (readers[static_cast<std::size_t>(old_w)].empty() && !graph.is_output(old_w)) {
    graph.value(old_w).constant = nullptr;
  }
  return true;
}

/// second(first(x)) as one batch_norm.
void compose(Graph& graph, NodeId first, NodeId second, const AffineNode& a, const Affine& b) {
  const std::size_t channels = a.affine.scale.size();
  std::vector<float> scale(channels), shift(channels), zero(channels, 0.0f), one(channels, 1.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    scale[c] = a.affine.scale[c] * b.scale[c];
    shift[c] = a.affine.shift[c] * b.scale[c] + b.shift[c];
  }
  Patch patch(graph, text("fold '", graph.node(second).name, "' (", graph.node(second).op->name,
                          ") into '", graph.node(first).name, "'"));
  const std::string base = graph.node(first).name;
  const ValueId inputs[] = {a.x, patch.add_constant(base + ".scale", vector_tensor(scale)),
                            patch.add_constant(base + ".shift", vector_tensor(shift)),
                            patch.add_constant(base + ".mean", vector_tensor(zero)),
                            patch.add_constant(base + ".variance", vector_tensor(one))};
  Node& n = patch.edit(first);
  n.op = find_op("batch_norm");
  n.attrs = Attributes();
  n.attrs.set("epsilon", 0.0f);
  n.inputs.assign(std::begin(inputs), std::end(inputs));
  patch.take_over(first, second);
}

}  // namespace

bool fold_affine(Graph& graph) {
  bool changed = false;
  auto readers = graph.consumers();
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).removed) continue;
    const auto second = affine_of(NodeRef(graph, id));
    if (!second) continue;
    const NodeId producer = graph.value(second->x).producer;
    if (producer == kNoNode || sole_reader(graph, readers, second->x) != id ||
        graph.node(producer).outputs[0] != second->x) {
      continue;
    }
    bool folded = fold_into_conv(graph, producer, id, second->affine);
    if (!folded) {
      const auto first = affine_of(NodeRef(graph, producer));
      if (first && first->affine.scale.size() == second->affine.scale.size() &&
          graph.value(second->x).shape.rank() >= 2 && find_op("batch_norm") != nullptr) {
        compose(graph, producer, id, *first, second->affine);
        folded = true;
      }
    }
    if (folded) {
      changed = true;
      readers = graph.consumers();
    }
  }
  return changed;
}

}  // namespace stowage
