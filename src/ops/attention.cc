// SPDX-License-Identifier: Apache-2.0
// softmax(scale * q k + mask) v over the last two axes, which the pass fuse_attention makes of the
// nodes that files write it with. k lies as the right matrix of a product: d x n.
#include "kernels/gemm/attention.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "graph/op_def.h"
#include "kernels/gemm/tiles.h"
#include "ops/attention/onnx_attention.h"
#include "ops/conv/pixel_conv.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

constexpr int kMaskInput = 3;

/// Extents of the scores: those of q with a column for each key.
Ints scores_extents(const NodeRef& node) {
  Ints extents = extents_of(node.shape(0));
  extents.back() = node.shape(1).extents().back();
  return extents;
}

void infer(const InferRef& node) {
  node.expect_inputs(3, 4);
  node.expect_dtype(0, {DType::f32, DType::f64});
  const int rank = node.rank(0);
  expect_rank(node, 0, 2);
  const Shape& q = node.shape(0);
  for (const int i : {1, 2}) {
    node.expect_dtype(i, {node.dtype(0)});
    expect_rank(node, i, rank, rank);
    const Shape& other = node.shape(i);
    for (int axis = 0; axis < rank - 2; ++axis) {
      if (other[axis] != 1 && other[axis] != q[axis]) {
        fail(ErrorCode::bad_input, "input ", i, " of shape ", other.extents(),
             " does not broadcast to the batches of ", q.extents());
      }
    }
  }
  const Shape &k = node.shape(1), &v = node.shape(2);
  if (k[rank - 2] != q[rank - 1] || v[rank - 2] != k[rank - 1]) {
    fail(ErrorCode::bad_input, "queries ", q.extents(), ", keys ", k.extents(), " and values ",
         v.extents(), " do not fit each other");
  }
  if (node.has(kMaskInput)) {
    node.expect_dtype(kMaskInput, {node.dtype(0)});
    const Ints scores = scores_extents(node);
    if (broadcast(scores, node.shape(kMaskInput).extents()) != scores) {
      fail(ErrorCode::bad_input, "a mask of shape ", node.shape(kMaskInput).extents(),
           " does not broadcast to ", std::span<const std::int64_t>(scores));
    }
  }
  Ints extents = extents_of(q);
  extents.back() = v[rank - 1];
  node.set_output(0, node.dtype(0), extents);
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape &q = args.in[0].mapping.shape(), &k = args.in[1].mapping.shape();
  const Shape& v = args.in[2].mapping.shape();
  const int rank = q.rank();
  const std::int64_t m = q[rank - 2], d = q[rank - 1], n = k[rank - 1], e = v[rank - 1];
  const auto scale = static_cast<double>(args.node.attrs().real("scale", 1));
  const T* mask = args.input<T>(kMaskInput);
  const auto batch_extents = q.extents().first(at(rank - 2));
  const auto strides_of = [&](const Shape& s) {
    const Ints all = broadcast_strides(s, s);
    return Ints(all.begin(), all.end() - 2);
  };
  Ints mask_strides(at(rank), 0);
  if (mask != nullptr) {
    Ints scores = extents_of(q);
    scores.back() = n;
    mask_strides = broadcast_strides(args.in[kMaskInput].mapping.shape(), Shape::unnamed(scores));
  }
  Walk<3> walk(batch_extents,
               {strides_of(k), strides_of(v), Ints(mask_strides.begin(), mask_strides.end() - 2)});
  std::vector<double> scores(at(n));
  const T* query = args.input<T>(0);
  T* y = args.output<T>(0);
  for (std::int64_t batch = product(batch_extents, 0, rank - 2); batch-- > 0; walk.next()) {
    const T* keys = args.input<T>(1) + walk.offset(0);
    const T* values = args.input<T>(2) + walk.offset(1);
    for (std::int64_t row = 0; row < m; ++row, query += d) {
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        double score = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          score += static_cast<double>(query[c]) * static_cast<double>(keys[c * n + i]);
        }
        score *= scale;
        if (mask != nullptr) {
          score += static_cast<double>(mask[walk.offset(2) + row * mask_strides[at(rank - 2)] +
                                            i * mask_strides[at(rank - 1)]]);
        }
        scores[at(i)] = score;
        most = std::max(most, score);
      }
      for (double& score : scores) sum += score = std::exp(score - most);
      for (std::int64_t c = 0; c < e; ++c) {
        double out = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          out += scores[at(i)] / sum * static_cast<double>(values[i * e + c]);
        }
        *y++ = static_cast<T>(out);
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  if (args.node.dtype(0) == DType::f64) {
    reference_as<double>(args);
  } else {
    reference_as<float>(args);
  }
}

