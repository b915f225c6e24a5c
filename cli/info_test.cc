// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

using test::model;

TEST(CliInfo, TellsPortsOperatorsParametersAndWork) {
  const TestFolder folder;
  const std::string m = folder.write(
      "m.onnx", model("MatMul", {{"a", {-1, 8, 16}}, {"b", {16, 4}}}, {"y", {-1, 8, 4}}));
  const Outcome open = stowage({"info", m});
  ASSERT_EQ(open.code, 0) << open.err;
  for (const char* line :
       {"ONNX, IR version 8, opset 13\n", "graph 'a_graph'\n", "  a  f32  [a_0, 8, 16]\n",
        "operators: 1 of 1 kinds\n  MatMul      1\n", "parameters  0, 0.0 MB\n"}) {
    EXPECT_NE(open.out.find(line), std::string::npos) << line << open.out;
  }
  const Outcome bound = stowage({"info", m, "--shape", "a=3,8,16", "--json"});
  ASSERT_EQ(bound.code, 0) << bound.err;
  const Json json = Json::parse(bound.out);
  EXPECT_EQ(json["format"], "ONNX");
  EXPECT_EQ(json["opsets"]["ai.onnx"], 13);
  EXPECT_EQ(json["inputs"][0]["shape"], Json::parse(R"(["a_0", 8, 16])"));
  EXPECT_EQ(json["flops"], 2.0 * 3 * 8 * 16 * 4);
}

TEST(CliInfo, WhatIsNotSupportedIsToldAndNoError) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", model("Snake", {{"x", {4}}}, {"y", {4}}));
  const Outcome outcome = stowage({"info", m});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Snake      1  not supported\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not known: some operators are not supported"), std::string::npos)
      << outcome.out;
}

TEST(CliInfo, Refusals) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", model("Relu", {{"x", {4}}}, {"y", {4}}));
  EXPECT_EQ(stowage({"info"}).code, 2);
  EXPECT_EQ(stowage({"info", folder.path("none.onnx")}).code, 3);
  EXPECT_EQ(stowage({"info", folder.write("bad.onnx", "no model")}).code, 3);
  EXPECT_EQ(stowage({"info", m, "--shape", "z=4"}).code, 2);
}

}  // namespace
}  // namespace stowage::cli
