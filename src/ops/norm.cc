// SPDX-License-Identifier: Apache-2.0
// Normalisation over axes of the input itself: instance, layer, local response.
#include "kernels/rows/norm.h"

#include <cmath>

#include "kernels/layouts.h"
#include "kernels/rows/lrn_device.h"
#include "kernels/rows/norm_device.h"
#include "ops/device/device_offer.h"
#include "ops/device/device_rows.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/norm/norm_rules.h"
#include "ops/scale_shift/scale_shift.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer_instance(const InferRef& node) {
  node.expect_inputs(3, 3);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  expect_rank(node, 0, 3);
  for (const int i : {1, 2}) {
    if (node.dtype(i) != node.dtype(0) || node.rank(i) != 1 ||
        node.shape(i)[0] != node.shape(0)[1]) {
      fail(ErrorCode::bad_input, "input ", i, " must hold one ", dtype_name(node.dtype(0)),
           " for each of ", node.shape(0)[1], " channels");
    }
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

/// Scale and bias (empty: none) of these axes of x, scaled and shifted.
Rewritten with_parameters(const NodeRef& node, AxisRange axes, std::vector<float> scale,
                          std::span<const float> bias, const ScaleShift& by) {
  const auto extents = node.shape(0).extents().subspan(at(axes.first), at(axes.last - axes.first));
  const Shape shape = Shape::unnamed(extents);
  Rewritten out{node.attrs()};
  const auto set = [&](int input, std::span<const float> data) {
    Tensor t = vector_tensor(data);
    t.reshape(shape);
    out.constants.emplace_back(input, std::move(t));
  };
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] *= by.scale[i];
  set(1, scale);
  if (!bias.empty() || by.shifts()) set(2, scaled(bias, by));
  return out;
}

/// Its parameters are vectors of channels.
std::optional<Rewritten> take_instance(const NodeRef& node, const ScaleShift& by) {
  const auto scale = constant_along(node.constant(1), node.shape(1), {0, 1});
  const auto bias = constant_along(node.constant(2), node.shape(2), {0, 1});
  if (!scale || !bias) return std::nullopt;
  return with_parameters(node, {1, 2}, *scale, *bias, by);
}

std::optional<AxisRange> layer_axes(const NodeRef& node) {
  return AxisRange{static_cast<int>(node.facts().integer("axis", -1)), node.rank(0)};
}

/// Its parameters stretch to x.
std::optional<Rewritten> take_layer(const NodeRef& node, const ScaleShift& by) {
  const AxisRange axes = *layer_axes(node);
  const auto scale = constant_along(node.constant(1), node.shape(0), axes);
  const auto bias =
      node.has(2) ? constant_along(node.constant(2), node.shape(0), axes) : std::vector<float>();
  if (!scale || !bias) return std::nullopt;
  return with_parameters(node, axes, *scale, *bias, by);
}

/// y = (x - mean) / sqrt(variance + epsilon) over `count` elements.
template <class T>
struct Moments {
  Moments(const T* x, std::int64_t count, double epsilon) {
    for (std::int64_t i = 0; i < count; ++i) mean += value(x[i]);
    mean /= static_cast<double>(count);
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) squares += (value(x[i]) - mean) * (value(x[i]) - mean);
    inverse = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
  }

  static double value(T x) { return static_cast<double>(static_cast<Compute<T>>(x)); }

  double mean = 0, inverse = 0;
};

void instance_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& shape = args.out[0].mapping.shape();
  const std::int64_t run = product(shape.extents(), 2, shape.rank());
  const auto epsilon = static_cast<double>(args.node.attrs().real("epsilon", 1e-5f));
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    const T *x = args.input<T>(0), *scale = args.input<T>(1), *bias = args.input<T>(2);
    T* y = args.output<T>(0);
    for (std::int64_t p = 0; run > 0 && p < shape[0] * shape[1]; ++p) {
      const Moments<T> m(x + p * run, run, epsilon);
      const std::int64_t c = p % shape[1];
      for (std::int64_t i = p * run; i < (p + 1) * run; ++i) {
        y[i] = element_cast<T>((Moments<T>::value(x[i]) - m.mean) * m.inverse *
                                   Moments<T>::value(scale[c]) +
                               Moments<T>::value(bias[c]));
      }
    }
  });
}

