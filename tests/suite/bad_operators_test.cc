// SPDX-License-Identifier: Apache-2.0
// Models whose file is well-formed but whose operators do not fit together, and a good model
// that is cut off, bent and shuffled at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "tests/suite/bad_models.h"

namespace stowage {
namespace {

using Proto = onnx::TensorProto;
using Attributes = std::vector<std::pair<std::string, OnnxBuilder::Attribute>>;

/// Input x of 1x3x8x8, one node n_y with more constants, output y.
struct Operands {
  std::vector<std::pair<std::string, OnnxInts>> weights;  ///< name and dims
  std::vector<std::pair<std::string, OnnxInts>> ints;     ///< name and elements
};

std::function<std::string()> one_node(const std::string& type, const Operands& operands,
                                      const Attributes& attributes = {},
                                      Proto::DataType dtype = Proto::FLOAT) {
  return [=] {
    OnnxBuilder b;
    b.input("x", {1, 3, 8, 8}, dtype);
    std::vector<std::string> inputs = {"x"};
    for (const auto& [name, dims] : operands.weights) {
      b.weights(name, dims);
      inputs.push_back(name);
    }
    for (const auto& [name, elements] : operands.ints) {
      b.ints(name, elements);
      inputs.push_back(name);
    }
    return b.node(type, inputs, {"y"}, attributes).output("y").bytes();
  };
}

std::function<std::string()> conv(const OnnxInts& weights, const Attributes& attributes = {},
                                  const OnnxInts& bias = {}) {
  Operands operands{{{"w", weights}}, {}};
  if (!bias.empty()) operands.weights.emplace_back("b", bias);
  return one_node("Conv", operands, attributes);
}

constexpr auto kBad = ErrorCode::bad_input;
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(BadOperators, Normalisations) {
  const auto groups = [](std::int64_t count, std::int64_t elements) {
    return one_node("GroupNormalization", {{{"s", {elements}}, {"b", {elements}}}, {}},
                    {{"num_groups", count}});
  };
  expect_failures({
      {"no groups", groups(0, 3), kBad, "0 groups of 3 channels"},
      {"groups that do not divide", groups(2, 3), kBad, "2 groups of 3 channels"},
      {"many groups", groups(kHuge, 3), kBad, "groups of 3 channels"},
      {"many groups of no channels",
       [] {
         return OnnxBuilder()
             .input("x", {4, 0, 8})
             .weights("s", {0})
             .weights("b", {0})
             .node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", kHuge}})
             .output("y")
             .bytes();
       },
       ErrorCode::limit, "a size exceeds 64 bits"},
      {"parameters of other channels", groups(3, 4), kBad, "each of 3"},
      {"an axis that is not there",
       one_node("RMSNormalization", {{{"s", {8}}}, {}}, {{"axis", std::int64_t{7}}}), kBad, "axis"},
  });
}

TEST(BadOperators, Attention) {
  const auto attend = [](const OnnxInts& k, const OnnxInts& v, const Attributes& attributes = {}) {
    return one_node("Attention", {{{"k", k}, {"v", v}}, {}}, attributes);
  };
  const OnnxInts k = {1, 3, 5, 8};
  expect_failures({
      {"heads that are not said", attend({1, 5, 24}, k), kBad, "kv_num_heads is 0"},
      {"heads that do not divide", attend({1, 5, 24}, k, {{"kv_num_heads", std::int64_t{5}}}), kBad,
       "kv_num_heads is 5"},
      {"many heads", attend({1, 5, 24}, k, {{"kv_num_heads", kHuge}}), kBad, "kv_num_heads"},
      {"rank", attend({5, 8}, {5, 8}), kBad, "rank 2"},
      {"groups that do not divide", attend({1, 2, 5, 8}, {1, 2, 5, 8}), kBad, "do not fit"},
      {"no heads of keys", attend({1, 0, 5, 8}, {1, 0, 5, 8}), kBad, "do not fit"},
      {"features", attend({1, 3, 5, 7}, k), kBad, "do not fit"},
      {"values of other keys", attend(k, {1, 3, 4, 8}), kBad, "do not fit"},
      {"a window of -2", attend(k, k, {{"left_window_size", std::int64_t{-2}}}), kBad,
       "windows of -2"},
      {"a huge scale of the wrong kind", attend(k, k, {{"scale", kHuge}}), kBad, "scale"},
  });
}

TEST(BadOperators, Convolutions) {
  const OnnxInts w = {4, 3, 3, 3};
  expect_failures({
      {"channels", conv({4, 5, 3, 3}), kBad, "3 channels"},
      {"the trail", conv({4, 5, 3, 3}), kBad, "[node 'n_y' ("},
      {"rank of weights", conv({4, 3, 3}), kBad, "rank 3"},
      {"group", conv(w, {{"group", std::int64_t{0}}}), kBad, "group 0"},
      {"group that does not divide", conv({4, 1, 3, 3}, {{"group", std::int64_t{3}}}), kBad,
       "group 3"},
      {"a huge group", conv(w, {{"group", kHuge}}), kBad, "group"},
      {"kernel larger than input", conv({4, 3, 9, 9}), kBad, "does not fit"},
      {"kernel_shape that differs", conv(w, {{"kernel_shape", OnnxInts{5, 5}}}), kBad,
       "kernel_shape"},
      {"no taps", conv({4, 3, 0, 3}), kBad, "no taps"},
      {"strides of 0", conv(w, {{"strides", OnnxInts{0, 1}}}), kBad, "strides"},
      {"negative strides", conv(w, {{"strides", OnnxInts{-1, 1}}}), kBad, "strides"},
      {"dilations of 0", conv(w, {{"dilations", OnnxInts{0, 0}}}), kBad, "dilations"},
      {"negative pads", conv(w, {{"pads", OnnxInts{-1, 0, 0, 0}}}), kBad, "pads"},
      {"too few pads", conv(w, {{"pads", OnnxInts{1, 1}}}), kBad, "pads"},
      {"too many strides", conv(w, {{"strides", OnnxInts{1, 1, 1}}}), kBad, "strides"},
      {"huge pads", conv(w, {{"pads", OnnxInts{kHuge, kHuge, kHuge, kHuge}}}), kBad, "pads"},
      {"auto_pad", conv(w, {{"auto_pad", std::string("SOMEHOW")}}), kBad, "SOMEHOW"},
      {"bias", conv(w, {}, {5}), kBad, "bias"},
      {"a list of floats for integers", conv(w, {{"strides", std::vector<float>{1, 1}}}), kBad,
       "attribute 'strides' must be a list of integers"},
      {"a float for an integer", conv(w, {{"group", 1.0f}}), kBad,
       "attribute 'group' must be an integer"},
      {"integers", one_node("Conv", {{{"w", w}}, {}}, {}, Proto::INT32), ErrorCode::unsupported,
       "i32"},
  });
}

TEST(BadOperators, Pooling) {
  const auto pool = [](const Attributes& a) { return one_node("MaxPool", {}, a); };
  expect_failures({
      {"no window", pool({}), kBad, "kernel_shape"},
      {"a window of 0", pool({{"kernel_shape", OnnxInts{0, 2}}}), kBad, ""},
      {"larger than input", pool({{"kernel_shape", OnnxInts{9, 9}}}), kBad, "does not fit"},
      {"rank", pool({{"kernel_shape", OnnxInts{2, 2, 2}}}), kBad, "kernel_shape"},
      {"strides of 0", pool({{"kernel_shape", OnnxInts{2, 2}}, {"strides", OnnxInts{0, 0}}}), kBad,
       "strides"},
  });
}

TEST(BadOperators, Recurrent) {
  Operands many;
  for (const char* name : {"w", "r", "b", "l", "h", "c", "p", "q"}) {
    many.weights.emplace_back(name, OnnxInts{1, 4, 4});
  }
  Operands few{{{"w", {1, 12, 8}}, {"r", {1, 12, 4}}}, {}};
  expect_failures({
      {"an LSTM with a projection", one_node("LSTM", many), kBad, "it has 9 inputs, not 3 to 8"},
      {"a GRU of pictures", one_node("GRU", few), kBad, "rank 4"},
      {"an RNN of pictures", one_node("RNN", few), kBad, "rank 4"},
  });
}

TEST(BadOperators, AxesAndShapes) {
  const auto attribute = [](const std::string& type, const std::string& name,
                            const OnnxBuilder::Attribute& value) {
    return one_node(type, {}, {{name, value}});
  };
  const auto with_ints = [](const std::string& type, const OnnxInts& ints) {
    return one_node(type, {{}, {{"i", ints}}});
  };
  expect_failures({
      {"softmax", attribute("Softmax", "axis", std::int64_t{4}), kBad,
       "axis 4 is out of range for rank 4 [node 'n_y' ("},
      {"softmax, negative", attribute("Softmax", "axis", std::int64_t{-5}), kBad,
       "axis -5 is out of range"},
      {"softmax, huge", attribute("Softmax", "axis", kHuge), kBad, "out of range"},
      {"softmax, float axis", attribute("Softmax", "axis", 1.0f), kBad,
       "attribute 'axis' must be an integer"},
      {"concat", attribute("Concat", "axis", std::int64_t{7}), kBad, "axis 7 is out of range"},
      {"concat of shapes that differ",
       one_node("Concat", {{{"w", {1, 3, 8, 7}}}, {}}, {{"axis", std::int64_t{1}}}), kBad,
       "does not fit"},
      {"flatten", attribute("Flatten", "axis", std::int64_t{9}), kBad, "axis 9"},
      {"transpose", attribute("Transpose", "perm", OnnxInts{0, 1, 2, 2}), kBad,
       "axis 2 is named twice"},
      {"transpose of another rank", attribute("Transpose", "perm", OnnxInts{0, 1}), kBad, "perm"},
      {"transpose, huge", attribute("Transpose", "perm", OnnxInts{0, 1, 2, kHuge}), kBad,
       "out of range"},
      {"squeeze", with_ints("Squeeze", {1}), kBad, "cannot be squeezed"},
      {"unsqueeze twice", with_ints("Unsqueeze", {0, 0}), kBad, "twice"},
      {"unsqueeze too often", with_ints("Unsqueeze", {0, 1, 2, 3, 4}), ErrorCode::limit, ""},
      {"reshape", with_ints("Reshape", {7, 7}), kBad, "192 elements do not fit"},
      {"reshape, free", with_ints("Reshape", {-1, 7}), kBad, "192 elements do not fit"},
      {"reshape, two free", with_ints("Reshape", {-1, -1}), kBad, "two extents of -1"},
      {"reshape, -2", with_ints("Reshape", {-2, 4}), kBad, "-2"},
      {"reshape, overflow", with_ints("Reshape", {kHuge, kHuge, -1}), ErrorCode::limit, ""},
      {"reshape, rank 9", with_ints("Reshape", {1, 1, 1, 1, 1, 1, 1, 1, 192}), ErrorCode::limit,
       "9 axes; at most 8"},
      {"expand", with_ints("Expand", {5, 8, 7}), kBad, "do not broadcast"},
      {"expand, huge", with_ints("Expand", {kHuge, 1, 1, 1, 1}), ErrorCode::limit, ""},
      {"tile", with_ints("Tile", {2}), kBad, "repeat"},
      {"tile, huge", with_ints("Tile", {kHuge, kHuge, 1, 1}), ErrorCode::limit, ""},
      {"reduce", one_node("ReduceMean", {}, {{"axes", OnnxInts{5}}}), kBad, "axis 5"},
      {"add", one_node("Add", {{{"w", {5}}}, {}}), kBad, "do not broadcast"},
      {"add of other dtypes", one_node("Add", {{}, {{"i", {1}}}}), kBad, "i64"},
      {"add of three", one_node("Add", {{{"w", {1}}, {"v", {1}}}, {}}), kBad, "3 inputs"},
      {"batch norm",
       one_node("BatchNormalization", {{{"s", {3}}, {"b", {3}}, {"m", {3}}, {"v", {4}}}, {}}), kBad,
       "[4]"},
      {"pads", with_ints("Pad", {1, 1}), kBad, "2 pads for 4 axes"},
      {"slices", one_node("Slice", {{}, {{"s", {0}}, {"e", {1, 2}}}}), kBad, "differ in length"},
      {"slice step 0", one_node("Slice", {{}, {{"s", {0}}, {"e", {9}}, {"a", {2}}, {"t", {0}}}}),
       kBad, "is 0"},
      {"split", one_node("Split", {{}, {{"s", {1, 1}}}}, {{"axis", std::int64_t{1}}}), kBad, ""},
      {"depth to space", one_node("DepthToSpace", {}, {{"blocksize", std::int64_t{2}}}), kBad,
       "3 channels"},
      {"block of 0", one_node("DepthToSpace", {}, {{"blocksize", std::int64_t{0}}}), kBad,
       "blocksize is 0"},
  });
}

// What is constant is computed while importing: the data itself can be wrong.
TEST(BadOperators, ConstantData) {
  const auto of_constants = [](const std::string& type, const OnnxInts& dims,
                               const OnnxInts& indices, const Attributes& attributes) {
    return [=] {
      OnnxBuilder b;
      b.weights("w", dims).ints("i", indices);
      return b.node(type, {"w", "i"}, {"y"}, attributes).output("y").bytes();
    };
  };
  const auto ints = [](const std::string& type, const OnnxInts& a, const OnnxInts& c) {
    return [=] {
      OnnxBuilder b;
      return b.ints("a", a).ints("c", c).node(type, {"a", "c"}, {"y"}).output("y").bytes();
    };
  };
  expect_failures({
      {"gather", of_constants("Gather", {4, 2}, {0, 4}, {}), kBad,
       "index 4 is out of range for an extent of 4"},
      {"gather, negative", of_constants("Gather", {4, 2}, {-5}, {}), kBad, "index -5"},
      {"gather, huge", of_constants("Gather", {4, 2}, {kHuge}, {}), kBad, "out of range"},
      {"gather from nothing", of_constants("Gather", {0, 2}, {0}, {}), kBad, "out of range"},
      {"gather, axis", of_constants("Gather", {4, 2}, {0}, {{"axis", std::int64_t{2}}}), kBad,
       "axis 2"},
      {"integer division by zero", ints("Div", {1, 2}, {1, 0}), kBad, "divided by zero"},
      {"a constant of a negative shape",
       [] {
         OnnxBuilder b;
         return b.ints("s", {2, -3}).node("ConstantOfShape", {"s"}, {"y"}).output("y").bytes();
       },
       kBad, "-3"},
      {"a constant of a huge shape",
       [] {
         OnnxBuilder b;
         b.ints("s", {1 << 20, 1 << 20}).node("ConstantOfShape", {"s"}, {"y"});
         return b.output("y").bytes();
       },
       ErrorCode::limit, ""},
  });
}

/// A small model in which most kinds of things occur.
std::string small_model() {
  OnnxBuilder b;
  b.input("x", {1, 2, 5, 5}).weights("w", {3, 2, 3, 3}).weights("b", {3});
  b.node("Conv", {"x", "w", "b"}, {"c"}, {{"pads", OnnxInts{1, 1, 1, 1}}});
  b.node("Relu", {"c"}, {"r"});
  b.node("MaxPool", {"r"}, {"p"}, {{"kernel_shape", OnnxInts{2, 2}}, {"strides", OnnxInts{2, 2}}});
  b.ints("shape", {1, -1}).node("Reshape", {"p", "shape"}, {"f"});
  b.weights("g", {12, 4}).node("Gemm", {"f", "g", ""}, {"l"}, {{"alpha", 0.5f}});
  b.node("Softmax", {"l"}, {"y"}, {{"axis", std::int64_t{-1}}}).output("y");
  return b.bytes();
}

TEST(BentModels, CutOffAnywhere) {
  const std::string whole = small_model();
  const TempFile file(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    file.write(whole.substr(0, size));
    ErrorCode code = ErrorCode::internal;
    const std::string what = failure(file.path(), {}, code);
    ASSERT_EQ(code, ErrorCode::bad_input) << size << ": " << what;
  }
}

/// Whatever the bytes are: an Error that is no bug of ours, or a graph that holds together.
void import_anything(const TempFile& file, const std::string& content) {
  ImportOptions options;
  options.limits.tensor_bytes = 16 << 20;
  options.limits.total_bytes = 64 << 20;
  file.write(content);
  try {
    const auto graph = import_model(file.path(), options);
    verify(*graph);
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
  }
}

TEST(BentModels, FlippedBytes) {
  const std::string whole = small_model();
  const TempFile file(whole);
  std::mt19937 random(2024);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    std::string bent = whole;
    for (unsigned k = 0; k <= random() % 4; ++k) {
      bent[random() % bent.size()] = static_cast<char>(random());
    }
    SCOPED_TRACE(round);
    import_anything(file, bent);
  }
}

// Bits of the structure rather than of the weights, and pieces that are moved or repeated.
TEST(BentModels, ShuffledPieces) {
  const std::string whole = small_model();
  const TempFile file(whole);
  std::mt19937 random(7);
  for (int round = 0; round < 1500 && !HasFailure(); ++round) {
    std::string bent = whole;
    const std::size_t from = random() % bent.size();
    const std::size_t count = std::min<std::size_t>(random() % 64, bent.size() - from);
    const std::string piece = bent.substr(from, count);
    switch (random() % 3) {
      case 0:
        bent.insert(random() % bent.size(), piece);
        break;
      case 1:
        bent.erase(from, count);
        break;
      default:
        bent[from] = static_cast<char>(bent[from] ^ (1 << random() % 8));
    }
    SCOPED_TRACE(round);
    import_anything(file, bent);
  }
}

}  // namespace
}  // namespace stowage
