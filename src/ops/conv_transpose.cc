// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: inputs x (n i spatial), w (i o/group spatial), optional bias (o). Output
// pixels with the same remainder modulo the strides (a phase) see the same taps; within a phase
// it is a convolution.
#include "kernels/window/conv_transpose.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/window/conv_transpose_device.h"
#include "kernels/window/overlap.h"
#include "ops/conv/device_conv.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
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
  if (w[0] != x[1]) {
    fail(ErrorCode::bad_input, "the input has ", x[1], " channels, the weights take ", w[0]);
  }
  if (group < 1 || x[1] < 1 || x[1] % group != 0 || w[1] < 1) {
    fail(ErrorCode::bad_input, "group ", group, " does not divide ", x[1], " input channels into ",
         w[1], " output channels each");
  }
  const std::int64_t channels = checked_mul(w[1], group);
  const Ints kernel(w.extents().begin() + 2, w.extents().end());
  const Ints stated = node.attrs().integers("kernel_shape");
  if (!stated.empty() && stated != kernel) {
    fail(ErrorCode::bad_input, "kernel_shape is ", std::span<const std::int64_t>(stated),
         ", the weights have ", std::span<const std::int64_t>(kernel));
  }
  const bool bias = bias_input(node) >= 0;
  if (bias) node.expect_dtype(2, {node.dtype(0)});
  if (bias && !(node.rank(2) == 1 && node.shape(2)[0] == channels)) {
    fail(ErrorCode::bad_input, "a bias of shape ", node.shape(2).extents(), " for ", channels,
         " output channels");
  }
  Ints extents = infer_transposed_window(node, kernel);
  extents.insert(extents.begin(), {x[0], channels});
  node.set_output(0, node.dtype(0), extents);
}

/// Which input index and tap make output index `y`: x * stride = y + pad - tap * dilation.
std::int64_t source_index(const Window& w, std::size_t axis, std::int64_t y, std::int64_t tap) {
  const std::int64_t at = y + w.pad_begin[axis] - tap * w.dilation[axis];
  if (at < 0 || at % w.stride[axis] != 0 || at / w.stride[axis] >= w.in[axis]) return -1;
  return at / w.stride[axis];
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape& xs = args.in[0].mapping.shape();
  const Shape& ws = args.in[1].mapping.shape();
  const Shape& ys = args.out[0].mapping.shape();
  const Window w = window_of(args.node.facts(), ws.extents().subspan(2), xs, ys);
  const std::int64_t group_in = ws[0] / args.node.attrs().integer("group", 1);
  const std::int64_t group_out = ws[1];
  const T* x = args.input<T>(0);
  const T* weights = args.input<T>(1);
  const T* bias = bias_input(args.node) < 0 ? nullptr : args.input<T>(2);
  T* y = args.output<T>(0);
  const auto pixel = [&](std::int64_t n, std::int64_t o, std::int64_t oz, std::int64_t oy,
                         std::int64_t ox) {
    double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[o]);
    const std::int64_t first = o / group_out * group_in;
    for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
      for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
        for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx) {
          const std::int64_t iz = source_index(w, 0, oz, kz), iy = source_index(w, 1, oy, ky),
                             ix = source_index(w, 2, ox, kx);
          if (iz < 0 || iy < 0 || ix < 0) continue;
          const std::int64_t at = (iz * w.in[1] + iy) * w.in[2] + ix;
          const std::int64_t tap = (kz * w.kernel[1] + ky) * w.kernel[2] + kx;
          for (std::int64_t i = first; i < first + group_in; ++i) {
            sum += static_cast<double>(x[(n * xs[1] + i) * w.in_pixels() + at]) *
                   static_cast<double>(weights[(i * group_out + o % group_out) * w.taps() + tap]);
          }
        }
      }
    }
    *y++ = static_cast<T>(sum);
  };
  for (std::int64_t n = 0; n < ys[0]; ++n) {
    for (std::int64_t o = 0; o < ys[1]; ++o) {
      for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
        for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
          for (std::int64_t ox = 0; ox < w.out[2]; ++ox) pixel(n, o, oz, oy, ox);
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

constexpr const KernelDef* kKernels[] = {&kConvTransposeBlocked, &kConvTransposeChannelsLast,
                                         &kConvTransposeOverlap};

ConvTransposeParams params_of(const OfferRequest& request, bool blocked) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  ConvTransposeParams params;
  params.w = window_of(node.facts(), k.extents().subspan(2), x, node.output().shape);
  params.batch = x[0];
  params.group = node.attrs().integer("group", 1);
  params.in_channels = k[0] / params.group;
  params.out_channels = k[1];
  params.blocked = blocked;
  params.bias = bias_input(node);
  params.posts = node.node().posts;
  params.threads = request.target.threads;
  return params;
}

/// What the offers of all its kernels are alike in; `weights` is where theirs lie.
Offer offer_of(const OfferRequest& request, const KernelDef& kernel,
               const ConvTransposeParams& params, const Layout& weights) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  const auto lies = [&](const Shape& shape) {
    return params.blocked ? Layout::blocked(shape, 1, static_cast<int>(lanes))
                          : channels_last(shape);
  };
  Offer o;
  o.call = {kernel, params};
  o.in.resize(node.node().inputs.size());
  o.in[0] = lies(node.shape(0));
  o.in[1] = weights;
  if (params.bias >= 0) o.in[2] = padded_vector(node.shape(2), lanes);
  o.out = {lies(node.output().shape)};
  add_post_layouts(node, o.out[0].layout, lanes, o.in);
  o.flops = 2.0 * static_cast<double>(node.shape(0).elements()) *
            static_cast<double>(params.out_channels * params.w.taps());
  return o;
}

