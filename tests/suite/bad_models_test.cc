// SPDX-License-Identifier: Apache-2.0
// Files that are no good: each must end in one Error with the right code and a sentence that
// says what is wrong. A crash, a hang or a huge allocation is a bug whatever the file.
#include "tests/suite/bad_models.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "import/onnx_tensor.h"

namespace stowage {
namespace {

using Proto = onnx::TensorProto;

using Change = std::function<void(OnnxBuilder&)>;

/// x -> Relu -> y with a change applied.
std::function<std::string()> relu(const Change& change) {
  return [change] {
    OnnxBuilder b;
    b.input("x", {1, 3}).node("Relu", {"x"}, {"y"}).output("y");
    change(b);
    return b.bytes();
  };
}

/// A model with one initializer that is its output.
std::function<std::string()> weight(Proto::DataType type, const OnnxInts& dims,
                                    const std::function<void(Proto&)>& change) {
  return [=] {
    OnnxBuilder b;
    Proto& t = *b.graph().add_initializer();
    t = onnx_tensor("w", type, dims);
    change(t);
    return b.output("w").bytes();
  };
}

/// A model built from nothing.
std::function<std::string()> model(const Change& change) {
  return [change] {
    OnnxBuilder b;
    change(b);
    return b.bytes();
  };
}

std::function<std::string()> bytes(std::string text) {
  return [text] { return text; };
}

ImportOptions limited(const std::function<void(Limits&)>& change) {
  ImportOptions options;
  change(options.limits);
  return options;
}

ImportOptions shaped(const std::string& name, std::vector<std::int64_t> extents) {
  ImportOptions options;
  options.shapes[name] = std::move(extents);
  return options;
}

TEST(BadModels, Files) {
  expect_failures({
      {"empty", bytes(""), ErrorCode::bad_input, "is empty"},
      {"text", bytes("this is no model\n"), ErrorCode::bad_input, ""},
      {"html", bytes("<!DOCTYPE html><html><body>404</body></html>"), ErrorCode::bad_input, ""},
      {"zeros", bytes(std::string(100, '\0')), ErrorCode::bad_input, "not an ONNX file"},
      {"ones", bytes(std::string(100, '\xff')), ErrorCode::bad_input, "not an ONNX file"},
      {"a tensor", [] { return onnx_tensor("t", Proto::FLOAT, {0}).SerializeAsString(); },
       ErrorCode::bad_input, "not an ONNX file"},
      {"too large", relu([](OnnxBuilder&) {}), ErrorCode::limit, "over the limit of 10",
       limited([](Limits& l) { l.file_bytes = 10; })},
  });
}

TEST(BadModels, PathsThatAreNoFiles) {
  const std::string fifo = testing::TempDir() + "stowage_fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path :
       {testing::TempDir(), fifo, std::string("/no/such/file.onnx"), std::string(),
        std::string("/dev/null"), std::string("/dev/zero")}) {
    SCOPED_TRACE(path);
    ErrorCode code = ErrorCode::internal;
    EXPECT_NE(failure(path, {}, code), "");
    EXPECT_EQ(code, ErrorCode::bad_input);
    EXPECT_THROW(tensor_from_pb_file(path), Error);
  }
  unlink(fifo.c_str());
}

TEST(BadModels, Headers) {
  expect_failures({
      {"no graph", relu([](OnnxBuilder& b) { b.model.clear_graph(); }), ErrorCode::bad_input,
       "no graph"},
      {"two graphs",
       [] {
         OnnxBuilder a, b;
         return a.output("x").bytes() + b.output("y").bytes();
       },
       ErrorCode::bad_input, "more than one graph"},
      {"no IR version", relu([](OnnxBuilder& b) { b.model.clear_ir_version(); }),
       ErrorCode::bad_input, "IR version"},
      {"no opset", relu([](OnnxBuilder& b) { b.model.clear_opset_import(); }), ErrorCode::bad_input,
       "does not say its opset"},
      {"opset 0", relu([](OnnxBuilder& b) { b.model.mutable_opset_import(0)->set_version(0); }),
       ErrorCode::bad_input, "opset 0"},
      {"an empty graph", model([](OnnxBuilder&) {}), ErrorCode::bad_input, "no output"},
  });
}

TEST(BadModels, Names) {
  const auto name = [](const std::string& text) {
    return relu([text](OnnxBuilder& b) { b.last_node().set_name(text); });
  };
  expect_failures({
      {"NUL", name(std::string("a\0b", 3)), ErrorCode::bad_input, "control characters"},
      {"newline", name("a\nb"), ErrorCode::bad_input, "control characters"},
      {"escape", name("\x1b[31m"), ErrorCode::bad_input, "control characters"},
      {"bad UTF-8", name("a\xff"), ErrorCode::bad_input, "UTF-8"},
      {"UTF-8 cut off", name("a\xe2\x82"), ErrorCode::bad_input, "UTF-8"},
      {"overlong UTF-8", name("a\xc0\x80"), ErrorCode::bad_input, "UTF-8"},
      {"a surrogate", name("\xed\xa0\x80"), ErrorCode::bad_input, "UTF-8"},
      {"too long", name(std::string(5000, 'a')), ErrorCode::limit, "5000 bytes"},
      {"of a weight", weight(Proto::FLOAT, {0}, [](Proto& t) { t.set_name("w\t"); }),
       ErrorCode::bad_input, "control characters"},
      {"of an attribute", relu([](OnnxBuilder& b) {
         auto& a = *b.last_node().add_attribute();
         a.set_name("a\x01");
         a.set_type(onnx::AttributeProto::INT);
       }),
       ErrorCode::bad_input, "control characters"},
  });
}

TEST(BadModels, Graphs) {
  expect_failures({
      {"two nodes make a value", relu([](OnnxBuilder& b) { b.node("Relu", {"x"}, {"y"}); }),
       ErrorCode::bad_input, "'y' is produced twice [node 'n_y' (Relu)"},
      {"a node makes a value twice", relu([](OnnxBuilder& b) { b.last_node().add_output("y"); }),
       ErrorCode::bad_input, "'y' is produced twice"},
      {"a node makes an input", relu([](OnnxBuilder& b) { b.node("Relu", {"y"}, {"x"}); }),
       ErrorCode::bad_input, "'x' is produced twice"},
      {"a node makes a weight",
       relu([](OnnxBuilder& b) { b.weights("w", {2}).node("Relu", {"y"}, {"w"}); }),
       ErrorCode::bad_input, "'w' is produced twice"},
      {"a constant makes an input", relu([](OnnxBuilder& b) {
         b.node("Constant", {}, {"x"}, {{"value_int", std::int64_t{1}}});
       }),
       ErrorCode::bad_input, "'x' is produced twice"},
      {"a weight twice", relu([](OnnxBuilder& b) { b.weights("w", {2}).weights("w", {2}); }),
       ErrorCode::bad_input, "'w' is produced twice"},
      {"an input twice", relu([](OnnxBuilder& b) { b.input("x", {2}); }), ErrorCode::bad_input,
       "'x' is produced twice"},
      {"an input of nothing", relu([](OnnxBuilder& b) { b.node("Relu", {"ghost"}, {"z"}); }),
       ErrorCode::bad_input, "nothing produces its input 'ghost' [node 'n_z' (Relu)"},
      {"an output of nothing", relu([](OnnxBuilder& b) { b.output("ghost"); }),
       ErrorCode::bad_input, "nothing produces the output 'ghost'"},
      {"an output twice", relu([](OnnxBuilder& b) { b.output("y"); }), ErrorCode::bad_input,
       "'y' is listed twice"},
      {"no output", relu([](OnnxBuilder& b) { b.graph().clear_output(); }), ErrorCode::bad_input,
       "no output"},
      {"an output without name", relu([](OnnxBuilder& b) { b.graph().add_output(); }),
       ErrorCode::bad_input, "no name"},
      {"a weight without name", relu([](OnnxBuilder& b) { b.weights("", {2}); }),
       ErrorCode::bad_input, "no name"},
      {"a cycle of two", relu([](OnnxBuilder& b) {
         b.node("Add", {"x", "q"}, {"p"}).node("Relu", {"p"}, {"q"});
       }),
       ErrorCode::bad_input, "cycle"},
      {"a cycle of one", relu([](OnnxBuilder& b) {
         b.node("Add", {"x", "p"}, {"p"});
       }),
       ErrorCode::bad_input, "cycle"},
      {"a node without operator", relu([](OnnxBuilder& b) { b.last_node().clear_op_type(); }),
       ErrorCode::bad_input, "no operator"},
      {"a node without output", relu([](OnnxBuilder& b) { b.node("Relu", {"x"}, {}); }),
       ErrorCode::bad_input, "no output"},
      {"more outputs than the operator has",
       relu([](OnnxBuilder& b) { b.last_node().add_output("extra"); }), ErrorCode::bad_input,
       "no such output as 'extra' [node 'n_y' (Relu)"},
      {"more outputs of a constant", relu([](OnnxBuilder& b) {
         b.weights("w", {2}).node("Relu", {"w"}, {"z", "extra"});
       }),
       ErrorCode::bad_input, "no such output as 'extra'"},
      {"more outputs of a shape", relu([](OnnxBuilder& b) {
         b.node("Shape", {"y"}, {"z", "extra"});
       }),
       ErrorCode::bad_input, "no such output as 'extra'"},
      {"more outputs of a dropout", relu([](OnnxBuilder& b) {
         b.node("Dropout", {"y"}, {"z", "mask", "extra"});
       }),
       ErrorCode::bad_input, "no such output as 'extra'"},
      {"a node with empty outputs", relu([](OnnxBuilder& b) {
         b.node("Relu", {"x"}, {"", ""});
       }),
       ErrorCode::bad_input, "no output"},
      {"a required input is absent", relu([](OnnxBuilder& b) { b.node("Relu", {""}, {"z"}); }),
       ErrorCode::bad_input, "input 0 is missing [node 'n_z' (Relu)"},
      {"a required input is lacking", relu([](OnnxBuilder& b) { b.node("Relu", {}, {"z"}); }),
       ErrorCode::bad_input, "input 0 is missing [node 'n_z' (Relu)"},
  });
}

TEST(BadModels, Attributes) {
  const auto attribute = [](const std::function<void(onnx::AttributeProto&)>& change) {
    return relu([change](OnnxBuilder& b) {
      auto& a = *b.last_node().add_attribute();
      a.set_name("alpha");
      change(a);
    });
  };
  using A = onnx::AttributeProto;
  expect_failures({
      {"twice", relu([](OnnxBuilder& b) {
         for (int i = 0; i < 2; ++i) {
           auto& a = *b.last_node().add_attribute();
           a.set_name("alpha");
           a.set_type(A::INT);
         }
       }),
       ErrorCode::bad_input, "'alpha' occurs twice [node 'n_y' (Relu)"},
      {"no name", attribute([](A& a) { a.clear_name(); }), ErrorCode::bad_input, "no name"},
      {"nothing at all", attribute([](A&) {}), ErrorCode::bad_input, "does not hold"},
      {"another type", attribute([](A& a) {
         a.set_type(A::FLOAT);
         a.set_i(3);
       }),
       ErrorCode::bad_input, "does not hold the type that it declares"},
      {"two values", attribute([](A& a) {
         a.set_type(A::INT);
         a.set_i(3);
         a.set_s("three");
       }),
       ErrorCode::bad_input, "does not hold the type that it declares"},
      {"a type that does not exist", attribute([](A& a) {
         a.set_type(A::INT);
         a.mutable_unknown_fields()->AddVarint(20, 99);
       }),
       ErrorCode::unsupported, "not supported"},
      {"a graph", attribute([](A& a) {
         a.set_type(A::GRAPH);
         a.mutable_g()->set_name("inner");
       }),
       ErrorCode::unsupported, "'alpha' is a graph [node 'n_y' (Relu)"},
      {"a sparse tensor", attribute([](A& a) {
         a.set_type(A::SPARSE_TENSOR);
         a.mutable_sparse_tensor();
       }),
       ErrorCode::unsupported, "not supported"},
      {"of a function", attribute([](A& a) {
         a.set_type(A::INT);
         a.set_ref_attr_name("beta");
       }),
       ErrorCode::bad_input, "refers to one of a function"},
      {"a bad tensor", attribute([](A& a) {
         a.set_type(A::TENSOR);
         *a.mutable_t() = onnx_tensor("inner", Proto::FLOAT, {3});
       }),
       ErrorCode::bad_input, "no data"},
  });
}

TEST(BadModels, Constants) {
  const auto constant = [](const std::function<void(OnnxBuilder&)>& change) {
    return model([change](OnnxBuilder& b) {
      b.node("Constant", {}, {"k"}).output("k");
      change(b);
    });
  };
  expect_failures({
      {"no value", constant([](OnnxBuilder&) {}), ErrorCode::bad_input, "exactly one value"},
      {"an input", model([](OnnxBuilder& b) {
         b.input("x", {1}).node("Constant", {"x"}, {"k"}, {{"value_int", std::int64_t{1}}});
         b.output("k");
       }),
       ErrorCode::bad_input, "no input and one output"},
      {"two outputs", model([](OnnxBuilder& b) {
         b.node("Constant", {}, {"k", "l"}, {{"value_int", std::int64_t{1}}}).output("k");
       }),
       ErrorCode::bad_input, "no input and one output"},
      {"two values", model([](OnnxBuilder& b) {
         b.node("Constant", {}, {"k"}, {{"value_int", std::int64_t{1}}, {"value_float", 2.f}});
         b.output("k");
       }),
       ErrorCode::bad_input, "exactly one value"},
      {"a string", model([](OnnxBuilder& b) {
         b.node("Constant", {}, {"k"}, {{"value_string", std::string("s")}}).output("k");
       }),
       ErrorCode::unsupported, "a constant of 'value_string' [node 'n_k' (Constant)"},
  });
}

TEST(BadModels, Tensors) {
  const auto raw = [](std::size_t size) {
    return [size](Proto& t) { t.set_raw_data(std::string(size, '\x01')); };
  };
  const auto nothing = [](Proto&) {};
  const auto int32s = [](std::vector<int> v) {
    return [v](Proto& t) {
      for (int x : v) t.add_int32_data(x);
    };
  };
  const std::int64_t big = std::int64_t{1} << 40;
  expect_failures({
      {"raw data too short", weight(Proto::FLOAT, {2, 3}, raw(23)), ErrorCode::bad_input,
       "tensor 'w' of dims [2, 3] brings 23 bytes of data"},
      {"raw data too long", weight(Proto::FLOAT, {2, 3}, raw(25)), ErrorCode::bad_input,
       "brings 25 bytes"},
      {"raw data of a scalar", weight(Proto::FLOAT, {}, raw(8)), ErrorCode::bad_input, "8 bytes"},
      {"raw data of nothing", weight(Proto::FLOAT, {0}, raw(4)), ErrorCode::bad_input, "4 bytes"},
      {"no data", weight(Proto::FLOAT, {2, 3}, nothing), ErrorCode::bad_input, "has no data"},
      {"too few floats", weight(Proto::FLOAT, {2}, [](Proto& t) { t.add_float_data(1); }),
       ErrorCode::bad_input, "brings 4 bytes"},
      {"too few integers", weight(Proto::INT32, {3}, int32s({1, 1 << 20})), ErrorCode::bad_input,
       "brings 2 elements instead of 3"},
      {"too many integers", weight(Proto::INT32, {1}, int32s({1, 2})), ErrorCode::bad_input,
       "more elements than its dims say"},
      {"integers for floats", weight(Proto::FLOAT, {1}, int32s({1})), ErrorCode::bad_input,
       "in a field of another type"},
      {"floats for integers", weight(Proto::INT64, {1}, [](Proto& t) { t.add_float_data(1); }),
       ErrorCode::bad_input, "in a field of another type"},
      {"two kinds of data",
       weight(Proto::INT32, {1},
              [](Proto& t) {
                t.add_int32_data(1);
                t.set_raw_data("abcd");
              }),
       ErrorCode::bad_input, "two kinds of data"},
      {"u8 of 256", weight(Proto::UINT8, {1}, int32s({256})), ErrorCode::bad_input,
       "element 0 is 256, which does not fit its type"},
      {"u8 of -1", weight(Proto::UINT8, {1}, int32s({-1})), ErrorCode::bad_input, "is -1"},
      {"i8 of 128", weight(Proto::INT8, {2}, int32s({1, 128})), ErrorCode::bad_input,
       "element 1 is 128"},
      {"f16 of 65536", weight(Proto::FLOAT16, {1}, int32s({65536})), ErrorCode::bad_input,
       "is 65536"},
      {"a negative dim", weight(Proto::FLOAT, {2, -3}, raw(24)), ErrorCode::bad_input,
       "negative dim -3"},
      {"dims that overflow", weight(Proto::FLOAT, {big, big}, raw(24)), ErrorCode::bad_input,
       "product exceeds 64 bits"},
      {"dims that overflow behind 0", weight(Proto::FLOAT, {0, big, big}, nothing),
       ErrorCode::bad_input, "product exceeds 64 bits"},
      {"bytes that overflow", weight(Proto::FLOAT, {big, 1 << 22}, raw(24)), ErrorCode::bad_input,
       "brings 24 bytes"},
      {"dims that wrap to a match", weight(Proto::FLOAT, {std::int64_t{1} << 62, 1}, raw(0)),
       ErrorCode::bad_input, "no data"},
      {"huge dims, tiny data", weight(Proto::UINT8, {big}, int32s({1})), ErrorCode::bad_input,
       "brings 1 bytes"},
      {"rank 9", weight(Proto::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1}, raw(4)), ErrorCode::limit,
       "9 axes; at most 8"},
      {"rank 1000", weight(Proto::FLOAT, OnnxInts(1000, 1), raw(4)), ErrorCode::limit, "dims"},
      {"strings", weight(Proto::STRING, {1}, [](Proto& t) { t.add_string_data("s"); }),
       ErrorCode::unsupported, "tensor 'w' holds strings"},
      {"complex numbers", weight(Proto::COMPLEX64, {1}, raw(8)), ErrorCode::unsupported,
       "complex numbers"},
      {"no data type", weight(Proto::UNDEFINED, {1}, raw(4)), ErrorCode::bad_input, "no data type"},
      {"a float8", weight(Proto::UNDEFINED, {1}, [](Proto& t) { t.set_data_type(17); }),
       ErrorCode::unsupported, "unknown data type 17"},
      {"no such data type", weight(Proto::UNDEFINED, {1}, [](Proto& t) { t.set_data_type(-5); }),
       ErrorCode::bad_input, "unknown data type -5"},
      {"a segment", weight(Proto::FLOAT, {1}, [](Proto& t) { t.mutable_segment(); }),
       ErrorCode::unsupported, "segment"},
      {"sparse", relu([](OnnxBuilder& b) { b.graph().add_sparse_initializer(); }),
       ErrorCode::unsupported, "sparse"},
  });
}

