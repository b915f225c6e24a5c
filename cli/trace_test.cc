// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

PlanReport two_steps() {
  PlanReport plan;
  plan.threads = 2;
  plan.conversions.push_back({.value = "x", .from = "nchw", .to = "nhwc", .bytes = 64});
  NodeReport node;
  node.node = 7;
  node.name = "relu";
  node.op = "relu";
  node.outputs = {{.name = "y", .layout = "nhwc"}};
  plan.nodes.push_back(node);
  plan.steps = {
      {PlanReport::Step::Kind::convert, "x", "", "", -1, 0},
      {PlanReport::Step::Kind::call, "relu", "relu", "map", 7, -1},
  };
  plan.arena = {{1, "x", "nhwc", 0, 100, 0, 1}, {2, "y", "nhwc", 128, 50, 1, 1}};
  return plan;
}

std::vector<Json> events(const Json& trace, const std::string& phase) {
  std::vector<Json> out;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) out.push_back(event);
  }
  return out;
}

TEST(Trace, StepsFollowEachOtherWithinTheirRun) {
  const std::vector<std::vector<double>> runs = {{3, 4}, {5, 6}};
  const Json all = trace(two_steps(), "net", runs);
  const std::vector<Json> slices = events(all, "X");
  const std::vector<std::tuple<std::string, double, double>> want = {
      {"run 1", 0, 7}, {"x", 0, 3}, {"relu", 3, 4}, {"run 2", 7, 11}, {"x", 7, 5}, {"relu", 12, 6}};
  ASSERT_EQ(slices.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(slices[i]["name"], std::get<0>(want[i]));
    EXPECT_EQ(slices[i]["ts"], std::get<1>(want[i])) << i;
    EXPECT_EQ(slices[i]["dur"], std::get<2>(want[i])) << i;
  }
  EXPECT_EQ(slices[1]["cat"], "conversion");
  EXPECT_EQ(slices[1]["args"]["to"], "nhwc");
  EXPECT_EQ(slices[2]["args"]["kernel"], "map");
  EXPECT_EQ(slices[2]["args"]["outputs"]["y"], "nhwc");
}

TEST(Trace, ArenaIsInUseFromFirstToLastStep) {
  const std::vector<std::vector<double>> runs = {{3, 4}};
  const Json all = trace(two_steps(), "net", runs);
  const std::vector<Json> used = events(all, "C");
  ASSERT_EQ(used.size(), 3u);
  EXPECT_EQ(used[0]["args"]["bytes"], 100);
  EXPECT_EQ(used[1]["args"]["bytes"], 150);
  EXPECT_EQ(used[2]["args"]["bytes"], 0);
  const std::vector<Json> begins = events(all, "b"), ends = events(all, "e");
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(begins[1]["ts"], 3);
  EXPECT_EQ(ends[1]["ts"], 7);
  EXPECT_EQ(begins[1]["args"]["offset"], 128);
}

TEST(Trace, BenchWritesEveryStepOfEachRun) {
  const TestFolder folder;
  const std::string m =
      folder.write("net.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const Outcome outcome =
      stowage({"bench", m, "--runs", "3", "--layers", "--json", "--trace", folder.path("t.json")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json told = Json::parse(outcome.out), all = Json::parse(folder.read("t.json"));
  std::map<std::string, std::size_t> names;
  for (const Json& slice : events(all, "X")) ++names[slice["name"].get<std::string>()];
  EXPECT_EQ(names["run 1"], 1u);
  EXPECT_EQ(names["run 3"], 1u);
  std::map<std::string, std::size_t> want;
  for (const Json& layer : told["layers"]) want[layer["name"].get<std::string>()] += 3;
  for (const auto& [name, count] : want) EXPECT_EQ(names[name], count) << name;
  std::size_t steps = 0;
  for (const Json& kernel : told["kernels"]) steps += kernel["steps"].get<std::size_t>();
  EXPECT_EQ(steps, told["layers"].size());
}

}  // namespace
}  // namespace stowage::cli
