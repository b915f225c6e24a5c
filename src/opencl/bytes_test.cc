// SPDX-License-Identifier: Apache-2.0
// A plan for a device that begins with 8 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "plan/plan.h"
#include "stowage/model.h"
#include "tests/suite/graph_builder.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// A picture of bytes goes to the device as it is, and becomes f32 there.
TEST(OpenClBytes, APictureIsCastWhereItIsConvolved) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const auto device = open_opencl(0, {.fill_nan = true, .check_bounds = check_bounds()});
  GraphBuilder g;
  const ValueId x = g.input({2, 3, 7, 6});
  g.graph.value(x).dtype = DType::u8;
  Attributes to;
  to.set("to", std::string("f32"));
  g.graph.outputs = {g.add("conv", {g.add("cast", {x}, to), g.constant({9, 3, 3, 2})})};
  infer_shapes(g.graph);
  name_axes(g.graph);
  const auto graph = std::make_shared<Graph>(g.graph);
  Tensor picture(DType::u8, Shape("nchw", {2, 3, 7, 6}));
  for (std::size_t i = 0; i < picture.bytes(); ++i) {
    picture.data()[i] = static_cast<std::byte>(i * 37 + 1);
  }
  PlanOptions options;
  options.simplify = false;
  const auto run = [&](const std::shared_ptr<const Plan>& plan) {
    Session session(plan, device);
    session.set_input(0, picture.view());
    session.run();
    session.run();
    return session.output(0);
  };
  const Tensor want = run(make_plan(graph, options));
  options.rates.call_us = 1e6;
  for (const bool images : {true, false}) {
    options.device = DeviceOptions{device->facts(), memory_of(images), false};
    options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
    const auto plan = make_plan(graph, options);
    const PlanReport planned = report(*plan);
    EXPECT_EQ(planned.nodes[0].kernel, "cl_map") << explain(*plan);
    EXPECT_EQ(planned.nodes[1].kernel, "cl_conv") << explain(*plan);
    for (const int i : plan->inputs[0].slots) {
      EXPECT_EQ(plan->slot(i).dtype, DType::u8);
      EXPECT_EQ(plan->slot(i).place.device, 1);
    }
    const Tensor have = run(plan);
    const auto a = have.as<float>(), b = want.as<float>();
    for (std::size_t i = 0; i < b.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-5f * std::max(1.0f, std::abs(b[i]))) << i;
    }
  }
}

}  // namespace
}  // namespace stowage
