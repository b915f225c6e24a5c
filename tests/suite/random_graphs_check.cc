// SPDX-License-Identifier: Apache-2.0
// The oracle, the comparison with planned runs, and what is told of a failure.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/index.h"
#include "base/text.h"
#include "plan/plan.h"
#include "tests/suite/random_graphs.h"

namespace stowage::random_graphs {

namespace {

TensorView absent() { return {DType::f32, Mapping(Layout(), Shape(), 4), nullptr}; }

/// Values of a graph by id; null where nothing is known.
using Values = std::vector<std::shared_ptr<const Tensor>>;

Values all_values(const Graph& graph, const std::vector<Tensor>& inputs) {
  Values values(idx(graph.value_count()));
  for (ValueId v(0); v < graph.value_count(); ++v) values[idx(v)] = graph.value(v).constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[idx(graph.inputs[i])] = std::make_shared<const Tensor>(inputs[i]);
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    std::vector<const Tensor*> in;
    std::vector<bool> known;
    for (const ValueId v : n.inputs) {
      in.push_back(v == kNoValue ? nullptr : values[idx(v)].get());
      known.push_back(v != kNoValue && graph.value(v).constant != nullptr);
    }
    std::vector<Tensor> out = evaluate(n, in, known);
    for (std::size_t o = 0; o < out.size(); ++o) {
      values[idx(n.outputs[o])] = std::make_shared<const Tensor>(std::move(out[o]));
    }
  }
  return values;
}

bool next_index(const Shape& shape, std::vector<std::int64_t>& x) {
  for (int i = shape.rank(); i-- > 0;) {
    if (++x[idx(i)] < shape[i]) return true;
    x[idx(i)] = 0;
  }
  return false;
}

/// Elements between row-major order and the cells of a mapping over the same extents.
template <class Move>
void for_elements(const Mapping& mapping, const Move& move) {
  std::vector<std::int64_t> x(idx(mapping.shape().rank()) + 1);
  std::size_t k = 0;
  do {
    move(k++, idx(mapping.offset(x)));
  } while (next_index(mapping.shape(), x));
}

std::string place(const Shape& shape, std::size_t element) {
  Ints at(idx(shape.rank()));
  for (int i = shape.rank(); i-- > 0;) {
    at[idx(i)] = static_cast<std::int64_t>(element) % shape[i];
    element /= idx(shape[i]);
  }
  return text(std::span<const std::int64_t>(at));
}

std::string number(double x) {
  char out[40];
  std::snprintf(out, sizeof out, "%.9g", x);
  return out;
}

std::string differs(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype() ||
      !std::ranges::equal(got.shape().extents(), want.shape().extents())) {
    return text("it is ", dtype_name(got.dtype()), " ", got.shape().extents(), ", not ",
                dtype_name(want.dtype()), " ", want.shape().extents());
  }
  if (want.dtype() != DType::f32) {
    const auto size = idx(dtype_bytes(want.dtype()));
    for (std::size_t i = 0; i < want.bytes(); ++i) {
      if (got.data()[i] != want.data()[i]) {
        return text("element ", place(want.shape(), i / size), " differs");
      }
    }
    return "";
  }
  const auto a = got.as<float>(), b = want.as<float>();
  double most = 0, worst = -1;
  for (const float x : b) most = std::max(most, std::abs(static_cast<double>(x)));
  std::size_t at = 0, wrong = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double gap = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (gap <= kTolerance * most) continue;
    ++wrong;
    const double size = std::isfinite(gap) ? gap : HUGE_VAL;
    if (size > worst) {
      worst = size;
      at = i;
    }
  }
  if (wrong == 0) return "";
  return text(wrong, " of ", b.size(), " elements are off, most of all ", place(want.shape(), at),
              ": ", number(static_cast<double>(a[at])), ", not ",
              number(static_cast<double>(b[at])), "; the largest magnitude is ", number(most));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Draws layouts; nothing else may depend on them.
class LayoutDraw {
 public:
  explicit LayoutDraw(std::uint64_t seed) : seeded_(seed != 0), random_(seed) {}

