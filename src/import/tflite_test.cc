// SPDX-License-Identifier: Apache-2.0
// TFLite: what each rule makes of its operator, and files that are no good. Damaged files and real
// models are in tests/suite/tflite_models_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/text.h"
#include "tests/suite/bad_models.h"
#include "tests/suite/run_model.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {
namespace {

using Elements = std::vector<double>;

/// Elements of any dtype that the cases use.
Elements elements(const Tensor& t) {
  Elements out;
  const auto copy = [&](auto span) { out.assign(span.begin(), span.end()); };
  switch (t.dtype()) {
    case DType::f32:
      copy(t.as<float>());
      break;
    case DType::i32:
      copy(t.as<std::int32_t>());
      break;
    default:
      copy(t.as<std::uint8_t>());
      break;
  }
  return out;
}

/// 0, 1, 2, ... as the input of a model.
Tensor counting(const Port& port) {
  Tensor t(port.dtype, port.shape);
  for (std::int64_t i = 0; i < t.shape().elements(); ++i) {
    if (port.dtype == DType::f32)
      t.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    if (port.dtype == DType::i32) {
      t.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    }
  }
  return t;
}

/// A model of one input (counting), run as imported and simplified.
struct Case {
  const char* name;
  std::function<void(TfliteBuilder&)> build;
  std::vector<std::int64_t> extents;  ///< of output 0
  Elements want;
};

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  TfliteBuilder b;
  c.build(b);
  const TempFile file(b.bytes());
  for (const bool simplified : {false, true}) {
    SCOPED_TRACE(simplified ? "simplified" : "as imported");
    Session session = session_of(file.path(), {}, simplified);
    std::vector<Tensor> in;
    for (const Port& p : session.inputs()) in.push_back(counting(p));
    const std::vector<Tensor> out = run_session(session, in);
    EXPECT_EQ(
        std::vector<std::int64_t>(out[0].shape().extents().begin(), out[0].shape().extents().end()),
        c.extents);
    const Elements got = elements(out[0]);
    ASSERT_EQ(got.size(), c.want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], c.want[i], 1e-5) << i;
  }
}

Case slice_case(const char* name, std::vector<int> begin, std::vector<int> end,
                std::vector<int> step, std::vector<int> masks, std::vector<std::int64_t> extents,
                Elements want) {
  return {name,
          [=](TfliteBuilder& b) {
            const int x = b.input("x", {2, 3, 4});
            b.op(tfl::BuiltinOperator_STRIDED_SLICE,
                 {x, b.ints("b", begin), b.ints("e", end), b.ints("s", step)}, {b.output("y", {})},
                 tfl::CreateStridedSliceOptions(b.fbb, masks[0], masks[1], masks[2], masks[3],
                                                masks[4]),
                 tfl::BuiltinOptions_StridedSliceOptions);
          },
          std::move(extents), std::move(want)};
}

// Masks: begin, end, ellipsis, new axis, shrink.
TEST(TfliteRules, StridedSlice) {
  const std::vector<Case> cases = {
      slice_case("plain", {0, 1, 1}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0, 0, 0}, {1, 2, 2},
                 {5, 6, 9, 10}),
      slice_case("fewer entries than axes", {1}, {2}, {1}, {0, 0, 0, 0, 0}, {1, 3, 4},
                 {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}),
      slice_case("masks", {9, 9, 1}, {9, 9, 9}, {1, 2, 2}, {3, 3, 0, 0, 0}, {2, 2, 2},
                 {1, 3, 9, 11, 13, 15, 21, 23}),
      slice_case("negative", {-1, -2, -3}, {2, -1, -1}, {1, 1, 1}, {0, 0, 0, 0, 0}, {1, 1, 2},
                 {17, 18}),
      slice_case("backwards to the start", {0, 2, 3}, {1, 0, 0}, {1, -1, -2}, {0, 4, 0, 0, 0},
                 {1, 2, 2}, {11, 9, 7, 5}),
      slice_case("shrink", {1, 2, 0}, {2, 3, 4}, {1, 1, 1}, {0, 0, 0, 0, 3}, {4}, {20, 21, 22, 23}),
      slice_case("shrink the last", {-1, -1, -1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0, 0, 7}, {}, {23}),
      slice_case("new axis", {0, 0, 1}, {0, 1, 2}, {1, 1, 1}, {0, 0, 0, 1, 0}, {1, 1, 1, 4},
                 {4, 5, 6, 7}),
      slice_case("ellipsis", {0, 0, 3}, {0, 0, 4}, {1, 1, 1}, {0, 0, 2, 0, 5}, {3}, {3, 7, 11}),
      slice_case("empty", {0, 2, 0}, {1, 2, 4}, {1, 1, 1}, {0, 0, 0, 0, 0}, {1, 0, 4}, {}),
  };
  for (const Case& c : cases) check(c);
}

