// SPDX-License-Identifier: Apache-2.0
// gather, gather_elements, gather_nd: elements chosen by indices that are known at run time.
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/relabel.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void expect_indices(const NodeRef& node) {
  node.expect_inputs(2, 2);
  node.expect_dtype(1, {DType::i64, DType::i32});
}

/// The index, counted from the end when negative. Throws Error(bad_input).
std::int64_t index_at(const TensorView& indices, std::int64_t i, std::int64_t extent) {
  const std::int64_t v = indices.dtype == DType::i64
                             ? reinterpret_cast<const std::int64_t*>(indices.data)[i]
                             : reinterpret_cast<const std::int32_t*>(indices.data)[i];
  if (v < -extent || v >= extent) {
    fail(ErrorCode::bad_input, "index ", v, " is out of range for an extent of ", extent);
  }
  return v < 0 ? v + extent : v;
}

void infer_gather(const InferRef& node) {
  expect_indices(node);
  expect_rank(node, 0, 1);
  const Shape &x = node.shape(0), &indices = node.shape(1);
  const int axis = normal_axis(node.attrs().integer("axis", 0), x.rank());
  node.set_fact("axis", std::int64_t{axis});
  Ints out(x.extents().begin(), x.extents().begin() + axis);
  out.insert(out.end(), indices.extents().begin(), indices.extents().end());
  out.insert(out.end(), x.extents().begin() + axis + 1, x.extents().end());
  node.set_output(0, node.dtype(0), out);
}

void gather_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& x = args.in[0].mapping.shape();
  const auto axis = static_cast<int>(args.node.facts().integer("axis", 0));
  const std::int64_t outer = product(x.extents(), 0, axis);
  const std::int64_t inner =
      product(x.extents(), axis + 1, x.rank()) * dtype_bytes(args.in[0].dtype);
  const std::int64_t count = args.in[1].mapping.shape().elements();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t from = index_at(args.in[1], i, x[axis]);
      std::copy_n(args.in[0].data + (o * x[axis] + from) * inner, inner,
                  args.out[0].data + (o * count + i) * inner);
    }
  }
}

void gather_axes(const NodeRef& node, AxisLinks& links) {
  const auto axis = static_cast<int>(node.facts().integer("axis", 0));
  const ValueId x = node.node().inputs[0], y = node.node().outputs[0];
  for (int i = 0; i < node.rank(0); ++i) {
    if (i < axis) links.link(x, i, y, i);
    if (i > axis) links.link(x, i, y, i + node.rank(1) - 1);
  }
}

void infer_gather_elements(const InferRef& node) {
  expect_indices(node);
  expect_rank(node, 0, 1);
  const Shape &x = node.shape(0), &indices = node.shape(1);
  const int axis = normal_axis(node.attrs().integer("axis", 0), x.rank());
  node.set_fact("axis", std::int64_t{axis});
  bool fits = x.rank() == indices.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits) {
    fail(ErrorCode::bad_input, "indices ", indices.extents(), " do not fit to data ", x.extents());
  }
  node.set_output(0, node.dtype(0), indices.extents());
}

void gather_elements_reference(const ReferenceArgs& args) {
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const auto axis = static_cast<int>(args.node.facts().integer("axis", 0));
  Ints strides = row_major_strides(x.extents());
  const std::int64_t stride = strides[at(axis)];
  strides[at(axis)] = 0;
  for_bytes(args.in[0].dtype, [&]<class T>() {
    Walk<1> walk(out.extents(), {strides});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      args.output<T>(0)[i] =
          args.input<T>(0)[walk.offset(0) + index_at(args.in[1], i, x[axis]) * stride];
    }
  });
}

