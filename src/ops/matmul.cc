// SPDX-License-Identifier: Apache-2.0
// Matrix product over the last two axes with broadcast batches, as numpy.matmul. Input 2, which no
// file gives, is a bias: one element for each column.
#include "kernels/gemm/matmul.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
#include "ops/einsum/einsum.h"
#include "ops/gemm/device_gemm.h"
#include "ops/ncnn/rules.h"
#include "ops/scale_shift/scale_shift.h"

namespace stowage {

namespace {

/// The product seen as batches of m x k times k x n.
struct Facts {
  std::int64_t m = 1, n = 1, k = 1;
  Ints extents;  // of the output
  MatrixBatches batches;
};

Facts facts_of(const Shape& a, const Shape& b) {
  Facts f;
  if (a.rank() == 0 || b.rank() == 0) fail(ErrorCode::bad_input, "a matrix product with a scalar");
  f.k = a[a.rank() - 1];
  f.m = a.rank() > 1 ? a[a.rank() - 2] : 1;
  f.n = b.rank() > 1 ? b[b.rank() - 1] : 1;
  const std::int64_t k = b.rank() > 1 ? b[b.rank() - 2] : b[0];
  if (k != f.k) {
    fail(ErrorCode::bad_input, "a sum over ", f.k, " elements of input 0 and ", k, " of input 1");
  }
  const int a_batch = std::max(a.rank() - 2, 0), b_batch = std::max(b.rank() - 2, 0);
  const int rank = std::max(a_batch, b_batch);
  const auto extent = [rank](const Shape& s, int batch_rank, int i) {
    const int at = i - (rank - batch_rank);
    return at < 0 ? 1 : s[at];
  };
  f.batches.axes.resize(static_cast<std::size_t>(rank));
  f.extents.resize(static_cast<std::size_t>(rank));
  std::int64_t a_step = 1, b_step = 1;
  for (int i = rank; i-- > 0;) {
    const std::int64_t x = extent(a, a_batch, i), y = extent(b, b_batch, i);
    if (x != y && x != 1 && y != 1) {
      fail(ErrorCode::bad_input, "shapes ", a.extents(), " and ", b.extents(), " do not broadcast");
    }
    const std::int64_t e = x == 1 ? y : x;
    f.extents[static_cast<std::size_t>(i)] = e;
    f.batches.axes[static_cast<std::size_t>(i)] = {e, x == 1 ? 0 : a_step, y == 1 ? 0 : b_step};
    f.batches.count = checked_mul(f.batches.count, e);
    a_step *= x;
    b_step *= y;
  }
  if (a.rank() > 1) f.extents.push_back(f.m);
  if (b.rank() > 1) f.extents.push_back(f.n);
  return f;
}

void infer(const InferRef& node) {
  node.expect_inputs(2, 3);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64});
  node.expect_dtype(1, {node.dtype(0)});
  const Facts f = facts_of(node.shape(0), node.shape(1));
  if (bias_input(node) >= 0) {
    node.expect_dtype(2, {node.dtype(0)});
    if (node.rank(2) != 1 || node.shape(2)[0] != f.n || node.rank(1) < 2) {
      fail(ErrorCode::bad_input, "a bias of shape ", node.shape(2).extents(), " for ", f.n,
           " columns");
    }
  }
  node.set_output(0, node.dtype(0), f.extents);
}