template <class Options>
std::function<void(TfliteBuilder&)> image_op(
    int code, std::vector<int> shape, std::function<flatbuffers::Offset<Options>(TfliteBuilder&)> o,
    tfl::BuiltinOptions type, std::function<std::vector<int>(TfliteBuilder&)> more = {}) {
  return [=](TfliteBuilder& b) {
    std::vector<int> in{b.input("x", shape)};
    if (more) {
      for (int t : more(b)) in.push_back(t);
    }
    const auto options = o(b);
    b.op(code, in, {b.output("y", {})}, options, type);
  };
}

TEST(TfliteRules, Images) {
  const auto conv = [](tfl::Padding pad, int stride, int act) {
    return [=](TfliteBuilder& b) {
      return tfl::CreateConv2DOptions(b.fbb, pad, stride, stride, static_cast<std::int8_t>(act));
    };
  };
  const auto pool = [](tfl::Padding pad, int stride, int window) {
    return [=](TfliteBuilder& b) {
      return tfl::CreatePool2DOptions(b.fbb, pad, stride, stride, window, window);
    };
  };
  const std::vector<Case> cases = {
      // 0 1 2 / 3 4 5 / 6 7 8 under a window of 2: SAME pads below and to the right.
      {"conv pads at the end",
       image_op<tfl::Conv2DOptions>(
           tfl::BuiltinOperator_CONV_2D, {1, 3, 3, 1}, conv(tfl::Padding_SAME, 1, 0),
           tfl::BuiltinOptions_Conv2DOptions,
           [](TfliteBuilder& b) {
             return std::vector<int>{b.floats("w", {1, 2, 2, 1}, {1, 1, 1, 1}),
                                     b.floats("bias", {1}, {0.5f})};
           }),
       {1, 3, 3, 1},
       {8.5, 12.5, 7.5, 20.5, 24.5, 13.5, 13.5, 15.5, 8.5}},
      {"relu6 in conv",
       image_op<tfl::Conv2DOptions>(tfl::BuiltinOperator_CONV_2D, {1, 1, 4, 1},
                                    conv(tfl::Padding_VALID, 1, tfl::ActivationFunction_RELU6),
                                    tfl::BuiltinOptions_Conv2DOptions,
                                    [](TfliteBuilder& b) {
                                      return std::vector<int>{b.floats("w", {2, 1, 1, 1}, {3, -1})};
                                    }),
       {1, 1, 4, 2},
       {0, 0, 3, 0, 6, 0, 6, 0}},
      {"conv with dequantised weights",
       image_op<tfl::Conv2DOptions>(
           tfl::BuiltinOperator_CONV_2D, {1, 1, 2, 1}, conv(tfl::Padding_VALID, 1, 0),
           tfl::BuiltinOptions_Conv2DOptions,
           [](TfliteBuilder& b) {
             b.quantize({0.5f, 0.25f}, {0, 0}, 0);
             const int w =
                 b.constant<std::int8_t>("w", {2, 1, 1, 1}, {4, -8}, tfl::TensorType_INT8);
             b.quantize({});
             return std::vector<int>{w};
           }),
       {1, 1, 2, 2},
       {0, 0, 2, -2}},
      {"depthwise with a multiplier",
       image_op<tfl::DepthwiseConv2DOptions>(
           tfl::BuiltinOperator_DEPTHWISE_CONV_2D, {1, 1, 2, 2},
           [](TfliteBuilder& b) {
             return tfl::CreateDepthwiseConv2DOptions(b.fbb, tfl::Padding_VALID, 1, 1, 2);
           },
           tfl::BuiltinOptions_DepthwiseConv2DOptions,
           [](TfliteBuilder& b) {
             return std::vector<int>{b.floats("w", {1, 1, 1, 4}, {1, 10, 100, 1000})};
           }),
       {1, 1, 2, 4},
       {0, 0, 100, 1000, 2, 20, 300, 3000}},
      {"average pool leaves the padding out",
       image_op<tfl::Pool2DOptions>(tfl::BuiltinOperator_AVERAGE_POOL_2D, {1, 3, 3, 1},
                                    pool(tfl::Padding_SAME, 2, 2),
                                    tfl::BuiltinOptions_Pool2DOptions),
       {1, 2, 2, 1},
       {2, 3.5, 6.5, 8}},
      {"max pool",
       image_op<tfl::Pool2DOptions>(tfl::BuiltinOperator_MAX_POOL_2D, {1, 3, 3, 1},
                                    pool(tfl::Padding_VALID, 1, 2),
                                    tfl::BuiltinOptions_Pool2DOptions),
       {1, 2, 2, 1},
       {4, 5, 7, 8}},
      {"depth to space",
       image_op<tfl::DepthToSpaceOptions>(
           tfl::BuiltinOperator_DEPTH_TO_SPACE, {1, 1, 2, 4},
           [](TfliteBuilder& b) { return tfl::CreateDepthToSpaceOptions(b.fbb, 2); },
           tfl::BuiltinOptions_DepthToSpaceOptions),
       {1, 2, 4, 1},
       {0, 1, 4, 5, 2, 3, 6, 7}},
      {"bilinear",
       image_op<tfl::ResizeBilinearOptions>(
           tfl::BuiltinOperator_RESIZE_BILINEAR, {1, 1, 3, 1},
           [](TfliteBuilder& b) { return tfl::CreateResizeBilinearOptions(b.fbb, true); },
           tfl::BuiltinOptions_ResizeBilinearOptions,
           [](TfliteBuilder& b) {
             return std::vector<int>{b.ints("size", {1, 5})};
           }),
       {1, 1, 5, 1},
       {0, 0.5, 1, 1.5, 2}},
      {"nearest",
       image_op<tfl::ResizeNearestNeighborOptions>(
           tfl::BuiltinOperator_RESIZE_NEAREST_NEIGHBOR, {1, 1, 3, 1},
           [](TfliteBuilder& b) { return tfl::CreateResizeNearestNeighborOptions(b.fbb); },
           tfl::BuiltinOptions_ResizeNearestNeighborOptions,
           [](TfliteBuilder& b) {
             return std::vector<int>{b.ints("size", {1, 5})};
           }),
       {1, 1, 5, 1},
       {0, 0, 1, 1, 2}},
  };
  for (const Case& c : cases) check(c);
}