void infer_gather_nd(const InferRef& node) {
  expect_indices(node);
  expect_rank(node, 0, 1);
  expect_rank(node, 1, 1);
  const Shape &x = node.shape(0), &indices = node.shape(1);
  const std::int64_t batch = node.attrs().integer("batch_dims", 0);
  const std::int64_t depth = indices[indices.rank() - 1];
  if (batch < 0 || batch >= std::min(x.rank(), indices.rank()) || depth < 1 ||
      depth > x.rank() - batch) {
    fail(ErrorCode::bad_input, "indices ", indices.extents(), " do not fit to data ", x.extents(),
         " with ", batch, " batch axes");
  }
  for (int i = 0; i < batch; ++i) {
    if (x[i] != indices[i]) fail(ErrorCode::bad_input, "batch axis ", i, " differs in extent");
  }
  Ints out(indices.extents().begin(), indices.extents().end() - 1);
  out.insert(out.end(), x.extents().begin() + batch + depth, x.extents().end());
  node.set_output(0, node.dtype(0), out);
}

void gather_nd_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape &x = args.in[0].mapping.shape(), &indices = args.in[1].mapping.shape();
  const auto batch = static_cast<int>(args.node.attrs().integer("batch_dims", 0));
  const auto depth = static_cast<int>(indices[indices.rank() - 1]);
  const Ints strides = row_major_strides(x.extents());
  const std::int64_t rows = product(indices.extents(), 0, indices.rank() - 1);
  const std::int64_t rows_per_batch = product(indices.extents(), batch, indices.rank() - 1);
  const std::int64_t batch_size = product(x.extents(), batch, x.rank());
  const int size = dtype_bytes(args.in[0].dtype);
  const std::int64_t run = product(x.extents(), batch + depth, x.rank());
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t from = r / rows_per_batch * batch_size;
    for (int d = 0; d < depth; ++d) {
      from += index_at(args.in[1], r * depth + d, x[batch + d]) * strides[at(batch + d)];
    }
    std::copy_n(args.in[0].data + from * size, run * size, args.out[0].data + r * run * size);
  }
}

/// Elements of `axis` by indices that are known before run.
struct GatherParams : CopyParams {
  int axis = 0;
  DType index_dtype = DType::i64;
  std::int64_t count = 1;  ///< of the indices

  void fields(Archive& a) {
    CopyParams::fields(a);
    a("axis", axis)("index_dtype", index_dtype)("count", count);
  }

  BoxCopy::IndexMap map(const BindArgs& args) const {
    const std::int64_t extent = from.shape()[axis];
    Ints indices;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = index_dtype == DType::i64 ? args.constant<std::int64_t>(1)[i]
                                                           : args.constant<std::int32_t>(1)[i];
      indices.push_back(index < 0 ? index + extent : index);
    }
    return [a = axis, indices = std::move(indices)](int other, std::int64_t x) {
      return other == a ? indices[at(x)] : x;
    };
  }
};

constexpr KernelDef kKernel = copy_row<GatherParams>("gather");
constexpr const KernelDef* kKernels[] = {&kKernel};

/// Where consecutive rows along the axis begin; nothing when they do not follow each other.
std::optional<std::int64_t> first_of_run(const Ints& indices, std::int64_t extent) {
  const auto row = [&](std::size_t i) { return indices[i] < 0 ? indices[i] + extent : indices[i]; };
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (row(i) != row(0) + static_cast<std::int64_t>(i)) return std::nullopt;
  }
  return row(0);
}

