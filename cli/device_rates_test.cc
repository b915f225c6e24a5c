// SPDX-License-Identifier: Apache-2.0
// stowage calibrate and selftest for devices, and what plans make of the files that they keep.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/rates.h"
#include "cli/selftest.h"
#include "cli/test_cli.h"
#include "cli/test_models.h"
#include "tests/suite/opencl_device.h"

namespace stowage::cli {
namespace {

using test::model;

DeviceFacts facts_of(const std::string& name, const std::string& driver) {
  DeviceFacts facts;
  facts.name = name;
  facts.driver = driver;
  facts.rates.launch_us = 77;
  return facts;
}

TEST(CliDeviceRates, AreKeptByDeviceAndDriver) {
  const TestFolder folder;
  const std::string file = folder.path("deep/rates.json");
  const DeviceFacts ours = facts_of("a", "1"), newer = facts_of("a", "2");
  DeviceRates slow;
  for (const DeviceRateName& r : device_rate_names()) slow.*r.member /= 8;
  save_device_rates(file, ours, slow);
  // With those of the machine beside them, written before and after.
  EXPECT_EQ(load_rates(file).rates.call_us, Rates{}.call_us);
  save_rates(file, {{.call_us = 5}, {}});
  save_device_rates(file, facts_of("b", "1"), {});
  EXPECT_EQ(load_rates(file).rates.call_us, 5);
  const DeviceRates back = load_device_rates(file, ours);
  for (const DeviceRateName& r : device_rate_names()) EXPECT_EQ(back.*r.member, slow.*r.member);
  EXPECT_EQ(load_device_rates(file, newer).launch_us, 77);
  EXPECT_EQ(load_device_rates("default", ours).launch_us, 77);

  const std::string bad =
      folder.write("bad.json", R"({"machines": {}, "devices": {"a, 1": {"launch_us": -1}}})");
  EXPECT_THROW(load_device_rates(bad, ours), Error);
  EXPECT_EQ(load_device_rates(bad, newer).launch_us, 77);
}

TEST(CliSelftest, FailuresAreKeptByDeviceAndDriver) {
  const TestFolder folder;
  const std::string rates = folder.path("deep/rates.json"), file = selftest_file(rates);
  EXPECT_EQ(file, folder.path("deep/selftest.json"));
  const DeviceFacts ours = facts_of("a", "1"), newer = facts_of("a", "2");
  EXPECT_TRUE(failed_kernels(rates, ours).empty());
  const std::vector<KernelCheck> one = {{"cl_x", "it is wrong"}, {"cl_y", ""}};
  save_selftest(file, ours, one);
  EXPECT_EQ(failed_kernels(rates, ours), std::vector<std::string>{"cl_x"});
  EXPECT_TRUE(failed_kernels(rates, newer).empty());
  save_selftest(file, newer, std::vector<KernelCheck>{{"cl_y", "a driver's bug"}});
  EXPECT_EQ(failed_kernels(rates, ours), std::vector<std::string>{"cl_x"});
  save_selftest(file, ours, std::vector<KernelCheck>{{"cl_x", ""}});
  EXPECT_TRUE(failed_kernels(rates, ours).empty());
  EXPECT_EQ(failed_kernels(rates, newer), std::vector<std::string>{"cl_y"});
  for (const char* text : {"", "[1]", "{\"devices\": 3}"}) {
    folder.write("deep/selftest.json", text);
    EXPECT_THROW(failed_kernels(rates, ours), Error) << text;
  }
}

TEST(CliSelftest, IsForDevices) {
  EXPECT_EQ(stowage({"selftest", "--device", "cpu", "--dry-run"}).code, 2);
  EXPECT_EQ(stowage({"selftest", "--device", "gpu", "--dry-run"}).code, 2);
  EXPECT_EQ(stowage({"calibrate", "--device", "gpu", "--dry-run"}).code, 2);
}

/// Of the cheapest way to run the only node with this kernel.
double cost_with(const Json& plan, const std::string& kernel) {
  const Json& node = plan["nodes"][0];
  double cost = INFINITY;
  if (node["kernel"] == kernel) cost = node["cost_us"].get<double>();
  for (const Json& lost : node["lost"]) {
    if (lost["kernel"] == kernel) cost = std::min(cost, lost["cost_us"].get<double>());
  }
  return cost;
}

TEST(CliDevice, PlansGoByTheFilesOfTheDevice) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const DeviceFacts facts = opencl_devices()[0];
  const TestFolder folder;
  const std::string file = folder.path("rates.json");
  const std::string m =
      folder.write("m.onnx", model("Softmax", {{"x", {2, 3, 5}}}, {"y", {2, 3, 5}}));
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan", m, "--device", "opencl", "--rates", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  DeviceRates rates;
  rates.launch_us = 12345;
  save_device_rates(file, facts, rates);
  const Json slow = Json::parse(plan({"--json"}));
  EXPECT_GE(cost_with(slow, "cl_softmax"), 12345);
  EXPECT_LT(cost_with(slow, "cl_softmax"), 12400);
  EXPECT_TRUE(slow["avoided"].empty());
  const std::string limits = folder.write("limits.yaml", "rates: {launch_us: 777}\n");
  EXPECT_LT(cost_with(Json::parse(plan({"--json", "--device-limits", limits})), "cl_softmax"), 800);

  save_selftest(selftest_file(file), facts, std::vector<KernelCheck>{{"cl_softmax", "wrong"}});
  const Json without = Json::parse(plan({"--json"}));
  EXPECT_EQ(cost_with(without, "cl_softmax"), INFINITY);
  ASSERT_EQ(without["avoided"].size(), 1u);
  EXPECT_EQ(without["avoided"][0]["kernel"], "cl_softmax");
  EXPECT_EQ(without["avoided"][0]["device"], facts.name);
  EXPECT_NE(plan({}).find("avoided on " + facts.name +
                          ": cl_softmax (failed selftest, or left out by wish)"),
            std::string::npos);
}

TEST(CliDevice, CalibrateKeepsWhatItMeasured) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const TestFolder folder;
  const std::string file = folder.path("rates.json");
  const Outcome outcome = stowage({"calibrate", "--device", "opencl", "--rates", file, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  const DeviceFacts facts = opencl_devices()[0];
  EXPECT_EQ(json["device"], facts.name);
  EXPECT_EQ(json["driver"], facts.driver);
  const DeviceRates kept = load_device_rates(file, facts);
  for (const DeviceRateName& r : device_rate_names()) {
    EXPECT_EQ(json["rates"][r.name].get<double>(), kept.*r.member) << r.name;
    EXPECT_GT(kept.*r.member, 0) << r.name;
  }
}

}  // namespace
}  // namespace stowage::cli
