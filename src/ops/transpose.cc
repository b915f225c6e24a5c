// SPDX-License-Identifier: Apache-2.0
// A transpose renames axes. Moving bytes, where that is wanted, is the planner's conversion.
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(1, 1);
  const Shape& x = node.shape(0);
  Ints perm = node.attrs().integers("perm");
  if (!node.attrs().has("perm")) {
    for (int i = x.rank(); i-- > 0;) perm.push_back(i);
  }
  for (std::int64_t& p : perm) p = normal_axis(p, x.rank());
  normal_axes(perm, x.rank());
  if (static_cast<int>(perm.size()) != x.rank()) {
    fail(ErrorCode::bad_input, "perm ", std::span<const std::int64_t>(perm),
         " does not permute the axes of rank ", x.rank());
  }
  node.set_fact("perm", perm);
  Ints out;
  for (std::int64_t p : perm) out.push_back(x[static_cast<int>(p)]);
  node.set_output(0, node.dtype(0), out);
}

void reference(const ReferenceArgs& args) {
  const Shape& out = args.out[0].mapping.shape();
  const Ints perm = args.node.facts().integers("perm");
  const Ints in_strides = row_major_strides(args.in[0].mapping.shape().extents());
  Ints strides;
  for (std::int64_t p : perm) strides.push_back(in_strides[at(p)]);
  for_bytes(args.out[0].dtype, [&]<class T>() {
    Walk<1> walk(out.extents(), {strides});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      args.output<T>(0)[i] = args.input<T>(0)[walk.offset(0)];
    }
  });
}

void axes(const NodeRef& node, AxisLinks& links) {
  const Ints perm = node.facts().integers("perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    links.link(node.node().inputs[0], static_cast<int>(perm[i]), node.node().outputs[0],
               static_cast<int>(i));
  }
}

/// Axis names on either side of the relabelling.
struct Names {
  std::vector<Axis> in, out;
};

Names names_of(const NodeRef& node) {
  Names names;
  const Ints perm = node.facts().integers("perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    names.in.push_back(node.shape(0).axis(static_cast<int>(perm[i])));
    names.out.push_back(node.output().shape.axis(static_cast<int>(i)));
  }
  return names;
}

/// The layout of one side is that of the other with the axes renamed.
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Names names = names_of(node);
  const auto add = [&](const Layout& in_layout, const Layout& out_layout) {
    for (const Offer& o : out) {
      if (o.in[0] == in_layout && o.out[0] == out_layout) return;
    }
    Offer offer;
    offer.in = {in_layout};
    offer.out = {out_layout};
    offer.relabel = true;
    out.push_back(std::move(offer));
  };
  for (const Layout& l : request.candidates(node.node().inputs[0])) {
    add(l, l.renamed(names.in, names.out));
  }
  for (const Layout& l : request.candidates(node.node().outputs[0])) {
    add(l.renamed(names.out, names.in), l);
  }
  const Ints perm = node.facts().integers("perm");
  MoveParams move;
  move.input.resize(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    move.input[at(perm[i])] = along(static_cast<int>(i));
  offer_device_move(request, move, out);
  const Layout same = Layout::row_major(node.output().shape).renamed(names.out, names.in);
  if (Layout::row_major(node.shape(0)) == same) offer_device_relabels(request, out);
}

void import_transpose(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("transpose", {node.in(0)}, {{"perm", node.ints(1)}}));
}

constexpr OpDef kTranspose[] = {
    {.name = "transpose",
     .aliases =
         named<Onnx<"Transpose">, Tflite<"TRANSPOSE", import_transpose>,
               Ncnn<"Permute", ncnn::permute>, Ncnn<"ShuffleChannel", ncnn::shuffle_channel>>,
     .category = Category::transposable,
     .mace = "Transpose",
     .infer = infer,
     .transposes = true,
     .reference = reference,
     .offers = offers,
     .device_kernels = kMoveKernels,
     .axes = axes}};

}  // namespace

extern const std::span<const OpDef> ops_transpose;
const std::span<const OpDef> ops_transpose = kTranspose;

}  // namespace stowage
