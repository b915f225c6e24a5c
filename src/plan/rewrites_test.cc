// SPDX-License-Identifier: Apache-2.0
// What MACE does by rewriting axis arguments, and what its fixed operators do: the same small
// model, built as an NCHW framework writes it and as an NHWC framework does, must give the same
// result in the same steps, and the operator must run in whatever layout its neighbours have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "plan/plan.h"
#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

Attributes attributes(std::initializer_list<std::pair<std::string_view, Attribute>> list) {
  Attributes a;
  for (const auto& [name, value] : list) a.set(std::string(name), value);
  return a;
}

/// One of the two models. Cases are written over axis names; it puts them in its order, and writes
/// operators that are defined on n c h w between transposes when its order is n h w c.
class Model {
 public:
  explicit Model(bool channels_last) : last_(channels_last), inference_(net.graph) {}

  GraphBuilder net;

  std::int64_t axis(char name) const {
    return static_cast<std::int64_t>(std::string_view(last_ ? "nhwc" : "nchw").find(name));
  }

  /// One entry an axis, given in the order n c h w.
  Ints order(const Ints& nchw) const {
    return last_ ? Ints{nchw[0], nchw[2], nchw[3], nchw[1]} : nchw;
  }

  std::int64_t extent(ValueId v, char name) const {
    return net.graph.value(v).shape[static_cast<int>(axis(name))];
  }

  ValueId input(const Ints& nchw) { return net.input(order(nchw)); }

  /// A constant that broadcasts to images, given in the order n c h w.
  ValueId constant(const Ints& nchw) {
    const ValueId k = net.constant(nchw);
    return last_ ? turned(k, {0, 2, 3, 1}) : k;
  }

  template <class Op>
  ValueId add(const Op& op, std::vector<ValueId> inputs, Attributes attrs = {}) {
    return add_many(op, std::move(inputs), 1, std::move(attrs))[0];
  }

  template <class Op>
  std::vector<ValueId> add_many(const Op& op, std::vector<ValueId> inputs, int outputs,
                                Attributes attrs = {}) {
    const auto out = net.add_many(op, std::move(inputs), outputs, std::move(attrs));
    const NodeId producer = net.graph.value(out[0]).producer;
    inference_.run(producer);
    return out;
  }

  /// An operator whose first input and whose output are images n c h w by definition.
  template <class Op>
  ValueId image_op(const Op& op, std::vector<ValueId> inputs, const Attributes& attrs = {}) {
    if (!last_) return add(op, std::move(inputs), attrs);
    inputs[0] = turned(inputs[0], {0, 3, 1, 2});
    return turned(add(op, std::move(inputs), attrs), {0, 2, 3, 1});
  }

  ValueId conv(ValueId x, std::int64_t out) {
    const std::int64_t in = extent(x, 'c');
    const ValueId w = net.graph.add_constant("w", weights({out, in, 3, 3}));
    return image_op("conv", {x, w, net.constant({out})}, attributes({{"pads", Ints{1, 1, 1, 1}}}));
  }

 private:
  /// Of either sign, and small, so that what follows does not cancel.
  Tensor weights(const Ints& extents) {
    const auto size = static_cast<float>(extents[1] * extents[2] * extents[3]);
    std::uniform_real_distribution<float> real(-1 / std::sqrt(size), 1 / std::sqrt(size));
    Tensor t(DType::f32, Shape("oihw", extents));
    for (float& w : t.as<float>()) w = real(net.random);
    return t;
  }

  ValueId turned(ValueId x, const Ints& perm) {
    return add("transpose", {x}, attributes({{"perm", perm}}));
  }

  bool last_;
  Inference inference_;
};

/// Detours that no plan can save, for the layout that the neighbours want.
using Inevitable = int (*)(const Mapping&);

int none(const Mapping&) { return 0; }

int one(const Mapping&) { return 1; }

/// A tail of the channels stays with them: one conversion when they become another axis.
int one_for_tails(const Mapping& m) { return m.padded(1) != m.shape()[1] ? 1 : 0; }

