// SPDX-License-Identifier: Apache-2.0
// Good ONNX files: every encoding of a tensor, the binding of symbolic dims, what may stand in
// a graph. Models of few operators, so that they test the reader alone; bad ones are in
// tests/suite/bad_models_test.cc.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "import/onnx_tensor.h"
#include "stowage/error.h"
#include "stowage/model.h"
#include "tests/suite/onnx_builder.h"

namespace stowage {
namespace {

using Proto = onnx::TensorProto;

std::shared_ptr<Graph> import(const OnnxBuilder& model, const ImportOptions& options = {}) {
  const TempFile file(model.bytes());
  return import_model(file.path(), options);
}

std::vector<std::int64_t> extents(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::vector<std::int64_t> extents(const Value& value) { return extents(value.shape); }

const Value& value_named(const Graph& graph, std::string_view name) {
  for (ValueId v(0); v < graph.value_count(); ++v) {
    if (graph.value(v).name == name) return graph.value(v);
  }
  ADD_FAILURE() << "no value " << name;
  return graph.value(ValueId(0));
}

struct Encoding {
  const char* name;
  Proto::DataType type;
  DType dtype;
  std::function<void(Proto&)> fill;
  std::vector<double> elements;  ///< what the six elements are, 16-bit floats as their bits
};

template <class T>
std::function<void(Proto&)> raw(std::vector<T> elements) {
  return [elements](Proto& t) { set_raw(t, elements); };
}

std::vector<Encoding> encodings() {
  const auto int32s = [](std::vector<int> v) {
    return [v](Proto& t) {
      for (int x : v) t.add_int32_data(x);
    };
  };
  const auto uint64s = [](std::vector<std::uint64_t> v) {
    return [v](Proto& t) {
      for (std::uint64_t x : v) t.add_uint64_data(x);
    };
  };
  return {
      {"f32_raw",
       Proto::FLOAT,
       DType::f32,
       raw<float>({1, -2, 3.5f, 0, 1e30f, -0.25f}),
       {1, -2, 3.5, 0, 1e30f, -0.25}},
      {"f32_typed",
       Proto::FLOAT,
       DType::f32,
       [](Proto& t) {
         for (float x : {1.f, -2.f, 3.5f, 0.f, 1e30f, -0.25f}) t.add_float_data(x);
       },
       {1, -2, 3.5, 0, 1e30f, -0.25}},
      {"f64_raw",
       Proto::DOUBLE,
       DType::f64,
       raw<double>({1, -2, 3.5, 0, 1e300, -0.25}),
       {1, -2, 3.5, 0, 1e300, -0.25}},
      {"f64_typed",
       Proto::DOUBLE,
       DType::f64,
       [](Proto& t) {
         for (double x : {1.0, -2.0, 3.5, 0.0, 1e300, -0.25}) t.add_double_data(x);
       },
       {1, -2, 3.5, 0, 1e300, -0.25}},
      {"i64_raw",
       Proto::INT64,
       DType::i64,
       raw<std::int64_t>({1, -2, 3, 0, 1LL << 40, -7}),
       {1, -2, 3, 0, 1LL << 40, -7}},
      {"i64_typed",
       Proto::INT64,
       DType::i64,
       [](Proto& t) {
         for (std::int64_t x : {1LL, -2LL, 3LL, 0LL, 1LL << 40, -7LL}) t.add_int64_data(x);
       },
       {1, -2, 3, 0, 1LL << 40, -7}},
      {"i32_raw",
       Proto::INT32,
       DType::i32,
       raw<std::int32_t>({1, -2, 3, 0, 1 << 30, -7}),
       {1, -2, 3, 0, 1 << 30, -7}},
      {"i32_typed",
       Proto::INT32,
       DType::i32,
       int32s({1, -2, 3, 0, 1 << 30, -7}),
       {1, -2, 3, 0, 1 << 30, -7}},
      {"u8_raw",
       Proto::UINT8,
       DType::u8,
       raw<std::uint8_t>({1, 2, 3, 0, 255, 7}),
       {1, 2, 3, 0, 255, 7}},
      {"u8_typed", Proto::UINT8, DType::u8, int32s({1, 2, 3, 0, 255, 7}), {1, 2, 3, 0, 255, 7}},
      {"i8_typed",
       Proto::INT8,
       DType::i8,
       int32s({1, -2, 3, 0, -128, 127}),
       {1, -2, 3, 0, -128, 127}},
      {"u16_typed",
       Proto::UINT16,
       DType::u16,
       int32s({1, 2, 3, 0, 65535, 7}),
       {1, 2, 3, 0, 65535, 7}},
      {"i16_typed",
       Proto::INT16,
       DType::i16,
       int32s({1, -2, 3, 0, -32768, 7}),
       {1, -2, 3, 0, -32768, 7}},
      {"f16_typed",
       Proto::FLOAT16,
       DType::f16,
       int32s({0x3c00, 0xc000, 0, 1, 2, 0xffff}),
       {0x3c00, 0xc000, 0, 1, 2, 0xffff}},
      {"f16_raw",
       Proto::FLOAT16,
       DType::f16,
       raw<std::uint16_t>({0x3c00, 0xc000, 0, 1, 2, 3}),
       {0x3c00, 0xc000, 0, 1, 2, 3}},
      {"bf16_typed",
       Proto::BFLOAT16,
       DType::bf16,
       int32s({0x3f80, 0xc000, 0, 1, 2, 3}),
       {0x3f80, 0xc000, 0, 1, 2, 3}},
      {"u32_typed",
       Proto::UINT32,
       DType::u32,
       uint64s({1, 2, 3, 0, 4294967295u, 7}),
       {1, 2, 3, 0, 4294967295.0, 7}},
      {"u64_typed",
       Proto::UINT64,
       DType::u64,
       uint64s({1, 2, 3, 0, 1ull << 63, 7}),
       {1, 2, 3, 0, 9223372036854775808.0, 7}},
      {"bool_typed", Proto::BOOL, DType::boolean, int32s({1, 0, 1, 0, 1, 1}), {1, 0, 1, 0, 1, 1}},
      // Any byte but 0 is true.
      {"bool_raw",
       Proto::BOOL,
       DType::boolean,
       raw<std::uint8_t>({1, 0, 2, 0, 255, 1}),
       {1, 0, 1, 0, 1, 1}},
  };
}

double element(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
    case DType::f32:
      return tensor.as<float>()[i];
    case DType::f64:
      return tensor.as<double>()[i];
    case DType::i64:
      return static_cast<double>(tensor.as<std::int64_t>()[i]);
    case DType::u64:
      return static_cast<double>(tensor.as<std::uint64_t>()[i]);
    case DType::i32:
      return tensor.as<std::int32_t>()[i];
    case DType::u32:
      return tensor.as<std::uint32_t>()[i];
    case DType::i16:
      return tensor.as<std::int16_t>()[i];
    case DType::i8:
      return tensor.as<std::int8_t>()[i];
    case DType::u8:
    case DType::boolean:
      return tensor.as<std::uint8_t>()[i];
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return tensor.as<std::uint16_t>()[i];
  }
  return 0;
}

void expect_elements(const Encoding& e, const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), e.dtype);
  EXPECT_EQ(tensor.shape(), Shape("ab", {2, 3}));
  ASSERT_EQ(e.elements.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(element(tensor, i), e.elements[i]) << i;
}

TEST(OnnxTensors, EveryEncodingInAFileOfItsOwn) {
  for (const Encoding& e : encodings()) {
    SCOPED_TRACE(e.name);
    Proto t = onnx_tensor("name of it", e.type, {2, 3});
    e.fill(t);
    const TempFile file(t.SerializeAsString());
    std::string name;
    expect_elements(e, tensor_from_pb_file(file.path(), {}, &name));
    EXPECT_EQ(name, "name of it");
  }
}

TEST(OnnxTensors, EveryEncodingAsInitializerAndAsConstantNode) {
  for (const Encoding& e : encodings()) {
    SCOPED_TRACE(e.name);
    Proto t = onnx_tensor("w", e.type, {2, 3});
    e.fill(t);
    OnnxBuilder b;
    *b.graph().add_initializer() = t;
    b.node("Constant", {}, {"k"}).output("w").output("k");
    auto& attribute = *b.last_node().add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = t;
    const auto graph = import(b);
    ASSERT_EQ(graph->outputs.size(), 2u);
    for (ValueId v : graph->outputs) {
      ASSERT_NE(graph->value(v).constant, nullptr);
      expect_elements(e, *graph->value(v).constant);
    }
    EXPECT_EQ(graph->node_count(), 0);
  }
}

// The fields of a message may come in any order and repeated ones in any number of pieces.
TEST(OnnxTensors, FieldOrderAndPacking) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const std::string dims = {1 << 3, 2, 1 << 3, 3};
  const std::string type = {2 << 3, Proto::INT64};
  const std::string data = field(7, {1, 2}) + std::string{7 << 3, 3} + field(7, {4, 5, 6});
  for (const std::string& bytes :
       {dims + type + data, data + type + dims, type + data + field(1, {2, 3}),
        data + type + field(8, "x") + dims}) {
    const TempFile file(bytes);
    const Tensor t = tensor_from_pb_file(file.path());
    ASSERT_EQ(t.shape(), Shape("ab", {2, 3}));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(element(t, i), static_cast<double>(i + 1));
  }
}

