// SPDX-License-Identifier: Apache-2.0
// Adding an operator, from its definition to its names in model files: all that src/ops/snake.cc
// would hold, and then its test. The table of operators of the test program has it beside those of
// src/ops (cmake/tests.cmake).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "graph/import_rule.h"
#include "kernels/rows/axis_loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/op_test_util.h"
#include "ops/shapes.h"
#include "plan/plan.h"
#include "test_paths.h"
#include "tests/suite/onnx_builder.h"
#include "tests/suite/run_model.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {

namespace {

// 1. What it computes. snake(x) = x + sin(a x)^2 / a, an activation with a frequency a: Ziyin,
// Hartwig and Ueda, "Neural Networks Fail to Learn Periodic Functions and How to Fix It", 2020.

float alpha_of(const NodeRef& node) { return node.attrs().real("alpha", 1); }

float snake(float x, float a) {
  const float s = std::sin(a * x);
  return x + s * s / a;
}

// 2. The shape rule: every check of attributes and inputs, and the shape of every output.
void infer_snake(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32});
  const float a = alpha_of(node);
  if (!(a > 0)) fail(ErrorCode::bad_input, "alpha is ", a, ", not above 0");
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

// 3. The reference: loops over row-major tensors, obviously correct. With it, the operator works
// everywhere; what follows makes it fast.
void snake_reference(const ReferenceArgs& args) {
  const auto* x = args.input<float>(0);
  auto* y = args.output<float>(0);
  const float a = alpha_of(args.node);
  for (std::int64_t i = 0; i < args.in[0].mapping.shape().elements(); ++i) y[i] = snake(x[i], a);
}

// 4. A kernel: parameters that are data and do not grow with the extents, what a session makes of
// them before the first run, and the run itself.
struct SnakeParams {
  float alpha = 1;
  Mapping x;

  void fields(Archive& a) { a("alpha", alpha)("x", x); }
};

struct BoundSnake {
  float alpha;
  std::vector<StridedLoop<1>> loops;
  std::int64_t run;
};

BoundSnake bind_snake(const SnakeParams& p) {
  BoundSnake b{p.alpha, digit_loops<1>(p.x, {}), 1};
  b.run = take_run(b.loops);
  return b;
}

void run_snake(const BoundSnake& b, const KernelArgs& args) noexcept {
  const auto* x = args.input<float>(0);
  auto* y = args.output<float>(0);
  for_each_offset(b.loops.data(), b.loops.size(), [&](const auto& offset) {
    for (std::int64_t i = 0; i < b.run; ++i) y[offset[0] + i] = snake(x[offset[0] + i], b.alpha);
  });
}

constexpr KernelDef kSnakeKernel = kernel_def<SnakeParams, bind_snake, run_snake>("snake");
constexpr const KernelDef* kSnakeKernels[] = {&kSnakeKernel};

// 5. The offers: in which layouts the kernel runs, and how much work it is. Every layout will do,
// for snake(0) is 0: the tails of blocked layouts stay zero.
void snake_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& shape = node.shape(0);
  for (const Layout& layout : elementwise_layouts(request)) {
    Offer offer;
    offer.call = {kSnakeKernel,
                  SnakeParams{alpha_of(node), Mapping(layout, shape, dtype_bytes(DType::f32))}};
    offer.in = {layout};
    offer.out = {layout};
    offer.flops = 20.0 * static_cast<double>(shape.elements());
    offer.efficiency = 0.02;
    offer.in_place = 0;
    out.push_back(std::move(offer));
  }
}

// 6. The import rule. Files of both formats have alpha as a second input, which must be known; in
// ONNX files of version 1 of the domain it is an attribute, as it is here.
void import_snake(ImportNode& node) {
  if (node.format == "onnx" && node.version < 2) return;
  node.expect(2, 2);
  const Value& alpha = node.value(node.in(1));
  if (alpha.constant == nullptr || alpha.dtype != DType::f32 || alpha.shape.elements() != 1) {
    fail(ErrorCode::unsupported, "alpha is not one known f32");
  }
  node.out(node.emit("snake", {node.in(0)}, {{"alpha", alpha.constant->as<float>()[0]}}));
}

// 7. The record.
constexpr OpDef kSnake[] = {
    {.name = "snake",
     .aliases =
         named<Onnx<"com.example.Snake", import_snake>, Tflite<"custom.Snake", import_snake>>,
     .category = Category::transposable,
     .infer = infer_snake,
     .permute = permute_nothing,
     .reference = snake_reference,
     .offers = snake_offers,
     .kernels = kSnakeKernels},
};

}  // namespace