/// Two groups of channels change places: the elements move once, or twice when a group ends inside
/// of a block and the blocks must be undone and made again.
int shuffled(const Mapping& m) {
  const std::int64_t channels = m.shape()[1];
  if (channels % 2 != 0) return 0;
  std::int64_t block = 1;  // the extent of the innermost digit of the channels, unless it is all
  for (const Digit& d : m.linear_digits()) {
    if (d.dim == 1 && d.q == 1 && d.e != channels) block = d.e;
  }
  return channels / 2 % block == 0 ? 1 : 2;
}

struct Rewrite {
  const char* name;
  /// Between two neighbours; a result of rank 2 goes into a gemm instead of the second.
  std::function<ValueId(Model&, ValueId)> build;
  Inevitable inevitable = none;
  bool fixed = false;  ///< it has kernels for blocks as wide as a vector only, as convolutions have
};

ValueId pad(Model& m, ValueId x, const char* mode, const Ints& before, const Ints& after) {
  Ints pads = m.order(before);
  const Ints hi = m.order(after);
  pads.insert(pads.end(), hi.begin(), hi.end());
  return m.add("pad", {x},
               attributes({{"pads", pads}, {"mode", std::string(mode)}, {"value", 0.5f}}));
}

ValueId slice(Model& m, ValueId x, const Ints& starts, const Ints& ends, const Ints& steps) {
  return m.add("slice", {x},
               attributes({{"starts", m.order(starts)},
                           {"ends", m.order(ends)},
                           {"axes", Ints{0, 1, 2, 3}},
                           {"steps", m.order(steps)}}));
}

ValueId concat(Model& m, std::vector<ValueId> parts, char axis) {
  return m.add("concat", std::move(parts), attributes({{"axis", m.axis(axis)}}));
}

/// The parts in the other order.
ValueId swapped(Model& m, ValueId x, char axis, std::int64_t first) {
  const auto parts = m.add_many(
      "split", {x}, 2,
      attributes({{"axis", m.axis(axis)}, {"split", Ints{first, m.extent(x, axis) - first}}}));
  return concat(m, {parts[1], parts[0]}, axis);
}

ValueId reduce(Model& m, std::string_view op, ValueId x, std::string_view axes, bool keep = true) {
  Ints list;
  for (char a : axes) list.push_back(m.axis(a));
  return m.add(op, {x}, attributes({{"axes", list}, {"keepdims", std::int64_t{keep}}}));
}

ValueId softmax(Model& m, std::string_view op, ValueId x, char axis) {
  return m.add(op, {x}, attributes({{"axis", m.axis(axis)}}));
}

ValueId resize(Model& m, ValueId x, const char* mode, const char* coordinates) {
  return m.image_op("resize", {x},
                    attributes({{"mode", std::string(mode)},
                                {"coordinate_transformation_mode", std::string(coordinates)},
                                {"nearest_mode", std::string("floor")},
                                {"sizes", Ints{m.extent(x, 'n'), m.extent(x, 'c'),
                                               2 * m.extent(x, 'h'), 3 * m.extent(x, 'w')}}}));
}

