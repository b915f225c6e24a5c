// SPDX-License-Identifier: Apache-2.0
// General matrix product: y = alpha a' b' + beta c, where a' is a or its transpose, likewise b',
// and c broadcasts to y.
#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/gemm/gemm_steps.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
#include "ops/gemm/device_gemm.h"
#include "ops/ncnn/rules.h"
#include "ops/scale_shift/scale_shift.h"

namespace stowage {

namespace {

GemmFacts facts_of(const NodeRef& node) {
  const Attributes& attrs = node.attrs();
  GemmFacts f;
  f.trans_a = attrs.integer("transA", 0) != 0;
  f.trans_b = attrs.integer("transB", 0) != 0;
  f.alpha = attrs.real("alpha", 1.0f);
  f.beta = attrs.real("beta", 1.0f);
  f.m = node.shape(0)[f.trans_a ? 1 : 0];
  f.k = node.shape(0)[f.trans_a ? 0 : 1];
  f.n = node.shape(1)[f.trans_b ? 0 : 1];
  f.has_c = bias_input(node) >= 0;
  if (f.has_c) {
    const Shape& c = node.shape(2);
    if (c.rank() > 0) f.c_columns = c[c.rank() - 1];
    if (c.rank() > 1) f.c_rows = c[c.rank() - 2];
  }
  return f;
}

void infer(const InferRef& node) {
  node.expect_inputs(2, 3);
  node.expect_dtype(0, {DType::f32, DType::f64});
  node.expect_dtype(1, {node.dtype(0)});
  for (const int i : {0, 1}) {
    if (node.rank(i) != 2) {
      fail(ErrorCode::bad_input, "input ", i, " has rank ", node.rank(i), "; a matrix is needed");
    }
  }
  const GemmFacts f = facts_of(node);
  const std::int64_t k = node.shape(1)[f.trans_b ? 1 : 0];
  if (k != f.k) {
    fail(ErrorCode::bad_input, "a sum over ", f.k, " elements of input 0 and ", k, " of input 1");
  }
  if (f.has_c) {
    node.expect_dtype(2, {node.dtype(0)});
    if (node.rank(2) > 2 || (f.c_rows != 1 && f.c_rows != f.m) ||
        (f.c_columns != 1 && f.c_columns != f.n)) {
      fail(ErrorCode::bad_input, "input 2 of shape ", node.shape(2).extents(),
           " does not broadcast to ", f.m, " x ", f.n);
    }
  }
  node.set_output(0, node.dtype(0), {f.m, f.n});
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const GemmFacts f = facts_of(args.node);
  const T* a = args.input<T>(0);
  const T* b = args.input<T>(1);
  const T* c = f.has_c ? args.input<T>(2) : nullptr;
  T* y = args.output<T>(0);
  for (std::int64_t m = 0; m < f.m; ++m) {
    for (std::int64_t n = 0; n < f.n; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < f.k; ++k) {
        sum += static_cast<double>(a[f.trans_a ? k * f.m + m : m * f.k + k]) *
               static_cast<double>(b[f.trans_b ? n * f.k + k : k * f.n + n]);
      }
      sum *= static_cast<double>(f.alpha);
      if (c != nullptr) {
        const std::int64_t at = (f.c_rows == 1 ? 0 : m * f.c_columns) + (f.c_columns == 1 ? 0 : n);
        sum += static_cast<double>(f.beta) * static_cast<double>(c[at]);
      }
      y[m * f.n + n] = static_cast<T>(sum);
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

constexpr const KernelDef* kKernels[] = {&kGemm, &kGemmSteps};

/// The same with weights in half of the bytes, where there is one row to read them for.
void offer_steps(const OfferRequest& request, const GemmFacts& f, const Gemm& b, Offer o,
                 std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const ValueId weights = node.node().inputs[1];
  const float step = node.graph().value(weights).step;
  const bool plain = !f.trans_a && f.alpha == 1 && (!f.has_c || b.c_is_bias);
  if (f.m != 1 || step == 0 || node.constant(1) == nullptr || !plain) return;
  GemmStepsParams params{f.n, f.k, step, -1, node.node().posts, request.target.threads};
  if (f.has_c) params.bias = 2;
  o.call = {kGemmSteps, std::move(params)};
  o.scratch_bytes = 0;
  o.extra_bytes = -0.5 * sizeof(float) * static_cast<double>(b.product.packed_floats());
  o.extra_weight_bytes = o.extra_bytes;
  out.push_back(std::move(o));
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  const Shape& y = node.output().shape;
  const GemmFacts f = facts_of(node);
  if (node.dtype(0) != DType::f32 || y.elements() == 0 || f.k == 0) return;
  if (request.target.device) {
    GemmDeviceParams p{f.trans_a, f.trans_b, f.alpha, f.beta};
    if (f.has_c) p.c = 2;
    offer_device_gemm(request, std::move(p), out);
  }
  if (request.target.lanes != lanes) return;
  const GemmParams params{f, node.node().posts, checked_mul(f.k, f.n) > f.m * f.k + y.elements(),
                          request.target.threads};
  const Gemm b = bind_gemm(params);
  const PixelGemm& gemm = b.product.gemm;

  Offer o;
  o.call = {kGemm, params};
  o.in.resize(node.node().inputs.size());
  o.in[0] = layout_by_position(node.shape(0), f.trans_a ? "$1 $0" : "$0 $1");
  o.in[1] = panel_layout(node.shape(1), f.trans_b ? 1 : 0, f.trans_b ? 0 : 1, gemm);
  o.out = {Layout::row_major(y)};
  if (f.has_c) {
    o.in[2] = b.c_is_bias ? padded_vector(node.shape(2), lanes) : Layout::row_major(node.shape(2));
  }
  o.scratch_bytes = b.scratch_floats * sizeof(float);
  add_post_layouts(node, o.out[0].layout, lanes, o.in);
  o.flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(f.k);
  o.efficiency = tile_work(gemm, f.m).efficiency();
  out.push_back(o);
  offer_steps(request, f, b, std::move(o), out);
}

std::optional<AxisRange> scaled_axes(const NodeRef&) { return AxisRange{1, 2}; }

std::optional<Rewritten> take_scale_shift(const NodeRef& node, const ScaleShift& by) {
  const GemmFacts f = facts_of(node);
  std::vector<float> bias;
  if (f.has_c) {
    auto c = constant_along(node.constant(2), node.output().shape, {1, 2});
    if (!c) return std::nullopt;
    for (const float v : *c) bias.push_back(f.beta * v);
  }
  auto out = scale_products(node, by, bias,
                            [&f](std::int64_t i) { return f.trans_b ? i / f.k : i % f.n; });
  if (out) out->attrs.erase("beta");
  return out;
}

/// TFLite: rows of the input times rows of the weights (o i). All axes but the last are rows,
/// unless the weights say otherwise.
void import_fully_connected(ImportNode& node) {
  node.expect(2, 3);
  if (node.flag("weights_format")) fail(ErrorCode::unsupported, "shuffled weights");
  const ValueId x = node.in(0), w = node.in(1);
  const Shape from = node.shape(x), weights = node.shape(w);
  if (weights.rank() != 2 || weights[1] < 1 || from.elements() % weights[1] != 0) {
    fail(ErrorCode::bad_input, "weights of shape ", weights.extents(), " for an input of shape ",
         from.extents());
  }
  const ValueId rows = node.reshape(x, {from.elements() / weights[1], weights[1]});
  ValueId y = node.emit("gemm", {rows, w, node.optional(2)}, {{"transB", std::int64_t{1}}});
  y = node.activate(y);
  if (node.flag("keep_num_dims")) {
    if (from.rank() < 1 || from[from.rank() - 1] != weights[1]) {
      fail(ErrorCode::bad_input, "keep_num_dims with an input of shape ", from.extents());
    }
    Ints extents(from.extents().begin(), from.extents().end());
    extents.back() = weights[0];
    y = node.reshape(y, extents);
  }
  node.out(y);
}

constexpr ForeignName kNames[] = {{"onnx", "Gemm"},
                                  {"tflite", "FULLY_CONNECTED", import_fully_connected},
                                  {"ncnn", "InnerProduct", ncnn::inner_product},
                                  {"ncnn", "Gemm", ncnn::gemm}};

constexpr OpDef kOps[] = {{
    .name = "gemm",
    .aliases = kNames,
    .category = Category::fixed,
    .mace = "FullyConnected",
    .infer = infer,
    .scaled_axes = scaled_axes,
    .take_scale_shift = take_scale_shift,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .device_kernels = kGemmDeviceKernels,
    .axes = nullptr,
}};

}  // namespace

extern const std::span<const OpDef> ops_gemm;
const std::span<const OpDef> ops_gemm = kOps;

}  // namespace stowage