  Layout of(const Shape& shape) {
    const Layout plain = Layout::row_major(shape);
    if (!seeded_ || below(3) == 0 || shape.rank() == 0) return plain;
    std::vector<Axis> axes(shape.axes().begin(), shape.axes().end());
    switch (below(5)) {
      case 0:  // any order
        for (std::size_t i = axes.size(); i-- > 1;) std::swap(axes[i], axes[below(i + 1)]);
        return Layout::row_major(axes);
      case 1:  // axis 1 last: n h w c
        if (axes.size() > 2) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
        return Layout::row_major(axes);
      case 2: {  // planes with a gap behind them
        if (axes.size() < 2) return plain;
        std::string s;
        for (std::size_t i = 0; i + 2 < axes.size(); ++i) s += text(axes[i].name(), " ");
        return Layout::parse(
            text(s, "(", axes[axes.size() - 2].name(), " ", axes.back().name(), ")~16B"));
      }
      default: {
        const int axis =
            shape.rank() < 2 || below(4) == 0 ? static_cast<int>(below(idx(shape.rank()))) : 1;
        static constexpr int kBlocks[] = {4, 8, 16, 3};
        return Layout::blocked(shape, axis, kBlocks[below(4)]);
      }
    }
  }

  /// How the caller names the axes of a view: as the port does, in another order, or otherwise, so
  /// that they are matched by position.
  enum class Names { same, another_order, other };

  Names names() {
    if (!seeded_ || below(2) == 0) return Names::same;
    return below(2) == 0 ? Names::another_order : Names::other;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  bool seeded_;
  std::mt19937_64 random_;
};

/// The same bytes under other names or another order of axes.
Mapping mapping_of(const Tensor& t, LayoutDraw::Names names) {
  std::vector<Axis> axes(t.shape().axes().begin(), t.shape().axes().end());
  Ints extents(t.shape().extents().begin(), t.shape().extents().end());
  const int size = t.mapping().element_bytes();
  if (names == LayoutDraw::Names::another_order) {
    std::ranges::reverse(axes);
    std::ranges::reverse(extents);
    const Shape reversed(axes, extents);
    // a, b, c, ... would be matched by position.
    return reversed.is_unnamed() ? t.mapping() : Mapping(t.layout(), reversed, size);
  }
  if (names == LayoutDraw::Names::other) {
    std::vector<Axis> others;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      others.emplace_back(std::string_view("pqrstuvx").substr(i, 1));
    }
    return {t.layout().renamed(axes, others), Shape(others, extents), size};
  }
  return t.mapping();
}

/// A session and how the caller lays out what it gives and takes.
class Run {
 public:
  Run(std::shared_ptr<const Plan> plan, const Case& c)
      : session_(std::move(plan)), draw_(c.layout_seed) {
    for (const Port& port : session_.inputs()) in_.push_back(draw_.of(port.shape));
    for (const Port& port : session_.outputs()) out_.push_back(draw_.of(port.shape));
    in_names_ = draw_.names();
    out_names_ = draw_.names();
  }

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Port& port = session_.inputs()[i];
      Tensor given(port.dtype, port.shape, in_[i]);
      const auto size = idx(dtype_bytes(port.dtype));
      for_elements(given.mapping(), [&](std::size_t k, std::size_t cell) {
        std::memcpy(given.data() + cell * size, inputs[i].data() + k * size, size);
      });
      session_.set_input(static_cast<int>(i),
                         {port.dtype, mapping_of(given, in_names_), given.data()});
    }
    session_.run();
    return outputs();
  }

  /// With the inputs that it has.
  std::vector<Tensor> again() {
    session_.run();
    return outputs();
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> out;
    for (std::size_t o = 0; o < out_.size(); ++o) {
      const Port& port = session_.outputs()[o];
      Tensor taken(port.dtype, port.shape, out_[o]);
      session_.read_output(static_cast<int>(o),
                           {port.dtype, mapping_of(taken, out_names_), taken.data()});
      Tensor plain(port.dtype, port.shape);
      const auto size = idx(dtype_bytes(port.dtype));
      for_elements(taken.mapping(), [&](std::size_t k, std::size_t cell) {
        std::memcpy(plain.data() + k * size, taken.data() + cell * size, size);
      });
      out.push_back(std::move(plain));
    }
    return out;
  }

 private:
  Session session_;
  LayoutDraw draw_;
  std::vector<Layout> in_, out_;
  LayoutDraw::Names in_names_, out_names_;
};

