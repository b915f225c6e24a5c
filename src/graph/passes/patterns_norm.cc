// SPDX-License-Identifier: Apache-2.0
// Normalisation that exporters write out in primitives becomes layer_norm (Ba et al., 2016,
// arXiv:1607.06450) over the last axes, or instance_norm (Ulyanov et al., 2016, arXiv:1607.08022)
// over the pixels of every channel:
//
//   d = x - mean(x), v = mean(d^2), y = d / sqrt(v + epsilon)
//
// or y = d * g, or y = x * g + (b - mean(x) * g), with g = 1 / sqrt(v + epsilon) or that times a
// constant. Scales and biases that follow are folded in by fold_affine.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  return std::ranges::equal(graph.value(a).shape.extents(), graph.value(b).shape.extents());
}

bool is_constant(const Graph& graph, ValueId v) {
  return graph.value(v).constant != nullptr && graph.value(v).dtype == DType::f32;
}

/// The nodes of one normalisation, read backwards from its last. Every function reads a fixed
/// number of nodes.
class Primitives {
 public:
  Primitives(const Graph& graph, NodeId root) : graph_(graph), nodes_{root} {}

  ValueId x = kNoValue;
  Ints axes;  ///< sorted
  float epsilon = 0;
  ValueId scale = kNoValue, bias = kNoValue;  ///< constants, where the sum goes with them

