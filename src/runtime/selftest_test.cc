// SPDX-License-Identifier: Apache-2.0
// Selftest and rates of devices: on a device where there is one, and on devices that are broken.
#include "runtime/selftest.h"

#include <algorithm>
#include <cmath>

#include "kernels/launch.h"
#include "plan/device_session.h"
#include "plan/plan.h"
#include "plan/step_views.h"
#include "plan/test_net.h"
#include "runtime/measure.h"
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

/// The launches of every case, in images and in buffers.
std::vector<Launch> launches_of_cases() {
  std::vector<Launch> launches;
  for (const SelftestCase& c : selftest_cases()) {
    for (const bool images : {true, false}) {
      const auto plan = make_plan(selftest_graph(c), selftest_options(c, {{}, memory_of(images)}));
      for (const Step& step : plan->steps) {
        if (!plan->on_device(step) || step.kind != Step::Kind::call) continue;
        const StepViews views(*plan, step.in, step.out);
        launches.push_back(step.call.launch(views.args()));
      }
    }
  }
  return launches;
}

/// What kernels do only for large or for few results is tested, too.
TEST(Selftest, EveryWayOfAKernelHasACase) {
  const std::vector<Launch> launches = launches_of_cases();
  const auto any = [&](const char* source, auto&& is) {
    return std::ranges::any_of(launches,
                               [&](const Launch& l) { return l.source == source && is(l); });
  };
  const auto value = [](const Launch& l, std::string_view name) {
    const auto found =
        std::ranges::find(l.defines, name, &std::pair<std::string, std::string>::first);
    return found == l.defines.end() ? std::string() : found->second;
  };
  const auto more_than_one = [&](const char* source, const char* name) {
    return any(source, [&](const Launch& l) {
      const std::string is = value(l, name);
      return !is.empty() && is != "1";
    });
  };
  EXPECT_TRUE(more_than_one("conv", "SPLIT"));
  EXPECT_TRUE(more_than_one("conv", "OUT"));
  EXPECT_TRUE(more_than_one("winograd", "SPLIT"));
  EXPECT_TRUE(any("winograd", [&](const Launch& l) { return value(l, "SPLIT") == "1"; }));
  EXPECT_TRUE(more_than_one("gemm", "ROWS"));
  EXPECT_TRUE(any("gemm_split", [&](const Launch& l) { return value(l, "ROWS") == "1"; }));
  EXPECT_TRUE(more_than_one("gemm_split", "ROWS"));
  for (const char* source : {"conv", "depthwise", "conv_transpose"}) {
    EXPECT_TRUE(more_than_one(source, "PIXELS")) << source;
  }
  for (const char* source : {"softmax", "norm", "reduce"}) {
    // Several items share a row; and one has a row to itself.
    EXPECT_TRUE(any(source, [&](const Launch& l) { return value(l, "STEP") == "1"; })) << source;
    EXPECT_TRUE(any(source, [&](const Launch& l) { return value(l, "STEP") != "1"; })) << source;
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
  for (const KernelCheck& check :
       selftest(open_opencl(0, {.fill_nan = true, .check_bounds = check_bounds()}))) {
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
  EXPECT_NE(
      explain(*plan).find("avoided on a device: cl_conv (failed selftest, or left out by wish)\n"),
      std::string::npos)
      << explain(*plan);
}

/// Conversions within a device are done by the kernel that moves: without it values go by way of
/// the host.
TEST(AvoidedKernels, ConversionsGoOverTheHost) {
  Net net;
  const ValueId x = net.conv(net.input({2, 5, 7, 6}), 5, 9);
  // Of numbers to booleans: on the CPU alone.
  const ValueId over = net.add("greater", {x, net.weights({1})});
  const auto graph = net.finish({over, net.add("sigmoid", {x})});
  for (const auto planner :
       {PlanOptions::Planner::optimal, PlanOptions::Planner::rule, PlanOptions::Planner::source}) {
    for (const bool half : {false, true}) {
      PlanOptions options;
      options.simplify = false;
      options.planner = planner;
      options.rates.call_us = 1e3;
      options.rates.kernel_gb_per_s = 1e-3;  // of the CPU
      options.device = DeviceOptions{{}, DeviceOptions::Memory::image, half};
      options.device->facts.name = "a device";
      options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
      const auto conversions = [](const Plan& plan) {
        return std::ranges::count_if(plan.steps, [&](const Step& step) {
          return step.kind == Step::Kind::convert && plan.on_device(step);
        });
      };
      const auto with = make_plan(graph, options);
      const bool source = planner == PlanOptions::Planner::source;
      EXPECT_EQ(conversions(*with) > 0, !source);
      EXPECT_TRUE(report(*with).avoided.empty());
      options.device->avoid = {"cl_move"};
      const auto without = make_plan(graph, options);
      EXPECT_EQ(conversions(*without), 0);
      EXPECT_TRUE(std::isfinite(without->cost_us));
      EXPECT_EQ(report(*without).nodes[0].kernel == "cl_conv", !source);
      EXPECT_NE(explain(*without).find(
                    "avoided on a device: cl_move (failed selftest, or left out by wish)\n"),
                std::string::npos);
    }
  }
}

/// A convolution and a sigmoid on a device, and between them what the CPU alone can do.
TEST(AvoidedKernels, ConversionsByTheHostAreRight) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  SmallGraph small;
  const ValueId x = small.input({2, 5, 7, 6});
  Tensor weights = plain_tensor({9, 5, 1, 1});
  for (std::size_t i = 0; i < weights.as<float>().size(); ++i) {
    weights.as<float>()[i] = static_cast<float>(i % 7) / 4 - 0.5f;
  }
  ValueId v = small.node("conv", {}, {x, small.constant(std::move(weights))})[0];
  for (const char* to : {"f64", "f32"}) v = small.node("cast", {{"to", std::string(to)}}, {v})[0];
  const auto graph = small.finish(small.node("sigmoid", {}, {v}));
  const auto device = open_opencl(0, {.fill_nan = true});
  Tensor in = plain_tensor({2, 5, 7, 6});
  for (std::size_t i = 0; i < in.as<float>().size(); ++i) {
    in.as<float>()[i] = static_cast<float>(i % 13) / 8 - 0.75f;
  }
  const auto run = [&](const std::shared_ptr<const Plan>& plan) {
    Session session(plan, device);
    session.set_input(0, in.view());
    session.run();
    session.run();
    return session.output(0);
  };
  PlanOptions options;
  options.simplify = false;
  const Tensor want = run(make_plan(graph, options));
  for (const bool images : {true, false}) {
    for (const bool half : {false, true}) {
      options.rates.call_us = 1e3;
      options.rates.kernel_gb_per_s = 1e-3;  // of the CPU
      options.device = DeviceOptions{device->facts(), memory_of(images), half, {"cl_move"}};
      options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
      const auto plan = make_plan(graph, options);
      const PlanReport planned = report(*plan);
      EXPECT_EQ(planned.nodes[0].kernel, "cl_conv");
      EXPECT_EQ(planned.nodes[3].kernel, "cl_map");
      const Tensor have = run(plan);
      for (std::size_t i = 0; i < want.as<float>().size(); ++i) {
        ASSERT_NEAR(have.as<float>()[i], want.as<float>()[i], half ? 4e-3 : 1e-5) << i;
      }
    }
  }
}

}  // namespace
}  // namespace stowage
