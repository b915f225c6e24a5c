// SPDX-License-Identifier: Apache-2.0
// General matrix product: y = alpha a' b' + beta c, where a' is a or its transpose, likewise b',
// and c broadcasts to y.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/gemm/matrix.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"

namespace stowage {

namespace {

struct Facts {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  bool has_c = false;
  std::int64_t c_rows = 1, c_columns = 1;  ///< extents of c, 1 where it broadcasts

  void fields(Archive& a) {
    a("m", m)("n", n)("k", k)("trans_a", trans_a)("trans_b", trans_b)("alpha", alpha);
    a("beta", beta)("has_c", has_c)("c_rows", c_rows)("c_columns", c_columns);
  }
};

Facts facts_of(const NodeRef& node) {
  const Attributes& attrs = node.attrs();
  Facts f;
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
  node.expect_inputs(2, 3 + 2);  // the epilogue may have added a residual and a slope
  node.expect_dtype(0, {DType::f32, DType::f64});
  node.expect_dtype(1, {node.dtype(0)});
  for (const int i : {0, 1}) {
    if (node.rank(i) != 2) {
      fail(ErrorCode::bad_input, "input ", i, " has rank ", node.rank(i), "; a matrix is needed");
    }
  }
  const Facts f = facts_of(node);
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
  const Facts f = facts_of(args.node);
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

struct GemmParams {
  Facts f;
  EpiloguePorts ports;
  Activation activation;
  bool b_heavy = false;  ///< b is more bytes than the rest
  int threads = 1;

  void fields(Archive& a) {
    a("f", f)("ports", ports)("activation", activation)("b_heavy", b_heavy)("threads", threads);
  }
};

struct Gemm {
  Facts f;
  MatrixProduct product;
  EpiloguePorts ports;
  bool c_is_bias = false, c_is_residual = false;
  bool scale_a = false, sum_c = false;  ///< made in scratch: alpha a; beta c plus residual
  std::size_t c_scratch = 0;            ///< where the latter begins, in floats
  std::size_t scratch_floats = 0;
};

Gemm bind(const GemmParams& p) {
  const Facts& f = p.f;
  Gemm b;
  b.f = f;
  b.ports = p.ports;
  b.product.m = f.m;
  b.product.n = f.n;
  b.product.k = f.k;
  b.product.prepare(p.threads, p.b_heavy);
  b.product.gemm.activation = p.activation;
  b.product.gemm.one_slope = p.ports.one_slope;
  b.scale_a = f.alpha != 1;
  if (b.scale_a) b.c_scratch = static_cast<std::size_t>(round_up(f.m * f.k, 16));
  b.scratch_floats = b.c_scratch;
  if (f.has_c) {
    const bool plain = f.beta == 1;
    b.c_is_bias = plain && f.c_rows == 1 && f.c_columns == f.n;
    b.c_is_residual =
        plain && !b.c_is_bias && f.c_rows == f.m && f.c_columns == f.n && p.ports.residual < 0;
    b.sum_c = !b.c_is_bias && !b.c_is_residual;
    if (b.sum_c) b.scratch_floats += static_cast<std::size_t>(f.m * f.n);
  }
  return b;
}

void run(const Gemm& b, const KernelArgs& args) noexcept {
  const Facts& f = b.f;
  auto* scratch = reinterpret_cast<float*>(args.scratch);
  const float* a = args.input<float>(0);
  if (b.scale_a) {
    for (std::int64_t i = 0; i < f.m * f.k; ++i) scratch[i] = f.alpha * a[i];
    a = scratch;
  }
  PixelGemmCall call;
  call.weights = args.input<float>(1);
  call.out = args.output<float>(0);
  call.slope = args.optional_input<float>(b.ports.slope);
  call.residual = args.optional_input<float>(b.ports.residual);
  const float* c = args.optional_input<float>(b.ports.bias);
  if (b.c_is_bias) call.bias = c;
  if (b.c_is_residual) call.residual = c;
  if (b.sum_c) {
    float* sum = scratch + b.c_scratch;
    for (std::int64_t m = 0; m < f.m; ++m) {
      const float* row = c + (f.c_rows == 1 ? 0 : m * f.c_columns);
      for (std::int64_t n = 0; n < f.n; ++n) {
        const float r = call.residual == nullptr ? 0.0f : call.residual[m * f.n + n];
        sum[m * f.n + n] = f.beta * row[f.c_columns == 1 ? 0 : n] + r;
      }
    }
    call.residual = sum;
  }
  multiply(b.product, a, call, args.pool);
}

constexpr KernelDef kGemm = kernel_def<GemmParams, bind, run>("gemm_panels");
constexpr const KernelDef* kKernels[] = {&kGemm};

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  const Shape& y = node.output().shape;
  const Facts f = facts_of(node);
  if (node.dtype(0) != DType::f32 || request.target.lanes != lanes || y.elements() == 0 ||
      f.k == 0) {
    return;
  }
  const GemmParams params{f, epilogue_ports(node), node.node().epilogue.activation,
                          checked_mul(f.k, f.n) > f.m * f.k + y.elements(), request.target.threads};
  const Gemm b = bind(params);
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
  add_epilogue_layouts(node, o.out[0].layout, lanes, o.in);
  o.flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(f.k);
  o.efficiency = tile_work(gemm, f.m).efficiency();
  out.push_back(std::move(o));
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
                                  {"tflite", "FULLY_CONNECTED", import_fully_connected}};

constexpr OpDef kOps[] = {{
    .name = "gemm",
    .aliases = kNames,
    .category = Category::fixed,
    .infer = infer,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .axes = nullptr,
    .posts = Posts::all,
}};

}  // namespace

extern const std::span<const OpDef> ops_gemm;
const std::span<const OpDef> ops_gemm = kOps;

}  // namespace stowage