ValueId pool(Model& m, std::string_view op, ValueId x) {
  return m.image_op(op, {x}, attributes({{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}));
}

ValueId reshape(Model& m, ValueId x, const Ints& shape) {
  return m.add("reshape", {x}, attributes({{"shape", shape}}));
}

const Rewrite kRewrites[] = {
    {"pad_pixels",
     [](Model& m, ValueId x) {
       return pad(m, x, "constant", {0, 0, 1, 0}, {0, 0, 2, 3});
     }},
    {"pad_channels",
     [](Model& m, ValueId x) {
       return pad(m, x, "constant", {0, 1, 0, 0}, {0, 2, 0, 0});
     }},
    {"pad_reflect",
     [](Model& m, ValueId x) {
       return pad(m, x, "reflect", {0, 0, 2, 1}, {0, 0, 0, 3});
     }},
    {"pad_edge",
     [](Model& m, ValueId x) {
       return pad(m, x, "edge", {0, 0, 0, 2}, {0, 0, 1, 0});
     }},
    {"concat_channels",
     [](Model& m, ValueId x) {
       return concat(m, {x, m.add("sigmoid", {x})}, 'c');
     }},
    {"concat_rows",
     [](Model& m, ValueId x) {
       return concat(m, {x, m.add("sigmoid", {x})}, 'h');
     }},
    {"concat_columns",
     [](Model& m, ValueId x) {
       return concat(m, {m.add("sigmoid", {x}), x}, 'w');
     }},
    {"concat_batches",
     [](Model& m, ValueId x) {
       return concat(m, {x, m.add("sigmoid", {x})}, 'n');
     }},
    {"concat_a_constant",
     [](Model& m, ValueId x) {
       const ValueId k = m.constant({m.extent(x, 'n'), 4, m.extent(x, 'h'), m.extent(x, 'w')});
       return concat(m, {x, k}, 'c');
     }},
    {"split_channels", [](Model& m, ValueId x) { return swapped(m, x, 'c', 2); }},
    {"split_rows", [](Model& m, ValueId x) { return swapped(m, x, 'h', 1); }},
    {"split_columns", [](Model& m, ValueId x) { return swapped(m, x, 'w', 3); }},
    {"softmax_channels", [](Model& m, ValueId x) { return softmax(m, "softmax", x, 'c'); }},
    {"softmax_columns", [](Model& m, ValueId x) { return softmax(m, "softmax", x, 'w'); }},
    {"log_softmax_rows", [](Model& m, ValueId x) { return softmax(m, "log_softmax", x, 'h'); }},
    {"reduce_pixels",
     [](Model& m, ValueId x) {
       return m.add("mul", {x, m.add("sigmoid", {reduce(m, "reduce_mean", x, "hw")})});
     }},
    {"reduce_channels",
     [](Model& m, ValueId x) {
       return m.add("sub", {x, reduce(m, "reduce_mean", x, "c")});
     }},
    {"reduce_rows_to_the_largest",
     [](Model& m, ValueId x) {
       return m.add("sub", {x, reduce(m, "reduce_max", x, "h")});
     }},
    {"reduce_channels_to_the_largest",
     [](Model& m, ValueId x) {
       return m.add("sub", {x, reduce(m, "reduce_max", x, "c")});
     }},
    {"reduce_pixels_away",
     [](Model& m, ValueId x) { return reduce(m, "reduce_mean", x, "hw", false); }, one_for_tails},
    {"moments",
     [](Model& m, ValueId x) {
       const ValueId d = m.add("sub", {x, reduce(m, "reduce_mean", x, "hw")});
       return m.add("div",
                    {d, m.add("sqrt", {reduce(m, "reduce_mean", m.add("mul", {d, d}), "hw")})});
     }},
    {"l2_norm",
     [](Model& m, ValueId x) {
       return m.add("div", {x, reduce(m, "reduce_l2", x, "c")});
     }},
    {"crop",
     [](Model& m, ValueId x) {
       return slice(m, x, {0, 0, 1, 1}, {1 << 20, 1 << 20, -1, 1 << 20}, {1, 1, 1, 1});
     }},
    {"slice_channels",
     [](Model& m, ValueId x) {
       return slice(m, x, {0, 1, 0, 0}, {1 << 20, 4, 1 << 20, 1 << 20}, {1, 1, 1, 1});
     }},
    {"strided_slice",
     [](Model& m, ValueId x) {
       return slice(m, x, {0, 0, 0, -1}, {1 << 20, 1 << 20, 1 << 20, -(1 << 20)}, {1, 1, 2, -1});
     }},
    {"reshape_pixels",
     [](Model& m, ValueId x) {
       return reshape(
           m, x,
           m.order({m.extent(x, 'n'), m.extent(x, 'c'), m.extent(x, 'h') * m.extent(x, 'w'), 1}));
     }},
    {"squeeze",
     [](Model& m, ValueId x) {
       return m.add("squeeze", {reduce(m, "reduce_mean", x, "hw")},
                    attributes({{"axes", Ints{m.axis('h'), m.axis('w')}}}));
     },
     one_for_tails},
    {"unsqueeze",
     [](Model& m, ValueId x) {
       const ValueId flat = reduce(m, "reduce_mean", x, "hw", false);
       const ValueId gate = m.add("unsqueeze", {m.add("sigmoid", {flat})},
                                  attributes({{"axes", Ints{m.axis('h'), m.axis('w')}}}));
       return m.add("mul", {x, gate});
     }},
    {"transpose_pixels",
     [](Model& m, ValueId x) {
       const ValueId y = m.add("sigmoid", {x});
       Ints perm{0, 1, 2, 3};
       std::swap(perm[static_cast<std::size_t>(m.axis('h'))],
                 perm[static_cast<std::size_t>(m.axis('w'))]);
       return m.add("transpose", {y}, attributes({{"perm", perm}}));
     },
     one},
    {"tile",
     [](Model& m, ValueId x) {
       return m.add("tile", {x}, attributes({{"repeats", m.order({1, 1, 2, 1})}}));
     }},
    {"bias",
     [](Model& m, ValueId x) {
       return m.add(
           "sigmoid",
           {m.add("add", {m.add("sigmoid", {x}), m.constant({1, m.extent(x, 'c'), 1, 1})})});
     }},
    {"prelu",
     [](Model& m, ValueId x) {
       return m.add("prelu", {m.add("tanh", {x}), m.constant({1, m.extent(x, 'c'), 1, 1})});
     }},
    {"channel_shuffle",
     [](Model& m, ValueId x) {
       const std::int64_t n = m.extent(x, 'n'), c = m.extent(x, 'c'), h = m.extent(x, 'h'),
                          w = m.extent(x, 'w');
       const std::int64_t g = c % 2 == 0 ? 2 : 1;
       const bool last = m.axis('c') == 3;
       const ValueId split =
           reshape(m, x, last ? Ints{n, h, w, g, c / g} : Ints{n, g, c / g, h, w});
       const ValueId turned =
           m.add("transpose", {split},
                 attributes({{"perm", last ? Ints{0, 1, 2, 4, 3} : Ints{0, 2, 1, 3, 4}}}));
       return reshape(m, turned, m.order({n, c, h, w}));
     },
     shuffled},
    {"arg_max",
     [](Model& m, ValueId x) {
       const ValueId best = m.add("arg_max", {x}, attributes({{"axis", m.axis('c')}}));
       return m.add("mul", {x, m.add("cast", {best}, attributes({{"to", std::string("f32")}}))});
     }},
    {"batch_norm",
     [](Model& m, ValueId x) {
       const std::int64_t c = m.extent(x, 'c');
       return m.image_op("batch_norm",
                         {m.add("tanh", {x}), m.net.constant({c}), m.net.constant({c}),
                          m.net.constant({c}), m.net.constant({c})});
     }},
    {"instance_norm",
     [](Model& m, ValueId x) {
       const std::int64_t c = m.extent(x, 'c');
       return m.image_op("instance_norm", {x, m.net.constant({c}), m.net.constant({c})});
     }},
    {"max_pool", [](Model& m, ValueId x) { return pool(m, "max_pool", x); }, none, true},
    {"average_pool", [](Model& m, ValueId x) { return pool(m, "average_pool", x); }, none, true},
    {"resize_linear", [](Model& m, ValueId x) { return resize(m, x, "linear", "half_pixel"); }},
    {"resize_nearest", [](Model& m, ValueId x) { return resize(m, x, "nearest", "asymmetric"); }},
    {"depth_to_space",
     [](Model& m, ValueId x) {
       const ValueId y = concat(m, {x, m.add("sigmoid", {x}), m.add("tanh", {x}), x}, 'c');
       return m.image_op("depth_to_space", {y}, attributes({{"blocksize", std::int64_t{2}}}));
     },
     one_for_tails},
    {"space_to_depth",
     [](Model& m, ValueId x) {
       const ValueId y = resize(m, x, "nearest", "asymmetric");
       return m.image_op("space_to_depth",
                         {slice(m, y, {0, 0, 0, 0}, {1 << 20, 1 << 20, 4, 4}, {1, 1, 1, 1})},
                         attributes({{"blocksize", std::int64_t{2}}}));
     },
     one_for_tails},
};

struct HeldParams {
  Mapping mapping;

  void fields(Archive& a) { a("mapping", mapping); }
};

void run_held(const HeldParams& p, const KernelArgs& args) noexcept {
  const Mapping& m = p.mapping;
  std::int64_t x[kMaxRank];
  for (std::int64_t i = 0; i < m.cells(); ++i) {
    const Cell cell = m.inverse(i, {x, static_cast<std::size_t>(m.shape().rank())});
    args.output<float>(0)[i] = cell == Cell::data ? 0.5f * args.input<float>(0)[i] + 0.25f : 0.0f;
  }
}

constexpr KernelDef kHeldKernel = kernel_def<HeldParams, run_held>("held");

/// y = x / 2 + 1 / 4, in one layout and no other.
const OpDef kHeld{
    .name = "held",
    .category = Category::fixed,
    .infer = [](const InferRef& n) { n.set_output(0, n.dtype(0), n.shape(0).extents()); },
    .reference =
        [](const ReferenceArgs& a) {
          for (std::int64_t i = 0; i < a.in[0].mapping.shape().elements(); ++i) {
            a.output<float>(0)[i] = 0.5f * a.input<float>(0)[i] + 0.25f;
          }
        },
    .offers =
        [](const OfferRequest& r, std::vector<Offer>& out) {
          Offer o;
          o.in = o.out = {Layout::parse(r.node.attrs().string("layout", ""))};
          o.flops = 1e7;  // by the reference it would take ten milliseconds
          o.call = {kHeldKernel,
                    HeldParams{Mapping(o.out[0].layout, r.node.output().shape, sizeof(float))}};
          out.push_back(std::move(o));
        },
    .axes =
        [](const NodeRef& n, AxisLinks& links) {
          const ValueId x = n.node().inputs[0], y = n.node().outputs[0];
          for (int i = 0; i < 4; ++i) {
            links.name(x, i, std::string_view("nchw").substr(static_cast<std::size_t>(i), 1));
            links.link(x, i, y, i);
          }
        }};

/// What stands before and behind the operator; it gets and gives images with as many channels.
using Neighbour = std::function<ValueId(Model&, ValueId)>;

std::shared_ptr<Graph> build(const Rewrite& rewrite, const Neighbour& neighbour, bool channels_last,
                             const Ints& nchw) {
  Model m(channels_last);
  const ValueId y = rewrite.build(m, neighbour(m, m.input(nchw)));
  const Shape& shape = m.net.graph.value(y).shape;
  m.net.graph.outputs = {shape.rank() == 4 ? neighbour(m, y)
                                           : m.add("gemm", {y, m.net.constant({shape[1], 3})})};
  auto graph = std::make_shared<Graph>(std::move(m.net.graph));
  simplify(*graph);
  return graph;
}

/// What the caller has is in this order, whatever the model's.
std::shared_ptr<const Plan> plan(std::shared_ptr<Graph> graph, std::string_view layout,
                                 const Rates& rates = {}) {
  PlanOptions options;
  options.rates = rates;
  for (const ValueId v : {graph->inputs[0], graph->outputs[0]}) {
    const Value& value = graph->value(v);
    if (value.shape.rank() == 4) options.layouts[value.name] = Layout::parse(layout);
  }
  return make_plan(std::move(graph), options);
}

/// The output in the order n c h w, where it is an image.
std::vector<float> run(std::shared_ptr<const Plan> plan, const Ints& nchw) {
  Session session(std::move(plan));
  std::mt19937 random(5);
  const Tensor x = random_tensor(Shape("nchw", nchw), random);
  session.set_input(0, x.view());
  session.run();
  const Shape& shape = session.outputs()[0].shape;
  Tensor y(DType::f32, shape);
  if (shape.rank() == 4) {
    Ints extents;
    for (const char* a : {"n", "c", "h", "w"}) extents.push_back(shape[shape.index_of(Axis(a))]);
    y = Tensor(DType::f32, Shape("nchw", extents));
  }
  session.read_output(0, y.mutable_view());
  return {y.as<float>().begin(), y.as<float>().end()};
}

/// Conversions that are not of inputs or outputs, and operators that fell back to the source order.
int detours(const Plan& plan) {
  int n = 0;
  for (const ConversionReport& c : plan.conversions) n += c.reason.find("model ") != 0;
  for (const NodeReport& r : plan.nodes) n += r.kernel == "reference";
  return n;
}

/// Both do the same to the same bytes, step by step.
void expect_same_steps(const Plan& a, const Plan& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  const auto same = [&](int i, int j) {
    return (i < 0) == (j < 0) && (i < 0 || a.slots[static_cast<std::size_t>(i)].mapping.same_bytes(
                                               b.slots[static_cast<std::size_t>(j)].mapping));
  };
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const Step &s = a.steps[i], &t = b.steps[i];
    EXPECT_EQ(s.kind, t.kind) << "step " << i;
    EXPECT_TRUE(same(s.src, t.src) && same(s.dst, t.dst)) << "step " << i;
    if (s.kind != Step::Kind::call || t.kind != Step::Kind::call) continue;
    EXPECT_EQ(s.op, t.op) << "step " << i;
    EXPECT_TRUE(std::ranges::equal(s.in, t.in, same) && std::ranges::equal(s.out, t.out, same))
        << "step " << i;
  }
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  float largest = 0;
  for (const float v : b) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 1e-5f * largest) << "element " << i;
  }
}