std::shared_ptr<const Plan> plan_of(const Case& c) {
  auto graph = std::make_shared<Graph>(c.graph);
  PlanOptions options = c.options;
  options.simplify = c.simplified;
  if (c.simplified) {
    simplify(*graph);
  } else {
    infer_shapes(*graph);
    name_axes(*graph);
  }
  // Those of the views, or others: what the caller promised binds nobody.
  LayoutDraw draw(c.layout_seed + c.layout_seed % 2);
  for (const auto* list : {&graph->inputs, &graph->outputs}) {
    for (const ValueId v : *list) {
      const Layout layout = draw.of(graph->value(v).shape);
      if (c.layout_seed != 0) options.layouts.insert_or_assign(graph->value(v).name, layout);
    }
  }
  return make_plan(std::move(graph), options);
}

std::string compare(const Graph& graph, const std::vector<Tensor>& got,
                    const std::vector<Tensor>& want, std::string_view when) {
  for (std::size_t o = 0; o < want.size(); ++o) {
    const std::string why = differs(got[o], want[o]);
    if (!why.empty()) {
      return text("output '", graph.value(graph.outputs[o]).name, "' ", when, ": ", why);
    }
  }
  return "";
}

std::string equal(const Graph& graph, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                  std::string_view what) {
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (!same_bits(a[o], b[o])) {
      return text("output '", graph.value(graph.outputs[o]).name, "' ", what);
    }
  }
  return "";
}

/// f32 inputs of NaN; others stay.
std::vector<Tensor> all_nan(std::vector<Tensor> inputs) {
  for (Tensor& t : inputs) {
    if (t.dtype() == DType::f32) std::ranges::fill(t.as<float>(), NAN);
  }
  return inputs;
}

std::string check_runs(const Case& c) {
  const auto plan = plan_of(c);
  Run first(plan, c), second(plan, c);
  const auto want_a = oracle(c.graph, c.inputs[0]), want_b = oracle(c.graph, c.inputs[1]);
  const auto a = first(c.inputs[0]);
  std::string why = compare(c.graph, a, want_a, "of the first run");
  if (!why.empty()) return why;
  const auto b = first(c.inputs[1]);
  why = compare(c.graph, b, want_b, "of a run with other inputs");
  if (!why.empty()) return why;
  const std::vector<std::byte> bytes = plan_bytes(*plan);
  const auto read = read_plan(bytes);
  if (plan_bytes(*read) != bytes) return "the plan has other bytes when it was read from bytes";
  Run third(read, c);
  why = equal(c.graph, third(c.inputs[1]), b, "has other bits with the plan read from its bytes");
  if (!why.empty()) return why;
  why = check_tails(*plan, c.inputs[0]);
  if (!why.empty()) return why;
  // What a run over NaN leaves in tails, gaps and scratch must not be seen by the next.
  second(all_nan(c.inputs[0]));
  const auto again = second(c.inputs[0]);
  why = equal(c.graph, again, a, "has other bits in a second session, behind a run over NaN");
  if (!why.empty()) return why;
  why = equal(c.graph, first.outputs(), b, "changed while another session ran");
  if (!why.empty()) return why;
  why = equal(c.graph, first.again(), b, "has other bits in another run over the same inputs");
  if (!why.empty()) return why;
  why = equal(c.graph, first(c.inputs[0]), a, "has other bits when inputs return");
  if (!why.empty()) return why;
  return check_bound(plan, c.inputs, {a, b});
}

}  // namespace