TEST(BadModels, Inputs) {
  const auto input = [](const std::function<void(onnx::TypeProto&)>& change) {
    return relu([change](OnnxBuilder& b) { change(*b.graph().mutable_input(0)->mutable_type()); });
  };
  const auto dims = [](const std::vector<OnnxBuilder::Dim>& d) {
    return model([d](OnnxBuilder& b) { b.input("x", d).output("x"); });
  };
  const auto plain = relu([](OnnxBuilder&) {});
  using T = onnx::TypeProto;
  expect_failures({
      {"a sequence", input([](T& t) { t.mutable_sequence_type(); }), ErrorCode::unsupported,
       "input 'x' is a sequence"},
      {"a map", input([](T& t) { t.mutable_map_type(); }), ErrorCode::unsupported, "a map"},
      {"an optional", input([](T& t) { t.mutable_optional_type(); }), ErrorCode::unsupported,
       "an optional value"},
      {"sparse", input([](T& t) { t.mutable_sparse_tensor_type(); }), ErrorCode::unsupported,
       "a sparse tensor"},
      {"no type", relu([](OnnxBuilder& b) { b.graph().mutable_input(0)->clear_type(); }),
       ErrorCode::unsupported, "a value of no type"},
      {"strings", input([](T& t) { t.mutable_tensor_type()->set_elem_type(Proto::STRING); }),
       ErrorCode::unsupported, "input 'x' holds strings"},
      {"no element type", input([](T& t) { t.mutable_tensor_type()->clear_elem_type(); }),
       ErrorCode::bad_input, "no data type"},
      {"no shape", input([](T& t) { t.mutable_tensor_type()->clear_shape(); }), ErrorCode::usage,
       "--shape x=1,3,224,224"},
      {"a symbolic dim", dims({"N", 3, "height", "width"}), ErrorCode::usage,
       "input 'x' has the symbolic dim 'height'; give its shape, e.g. --shape x=1,3,224,224"},
      {"a nameless dim", dims({"N", ""}), ErrorCode::usage,
       "input 'x' has a dim without a size (1); give its shape, e.g. --shape x=1,3"},
      {"rank 9", dims({1, 1, 1, 1, 1, 1, 1, 1, 1}), ErrorCode::limit, "more than 8 dims"},
      {"a shape of another rank", plain, ErrorCode::usage,
       "rank 2, the shape given for it has rank 3", shaped("x", {1, 3, 4})},
      {"a negative extent", plain, ErrorCode::usage, "cannot have the extent -1",
       shaped("x", {1, -1})},
      {"a shape for no input", plain, ErrorCode::usage, "no input 'X'; its inputs are: x",
       shaped("X", {1, 3})},
      {"a shape for a weight", relu([](OnnxBuilder& b) { b.weights("w", {2}); }), ErrorCode::usage,
       "no input 'w'", shaped("w", {2})},
      {"a shape that overflows", plain, ErrorCode::limit, "",
       shaped("x", {std::int64_t{1} << 40, std::int64_t{1} << 40})},
  });
}

