// SPDX-License-Identifier: Apache-2.0
// Elements of another dtype.
#include "kernels/elementwise/map.h"
#include "kernels/layouts.h"
#include "kernels/rows/axis_loops.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// ONNX writes the dtype as a number (TensorProto.DataType), before opset 6 as its name.
void import_cast(ImportNode& node) {
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

/// The dtype is that of the second input.
void import_cast_like(ImportNode& node) {
  node.expect(2, 2);
  node.attrs.set("to", std::string(dtype_name(node.value(node.in(1)).dtype)));
  node.set_inputs({node.in(0)});
}

/// The output's tensor says what is wanted.
void import_tflite_cast(ImportNode& node) {
  node.expect(1, 1);
  node.attrs.set("to", std::string(dtype_name(node.output_dtype())));
}

/// Constants with scales are f32 as soon as they are read; what is left are 16-bit floats.
void import_dequantize(ImportNode& node) {
  node.expect(1, 1);
  const ValueId x = node.in(0);
  if (node.value(x).dtype == DType::f32) return node.out(node.emit("identity", {x}));
  node.attrs.set("to", std::string("f32"));
}

void infer_cast(const InferRef& node) {
  node.expect_inputs(1, 1);
  if (!node.attrs().has("to")) fail(ErrorCode::bad_input, "it has no attribute 'to'");
  node.set_output(0, parse_dtype(node.attrs().string("to", "")), node.shape(0).extents());
}

void cast_elements(DType from, const std::byte* x, DType to, std::byte* y, std::int64_t n) {
  for_dtype(from, [&]<class From>() {
    for_dtype(to, [&]<class To>() {
      const auto* in = reinterpret_cast<const From*>(x);
      auto* out = reinterpret_cast<To*>(y);
      for (std::int64_t i = 0; i < n; ++i) out[i] = element_cast<To>(in[i]);
    });
  });
}

void reference(const ReferenceArgs& args) {
  cast_elements(args.in[0].dtype, args.in[0].data, args.out[0].dtype, args.out[0].data,
                args.out[0].mapping.shape().elements());
}

struct CastParams {
  DType from = DType::f32, to = DType::f32;
  Mapping out;
  Follower x;

  void fields(Archive& a) { a("from", from)("to", to)("out", out)("x", x); }
};

struct BoundCast {
  DType from, to;
  std::vector<StridedLoop<2>> loops;
  std::int64_t run;
};

BoundCast bind(const CastParams& p) {
  BoundCast b{p.from, p.to, digit_loops<2>(p.out, {p.x}), 1};
  b.run = take_run(b.loops);
  return b;
}

void run(const BoundCast& b, const KernelArgs& args) noexcept {
  for_each_offset(b.loops.data(), b.loops.size(), [&](const auto& offset) {
    cast_elements(b.from, args.in[0] + offset[1] * dtype_bytes(b.from), b.to,
                  args.out[0] + offset[0] * dtype_bytes(b.to), b.run);
  });
}

constexpr KernelDef kKernel = kernel_def<CastParams, bind, run>("cast");
constexpr const KernelDef* kKernels[] = {&kKernel};

/// On the device between f32 and 8 bits: a store of 8 bits casts.
void offer_on_device(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  // From integer to integer it does not saturate.
  if (!request.target.device ||
      (node.dtype(0) == DType::f32) == (node.output().dtype == DType::f32)) {
    return;
  }
  for (const bool plain : {true, false}) {
    if (!plain && x.rank() == 0) continue;
    const Layout layout = plain ? Layout::row_major(x) : texels(x);
    DeviceOffer offer(request);
    offer.takes_bytes();
    offer.in(0, layout);
    offer.out(layout.renamed(x.axes(), y.axes()));
    offer.add(kMap, MapParams{{Fn::scale, 1}}, static_cast<double>(x.elements()), 0.5, out);
  }
}

/// Any layout; zero stays zero in its tails.
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const DType from = node.dtype(0), to = node.output().dtype;
  if (node.shape(0).elements() == 0) return;
  offer_on_device(request, out);
  for (const Layout& layout : elementwise_layouts(request)) {
    const Follower x = broadcast_follower(node, 0, layout);
    const Mapping in(x.mapping.layout(), node.shape(0), dtype_bytes(from));
    Offer offer;
    offer.call = {
        kKernel,
        CastParams{from, to, Mapping(layout, node.output().shape, dtype_bytes(to)), {in, x.axis}}};
    offer.in = {in.layout()};
    offer.out = {layout};
    offer.flops = static_cast<double>(node.shape(0).elements());
    offer.efficiency = 0.02;
    out.push_back(std::move(offer));
  }
}

void axes(const NodeRef& node, AxisLinks& links) {
  for (int i = 0; i < node.rank(0); ++i) {
    links.link(node.node().inputs[0], i, node.node().outputs[0], i);
  }
}

constexpr OpDef kCast[] = {
    {.name = "cast",
     .aliases = named<Onnx<"Cast", import_cast>, Onnx<"CastLike", import_cast_like>,
                      Tflite<"CAST", import_tflite_cast>, Tflite<"DEQUANTIZE", import_dequantize>>,
     .category = Category::transposable,
     .infer = infer_cast,
     .reference = reference,
     .offers = offers,
     .kernels = kKernels,
     .device_kernels = kMapKernels,
     .axes = axes},
};

}  // namespace

extern const std::span<const OpDef> ops_cast;
const std::span<const OpDef> ops_cast = kCast;

}  // namespace stowage