/// Products and sums are made in `Sum`.
template <class T, class Sum>
void reference_as(const ReferenceArgs& args) {
  const Facts f = facts_of(args.in[0].mapping.shape(), args.in[1].mapping.shape());
  const T* bias = bias_input(args.node) < 0 ? nullptr : args.input<T>(2);
  T* y = args.output<T>(0);
  for (std::int64_t batch = 0; batch < f.batches.count; ++batch) {
    const auto [a_matrix, b_matrix] = f.batches.at(batch);
    const T* a = args.input<T>(0) + a_matrix * f.m * f.k;
    const T* b = args.input<T>(1) + b_matrix * f.k * f.n;
    for (std::int64_t m = 0; m < f.m; ++m) {
      for (std::int64_t n = 0; n < f.n; ++n) {
        Sum sum = bias == nullptr ? Sum{} : static_cast<Sum>(bias[n]);
        for (std::int64_t k = 0; k < f.k; ++k) {
          sum += static_cast<Sum>(a[m * f.k + k]) * static_cast<Sum>(b[k * f.n + n]);
        }
        *y++ = static_cast<T>(sum);
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  switch (args.node.dtype(0)) {
    case DType::f64:
      reference_as<double, double>(args);
      break;
    case DType::i32:
      reference_as<std::int32_t, std::uint64_t>(args);
      break;
    case DType::u32:
      reference_as<std::uint32_t, std::uint64_t>(args);
      break;
    case DType::i64:
      reference_as<std::int64_t, std::uint64_t>(args);
      break;
    case DType::u64:
      reference_as<std::uint64_t, std::uint64_t>(args);
      break;
    default:
      reference_as<float, double>(args);
      break;
  }
}

constexpr const KernelDef* kKernels[] = {&kMatMul};

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& a = node.shape(0);
  const Shape& b = node.shape(1);
  const Shape& y = node.output().shape;
  const std::int64_t lanes = tile_lanes();
  if (node.dtype(0) != DType::f32 || y.elements() == 0 || b.rank() < 2 || a[a.rank() - 1] == 0) {
    return;
  }
  if (request.target.device) {
    GemmDeviceParams device;
    device.c = bias_input(node);
    offer_device_gemm(request, std::move(device), out);
  }
  if (request.target.lanes != lanes) return;
  Facts f = facts_of(a, b);
  if (b.elements() == f.k * f.n) {  // one b: all rows of a are one matrix
    f.m = a.elements() / f.k;
    f.batches = {};
  }

  MatMulParams p;
  p.m = f.m;
  p.n = f.n;
  p.k = f.k;
  p.batches = f.batches;
  p.bias = bias_input(node);
  p.posts = node.node().posts;
  p.b_heavy = f.k * f.n > f.m * f.k + f.m * f.n;
  p.threads = request.target.threads;
  const PixelGemm gemm = matmul_gemm(p);

  Offer o;
  o.call = {kMatMul, p};
  o.in.resize(node.node().inputs.size());
  o.in[0] = Layout::row_major(a);
  o.in[1] = panel_layout(b, b.rank() - 2, b.rank() - 1, gemm);
  if (p.bias >= 0) o.in[2] = padded_vector(node.shape(2), lanes);
  o.out = {Layout::row_major(y)};
  add_post_layouts(node, o.out[0].layout, lanes, o.in);
  o.flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(f.k);
  o.efficiency = tile_work(gemm, f.m).efficiency();
  out.push_back(std::move(o));
}

void axes(const NodeRef& node, AxisLinks& links) {
  const Node& n = node.node();
  const int ra = node.rank(0), rb = node.rank(1), ry = node.output().shape.rank();
  const auto link = [&](int input, int axis, int to) {
    if (node.shape(input)[axis] == node.output().shape[to]) {
      links.link(n.inputs[static_cast<std::size_t>(input)], axis, n.outputs[0], to);
    }
  };
  const int columns = rb > 1 ? 1 : 0, rows = ra > 1 ? 1 : 0;
  if (rows == 1) link(0, ra - 2, ry - 1 - columns);
  if (columns == 1) link(1, rb - 1, ry - 1);
  for (int i = 3; i <= ra && ry - i + 2 - rows - columns >= 0; ++i) {
    link(0, ra - i, ry - i + 2 - rows - columns);
  }
}

/// The columns, of which a vector has none.
std::optional<AxisRange> scaled_axes(const NodeRef& node) {
  if (node.rank(1) < 2) return std::nullopt;
  const int rank = node.output().shape.rank();
  return AxisRange{rank - 1, rank};
}

std::optional<Rewritten> take_scale_shift(const NodeRef& node, const ScaleShift& by) {
  const auto bias = constant_bias(node);
  if (!bias) return std::nullopt;
  const std::int64_t columns = node.shape(1)[node.rank(1) - 1];
  return scale_products(node, by, *bias, [columns](std::int64_t i) { return i % columns; });
}

ValueId last_two_swapped(ImportNode& node, ValueId v) {
  Ints perm;
  const int rank = node.shape(v).rank();
  if (rank < 2) fail(ErrorCode::bad_input, "a matrix of rank ", rank);
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return node.emit("transpose", {v}, {{"perm", perm}});
}

void import_batch_matmul(ImportNode& node) {
  node.expect(2, 2);
  ValueId a = node.in(0), b = node.in(1);
  if (node.flag("adj_x")) a = last_two_swapped(node, a);
  if (node.flag("adj_y")) b = last_two_swapped(node, b);
  node.out(node.emit("matmul", {a, b}));
}

constexpr ForeignName kNames[] = {{"onnx", "MatMul"},
                                  {"onnx", "Einsum", import_einsum},
                                  {"tflite", "BATCH_MATMUL", import_batch_matmul},
                                  {"ncnn", "MatMul", ncnn::matmul}};

constexpr OpDef kOps[] = {{
    .name = "matmul",
    .aliases = kNames,
    .category = Category::fixed,
    .infer = infer,
    .scaled_axes = scaled_axes,
    .take_scale_shift = take_scale_shift,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .device_kernels = kGemmDeviceKernels,
    .axes = axes,
    .channel_axis = -1,
}};

}  // namespace

extern const std::span<const OpDef> ops_matmul;
const std::span<const OpDef> ops_matmul = kOps;

}  // namespace stowage
