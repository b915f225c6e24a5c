// SPDX-License-Identifier: Apache-2.0
// Plans of small graphs of test operators: conversions of inputs and outputs, shared ones,
// relabels, weights.
#include <gtest/gtest.h>

#include "base/index.h"
#include "graph/op_def.h"
#include "plan/plan.h"
#include "plan/test_faults.h"
#include "stowage/error.h"
#include "stowage/model.h"

namespace stowage {
namespace {

void infer_same(const InferRef& n) { n.set_output(0, n.dtype(0), n.shape(0).extents()); }

/// out = in + w, w one scalar or absent (1).
void plus_reference(const ReferenceArgs& a) {
  const float w = a.in.size() > 1 ? a.input<float>(1)[0] : 1;
  for (std::int64_t i = 0; i < a.in[0].mapping.shape().elements(); ++i) {
    a.output<float>(0)[i] = a.input<float>(0)[i] + w;
  }
}

struct PlusParams {
  Mapping in, out;

  void fields(Archive& a) { a("in", in)("out", out); }
};

/// Walks the logical elements of two mappings of one shape.
void run_plus(const PlusParams& p, const KernelArgs& args) noexcept {
  const float w = args.in.size() > 1 ? args.input<float>(1)[0] : 1;
  std::int64_t x[kMaxRank];
  for (std::int64_t cell = 0; cell < p.out.cells(); ++cell) {
    const Cell kind = p.out.inverse(cell, {x, static_cast<std::size_t>(p.out.shape().rank())});
    if (kind == Cell::gap) continue;
    args.output<float>(0)[cell] = kind == Cell::tail ? 0 : args.input<float>(0)[p.in.offset(x)] + w;
  }
}

constexpr KernelDef kPlus = kernel_def<PlusParams, run_plus>("plus");

Offer plus_offer(const NodeRef& n, const Layout& layout) {
  Offer o;
  o.in = {layout};
  if (n.input_count() > 1) o.in.push_back(Layout::parse("a/4 a%4"));
  o.out = {layout.renamed(n.shape(0).axes(), n.output().shape.axes())};
  o.in_place = 0;
  o.call = {kPlus, PlusParams{Mapping(layout, n.shape(0), 4),
                              Mapping(o.out[0].layout, n.output().shape, 4)}};
  return o;
}

/// Runs in blocks of four channels only.
const OpDef kBlockedPlus{.name = "blocked_plus",
                         .category = Category::fixed,
                         .infer = infer_same,
                         .reference = plus_reference,
                         .offers = [](const OfferRequest& r, std::vector<Offer>& out) {
                           Offer o = plus_offer(r.node, Layout::blocked(r.node.shape(0), 1, 4));
                           o.flops = 1e6;  // as a scalar loop it would take a millisecond
                           out.push_back(std::move(o));
                         }};

/// Runs in whatever comes.
const OpDef kAnyPlus{.name = "any_plus",
                     .category = Category::transposable,
                     .infer = infer_same,
                     .reference = plus_reference,
                     .offers = [](const OfferRequest& r, std::vector<Offer>& out) {
                       for (const Layout& l : r.candidates(r.node.node().inputs[0])) {
                         out.push_back(plus_offer(r.node, l));
                       }
                     }};

/// [n, c, h, w] -> [n, h, w, c]: the same bytes under permuted names.
const OpDef kToNhwc{.name = "to_nhwc",
                    .infer =
                        [](const InferRef& n) {
                          const Shape& s = n.shape(0);
                          n.set_output(0, n.dtype(0), {s[0], s[2], s[3], s[1]});
                        },
                    .reference =
                        [](const ReferenceArgs& a) {
                          const Shape& s = a.in[0].mapping.shape();
                          std::int64_t o = 0;
                          for (std::int64_t n = 0; n < s[0]; ++n)
                            for (std::int64_t h = 0; h < s[2]; ++h)
                              for (std::int64_t w = 0; w < s[3]; ++w)
                                for (std::int64_t c = 0; c < s[1]; ++c)
                                  a.output<float>(0)[o++] =
                                      a.input<float>(0)[((n * s[1] + c) * s[2] + h) * s[3] + w];
                        },
                    .offers =
                        [](const OfferRequest& r, std::vector<Offer>& out) {
                          const Shape &in = r.node.shape(0), &to = r.node.output().shape;
                          const Axis from[] = {in.axis(0), in.axis(2), in.axis(3), in.axis(1)};
                          for (const Layout& l : r.candidates(r.node.node().inputs[0])) {
                            Offer o;
                            o.relabel = true;
                            o.in = {l};
                            o.out = {l.renamed(from, to.axes())};
                            out.push_back(std::move(o));
                          }
                          for (const Layout& l : r.candidates(r.node.node().outputs[0])) {
                            Offer o;
                            o.relabel = true;
                            o.in = {l.renamed(to.axes(), from)};
                            o.out = {l};
                            out.push_back(std::move(o));
                          }
                        },
                    .axes = nullptr};

class Net {
 public:
  Net() : graph_(std::make_shared<Graph>()) {}