TEST(TfliteRules, TransposedConvolution) {
  check({"stride 2, an output that SAME cuts",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 1, 2, 1});
           const int w = b.floats("w", {1, 1, 3, 1}, {1, 2, 4});
           b.op(tfl::BuiltinOperator_TRANSPOSE_CONV, {b.ints("shape", {1, 1, 4, 1}), w, x},
                {b.output("y", {})},
                tfl::CreateTransposeConvOptions(b.fbb, tfl::Padding_SAME, 2, 2),
                tfl::BuiltinOptions_TransposeConvOptions);
         },
         {1, 1, 4, 1},
         {0, 0, 1, 2}});
}

TEST(TfliteRules, Blocks) {
  const auto blocks = [](int code) {
    return [code](TfliteBuilder& b) {
      const bool back = code == tfl::BuiltinOperator_BATCH_TO_SPACE_ND;
      const int x =
          b.input("x", back ? std::vector<int>{4, 1, 2, 1} : std::vector<int>{1, 2, 3, 1});
      const int size = b.ints("size", {2, 2});
      const int cut = b.constant<int>("cut", {2, 2}, {0, 0, 0, 1}, tfl::TensorType_INT32);
      b.op(code, {x, size, cut}, {b.output("y", {})});
    };
  };
  check({"to batch",
         blocks(tfl::BuiltinOperator_SPACE_TO_BATCH_ND),
         {4, 1, 2, 1},
         {0, 2, 1, 0, 3, 5, 4, 0}});
  check({"to space",
         blocks(tfl::BuiltinOperator_BATCH_TO_SPACE_ND),
         {1, 2, 3, 1},
         {0, 2, 1, 4, 6, 5}});
}