std::vector<Tensor> evaluate(const Node& node, const std::vector<const Tensor*>& inputs,
                             const std::vector<bool>& known) {
  Graph graph;
  Node n = node;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      n.inputs[i] = kNoValue;
    } else if (known[i]) {
      n.inputs[i] = graph.add_constant(text("in", i), *inputs[i]);
    } else {
      Value v;
      v.name = text("in", i);
      v.dtype = inputs[i]->dtype();
      v.shape = inputs[i]->shape();
      n.inputs[i] = graph.add_value(std::move(v));
      graph.inputs.push_back(n.inputs[i]);
    }
  }
  const std::vector<ValueId> given = n.inputs;
  for (ValueId& v : n.outputs) {
    Value value;
    value.name = "out";
    v = graph.add_value(std::move(value));
    graph.outputs.push_back(v);
  }
  const InferRef ref(graph, graph.add_node(std::move(n)));
  ref.node().op->infer(ref);
  std::vector<TensorView> in;
  std::vector<MutableTensorView> out;
  for (const ValueId v : ref.node().inputs) {
    // infer may have dropped inputs and replaced constants.
    const auto at = std::ranges::find(given, v) - given.begin();
    if (v == kNoValue) {
      in.push_back(absent());
    } else if (graph.value(v).constant != nullptr) {
      in.push_back(graph.value(v).constant->view());
    } else {
      in.push_back(inputs[idx(at)]->view());
    }
  }
  std::vector<Tensor> results;
  for (const ValueId v : ref.node().outputs) {
    results.emplace_back(graph.value(v).dtype, graph.value(v).shape);
  }
  for (Tensor& t : results) out.push_back(t.mutable_view());
  run_reference(ref, in, out);
  return results;
}

std::vector<Tensor> oracle(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Values values = all_values(graph, inputs);
  std::vector<Tensor> out;
  for (const ValueId v : graph.outputs) out.push_back(*values[idx(v)]);
  return out;
}

std::string check(const Case& c) {
  try {
    return check_runs(c);
  } catch (const std::exception& e) {
    return text("it fails: ", e.what());
  }
}

