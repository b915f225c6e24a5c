// SPDX-License-Identifier: Apache-2.0
// The structure of what Model Explorer reads; tests/suite/check_model_explorer.py loads it
// with the classes of its package.
#include "cli/model_explorer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

struct Files {
  Json graph, layout, predicted;
};

Files written(const TestFolder& folder, const std::vector<std::string>& more) {
  const std::string m =
      folder.write("net.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  std::vector<std::string> arguments = {"plan", m, "--model-explorer", folder.path("net.json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = stowage(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return {Json::parse(folder.read("net.json")), Json::parse(folder.read("net.layout.json")),
          Json::parse(folder.read("net.predicted.json"))};
}

TEST(ModelExplorer, GraphIsConnectedFromInputsToOutputs) {
  const TestFolder folder;
  // The caller's order is another one, so that there are conversions.
  const Files files = written(folder, {"--input-format", "NHWC"});
  EXPECT_EQ(files.graph["label"], "net");
  ASSERT_EQ(files.graph["graphs"].size(), 1u);
  const Json& graph = files.graph["graphs"][0];
  std::set<std::string> ids, labels;
  for (const Json& node : graph["nodes"]) {
    EXPECT_TRUE(ids.insert(node["id"].get<std::string>()).second) << node["id"];
    labels.insert(node["label"].get<std::string>());
  }
  EXPECT_EQ(labels, (std::set<std::string>{"model input", "relu", "max_pool", "conversion",
                                           "model output"}));
  for (const Json& node : graph["nodes"]) {
    const bool input = node["label"] == "model input";
    EXPECT_EQ(node["incomingEdges"].size(), input ? 0u : 1u) << node;
    for (const Json& edge : node["incomingEdges"]) {
      EXPECT_EQ(ids.count(edge["sourceNodeId"].get<std::string>()), 1u) << edge;
      EXPECT_NE(edge["sourceNodeId"], node["id"]) << "an edge to itself";
      EXPECT_TRUE(edge["sourceNodeOutputId"].is_string() && edge["targetNodeInputId"].is_string());
    }
    for (const char* list : {"attrs", "inputsMetadata", "outputsMetadata"}) {
      EXPECT_TRUE(node[list].is_array()) << list;
    }
    for (const Json& attribute : node["attrs"]) {
      EXPECT_TRUE(attribute["key"].is_string() && attribute["value"].is_string()) << attribute;
    }
  }
}

TEST(ModelExplorer, OverlaysKnowTheNodesOfTheGraph) {
  const TestFolder folder;
  const Files files = written(folder, {});
  const Json& graph = files.graph["graphs"][0];
  std::set<std::string> ids;
  for (const Json& node : graph["nodes"]) ids.insert(node["id"].get<std::string>());
  for (const Json* overlay : {&files.layout, &files.predicted}) {
    ASSERT_EQ(overlay->size(), 1u);
    const Json& data = (*overlay)["net"];
    EXPECT_TRUE(data["name"].is_string());
    EXPECT_FALSE(data["results"].empty());
    for (const auto& [id, result] : data["results"].items()) {
      EXPECT_EQ(ids.count(id), 1u) << id;
      EXPECT_TRUE(result.contains("value")) << result;
    }
  }
  EXPECT_EQ(files.layout["net"]["results"].size(), ids.size()) << "every node has a layout";
  for (const auto& [id, result] : files.layout["net"]["results"].items()) {
    EXPECT_EQ(result["bgColor"].get<std::string>().size(), 7u) << id;
  }
  EXPECT_EQ(files.predicted["net"]["gradient"].front()["stop"], 0);
  EXPECT_EQ(files.predicted["net"]["gradient"].back()["stop"], 1);
}

TEST(ModelExplorer, BenchAddsTheMeasuredTimes) {
  const TestFolder folder;
  const std::string m =
      folder.write("net.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const Outcome outcome = stowage(
      {"bench", m, "--runs", "1", "--warmup", "0", "--model-explorer", folder.path("net.json")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json measured = Json::parse(folder.read("net.measured.json"));
  EXPECT_EQ(measured["net"]["name"], "measured (us)");
  EXPECT_GT(measured["net"]["results"]["#1"]["value"].get<double>(), 0);
  EXPECT_NE(outcome.out.find("wrote "), std::string::npos) << outcome.out;
}

TEST(ModelExplorer, NothingIsWrittenWhereOneFileCannotBe) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", test::model("Relu", {{"x", {1, 2}}}, {"y", {1, 2}}));
  const Outcome outcome =
      stowage({"plan", m, "--model-explorer", folder.path("no/such/folder/m.json")});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

}  // namespace
}  // namespace stowage::cli
