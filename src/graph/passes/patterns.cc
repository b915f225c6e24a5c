// SPDX-License-Identifier: Apache-2.0
// Functions that exporters write out in primitives become the operator that they are: SiLU,
// HardSigmoid, HardSwish, Mish, and GELU by erf or tanh (Hendrycks and Gimpel, 2016,
// arXiv:1606.08415). A product is recognised whatever the order and grouping of its factors.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// Constants are rounded, some to half precision.
bool near(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::fabs(b); }

/// Steps that are followed backwards. No function has more, and a file may chain any number.
constexpr int kMostSteps = 6;

/// x * scale + shift
struct Linear {
  ValueId x = kNoValue;
  double scale = 1, shift = 0;
};

/// Reads a graph backwards from a node; what it passes is read by nobody else.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), readers_(graph.consumers()) {}

  /// The node that makes the value, if it is this operator.
  const Node* made_by(ValueId v, std::string_view op) const {
    const NodeId producer = graph_.value(v).producer;
    if (producer == kNoNode) return nullptr;
    const Node& n = graph_.node(producer);
    return n.op->name == op && n.posts.empty() ? &n : nullptr;
  }

  /// Likewise, for a value that goes with the pattern.
  const Node* inner(ValueId v, std::string_view op) const {
    return sole_reader(graph_, readers_, v) == kNoNode ? nullptr : made_by(v, op);
  }

  /// A constant of one f32 element that stretches no shape beyond the rank of `like`.
  std::optional<double> scalar(ValueId v, ValueId like) const {
    const auto c = scalar_constant(graph_, v, like);
    return c ? std::optional(static_cast<double>(*c)) : std::nullopt;
  }

  /// The value as a chain of additions and products with scalars over another value.
  Linear linear(ValueId v) const {
    Linear l{v, 1, 0};
    for (int step = 0; step < kMostSteps; ++step) {
      const auto [n, other, c] = scalar_step(l.x);
      if (n == nullptr) break;
      if (n->op->name == "mul" || n->op->name == "div") {
        l.scale *= n->op->name == "mul" ? c : 1 / c;
      } else {
        l.shift += l.scale * (n->op->name == "add" ? c : -c);
      }
      l.x = other;
    }
    return l;
  }

  /// The factors of a product, with scalars gathered.
  struct Product {
    double scale = 1;
    std::vector<ValueId> factors;
  };

  Product product(ValueId v, int depth = 0) const {
    Product p;
    if (depth == kMostSteps) {
      p.factors = {v};
      return p;
    }
    const Node* mul = depth == 0 ? made_by(v, "mul") : inner(v, "mul");
    const Node* div = depth == 0 ? made_by(v, "div") : inner(v, "div");
    if (mul != nullptr) {
      for (const ValueId in : mul->inputs) {
        const auto c = scalar(in, v);
        if (c) {
          p.scale *= *c;
          continue;
        }
        const Product part = product(in, depth + 1);
        p.scale *= part.scale;
        p.factors.insert(p.factors.end(), part.factors.begin(), part.factors.end());
      }
      return p;
    }
    if (div != nullptr) {
      if (const auto c = scalar(div->inputs[1], v)) {
        p = product(div->inputs[0], depth + 1);
        p.scale /= *c;
        return p;
      }
    }
    p.factors = {v};
    return p;
  }

  bool is_f32(ValueId v) const { return graph_.value(v).dtype == DType::f32; }

 private:
  struct Step {
    const Node* node;
    ValueId other;
    double scalar;
  };

  /// An inner addition, subtraction, product or quotient with a scalar.
  Step scalar_step(ValueId v) const {
    for (const char* op : {"add", "mul", "sub", "div"}) {
      const Node* n = inner(v, op);
      if (n == nullptr || n->inputs.size() != 2) continue;
      if (const auto c = scalar(n->inputs[1], v)) return {n, n->inputs[0], *c};
      const bool commutes = std::string_view(op) == "add" || std::string_view(op) == "mul";
      if (!commutes) continue;
      if (const auto c = scalar(n->inputs[0], v)) return {n, n->inputs[1], *c};
    }
    return {nullptr, kNoValue, 0};
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
};

struct Found {
  std::string_view op;
  ValueId x = kNoValue;
  Attributes attrs;
};

/// `v` is min(max(x + 3, 0), 6); its x.
std::optional<ValueId> relu6_of_x_plus_3(const Matcher& m, const Graph& graph, ValueId v) {
  const Node* clip = m.inner(v, "clip");
  if (clip == nullptr) return std::nullopt;
  const auto post = clip->op->post(NodeRef(graph, graph.value(v).producer), 0);
  if (!post || post->activation.a != 0.0f || post->activation.b != 6.0f) return std::nullopt;
  const Linear l = m.linear(clip->inputs[0]);
  if (l.scale != 1 || !near(l.shift, 3)) return std::nullopt;
  return l.x;
}

/// `v` is 1 + erf(x / sqrt(2)); its x.
std::optional<ValueId> one_plus_erf(const Matcher& m, ValueId v) {
  const Linear outer = m.linear(v);
  const Node* erf = m.inner(outer.x, "erf");
  if (erf == nullptr || outer.scale != 1 || outer.shift != 1) return std::nullopt;
  const Linear arg = m.linear(erf->inputs[0]);
  if (!near(arg.scale, 1 / std::sqrt(2.0)) || arg.shift != 0) return std::nullopt;
  return arg.x;
}

