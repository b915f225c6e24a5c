// SPDX-License-Identifier: Apache-2.0
// Elements of another dtype.
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// ONNX writes the dtype as a number (TensorProto.DataType), before opset 6 as its name.
void import_cast(ForeignNode& node) {
  struct Line {
    std::int64_t number;
    std::string_view name, dtype;
  };

  static constexpr Line lines[] = {
      {1, "FLOAT", "f32"},      {2, "UINT8", "u8"},    {3, "INT8", "i8"},     {4, "UINT16", "u16"},
      {5, "INT16", "i16"},      {6, "INT32", "i32"},   {7, "INT64", "i64"},   {9, "BOOL", "bool"},
      {10, "FLOAT16", "f16"},   {11, "DOUBLE", "f64"}, {12, "UINT32", "u32"}, {13, "UINT64", "u64"},
      {16, "BFLOAT16", "bf16"},
  };
  const auto& map = node.attrs.map();
  const auto to = map.find("to");
  if (to == map.end()) return;
  const auto* number = std::get_if<std::int64_t>(&to->second);
  const auto* name = std::get_if<std::string>(&to->second);
  for (const Line& line : lines) {
    if ((number != nullptr && *number == line.number) || (name != nullptr && *name == line.name)) {
      node.attrs.set("to", std::string(line.dtype));
      return;
    }
  }
  if (number != nullptr) fail(ErrorCode::unsupported, "ONNX data type ", *number);
}

void infer_cast(const NodeRef& node) {
  node.expect_inputs(1, 1);
  if (!node.attrs().has("to")) fail(ErrorCode::bad_input, "it has no attribute 'to'");
  node.set_output(0, parse_dtype(node.attrs().string("to", "")), node.shape(0).extents());
}

void infer_cast_like(const NodeRef& node) {
  node.expect_inputs(2, 2);
  node.set_output(0, node.dtype(1), node.shape(0).extents());
  node.attrs().set("to", std::string(dtype_name(node.dtype(1))));
  keep_inputs(node, 1);
  node.node().op = find_op("cast");  // which it is, once the dtype is known
}

void reference(const ReferenceArgs& args) {
  for_dtype(args.in[0].dtype, [&]<class From>() {
    for_dtype(args.out[0].dtype, [&]<class To>() {
      const From* x = args.input<From>(0);
      To* y = args.output<To>(0);
      for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) {
        y[i] = element_cast<To>(x[i]);
      }
    });
  });
}

void axes(const NodeRef& node, AxisLinks& links) {
  for (int i = 0; i < node.rank(0); ++i) {
    links.link(node.node().inputs[0], i, node.node().outputs[0], i);
  }
}

constexpr OpDef kCast[] = {
    {.name = "cast",
     .aliases = onnx<"Cast", import_cast>,
     .category = Category::transposable,
     .infer = infer_cast,
     .reference = reference,
     .axes = axes},
    {.name = "cast_like",
     .aliases = onnx<"CastLike">,
     .category = Category::transposable,
     .infer = infer_cast_like,
     .reference = reference,
     .axes = axes},
};

}  // namespace

extern const std::span<const OpDef> ops_cast;
const std::span<const OpDef> ops_cast = kCast;

}  // namespace stowage
