// SPDX-License-Identifier: Apache-2.0
// MACE's rule: who is AUTO, and which options that takes. Then --why-not and the caller's layouts,
// over the same small nets.
#include "plan/rule.h"

#include <gtest/gtest.h>

#include "plan/build.h"
#include "plan/plan.h"
#include "plan/test_net.h"
#include "stowage/error.h"
#include "stowage/model.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

Category category_of(std::string_view op) { return plan::rule_category(*find_op(op)); }

/// "A" for AUTO, "s" for source, one a node.
std::string formats(const Graph& graph) {
  std::string out;
  for (const bool is_auto : plan::rule_formats(graph, graph.topological_order())) {
    out += is_auto ? 'A' : 's';
  }
  return out;
}

// checklist 6.10
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

// checklist 6.11
TEST(Rule, AnInputOfAConvolutionHasADataFormat) {
  Net net;
  const ValueId x = net.input({1, 16, 8, 8});
  const ValueId y = net.add("relu", {x});
  net.finish({net.conv(x, 16, 16), y});
  EXPECT_EQ(formats(*net.finish({})), "AA");
}

// checklist 8.3: letters that stand for axes without a name are no data format, however many.
TEST(Rule, UnnamedAxesAreNoDataFormat) {
  const struct {
    std::initializer_list<std::int64_t> extents;
    Ints perm;
  } cases[] = {
      {{24, 24, 16}, {1, 0, 2}},
      {{1, 24, 24, 16}, {0, 2, 1, 3}},
      {{1, 24, 24, 16, 3}, {0, 2, 1, 3, 4}},
  };

  for (const auto& c : cases) {
    Net net;
    const auto graph =
        net.finish({net.add("sigmoid", {net.transpose(net.input(c.extents), c.perm)})});
    EXPECT_EQ(formats(*graph), "ss");
    const auto plan = make_plan(graph);
    EXPECT_EQ(plan->rule_cost_us, plan->source_cost_us);
  }
}

// checklist 6.11: and neither is an image of which the caller says so.
TEST(Rule, AnInputThatIsSaidToBeNoneIsNotAuto) {
  Net net;
  const ValueId x = net.input({1, 16, 8, 8});
  const auto graph = net.finish({net.conv(net.add("relu", {x}), 16, 16)});
  const auto order = graph->topological_order();
  std::vector<bool> none(static_cast<std::size_t>(graph->value_count()), false);
  EXPECT_EQ(plan::rule_formats(*graph, order, none), (std::vector<bool>{true, true}));
  none[static_cast<std::size_t>(x)] = true;
  EXPECT_EQ(plan::rule_formats(*graph, order, none), (std::vector<bool>{false, true}));
}

// checklist 6.5, 8.4: reported are the categories that the planner goes by.
TEST(Rule, TheReportHasItsCategories) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const auto graph = net.finish({net.add("relu", {net.add("exp", {a})})});
  const auto report = [&](PlanOptions::Planner planner) {
    PlanOptions options;
    options.planner = planner;
    std::string out;
    const auto plan = make_plan(graph, options);
    for (const NodeReport& n : plan->nodes) {
      EXPECT_EQ(n.rule_category, category_of(n.op));
      out += n.op + " " + std::string(category_name(n.category)) + (n.rule_auto ? " A; " : " s; ");
    }
    return out;
  };
  EXPECT_EQ(report(PlanOptions::Planner::rule),
            "conv fixed A; exp source s; relu transposable s; ");
  EXPECT_EQ(report(PlanOptions::Planner::optimal),
            "conv fixed A; exp transposable s; relu transposable s; ");
}

// checklist 6.7, 6.9
TEST(Rule, OneSourceOperatorBreaksTheChainAndTheNextFixedOneRestartsIt) {
  Net net;
  const ValueId a = net.conv(net.input({1, 16, 8, 8}), 16, 16);
  const ValueId b = net.add("identity", {a});  // on MACE's list of sources
  const ValueId c = net.add("relu", {b});
  const ValueId d = net.conv(c, 16, 16);
  net.finish({net.add("relu", {d})});
  EXPECT_EQ(formats(*net.finish({})), "AssAA");
}

// checklist 6.10
TEST(Rule, MixedInputsStaySource) {
  Net net;
  const ValueId x = net.input({1, 16, 8, 8});
  const ValueId a = net.conv(x, 16, 16);
  const ValueId b = net.add("identity", {x});
  net.finish({net.add("add", {a, b})});
  EXPECT_EQ(formats(*net.finish({})), "Ass");
}

// checklist 6.10
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

// checklist 5.11, 5.12, 6.1, 6.2, 6.3, 6.4, 6.26
TEST(Rule, CategoriesOfTheLists) {
  EXPECT_EQ(category_of("conv"), Category::fixed);
  EXPECT_EQ(category_of("concat"), Category::transposable);
  EXPECT_EQ(category_of("slice"), Category::source);
  // MACE's documentation has Reshape and ExpandDims on the third list, its sources the latter.
  EXPECT_EQ(category_of("reshape"), Category::transposable);
  EXPECT_EQ(category_of("unsqueeze"), Category::source);
}

