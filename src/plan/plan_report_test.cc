// SPDX-License-Identifier: Apache-2.0
// The public face of a plan says what the plan keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "plan/plan.h"
#include "plan/test_net.h"
#include "stowage/machine.h"

namespace stowage {
namespace {

/// Two convolutions, a concatenation of their results, and a reshape.
std::shared_ptr<Graph> net() {
  Net n;
  const ValueId x = n.input({1, 8, 6, 6});
  Attributes axis;
  axis.set("axis", std::int64_t{1});
  const ValueId a = n.conv(x, 8, 16), b = n.conv(x, 8, 16);
  return n.finish({n.reshape(n.add("concat", {a, b}, axis), {1, -1})});
}

TEST(PlanReport, CopiesThePlan) {
  const auto graph = net();
  const std::vector<Port> in = input_ports(*graph), out = output_ports(*graph);
  const auto plan = make_plan(graph);
  const PlanReport r = report(*plan);
  EXPECT_EQ(r.planner, "optimal");
  EXPECT_EQ(r.threads, 1);
  EXPECT_EQ(r.lanes, vector_lanes());
  ASSERT_EQ(r.inputs.size(), 1u);
  EXPECT_EQ(r.inputs[0].port.name, in[0].name);
  EXPECT_EQ(r.inputs[0].port.shape, in[0].shape);
  ASSERT_EQ(r.outputs.size(), 1u);
  EXPECT_EQ(r.outputs[0].port.name, out[0].name);
  EXPECT_EQ(r.outputs[0].id, plan->outputs[0].value);
  EXPECT_EQ(r.nodes.size(), plan->nodes.size());
  EXPECT_EQ(r.conversions.size(), plan->conversions.size());
  EXPECT_EQ(r.arena_bytes, plan->arena_bytes);
  EXPECT_EQ(r.weight_bytes, plan->weight_bytes);
  EXPECT_EQ(r.cost_us, plan->cost_us);
  EXPECT_EQ(r.history, plan->history);
}

TEST(PlanReport, TellsConstantsFromComputedValues) {
  const PlanReport r = report(*make_plan(net()));
  for (const NodeReport& node : r.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool weights = node.op == "conv" ? i > 0 : node.op == "reshape" && i == 1;
      EXPECT_EQ(node.inputs[i].constant, weights) << node.name << " input " << i;
    }
  }
}

// Session::step_us has a time for each.
TEST(PlanReport, StepsAreThoseOfARun) {
  const auto plan = make_plan(net());
  const PlanReport r = report(*plan);
  for (const PlanReport::Step& step : r.steps) {
    const bool convert = step.kind == PlanReport::Step::Kind::convert;
    EXPECT_EQ(step.kernel.empty(), convert) << step.name;
    EXPECT_FALSE(step.name.empty());
  }
  Session session(plan);
  session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
  session.run();
  session.profile(true);
  EXPECT_TRUE(session.step_us().empty());
  session.run();
  ASSERT_EQ(session.step_us().size(), r.steps.size());
  const std::vector<double> measured(session.step_us().begin(), session.step_us().end());
  for (const double us : measured) EXPECT_GT(us, 0);
  session.profile(false);
  session.run();
  EXPECT_TRUE(std::ranges::equal(session.step_us(), measured));
}

TEST(PlanReport, StepsSayWhoseTheyAre) {
  const PlanReport r = report(*make_plan(net()));
  std::set<int> nodes;
  for (const NodeReport& n : r.nodes) nodes.insert(n.node);
  std::set<int> conversions;
  for (const PlanReport::Step& step : r.steps) {
    if (step.kind == PlanReport::Step::Kind::call) {
      EXPECT_EQ(nodes.count(step.node), 1u) << step.name;
      EXPECT_EQ(step.conversion, -1);
      continue;
    }
    EXPECT_EQ(step.node, -1);
    ASSERT_GE(step.conversion, 0) << step.name;
    EXPECT_EQ(r.conversions.at(static_cast<std::size_t>(step.conversion)).value, step.name);
    EXPECT_TRUE(conversions.insert(step.conversion).second) << "two steps are one conversion";
  }
}

TEST(PlanReport, TellsWhatANodeWasAskedToDo) {
  Net n;
  const ValueId x = n.input({1, 8, 6, 6});
  const ValueId a = n.conv(x, 8, 16);
  Attributes window;
  window.set("kernel_shape", Ints{2, 2});
  window.set("strides", Ints{2, 2});
  const auto graph = n.finish({n.add("max_pool", {n.add("relu", {a})}, window)});
  simplify(*graph);
  const PlanReport r = report(*make_plan(graph));
  ASSERT_EQ(r.nodes.size(), 2u);
  const auto detail = [](const NodeReport& node, std::string_view name) -> std::string {
    for (const NodeReport::Detail& d : node.details) {
      if (d.name == name) return d.value;
    }
    return "";
  };
  EXPECT_EQ(detail(r.nodes[0], "posts"), "relu");
  EXPECT_EQ(detail(r.nodes[0], "strides"), "1, 1") << "known, though nobody said so";
  EXPECT_EQ(detail(r.nodes[1], "kernel_shape"), "2, 2");
  EXPECT_EQ(detail(r.nodes[1], "strides"), "2, 2");
  EXPECT_EQ(r.nodes[1].inputs[0].shape, Shape("nchw", {1, 16, 6, 6}));
}

TEST(PlanReport, BlocksShareNoByteWhileBothAreInUse) {
  const PlanReport r = report(*make_plan(net()));
  ASSERT_FALSE(r.arena.empty());
  const auto last = static_cast<int>(r.steps.size()) - 1;
  for (const PlanReport::Block& a : r.arena) {
    EXPECT_LE(a.offset + a.bytes, r.arena_bytes) << a.name;
    EXPECT_TRUE(0 <= a.first && a.first <= a.last && a.last <= last) << a.name;
    for (const PlanReport::Block& b : r.arena) {
      if (&a == &b || a.last < b.first || b.last < a.first) continue;
      // Results in place begin in the step in which their input ends.
      if (a.last == b.first || b.last == a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.name << " and " << b.name;
    }
  }
}

}  // namespace
}  // namespace stowage
