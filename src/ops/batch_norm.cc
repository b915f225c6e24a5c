// SPDX-License-Identifier: Apache-2.0
// Inference-time batch normalisation: one scale and one shift a channel.
#include <cmath>

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"
#include "kernels/expressions.h"
#include "kernels/layouts.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/scale_shift/scale_shift.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(5, 5);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  if (node.attrs().integer("training_mode", 0) != 0) {
    fail(ErrorCode::unsupported, "training mode");
  }
  if (node.attrs().integer("spatial", 1) == 0) {
    fail(ErrorCode::unsupported, "statistics per element (spatial = 0)");
  }
  for (int o = 1; o < node.output_count(); ++o) {
    if (node.has_output(o)) fail(ErrorCode::unsupported, "output ", o, " exists in training only");
  }
  expect_rank(node, 0, 1);
  const std::int64_t channels = node.rank(0) > 1 ? node.shape(0)[1] : 1;
  for (int i = 1; i < 5; ++i) {
    if (node.rank(i) != 1 || node.shape(i)[0] != channels) {
      fail(ErrorCode::bad_input, "input ", i, " has shape ", node.shape(i).extents(),
           ", expected one element for each of ", channels, " channels");
    }
    node.expect_dtype(i, {DType::f32, DType::f64, DType::f16, DType::bf16});
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

std::optional<ScaleShift> scale_shift(const NodeRef& node, int i, AxisRange axes) {
  if (i != 0 || axes.first != 1 || axes.last != 2) return std::nullopt;
  std::vector<float> constants[4];
  for (int k = 0; k < 4; ++k) {
    auto values = constant_along(node.constant(k + 1), node.shape(k + 1), {0, 1});
    if (!values) return std::nullopt;
    constants[k] = std::move(*values);
  }
  const auto& [scale, bias, mean, variance] = constants;
  const auto epsilon = static_cast<double>(node.attrs().real("epsilon", 1e-5f));
  ScaleShift out;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double s =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    out.scale.push_back(static_cast<float>(s));
    out.shift.push_back(
        static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * s));
  }
  return out;
}

/// Old files name outputs that only training has.
void import_batch_norm(ImportNode& node) {
  int outputs = 1;
  for (int o = 1; o < node.output_count(); ++o) {
    if (node.is_read(o)) outputs = o + 1;
  }
  node.keep_outputs(outputs);
}

std::vector<double> doubles(const TensorView& view) {
  std::vector<double> out(at(view.mapping.shape().elements()));
  for_float_dtype(view.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] =
          static_cast<double>(static_cast<Compute<T>>(reinterpret_cast<const T*>(view.data)[i]));
    }
  });
  return out;
}

void reference(const ReferenceArgs& args) {
  const Shape& shape = args.out[0].mapping.shape();
  const auto scale = doubles(args.in[1]), bias = doubles(args.in[2]), mean = doubles(args.in[3]),
             variance = doubles(args.in[4]);
  const auto epsilon = static_cast<double>(args.node.attrs().real("epsilon", 1e-5f));
  const std::int64_t run = product(shape.extents(), 2, shape.rank());
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const auto c = at(shape.rank() > 1 ? i / run % shape[1] : 0);
      const auto v = static_cast<double>(static_cast<Compute<T>>(x[i]));
      y[i] = element_cast<T>((v - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c]);
    }
  });
}

struct BatchNormParams {
  Mapping out;
  Follower x, channels;  ///< `channels`: scale and shift in the layout of the channels of x
  float epsilon = 0;
  Activation clip;  ///< or none

  void fields(Archive& a) {
    a("out", out)("x", x)("channels", channels)("epsilon", epsilon)("clip", clip);
  }
};

/// x * scale + shift with both in the layout of the channels of x.
struct Affine {
  ElementwiseKernel kernel;
  std::vector<float> scale, shift;
};

Affine bind(const BatchNormParams& p, const BindArgs& args) {
  // The kernel reads up to a vector behind the last cell.
  constexpr std::size_t kVectorFloats = 16;
  const std::size_t cells = at(p.channels.mapping.cells()) + kVectorFloats;
  const bool clips = p.clip.kind == Activation::Kind::clip;
  Affine affine{{{clips ? Fn::affine_clip : Fn::affine, p.clip.a, p.clip.b},
                 p.out,
                 {p.x, p.channels, p.channels}},
                std::vector<float>(cells, 0.0f),
                std::vector<float>(cells, 0.0f)};
  for (std::int64_t c = 0; c < p.channels.mapping.shape()[0]; ++c) {
    const auto v = [&](std::size_t i) { return static_cast<double>(args.constant<float>(i)[c]); };
    const double scale = v(1) / std::sqrt(v(4) + static_cast<double>(p.epsilon));
    const auto cell = at(p.channels.mapping.offset(std::span(&c, 1)));
    affine.scale[cell] = static_cast<float>(scale);
    affine.shift[cell] = static_cast<float>(v(2) - v(3) * scale);
  }
  return affine;
}