// What an operator becomes there is on one of its two lists, or it would say nothing.
TEST(Rule, RecordsNameOperatorsOfTheLists) {
  for (const auto* family : op_families()) {
    for (const OpDef& op : *family) {
      EXPECT_EQ(plan::rule_category(op) == Category::source, op.mace.empty()) << op.name;
    }
  }
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
  const WhyNot a = why_not(graph, {}, "conv4", "NCHW");
  EXPECT_TRUE(a.offered);  // at the least the reference is row-major
  EXPECT_EQ(a.op, "conv");
  if (!a.is_chosen) {
    EXPECT_GE(a.forced_us, a.cost_us);
  }
  EXPECT_NE(explain(a).find("conv4"), std::string::npos);
}

TEST(WhyNot, SaysWhatIsOfferedInstead) {
  const WhyNot a = why_not(mixed(), {}, "#1", "NWHC");
  EXPECT_FALSE(a.offered);
  EXPECT_NE(explain(a).find("no kernel offers NWHC"), std::string::npos) << explain(a);
}

TEST(WhyNot, RefusesWhatIsNotThere) {
  for (const auto& [node, layout] :
       {std::pair{"nobody", "NCHW"}, std::pair{"#99", "NCHW"}, std::pair{"conv0", "q r s t"},
        std::pair{"conv0", "n c/"}, std::pair{"conv0", "OIDHW"}}) {
    try {
      why_not(mixed(), {}, node, layout);
      ADD_FAILURE() << node << " " << layout;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
    }
  }
}

TEST(CallerLayouts, AreCountedFromTheLayoutThatTheCallerHas) {
  const auto graph = mixed();
  PlanOptions options;
  options.layouts.insert_or_assign("x", Layout::parse("NHWC"));
  const auto plan = make_plan(graph, options);
  EXPECT_EQ(plan->inputs[0].layout, Layout::parse("NHWC"));
  for (const ConversionReport& c : plan->conversions) {
    if (c.value == "x") {
      EXPECT_EQ(c.from, "NHWC");
    }
  }
  // What is given in the format that the plan reads needs no conversion at all.
  options.layouts.clear();
  options.layouts.insert_or_assign("x", Layout::parse(plan->nodes[0].inputs[0].layout));
  const auto same = make_plan(graph, options);
  for (const ConversionReport& c : same->conversions) EXPECT_NE(c.value, "x");
}

TEST(CallerLayouts, RefuseNamesAndAxesThatAreNotThere) {
  for (const auto& [name, layout] : {std::pair{"nobody", "NHWC"}, std::pair{"x", "OIDHW"}}) {
    PlanOptions options;
    options.layouts.insert_or_assign(name, Layout::parse(layout));
    try {
      make_plan(mixed(), options);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
    }
  }
}

// checklist 6.18, 6.21: ports have data formats, and a caller says his own, NONE included.
TEST(Formats, OfPortsAndOfTheCaller) {
  Net net;
  const ValueId t = net.transpose(net.input({1, 8, 9, 16}), {0, 3, 1, 2});
  const ValueId y = net.conv(t, 16, 32);
  const ValueId z = net.add("relu", {net.input({1, 8, 9, 16}, "z")});
  const auto graph = net.finish({y, z});
  const std::string name = graph->value(y).name;
  PlanOptions options;
  const auto plain = make_plan(graph, options);
  EXPECT_EQ(plain->inputs[0].port.data_format, DataFormat::nhwc);
  EXPECT_EQ(plain->inputs[1].port.data_format, DataFormat::none);
  EXPECT_EQ(plain->outputs[0].port.data_format, DataFormat::nchw);
  Session session(plain);
  EXPECT_EQ(session.inputs()[0].data_format, DataFormat::nhwc);

  options.formats = {{"x", DataFormat::nchw}, {name, DataFormat::nhwc}, {"z", DataFormat::none}};
  const auto said = make_plan(graph, options);
  EXPECT_EQ(said->inputs[0].layout, Layout::parse("NCHW"));
  EXPECT_EQ(said->outputs[0].layout, Layout::parse("NHWC"));
  EXPECT_EQ(said->inputs[0].port.data_format, DataFormat::nhwc);
  options.formats = {{"x", DataFormat::none}};
  EXPECT_EQ(make_plan(graph, options)->inputs[0].port.data_format, DataFormat::none);
  // A layout says more than a format.
  options.formats = {{"x", DataFormat::nhwc}};
  options.layouts.insert_or_assign("x", Layout::parse("CHWN"));
  EXPECT_EQ(make_plan(graph, options)->inputs[0].layout, Layout::parse("CHWN"));

  for (const auto& [wrong, format] :
       {std::pair{"z", DataFormat::nhwc}, {"z", DataFormat::nchw}, {"nobody", DataFormat::none}}) {
    PlanOptions bad;
    bad.formats = {{wrong, format}};
    try {
      make_plan(graph, bad);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
    }
  }
}

TEST(CallerLayouts, OutputsMayBeWantedInAnyOrder) {
  Net net;
  const ValueId y = net.conv(net.input({1, 16, 8, 8}), 16, 32);
  const auto graph = net.finish({y});
  PlanOptions options;
  options.layouts.insert_or_assign(graph->value(y).name, Layout::parse("NHWC"));
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