TEST(TfliteRules, Matrices) {
  check({"fully connected flattens",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 2, 2});
           const int w = b.floats("w", {2, 4}, {1, 1, 1, 1, 0, 1, 0, -1});
           b.op(tfl::BuiltinOperator_FULLY_CONNECTED, {x, w, b.floats("bias", {2}, {10, 20})},
                {b.output("y", {})}, tfl::CreateFullyConnectedOptions(b.fbb),
                tfl::BuiltinOptions_FullyConnectedOptions);
         },
         {1, 2},
         {16, 18}});
  check({"fully connected with weights in steps",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 3});
           b.quantize({0.5f}, {0});
           const int w =
               b.constant<std::int8_t>("w", {2, 3}, {9, 127, -128, 5, -1, 3}, tfl::TensorType_INT8);
           b.quantize({});
           b.op(tfl::BuiltinOperator_FULLY_CONNECTED, {x, w, b.floats("bias", {2}, {10, 20})},
                {b.output("y", {})}, tfl::CreateFullyConnectedOptions(b.fbb),
                tfl::BuiltinOptions_FullyConnectedOptions);
         },
         {1, 2},
         {-54.5, 22.5}});
  check({"fully connected keeps the axes",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 2, 2});
           const int w = b.floats("w", {1, 2}, {1, 2});
           b.op(tfl::BuiltinOperator_FULLY_CONNECTED, {x, w, -1}, {b.output("y", {})},
                tfl::CreateFullyConnectedOptions(b.fbb, 0, 0, true),
                tfl::BuiltinOptions_FullyConnectedOptions);
         },
         {1, 2, 1},
         {2, 8}});
  check({"softmax with beta",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 2});
           b.op(tfl::BuiltinOperator_SOFTMAX, {x}, {b.output("y", {})},
                tfl::CreateSoftmaxOptions(b.fbb, 2.0f), tfl::BuiltinOptions_SoftmaxOptions);
         },
         {1, 2},
         {1 / (1 + std::exp(2.0)), 1 / (1 + std::exp(-2.0))}});
}

