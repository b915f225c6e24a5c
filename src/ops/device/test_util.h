// SPDX-License-Identifier: Apache-2.0
// One node on a device, compared with its reference: in images, in buffers, and stored in f16. For
// tests only.
#pragma once

#include <string_view>

#include "ops/op_test_util.h"
#include "stowage/plan.h"
#include "tests/suite/opencl_device.h"

namespace stowage::op_test {

/// Facts of a device so fast that a plan uses it for all that it can. By its bandwidth, some ten
/// thousand items keep it busy.
inline DeviceFacts eager(DeviceFacts facts) {
  facts.rates = {1e9, 1500, 1e-6, 1e9, 1e9, 1e-6};
  return facts;
}

/// Plans the case for the device without other kernels of the operator's, wants `kernel` to run it
/// there, and compares outputs with the reference. `stored`: f16 rounds operands and results, so
/// tolerances are wider.
inline void check_device(const std::shared_ptr<Device>& device, const OpCase& c,
                         std::string_view kernel, bool images, bool half) {
  SCOPED_TRACE(text(c.op, images ? " in images" : " in buffers", half ? ", f16" : ""));
  OpGraph g(c);
  PlanOptions options;
  options.simplify = false;
  options.device = DeviceOptions{eager(device->facts()), memory_of(images), half};
  for (const KernelDef* other : find_op(c.op)->device_kernels) {
    if (other->name != kernel) options.device->avoid.emplace_back(other->name);
  }
  options.rates.call_us = 1e6;  // of the CPU
  const auto plan = make_plan(std::make_shared<Graph>(g.graph), options);
  const PlanReport planned = report(*plan);
  ASSERT_EQ(planned.nodes.size(), 1u);
  ASSERT_EQ(planned.nodes[0].kernel, kernel) << explain(*plan);
  Session session(plan, device);
  int next = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].absent || c.inputs[i].constant) continue;
    session.set_input(next++, g.inputs[i].view());
  }
  // Twice: the second run finds what the first left behind.
  session.run();
  session.run();
  for (std::size_t o = 0; o < g.results.size(); ++o) {
    const Tensor got = session.output(static_cast<int>(o));
    if (got.dtype() != DType::f32) {
      ASSERT_EQ(got.dtype(), g.results[o].dtype());
      ASSERT_EQ(std::memcmp(got.data(), g.results[o].data(), got.bytes()), 0) << "output " << o;
      continue;
    }
    const auto want = elements<float>(g.results[o]), have = elements<float>(got);
    double largest = 0;
    for (const float w : want)
      largest = std::max(largest, std::isfinite(w) ? std::abs(static_cast<double>(w)) : 0);
    for (std::size_t e = 0; e < want.size(); ++e) {
      const double rtol = half ? 4e-3 : std::max(c.rtol, 2e-5);
      const double atol = half ? 4e-3 * std::max(largest, 1.0) : std::max(c.atol, 1e-6 * largest);
      ASSERT_TRUE(close(have[e], want[e], rtol, atol))
          << "output " << o << ", element " << e << " is " << have[e] << ", not " << want[e];
    }
  }
}

/// In images and in buffers, and with `half` also stored in f16. Skips the test where there is no
/// device.
inline void check_device(const OpCase& c, std::string_view kernel, bool half = true) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  // Programs are built once; what nobody has written is NaN.
  static const std::shared_ptr<Device> device =
      open_opencl(0, {.fill_nan = true, .check_bounds = check_bounds()});
  for (const bool images : {true, false}) {
    check_device(device, c, kernel, images, false);
    if (half) check_device(device, c, kernel, images, true);
  }
}

}  // namespace stowage::op_test