// The standard wants producers first; shapes are inferred either way.
TEST(OnnxNodes, InAnyOrder) {
  OnnxBuilder b;
  b.input("x", {2, 3}).output("z");
  b.node("Flatten", {"y"}, {"z"}, {{"axis", std::int64_t{0}}});
  b.node("Transpose", {"x"}, {"y"}, {{"perm", OnnxInts{1, 0}}});
  const auto graph = import(b);
  EXPECT_EQ(extents(value_named(*graph, "y")), (OnnxInts{3, 2}));
  EXPECT_EQ(extents(value_named(*graph, "z")), (OnnxInts{1, 6}));
  EXPECT_EQ(graph->node(graph->value(graph->outputs[0]).producer).name, "n_z");
}

// The second output of a Dropout: an output of the model, read by a later node, or by nobody.
TEST(OnnxNodes, OutputsThatAreReadLater) {
  for (const bool output : {true, false}) {
    for (const bool read : {true, false}) {
      OnnxBuilder b;
      b.input("x", {2, 3}).output("y").node("Dropout", {"x"}, {"y", "mask"});
      if (output) b.output("mask");
      if (read) b.output("n").node("Not", {"mask"}, {"n"});
      const auto graph = import(b);
      EXPECT_EQ(graph->node(NodeId(0)).outputs.size(), output || read ? 2u : 1u);
      if (output || read) {
        EXPECT_EQ(extents(value_named(*graph, "mask")), (OnnxInts{2, 3}));
      }
    }
  }
}

