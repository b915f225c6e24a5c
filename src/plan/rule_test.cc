// SPDX-License-Identifier: Apache-2.0
// MACE's rule: who is AUTO, and which options that takes. Then --why-not and doors, over the same
// small nets.
#include "plan/rule.h"

#include <gtest/gtest.h>

#include "plan/build.h"
#include "plan/plan.h"
#include "plan/test_net.h"
#include "plan/why_not.h"
#include "stowage/error.h"
#include "stowage/model.h"

namespace stowage {
namespace {

/// "A" for AUTO, "s" for source, one a node.
std::string formats(const Graph& graph) {
  std::string out;
  for (const bool is_auto : plan::rule_formats(graph, graph.topological_order())) {
    out += is_auto ? 'A' : 's';
  }
  return out;
}

TEST(Rule, ElementwiseFollowsItsInputs) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const ValueId b = net.add("relu", {a});
  net.finish({net.add("add", {a, b})});
  EXPECT_EQ(formats(*net.finish({})), "AAA");
}

TEST(Rule, InputsWithoutDataFormatAreSource) {
  Net net;
  net.finish({net.add("relu", {net.input({4, 8})})});
  EXPECT_EQ(formats(*net.finish({})), "s");
}

TEST(Rule, AnInputOfAConvolutionHasADataFormat) {
  Net net;
  const ValueId x = net.input({1, 16, 8, 8});
  const ValueId y = net.add("relu", {x});
  net.finish({net.conv(x, 16, 16), y});
  EXPECT_EQ(formats(*net.finish({})), "AA");
}

TEST(Rule, OneSourceOperatorBreaksTheChainAndTheNextFixedOneRestartsIt) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const ValueId b = net.add("identity", {a});  // on MACE's list of sources
  const ValueId c = net.add("relu", {b});
  const ValueId d = net.conv(c, 16, 16);
  net.finish({net.add("relu", {d})});
  EXPECT_EQ(formats(*net.finish({})), "AssAA");
}

TEST(Rule, MixedInputsStaySource) {
  Net net;
  const ValueId x = net.input({1, 16, 8, 8});
  const ValueId a = net.conv(x, 16, 16);
  const ValueId b = net.add("identity", {x});
  net.finish({net.add("add", {a, b})});
  EXPECT_EQ(formats(*net.finish({})), "Ass");
}

TEST(Rule, ConstantsDoNotCount) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  net.finish({net.add("add", {a, net.weights({1, 16, 1, 1})})});
  EXPECT_EQ(formats(*net.finish({})), "AA");
}

TEST(Rule, ReshapeOnlyFromFourAxesToFour) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const ValueId four = net.reshape(a, {1, 16, 4, 16});
  const ValueId two = net.reshape(a, {16, 64});
  net.finish({four, two});
  EXPECT_EQ(formats(*net.finish({})), "AAs");
}

TEST(Rule, TransposeBeforeReshapeIsSource) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const ValueId lone = net.transpose(a, {0, 2, 3, 1});
  const ValueId followed = net.transpose(a, {0, 2, 3, 1});
  net.finish({lone, net.reshape(followed, {64, 16})});
  EXPECT_EQ(formats(*net.finish({})), "AAss");
}

TEST(Rule, CategoriesOfTheLists) {
  EXPECT_EQ(plan::rule_category("conv"), Category::fixed);
  EXPECT_EQ(plan::rule_category("concat"), Category::transposable);
  EXPECT_EQ(plan::rule_category("slice"), Category::source);
  EXPECT_EQ(plan::rule_category("of no list"), Category::source);
}

/// A net with every kind of join; MACE's rule and source order are both feasible plans of it.
std::shared_ptr<Graph> mixed() {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 24, 24}), 16, 32);
  const ValueId b = net.add("identity", {net.add("relu", {a})});
  const ValueId c = net.conv(net.add("add", {a, b}), 32, 19);
  return net.finish({net.transpose(c, {0, 2, 3, 1})});
}

TEST(Decide, OptimalCostsAtMostTheBaselines) {
  const auto graph = mixed();
  PlanOptions options;
  const auto best = make_plan(graph, options);
  EXPECT_LE(best->cost_us, best->rule_cost_us);
  EXPECT_LE(best->cost_us, best->source_cost_us);
  EXPECT_LE(best->lower_bound_us, best->cost_us);
  for (const auto planner : {PlanOptions::Planner::rule, PlanOptions::Planner::source}) {
    options.planner = planner;
    const auto plan = make_plan(graph, options);
    EXPECT_EQ(plan->planner, plan::planner_name(planner));
    EXPECT_EQ(plan->cost_us,
              planner == PlanOptions::Planner::rule ? best->rule_cost_us : best->source_cost_us);
    EXPECT_GE(plan->cost_us, best->cost_us);
  }
}