constexpr const KernelDef* kInstanceNormKernels[] = {&kInstanceNorm};

void instance_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &parameter = node.shape(1);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
  if (request.target.device) offer_device_norm(request, axes_from(2, x.rank()), 1, out);
  std::vector<Axis> others;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != 1) others.push_back(x.axis(i));
  }
  const Axis channel[] = {x.axis(1)};
  for (const Layout& layout : elementwise_layouts(request)) {
    const Mapping mapping(layout, node.output().shape, sizeof(float));
    const Layout in = broadcast_follower(node, 0, layout).mapping.layout();
    const Layout one = in.without(others).renamed(channel, parameter.axes());
    const InstanceNormParams params{mapping, Mapping(one, parameter, sizeof(float)),
                                    node.attrs().real("epsilon", 1e-5f)};
    const InstanceNormFit fit = instance_norm_fit(params);
    if (fit == InstanceNormFit::none) continue;
    Offer offer;
    offer.call = {kInstanceNorm, params};
    offer.in = {in, one, one};
    offer.out = {layout};
    offer.in_place = 0;
    // x is read three times.
    offer.flops = 16 * static_cast<double>(x.elements());
    offer.efficiency = fit == InstanceNormFit::runs ? 0.2 : 0.02;
    out.push_back(std::move(offer));
  }
}

void infer_layer(const InferRef& node) {
  node.expect_inputs(2, 3);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  expect_rank(node, 0, 1);
  const Shape& x = node.shape(0);
  const int axis = normal_axis(node.attrs().integer("axis", -1), x.rank());
  node.set_fact("axis", std::int64_t{axis});
  for (const int i : {1, 2}) {
    if (!node.has(i)) continue;
    if (node.dtype(i) != node.dtype(0) ||
        !std::ranges::equal(broadcast(x.extents(), node.shape(i).extents()), x.extents())) {
      fail(ErrorCode::bad_input, "input ", i, " of shape ", node.shape(i).extents(),
           " does not broadcast to ", x.extents());
    }
  }
  node.set_output(0, node.dtype(0), x.extents());
  Ints kept = extents_of(x);
  std::fill(kept.begin() + axis, kept.end(), 1);
  for (const int o : {1, 2}) node.set_output(o, DType::f32, kept);
}

void layer_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& shape = args.in[0].mapping.shape();
  const auto axis = static_cast<int>(args.node.facts().integer("axis", -1));
  const std::int64_t run = product(shape.extents(), axis, shape.rank());
  const auto epsilon = static_cast<double>(args.node.attrs().real("epsilon", 1e-5f));
  const bool has_bias = args.input<float>(2) != nullptr;
  const Shape scalar;
  const Ints scale_strides = broadcast_strides(args.in[1].mapping.shape(), shape);
  const Ints bias_strides =
      broadcast_strides(has_bias ? args.in[2].mapping.shape() : scalar, shape);
  for_float_dtype(args.in[0].dtype, [&]<class T>() {
    const T *x = args.input<T>(0), *scale = args.input<T>(1), *bias = args.input<T>(2);
    T* y = args.output<T>(0);
    Walk<2> walk(shape.extents(), {scale_strides, bias_strides});
    for (std::int64_t p = 0; run > 0 && p < shape.elements() / run; ++p) {
      const Moments<T> m(x + p * run, run, epsilon);
      for (std::int64_t i = p * run; i < (p + 1) * run; ++i, walk.next()) {
        const double v = (Moments<T>::value(x[i]) - m.mean) * m.inverse *
                         Moments<T>::value(scale[walk.offset(0)]);
        y[i] = element_cast<T>(v + (has_bias ? Moments<T>::value(bias[walk.offset(1)]) : 0));
      }
      if (args.out.size() > 1 && args.out[1].data != nullptr) {
        args.output<float>(1)[p] = static_cast<float>(m.mean);
      }
      if (args.out.size() > 2 && args.out[2].data != nullptr) {
        args.output<float>(2)[p] = static_cast<float>(m.inverse);
      }
    }
  });
}

constexpr const KernelDef* kLayerNormKernels[] = {&kLayerNorm};