TEST(TfliteRules, Elements) {
  check({"floor mod has the sign of the divisor",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {4}, tfl::TensorType_INT32);
           b.op(tfl::BuiltinOperator_FLOOR_MOD, {x, b.ints("m", {-3, -3, -3, -3})},
                {b.output("y", {}, tfl::TensorType_INT32)});
         },
         {4},
         {0, -2, -1, 0}});
  check({"prelu on an image",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 1, 2, 2});
           const int neg = b.tensor("neg", {1, 1, 2, 2});
           b.op(tfl::BuiltinOperator_NEG, {x}, {neg});
           b.op(tfl::BuiltinOperator_PRELU, {neg, b.floats("a", {1, 1, 2}, {2, 3})},
                {b.output("y", {})});
         },
         {1, 1, 2, 2},
         {0, -3, -4, -9}});
  check(
      {"a broadcast of the last axis between convolutions",
       [](TfliteBuilder& b) {
         const int x = b.input("x", {1, 1, 2, 2});
         const int w = b.floats("w", {2, 1, 1, 2}, {1, 0, 0, 1});
         const int a = b.tensor("a", {1, 1, 2, 2}), s = b.tensor("s", {1, 1, 2, 2});
         const auto conv = [&] {
           return tfl::CreateConv2DOptions(b.fbb, tfl::Padding_VALID, 1, 1);
         };
         const auto first = conv();
         b.op(tfl::BuiltinOperator_CONV_2D, {x, w}, {a}, first, tfl::BuiltinOptions_Conv2DOptions);
         b.op(tfl::BuiltinOperator_MUL, {a, b.floats("k", {2}, {10, 100})}, {s});
         const auto second = conv();
         b.op(tfl::BuiltinOperator_CONV_2D, {s, w}, {b.output("y", {})}, second,
              tfl::BuiltinOptions_Conv2DOptions);
       },
       {1, 1, 2, 2},
       {0, 100, 20, 300}});
}

TEST(TfliteRules, Lstm) {
  // One cell, all gates sigmoid(0) = 0.5 but the cell's tanh(x): c = 0.5 c + 0.5 tanh(x).
  check({"batch first",
         [](TfliteBuilder& b) {
           const int x = b.input("x", {1, 3, 1});
           const int zero = b.floats("zero", {1, 1}, {0}), one = b.floats("one", {1, 1}, {1});
           const int none = b.floats("none", {1}, {0});
           const int h = b.tensor("h", {1, 1}, tfl::TensorType_FLOAT32, {}, true);
           const int c = b.tensor("c", {1, 1}, tfl::TensorType_FLOAT32, {}, true);
           b.op(tfl::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM,
                {x,    zero, zero, one,  zero, zero, zero, zero, zero, -1, -1, -1,
                 none, none, none, none, -1,   -1,   h,    c,    -1,   -1, -1, -1},
                {b.output("y", {1, 3, 1})},
                tfl::CreateUnidirectionalSequenceLSTMOptions(b.fbb, tfl::ActivationFunction_TANH),
                tfl::BuiltinOptions_UnidirectionalSequenceLSTMOptions);
         },
         {1, 3, 1},
         {0, 0.5 * std::tanh(0.5 * std::tanh(1.0)),
          0.5 * std::tanh(0.25 * std::tanh(1.0) + 0.5 * std::tanh(2.0))}});
}

/// x -> RELU -> y with a change applied before the file is closed.
std::function<std::string()> relu(const std::function<void(TfliteBuilder&)>& change) {
  return [change] {
    TfliteBuilder b;
    const int x = b.input("x", {1, 3}), y = b.output("y", {1, 3});
    b.op(tfl::BuiltinOperator_RELU, {x}, {y});
    change(b);
    return b.bytes();
  };
}

std::function<std::string()> model(const std::function<void(TfliteBuilder&)>& build) {
  return [build] {
    TfliteBuilder b;
    build(b);
    return b.bytes();
  };
}

ImportOptions shaped(const std::string& name, std::vector<std::int64_t> extents) {
  ImportOptions options;
  options.shapes[name] = std::move(extents);
  return options;
}