  ValueId input(std::initializer_list<std::int64_t> extents) {
    Value v;
    v.name = "x";
    v.shape = Shape("abcd", extents);
    graph_->inputs.push_back(graph_->add_value(v));
    return graph_->inputs.back();
  }

  ValueId scalar(float w) {
    Tensor t(DType::f32, Shape("a", {1}));
    t.as<float>()[0] = w;
    return graph_->add_constant("w", std::move(t));
  }

  ValueId add(const OpDef& op, std::vector<ValueId> inputs, const std::string& attribute,
              std::int64_t value) {
    const ValueId out = add(op, std::move(inputs));
    graph_->node(graph_->value(out).producer).attrs.set(attribute, value);
    return out;
  }

  ValueId add(const OpDef& op, std::vector<ValueId> inputs) {
    Node n;
    n.op = &op;
    n.name = "n" + std::to_string(graph_->node_count());
    n.inputs = std::move(inputs);
    Value v;
    v.name = "v" + std::to_string(graph_->node_count());
    n.outputs = {graph_->add_value(v)};
    return graph_->node(graph_->add_node(std::move(n))).outputs[0];
  }

  void output(ValueId v) { graph_->outputs.push_back(v); }

  std::shared_ptr<const Plan> plan(PlanOptions::Planner planner = PlanOptions::Planner::optimal) {
    infer_shapes(*graph_);
    PlanOptions options;
    options.simplify = false;
    options.planner = planner;
    return make_plan(graph_, options);
  }

 private:
  std::shared_ptr<Graph> graph_;
};

Tensor counted(const Shape& shape) {
  Tensor t(DType::f32, shape);
  for (std::size_t i = 0; i < t.as<float>().size(); ++i) t.as<float>()[i] = static_cast<float>(i);
  return t;
}

/// Runs twice, the second time without setting inputs again.
std::vector<Tensor> run(std::shared_ptr<const Plan> plan) {
  Session session(std::move(plan));
  const Tensor x = counted(session.inputs()[0].shape);
  session.set_input(0, x.view());
  session.run();
  session.run();
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < session.outputs().size(); ++i) {
    out.push_back(session.output(static_cast<int>(i)));
  }
  return out;
}

int convert_steps(const Plan& plan) {
  int n = 0;
  for (const Step& s : plan.steps) n += s.kind == Step::Kind::convert;
  return n;
}

TEST(MakePlan, ConvertsInputsAndOutputsOnly) {
  for (const std::int64_t c : {1, 3, 4, 5, 8, 33}) {
    Net net;
    const ValueId x = net.input({2, c, 3, 5});
    const ValueId a = net.add(kBlockedPlus, {x});
    const ValueId b = net.add(kAnyPlus, {a});
    net.output(net.add(kBlockedPlus, {b}));
    const auto plan = net.plan();
    EXPECT_EQ(convert_steps(*plan), 0);
    ASSERT_EQ(plan->nodes.size(), 3u);
    for (const NodeReport& n : plan->nodes) EXPECT_EQ(n.kernel, "plus");
    EXPECT_LE(plan->conversions.size(), 2u);
    const auto out = run(plan);
    for (std::size_t i = 0; i < out[0].as<float>().size(); ++i) {
      ASSERT_EQ(out[0].as<float>()[i], static_cast<float>(i) + 3) << "c=" << c << " i=" << i;
    }
  }
}

TEST(MakePlan, SharesAConversionAmongReaders) {
  Net net;
  const ValueId x = net.input({1, 6, 4, 4});
  const ValueId r = net.add(kToNhwc, {net.add(kBlockedPlus, {x})});
  // Three readers want blocks of the NHWC value's axis 1 (h): one conversion serves them.
  for (int i = 0; i < 3; ++i) net.output(net.add(kBlockedPlus, {r}));
  const auto plan = net.plan();
  EXPECT_EQ(convert_steps(*plan), 1) << explain(*plan);
  const auto out = run(plan);
  for (const Tensor& t : out) EXPECT_EQ(t.as<float>()[1], 18);  // element (0,0,0,1) is x[0,1,0,0]
}

TEST(MakePlan, ARelabelMovesNothing) {
  Net net;
  const ValueId a = net.add(kBlockedPlus, {net.input({1, 5, 2, 3})});
  net.output(net.add(kAnyPlus, {net.add(kToNhwc, {a})}));
  const auto plan = net.plan();
  EXPECT_LE(plan->conversions.size(), 2u) << explain(*plan);  // in and out, and none for it
  EXPECT_EQ(plan->nodes[1].kernel, "relabel");
  EXPECT_EQ(plan->nodes[1].cost_us, 0);
  const auto out = run(plan);
  EXPECT_EQ(out[0].shape().extents()[3], 5);
  for (std::int64_t c = 0; c < 5; ++c) {
    EXPECT_EQ(out[0].as<float>()[static_cast<std::size_t>(c)], static_cast<float>(c * 6 + 2));
  }
}

TEST(MakePlan, ConvertsWeightsOnce) {
  Net net;
  const ValueId w = net.scalar(7);
  const ValueId a = net.add(kBlockedPlus, {net.input({1, 4, 2, 2}), w});
  net.output(net.add(kBlockedPlus, {a, w}));
  const auto plan = net.plan();
  EXPECT_EQ(plan->weight_bytes, 16u);  // a/4 a%4 of one f32
  EXPECT_EQ(run(plan)[0].as<float>()[0], 14);
}

TEST(MakePlan, SourceOrderLiesBetweenAllOperators) {
  Net net;
  const ValueId a = net.add(kBlockedPlus, {net.input({1, 7, 3, 3})});
  for (int i = 0; i < 2; ++i) net.output(net.add(kBlockedPlus, {a}));
  const auto best = net.plan();
  const auto source = net.plan(PlanOptions::Planner::source);
  EXPECT_EQ(best->source_cost_us, source->cost_us);
  EXPECT_LT(best->cost_us, source->cost_us);
  EXPECT_EQ(convert_steps(*best), 0) << explain(*best);  // inputs and outputs only
  // Each of the three kernels has blocks before and behind it, and shares them with nobody.
  EXPECT_EQ(convert_steps(*source), 6) << explain(*source);
  const std::string row_major = Layout::row_major(source->inputs[0].port.shape).spelling();
  double sum = 0;
  for (const NodeReport& n : source->nodes) {
    EXPECT_EQ(n.kernel, "plus");
    sum += n.cost_us;
  }
  for (const ConversionReport& c : source->conversions) {
    EXPECT_TRUE(c.from == row_major || c.to == row_major) << c.from << " -> " << c.to;
    EXPECT_NE(c.node, kNoNode);
    sum += c.cost_us;
  }
  EXPECT_DOUBLE_EQ(sum, source->cost_us);
  const auto x = run(best), y = run(source);
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t i = 0; i < x[o].as<float>().size(); ++i) {
      ASSERT_EQ(x[o].as<float>()[i], y[o].as<float>()[i]);
    }
  }
}