constexpr const KernelDef* kKernels[] = {&kAttention};

/// Of both products and the softmax between them, which reaches half of the peak.
double efficiency_of(const AttentionParams& p, double softmax_flops, double flops) {
  const auto rows = static_cast<double>(p.batches()) * static_cast<double>(p.m());
  const double products = 2 * rows * static_cast<double>(p.n());
  const double spent =
      products * static_cast<double>(p.d()) / tile_work(p.scores().gemm, p.rows).efficiency() +
      products * static_cast<double>(p.e()) / tile_work(p.sums().gemm, p.rows).efficiency() +
      2 * softmax_flops;
  return flops / spent;
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &q = node.shape(0), &k = node.shape(1), &v = node.shape(2);
  const Shape& y = node.output().shape;
  if (node.dtype(0) != DType::f32 || y.elements() == 0 || k.elements() == 0) return;
  if (request.target.device || request.target.lanes != tile_lanes()) return;
  AttentionParams p;
  p.k = k;
  p.v = v;
  if (node.has(kMaskInput)) {
    p.mask = node.shape(kMaskInput);
    // A mask of queries alone does nothing to a softmax but where it is infinite.
    if (p.mask->rank() == 0 || p.mask->extents().back() != p.n()) return;
  }
  p.scale = node.attrs().real("scale", 1);
  p.posts = node.node().posts;
  const auto fitting = [&](ValueId value, const Shape& shape) {
    std::vector<Mapping> fit;
    for (const Layout& layout : request.candidates(value)) {
      const Mapping mapping(layout, shape, sizeof(float));
      if (attention_rows_fit(mapping)) fit.push_back(mapping);
    }
    return fit;
  };
  const int rank = q.rank();
  for (const Mapping& from : fitting(node.node().inputs[0], q)) {
    for (const Mapping& to : fitting(node.node().outputs[0], y)) {
      p.q = from;
      p.y = to;
      p.share(request.target.threads);
      Offer offer;
      offer.call = {kAttention, p};
      offer.in.resize(node.node().inputs.size());
      offer.in[0] = from.layout();
      offer.in[1] = panel_layout(k, rank - 2, rank - 1, p.scores().gemm);
      offer.in[2] = panel_layout(v, rank - 2, rank - 1, p.sums().gemm);
      if (p.mask) offer.in[kMaskInput] = Layout::row_major(*p.mask);
      offer.out = {to.layout()};
      add_post_layouts(node, to.layout(), tile_lanes(), offer.in);
      const double scores = static_cast<double>(q.elements() / p.d()) * static_cast<double>(p.n());
      const double softmax = 20 * scores;
      offer.flops = softmax + 2 * scores * static_cast<double>(p.d() + p.e());
      offer.efficiency = efficiency_of(p, softmax, offer.flops);
      offer.scratch_bytes = attention_scratch_bytes(p);
      out.push_back(std::move(offer));
    }
  }
}

/// All axes of q but the last are those of the result, whose last is that of v.
void axes(const NodeRef& node, AxisLinks& links) {
  const Node& n = node.node();
  const int rank = node.rank(0);
  for (int i = 0; i + 1 < rank; ++i) links.link(n.inputs[0], i, n.outputs[0], i);
  links.link(n.inputs[2], rank - 1, n.outputs[0], rank - 1);
}

constexpr OpDef kOps[] = {{
    .name = "attention",
    .aliases = onnx<"Attention", import_onnx_attention>,
    .category = Category::fixed,
    .infer = infer,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .axes = axes,
    .channel_axis = -1,
}};

}  // namespace

extern const std::span<const OpDef> ops_attention;
const std::span<const OpDef> ops_attention = kOps;

}  // namespace stowage
