// SPDX-License-Identifier: Apache-2.0
// Values of 8 bits on a device: casts and moves against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::eager;
using op_test::floats_tensor;
using op_test::In;
using op_test::ints_tensor;
using op_test::OpCase;

/// Every value of the type, in the order of its bits.
Tensor every_byte(DType dtype, const Ints& extents) {
  Tensor t(dtype, Shape(std::string_view("abcd").substr(0, extents.size()), extents));
  for (std::size_t i = 0; i < t.bytes(); ++i) t.data()[i] = static_cast<std::byte>(i * 37 + 1);
  return t;
}

TEST(DeviceBytes, CastToFloat) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    OpCase c{.op = "cast", .attrs = {{"to", std::string("f32")}}};
    c.inputs = {In::of(every_byte(dtype, {2, 5, 3, 11}), false)};
    check_device(c, "cl_map");
  }
}

TEST(DeviceBytes, CastFromFloatTruncatesAndSaturates) {
  std::vector<float> values{0.5f,   -0.5f, -0.99f,  1.5f,    2.5f, 126.9f, 127.5f, 128,     254.9f,
                            255.5f, 256,   -127.9f, -128.5f, -129, 1e4f,   -1e4f,  0x1p-20f};
  for (const float v : {NAN, INFINITY, -INFINITY}) values.push_back(v);
  while (values.size() < 2 * 5 * 3 * 3) values.push_back(static_cast<float>(values.size()) - 60);
  for (const std::string to : {"u8", "i8"}) {
    OpCase c{.op = "cast", .attrs = {{"to", to}}};
    c.inputs = {In::of(floats_tensor({2, 5, 3, 3}, values), false)};
    check_device(c, "cl_map");
  }
}

TEST(DeviceBytes, Moves) {
  OpCase transpose{.op = "transpose", .attrs = {{"perm", Ints{0, 2, 3, 1}}}};
  transpose.inputs = {In::of(every_byte(DType::u8, {2, 5, 3, 6}), false)};
  check_device(transpose, "cl_move", false);
  OpCase concat{.op = "concat", .attrs = {{"axis", std::int64_t{1}}}};
  for (const std::int64_t c : {1, 6}) {
    concat.inputs.push_back(In::of(every_byte(DType::i8, {2, c, 3, 5}), false));
  }
  check_device(concat, "cl_concat", false);
}

/// Kernels of f32 alone, and casts that the device would make another way.
TEST(DeviceBytes, OtherKernelsRefuseThem) {
  OpCase pad{.op = "pad", .attrs = {{"mode", std::string("constant")}}};
  pad.inputs = {In::of(every_byte(DType::u8, {2, 5, 3, 6}), false),
                In::of(ints_tensor({0, 1, 0, 1, 0, 1, 0, 1}))};
  OpCase cast{.op = "cast", .attrs = {{"to", std::string("i8")}}};
  cast.inputs = {In::of(every_byte(DType::u8, {2, 5, 3, 6}), false)};
  OpCase wider{.op = "cast", .attrs = {{"to", std::string("i32")}}};
  wider.inputs = cast.inputs;
  OpCase relu{.op = "relu"};
  relu.inputs = {In::of(every_byte(DType::i8, {2, 5, 3, 6}), false)};
  OpCase pool{.op = "max_pool", .attrs = {{"kernel_shape", Ints{2, 2}}}};
  pool.inputs = cast.inputs;
  for (const OpCase& c : {pad, cast, wider, relu, pool}) {
    SCOPED_TRACE(c.op);
    PlanOptions options;
    options.simplify = false;
    options.device = DeviceOptions{.facts = eager({})};
    options.rates.call_us = 1e6;
    const op_test::OpGraph g(c);
    const auto plan = make_plan(std::make_shared<Graph>(g.graph), options);
    EXPECT_FALSE(report(*plan).nodes[0].kernel.starts_with("cl_")) << explain(*plan);
  }
}

}  // namespace
}  // namespace stowage