  /// Everything but the result of the last node is read inside only.
  bool closed(const std::vector<std::vector<NodeId>>& readers) const {
    constexpr std::size_t kMostReaders = 4;  // no primitive has more
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const ValueId v = graph_.node(nodes_[i]).outputs[0];
      const auto& list = readers[static_cast<std::size_t>(v)];
      if (list.size() > kMostReaders || graph_.is_output(v)) return false;
      for (const NodeId id : list) {
        if (std::ranges::find(nodes_, id) == nodes_.end()) return false;
      }
    }
    return true;
  }

  bool match() {
    const Node& root = graph_.node(nodes_[0]);
    if (root.inputs.size() != 2) return false;
    const ValueId a = root.inputs[0], b = root.inputs[1];
    if (root.op->name == "div") return deviation(b) && centred(a);
    if (root.op->name == "mul") {
      return either_way(
          [&](bool swapped) { return gain(swapped ? a : b) && centred(swapped ? b : a); });
    }
    if (root.op->name == "add") {
      return either_way([&](bool swapped) {
        const Node* rest = take(swapped ? a : b, "sub");
        if (rest == nullptr || !is_constant(graph_, rest->inputs[0])) return false;
        bias = rest->inputs[0];
        return scaled_difference(swapped ? b : a, rest->inputs[1]);
      });
    }
    return root.op->name == "sub" && scaled_difference(a, b);
  }

 private:
  /// Tries both orders of operands, and forgets what the first has found where it fails.
  template <class F>
  bool either_way(F f) {
    const Primitives before = *this;
    if (f(false)) return true;
    nodes_ = before.nodes_;
    x = before.x;
    axes = before.axes;
    scale = before.scale;
    bias = before.bias;
    return f(true);
  }

  /// The node that makes `v`, if it is this operator; then it belongs to the primitives.
  const Node* take(ValueId v, std::string_view op) {
    const NodeId id = graph_.value(v).producer;
    if (id == kNoNode) return nullptr;
    const Node& n = graph_.node(id);
    if (n.op->name != op || !n.posts.empty() || n.outputs[0] != v) return nullptr;
    const std::size_t operands = op == "reduce_mean" || op == "sqrt" || op == "reciprocal" ? 1 : 2;
    if (n.inputs.size() != operands || std::ranges::count(n.inputs, kNoValue) != 0) return nullptr;
    if (std::ranges::find(nodes_, id) == nodes_.end()) nodes_.push_back(id);
    return &n;
  }

  /// `v` is the mean of something over axes that stay as 1.
  std::optional<ValueId> mean(ValueId v, Ints& over) {
    const Node* n = take(v, "reduce_mean");
    if (n == nullptr || n->attrs.integer("keepdims", 1) == 0) return std::nullopt;
    over = n->facts.integers("axes");
    return n->inputs[0];
  }

  /// `v` is the mean of x.
  bool mean_of_x(ValueId v) {
    Ints over;
    const auto of = mean(v, over);
    return of && *of == x && over == axes;
  }

  /// `v` is x - mean(x).
  bool centred(ValueId v) {
    const Node* n = take(v, "sub");
    return n != nullptr && n->inputs[0] == x && mean_of_x(n->inputs[1]);
  }

  /// `v` is the square of something.
  std::optional<ValueId> square(ValueId v) {
    if (const Node* n = take(v, "mul")) {
      return n->inputs[0] == n->inputs[1] ? std::optional(n->inputs[0]) : std::nullopt;
    }
    const Node* n = take(v, "pow");
    if (n == nullptr || scalar_constant(graph_, n->inputs[1], n->inputs[0]) != 2.0f)
      return std::nullopt;
    return n->inputs[0];
  }

  /// `v` is variance(x) + epsilon: here x and the axes become known.
  bool variance(ValueId v) {
    const Node* sum = take(v, "add");
    if (sum == nullptr) return false;
    for (const std::size_t k : {1, 0}) {
      const auto e = scalar_constant(graph_, sum->inputs[k], sum->inputs[1 - k]);
      if (!e) continue;
      epsilon = *e;
      const auto squares = mean(sum->inputs[1 - k], axes);
      const auto root = squares ? square(*squares) : std::nullopt;
      const Node* difference = root ? take(*root, "sub") : nullptr;
      if (difference == nullptr) return false;
      x = difference->inputs[0];
      return mean_of_x(difference->inputs[1]);
    }
    return false;
  }

  /// `v` is (variance + epsilon)^exponent.
  bool power(ValueId v, float exponent) {
    const Node* n = take(v, "pow");
    return n != nullptr && scalar_constant(graph_, n->inputs[1], n->inputs[0]) == exponent &&
           variance(n->inputs[0]);
  }

  bool deviation(ValueId v) {
    if (const Node* n = take(v, "sqrt")) return variance(n->inputs[0]);
    return power(v, 0.5f);
  }

  /// `v` is 1 / sqrt(variance + epsilon).
  bool inverse_deviation(ValueId v) {
    if (const Node* n = take(v, "reciprocal")) return deviation(n->inputs[0]);
    if (const Node* n = take(v, "div")) {
      return scalar_constant(graph_, n->inputs[0], n->inputs[1]) == 1.0f && deviation(n->inputs[1]);
    }
    return power(v, -0.5f);
  }

  /// `v` is that, perhaps times a constant.
  bool gain(ValueId v) {
    if (const Node* n = take(v, "mul")) {
      for (const std::size_t k : {1, 0}) {
        if (!is_constant(graph_, n->inputs[k])) continue;
        scale = n->inputs[k];
        return inverse_deviation(n->inputs[1 - k]);
      }
      return false;
    }
    return inverse_deviation(v);
  }

  /// x * g and mean(x) * g
  bool scaled_difference(ValueId of_x, ValueId of_mean) {
    const Node* left = take(of_x, "mul");
    const Node* right = take(of_mean, "mul");
    if (left == nullptr || right == nullptr) return false;
    for (const std::size_t k : {1, 0}) {
      for (const std::size_t j : {1, 0}) {
        const ValueId g = left->inputs[k];
        if (g != right->inputs[j] || g == left->inputs[1 - k]) continue;
        return gain(g) && left->inputs[1 - k] == x && mean_of_x(right->inputs[1 - j]);
      }
    }
    return false;
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;  ///< the last one first
};