// Before opset 7 `axis` said where the second operand starts, and a slope of one axis is one a
// channel where that is the only way to read it.
TEST(OnnxNodes, OperandsThatStartAtAnAxis) {
  struct Line {
    const char* op;
    int opset;
    std::vector<std::pair<std::string, OnnxBuilder::Attribute>> attrs;
    float want;  ///< of x = -3 and an operand of 2
  };

  const Line lines[] = {
      {"Add", 6, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}, -1},
      {"Mul", 6, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{-3}}}, -6},
      {"Pow", 6, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}, 9},
      {"PRelu", 6, {}, -6},
      {"PRelu", 16, {}, -6},
  };
  for (const Line& line : lines) {
    for (const bool computed : {false, true}) {
      SCOPED_TRACE(testing::Message() << line.op << " " << line.opset << " " << computed);
      OnnxBuilder b(line.opset);
      b.input("x", {2, 3, 4, 5}).output("y");
      if (computed) {
        b.input("b", {3});
      } else {
        Proto& t = *b.graph().add_initializer();
        t = onnx_tensor("b", Proto::FLOAT, {3});
        set_raw(t, std::vector<float>{2, 2, 2});
      }
      b.node(line.op, {"x", "b"}, {"y"}, line.attrs);
      Session session(make_plan(import(b)));
      Tensor x(DType::f32, session.inputs()[0].shape), operand(DType::f32, Shape("a", {3}));
      std::ranges::fill(x.as<float>(), -3.0f);
      std::ranges::fill(operand.as<float>(), 2.0f);
      session.set_input(0, x.view());
      if (computed) session.set_input(1, operand.view());
      session.run();
      const Tensor y = session.output(0);
      EXPECT_EQ(extents(y.shape()), (OnnxInts{2, 3, 4, 5}));
      for (const float v : y.as<float>().first(120)) ASSERT_EQ(v, line.want);
    }
  }
}

