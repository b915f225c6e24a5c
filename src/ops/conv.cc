// SPDX-License-Identifier: Apache-2.0
// Convolution: inputs x (n c spatial), w (o c/group spatial), optional bias (o).
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/window/conv_device.h"
#include "kernels/window/depthwise_device.h"
#include "kernels/window/dots.h"
#include "kernels/window/winograd.h"
#include "kernels/window/winograd_device.h"
#include "ops/conv/depthwise.h"
#include "ops/conv/device_conv.h"
#include "ops/conv/dots_conv.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
#include "ops/conv/winograd_conv.h"
#include "ops/ncnn/rules.h"
#include "ops/scale_shift/scale_shift.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(2, 3);
  node.expect_dtype(0, {DType::f32, DType::f64});
  node.expect_dtype(1, {node.dtype(0)});
  check_spatial_rank(node);
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  if (w.rank() != x.rank()) {
    fail(ErrorCode::bad_input, "weights of rank ", w.rank(), " for an input of rank ", x.rank());
  }
  const std::int64_t group = node.attrs().integer("group", 1);
  if (group < 1 || w[0] < 1 || w[0] % group != 0) {
    fail(ErrorCode::bad_input, "group ", group, " does not divide ", w[0], " output channels");
  }
  if (checked_mul(w[1], group) != x[1]) {
    fail(ErrorCode::bad_input, "the input has ", x[1], " channels, the weights take ", w[1],
         " in each of ", group, " groups");
  }
  Ints kernel(w.extents().begin() + 2, w.extents().end());
  for (const std::int64_t k : kernel) {
    if (k < 1) fail(ErrorCode::bad_input, "weights of shape ", w.extents(), " have no taps");
  }
  const Ints stated = node.attrs().integers("kernel_shape");
  if (!stated.empty() && stated != kernel) {
    fail(ErrorCode::bad_input, "kernel_shape is ", std::span<const std::int64_t>(stated),
         ", the weights have ", std::span<const std::int64_t>(kernel));
  }
  const bool bias = bias_input(node) >= 0;
  if (bias) node.expect_dtype(2, {node.dtype(0)});
  if (bias && !(node.rank(2) == 1 && node.shape(2)[0] == w[0])) {
    fail(ErrorCode::bad_input, "a bias of shape ", node.shape(2).extents(), " for ", w[0],
         " output channels");
  }
  Ints extents = infer_window(node, kernel, false);
  extents.insert(extents.begin(), {x[0], w[0]});
  node.set_output(0, node.dtype(0), extents);
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape& xs = args.in[0].mapping.shape();
  const Shape& ws = args.in[1].mapping.shape();
  const Shape& ys = args.out[0].mapping.shape();
  const Window w = window_of(args.node.facts(), ws.extents().subspan(2), xs, ys);
  const std::int64_t group_in = ws[1];
  const std::int64_t group_out = ws[0] / args.node.attrs().integer("group", 1);
  const T* x = args.input<T>(0);
  const T* weights = args.input<T>(1);
  const T* bias = bias_input(args.node) < 0 ? nullptr : args.input<T>(2);
  T* y = args.output<T>(0);
  for (std::int64_t n = 0; n < ys[0]; ++n) {
    for (std::int64_t o = 0; o < ys[1]; ++o) {
      const std::int64_t first = o / group_out * group_in;
      for (std::int64_t z = 0; z < w.out[0]; ++z) {
        for (std::int64_t v = 0; v < w.out[1]; ++v) {
          for (std::int64_t u = 0; u < w.out[2]; ++u) {
            double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[o]);
            const T* k = weights + o * group_in * w.taps();
            for (std::int64_t c = first; c < first + group_in; ++c) {
              const T* plane = x + (n * xs[1] + c) * w.in_pixels();
              for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
                for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
                  for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx, ++k) {
                    const std::int64_t iz = z * w.stride[0] + kz * w.dilation[0] - w.pad_begin[0];
                    const std::int64_t iy = v * w.stride[1] + ky * w.dilation[1] - w.pad_begin[1];
                    const std::int64_t ix = u * w.stride[2] + kx * w.dilation[2] - w.pad_begin[2];
                    if (iz < 0 || iz >= w.in[0] || iy < 0 || iy >= w.in[1] || ix < 0 ||
                        ix >= w.in[2]) {
                      continue;
                    }
                    sum += static_cast<double>(plane[(iz * w.in[1] + iy) * w.in[2] + ix]) *
                           static_cast<double>(*k);
                  }
                }
              }
            }
            *y++ = static_cast<T>(sum);
          }
        }
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  if (args.node.dtype(0) == DType::f64) {
    reference_as<double>(args);
  } else {
    reference_as<float>(args);
  }
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || node.output().shape.elements() == 0 ||
      node.shape(1).elements() == 0) {
    return;
  }
  if (request.target.device) offer_device_conv(request, out);
  const std::size_t others = out.size();
  offer_depthwise(request, out);
  // With wide groups, or a multiplier as large as a block, each group by itself can be faster.
  if (out.size() == others || node.shape(1)[1] > 1 || node.shape(1)[0] > node.shape(0)[1])
    offer_pixel_conv(request, out);
  offer_dots_conv(request, out);
  offer_winograd_conv(request, out);
}