/// The constants that scale or shift `v` in the one or two nodes that follow.
std::vector<ValueId> constants_after(const Graph& graph,
                                     const std::vector<std::vector<NodeId>>& readers, ValueId v) {
  std::vector<ValueId> list;
  for (int step = 0; step < 2; ++step) {
    const NodeId id = sole_reader(graph, readers, v);
    if (id == kNoNode) break;
    const Node& n = graph.node(id);
    const bool affine =
        n.op->name == "mul" || n.op->name == "add" || n.op->name == "sub" || n.op->name == "div";
    if (!affine || n.inputs.size() != 2) break;
    const ValueId other = n.inputs[n.inputs[0] == v ? 1 : 0];
    if (other == kNoValue || graph.value(other).constant == nullptr) break;
    list.push_back(other);
    v = n.outputs[0];
  }
  return list;
}

Tensor filled(const Shape& shape, int first, int last, float value) {
  Tensor one(DType::f32, Shape());
  one.as<float>()[0] = value;
  return stretched(one, shape, first, last);
}

/// The operator that normalises over these axes, and the axes over which its scale stretches.
struct Normaliser {
  std::string_view op;
  int first, last;
};

/// Where both operators would do, scale and bias decide, else the rank: sentences or images.
std::optional<Normaliser> normaliser_of(const Graph& graph, const Primitives& p,
                                        const std::vector<ValueId>& constants) {
  const Shape& shape = graph.value(p.x).shape;
  const int rank = shape.rank();
  if (p.axes.empty()) return std::nullopt;
  const auto first = static_cast<int>(p.axes[0]);
  // The axes are sorted and all different: those up to the last one.
  if (p.axes.back() != rank - 1 || std::ssize(p.axes) != rank - first) return std::nullopt;
  const Normaliser layer{"layer_norm", first, rank}, instance{"instance_norm", 1, 2};
  if (rank < 3 || first != 2) return layer;
  for (const ValueId v : constants) {
    const Shape& c = graph.value(v).shape;
    const bool channels = stretches_over(c, shape, 1, 2),
               last = stretches_over(c, shape, first, rank);
    if (channels != last) return channels ? instance : layer;
  }
  return rank == 3 ? layer : instance;
}

}  // namespace

bool recognise_norms(Graph& graph) {
  bool changed = false;
  const auto readers = graph.consumers();
  for (const NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (n.removed || !n.posts.empty()) continue;
    const ValueId y = n.outputs[0];
    if (y == kNoValue || graph.value(y).dtype != DType::f32) continue;
    Primitives p(graph, id);
    if (!p.match() || !p.closed(readers) || !same_shape(graph, p.x, y)) continue;
    std::vector<ValueId> constants = constants_after(graph, readers, y);
    for (const ValueId v : {p.bias, p.scale}) {
      if (v != kNoValue) constants.insert(constants.begin(), v);
    }
    const auto normaliser = normaliser_of(graph, p, constants);
    const Shape shape = graph.value(p.x).shape;
    if (!normaliser) continue;
    // Not a structured binding: clang before 16 has none in lambdas.
    const std::string_view op = normaliser->op;
    const int first = normaliser->first, last = normaliser->last;
    const auto fits = [&](ValueId v) {
      return v == kNoValue || stretches_over(graph.value(v).shape, shape, first, last);
    };
    if (!fits(p.scale) || !fits(p.bias) || !may_stretch(shape, first, last)) continue;
    const auto parameter = [&](ValueId v, float otherwise) {
      return v == kNoValue ? filled(shape, first, last, otherwise)
                           : stretched(*graph.value(v).constant, shape, first, last);
    };
    Patch patch(graph, text("'", n.name, "' (", n.op->name, ") with what it reads is ", op));
    const std::string base = n.name;
    std::vector<ValueId> inputs = {p.x,
                                   patch.add_constant(base + ".scale", parameter(p.scale, 1.0f))};
    if (op == "instance_norm" || p.bias != kNoValue) {
      inputs.push_back(patch.add_constant(base + ".bias", parameter(p.bias, 0.0f)));
    }
    Node& into = patch.edit(id);
    into.op = find_op(op);
    into.type.clear();
    into.attrs = Attributes();
    into.attrs.set("epsilon", p.epsilon);
    if (op == "layer_norm") into.attrs.set("axis", std::int64_t{first});
    into.inputs = std::move(inputs);
    patch.infer(id);
    changed = true;
  }
  return changed;
}

}  // namespace stowage
