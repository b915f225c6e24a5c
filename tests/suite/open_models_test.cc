// SPDX-License-Identifier: Apache-2.0
// One model serves many shapes: its graphs share the weights, and each is what an import at those
// shapes gives.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "stowage/error.h"
#include "tests/suite/models.h"
#include "tests/suite/onnx_builder.h"
#include "tests/suite/run_model.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {
namespace {

/// Pads that depend on the extents, a shape that the graph computes, axes from the end, a resize by
/// a factor, and a number that is folded.
std::string open_net() {
  OnnxBuilder b;
  b.input("x", {"batch", 5, "side", "side"});
  b.weights("w", {6, 5, 3, 3}).weights("slope", {6, 1, 1});
  b.ints("last", {-1}).ints("two", {2}).ints("first", {0});
  b.node("Conv", {"x", "w"}, {"c"},
         {{"auto_pad", std::string("SAME_UPPER")}, {"strides", OnnxInts{2, 2}}});
  b.node("PRelu", {"c", "slope"}, {"p"});
  b.node("Shape", {"p"}, {"s"});
  b.node("Slice", {"s", "first", "two"}, {"nc"});
  b.node("Concat", {"nc", "last"}, {"flat"}, {{"axis", std::int64_t{0}}});
  b.node("Reshape", {"p", "flat"}, {"r"});
  b.node("Softmax", {"r"}, {"y"}, {{"axis", std::int64_t{-1}}});
  b.output("y");
  return b.bytes();
}

std::string open_tflite() {
  TfliteBuilder b;
  const int x = b.input("x", {1, 9, 9, 3}, tfl::TensorType_FLOAT32, {-1, -1, -1, 3});
  const int w = b.floats("w", {4, 3, 3, 3}, std::vector<float>(108, 0.125f));
  const int bias = b.floats("b", {4}, {1, 2, 3, 4});
  const int y = b.output("y", {1, 5, 5, 4});
  b.op(tfl::BuiltinOperator_CONV_2D, {x, w, bias}, {y},
       tfl::CreateConv2DOptions(b.fbb, tfl::Padding_SAME, 2, 2), tfl::BuiltinOptions_Conv2DOptions);
  return b.bytes();
}

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

SpecialiseOptions shaped(const std::vector<std::int64_t>& extents) {
  SpecialiseOptions options;
  options.shapes = {{"x", extents}};
  return options;
}

std::vector<Tensor> run(std::shared_ptr<Graph> graph) {
  Session session(make_plan(std::move(graph)));
  std::vector<Tensor> inputs;
  for (const Port& port : session.inputs()) inputs.push_back(random_input(port, 3));
  return run_session(session, inputs);
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = a[i].shape() == b[i].shape() && a[i].bytes() == b[i].bytes() &&
           std::memcmp(a[i].data(), b[i].data(), a[i].bytes()) == 0;
  }
  return same;
}

TEST(OpenModels, SayTheirInputsAsTheFileHasThem) {
  const auto model = open_model(bytes_of(open_net()));
  EXPECT_EQ(model->name(), "test");
  ASSERT_EQ(model->inputs().size(), 1u);
  const ModelInput& x = model->inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DType::f32);
  ASSERT_TRUE(x.dims.has_value());
  std::vector<std::pair<std::int64_t, std::string>> dims;
  for (const ModelDim& d : *x.dims) dims.emplace_back(d.extent, d.symbol);
  EXPECT_EQ(dims, (decltype(dims){{-1, "batch"}, {5, ""}, {-1, "side"}, {-1, "side"}}));
  ASSERT_EQ(model->outputs().size(), 1u);
  EXPECT_EQ(model->outputs()[0], "y");
}

TEST(OpenModels, AreWhatAnImportAtTheirShapesGives) {
  struct Case {
    std::string bytes;
    std::vector<std::vector<std::int64_t>> shapes;
  };

  const Case cases[] = {{open_net(), {{1, 5, 7, 7}, {2, 5, 8, 8}, {1, 5, 7, 7}, {3, 5, 1, 1}}},
                        {open_tflite(), {{1, 9, 9, 3}, {2, 6, 11, 3}, {1, 9, 9, 3}}}};
  for (const Case& c : cases) {
    const TempFile file(c.bytes);
    const auto model = open_model(file.path());
    for (const auto& extents : c.shapes) {
      SCOPED_TRACE(testing::PrintToString(extents));
      ImportOptions options;
      options.shapes = shaped(extents).shapes;
      const auto want = run(import_model(file.path(), options));
      EXPECT_TRUE(same_bits(run(specialise(*model, shaped(extents))), want));
      EXPECT_TRUE(
          same_bits(run(specialise(*open_model(bytes_of(c.bytes)), shaped(extents))), want));
    }
  }
}

