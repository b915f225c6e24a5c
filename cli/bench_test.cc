// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

class Bench : public testing::Test {
 protected:
  std::string measured(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"bench", model_, "--runs", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  TestFolder folder_;
  std::string model_ = folder_.write("net, \"quoted\".onnx",
                                     test::image_model({"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}));
};

TEST_F(Bench, SeveralNumbersOfThreads) {
  const Json results = Json::parse(measured({"--threads", "1,2,1", "--json"}));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["threads"], 1);
  EXPECT_EQ(results[1]["threads"], 2);
  EXPECT_EQ(results[2]["threads"], 1);
  EXPECT_EQ(Json::parse(measured({"--threads", "2", "--json"}))["threads"], 2);
  const std::string text = measured({"--threads", "1,2"});
  EXPECT_NE(text.find(", 1 thread  min"), std::string::npos) << text;
  EXPECT_NE(text.find(", 2 threads  min"), std::string::npos) << text;
}

TEST_F(Bench, ShortTimesHaveThreeDigits) {
  const std::string line = measured({});
  for (const std::string key : {"min = ", "max = ", "avg = ", "median = "}) {
    const std::size_t at = line.find(key);
    ASSERT_NE(at, std::string::npos) << line;
    std::istringstream rest(line.substr(at + key.size()));
    std::string digits;
    rest >> digits;
    std::erase(digits, '.');
    digits.erase(0, digits.find_first_not_of('0'));
    EXPECT_GE(digits.size(), 3u) << line;
  }
}

TEST_F(Bench, CsvHasTheNamesOfItsColumnsAndALineForEach) {
  std::istringstream lines(measured({"--threads", "1,2", "--csv"}));
  std::string names, one, two, more;
  std::getline(lines, names);
  std::getline(lines, one);
  std::getline(lines, two);
  EXPECT_FALSE(std::getline(lines, more)) << more;
  EXPECT_TRUE(names.starts_with("model,device,threads,runs,")) << names;
  EXPECT_TRUE(one.starts_with("\"net, \"\"quoted\"\"\",\"cpu\",1,3,")) << one;
  EXPECT_TRUE(two.starts_with("\"net, \"\"quoted\"\"\",\"cpu\",2,3,")) << two;
  // The comma of the name is one more.
  EXPECT_EQ(std::ranges::count(one, ','), std::ranges::count(names, ',') + 1);
}

TEST_F(Bench, MinutesTakeThePlaceOfRuns) {
  const Json result = Json::parse(measured({"--minutes", "0.002", "--json"}));
  EXPECT_GT(result["runs"], 3) << "of some microseconds each";
  EXPECT_TRUE(result["drift_percent"].is_number());
  EXPECT_FALSE(Json::parse(measured({"--json"})).contains("drift_percent"));
}

TEST_F(Bench, LayersAreBesideWhatTheMachineCanDo) {
  const Json result = Json::parse(measured({"--layers", "--threads", "2", "--json"}));
  EXPECT_GT(result["peaks"]["gflops"], 0);
  EXPECT_GT(result["peaks"]["gb_per_s"]["memory"], 0);
  ASSERT_FALSE(result["layers"].empty());
  for (const char* rows : {"layers", "kernels"}) {
    for (const Json& row : result[rows]) {
      for (const char* key : {"us", "predicted_us", "flops", "bytes", "limit_us"}) {
        EXPECT_TRUE(row[key].is_number()) << rows << " " << key;
      }
    }
  }
  EXPECT_LE(result["furthest"].size(), 5u);
  for (const Json& far : result["furthest"]) {
    EXPECT_LT(far["layer"], result["layers"].size());
    EXPECT_GT(far["us"], far["limit_us"]);
    EXPECT_FALSE(far["why"].get<std::string>().empty());
  }
  EXPECT_FALSE(Json::parse(measured({"--json"})).contains("peaks"));
  EXPECT_NE(measured({"--layers"}).find("Furthest from the limit of"), std::string::npos);
}

TEST_F(Bench, Refusals) {
  const struct {
    std::vector<std::string> arguments;
    const char* words;
  } cases[] = {
      {{"--minutes", "-1"}, "--minutes -1"},
      {{"--threads", "1,x"}, "'1,x' is no number; --threads N[,N...]"},
      {{"--threads", "1,,2"}, "'1,,2' is no number; --threads N[,N...]"},
      {{"--threads", "1,0"}, "--threads 0"},
      {{"--csv", "--json"}, "--csv"},
      {{"--threads", "1,2", "--trace", folder_.path("t.json")}, "one number of threads"},
  };

  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"bench", model_};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 2) << c.words;
    EXPECT_NE(outcome.err.find(c.words), std::string::npos) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace stowage::cli
