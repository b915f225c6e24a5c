// SPDX-License-Identifier: Apache-2.0
// TFLite: which 8-bit weights are known to be whole numbers times one step.
#include <gtest/gtest.h>

#include "stowage/plan.h"
#include "tests/suite/bad_models.h"
#include "tests/suite/run_model.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {
namespace {

/// The kernel of a product of `rows` with weights of these scales and zero points.
std::string kernel_of_product(int rows, std::vector<float> scale, std::vector<std::int64_t> zero,
                              tfl::TensorType type = tfl::TensorType_INT8) {
  constexpr int kIn = 24, kOut = 40;
  TfliteBuilder b;
  const int x = b.input("x", {rows, kIn});
  b.quantize(std::move(scale), std::move(zero), 0);
  const std::vector<std::int8_t> bytes(kIn * kOut, 3);
  const int w = b.constant("w", {kOut, kIn}, bytes, type);
  b.quantize({});
  b.op(tfl::BuiltinOperator_FULLY_CONNECTED,
       {x, w, b.floats("bias", {kOut}, std::vector(kOut, 1.0f))}, {b.output("y", {})},
       tfl::CreateFullyConnectedOptions(b.fbb, tfl::ActivationFunction_RELU),
       tfl::BuiltinOptions_FullyConnectedOptions);
  const TempFile file(b.bytes());
  PlanOptions options;
  options.rates.gflops_per_lane = 100;  // bytes decide, with vectors of any length
  const PlanReport plan = report(*make_plan(import_model(file.path()), options));
  EXPECT_EQ(plan.nodes.size(), 1u);
  return plan.nodes[0].kernel;
}

TEST(TfliteRules, WeightsOfOneStepStayInSteps) {
  const std::vector<float> scales(40, 0.5f);
  EXPECT_EQ(kernel_of_product(1, {0.5f}, {0}), "gemm_steps");
  EXPECT_EQ(kernel_of_product(1, {0.5f}, {}), "gemm_steps");
  EXPECT_EQ(kernel_of_product(2, {0.5f}, {0}), "gemm_panels");
  EXPECT_EQ(kernel_of_product(1, {0.5f}, {1}), "gemm_panels");
  EXPECT_EQ(kernel_of_product(1, {1e-40f}, {0}), "gemm_panels");
  EXPECT_EQ(kernel_of_product(1, {1e37f}, {0}), "gemm_panels");
  EXPECT_EQ(kernel_of_product(1, {0.5f}, {0}, tfl::TensorType_UINT8), "gemm_panels");
  EXPECT_EQ(kernel_of_product(1, scales, std::vector<std::int64_t>(40)), "gemm_panels");
}

}  // namespace
}  // namespace stowage