TEST(OpenModels, ShareTheirWeights) {
  for (const auto& [bytes, a, b] :
       {std::tuple(open_net(), OnnxInts{1, 5, 7, 7}, OnnxInts{1, 5, 9, 9}),
        std::tuple(open_tflite(), OnnxInts{1, 9, 9, 3}, OnnxInts{1, 5, 5, 3})}) {
    const auto model = open_model(bytes_of(bytes));
    const auto first = specialise(*model, shaped(a)), second = specialise(*model, shaped(b));
    const auto weights = [](const Graph& graph) {
      std::set<const Tensor*> found;
      for (ValueId v(0); v < graph.value_count(); ++v) {
        if (graph.value(v).name == "w") found.insert(graph.value(v).constant.get());
      }
      return found;
    };
    EXPECT_EQ(weights(*first).size(), 1u);
    EXPECT_EQ(weights(*first), weights(*second));
    EXPECT_EQ(weights(*first).count(nullptr), 0u);
    // What simplify and a plan make of one leaves the other alone.
    const auto before = run(specialise(*model, shaped(b)));
    run(first);
    EXPECT_TRUE(same_bits(run(second), before));
  }
}

TEST(OpenModels, RefuseWhatDoesNotFit) {
  const auto model = open_model(bytes_of(open_net()));
  const auto code_of = [](auto f) {
    try {
      f();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of([&] { specialise(*model); }), ErrorCode::usage);  // `side` is open
  EXPECT_EQ(code_of([&] { specialise(*model, shaped({1, 5, 7})); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { specialise(*model, shaped({1, 4, 7, 7})); }), ErrorCode::bad_input);
  EXPECT_EQ(code_of([&] { open_model(std::span<const std::byte>()); }), ErrorCode::bad_input);
  const std::string cut = open_net().substr(0, 200);
  EXPECT_EQ(code_of([&] { open_model(bytes_of(cut)); }), ErrorCode::bad_input);
  // And it still serves who asks for what does.
  EXPECT_EQ(run(specialise(*model, shaped({1, 5, 7, 7}))).size(), 1u);
}

TEST(OpenModels, InMemoryHaveNoFilesBesideThem) {
  OnnxBuilder b;
  b.input("x", {2, 3}).output("y");
  onnx::TensorProto& t = *b.graph().add_initializer();
  t = onnx_tensor("w", onnx::TensorProto::FLOAT, {3});
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *t.add_external_data();
  entry.set_key("location");
  entry.set_value("weights.bin");
  b.node("Add", {"x", "w"}, {"y"});
  const std::string bytes = b.bytes();
  try {
    open_model(bytes_of(bytes));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(e.sentence().find("weights.bin"), std::string::npos) << e.what();
  }
}

/// Several threads make graphs, plans and sessions of one model at once.
void share(const Model& model, const std::vector<SpecialiseOptions>& options) {
  std::vector<std::vector<Tensor>> alone;
  for (const SpecialiseOptions& o : options) alone.push_back(run(specialise(model, o)));
  std::vector<int> right(options.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 3; ++k)
        right[i] += same_bits(run(specialise(model, options[i])), alone[i]);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const int r : right) EXPECT_EQ(r, 3);
}

TEST(OpenModels, ServeSeveralThreadsAtOnce) {
  share(*open_model(bytes_of(open_net())),
        {shaped({1, 5, 7, 7}), shaped({2, 5, 8, 8}), shaped({1, 5, 7, 7})});
  share(*open_model(bytes_of(open_tflite())), {shaped({1, 9, 9, 3}), shaped({2, 6, 11, 3})});
  const auto folder = model_folder("models/onnx/mnist_cntk");
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  share(*open_model((folder / "model.onnx").string()), {{}, {}});
}

}  // namespace
}  // namespace stowage