TEST(TfliteBad, Files) {
  const std::string good = relu([](TfliteBuilder&) {})();
  expect_failures({
      {"only an identifier", [] { return std::string("\0\0\0\0TFL3", 8); }, ErrorCode::bad_input,
       "truncated or damaged"},
      {"cut", [&] { return good.substr(0, good.size() / 2); }, ErrorCode::bad_input,
       "truncated or damaged"},
      {"version 2", relu([](TfliteBuilder& b) { b.version = 2; }), ErrorCode::unsupported,
       "version 2"},
      {"no output", relu([](TfliteBuilder& b) { b.outputs.clear(); }), ErrorCode::bad_input,
       "no output"},
      {"no subgraph",
       [] {
         flatbuffers::FlatBufferBuilder fbb;
         tfl::FinishModelBuffer(fbb, tfl::CreateModel(fbb, 3));
         return std::string(reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize());
       },
       ErrorCode::bad_input, "no subgraph"},
  });
}

TEST(TfliteBad, Tensors) {
  const auto constant = [](std::vector<int> shape, std::vector<float> data) {
    return relu([=](TfliteBuilder& b) {
      b.op(tfl::BuiltinOperator_NEG, {b.floats("k", shape, data)}, {b.tensor("z", {})});
    });
  };
  const auto scaled = [](std::vector<float> scale, std::vector<std::int64_t> zero, int axis,
                         int n) {
    return relu([=](TfliteBuilder& b) {
      b.quantize(scale, zero, axis);
      const int k =
          b.constant<std::int8_t>("k", {n}, std::vector<std::int8_t>(n), tfl::TensorType_INT8);
      b.quantize({});
      b.op(tfl::BuiltinOperator_NEG, {k}, {b.tensor("z", {})});
    });
  };
  const auto typed = [](int type) {
    return relu([=](TfliteBuilder& b) {
      const int t = b.add("t", {1}, type, 0, {}, false);
      b.inputs.push_back(t);
    });
  };
  expect_failures({
      {"negative extent", constant({-1, 2}, {1, 2}), ErrorCode::bad_input, "extent -1"},
      {"too little data", constant({3}, {1, 2}), ErrorCode::bad_input, "8 bytes of data"},
      {"too much data", constant({1}, {1, 2}), ErrorCode::bad_input, "8 bytes of data"},
      {"an absurd shape", constant({2147483647, 2147483647, 2147483647}, {1}), ErrorCode::limit,
       ""},
      {"rank 9", constant({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}), ErrorCode::limit, "rank 9"},
      {"buffer 77", relu([](TfliteBuilder& b) {
         b.op(tfl::BuiltinOperator_NEG, {b.add("k", {1}, 0, 77, {}, false)}, {b.tensor("z", {})});
       }),
       ErrorCode::bad_input, "its buffer is 77"},
      {"strings", typed(tfl::TensorType_STRING), ErrorCode::unsupported, "holds strings"},
      {"complex", typed(tfl::TensorType_COMPLEX64), ErrorCode::unsupported, "complex"},
      {"int4", typed(tfl::TensorType_INT4), ErrorCode::unsupported, "less than eight bits"},
      {"type 99", typed(99), ErrorCode::unsupported, "unknown data type 99"},
      {"type -5", typed(-5), ErrorCode::bad_input, "unknown data type -5"},
      {"a name of control characters", relu([](TfliteBuilder& b) { b.tensor("a\x1b[31m", {1}); }),
       ErrorCode::bad_input, "control characters"},
      {"a name of 5000 bytes",
       relu([](TfliteBuilder& b) { b.tensor(std::string(5000, 'a'), {1}); }), ErrorCode::limit,
       "5000 bytes"},
      {"two scales for three channels", scaled({1, 2}, {}, 0, 3), ErrorCode::bad_input,
       "2 scales along axis 0"},
      {"scales along axis 5", scaled({1, 2}, {}, 5, 2), ErrorCode::bad_input, "along axis 5"},
      {"scales along axis -1", scaled({1, 2}, {}, -1, 2), ErrorCode::bad_input, "along axis -1"},
      {"three zero points", scaled({1, 2}, {1, 2, 3}, 0, 2), ErrorCode::bad_input, "3 zero points"},
      {"int8 activations", model([](TfliteBuilder& b) {
         b.quantize({0.5f});
         b.op(tfl::BuiltinOperator_RELU, {b.input("x", {1, 3}, tfl::TensorType_INT8)},
              {b.output("y", {1, 3}, tfl::TensorType_INT8)});
       }),
       ErrorCode::unsupported, "int8 quantised tensors are not supported yet: 'x'"},
  });
}