void run(const Affine& affine, const KernelArgs& args) noexcept {
  const float* in[] = {args.input<float>(0), affine.scale.data(), affine.shift.data()};
  affine.kernel.run(in, args.output<float>(0), args.pool);
}

/// One clip.
bool takes(std::span<const Post> posts) {
  return posts.size() == 1 && posts[0].kind == Post::Kind::activation &&
         posts[0].activation.kind == Activation::Kind::clip;
}

constexpr KernelDef kKernel = kernel_def<BatchNormParams, bind, run>("batch_norm", takes);
constexpr const KernelDef* kKernels[] = {&kKernel};

struct BatchNormDeviceParams {
  float epsilon = 0;
  Posts posts;

  void fields(Archive& a) { a("epsilon", epsilon)("posts", posts); }
};

/// Vectors go along axis 1.
void launch_batch_norm(const BatchNormDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "map";
  const LaunchView& y = args.out[0];
  const ResultPlace place = decoded_place(y);
  ResultPlace channels = place;
  channels.shape = Shape(place.shape.axes().first(2), place.shape.extents().first(2));
  launch.operands = {{"x", 0, false}};
  std::string body = text(" v = ", broadcast_text("x", args.in[0], place), ";");
  constexpr const char* kNames[] = {"scale", "bias", "mean", "variance"};
  for (int i = 0; i < 4; ++i) {
    const std::string name = kNames[i];
    launch.operands.push_back({name, i + 1, false});
    body += text(" const VECTOR_y ", name,
                 "_v = ", broadcast_text(name, args.in[idx(i + 1)], channels), ";");
  }
  launch.operands.push_back({"y", 0, true});
  launch.scalars.push_back({"epsilon", p.epsilon});
  body += " v = (v - mean_v) * (scale_v / sqrt(variance_v + epsilon)) + bias_v; POSTS(v);";
  launch.defines = {{"COMPUTE(v)", text("do {", body, " } while (0)")}};
  add_posts(launch, args, p.posts, place, 1);
  launch.items = items_of(y);
}

constexpr KernelDef kDevice =
    device_kernel_def<BatchNormDeviceParams, launch_batch_norm>("cl_batch_norm", takes);
constexpr const KernelDef* kDeviceKernels[] = {&kDevice};

void offer_device(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (!request.target.device || y.elements() == 0) return;
  DeviceOffer offer(request);
  offer.in(0, texels(x));
  for (int i = 1; i < 5; ++i) offer.in_texels(i, 0);
  offer.out(texels(x).renamed(x.axes(), y.axes()));
  offer.add(kDevice, BatchNormDeviceParams{node.attrs().real("epsilon", 1e-5f), node.node().posts},
            8 * static_cast<double>(y.elements()), 0.5, out);
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& shape = node.shape(0);
  for (int i = 0; i < 5; ++i) {
    if (node.dtype(i) != DType::f32 || (i > 0 && node.constant(i) == nullptr)) return;
  }
  if (shape.rank() < 2) return;
  offer_device(request, out);
  for (const Layout& layout : elementwise_layouts(request)) {
    std::vector<Axis> others(node.output().shape.axes().begin(), node.output().shape.axes().end());
    const Axis channel = others[1];
    others.erase(others.begin() + 1);
    const Shape vector(std::span(&channel, 1), std::span(&shape.extents()[1], 1));
    BatchNormParams params;
    params.out = Mapping(layout, node.output().shape, sizeof(float));
    params.x = broadcast_follower(node, 0, layout);
    params.channels.mapping = Mapping(layout.without(others), vector, sizeof(float));
    params.channels.axis[1] = 0;
    params.epsilon = node.attrs().real("epsilon", 1e-5f);
    for (const Post& post : node.node().posts) params.clip = post.activation;
    Offer offer;
    offer.out = {layout};
    offer.in = {params.x.mapping.layout()};
    for (int i = 1; i < 5; ++i) offer.in.push_back(Layout::row_major(node.shape(i)));
    offer.in_place = 0;
    offer.flops = 2 * static_cast<double>(shape.elements());
    offer.efficiency = 0.25;
    offer.call = {kKernel, std::move(params)};
    out.push_back(std::move(offer));
  }
}

constexpr OpDef kBatchNorm[] = {
    {.name = "batch_norm",
     .aliases =
         named<Onnx<"BatchNormalization", import_batch_norm>, Ncnn<"BatchNorm", ncnn::batch_norm>>,
     .category = Category::transposable,
     .mace = "BatchNorm",
     .infer = infer,
     .scale_shift = scale_shift,
     .reference = reference,
     .offers = offers,
     .kernels = kKernels,
     .device_kernels = kDeviceKernels,
     .axes = link_images}};

}  // namespace

extern const std::span<const OpDef> ops_batch_norm;
const std::span<const OpDef> ops_batch_norm = kBatchNorm;

}  // namespace stowage