void axes(const NodeRef& node, AxisLinks& links) { link_convolution(node, links, "o", "i"); }

/// Zeros of the pixels alone, not of images or channels.
std::optional<Attributes> take_zero_pads(const NodeRef& node, const ZeroPads& zeros) {
  Ints pads = node.facts().integers("pads");
  const std::size_t axes = pads.size() / 2;
  for (std::size_t i = 0; i < 2; ++i) {
    if (zeros.before[i] != 0 || zeros.after[i] != 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < axes; ++i) {
    pads[i] = checked_add(pads[i], zeros.before[i + 2]);
    pads[i + axes] = checked_add(pads[i + axes], zeros.after[i + 2]);
  }
  Attributes attrs = node.attrs();
  attrs.erase("auto_pad");
  attrs.set("pads", pads);
  return attrs;
}

/// Output channels are axis 0 of the weights.
std::optional<Rewritten> take_scale_shift(const NodeRef& node, const ScaleShift& by) {
  const auto bias = constant_bias(node);
  if (!bias) return std::nullopt;
  const std::int64_t each = node.shape(1).elements() / node.shape(1)[0];
  return scale_products(node, by, *bias, [each](std::int64_t i) { return i / each; });
}

/// TFLite's weights as they lie, of rank 4.
ValueId filter(ImportNode& node) {
  const ValueId w = node.in(1);
  if (node.shape(w).rank() != 4) {
    fail(ErrorCode::bad_input, "the weights have rank ", node.shape(w).rank(), ", not 4");
  }
  return w;
}

void import_conv_2d(ImportNode& node) {
  node.expect(2, 3);
  const ValueId x = node.image(0);
  const ValueId w = node.emit("transpose", {filter(node)}, {{"perm", Ints{0, 3, 1, 2}}});
  // A group takes as many channels as the weights have.
  const std::int64_t channels = node.shape(x)[1], taken = node.shape(w)[1];
  if (taken < 1 || channels % taken != 0) {
    fail(ErrorCode::bad_input, "the weights take ", taken, " channels of ", channels);
  }
  node.attrs.set("group", std::max(channels / taken, std::int64_t{1}));
  node.out_image(node.emit("conv", {x, w, node.optional(2)}, node.attrs));
}

/// Weights 1 h w (c m): each input channel makes m output channels, which follow each other.
void import_depthwise_conv_2d(ImportNode& node) {
  node.expect(2, 3);
  const ValueId x = node.image(0);
  if (node.shape(filter(node))[0] != 1) {
    fail(ErrorCode::bad_input, "depthwise weights of shape ", node.shape(node.in(1)).extents());
  }
  const ValueId w = node.emit("transpose", {node.in(1)}, {{"perm", Ints{3, 0, 1, 2}}});
  node.attrs.set("group", node.shape(x)[1]);
  node.out_image(node.emit("conv", {x, w, node.optional(2)}, node.attrs));
}

constexpr ForeignName kNames[] = {
    {"onnx", "Conv"},
    {"tflite", "CONV_2D", import_conv_2d},
    {"tflite", "DEPTHWISE_CONV_2D", import_depthwise_conv_2d},
    {"ncnn", "Convolution", ncnn::convolution},
    {"ncnn", "ConvolutionDepthWise", ncnn::convolution_depth_wise},
    {"ncnn", "Convolution1D", ncnn::convolution_1d},
    {"ncnn", "ConvolutionDepthWise1D", ncnn::convolution_depth_wise_1d},
    {"ncnn", "Convolution3D", ncnn::convolution_3d},
    {"ncnn", "ConvolutionDepthWise3D", ncnn::convolution_depth_wise_3d}};

constexpr auto kKernels = [] {
  constexpr const KernelDef* kOthers[] = {&kConvBlocked, &kConvChannelsLast, &kConvDots,
                                          &kConvDepthwise, &kConvGrouped};
  std::array<const KernelDef*, std::size(kOthers) + std::size(kWinogradForms)> all = {};
  const auto next = std::ranges::copy(kOthers, all.begin()).out;
  std::ranges::transform(kWinogradKernels, next, [](const KernelDef& k) { return &k; });
  return all;
}();
constexpr const KernelDef* kDeviceKernels[] = {&kConvDevice, &kWinogradDevice, &kDepthwiseDevice};

constexpr OpDef kOps[] = {{
    .name = "conv",
    .aliases = kNames,
    .category = Category::fixed,
    .mace = "Conv2D",
    .infer = infer,
    .take_zero_pads = take_zero_pads,
    .scaled_axes = channels_of_output,
    .take_scale_shift = take_scale_shift,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .device_kernels = kDeviceKernels,
    .axes = axes,
}};

}  // namespace

extern const std::span<const OpDef> ops_conv;
const std::span<const OpDef> ops_conv = kOps;

}  // namespace stowage
