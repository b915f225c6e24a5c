// SPDX-License-Identifier: Apache-2.0
// What plans of real models must hold, and golden plans, which people have read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/op_def.h"
#include "plan/build.h"
#include "plan/plan.h"
#include "stowage/model.h"

namespace stowage {
namespace {

namespace fs = std::filesystem;

const std::string kData = STOWAGE_TEST_DATA, kSource = STOWAGE_SOURCE_DIR;

/// The folder of "models/..." or "zoo/...", or nothing where there is no test data.
fs::path folder_of(const std::string& line) {
  const fs::path folder =
      line.starts_with("zoo/") ? fs::path(kSource) / "build" / line : fs::path(kData) / line;
  return !kData.empty() && fs::exists(folder / "model.onnx") ? folder : fs::path();
}

std::vector<std::string> model_list() {
  std::vector<std::string> out;
  std::ifstream file(kSource + "/tests/suite/models.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

std::shared_ptr<Graph> load(const fs::path& folder) {
  auto graph = import_model((folder / "model.onnx").string());
  simplify(*graph);
  return graph;
}

std::string base_name(const std::string& line) { return line.substr(line.rfind('/') + 1); }

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string out = base_name(info.param);
  for (char& c : out) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

class PlannerModels : public testing::TestWithParam<std::string> {};

TEST_P(PlannerModels, OptimalCostsAtMostTheBaselines) {
  const fs::path folder = folder_of(GetParam());
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  for (const int threads : {1, 4}) {
    PlanOptions options;
    options.threads = threads;
    const plan::Decision d = plan::decide(*load(folder), options);
    EXPECT_LE(d.chosen.cost, d.rule.cost);
    EXPECT_LE(d.chosen.cost, d.source.cost);
    EXPECT_LE(d.chosen.lower_bound, d.chosen.cost);
    const auto again = plan::evaluate(d.problem, d.chosen.choice);
    EXPECT_NEAR(again.cost, d.chosen.cost, 1e-6 * d.chosen.cost);
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, PlannerModels, testing::ValuesIn(model_list()), test_name);

/// Convolutional nets without a reason to convert anything but what comes and goes.
class DoorsOnly : public testing::TestWithParam<std::string> {};

TEST_P(DoorsOnly, ConvertsAtTheDoorsAndNowhereElse) {
  const fs::path folder = folder_of(GetParam());
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  const auto plan = make_plan(load(folder));
  EXPECT_LE(plan->conversions.size(), plan->inputs.size() + plan->outputs.size());
  for (const ConversionReport& c : plan->conversions) {
    EXPECT_TRUE(c.reason.starts_with("model input") || c.reason.starts_with("model output"))
        << c.value << ": " << c.from << " -> " << c.to << ", " << c.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, DoorsOnly,
                         testing::Values("zoo/tv_resnet18", "zoo/tv_resnet50",
                                         "zoo/tv_mobilenet_v2", "zoo/tv_squeezenet1_1",
                                         "zoo/unet_small"),
                         test_name);

TEST(PlannerModels, BlazefaceMovesNoByteForItsTransposes) {
  const fs::path folder = folder_of("models/onnx/blazeface_front");
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  const auto plan = make_plan(load(folder));
  int transposes = 0;
  for (const NodeReport& n : plan->nodes) {
    if (n.op != "transpose") continue;
    ++transposes;
    EXPECT_EQ(n.kernel, "relabel") << n.name;
  }
  EXPECT_GT(transposes, 0);
}

}  // namespace
}  // namespace stowage