TEST(BadModels, SizeLimits) {
  const auto chain = [](int nodes) {
    return model([nodes](OnnxBuilder& b) {
      b.input("x", {1});
      for (int i = 0; i < nodes; ++i) {
        b.node("Relu", {i == 0 ? "x" : std::to_string(i - 1)}, {std::to_string(i)});
      }
      b.output(std::to_string(nodes - 1));
    });
  };
  const auto entries = [](int count) {
    return relu([count](OnnxBuilder& b) {
      for (int i = 0; i < count; ++i) b.last_node().add_input("");
    });
  };
  const auto few_nodes = limited([](Limits& l) { l.nodes = 10; });
  expect_failures({
      {"nodes", chain(11), ErrorCode::limit, "more than 10 nodes", few_nodes},
      {"a million nodes", chain(1'000'000), ErrorCode::limit, "more than 100000 nodes"},
      {"inputs of a node", entries(1000), ErrorCode::limit, "names and attributes", few_nodes},
      {"attributes", relu([](OnnxBuilder& b) {
         for (int i = 0; i < 1000; ++i) b.last_node().add_attribute();
       }),
       ErrorCode::limit, "names and attributes", few_nodes},
      {"weights", relu([](OnnxBuilder& b) {
         for (int i = 0; i < 1000; ++i) b.graph().add_initializer();
       }),
       ErrorCode::limit, "names and attributes", few_nodes},
      {"inputs", relu([](OnnxBuilder& b) {
         for (int i = 0; i < 1000; ++i) b.input(std::to_string(i), {1});
       }),
       ErrorCode::limit, "names and attributes", few_nodes},
      {"one tensor", model([](OnnxBuilder& b) {
         b.weights("w", {5, 5}).output("w");
       }),
       ErrorCode::limit, "'w' has 100 bytes, over the limit of 99",
       limited([](Limits& l) { l.tensor_bytes = 99; })},
      {"all tensors", model([](OnnxBuilder& b) {
         b.weights("w", {5, 5}).weights("v", {5, 5}).output("w").output("v");
       }),
       ErrorCode::limit, "more than 199 bytes", limited([](Limits& l) { l.total_bytes = 199; })},
      {"an input", model([](OnnxBuilder& b) {
         b.input("x", {1 << 20, 1 << 20}).output("x");
       }),
       ErrorCode::limit, "'x' has 4398046511104 bytes"},
      {"list elements", model([](OnnxBuilder& b) {
         b.node("Constant", {}, {"k"}, {{"value_ints", OnnxInts(100, 1)}}).output("k");
       }),
       ErrorCode::limit, "more than 799 bytes", limited([](Limits& l) { l.total_bytes = 799; })},
  });
}

