// SPDX-License-Identifier: Apache-2.0
// stowage plan as page, --why-not, formats of inputs and outputs; stowage calibrate.
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/rates.h"
#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

using test::model;

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// The plan that a page holds.
Json data_of(const std::string& page) {
  const std::size_t begin = page.find("id=\"data\">") + 10;
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(CliPlan, PageIsWholeAndNamesAreNoMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&";
  const TestFolder folder;
  folder.write("good.onnx", model("Relu", {{"x", {1, 3, 4, 5}}}, {"y", {1, 3, 4, 5}}));
  folder.write("evil.onnx", model("Relu", {{evil, {1, 3, 4, 5}}}, {evil + "y", {1, 3, 4, 5}}));
  std::vector<std::string> pages;
  for (const char* name : {"good", "evil"}) {
    const std::string page = folder.path(std::string(name) + ".html");
    const Outcome outcome =
        stowage({"plan", folder.path(std::string(name) + ".onnx"), "--html", page});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    pages.push_back(folder.read(std::string(name) + ".html"));
  }
  for (const char* tag : {"<script", "</script", "<img", "<"}) {
    EXPECT_EQ(count(pages[0], tag), count(pages[1], tag)) << tag;
  }
  EXPECT_EQ(count(pages[0], "@PLAN_"), 0u);
  const Json json = data_of(pages[1]);
  EXPECT_EQ(json["nodes"].size(), 1u);
  EXPECT_EQ(json["inputs"][0]["name"].get<std::string>().substr(0, 8), "</script");
  for (const char* key : {"arena", "inputs", "outputs", "model"}) EXPECT_TRUE(json.contains(key));
}

TEST(CliPlan, JsonHasShapesAsNumbersAndWhatOperatorsWereAsked) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const Outcome outcome = stowage({"plan", m, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  const Json shape = {2, 3, 4, 5}, axes = {"n", "c", "h", "w"};
  const Json& pool = json["nodes"].back();
  for (const Json* port :
       {&json["inputs"][0], &json["outputs"][0], &pool["inputs"][0], &pool["outputs"][0]}) {
    EXPECT_EQ((*port)["shape"], shape);
    EXPECT_EQ((*port)["axes"], axes);
    EXPECT_EQ((*port)["type"], "f32");
  }
  EXPECT_EQ(pool["details"]["kernel_shape"], "1, 1");
  EXPECT_FALSE(json.contains("measured_us"));
  int tensors = 0;
  for (const Json& layout : json["layouts"]) {
    EXPECT_FALSE(layout["meaning"].get<std::string>().empty()) << layout;
    EXPECT_EQ(layout.contains("colour"), layout["tensors"] > 0) << layout;
    tensors += layout["tensors"].get<int>();
  }
  EXPECT_GE(tensors, 3);
  std::size_t operators = 0;
  for (const Json& kernel : json["kernels"]) operators += kernel["operators"].get<std::size_t>();
  EXPECT_EQ(operators, json["nodes"].size());
}

TEST(CliPlan, SummaryIsShort) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const Outcome outcome = stowage({"plan", m, "--summary", "--threads", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LE(count(outcome.out, "\n"), 12u) << outcome.out;
  for (const char* words : {"model        m: 2 operators", "layouts ", "conversions ", "kernels ",
                            "memory       weights ", "1 thread)", "MACE's rule", "source order"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  EXPECT_EQ(stowage({"plan", m, "--summary", "--json"}).code, 2);
  // With a page, it is printed behind what was written.
  const Outcome both = stowage({"plan", m, "--summary", "--html", folder.path("m.html")});
  EXPECT_EQ(both.out.rfind("wrote ", 0), 0u) << both.out;
  EXPECT_NE(both.out.find("layouts "), std::string::npos) << both.out;
}

TEST(CliPlan, BenchWritesMeasuredTimes) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const std::string page = folder.path("m.html");
  const Outcome outcome = stowage({"bench", m, "--runs", "1", "--warmup", "0", "--html", page});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = data_of(folder.read("m.html"));
  double sum = 0;
  for (const char* list : {"nodes", "conversions"}) {
    for (const Json& one : json[list]) sum += one.value("measured_us", 0.0);
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(sum, json["measured_us"].get<double>(), 1e-6);
}

TEST(CliPlan, MeasureTellsWhatEachStepTook) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const Outcome plain = stowage({"plan", m}), measured = stowage({"plan", m, "--measure"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_EQ(count(plain.out, "measured"), 0u) << plain.out;
  EXPECT_GE(count(measured.out, "us, measured "), 1u) << measured.out;
  EXPECT_EQ(count(measured.out, "\nmeasured: "), 1u) << measured.out;
  const Outcome summary = stowage({"plan", m, "--measure", "--summary"});
  EXPECT_EQ(count(summary.out, "\nmeasured     "), 1u) << summary.out;
  const Json json = Json::parse(stowage({"plan", m, "--measure", "--json"}).out);
  EXPECT_GT(json["measured_us"].get<double>(), 0);
  const std::string page = folder.path("m.html");
  ASSERT_EQ(stowage({"plan", m, "--measure", "--html", page}).code, 0);
  EXPECT_GT(data_of(folder.read("m.html"))["measured_us"].get<double>(), 0);
  EXPECT_EQ(stowage({"plan", m, "--measure", "--why-not", "#1=NHWC"}).code, 2);
}

TEST(CliPlan, WhyNot) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", model("Relu", {{"x", {2, 3, 4, 5}}}, {"y", {2, 3, 4, 5}}));
  const Outcome text = stowage({"plan", m, "--why-not", "the_node=NCHW"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("relu 'the_node'"), std::string::npos) << text.out;
  const Outcome json = stowage({"plan", m, "--why-not", "#1=n w h c", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["offered"], false);
  for (const auto& [what, words] :
       {std::pair{"the_node", "NODE=LAYOUT"}, std::pair{"=NCHW", "NODE=LAYOUT"},
        std::pair{"other=NCHW", "'other'"}, std::pair{"the_node=NCHX", "other axes"},
        std::pair{"the_node=n c/", "column"}}) {
    const Outcome bad = stowage({"plan", m, "--why-not", what});
    EXPECT_EQ(bad.code, 2) << what;
    EXPECT_NE(bad.err.find(words), std::string::npos) << bad.err;
  }
}

TEST(CliPlan, FormatsOfInputsAndOutputsAreSeen) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
  const auto layout = [&](const std::vector<std::string>& more, const char* side) {
    std::vector<std::string> arguments = {"plan", m, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)[side][0]["layout"].get<std::string>();
  };
  const std::string given = layout({}, "inputs");
  EXPECT_EQ(layout({"--input-format", "x=NCHW"}, "inputs"), given);
  EXPECT_EQ(layout({"--input-format", "x=NONE"}, "inputs"), given);
  EXPECT_NE(layout({"--input-format", "x=NHWC"}, "inputs"), given);
  EXPECT_EQ(layout({"--input-format", "x=NHWC"}, "outputs"), given);
  EXPECT_NE(layout({"--output-format", "NHWC"}, "outputs"), given);
}

TEST(CliCalibrate, KeepsRatesAndPlansUseThem) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", model("Relu", {{"x", {1, 64, 32, 32}}}, {"y", {1, 64, 32, 32}}));
  const std::string file = folder.path("deep/rates.json");
  Rates slow;
  for (const RateName& r : rate_names()) slow.*r.member /= 8;
  slow.call_us = 100;
  const ConversionTuning kept{.prefetch_for_write = true, .streams = 7, .non_temporal = true};
  save_rates(file, {slow, kept});
  EXPECT_EQ(load_rates(file).conversions, kept);
  EXPECT_EQ(load_rates("default").conversions.streams, default_conversion_tuning().streams);
  const Rates back = load_rates(file).rates;
  for (const RateName& r : rate_names()) EXPECT_EQ(back.*r.member, slow.*r.member) << r.name;
  const auto cost = [&](const std::string& rates) {
    const Outcome outcome = stowage({"plan", m, "--json", "--threads", "1", "--rates", rates});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["cost_us"].get<double>();
  };
  EXPECT_GT(cost(file), 2 * cost("default"));

  const Outcome measured = stowage({"calibrate", "--rates", file, "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Rates own = load_rates(file).rates;
  for (const RateName& r : rate_names()) {
    EXPECT_EQ(Json::parse(measured.out)["rates"][r.name].get<double>(), own.*r.member);
    EXPECT_GT(own.*r.member, 0) << r.name;
  }
  EXPECT_EQ(Json::parse(measured.out)["conversions"]["streams"].get<int>(),
            load_rates(file).conversions.streams);
}

TEST(CliCalibrate, RefusesWhatNoConversionTakes) {
  const TestFolder folder;
  const std::string file = folder.path("rates.json");
  save_rates(file, {{}, {}});
  std::ifstream in(file);
  Json json = Json::parse(in);
  for (const Json& wrong :
       {Json(3), Json::object(), Json({{"prefetch_for_write", 1}, {"streams", 0}}),
        Json({{"prefetch_for_write", true}, {"streams", -1}}),
        Json({{"prefetch_for_write", true}, {"streams", 0}, {"non_temporal", 1}}),
        Json({{"prefetch_for_write", true}, {"streams", 1e9}}),
        Json({{"prefetch_for_write", true}, {"streams", kMostStreams + 1}})}) {
    for (auto& machine : json["machines"]) machine["conversions"] = wrong;
    folder.write("rates.json", json.dump());
    try {
      load_rates(file);
      ADD_FAILURE() << wrong.dump();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_NE(std::string(e.what()).find("'conversions' takes"), std::string::npos) << e.what();
    }
  }
}

TEST(CliCalibrate, RefusesOtherFiles) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", model("Relu", {{"x", {1, 2}}}, {"y", {1, 2}}));
  for (const auto& [text, words] :
       {std::pair{"", "no file of rates"}, std::pair{"[1]", "no file of rates"},
        std::pair{"{\"machines\": 3}", "no file of rates"},
        std::pair{"{\"machines\": {}}", "no rates for this machine"}}) {
    const std::string file = folder.write("rates.json", text);
    const Outcome outcome = stowage({"plan", m, "--rates", file});
    EXPECT_EQ(outcome.code, 3) << text;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(stowage({"plan", m, "--rates", folder.path("none.json")}).code, 3);
}

}  // namespace
}  // namespace stowage::cli