/// `v` is x * x * x, as products or a power; its x.
std::optional<ValueId> cube(const Matcher& m, ValueId v) {
  if (const Node* pow = m.inner(v, "pow")) {
    const auto exponent = m.scalar(pow->inputs[1], v);
    if (exponent && *exponent == 3) return pow->inputs[0];
    return std::nullopt;
  }
  const Matcher::Product p = m.product(v, 1);
  const bool same = p.factors.size() == 3 && p.factors[0] == p.factors[1] &&
                    p.factors[0] == p.factors[2] && p.scale == 1;
  return same ? std::optional(p.factors[0]) : std::nullopt;
}

/// `v` is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)); its x.
std::optional<ValueId> one_plus_tanh(const Matcher& m, ValueId v) {
  const Linear outer = m.linear(v);
  const Node* tanh = m.inner(outer.x, "tanh");
  if (tanh == nullptr || outer.scale != 1 || outer.shift != 1) return std::nullopt;
  const Linear arg = m.linear(tanh->inputs[0]);
  const Node* sum = m.inner(arg.x, "add");
  if (sum == nullptr || !near(arg.scale, std::sqrt(2 / std::acos(-1.0))) || arg.shift != 0) {
    return std::nullopt;
  }
  for (const int i : {0, 1}) {
    const ValueId x = sum->inputs[static_cast<std::size_t>(i)];
    const Linear term = m.linear(sum->inputs[static_cast<std::size_t>(1 - i)]);
    if (!near(term.scale, 0.044715) || term.shift != 0) continue;
    const auto base = cube(m, term.x);
    if (base && *base == x) return x;
  }
  return std::nullopt;
}

std::optional<Found> product_of_two(const Matcher& m, const Graph& graph, double scale, ValueId x,
                                    ValueId gate) {
  if (scale == 1) {
    const Node* sigmoid = m.inner(gate, "sigmoid");
    if (sigmoid != nullptr && sigmoid->inputs[0] == x) return Found{"swish", x, {}};
    const Node* hard = m.inner(gate, "hard_sigmoid");
    if (hard != nullptr && hard->inputs[0] == x &&
        near(static_cast<double>(hard->attrs.real("alpha", 0.2f)), 1.0 / 6) &&
        hard->attrs.real("beta", 0.5f) == 0.5f) {
      return Found{"hard_swish", x, {}};
    }
    const Node* tanh = m.inner(gate, "tanh");
    const Node* softplus = tanh == nullptr ? nullptr : m.inner(tanh->inputs[0], "softplus");
    if (softplus != nullptr && softplus->inputs[0] == x) return Found{"mish", x, {}};
  }
  if (near(scale, 1.0 / 6) && relu6_of_x_plus_3(m, graph, gate) == x) {
    return Found{"hard_swish", x, {}};
  }
  if (near(scale, 0.5)) {
    if (one_plus_erf(m, gate) == x) return Found{"gelu", x, {}};
    if (one_plus_tanh(m, gate) == x) {
      Found f{"gelu", x, {}};
      f.attrs.set("approximate", std::string("tanh"));
      return f;
    }
  }
  return std::nullopt;
}

std::optional<Found> recognise(const Matcher& m, const Graph& graph, ValueId v) {
  const Matcher::Product p = m.product(v);
  if (p.factors.size() == 2) {
    if (auto f = product_of_two(m, graph, p.scale, p.factors[0], p.factors[1])) return f;
    return product_of_two(m, graph, p.scale, p.factors[1], p.factors[0]);
  }
  if (p.factors.size() == 1 && near(p.scale, 1.0 / 6) && p.factors[0] != v) {
    if (const auto x = relu6_of_x_plus_3(m, graph, p.factors[0])) {
      Found f{"hard_sigmoid", *x, {}};
      f.attrs.set("alpha", 1.0f / 6);
      f.attrs.set("beta", 0.5f);
      return f;
    }
  }
  return std::nullopt;
}

}  // namespace

bool recognise_functions(Graph& graph) {
  bool changed = false;
  // What is changed below has fewer readers than this knows of; the next round sees that.
  const Matcher matcher(graph);
  // Backwards, so that a whole function is seen before its parts.
  const auto order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& n = graph.node(*it);
    if (n.removed || (n.op->name != "mul" && n.op->name != "div") || !n.posts.empty()) continue;
    const ValueId v = n.outputs[0];
    if (!matcher.is_f32(v)) continue;
    auto found = recognise(matcher, graph, v);
    if (!found || !std::ranges::equal(graph.value(found->x).shape.extents(),
                                      graph.value(v).shape.extents())) {
      continue;
    }
    Patch patch(graph,
                text("'", n.name, "' (", n.op->name, ") with what it multiplies is ", found->op));
    Node& into = patch.edit(*it);
    into.op = find_op(found->op);
    into.type.clear();
    into.inputs = {found->x};
    into.attrs = std::move(found->attrs);
    patch.infer(*it);
    changed = true;
  }
  return changed;
}

}  // namespace stowage
