// SPDX-License-Identifier: Apache-2.0
// Operators that give the same elements, in the same order, another shape: reshape, flatten,
// squeeze, unsqueeze, identity, dropout.
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/relabel.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer_reshape(const InferRef& node) {
  node.expect_inputs(1, 2);
  const Shape& x = node.shape(0);
  const auto wanted = node.ints_of("shape", 1);
  if (!wanted) fail(ErrorCode::bad_input, "it has no shape");
  const bool allow_zero = node.attrs().integer("allowzero", 0) != 0;
  Ints out = *wanted;
  int free = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !allow_zero) {
      if (static_cast<int>(i) >= x.rank()) {
        fail(ErrorCode::bad_input, "extent ", i, " of the shape is 0, but the input has rank ",
             x.rank());
      }
      out[i] = x[static_cast<int>(i)];
    }
    if (out[i] < -1) fail(ErrorCode::bad_input, "the shape has an extent of ", out[i]);
    if (out[i] == -1) {
      if (free >= 0) fail(ErrorCode::bad_input, "the shape has two extents of -1");
      free = static_cast<int>(i);
    } else {
      known = checked_mul(known, out[i]);
    }
  }
  if (free >= 0) {
    if (known == 0 || x.elements() % known != 0) {
      fail(ErrorCode::bad_input, x.elements(), " elements do not fit to the shape ",
           std::span<const std::int64_t>(*wanted));
    }
    out[at(free)] = x.elements() / known;
    known = x.elements();
  }
  if (known != x.elements()) {
    fail(ErrorCode::bad_input, x.elements(), " elements do not fit to the shape ",
         std::span<const std::int64_t>(*wanted));
  }
  node.set_output(0, node.dtype(0), out);
}

void infer_flatten(const InferRef& node) {
  node.expect_inputs(1, 1);
  const Shape& x = node.shape(0);
  const std::int64_t axis = node.attrs().integer("axis", 1);
  const int split = axis == x.rank() ? x.rank() : normal_axis(axis, x.rank());
  node.set_output(0, node.dtype(0),
                  {product(x.extents(), 0, split), product(x.extents(), split, x.rank())});
}

void infer_squeeze(const InferRef& node) {
  node.expect_inputs(1, 2);
  const Shape& x = node.shape(0);
  const auto given = node.ints_of("axes", 1);
  Ints axes, out;
  if (given) {
    axes = normal_axes(*given, x.rank());
  } else {
    for (int i = 0; i < x.rank(); ++i) {
      if (x[i] == 1) axes.push_back(i);
    }
  }
  for (std::int64_t a : axes) {
    if (x[static_cast<int>(a)] != 1) {
      fail(ErrorCode::bad_input, "axis ", a, " has an extent of ", x[static_cast<int>(a)],
           " and cannot be squeezed");
    }
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::ranges::binary_search(axes, i)) out.push_back(x[i]);
  }
  node.set_fact("axes", axes);
  node.set_output(0, node.dtype(0), out);
}

void infer_unsqueeze(const InferRef& node) {
  node.expect_inputs(1, 2);
  const Shape& x = node.shape(0);
  const auto given = node.ints_of("axes", 1);
  if (!given) fail(ErrorCode::bad_input, "it has no axes");
  if (given->size() > at(kMaxRank)) fail(ErrorCode::limit, "it adds ", given->size(), " axes");
  const int rank = x.rank() + static_cast<int>(given->size());
  const Ints axes = normal_axes(*given, rank);
  node.set_fact("axes", axes);
  Ints out;
  for (int i = 0, k = 0; i < rank; ++i) {
    out.push_back(std::ranges::binary_search(axes, i) ? 1 : x[k++]);
  }
  node.set_output(0, node.dtype(0), out);
}