/// In layouts in which the normalised axes are one run, with a scale and a bias of their extents.
void layer_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
  if (node.has_output(1) || node.has_output(2)) return;
  const auto axis = static_cast<int>(node.facts().integer("axis", -1));
  if (request.target.device) offer_device_norm(request, axes_from(axis, x.rank()), -1, out);
  const std::int64_t run = product(x.extents(), axis, x.rank());
  for (const int i : {1, 2}) {
    if (!node.has(i)) continue;
    // Extents of the last axes, perhaps with ones before them.
    const Shape& parameter = node.shape(i);
    const int shift = x.rank() - parameter.rank();
    if (parameter.elements() != run) return;
    for (int k = 0; k < parameter.rank(); ++k) {
      if (parameter[k] != (k + shift < axis ? 1 : x[k + shift])) return;
    }
  }
  for (const Layout& layout : elementwise_layouts(request)) {
    const Mapping mapping(layout, node.output().shape, sizeof(float));
    const LayerNormParams params{mapping, axis, node.attrs().real("epsilon", 1e-5f)};
    if (!layer_norm_fits(params)) continue;
    Offer offer;
    offer.call = {kLayerNorm, params};
    for (int i = 0; i < node.input_count(); ++i) {
      offer.in.push_back(node.has(i) ? broadcast_follower(node, i, layout).mapping.layout()
                                     : Layout());
    }
    offer.out.resize(node.node().outputs.size());
    offer.out[0] = layout;
    // x is read three times.
    offer.flops = 8 * static_cast<double>(x.elements());
    offer.efficiency = 0.2;
    out.push_back(std::move(offer));
  }
}

void infer_lrn(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  expect_rank(node, 0, 2);
  if (node.attrs().integer("size", 0) < 1) {
    fail(ErrorCode::bad_input, "size is ", node.attrs().integer("size", 0), ", expected 1 or more");
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

void lrn_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& shape = args.out[0].mapping.shape();
  const Attributes& attrs = args.node.attrs();
  const std::int64_t size = attrs.integer("size", 1), channels = shape[1];
  // No window is wider than the channels on either side.
  const std::int64_t before = std::min((size - 1) / 2, channels);
  const std::int64_t after = std::min(size - 1 - (size - 1) / 2, channels);
  const double alpha = static_cast<double>(attrs.real("alpha", 1e-4f)) / static_cast<double>(size);
  const auto beta = static_cast<double>(attrs.real("beta", 0.75f));
  const auto bias = static_cast<double>(attrs.real("bias", 1.0f));
  const std::int64_t run = product(shape.extents(), 2, shape.rank());
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t c = i / run % channels;
      double squares = 0;
      for (std::int64_t k = std::max<std::int64_t>(0, c - before);
           k <= std::min(channels - 1, c + after); ++k) {
        const double v = Moments<T>::value(x[i + (k - c) * run]);
        squares += v * v;
      }
      y[i] = element_cast<T>(Moments<T>::value(x[i]) / std::pow(bias + alpha * squares, beta));
    }
  });
}

constexpr const KernelDef* kLrnKernels[] = {&kLrn};

void offer_device_lrn(const OfferRequest& request, const LrnParams& p, double flops,
                      std::vector<Offer>& out) {
  constexpr std::int64_t kMost = 1 << 29;  // a channel and the reach of its window are added
  if (request.node.shape(0)[1] > kMost) return;
  DeviceOffer offer(request);
  offer.in(0, texels_along(request.node.shape(0), 1));
  offer.out(texels_along(request.node.output().shape, 1));
  offer.add(kLrnDevice, LrnDeviceParams{p.before, p.after, p.alpha, p.beta, p.bias}, flops, 0.1,
            out);
}

/// In layouts that keep the channels in one digit, with contiguous pixels below them.
void lrn_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || node.shape(0).elements() == 0) return;
  const Attributes& attrs = node.attrs();
  const std::int64_t size = attrs.integer("size", 1), channels = node.shape(0)[1];
  LrnParams params;
  params.before = std::min((size - 1) / 2, channels);
  params.after = std::min(size - 1 - (size - 1) / 2, channels);
  params.alpha = attrs.real("alpha", 1e-4f) / static_cast<float>(size);
  params.beta = attrs.real("beta", 0.75f);
  params.bias = attrs.real("bias", 1.0f);
  if (!(params.bias > 0) || params.alpha < 0) return;
  const auto window = static_cast<double>(params.before + params.after + 1);
  const double flops = static_cast<double>(node.shape(0).elements()) * (2 * window + 20);
  if (request.target.device) offer_device_lrn(request, params, flops, out);
  for (const Layout& layout : elementwise_layouts(request)) {
    params.mapping = Mapping(layout, node.output().shape, sizeof(float));
    if (!lrn_fits(params)) continue;
    Offer offer;
    offer.call = {kLrn, params};
    offer.in = {broadcast_follower(node, 0, layout).mapping.layout()};
    offer.out = {layout};
    offer.flops = flops;
    offer.efficiency = 0.25;
    out.push_back(std::move(offer));
  }
}

