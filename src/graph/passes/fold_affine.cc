// SPDX-License-Identifier: Apache-2.0
// y = scale * x + shift with one of each a channel, or a column, or an element of the normalised
// axes: BatchNorm, and sums and products with constants, fold into the convolution, the matrix
// product or the normalisation before them, or into each other.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// The axes [first, last) of a value; a channel is all of [1, 2).
struct Axes {
  int first = 1, last = 2;
};

struct Affine {
  std::vector<float> scale, shift;  // one for each element of the axes
};

std::span<const float> floats(const Tensor* t) {
  return t->as<float>().first(static_cast<std::size_t>(t->shape().elements()));
}

/// The elements of a constant operand of an elementwise node, one for each of the axes of `x`, or
/// nothing when it varies along another axis.
std::optional<std::vector<float>> elements_along(const Tensor* t, const Shape& x, Axes axes) {
  if (t == nullptr || t->dtype() != DType::f32 || x.rank() < axes.last ||
      !stretches_over(t->shape(), x, axes.first, axes.last)) {
    return std::nullopt;
  }
  std::int64_t count = 1;
  for (int i = axes.first; i < axes.last; ++i) count *= x[i];
  if (t->shape().elements() != count && !may_stretch(x, axes.first, axes.last)) return std::nullopt;
  const Tensor all = stretched(*t, x, axes.first, axes.last);
  const auto data = floats(&all);
  return std::vector<float>(data.begin(), data.end());
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

/// The input that the node may scale and shift.
ValueId scaled_input(const NodeRef& node) {
  const Node& n = node.node();
  if (!n.posts.empty() || n.outputs.empty() || node.output().dtype != DType::f32) {
    return kNoValue;
  }
  if (n.op->name == "batch_norm") return n.inputs[0];
  const bool binary =
      n.op->name == "add" || n.op->name == "sub" || n.op->name == "mul" || n.op->name == "div";
  if (!binary || n.inputs.size() != 2) return kNoValue;
  const bool first = node.constant(0) != nullptr, second = node.constant(1) != nullptr;
  if (first == second || (first && n.op->name == "div")) return kNoValue;
  return n.inputs[first ? 1 : 0];
}

/// What the node does to scaled_input along these axes, if that is all it does.
std::optional<Affine> affine_of(const NodeRef& node, Axes axes) {
  const Node& n = node.node();
  const ValueId x = scaled_input(node);
  if (x == kNoValue) return std::nullopt;
  if (n.op->name == "batch_norm") {
    return axes.first == 1 && axes.last == 2 ? batch_norm_affine(node) : std::nullopt;
  }
  const int c = n.inputs[0] == x ? 1 : 0;
  const Shape& shape = node.graph().value(x).shape;
  // Broadcasting must not enlarge x.
  if (!std::ranges::equal(shape.extents(), node.output().shape.extents())) return std::nullopt;
  auto k = elements_along(node.constant(c), shape, axes);
  if (!k) return std::nullopt;
  Affine out{std::vector<float>(k->size(), 1.0f), std::vector<float>(k->size(), 0.0f)};
  if (n.op->name == "add") {
    out.shift = std::move(*k);
  } else if (n.op->name == "mul") {
    out.scale = std::move(*k);
  } else if (n.op->name == "div") {
    std::ranges::transform(*k, out.scale.begin(), [](float v) { return 1.0f / v; });
  } else if (c == 0) {
    std::ranges::fill(out.scale, -1.0f);
    out.shift = std::move(*k);
  } else {
    std::ranges::transform(*k, out.shift.begin(), [](float v) { return -v; });
  }
  return out;
}

Tensor vector_tensor(std::span<const float> data) {
  Tensor t(DType::f32, Shape("a", {static_cast<std::int64_t>(data.size())}));
  std::copy(data.begin(), data.end(), t.as<float>().begin());
  return t;
}

/// old * scale + shift, where an absent `old` is zero.
std::vector<float> folded_bias(std::span<const float> old, const Affine& affine) {
  std::vector<float> bias(affine.shift);
  for (std::size_t i = 0; i < old.size(); ++i) bias[i] += old[i] * affine.scale[i];
  return bias;
}

std::string fold_label(const Graph& graph, NodeId follower, NodeId into) {
  const Node& n = graph.node(follower);
  return text("fold '", n.name, "' (", n.op->name, ") into '", graph.node(into).name, "'");
}

/// Weights that were folded are half of the memory until simplify ends; drops them at once.
void release_if_unread(Graph& graph, ValueId v) {
  const auto readers = graph.consumers();
  if (readers[static_cast<std::size_t>(v)].empty() && !graph.is_output(v)) {
    graph.value(v).constant = nullptr;
  }
}

/// Weights and bias of a convolution times scale plus shift. Output channels are axis 0 of the
/// weights of a convolution; axis 1 within each group of a transposed one.
bool fold_into_conv(Graph& graph, NodeId conv, NodeId follower, const Affine& affine) {
  const NodeRef p(graph, conv);
  const bool transposed = p.node().op->name == "conv_transpose";
  const Tensor* w = p.constant(1);
  if (w == nullptr || w->dtype() != DType::f32 || !p.node().posts.empty()) return false;
  if (p.has(2) && p.constant(2) == nullptr) return false;
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
  const auto bias =
      folded_bias(p.has(2) ? floats(p.constant(2)) : std::span<const float>(), affine);
  const std::string base = graph.value(p.node().inputs[1]).name;
  Patch patch(graph, fold_label(graph, follower, conv));
  const ValueId w_id = patch.add_constant(base + ".folded", std::move(weights));
  const ValueId b_id = patch.add_constant(base + ".bias", vector_tensor(bias));
  Node& n = patch.edit(conv);
  const ValueId old_w = n.inputs[1];
  n.inputs.resize(std::max<std::size_t>(n.inputs.size(), 3), kNoValue);
  n.inputs[1] = w_id;
  n.inputs[2] = b_id;
  patch.take_over(conv, follower);
  release_if_unread(graph, old_w);
  return true;
}

/// The columns of the right-hand matrix and the bias of gemm or matmul times scale plus shift.
bool fold_into_product(Graph& graph, NodeId product, NodeId follower, const Affine& affine,
                       const std::vector<std::vector<NodeId>>& readers) {
  const NodeRef p(graph, product);
  const bool gemm = p.node().op->name == "gemm";
  if (!p.node().posts.empty() || p.rank(1) < 2) return false;
  const ValueId old_w = p.node().inputs[1];
  const bool scales = std::ranges::any_of(affine.scale, [](float v) { return v != 1.0f; });
  // Weights that others share would be there twice.
  if (scales && (p.constant(1) == nullptr || sole_reader(graph, readers, old_w) != product)) {
    return false;
  }
  std::vector<float> bias = affine.shift;
  if (p.has(2)) {
    auto old = elements_along(p.constant(2), p.output().shape,
                              {p.output().shape.rank() - 1, p.output().shape.rank()});
    if (!old) return false;
    const float beta = gemm ? p.attrs().real("beta", 1.0f) : 1.0f;
    for (float& v : *old) v *= beta;
    bias = folded_bias(*old, affine);
  }
  Patch patch(graph, fold_label(graph, follower, product));
  if (scales) {
    Tensor weights = *p.constant(1);
    const Shape& s = weights.shape();
    const bool by_row = gemm && p.attrs().integer("transB", 0) != 0;
    const std::int64_t columns = s[s.rank() - 1];
    auto data = weights.as<float>();
    for (std::int64_t i = 0; i < s.elements(); ++i) {
      data[static_cast<std::size_t>(i)] *=
          affine.scale[static_cast<std::size_t>(by_row ? i / columns : i % columns)];
    }
    const ValueId w = patch.add_constant(p.input(1).name + ".folded", std::move(weights));
    patch.edit(product).inputs[1] = w;
  }
  const ValueId b = patch.add_constant(p.node().name + ".bias", vector_tensor(bias));
  Node& n = patch.edit(product);
  n.inputs.resize(3, kNoValue);
  n.inputs[2] = b;
  n.attrs.erase("beta");
  patch.take_over(product, follower);
  if (scales) release_if_unread(graph, old_w);
  return true;
}

/// Scale and bias of a normalisation times scale plus shift.
bool fold_into_norm(Graph& graph, NodeId norm, NodeId follower, Axes axes, const Affine& affine) {
  const NodeRef p(graph, norm);
  if (!p.node().posts.empty()) return false;
  // The parameters of instance_norm are vectors of channels, those of layer_norm stretch to x.
  const bool instance = p.node().op->name == "instance_norm";
  const auto parameter = [&](int i) -> std::optional<std::vector<float>> {
    if (!instance) return elements_along(p.constant(i), p.shape(0), axes);
    if (p.constant(i) == nullptr) return std::nullopt;
    const auto data = floats(p.constant(i));
    return std::vector<float>(data.begin(), data.end());
  };
  const bool has_bias = p.has(2);
  auto scale = parameter(1);
  const auto bias = has_bias ? parameter(2) : std::vector<float>();
  if (!scale || !bias) return false;
  for (std::size_t i = 0; i < scale->size(); ++i) (*scale)[i] *= affine.scale[i];
  const std::vector<float> shift = folded_bias(*bias, affine);
  // A copy: constants that are added move the values of the graph.
  const auto all = p.shape(0).extents();
  const Ints extents(all.begin() + axes.first, all.begin() + axes.last);
  const auto tensor = [&](std::span<const float> data) {
    Tensor t = vector_tensor(data);
    t.reshape(Shape(std::string_view("abcdefgh").substr(0, extents.size()), extents));
    return t;
  };
  Patch patch(graph, fold_label(graph, follower, norm));
  const std::string base = p.node().name;
  const ValueId s = patch.add_constant(base + ".scale", tensor(*scale));
  const bool shifts = std::ranges::any_of(affine.shift, [](float v) { return v != 0.0f; });
  const ValueId b =
      has_bias || shifts ? patch.add_constant(base + ".bias", tensor(shift)) : kNoValue;
  Node& n = patch.edit(norm);
  n.inputs[1] = s;
  if (b != kNoValue) {
    n.inputs.resize(3, kNoValue);
    n.inputs[2] = b;
  }
  patch.take_over(norm, follower);
  return true;
}

/// second(first(x)) as one batch_norm.
bool compose(Graph& graph, NodeId first, NodeId second, const Affine& b) {
  const ValueId x = scaled_input(NodeRef(graph, first));
  const auto a = affine_of(NodeRef(graph, first), {});
  if (!a || a->scale.size() != b.scale.size()) return false;
  const std::size_t channels = a->scale.size();
  std::vector<float> scale(channels), zero(channels, 0.0f), one(channels, 1.0f);
  for (std::size_t c = 0; c < channels; ++c) scale[c] = a->scale[c] * b.scale[c];
  Patch patch(graph, fold_label(graph, second, first));
  const std::string base = graph.node(first).name;
  const ValueId inputs[] = {
      x, patch.add_constant(base + ".scale", vector_tensor(scale)),
      patch.add_constant(base + ".shift", vector_tensor(folded_bias(a->shift, b))),
      patch.add_constant(base + ".mean", vector_tensor(zero)),
      patch.add_constant(base + ".variance", vector_tensor(one))};
  Node& n = patch.edit(first);
  n.op = find_op("batch_norm");
  n.attrs = Attributes();
  n.attrs.set("epsilon", 0.0f);
  n.inputs.assign(std::begin(inputs), std::end(inputs));
  patch.infer(first);
  patch.take_over(first, second);
  return true;
}

/// Folds the node `follower` into the producer of what it scales, where that can take it.
bool fold(Graph& graph, NodeId producer, NodeId follower,
          const std::vector<std::vector<NodeId>>& readers) {
  const NodeRef node(graph, follower);
  const Node& p = graph.node(producer);
  const int rank = node.output().shape.rank();
  const auto with = [&](Axes axes, auto f) {
    const auto affine = affine_of(node, axes);
    return affine && f(*affine);
  };
  if (p.op->name == "gemm" || p.op->name == "matmul") {
    const Axes columns{rank - 1, rank};
    return rank > 0 && with(columns, [&](const Affine& affine) {
             return fold_into_product(graph, producer, follower, affine, readers);
           });
  }
  if (p.op->name == "layer_norm" || p.op->name == "instance_norm") {
    Axes axes;
    if (p.op->name == "layer_norm") {
      axes = {static_cast<int>(p.facts.integer("axis", -1)), rank};
    }
    return with(axes, [&](const Affine& affine) {
      return fold_into_norm(graph, producer, follower, axes, affine);
    });
  }
  const bool conv = p.op->name == "conv" || p.op->name == "conv_transpose";
  if (rank < 2 || (!conv && scaled_input(NodeRef(graph, producer)) == kNoValue)) return false;
  return with(Axes(), [&](const Affine& affine) {
    return conv ? fold_into_conv(graph, producer, follower, affine)
                : compose(graph, producer, follower, affine);
  });
}

}  // namespace

bool fold_affine(Graph& graph) {
  bool changed = false;
  auto readers = graph.consumers();
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).removed) continue;
    const ValueId x = scaled_input(NodeRef(graph, id));
    if (x == kNoValue) continue;
    const NodeId producer = graph.value(x).producer;
    if (producer == kNoNode || sole_reader(graph, readers, x) != id ||
        graph.node(producer).outputs[0] != x || !fold(graph, producer, id, readers)) {
      continue;
    }
    changed = true;
    readers = graph.consumers();
  }
  return changed;
}

}  // namespace stowage