/// A convolution for each phase of the output.
void offer_phases(const OfferRequest& request, bool blocked, std::vector<Offer>& offers) {
  const ConvTransposeParams params = params_of(request, blocked);
  const std::int64_t lanes = tile_lanes();
  const bool whole = params.in_channels % lanes == 0 && params.out_channels % lanes == 0;
  if (blocked && params.group > 1 && !whole) return;
  if (!blocked && params.in_channels > kZeroRun) return;
  const auto work = conv_transpose_work(params);
  if (!work) return;
  Offer o = offer_of(request, blocked ? kConvTransposeBlocked : kConvTransposeChannelsLast, params,
                     conv_transpose_weights_layout(request.node.shape(1), params));
  o.efficiency = work->efficiency();
  offers.push_back(std::move(o));
}

/// Few output channels, with the channels last.
void offer_overlap(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const ConvTransposeParams params = params_of(request, false);
  if (node.input(1).constant == nullptr || !overlap_fits(params)) return;
  const OverlapWork work = overlap_work(params);
  Offer o = offer_of(request, kConvTransposeOverlap, params, Layout::row_major(node.shape(1)));
  o.efficiency = work.efficiency;
  o.extra_bytes = o.extra_weight_bytes = work.extra_bytes;
  o.scratch_bytes = work.scratch_bytes;
  offers.push_back(std::move(o));
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || node.output().shape.elements() == 0 ||
      node.shape(0).elements() == 0) {
    return;
  }
  if (request.target.device) offer_device_conv_transpose(request, out);
  if (request.target.lanes != tile_lanes()) return;
  offer_phases(request, true, out);
  offer_phases(request, false, out);
  offer_overlap(request, out);
}

void axes(const NodeRef& node, AxisLinks& links) { link_convolution(node, links, "i", "o"); }

/// Output channels are axis 1 of the weights within each group, whose input channels are axis 0.
std::optional<Rewritten> take_scale_shift(const NodeRef& node, const ScaleShift& by) {
  const auto bias = constant_bias(node);
  if (!bias) return std::nullopt;
  const Shape& w = node.shape(1);
  const std::int64_t group_in = w[0] / node.attrs().integer("group", 1);
  const std::int64_t group_out = w[1], taps = w.elements() / (w[0] * w[1]);
  return scale_products(node, by, *bias, [=](std::int64_t i) {
    return i / (taps * group_out * group_in) * group_out + i / taps % group_out;
  });
}

/// TFLite's inputs: extents of the output, weights o h w i, x, bias. What the extents leave out of
/// the full result is cut, with SAME evenly, else at the end.
void import_transpose_conv(ImportNode& node) {
  node.expect(3, 4);
  const Ints wanted = node.ints(0);
  const ValueId x = node.image(2), weights = node.in(1);
  if (node.shape(weights).rank() != 4) {
    fail(ErrorCode::bad_input, "the weights have rank ", node.shape(weights).rank(), ", not 4");
  }
  const ValueId w = node.emit("transpose", {weights}, {{"perm", Ints{3, 0, 1, 2}}});
  if (wanted.size() != 4) fail(ErrorCode::bad_input, "its output has rank ", wanted.size());
  const bool same = node.attrs.string("auto_pad", "") == "SAME_UPPER";
  const Ints strides = node.attrs.integers("strides");
  Ints pads(4, 0), extra(2, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const std::int64_t full =
        checked_add(checked_mul(node.shape(x)[axis] - 1, strides[i]), node.shape(w)[axis]);
    const std::int64_t cut =
        full - std::clamp<std::int64_t>(wanted[i + 1], 0, std::int64_t{1} << 40);
    extra[i] = std::max<std::int64_t>(-cut, 0);
    pads[i] = same ? std::max<std::int64_t>(cut, 0) / 2 : 0;
    pads[i + 2] = std::max<std::int64_t>(cut, 0) - pads[i];
  }
  node.out_image(node.emit("conv_transpose", {x, w, node.optional(3)},
                           {{"strides", strides}, {"pads", pads}, {"output_padding", extra}}));
}

constexpr ForeignName kNames[] = {
    {"onnx", "ConvTranspose"},
    {"tflite", "TRANSPOSE_CONV", import_transpose_conv},
    {"ncnn", "Deconvolution", ncnn::deconvolution},
    {"ncnn", "DeconvolutionDepthWise", ncnn::deconvolution_depth_wise},
    {"ncnn", "Deconvolution1D", ncnn::deconvolution_1d},
    {"ncnn", "DeconvolutionDepthWise1D", ncnn::deconvolution_depth_wise_1d}};

constexpr OpDef kOps[] = {{
    .name = "conv_transpose",
    .aliases = kNames,
    .category = Category::fixed,
    .mace = "Deconv2D",
    .infer = infer,
    .scaled_axes = channels_of_output,
    .take_scale_shift = take_scale_shift,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .device_kernels = kConvTransposeDeviceKernels,
    .axes = axes,
}};

}  // namespace

extern const std::span<const OpDef> ops_conv_transpose;
const std::span<const OpDef> ops_conv_transpose = kOps;

}  // namespace stowage