TEST(TfliteBad, Graphs) {
  expect_failures({
      {"input tensor 99", relu([](TfliteBuilder& b) { b.inputs.push_back(99); }),
       ErrorCode::bad_input, "tensor 99 of 2"},
      {"output tensor -1", relu([](TfliteBuilder& b) { b.outputs.push_back(-1); }),
       ErrorCode::bad_input, "tensor -1 of 2"},
      {"an input twice", relu([](TfliteBuilder& b) { b.inputs.push_back(0); }),
       ErrorCode::bad_input, "listed twice"},
      {"operator reads tensor 99",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {99}, {b.tensor("z", {1})}); }),
       ErrorCode::bad_input, "tensor 99 of 3"},
      {"operator reads tensor -2",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {-2}, {b.tensor("z", {1})}); }),
       ErrorCode::bad_input, "tensor -2 of 3"},
      {"operator writes tensor -1",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {0}, {-1}); }),
       ErrorCode::bad_input, "tensor -1 of 2"},
      {"operator code 7", relu([](TfliteBuilder& b) {
         b.add_operator(7, {0}, {b.tensor("z", {1})}, tfl::BuiltinOptions_NONE, 0);
       }),
       ErrorCode::bad_input, "has the code 7 of 1"},
      {"its input is absent",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {-1}, {b.tensor("z", {1})}); }),
       ErrorCode::bad_input, "input 0 is missing"},
      {"no inputs",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {}, {b.tensor("z", {1})}); }),
       ErrorCode::bad_input, "0 inputs"},
      {"no outputs", relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {0}, {}); }),
       ErrorCode::bad_input, "0 outputs"},
      {"made twice", relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_NEG, {0}, {1}); }),
       ErrorCode::bad_input, "'y' is produced twice"},
      {"made from itself", relu([](TfliteBuilder& b) {
         const int z = b.tensor("z", {1, 3});
         b.op(tfl::BuiltinOperator_NEG, {z}, {z});
       }),
       ErrorCode::bad_input, "nothing produces it [tensor 'z'"},
      {"an operator of the future",
       relu([](TfliteBuilder& b) { b.op(4000, {0}, {b.tensor("z", {1})}); }),
       ErrorCode::unsupported, "unsupported operator builtin operator 4000"},
      {"control flow",
       relu([](TfliteBuilder& b) { b.op(tfl::BuiltinOperator_WHILE, {0}, {b.tensor("z", {1})}); }),
       ErrorCode::unsupported, "unsupported operator WHILE [node 'z' (WHILE)"},
      {"custom operators", relu([](TfliteBuilder& b) {
         b.custom("Zap", {0}, {b.tensor("z", {1})});
         b.op(tfl::BuiltinOperator_WHERE, {0}, {b.tensor("v", {1})});
       }),
       ErrorCode::unsupported, "unsupported operators: WHERE, Zap (custom)"},
      {"other options", relu([](TfliteBuilder& b) {
         b.op(tfl::BuiltinOperator_CONV_2D, {0, 0}, {b.tensor("z", {1})},
              tfl::CreateSoftmaxOptions(b.fbb, 1.0f), tfl::BuiltinOptions_SoftmaxOptions);
       }),
       ErrorCode::bad_input, "options of its operator"},
      {"too many nodes", relu([](TfliteBuilder&) {}), ErrorCode::limit, "more than 0 nodes",
       [] {
         ImportOptions o;
         o.limits.nodes = 0;
         return o;
       }()},
  });
}

