// SPDX-License-Identifier: Apache-2.0
// min(max(x, lo), hi)
#include <limits>

#include "kernels/elementwise/map.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// Bounds are attributes before opset 11 and scalar inputs since; an absent one does not bind.
void infer(const InferRef& node) {
  node.expect_inputs(1, 3);
  if (node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  for (const int i : {1, 2}) {
    if (!node.has(i)) continue;
    if (node.dtype(i) != node.dtype(0) || node.shape(i).elements() != 1) {
      fail(ErrorCode::bad_input, "input ", i, " must be one ", dtype_name(node.dtype(0)));
    }
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

template <class T>
T bound(const ReferenceArgs& args, std::string_view name, std::size_t input, T otherwise) {
  if (args.node.attrs().has(name)) return element_cast<T>(args.node.attrs().real(name, 0));
  const T* p = args.input<T>(input);
  return p == nullptr ? otherwise : *p;
}

void reference(const ReferenceArgs& args) {
  for_number_dtype(args.out[0].dtype, [&]<class T>() {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    constexpr C lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    constexpr C highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const auto lo = static_cast<C>(bound<T>(args, "min", 1, static_cast<T>(lowest)));
    const auto hi = static_cast<C>(bound<T>(args, "max", 2, static_cast<T>(highest)));
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) {
      y[i] = static_cast<T>(std::min(std::max(static_cast<C>(x[i]), lo), hi));
    }
  });
}

/// The bounds of an f32 clip, when they are known before run.
std::optional<Activation> bounds_of(const NodeRef& node) {
  if (node.dtype(0) != DType::f32) return std::nullopt;
  for (const int i : {1, 2}) {
    if (node.has(i) && node.constant(i) == nullptr) return std::nullopt;
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return Activation{Activation::Kind::clip, node.float_of("min", 1).value_or(-infinity),
                    node.float_of("max", 2).value_or(infinity)};
}

std::optional<Post> post(const NodeRef& node, int x) {
  const auto clip = bounds_of(node);
  if (x != 0 || !clip) return std::nullopt;
  return Post{.kind = Post::Kind::activation, .activation = *clip};
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const auto bounds = bounds_of(request.node);
  if (bounds) offer_elementwise(request, out, {Fn::clip, bounds->a, bounds->b}, 1);
}

template <int Least, int Most>
void import_relu(ImportNode& node) {
  node.expect(1, 1);
  node.attrs.set("min", static_cast<float>(Least));
  node.attrs.set("max", static_cast<float>(Most));
}

constexpr OpDef kClip[] = {
    {.name = "clip",
     .aliases = named<Onnx<"Clip">, Tflite<"RELU6", import_relu<0, 6>>,
                      Tflite<"RELU_N1_TO_1", import_relu<-1, 1>>,
                      Tflite<"RELU_0_TO_1", import_relu<0, 1>>, Ncnn<"Clip", ncnn::clip>>,
     .category = Category::transposable,
     .mace = "Eltwise",
     .infer = infer,
     .permute = permute_nothing,
     .reference = reference,
     .offers = offers,
     .kernels = elementwise_kernel("clip"),
     .device_kernels = kMapKernels,
     .post = post}};

}  // namespace

extern const std::span<const OpDef> ops_clip;
const std::span<const OpDef> ops_clip = kClip;

}  // namespace stowage