const Ints kShapes[] = {{1, 16, 8, 8}, {1, 5, 6, 7}, {2, 6, 10, 5}, {2, 33, 4, 6}, {1, 48, 14, 14}};

class Rewrites : public testing::TestWithParam<Rewrite> {};

// Plans of equal cost may differ in their steps, so the costs are compared.
// checklist 5.13, 5.14, 5.15
TEST_P(Rewrites, CostTheSameInBothOrders) {
  const Neighbour conv = [](Model& m, ValueId x) { return m.conv(x, m.extent(x, 'c')); };
  for (const Ints& nchw : kShapes) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      SCOPED_TRACE(std::string(layout) + " outside, " + std::to_string(nchw[1]) + " channels");
      const auto first = plan(build(GetParam(), conv, false, nchw), layout);
      const auto last = plan(build(GetParam(), conv, true, nchw), layout);
      expect_near(run(last, nchw), run(first, nchw));
      EXPECT_NEAR(first->cost_us, last->cost_us, 1e-6 * first->cost_us);
      EXPECT_EQ(detours(*first), detours(*last));
      if (HasFailure()) {
        FAIL() << "NCHW model\n" << explain(*first) << "NHWC model\n" << explain(*last);
      }
    }
  }
}

// checklist 5.14, 5.15, 6.2
TEST_P(Rewrites, RunInTheLayoutOfTheirNeighbours) {
  const std::string block = "nChw" + std::to_string(host_target(1).lanes) + "c";
  std::vector<std::string> layouts{block};
  if (!GetParam().fixed) layouts = {"NCHW", "NHWC", "nChw4c", block};
  // No detour may pay because the next operator is a little faster then.
  Rates rates;
  for (double* r : {&rates.copy_gb_per_s, &rates.shuffle_gb_per_s, &rates.generic_gb_per_s,
                    &rates.reference_elements_per_us}) {
    *r /= 100;
  }
  for (const std::string& layout : layouts) {
    const Neighbour held = [&](Model& m, ValueId x) {
      return m.image_op(kHeld, {x}, attributes({{"layout", layout}}));
    };
    for (const Ints& nchw : kShapes) {
      SCOPED_TRACE(layout + ", " + std::to_string(nchw[1]) + " channels");
      const auto first = plan(build(GetParam(), held, false, nchw), layout, rates);
      const auto last = plan(build(GetParam(), held, true, nchw), layout, rates);
      expect_near(run(last, nchw), run(first, nchw));
      const int inevitable =
          GetParam().inevitable(Mapping(Layout::parse(layout), Shape("nchw", nchw), sizeof(float)));
      // What must be moved may be moved in several ways of equal cost.
      if (inevitable == 0) expect_same_steps(*first, *last);
      EXPECT_EQ(detours(*first), inevitable);
      EXPECT_EQ(detours(*last), inevitable);
      if (HasFailure()) {
        FAIL() << "NCHW model\n" << explain(*first) << "NHWC model\n" << explain(*last);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rewrites, testing::ValuesIn(kRewrites),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stowage