TEST(OnnxNodes, CastLikeTakesTheDtypeOfAnother) {
  OnnxBuilder b(15);
  b.input("x", {2}).input("like", {1}, Proto::INT64).output("y");
  b.node("CastLike", {"x", "like"}, {"y"});
  const auto graph = import(b);
  EXPECT_EQ(value_named(*graph, "y").dtype, DType::i64);
  EXPECT_EQ(graph->node(NodeId(0)).inputs.size(), 1u);
}

TEST(OnnxTensors, ScalarsAndEmptyTensors) {
  Proto scalar = onnx_tensor("s", Proto::FLOAT, {});
  scalar.add_float_data(7);
  const TempFile scalar_file(scalar.SerializeAsString());
  const Tensor s = tensor_from_pb_file(scalar_file.path());
  EXPECT_EQ(s.shape().rank(), 0);
  EXPECT_EQ(s.as<float>()[0], 7);

  const TempFile empty_file(onnx_tensor("e", Proto::INT64, {2, 0, 3}).SerializeAsString());
  const Tensor e = tensor_from_pb_file(empty_file.path());
  EXPECT_EQ(e.shape(), Shape("abc", {2, 0, 3}));
  EXPECT_EQ(e.bytes(), 0u);
}

struct External {
  const char* name;
  std::map<std::string, std::string> entries;
  const char* words;  ///< of the failure; "" when it works
};