/// With indices that are known, at most one axis of them: a copy in any layout, or, of rows that
/// follow each other, a stretch of the input.
void gather_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  GatherParams params;
  params.axis = static_cast<int>(node.facts().integer("axis", 0));
  if (node.constant(1) == nullptr || node.rank(1) > 1 || y.elements() == 0) return;
  const std::int64_t extent = x[params.axis];
  const Ints indices = node.constant_ints(1);
  for (const std::int64_t i : indices) {
    if (i < -extent || i >= extent) return;  // the reference says so
  }
  const auto first = first_of_run(indices, extent);
  const auto add_view = [&](Offer& offer, const Mapping& whole, const Mapping& part) {
    const auto offset = first ? part_offset(whole, part, params.axis, *first) : std::nullopt;
    if (offset) offer.outputs_in_input.push_back({0, *offset, offer.pieces});
  };
  params.index_dtype = node.dtype(1);
  params.count = node.shape(1).elements();
  MoveParams move;
  for (int i = 0, k = 0; i < x.rank(); ++i) {
    move.input.push_back(i == params.axis ? MoveParams::Coordinate() : along(k++));
    if (i != params.axis) continue;
    auto& chosen = move.input.back();
    chosen = node.rank(1) == 1 ? along(k++) : MoveParams::Coordinate{};
    for (const std::int64_t index : indices) {
      chosen.table.push_back(index < 0 ? index + extent : index);
    }
  }
  offer_device_move(request, move, out);
  const std::byte* constants[] = {nullptr, node.constant(1)->data()};
  const BindArgs known{constants};
  const int size = dtype_bytes(node.dtype(0));
  if (node.rank(1) == 1) {
    const std::size_t before = out.size();
    offer_copy(request, out, kKernel, params, known);
    for (Offer& offer : std::span(out).subspan(before)) {
      add_view(offer, Mapping(offer.in[0].layout, x, size), Mapping(offer.out[0].layout, y, size));
    }
    return;
  }
  // A single index drops its axis: the copy goes into a tensor that still has it, with extent 1.
  Ints extents = extents_of(x);
  extents[at(params.axis)] = 1;
  const Shape one(x.axes(), extents);
  for (const Layout& layout : request.candidates(node.node().inputs[0])) {
    const auto result = relabelled(layout, one, y);
    if (!result) continue;
    params.from = Mapping(layout, x, size);
    params.to = params.written = Mapping(layout, one, size);
    Offer offer;
    offer.in = {layout, Layout::row_major(node.shape(1))};
    offer.out = {*result};
    weigh_copy(node, params,
               BoxCopy(params.to, params.from, BoxCopy::Direction::into_walked, params.map(known)),
               offer);
    offer.call = {kKernel, params};
    add_view(offer, params.from, params.written);
    out.push_back(std::move(offer));
  }
}

void import_gather(ImportNode& node) {
  node.expect(2, 2);
  const std::int64_t batch_dims = node.attrs.integer("batch_dims", 0);
  if (batch_dims != 0) fail(ErrorCode::unsupported, "batch_dims is ", batch_dims);
  node.out(
      node.emit("gather", {node.in(0), node.in(1)}, {{"axis", node.attrs.integer("axis", 0)}}));
}

/// Indices of rows, then the table.
void import_embedding_lookup(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("gather", {node.in(1), node.in(0)}, {{"axis", std::int64_t{0}}}));
}

constexpr OpDef kGather[] = {
    {.name = "gather",
     .aliases =
         named<Onnx<"Gather">, Tflite<"GATHER", import_gather>,
               Tflite<"EMBEDDING_LOOKUP", import_embedding_lookup>, Ncnn<"Embed", ncnn::embed>>,
     .infer = infer_gather,
     .reference = gather_reference,
     .offers = gather_offers,
     .kernels = kKernels,
     .device_kernels = kMoveKernels,
     .axes = gather_axes},
    {.name = "gather_elements",
     .aliases = onnx<"GatherElements">,
     .infer = infer_gather_elements,
     .reference = gather_elements_reference,
     .axes = link_nothing},
    {.name = "gather_nd",
     .aliases = named<Onnx<"GatherND">, Tflite<"GATHER_ND", takes<2>>>,
     .infer = infer_gather_nd,
     .reference = gather_nd_reference,
     .axes = link_nothing},
};

}  // namespace

extern const std::span<const OpDef> ops_gather;
const std::span<const OpDef> ops_gather = kGather;

}  // namespace stowage