TEST(MakePlan, SourceOrderTransposesOnceForATranspose) {
  Net net;
  const ValueId a = net.add(kAnyPlus, {net.input({1, 7, 3, 3})});
  net.output(net.add(kToNhwc, {a}));
  const auto source = net.plan(PlanOptions::Planner::source);
  EXPECT_EQ(source->nodes[0].kernel, "plus");
  // One conversion into the order of the output; what is left is a relabel.
  EXPECT_EQ(source->nodes[1].kernel, "relabel");
  EXPECT_EQ(source->conversions.size(), 1u) << explain(*source);
  const auto out = run(source);
  for (std::int64_t c = 0; c < 7; ++c) {
    EXPECT_EQ(out[0].as<float>()[static_cast<std::size_t>(c)], static_cast<float>(c * 9 + 1));
  }
}

/// x + 1, + 1, + 1: the first may not write over the model's input, the others may.
Net chain() {
  Net net;
  ValueId x = net.input({1, 4, 3, 5});
  for (int i = 0; i < 4; ++i) x = net.add(kAnyPlus, {x});
  net.output(x);
  return net;
}

TEST(MakePlan, ResultsLieInPlace) {
  Net net = chain();
  const auto plan = net.plan();
  ASSERT_EQ(plan->steps.size(), 4u);
  EXPECT_EQ(plan->steps[0].in_place, -1);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(plan->steps[i].in_place, 0) << i;
  EXPECT_LT(plan->arena_bytes, 3 * (60 * sizeof(float) + 64));
  EXPECT_EQ(run(plan)[0].as<float>()[59], 59 + 4);
}

TEST(MakePlan, WhatIsReadLaterIsNotWrittenOver) {
  Net net;
  const ValueId a = net.add(kAnyPlus, {net.input({1, 4, 3, 5})});
  const ValueId b = net.add(kAnyPlus, {a}), c = net.add(kAnyPlus, {a}), d = net.add(kAnyPlus, {b});
  net.output(c);
  net.output(d);
  net.output(b);
  const auto plan = net.plan();
  const auto out = run(plan);
  EXPECT_EQ(out[0].as<float>()[59], 59 + 2);
  EXPECT_EQ(out[1].as<float>()[59], 59 + 3);
  EXPECT_EQ(out[2].as<float>()[59], 59 + 2);
}

