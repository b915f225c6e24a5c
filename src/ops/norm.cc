// SPDX-License-Identifier: Apache-2.0
// Normalisation over axes of the input itself: instance, layer, local response.
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
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

/// Moments over the pixels of every channel of every image, whatever lies innermost: channels, and
/// then as many as are contiguous are taken together, or pixels.
struct InstanceNorm {
  static constexpr std::int64_t kColumns = 64;

  std::vector<StridedLoop<2>> over;   ///< images and channels: strides of x, of scale and bias
  std::vector<StridedLoop<1>> along;  ///< pixels
  std::int64_t columns = 1;           ///< contiguous channels
  std::int64_t run = 1;               ///< contiguous pixels
  std::int64_t rows = 1,
               stride = 0;  ///< the innermost loop of pixels where channels are contiguous
  std::int64_t pixels = 1;
  float epsilon = 0;

  void operator()(const KernelArgs& args) const noexcept {
    const std::int64_t chunks = ceil_div(columns, kColumns);
    parallel(args.pool, at(loop_count(over) * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * kColumns;
      const auto offset = loop_offset(over, i / chunks);
      channels(args.input<float>(0) + offset[0] + first, args.output<float>(0) + offset[0] + first,
               args.input<float>(1) + offset[1] + first, args.input<float>(2) + offset[1] + first,
               std::min(kColumns, columns - first));
    });
  }

  /// Adds what f(x, sums) adds for each innermost loop. Loop by loop, so that the sums of many
  /// pixels do not lose what they are made of.
  template <class F>
  void gather(const float* x, std::int64_t n, float* mean_of, F f) const noexcept {
    std::array<double, kColumns> sums{};
    for_each_offset(along.data(), along.size(), [&](const auto& offset) {
      std::array<float, kColumns> part{};
      f(x + offset[0], part.data());
      for (std::int64_t v = 0; v < n; ++v) sums[at(v)] += static_cast<double>(part[at(v)]);
    });
    for (std::int64_t v = 0; v < n; ++v) {
      mean_of[v] = static_cast<float>(sums[at(v)] / static_cast<double>(pixels));
    }
  }

  void channels(const float* x, float* y, const float* scale, const float* bias,
                std::int64_t n) const noexcept {
    float mean[kColumns], factor[kColumns];
    const bool by_row = run > 1;
    gather(x, n, mean, [&](const float* from, float* sums) {
      if (by_row) {
        *sums = reduce_row(Reduction::sum, from, run, 0);
      } else {
        reduce_columns(Reduction::sum, from, stride, rows, n, sums);
      }
    });
    gather(x, n, factor, [&](const float* from, float* sums) {
      if (by_row) {
        *sums = deviation_row(from, run, *mean, 0);
      } else {
        deviation_columns(from, stride, rows, n, mean, sums);
      }
    });
    for (std::int64_t v = 0; v < n; ++v) factor[v] = scale[v] / std::sqrt(factor[v] + epsilon);
    for_each_offset(along.data(), along.size(), [&](const auto& offset) {
      if (by_row) {
        normalise_row(x + offset[0], y + offset[0], run, *mean, *factor, *bias);
      } else {
        normalise_columns(x + offset[0], y + offset[0], stride, rows, n, mean, factor, bias);
      }
    });
  }
};

std::optional<InstanceNorm> instance_norm_of(const Mapping& mapping, const Mapping& parameter) {
  const auto is_pixel = [](int i) { return i >= 2; };
  if (!no_tails(mapping, is_pixel)) return std::nullopt;
  InstanceNorm k;
  const Follower follower{parameter, {-1, 0, -1, -1, -1, -1, -1, -1}};
  for (const Digit& d : mapping.linear_digits()) {
    if (d.e == 1 || is_pixel(d.dim)) continue;
    k.over.push_back({d.e, {d.stride, follower_stride(follower, d)}});
  }
  std::ranges::sort(k.over, [](const auto& a, const auto& b) { return a.stride[0] > b.stride[0]; });
  k.over = fuse_loops(k.over);
  k.along = loops_along(mapping, is_pixel);
  k.columns = take_run(k.over);
  if (k.columns == 1) {
    k.run = take_run(k.along);
  } else if (!k.along.empty()) {
    k.rows = k.along.back().extent;
    k.stride = k.along.back().stride[0];
    k.along.pop_back();
  }
  k.pixels = product(mapping.shape().extents(), 2, mapping.shape().rank());
  return k;
}