void infer_identity(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

/// Nothing is dropped at inference.
void infer_dropout(const InferRef& node) {
  node.expect_inputs(1, 3);
  if (node.has(2)) {
    const Tensor* training = node.constant(2);
    const Tensor* ratio = node.constant(1);
    const bool drops = training == nullptr || training->data()[0] != std::byte{0};
    const bool nothing = node.has(1) && ratio != nullptr && ratio->dtype() == DType::f32 &&
                         ratio->shape().elements() == 1 && ratio->as<float>()[0] == 0.0f;
    if (drops && !nothing) fail(ErrorCode::unsupported, "training mode");
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
  node.set_output(1, DType::boolean, node.shape(0).extents());
}

/// Without its mask it is an identity.
void import_dropout(ImportNode& node) {
  if (node.output_count() == 2 && !node.is_read(1)) node.keep_outputs(1);
}

void copy_reference(const ReferenceArgs& args) {
  const std::int64_t bytes =
      args.out[0].mapping.shape().elements() * dtype_bytes(args.out[0].dtype);
  if (args.out[0].data != nullptr) std::copy_n(args.in[0].data, bytes, args.out[0].data);
}

void dropout_reference(const ReferenceArgs& args) {
  copy_reference(args);
  if (args.out.size() > 1 && args.out[1].data != nullptr) {
    std::fill_n(args.out[1].data, args.out[1].mapping.shape().elements(), std::byte{1});
  }
}

/// Axes that are neither dropped nor added keep their names.
void link_kept(const NodeRef& node, AxisLinks& links) {
  const Ints axes = node.facts().integers("axes");
  ValueId longer = node.node().inputs[0], shorter = node.node().outputs[0];
  const Graph& graph = node.graph();
  if (graph.value(longer).shape.rank() < graph.value(shorter).shape.rank()) {
    std::swap(longer, shorter);
  }
  for (int i = 0, k = 0; i < graph.value(longer).shape.rank(); ++i) {
    if (!std::ranges::binary_search(axes, i)) links.link(longer, i, shorter, k++);
  }
}

void add_relabel(const Layout& from, const Layout& to, std::vector<Offer>& out) {
  for (const Offer& o : out) {
    if (o.in[0] == from && o.out[0] == to) return;
  }
  Offer offer;
  offer.in = {from};
  offer.out = {to};
  offer.relabel = true;
  out.push_back(std::move(offer));
}

/// Row-major bytes are the same under every shape, and so are those of every layout whose digits
/// fall on the axes of the other side.
void relabel_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.output_count() != 1) return;
  const Shape &x = node.shape(0), &y = node.output().shape;
  add_relabel(Layout::row_major(x), Layout::row_major(y), out);
  for (const Layout& l : request.candidates(node.node().inputs[0])) {
    if (const auto to = relabelled(l, x, y)) add_relabel(l, *to, out);
  }
  for (const Layout& l : request.candidates(node.node().outputs[0])) {
    if (const auto from = relabelled(l, y, x)) add_relabel(*from, l, out);
  }
  offer_device_relabels(request, out);
}

/// Any layout is as good as any other when nothing changes.
void identity_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.output_count() != 1) return;
  const Shape &x = node.shape(0), &y = node.output().shape;
  for (const Layout& l : request.candidates(node.node().inputs[0])) {
    add_relabel(l, l.renamed(x.axes(), y.axes()), out);
  }
  for (const Layout& l : request.candidates(node.node().outputs[0])) {
    add_relabel(l.renamed(y.axes(), x.axes()), l, out);
  }
  offer_device_relabels(request, out);
}

/// TFLite's shape is input 1, or an option in old files.
void import_reshape(ImportNode& node) {
  node.expect(1, 2);
  if (!node.has(1) && !node.attrs.has("shape")) fail(ErrorCode::bad_input, "it has no shape");
  Ints shape = node.has(1) ? node.ints(1) : node.attrs.integers("shape");
  // TOCO wrote a scalar's shape as one 0.
  if (!node.has(1) && shape == Ints{0}) shape.clear();
  node.out(node.emit("reshape", {node.in(0)}, {{"shape", shape}, {"allowzero", std::int64_t{1}}}));
}

void import_expand_dims(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("unsqueeze", {node.in(0)}, {{"axes", Ints{node.axis(1)}}}));
}

constexpr OpDef kReshape[] = {
    {.name = "reshape",
     .aliases =
         named<Onnx<"Reshape">, Tflite<"RESHAPE", import_reshape>, Ncnn<"Reshape", ncnn::reshape>>,
     .mace = "Reshape",
     .infer = infer_reshape,
     .parameters = parameter<1, "shape">,
     .reference = copy_reference,
     .offers = relabel_offers,
     .axes = link_nothing},
    {.name = "flatten",
     .aliases = named<Onnx<"Flatten">, Ncnn<"Flatten", ncnn::flatten>>,
     .mace = "Reshape",
     .infer = infer_flatten,
     .reference = copy_reference,
     .offers = relabel_offers,
     .axes = link_nothing},
    {.name = "squeeze",
     .aliases = named<Onnx<"Squeeze">, Tflite<"SQUEEZE", takes<1>>, Ncnn<"Squeeze", ncnn::squeeze>>,
     .mace = "Squeeze",
     .infer = infer_squeeze,
     .parameters = parameter<1, "axes">,
     .reference = copy_reference,
     .offers = relabel_offers,
     .axes = link_kept},
    {.name = "unsqueeze",
     .aliases = named<Onnx<"Unsqueeze">, Tflite<"EXPAND_DIMS", import_expand_dims>,
                      Ncnn<"ExpandDims", ncnn::expand_dims>>,
     .infer = infer_unsqueeze,
     .parameters = parameter<1, "axes">,
     .reference = copy_reference,
     .offers = relabel_offers,
     .axes = link_kept},
    {.name = "identity",
     .aliases = named<Onnx<"Identity">, Ncnn<"Split", ncnn::split>, Ncnn<"Noop", ncnn::noop>,
                      Ncnn<"DeepCopy", ncnn::noop>>,
     .category = Category::transposable,
     .infer = infer_identity,
     .reference = copy_reference,
     .offers = identity_offers,
     .axes = link_positions,
     .copies = true},
    {.name = "dropout",
     .aliases = named<Onnx<"Dropout", import_dropout>, Ncnn<"Dropout", ncnn::dropout>>,
     .category = Category::transposable,
     .infer = infer_dropout,
     .reference = dropout_reference,
     .offers = identity_offers,
     .axes = link_positions,
     .copies = true},
};

}  // namespace

extern const std::span<const OpDef> ops_reshape;
const std::span<const OpDef> ops_reshape = kReshape;

}  // namespace stowage