TEST(Decide, AllPlannersComputeTheSame) {
  std::vector<float> first;
  for (const auto planner :
       {PlanOptions::Planner::source, PlanOptions::Planner::rule, PlanOptions::Planner::optimal}) {
    PlanOptions options;
    options.planner = planner;
    Session session(make_plan(mixed(), options));
    Tensor x(DType::f32, session.inputs()[0].shape);
    for (std::size_t i = 0; i < x.as<float>().size(); ++i) x.as<float>()[i] = float(i % 13) - 6;
    session.set_input(0, x.view());
    session.run();
    const Tensor y = session.output(0);
    const auto cells = y.as<float>();
    if (first.empty()) first.assign(cells.begin(), cells.end());
    ASSERT_EQ(first.size(), cells.size());
    for (std::size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(first[i], cells[i], 1e-4) << i;
  }
}

TEST(WhyNot, CostsWhatForcingCosts) {
  const auto graph = mixed();
  const plan::WhyNot a = plan::why_not(graph, {}, "conv4", "NCHW");
  EXPECT_TRUE(a.offered);  // at the least the reference is row-major
  EXPECT_EQ(a.op, "conv");
  if (!a.is_chosen) {
    EXPECT_GE(a.forced_us, a.cost_us);
  }
  EXPECT_NE(plan::explain(a).find("conv4"), std::string::npos);
}

TEST(WhyNot, SaysWhatIsOfferedInstead) {
  const plan::WhyNot a = plan::why_not(mixed(), {}, "#1", "NWHC");
  EXPECT_FALSE(a.offered);
  EXPECT_NE(plan::explain(a).find("no kernel offers NWHC"), std::string::npos) << plan::explain(a);
}

TEST(WhyNot, RefusesWhatIsNotThere) {
  for (const auto& [node, layout] :
       {std::pair{"nobody", "NCHW"}, std::pair{"#99", "NCHW"}, std::pair{"conv0", "q r s t"},
        std::pair{"conv0", "n c/"}, std::pair{"conv0", "OIDHW"}}) {
    try {
      plan::why_not(mixed(), {}, node, layout);
      ADD_FAILURE() << node << " " << layout;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
    }
  }
}

TEST(Doors, AreCountedFromTheLayoutThatTheCallerHas) {
  const auto graph = mixed();
  PlanOptions options;
  options.doors.insert_or_assign("x", Layout::parse("NHWC"));
  const auto plan = make_plan(graph, options);
  EXPECT_EQ(plan->inputs[0].layout, Layout::parse("NHWC"));
  for (const ConversionReport& c : plan->conversions) {
    if (c.value == "x") {
      EXPECT_EQ(c.from, "NHWC");
    }
  }
  // What is given in the format that the plan reads needs no conversion at all.
  options.doors.clear();
  options.doors.insert_or_assign("x", Layout::parse(plan->nodes[0].inputs[0].layout));
  const auto same = make_plan(graph, options);
  for (const ConversionReport& c : same->conversions) EXPECT_NE(c.value, "x");
}

TEST(Doors, RefuseNamesAndAxesThatAreNotThere) {
  for (const auto& [name, layout] : {std::pair{"nobody", "NHWC"}, std::pair{"x", "OIDHW"}}) {
    PlanOptions options;
    options.doors.insert_or_assign(name, Layout::parse(layout));
    try {
      make_plan(mixed(), options);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
    }
  }
}

TEST(Doors, OutputsMayBeWantedInAnyOrder) {
  Net net;
  const ValueId y = net.conv(net.input({1, 16, 8, 8}), 16, 32);
  const auto graph = net.finish({y});
  PlanOptions options;
  options.doors.insert_or_assign(graph->value(y).name, Layout::parse("NHWC"));
  const auto plan = make_plan(graph, options);
  Session session(plan);
  Tensor x(DType::f32, session.inputs()[0].shape);
  session.set_input(0, x.view());
  session.run();
  EXPECT_EQ(session.output(0).layout(), Layout::row_major(session.outputs()[0].shape));
  EXPECT_EQ(plan->outputs[0].layout, Layout::parse("NHWC"));
}

}  // namespace
}  // namespace stowage