/// Each fault makes a good plan one that computes something else.
TEST(VerifyPlan, SeesFaults) {
  const Fault faults[] = {
      {"a result over the model's input",
       [](Plan& p) {
         p.slots[idx(p.steps[0].out[0])].offset = p.slots[idx(p.steps[0].in[0])].offset;
       },
       "is written over"},
      {"in place without leave", [](Plan& p) { p.steps[1].in_place = -1; }, "is written over"},
      {"half over each other", [](Plan& p) { p.slots[idx(p.steps[1].out[0])].offset += 64; },
       "is written over"},
      {"steps in the wrong order", [](Plan& p) { std::swap(p.steps[1], p.steps[2]); },
       "is read before it is written"},
      {"scratch over an operand",
       [](Plan& p) {
         p.steps[2].scratch_bytes = 4;
         p.steps[2].scratch_offset = p.slots[idx(p.steps[2].in[0])].offset;
       },
       "scratch lies over"},
      {"scratch over the model's input",
       [](Plan& p) {
         p.steps[2].scratch_bytes = 4;
         p.steps[2].scratch_offset = p.slots[idx(p.steps[0].in[0])].offset;
       },
       "is read after something was written over it"},
      {"outside", [](Plan& p) { p.arena_bytes -= 128; }, "outside"},
      {"no kernel", [](Plan& p) { p.steps[0].call = {}; }, "a kernel is missing"},
  };
  expect_verify_sees(faults, [] { return std::const_pointer_cast<Plan>(chain().plan()); });
}

/// Weights are converted before run: how many layouts they are wanted in is no matter.
TEST(MakePlan, AConstantInManyLayouts) {
  static const OpDef kPlusVector{.name = "plus_vector",
                                 .category = Category::fixed,
                                 .infer = infer_same,
                                 .reference = plus_reference,
                                 .offers = [](const OfferRequest& r, std::vector<Offer>& out) {
                                   Offer o = plus_offer(r.node, Layout::row_major(r.node.shape(0)));
                                   const auto block = r.node.attrs().integer("block", 1);
                                   o.in[1] = Layout::parse("a~" + std::to_string(block));
                                   out.push_back(std::move(o));
                                 }};
  Net net;
  ValueId x = net.input({1, 2, 3, 4});
  const ValueId w = net.scalar(1);
  constexpr int kReaders = 40;
  for (int i = 0; i < kReaders; ++i) x = net.add(kPlusVector, {x, w}, "block", i + 2);
  net.output(x);
  EXPECT_EQ(run(net.plan())[0].as<float>()[23], 23 + kReaders);
}

TEST(MakePlan, AnOutputMayBeAnInputOrAConstant) {
  Net net;
  const ValueId x = net.input({1, 2, 3, 4});
  net.output(x);
  net.output(net.scalar(5));
  const auto out = run(net.plan());
  EXPECT_EQ(out[0].as<float>()[23], 23);
  EXPECT_EQ(out[1].as<float>()[0], 5);
}

TEST(Session, RefusesWhatDoesNotFit) {
  Net net;
  net.output(net.add(kAnyPlus, {net.input({1, 3, 4, 5})}));
  Session session(net.plan());
  EXPECT_THROW(session.run(), Error);
  EXPECT_THROW(session.set_input(0, Tensor(DType::f32, Shape("abcd", {1, 3, 4, 6})).view()), Error);
  EXPECT_THROW(session.set_input(1, Tensor(DType::f32, Shape("a", {1})).view()), Error);
  EXPECT_THROW(session.input_index("y"), Error);
  EXPECT_THROW(session.output(1), Error);
}

TEST(Session, TakesPicturesWithMeanAndNorm) {
  Net net;
  net.output(net.add(kAnyPlus, {net.add(kBlockedPlus, {net.input({1, 3, 2, 2})})}));
  Session session(net.plan());
  Tensor picture(DType::u8, Shape("acdb", {1, 2, 2, 3}));  // over the axes of the input: a b c d
  for (std::size_t i = 0; i < 12; ++i) picture.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const float mean[] = {1}, norm[] = {2};
  session.set_input(0, picture.view(), mean, norm);
  session.run();
  const Tensor out = session.output(0);
  EXPECT_EQ(out.as<float>()[0], (0 - 1) * 2 + 2);
  EXPECT_EQ(out.as<float>()[4], (1 - 1) * 2 + 2);  // channel 1 of pixel 0
}

}  // namespace
}  // namespace stowage