namespace {

/// Nodes that no output needs leave, then inputs that nobody reads.
void drop_unread(Case& c) {
  Graph& graph = c.graph;
  for (bool changed = true; changed;) {
    changed = false;
    const auto readers = graph.consumers();
    for (NodeId id(0); id < graph.node_count(); ++id) {
      Node& n = graph.node(id);
      const bool needed = std::ranges::any_of(
          n.outputs, [&](ValueId v) { return graph.is_output(v) || !readers[idx(v)].empty(); });
      if (n.removed || needed) continue;
      n.removed = changed = true;
      for (const ValueId v : n.outputs) graph.value(v).producer = kNoNode;
    }
  }
  const auto readers = graph.consumers();
  for (std::size_t i = graph.inputs.size(); i-- > 0;) {
    const ValueId v = graph.inputs[i];
    if (!readers[idx(v)].empty() || graph.is_output(v) || graph.inputs.size() == 1) continue;
    graph.inputs.erase(graph.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& set : c.inputs) set.erase(set.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// The node leaves; its outputs become model inputs that hold what it computed.
Case without_node(const Case& c, NodeId id) {
  Case out = c;
  std::vector<Values> values;
  for (const auto& set : c.inputs) values.push_back(all_values(c.graph, set));
  out.graph.node(id).removed = true;
  for (const ValueId v : c.graph.node(id).outputs) {
    Value& value = out.graph.value(v);
    value.producer = kNoNode;
    value.dtype = values[0][idx(v)]->dtype();
    value.shape = values[0][idx(v)]->shape();
    out.graph.inputs.push_back(v);
    for (std::size_t s = 0; s < values.size(); ++s) out.inputs[s].push_back(*values[s][idx(v)]);
  }
  drop_unread(out);
  return out;
}

/// Takes the smaller case when it fails as well.
bool take(Case& c, Case smaller) {
  if (check(smaller).empty()) return false;
  c = std::move(smaller);
  return true;
}

bool shrink_once(Case& c) {
  for (std::size_t o = c.graph.outputs.size(); o-- > 0 && c.graph.outputs.size() > 1;) {
    Case smaller = c;
    smaller.graph.outputs.erase(smaller.graph.outputs.begin() + static_cast<std::ptrdiff_t>(o));
    drop_unread(smaller);
    if (take(c, std::move(smaller))) return true;
  }
  for (const NodeId id : c.graph.topological_order()) {
    const bool result = std::ranges::any_of(c.graph.node(id).outputs,
                                            [&](ValueId v) { return c.graph.is_output(v); });
    if (!result && take(c, without_node(c, id))) return true;
  }
  // The last node leaves, what it read becomes the output.
  for (const NodeId id : c.graph.topological_order()) {
    const auto readers = c.graph.consumers();
    const Node& n = c.graph.node(id);
    const bool last =
        std::ranges::all_of(n.outputs, [&](ValueId v) { return readers[idx(v)].empty(); });
    if (!last) continue;
    Case smaller = c;
    std::erase_if(smaller.graph.outputs,
                  [&](ValueId v) { return std::ranges::find(n.outputs, v) != n.outputs.end(); });
    for (const ValueId v : n.inputs) {
      if (v != kNoValue && c.graph.value(v).producer != kNoNode && !smaller.graph.is_output(v)) {
        smaller.graph.outputs.push_back(v);
      }
    }
    if (smaller.graph.outputs.empty()) continue;
    drop_unread(smaller);
    if (take(c, std::move(smaller))) return true;
  }
  return false;
}

std::string attribute_text(const Attribute& a) {
  if (const auto* v = std::get_if<std::int64_t>(&a)) return text(*v);
  if (const auto* v = std::get_if<float>(&a)) return number(static_cast<double>(*v));
  if (const auto* v = std::get_if<std::string>(&a)) return *v;
  if (const auto* v = std::get_if<Ints>(&a)) return text(std::span<const std::int64_t>(*v));
  if (const auto* v = std::get_if<Floats>(&a)) {
    std::string out = "[";
    for (const float x : *v)
      out += text(out.size() > 1 ? ", " : "", number(static_cast<double>(x)));
    return out + "]";
  }
  return "...";
}

std::string graph_text(const Case& c) {
  const Graph& graph = c.graph;
  const Values values = all_values(graph, c.inputs[0]);
  const auto value = [&](ValueId v) -> std::string {
    if (v == kNoValue) return "-";
    const Tensor& t = *values[idx(v)];
    std::string out = text(graph.value(v).name, " ");
    if (t.dtype() != DType::f32) out += text(dtype_name(t.dtype()), " ");
    if (graph.value(v).constant != nullptr && t.dtype() == DType::i64 && t.shape().rank() == 1) {
      return out + "= " + text(t.as<std::int64_t>());
    }
    return out + text(t.shape().extents());
  };
  std::string out;
  for (const NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    out += "  ";
    for (std::size_t o = 0; o < n.outputs.size(); ++o)
      out += text(o > 0 ? ", " : "", value(n.outputs[o]));
    out += text(" = ", n.op->name, "(");
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      out += text(i > 0 ? ", " : "", value(n.inputs[i]));
    out += ")";
    for (const auto& [name, a] : n.attrs.map()) out += text(" ", name, "=", attribute_text(a));
    out += "\n";
  }
  out += "  outputs:";
  for (const ValueId v : graph.outputs) out += " " + graph.value(v).name;
  static constexpr std::string_view kPlanners[] = {"optimal", "rule", "source"};
  out += text("\n  planner ", kPlanners[idx(static_cast<int>(c.options.planner))], ", threads ",
              c.options.threads, c.simplified ? "" : ", not simplified",
              c.layout_seed == 0 ? "" : ", layouts at inputs and outputs drawn", "\n");
  return out;
}

}  // namespace

Case shrink(Case c) {
  drop_unread(c);
  for (int round = 0; round < 200 && shrink_once(c); ++round) {
  }
  const auto plainer = [&](auto change) {
    Case smaller = c;
    change(smaller);
    take(c, std::move(smaller));
  };
  plainer([](Case& s) { s.options.threads = 1; });
  plainer([](Case& s) { s.layout_seed = 0; });
  plainer([](Case& s) { s.simplified = false; });
  plainer([](Case& s) { s.options.planner = PlanOptions::Planner::optimal; });
  return c;
}

std::string describe(const Case& c) {
  std::string out = graph_text(c);
  try {
    const auto plan = plan_of(c);
    for (const std::string& line : plan->history) out += text("  simplify: ", line, "\n");
    out += explain(*plan);
  } catch (const std::exception& e) {
    out += text("  no plan: ", e.what(), "\n");
  }
  return out;
}

std::string run_seed(std::uint64_t seed) {
  Case c;
  try {
    c = make_case(seed);
  } catch (const Error& e) {
    return text("seed ", seed, ": a valid node is refused: ", e.what());
  }
  const std::string why = check(c);
  if (why.empty()) return "";
  const Case small = shrink(c);
  return text("seed ", seed, ": ", why, "\n", graph_text(c), "shrunk: ", check(small), "\n",
              describe(small));
}

}  // namespace stowage::random_graphs