TEST(OnnxTensors, DataInAnotherFile) {
  namespace fs = std::filesystem;
  std::string top = testing::TempDir() + "stowage_XXXXXX";
  ASSERT_NE(mkdtemp(top.data()), nullptr);
  const fs::path folder = fs::path(top) / "model";
  fs::create_directories(folder / "sub");
  const std::vector<float> numbers = {9, 1, 2, 3, 4, 5, 6, 9};
  for (const fs::path& p : {folder / "data", folder / "sub" / "data", fs::path(top) / "secret"}) {
    std::ofstream(p, std::ios::binary).write(reinterpret_cast<const char*>(numbers.data()), 32);
  }
  fs::create_symlink("../secret", folder / "link");
  fs::create_directory_symlink("..", folder / "up");

  const std::string secret = top + "/secret";
  const std::vector<External> cases = {
      {"offset and length", {{"location", "data"}, {"offset", "4"}, {"length", "24"}}, ""},
      {"offset", {{"location", "sub/data"}, {"offset", "4"}, {"checksum", "x"}}, ""},
      {"a dot", {{"location", "./sub/./data"}, {"offset", "4"}}, ""},
      {"too little", {{"location", "data"}, {"offset", "12"}}, "needs 24 bytes of 'data', 20 are"},
      {"behind the end", {{"location", "data"}, {"offset", "1000"}}, "needs 24 bytes"},
      {"a length that differs", {{"location", "data"}, {"length", "20"}}, "20 are there"},
      {"no offset", {{"location", "data"}, {"offset", "-4"}}, "'-4' is not an offset"},
      {"an offset too large", {{"location", "data"}, {"offset", "99999999999999999999"}}, "is not"},
      {"no location", {}, "does not lie beneath"},
      {"nothing there", {{"location", "nothing"}}, "cannot read 'nothing'"},
      {"a folder", {{"location", "sub"}}, "a directory"},
      {"upwards", {{"location", "../secret"}}, "does not lie beneath"},
      {"down and up", {{"location", "sub/../../secret"}}, "does not lie beneath"},
      {"absolute", {{"location", secret}}, "does not lie beneath"},
      {"a link", {{"location", "link"}}, "symbolic link"},
      {"through a link", {{"location", "up/secret"}}, "cannot read"},
      {"a name with NUL", {{"location", std::string("data\0x", 6)}}, "control characters"},
  };
  for (const External& c : cases) {
    SCOPED_TRACE(c.name);
    Proto t = onnx_tensor("w", Proto::FLOAT, {2, 3});
    t.set_data_location(Proto::EXTERNAL);
    for (const auto& [key, value] : c.entries) {
      auto& entry = *t.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    const std::string path = (folder / "w.pb").string();
    std::ofstream(path, std::ios::binary) << t.SerializeAsString();
    try {
      const Tensor got = tensor_from_pb_file(path);
      EXPECT_STREQ(c.words, "");
      for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(got.as<float>()[i], numbers[i + 1]);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_STRNE(c.words, "") << e.what();
      EXPECT_NE(e.sentence().find(c.words), std::string::npos) << e.what();
    }
  }
  fs::remove_all(top);
}

TEST(OnnxModels, ConstantNodesOfScalarsAndLists) {
  OnnxBuilder b;
  b.node("Constant", {}, {"f"}, {{"value_float", 2.5f}});
  b.node("Constant", {}, {"fs"}, {{"value_floats", std::vector<float>{1, 2}}});
  b.node("Constant", {}, {"i"}, {{"value_int", std::int64_t{-3}}});
  b.node("Constant", {}, {"is"}, {{"value_ints", OnnxInts{4, 5, 6}}});
  b.output("f").output("fs").output("i").output("is");
  const auto graph = import(b);
  EXPECT_EQ(extents(value_named(*graph, "f")), OnnxInts{});
  EXPECT_EQ(value_named(*graph, "f").constant->as<float>()[0], 2.5f);
  EXPECT_EQ(extents(value_named(*graph, "fs")), OnnxInts{2});
  EXPECT_EQ(value_named(*graph, "fs").constant->as<float>()[1], 2.f);
  EXPECT_EQ(value_named(*graph, "i").constant->as<std::int64_t>()[0], -3);
  EXPECT_EQ(extents(value_named(*graph, "is")), OnnxInts{3});
  EXPECT_EQ(value_named(*graph, "is").constant->as<std::int64_t>()[2], 6);
}

TEST(OnnxModels, AnInitializerThatIsAlsoAnInputIsAConstant) {
  OnnxBuilder b;
  b.input("x", {1, 3}).input("w", {2, 2}).weights("w", {2, 2}).output("x").output("w");
  b.model.set_ir_version(3);
  const auto graph = import(b);
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->value(graph->inputs[0]).name, "x");
  EXPECT_EQ(graph->outputs[0], graph->inputs[0]);
  EXPECT_NE(value_named(*graph, "w").constant, nullptr);
}

TEST(OnnxModels, InputsThatNobodyReadsStay) {
  OnnxBuilder b;
  b.input("x", {2}).input("unused", {5}, Proto::INT64).output("x");
  const auto graph = import(b);
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->value(graph->inputs[1]).dtype, DType::i64);
}

TEST(OnnxModels, WeightsThatNobodyReadsTakeNoMemory) {
  OnnxBuilder b;
  b.input("x", {2}).weights("unused", {100, 100}).output("x");
  ImportOptions options;
  options.limits.total_bytes = 100;
  EXPECT_EQ(import(b, options)->value_count(), 1);
}

TEST(OnnxModels, OldFilesWithoutOpset) {
  OnnxBuilder b;
  b.input("x", {2}).output("x");
  b.model.clear_opset_import();
  b.model.set_ir_version(2);
  EXPECT_EQ(import(b)->inputs.size(), 1u);
}

using Dims = std::vector<OnnxBuilder::Dim>;

struct Binding {
  const char* name;
  Dims x, y;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  OnnxInts want_x, want_y;
};

