// SPDX-License-Identifier: Apache-2.0
// Kernels that are wrong on purpose: what they read and write outside of their operands is told.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/index.h"
#include "opencl/device.h"
#include "plan/test_net.h"
#include "stowage/plan.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// A convolution of nine channels from five, a function of these, and one more convolution, so that
/// all lies in texels.
std::shared_ptr<const Plan> conv_plan(const DeviceFacts& facts, bool images) {
  Net net;
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;  // of the CPU
  options.device = DeviceOptions{facts, memory_of(images), false};
  options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
  const ValueId x = net.add("sigmoid", {net.conv(net.input({2, 5, 4, 7}), 5, 9)});
  return make_plan(net.finish({net.conv(x, 9, 9)}), options);
}

struct Mistake {
  std::string node;          ///< whose kernel is wrong
  std::string right, wrong;  ///< in its program
  std::int64_t items = 0;    ///< too many of it
  bool beyond = false;       ///< its input begins behind the memory
  std::string problem;       ///< how the error begins; empty: nothing is wrong
};

/// Empty where the run was right.
std::vector<Error> errors_of(OpenClDevice& device, bool images, const Mistake& m) {
  Plan plan = *conv_plan(device.facts(), images);
  for (const Step& step : plan.steps) {
    if (m.beyond && step.name == m.node) {
      plan.slots[idx(memory_of(plan, step.in[0]).slot)].offset += 1 << 20;
    }
  }
  const auto session =
      device.open_with(std::make_shared<const Plan>(plan), [&](const Plan& p, int number) {
        StepLaunch made = step_launch(p, number, true);
        if (p.steps[idx(number)].name != m.node) return made;
        made.launch.items[0] += m.items;
        const std::size_t at = made.text.rfind(m.right);
        EXPECT_NE(at, std::string::npos) << m.right << " is not in\n" << made.text;
        if (at != std::string::npos) made.text.replace(at, m.right.size(), m.wrong);
        return made;
      });
  std::vector<Error> errors;
  for (int times = 0; times < 3; ++times) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      // The last time nothing runs: what has been told is over.
      if (times < 2 && plan.on_device(plan.steps[i])) session->run(static_cast<int>(i));
    }
    try {
      session->wait();
    } catch (const Error& e) {
      errors.push_back(e);
    }
  }
  return errors;
}

TEST(OpenClBounds, AccessesOutsideAreTold) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const auto device = open_opencl_device(0, {.fill_nan = true, .check_bounds = true});
  const auto outside = [](const std::string& kernel, const std::string& operand,
                          const std::string& times = "") {
    return "the kernel '" + kernel + "' accesses its operand '" + operand + "' outside, " + times;
  };
  const Mistake nothing{.node = "conv0"};
  const Mistake edge{.node = "conv0",
                     .right = "iw >= 0 && iw < x_e.s3",
                     .wrong = "1",
                     .problem = outside("cl_conv", "x")};
  // Of three texels of channels the last, of four rows and seven columns in two batches.
  const Mistake write{.node = "conv0",
                      .right = "WRITE_y(v, n, o, h, w)",
                      .wrong = "WRITE_y(v, n, o + 1, h, w)",
                      .problem = outside("cl_conv", "y", "56 times")};
  const Mistake weights{.node = "conv0",
                        .right = "READ_k(o, 4 * c + 3, kh, kw)",
                        .wrong = "READ_k(o, 4 * c - 1, kh, kw)",
                        .problem = outside("cl_conv", "k")};
  // A column of eight rows.
  const Mistake store{.node = "sigmoid1",
                      .right = "READ_x0(y_0, y_1, y_2, y_3)",
                      .wrong = "READ_x0(y_0, 0, y_2, y_3)",
                      .items = 1,
                      .problem = outside("cl_map", "y", "8 times")};
  const Mistake beyond{.node = "conv0", .beyond = true, .problem = outside("cl_conv", "x")};

  struct Case {
    bool images;
    std::vector<Mistake> mistakes;
  };

  for (const Case& c : {Case{true, {nothing, edge, write, weights, store}},
                        Case{false, {nothing, edge, write, beyond}}}) {
    if (c.images && !device->facts().images) continue;
    for (const Mistake& m : c.mistakes) {
      SCOPED_TRACE(m.wrong + (c.images ? " in images" : " in buffers"));
      const std::vector<Error> errors = errors_of(*device, c.images, m);
      EXPECT_EQ(errors.size(), m.problem.empty() ? 0u : 2u);
      for (const Error& e : errors) {
        EXPECT_EQ(e.code(), ErrorCode::internal);
        EXPECT_EQ(e.sentence().rfind(m.problem, 0), 0u) << e.what();
        EXPECT_NE(e.trail().find("'" + m.node + "'"), std::string::npos) << e.trail();
      }
    }
  }
}

}  // namespace
}  // namespace stowage