struct InstanceNormParams {
  Mapping mapping;    ///< of x and y
  Mapping parameter;  ///< of scale and bias
  float epsilon = 0;

  void fields(Archive& a) { a("mapping", mapping)("parameter", parameter)("epsilon", epsilon); }
};

struct BoundInstanceNorm {
  InstanceNorm norm;
  TailZero tails;
};

BoundInstanceNorm bind_instance_norm(const InstanceNormParams& p) {
  BoundInstanceNorm b{*instance_norm_of(p.mapping, p.parameter), TailZero(p.mapping)};
  b.norm.epsilon = p.epsilon;
  return b;
}

void run_instance_norm(const BoundInstanceNorm& b, const KernelArgs& args) noexcept {
  b.norm(args);
  b.tails.run(args.out[0]);
}

constexpr KernelDef kInstanceNorm =
    kernel_def<InstanceNormParams, bind_instance_norm, run_instance_norm>("instance_norm");
constexpr const KernelDef* kInstanceNormKernels[] = {&kInstanceNorm};

void instance_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &parameter = node.shape(1);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
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
    const auto kernel = instance_norm_of(params.mapping, params.parameter);
    if (!kernel) continue;
    Offer offer;
    offer.call = {kInstanceNorm, params};
    offer.in = {in, one, one};
    offer.out = {layout};
    offer.in_place = 0;
    // x is read three times.
    offer.flops = 16 * static_cast<double>(x.elements());
    offer.efficiency = kernel->run > 1 || kernel->columns > 1 ? 0.2 : 0.02;
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

/// Moments over runs of contiguous elements.
struct LayerNorm {
  static constexpr std::int64_t kTaskElements = 16384;

  std::vector<StridedLoop<1>> over;  ///< where the runs begin
  std::int64_t run = 1;
  float epsilon = 0;

  void operator()(const KernelArgs& args) const noexcept {
    const float* bias = args.optional_input<float>(2);
    const std::int64_t runs = loop_count(over);
    const std::int64_t group = std::max<std::int64_t>(kTaskElements / run, 1);
    parallel(args.pool, at(ceil_div(runs, group)), [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) * group;
      for (std::int64_t i = first; i < std::min(first + group, runs); ++i) {
        const std::int64_t offset = loop_offset(over, i)[0];
        const float* x = args.input<float>(0) + offset;
        const auto count = static_cast<float>(run);
        const float mean = reduce_row(Reduction::sum, x, run, 0) / count;
        const float variance = deviation_row(x, run, mean, 0) / count;
        normalise_row_by_element(x, args.output<float>(0) + offset, run, mean,
                                 1 / std::sqrt(variance + epsilon), args.input<float>(1), bias);
      }
    });
  }
};

struct LayerNormParams {
  Mapping mapping;  ///< of x and y
  int axis = 0;     ///< the first that is normalised
  float epsilon = 0;

  void fields(Archive& a) { a("mapping", mapping)("axis", axis)("epsilon", epsilon); }
};

LayerNorm bind_layer_norm(const LayerNormParams& p) {
  const Shape& shape = p.mapping.shape();
  LayerNorm k;
  k.run = product(shape.extents(), p.axis, shape.rank());
  k.over = loops_along(p.mapping, [&](int i) { return i < p.axis; });
  k.epsilon = p.epsilon;
  return k;
}

void run_layer_norm(const LayerNorm& norm, const KernelArgs& args) noexcept { norm(args); }

constexpr KernelDef kLayerNorm =
    kernel_def<LayerNormParams, bind_layer_norm, run_layer_norm>("layer_norm");
constexpr const KernelDef* kLayerNormKernels[] = {&kLayerNorm};

