// SPDX-License-Identifier: Apache-2.0
// Selftest and rates of devices: on a device where there is one, and on devices that are broken.
#include "runtime/selftest.h"

#include <algorithm>
#include <cmath>

#include "plan/device_session.h"
#include "plan/test_net.h"
#include "stowage/machine.h"
#include "stowage/plan.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// Takes everything and computes nothing: results are zeros.
class IdleSession : public DeviceSession {
 public:
  void run(int) override {}

  void upload(int, const std::byte*) override {}

  void download(int, std::byte*) override {}

  void wait() override {}

  double step_us(int) override { return -1; }
};

class BrokenDevice : public Device {
 public:
  explicit BrokenDevice(bool opens) : opens_(opens) {
    facts_.name = "broken";
    facts_.driver = "1";
  }

 private:
  std::unique_ptr<DeviceSession> open(std::shared_ptr<const Plan>) override {
    if (!opens_) throw Error(ErrorCode::device, "the compiler has crashed");
    return std::make_unique<IdleSession>();
  }

  bool opens_;
};

TEST(Selftest, EveryKernelHasACase) {
  const auto cases = selftest_cases();
  for (const KernelDef* def : all_kernels()) {
    if (def->launch == nullptr) continue;
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const auto& c) { return c.kernel == def->name; }))
        << "write a case for " << def->name << " into src/runtime/selftest.cc";
  }
}

TEST(Selftest, WrongResultsAreSeen) {
  const auto checks = selftest(std::make_shared<BrokenDevice>(true));
  EXPECT_GT(checks.size(), 10u);
  for (const KernelCheck& check : checks) {
    EXPECT_FALSE(check.passed()) << check.kernel;
    EXPECT_NE(check.problem.find("in images, f32: element "), std::string::npos)
        << check.kernel << ": " << check.problem;
  }
}

TEST(Selftest, FailuresOfTheDriverAreProblemsOfTheKernel) {
  for (const KernelCheck& check : selftest(std::make_shared<BrokenDevice>(false))) {
    EXPECT_NE(check.problem.find("the compiler has crashed"), std::string::npos) << check.problem;
  }
}

TEST(Selftest, PassesOnADevice) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  for (const KernelCheck& check : selftest(open_opencl(0, {.fill_nan = true}))) {
    EXPECT_EQ(check.problem, "") << check.kernel;
  }
}

TEST(DeviceRates, ArePositiveAndFinite) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const DeviceRates rates = measure_device_rates(open_opencl());
  for (const double rate : {rates.gflops, rates.gb_per_s, rates.launch_us, rates.upload_gb_per_s,
                            rates.download_gb_per_s, rates.crossing_us}) {
    EXPECT_TRUE(std::isfinite(rate));
    EXPECT_GT(rate, 0);
  }
}

TEST(DeviceRates, NeedADeviceThatWorks) {
  EXPECT_THROW(measure_device_rates(nullptr), Error);
  EXPECT_THROW(measure_device_rates(std::make_shared<BrokenDevice>(false)), Error);
}

TEST(AvoidedKernels, AreNotPlannedAndAreNamed) {
  Net net;
  const ValueId x = net.conv(net.input({2, 5, 7, 6}), 5, 9);
  const auto graph = net.finish({net.add("sigmoid", {x})});
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;
  options.device.emplace();
  options.device->facts.name = "a device";
  const auto kernels = [&](const PlanReport& plan) {
    std::vector<std::string> names;
    for (const NodeReport& node : plan.nodes) names.push_back(node.kernel);
    return names;
  };
  const PlanReport all = report(*make_plan(graph, options));
  EXPECT_EQ(kernels(all), (std::vector<std::string>{"cl_conv", "cl_map"}));
  EXPECT_TRUE(all.avoided.empty());

  // A kernel that no node could run is none that was avoided.
  options.device->avoid = {"cl_lrn", "cl_conv"};
  const auto plan = make_plan(graph, options);
  const PlanReport without = report(*plan);
  EXPECT_NE(without.nodes[0].kernel, "cl_conv");
  EXPECT_EQ(without.nodes[1].kernel, "cl_map");
  for (const NodeReport::Lost& lost : without.nodes[0].lost) EXPECT_NE(lost.kernel, "cl_conv");
  ASSERT_EQ(without.avoided.size(), 1u);
  EXPECT_EQ(without.avoided[0].kernel, "cl_conv");
  EXPECT_EQ(without.avoided[0].device, "a device");
  EXPECT_NE(explain(*plan).find("avoided on a device: cl_conv (failed selftest)\n"),
            std::string::npos)
      << explain(*plan);
}

}  // namespace
}  // namespace stowage