TEST(BadModels, UnsupportedOperators) {
  const auto node = [](const std::string& type, const std::string& domain) {
    return relu([=](OnnxBuilder& b) {
      b.node(type, {"y"}, {"z"});
      b.last_node().set_domain(domain);
      if (domain.empty() || domain == "ai.onnx") return;
      b.model.add_opset_import()->set_domain(domain);
      b.model.mutable_opset_import(1)->set_version(1);
    });
  };
  expect_failures({
      {"one", node("Frobnicate", ""), ErrorCode::unsupported,
       "unsupported operator Frobnicate [node 'n_z' (Frobnicate) < importing '"},
      {"of another domain", node("Scaler", "ai.onnx.ml"), ErrorCode::unsupported,
       "unsupported operator Scaler (domain 'ai.onnx.ml') [node 'n_z' (Scaler)"},
      {"a known name in another domain", node("Relu", "com.example"), ErrorCode::unsupported,
       "unsupported operator Relu (domain 'com.example')"},
      {"several, each once", relu([](OnnxBuilder& b) {
         for (const char* t : {"Zap", "Blink", "Zap"}) b.node(t, {"y"}, {"z"});
       }),
       ErrorCode::unsupported, "unsupported operators: Blink, Zap"},
      {"a domain without opset",
       relu([](OnnxBuilder& b) { b.model.mutable_opset_import(0)->set_domain("com.example"); }),
       ErrorCode::bad_input, "opset for domain ''"},
  });
}

// What lies beneath a graph attribute or a type is skipped, however deep.
TEST(BadModels, DeepNesting) {
  const auto wrap = [](std::string inner, char tag, int depth) {
    for (int i = 0; i < depth; ++i) {
      std::string outer{tag};
      for (std::size_t n = inner.size();; n >>= 7) {
        outer += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
        if (n <= 0x7f) break;
      }
      inner = outer + inner;
    }
    return inner;
  };
  expect_failures({
      {"sequences of sequences", relu([&](OnnxBuilder& b) {
         // TypeProto.sequence_type = 4, Sequence.elem_type = 1: alternating tags 0x22, 0x0a.
         std::string type;
         for (int i = 0; i < 2000; ++i) type = wrap(wrap(type, 0x0a, 1), 0x22, 1);
         auto& port = *b.graph().mutable_input(0);
         port.clear_type();
         port.mutable_unknown_fields()->AddLengthDelimited(2, type);
       }),
       ErrorCode::unsupported, "a sequence"},
      {"groups of groups", bytes(std::string(10000, '\x0b')), ErrorCode::bad_input, ""},
  });
}

}  // namespace
}  // namespace stowage
