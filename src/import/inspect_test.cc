// SPDX-License-Identifier: Apache-2.0
// What inspect_model says of small files of both formats, of those that cannot be imported, too.
#include "stowage/inspect.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"
#include "tests/suite/onnx_builder.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {
namespace {

using Proto = onnx::TensorProto;

ModelInfo inspect(const std::string& bytes) {
  const TempFile file(bytes);
  return inspect_model(file.path());
}

/// "x f32 [n, 3, ?]"
std::string words(const ModelInfo::Operand& o) {
  std::string dims;
  for (const ModelDim& d : o.dims) {
    dims += text(dims.empty() ? "" : ", ", d.extent >= 0      ? std::to_string(d.extent)
                                           : d.symbol.empty() ? "?"
                                                              : d.symbol);
  }
  return text(o.name, " ", o.dtype.has_value() ? dtype_name(*o.dtype) : "other",
              o.has_shape ? " [" + dims + "]" : "");
}

/// "Conv 2, Relu 1"; with "!" behind those that are not supported.
std::string words(const std::vector<ModelInfo::Operator>& operators) {
  std::string out;
  for (const ModelInfo::Operator& op : operators) {
    out += text(out.empty() ? "" : ", ", op.name, " ", op.count, op.unsupported.empty() ? "" : "!");
  }
  return out;
}

TEST(Inspect, Onnx) {
  OnnxBuilder b(17);
  b.input("x", {"n", 3, "", 8}).input("w", {4, 3, 1, 1}).weights("w", {4, 3, 1, 1}).output("y");
  b.node("Conv", {"x", "w"}, {"c"}).node("Relu", {"c"}, {"r"}).node("Relu", {"r"}, {"y"});
  const ModelInfo info = inspect(b.bytes());
  EXPECT_EQ(info.format, "ONNX");
  EXPECT_EQ(info.version, 8);
  EXPECT_EQ(info.opsets, (std::map<std::string, std::int64_t>{{"ai.onnx", 17}}));
  EXPECT_EQ(info.name, "test");
  EXPECT_EQ(info.source_format, DataFormat::nchw);
  ASSERT_EQ(info.inputs.size(), 1u);  // w is a weight that old files list as an input
  EXPECT_EQ(words(info.inputs[0]), "x f32 [n, 3, ?, 8]");
  ASSERT_EQ(info.outputs.size(), 1u);
  EXPECT_EQ(words(info.outputs[0]), "y f32");
  EXPECT_EQ(words(info.operators), "Conv 1, Relu 2");
  EXPECT_EQ(info.parameters, 12);
  EXPECT_EQ(info.parameter_bytes, 48);
}

TEST(Inspect, OnnxListsAllThatIsNotSupported) {
  OnnxBuilder b;
  b.input("x", {2}, Proto::STRING).output("y");
  b.node("Frobnicate", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Hook", {"b"}, {"c"});
  b.last_node().set_domain("com.example");
  b.node("Frobnicate", {"c"}, {"d"}).node("Relu", {"d"}, {"y"});
  auto& branch = *b.last_node().add_attribute();
  branch.set_name("body");
  branch.set_type(onnx::AttributeProto::GRAPH);
  const ModelInfo info = inspect(b.bytes());
  EXPECT_EQ(words(info.inputs[0]), "x other [2]");
  EXPECT_EQ(words(info.operators), "Frobnicate 2!, Relu 2!, com.example.Hook 1!");
  EXPECT_EQ(info.operators[0].unsupported, "no operator of that name");
  EXPECT_EQ(info.operators[1].unsupported, "attribute 'body' is a graph");
}

// Constants are no operators; types that cannot be imported have a size all the same.
TEST(Inspect, OnnxCountsParameters) {
  const struct {
    int type;
    OnnxInts dims;
    std::int64_t parameters, bytes;
  } cases[] = {
      {Proto::FLOAT16, {3, 5}, 15, 30}, {Proto::DOUBLE, {}, 1, 8}, {Proto::INT8, {7}, 7, 7},
      {Proto::STRING, {4}, 4, 0},       {17, {3}, 3, 3},           {22, {3}, 3, 2},
      {Proto::FLOAT, {0, 4}, 0, 0},
  };

  for (const auto& c : cases) {
    SCOPED_TRACE(c.type);
    for (const bool initializer : {true, false}) {
      OnnxBuilder b;
      b.output("y");
      if (!initializer) b.node("Constant", {}, {"k"});
      auto* attribute = initializer ? nullptr : b.last_node().add_attribute();
      if (attribute != nullptr) {
        attribute->set_name("value");
        attribute->set_type(onnx::AttributeProto::TENSOR);
      }
      Proto& t = initializer ? *b.graph().add_initializer() : *attribute->mutable_t();
      t = onnx_tensor("k", Proto::UNDEFINED, c.dims);
      t.set_data_type(c.type);
      b.node("Relu", {"k"}, {"y"});
      const ModelInfo info = inspect(b.bytes());
      EXPECT_EQ(info.parameters, c.parameters);
      EXPECT_EQ(info.parameter_bytes, c.bytes);
      EXPECT_EQ(words(info.operators), "Relu 1");
    }
  }
}

TEST(Inspect, Tflite) {
  TfliteBuilder b;
  const int x = b.input("x", {1, 4, 4, 3}, tfl::TensorType_FLOAT32, {-1, 4, -1, 3});
  const int y = b.output("y", {1, 4, 4, 3});
  const int k = b.floats("k", {3}, {1, 2, 3});
  const int t = b.tensor("t", {1, 4, 4, 3});
  b.op(tfl::BuiltinOperator_ADD, {x, k}, {t});
  b.custom("Hook", {t}, {y});
  const ModelInfo info = inspect(b.bytes());
  EXPECT_EQ(info.format, "TFLite");
  EXPECT_EQ(info.version, 3);
  EXPECT_EQ(info.name, "g");
  EXPECT_TRUE(info.opsets.empty());
  EXPECT_EQ(info.source_format, DataFormat::nhwc);
  EXPECT_EQ(words(info.inputs.at(0)), "x f32 [?, 4, ?, 3]");
  EXPECT_EQ(words(info.outputs.at(0)), "y f32 [1, 4, 4, 3]");
  EXPECT_EQ(words(info.operators), "ADD 1, custom.Hook 1!");
  EXPECT_EQ(info.parameters, 3);
  EXPECT_EQ(info.parameter_bytes, 12);
}

TEST(Inspect, RefusesWhatIsNoModel) {
  OnnxBuilder negative, huge;
  negative.weights("w", {1}).graph().mutable_initializer(0)->set_dims(0, -3);
  huge.weights("w", {1}).graph().mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62);
  huge.graph().mutable_initializer(0)->add_dims(4);

  const struct {
    std::string bytes;
    ErrorCode code;
  } cases[] = {
      {"", ErrorCode::bad_input},
      {"no model", ErrorCode::bad_input},
      {OnnxBuilder().bytes().substr(0, 3), ErrorCode::bad_input},
      {negative.bytes(), ErrorCode::bad_input},
      {huge.bytes(), ErrorCode::limit},
  };

  for (const auto& c : cases) {
    try {
      inspect(c.bytes);
      ADD_FAILURE() << c.bytes;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), c.code) << e.what();
    }
  }
}

}  // namespace
}  // namespace stowage