extern const std::span<const OpDef> ops_worked_example;
const std::span<const OpDef> ops_worked_example = kSnake;

namespace {

// The test that stands beside it, src/ops/snake_test.cc.
TEST(WorkedExample, ComputesItsDefinition) {
  const op_test::In x = op_test::In::of(op_test::floats_tensor({3}, {-1, 0, 2}), false);
  const auto y = op_test::reference({.op = "snake", .attrs = {{"alpha", 0.5f}}, .inputs = {x}});
  EXPECT_NEAR(y[0].as<float>()[0], -1 + std::pow(std::sin(-0.5), 2) / 0.5, 1e-6);
  EXPECT_EQ(y[0].as<float>()[1], 0);
  EXPECT_NEAR(y[0].as<float>()[2], 2 + std::pow(std::sin(1.0), 2) / 0.5, 1e-6);
  EXPECT_EQ(op_test::error_code_of({.op = "snake", .attrs = {{"alpha", 0.0f}}, .inputs = {x}}),
            static_cast<int>(ErrorCode::bad_input));
}

/// In every layout, against the reference, with poisoned gaps and checked tails.
TEST(WorkedExample, EveryOfferEqualsTheReference) {
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    const op_test::OpCase c{
        .op = "snake", .attrs = {{"alpha", 1.5f}}, .inputs = {{.extents = {2, channels, 3, 5}}}};
    EXPECT_GE(op_test::check_offers(c), 2);
  }
}

/// From the bytes of a file through the planner to numbers.
void expect_snake(const std::string& bytes, float alpha) {
  const TempFile file(bytes);
  const auto plan = make_plan(import_model(file.path()));
  ASSERT_EQ(plan->nodes.size(), 1u);
  EXPECT_EQ(plan->nodes[0].kernel, "snake");
  Session session(plan);
  EXPECT_EQ(session.outputs()[0].name, "y");
  const Tensor x = random_input(session.inputs()[0], 1);
  const std::vector<Tensor> y = run_session(session, {x});
  const auto in = x.as<float>(), out = y[0].as<float>();
  ASSERT_EQ(in.size(), out.size());
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(out[i], snake(in[i], alpha), 1e-6) << i;
}

/// HACKING.md quotes this file.
TEST(WorkedExample, IsWhatTheGuideQuotes) {
  const auto read = [](const std::string& name) {
    std::ifstream file(std::string(STOWAGE_SOURCE_DIR) + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string guide = read("HACKING.md"), code = read("tests/suite/worked_example_test.cc");
  const std::string fence = "```";
  std::size_t quotes = 0;
  for (std::size_t at = 0; (at = guide.find(fence + "cpp\n", at)) != std::string::npos; ++quotes) {
    at += fence.size() + 4;
    std::istringstream lines(guide.substr(at, guide.find(fence, at) - at));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_NE(code.find(line + "\n"), std::string::npos) << line;
    }
  }
  EXPECT_EQ(quotes, 1u);
}

/// A model of the domain's `version`, without its node.
OnnxBuilder onnx_model(int version) {
  OnnxBuilder b;
  auto& opset = *b.model.add_opset_import();
  opset.set_domain("com.example");
  opset.set_version(version);
  b.input("x", {1, 5, 3, 7}).output("y");
  return b;
}

TEST(WorkedExample, FromAnOnnxFile) {
  OnnxBuilder one = onnx_model(1);
  one.node("Snake", {"x"}, {"y"}, {{"alpha", 0.5f}}).last_node().set_domain("com.example");
  expect_snake(one.bytes(), 0.5f);

  OnnxBuilder two = onnx_model(2);
  onnx::TensorProto& alpha = *two.graph().add_initializer();
  alpha = onnx_tensor("alpha", onnx::TensorProto::FLOAT, {});
  set_raw(alpha, std::vector<float>{2});
  two.node("Snake", {"x", "alpha"}, {"y"}).last_node().set_domain("com.example");
  expect_snake(two.bytes(), 2);
}

TEST(WorkedExample, FromATfliteFile) {
  TfliteBuilder b;
  const int x = b.input("x", {1, 3, 7, 5});
  const int alpha = b.floats("alpha", {}, {2});
  b.custom("Snake", {x, alpha}, {b.output("y", {1, 3, 7, 5})});
  expect_snake(b.bytes(), 2);
}

}  // namespace
}  // namespace stowage