/// In layouts in which the normalised axes are one run, with a scale and a bias of their extents.
void layer_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
  if (node.has_output(1) || node.has_output(2)) return;
  const auto axis = static_cast<int>(node.facts().integer("axis", -1));
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
  const auto normalised = [&](int i) { return i >= axis; };
  for (const Layout& layout : elementwise_layouts(request)) {
    const Mapping mapping(layout, node.output().shape, sizeof(float));
    const auto along = loops_along(mapping, normalised);
    const bool contiguous = along.empty() || (along.size() == 1 && along[0].stride[0] == 1);
    if (!contiguous || !mapping.bijective()) continue;
    Offer offer;
    offer.call = {kLayerNorm, LayerNormParams{mapping, axis, node.attrs().real("epsilon", 1e-5f)}};
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

struct LrnParams {
  Mapping mapping;  ///< of x and y
  std::int64_t before = 0, after = 0;
  float alpha = 0, beta = 0, bias = 0;  ///< alpha is divided by the size already

  void fields(Archive& a) {
    a("mapping", mapping)("before", before)("after", after);
    a("alpha", alpha)("beta", beta)("bias", bias);
  }
};

bool is_channel(int i) { return i == 1; }

struct Lrn {
  LrnCall call;
  std::vector<StridedLoop<1>> over;
  std::int64_t columns = 1;
  TailZero tails;
};

/// Nothing unless the channels are one loop and pixels are contiguous.
std::optional<Lrn> lrn_of(const LrnParams& p) {
  const auto along = loops_along(p.mapping, is_channel);
  if (along.size() != 1 || !no_tails(p.mapping, is_channel)) return std::nullopt;
  Lrn lrn{{p.mapping.shape()[1], along[0].stride[0], p.before, p.after, p.alpha, p.beta, p.bias},
          loops_along(p.mapping, [](int i) { return !is_channel(i); }),
          1,
          TailZero(p.mapping)};
  lrn.columns = take_run(lrn.over);
  if (lrn.columns == 1) return std::nullopt;
  return lrn;
}

Lrn bind_lrn(const LrnParams& p) { return *lrn_of(p); }

void run_lrn(const Lrn& lrn, const KernelArgs& args) noexcept {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t chunks = ceil_div(lrn.columns, kColumns);
  parallel(args.pool, at(loop_count(lrn.over) * chunks), [&](std::size_t task) {
    const auto i = static_cast<std::int64_t>(task);
    const std::int64_t first = i % chunks * kColumns;
    const std::int64_t offset = loop_offset(lrn.over, i / chunks)[0] + first;
    lrn_columns(lrn.call, args.input<float>(0) + offset, args.output<float>(0) + offset,
                std::min(kColumns, lrn.columns - first));
  });
  lrn.tails.run(args.out[0]);
}

constexpr KernelDef kLrn = kernel_def<LrnParams, bind_lrn, run_lrn>("lrn_columns");
constexpr const KernelDef* kLrnKernels[] = {&kLrn};

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
  for (const Layout& layout : elementwise_layouts(request)) {
    params.mapping = Mapping(layout, node.output().shape, sizeof(float));
    if (!lrn_of(params)) continue;
    Offer offer;
    offer.call = {kLrn, params};
    offer.in = {broadcast_follower(node, 0, layout).mapping.layout()};
    offer.out = {layout};
    offer.flops = static_cast<double>(node.shape(0).elements() * (2 * size + 20));
    offer.efficiency = 0.25;
    out.push_back(std::move(offer));
  }
}

constexpr OpDef kNorm[] = {
    {.name = "instance_norm",
     .aliases = onnx<"InstanceNormalization">,
     .category = Category::fixed,
     .infer = infer_instance,
     .reference = instance_reference,
     .offers = instance_offers,
     .kernels = kInstanceNormKernels,
     .axes = link_images},
    {.name = "layer_norm",
     .aliases = onnx<"LayerNormalization">,
     .category = Category::source,
     .infer = infer_layer,
     .reference = layer_reference,
     .offers = layer_offers,
     .kernels = kLayerNormKernels,
     .axes = link_positions},
    {.name = "lrn",
     .aliases = onnx<"LRN">,
     .category = Category::fixed,
     .infer = infer_lrn,
     .reference = lrn_reference,
     .offers = lrn_offers,
     .kernels = kLrnKernels,
     .axes = link_images},
};

}  // namespace

extern const std::span<const OpDef> ops_norm;
const std::span<const OpDef> ops_norm = kNorm;

}  // namespace stowage