/// ONNX's. Scale and bias are of groups before version 21, of channels from then on.
void import_group_norm(ImportNode& node) {
  node.expect(3, 3);
  const Shape x = node.shape(node.in(0));
  const std::int64_t groups = node.attrs.integer("num_groups", 0);
  if (x.rank() < 2) fail(ErrorCode::bad_input, "its input of rank ", x.rank(), " has no channels");
  if (groups < 1 || x[1] % groups != 0) {
    fail(ErrorCode::bad_input, groups, " groups of ", x[1], " channels");
  }
  const bool of_groups = node.version < 21;
  const ValueId y =
      normalise_groups(node, node.in(0), x[0], groups, node.attrs.real("epsilon", 1e-5f),
                       of_groups ? node.in(1) : kNoValue, of_groups ? node.in(2) : kNoValue);
  if (of_groups) return node.out(y);
  Ints channels(at(x.rank()) - 1, 1);
  channels[0] = x[1];
  for (const int i : {1, 2}) {
    if (node.shape(node.in(i)).elements() != x[1]) {
      fail(ErrorCode::bad_input, "input ", i, " must hold one number for each of ", x[1],
           " channels");
    }
  }
  const ValueId scaled = node.emit("mul", {y, node.reshape(node.in(1), channels)});
  node.out(node.emit("add", {scaled, node.reshape(node.in(2), channels)}));
}

/// ONNX's: x / sqrt(mean(x^2) + epsilon) * scale, the mean over the axes from `axis` on.
void import_rms_norm(ImportNode& node) {
  node.expect(2, 2);
  const int axis = normal_axis(node.attrs.integer("axis", -1), node.shape(node.in(0)).rank());
  const ValueId y =
      over_root_mean_square(node, node.in(0), axis, node.attrs.real("epsilon", 1e-5f));
  node.out(node.emit("mul", {y, node.in(1)}));
}

constexpr OpDef kNorm[] = {
    {.name = "instance_norm",
     .aliases = named<Onnx<"InstanceNormalization">, Onnx<"GroupNormalization", import_group_norm>,
                      Ncnn<"InstanceNorm", ncnn::instance_norm>,
                      Ncnn<"GroupNorm", ncnn::group_norm>, Ncnn<"MVN", ncnn::mvn>>,
     .category = Category::fixed,
     .mace = "InstanceNorm",
     .infer = infer_instance,
     .scaled_axes = channels_of_output,
     .take_scale_shift = take_instance,
     .reference = instance_reference,
     .offers = instance_offers,
     .kernels = kInstanceNormKernels,
     .device_kernels = kNormDeviceKernels,
     .axes = link_images},
    {.name = "layer_norm",
     .aliases = named<Onnx<"LayerNormalization">, Onnx<"RMSNormalization", import_rms_norm>,
                      Ncnn<"LayerNorm", ncnn::layer_norm>, Ncnn<"RMSNorm", ncnn::rms_norm>>,
     .category = Category::source,
     .infer = infer_layer,
     .scaled_axes = layer_axes,
     .take_scale_shift = take_layer,
     .reference = layer_reference,
     .offers = layer_offers,
     .kernels = kLayerNormKernels,
     .device_kernels = kNormDeviceKernels,
     .axes = link_positions},
    {.name = "lrn",
     .aliases = named<Onnx<"LRN">, Ncnn<"LRN", ncnn::lrn>>,
     .category = Category::fixed,
     .infer = infer_lrn,
     .reference = lrn_reference,
     .offers = lrn_offers,
     .kernels = kLrnKernels,
     .device_kernels = kLrnDeviceKernels,
     .axes = link_images},
};

}  // namespace

extern const std::span<const OpDef> ops_norm;
const std::span<const OpDef> ops_norm = kNorm;

}  // namespace stowage