TEST(TfliteBad, Operators) {
  const auto conv = [](std::vector<int> x, std::vector<int> w, int pad, int stride) {
    return model([=](TfliteBuilder& b) {
      std::size_t n = 1;
      for (int e : w) n *= static_cast<std::size_t>(e);
      b.op(tfl::BuiltinOperator_CONV_2D, {b.input("x", x), b.floats("w", w, std::vector<float>(n))},
           {b.output("y", {})},
           tfl::CreateConv2DOptions(b.fbb, static_cast<std::int8_t>(pad), stride, stride),
           tfl::BuiltinOptions_Conv2DOptions);
    });
  };
  const auto reshape = [](std::vector<int> shape) {
    return relu([=](TfliteBuilder& b) {
      b.op(tfl::BuiltinOperator_RESHAPE, {0, b.ints("s", shape)}, {b.tensor("z", {})});
    });
  };
  const auto pad = [](std::vector<int> pads) {
    return relu([=](TfliteBuilder& b) {
      b.op(tfl::BuiltinOperator_PAD, {0, b.ints("p", pads)}, {b.tensor("z", {})});
    });
  };
  expect_failures({
      {"conv of rank 3", conv({1, 4, 4}, {1, 1, 1, 4}, 0, 1), ErrorCode::bad_input, "rank 3"},
      {"conv with other channels", conv({1, 4, 4, 3}, {1, 1, 1, 2}, 0, 1), ErrorCode::bad_input,
       "take 2 channels of 3"},
      {"padding 9", conv({1, 4, 4, 1}, {1, 1, 1, 1}, 9, 1), ErrorCode::bad_input, "padding 9"},
      {"stride 0", conv({1, 4, 4, 1}, {1, 1, 1, 1}, 0, 0), ErrorCode::bad_input, "strides"},
      {"stride -1", conv({1, 4, 4, 1}, {1, 1, 1, 1}, 0, -1), ErrorCode::bad_input, "strides"},
      {"a reshape that does not fit", reshape({5}), ErrorCode::bad_input, "do not fit"},
      {"a reshape to -2", reshape({-2}), ErrorCode::bad_input, "-2"},
      {"an absurd pad", pad({0, 0, 0, 2147483647}), ErrorCode::limit, "over the limit"},
      {"a negative pad", pad({0, 0, 0, -1}), ErrorCode::bad_input, "negative"},
      {"three pads", pad({0, 0, 0}), ErrorCode::bad_input, "3 pads for rank 2"},
      {"a computed shape", relu([](TfliteBuilder& b) {
         b.op(tfl::BuiltinOperator_RESHAPE, {0, b.input("s", {1}, tfl::TensorType_INT32)},
              {b.tensor("z", {})});
       }),
       ErrorCode::unsupported, "must be known before the model runs"},
  });
}

TEST(TfliteBad, Shapes) {
  const auto open = model([](TfliteBuilder& b) {
    b.op(tfl::BuiltinOperator_RELU,
         {b.input("x", {1, 1, 1, 3}, tfl::TensorType_FLOAT32, {-1, -1, -1, 3})},
         {b.output("y", {})});
  });
  expect_failures({
      {"open dims", open, ErrorCode::usage, "--shape x=1,224,224,3"},
      {"another rank", open, ErrorCode::usage, "has rank 4", shaped("x", {1, 2})},
      {"another name", open, ErrorCode::usage, "no input 'q'; its inputs are: x",
       shaped("q", {1, 2, 2, 3})},
      {"a negative extent", open, ErrorCode::usage, "cannot have the extent -2",
       shaped("x", {1, -2, 2, 3})},
  });
  const TempFile file(open());
  Session session = session_of(file.path(), shaped("x", {2, 5, 7, 3}));
  EXPECT_EQ(session.outputs()[0].shape.elements(), 2 * 5 * 7 * 3);
}

}  // namespace
}  // namespace stowage