TEST(OnnxModels, SymbolicDims) {
  const std::vector<Binding> cases = {
      {"static", {2, 3}, {4}, {}, {2, 3}, {4}},
      {"batch becomes 1", {"N", 3}, {"N", "N"}, {}, {1, 3}, {1, 1}},
      {"a batch without a name becomes 1", {"", 3}, {""}, {}, {1, 3}, {1}},
      {"a negative dim is none", {-1, 3}, {2}, {}, {1, 3}, {2}},
      {"an extent of 0 stays", {0, 3}, {2}, {}, {0, 3}, {2}},
      {"one input binds the others", {"N", "h"}, {"h", "N"}, {{"x", {2, 5}}}, {2, 5}, {5, 2}},
      {"of either", {"N", "h"}, {"h", "N"}, {{"y", {5, 2}}}, {2, 5}, {5, 2}},
      {"given shapes win", {2, 3}, {4}, {{"x", {7, 9}}}, {7, 9}, {4}},
      {"each wins for itself", {"N", 3}, {"N"}, {{"x", {7, 9}}, {"y", {8}}}, {7, 9}, {8}},
      {"scalars", {}, {1}, {}, {}, {1}},
  };
  for (const Binding& c : cases) {
    SCOPED_TRACE(c.name);
    OnnxBuilder b;
    b.input("x", c.x).input("y", c.y).output("x").output("y");
    ImportOptions options;
    options.shapes = c.shapes;
    const auto graph = import(b, options);
    EXPECT_EQ(extents(value_named(*graph, "x")), c.want_x);
    EXPECT_EQ(extents(value_named(*graph, "y")), c.want_y);
  }
}

TEST(OnnxModels, WhatIsKnownOfAnInputMakesItAConstant) {
  OnnxBuilder b;
  b.input("x", {2, 3}).input("shape", {2}, onnx::TensorProto::INT64).output("y");
  b.node("Reshape", {"x", "shape"}, {"y"});
  ImportOptions options;
  EXPECT_THROW(import(b, options), Error);
  Tensor shape(DType::i64, Shape("a", {2}));
  shape.as<std::int64_t>()[0] = 3;
  shape.as<std::int64_t>()[1] = 2;
  options.known.emplace("shape", shape);
  const auto graph = import(b, options);
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(extents(value_named(*graph, "y")), (OnnxInts{3, 2}));
  const auto code = [&](const std::string& name, const Tensor& known) {
    options.known.clear();
    options.known.emplace(name, known);
    try {
      import(b, options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code("z", shape), ErrorCode::usage);
  EXPECT_EQ(code("shape", Tensor(DType::i32, Shape("a", {2}))), ErrorCode::usage);
  EXPECT_EQ(code("shape", Tensor(DType::i64, Shape("a", {3}))), ErrorCode::usage);
}

TEST(OnnxModels, AnInputWithoutShapeTakesAnyGiven) {
  OnnxBuilder b;
  b.input("x", {}).output("x");
  b.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  ImportOptions options;
  options.shapes["x"] = {1, 2, 3};
  EXPECT_EQ(extents(value_named(*import(b, options), "x")), (OnnxInts{1, 2, 3}));
}

TEST(OnnxModels, AFirstOutputMayBeUnused) {
  OnnxBuilder b;
  b.input("x", {3, 1, 2}).weights("w", {1, 16, 2}).weights("r", {1, 16, 4});
  b.node("LSTM", {"x", "w", "r"}, {"", "h"}, {{"hidden_size", std::int64_t{4}}});
  b.node("Split", {"x"}, {"", "late", "last"}, {{"axis", std::int64_t{0}}});
  const TempFile file(b.output("h").output("late").bytes());
  Session session(make_plan(import_model(file.path())));
  Tensor x(DType::f32, session.inputs()[0].shape);
  for (std::size_t i = 0; i < 6; ++i) x.as<float>()[i] = 1.0f + static_cast<float>(i);
  session.set_input(0, x.view());
  session.run();
  EXPECT_EQ(session.output(0).shape().elements(), 4);
  EXPECT_GT(session.output(0).as<float>()[0], 0);
  EXPECT_EQ(session.output(1).as<float>()[0], 3);
}

}  // namespace
}  // namespace stowage
