// SPDX-License-Identifier: Apache-2.0
// expand and tile: the same elements several times.
#include "kernels/elementwise/map.h"
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer_expand(const InferRef& node) {
  node.expect_inputs(1, 2);
  const auto shape = node.ints_of("shape", 1);
  if (!shape) fail(ErrorCode::bad_input, "it has no shape");
  for (std::int64_t e : *shape) {
    if (e < 0) fail(ErrorCode::bad_input, "the shape has an extent of ", e);
  }
  node.set_output(0, node.dtype(0), broadcast(node.shape(0).extents(), *shape));
}

/// Opset 1 gave the number of tiles and the axis as two inputs; since 6 there is one per axis.
void infer_tile(const InferRef& node) {
  node.expect_inputs(1, 3);
  if (node.has(2)) fail(ErrorCode::unsupported, "Tile of opset 1");
  const auto repeats = node.ints_of("repeats", 1);
  const Shape& x = node.shape(0);
  if (!repeats || static_cast<int>(repeats->size()) != x.rank()) {
    fail(ErrorCode::bad_input, "it needs one repeat for each of ", x.rank(), " axes");
  }
  Ints out;
  for (int i = 0; i < x.rank(); ++i) {
    if ((*repeats)[at(i)] < 0)
      fail(ErrorCode::bad_input, "axis ", i, " is repeated ", (*repeats)[at(i)], " times");
    out.push_back(checked_mul(x[i], (*repeats)[at(i)]));
  }
  node.set_output(0, node.dtype(0), out);
}

void expand_reference(const ReferenceArgs& args) {
  const Shape& out = args.out[0].mapping.shape();
  for_bytes(args.out[0].dtype, [&]<class T>() {
    Walk<1> walk(out.extents(), {broadcast_strides(args.in[0].mapping.shape(), out)});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      args.output<T>(0)[i] = args.input<T>(0)[walk.offset(0)];
    }
  });
}

void tile_reference(const ReferenceArgs& args) {
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const Ints strides = row_major_strides(x.extents());
  for_bytes(args.out[0].dtype, [&]<class T>() {
    Walk<1> walk(out.extents(), {row_major_strides(out.extents())});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      std::int64_t from = 0;
      for (int k = 0; k < x.rank(); ++k) from += walk.index()[at(k)] % x[k] * strides[at(k)];
      args.output<T>(0)[i] = args.input<T>(0)[from];
    }
  });
}

/// Among floats, stretching is what broadcasting does.
void expand_offers(const OfferRequest& request, std::vector<Offer>& out) {
  offer_elementwise(request, out, {Fn::scale, 1.0f, 0}, 1);
}

struct TileParams : CopyParams {
  BoxCopy::IndexMap map(const BindArgs&) const {
    return [this](int axis, std::int64_t x) { return x % from.shape()[axis]; };
  }
};

constexpr KernelDef kTile = copy_row<TileParams>("tile");
constexpr const KernelDef* kTileKernels[] = {&kTile};

void tile_offers(const OfferRequest& request, std::vector<Offer>& out) {
  MoveParams move;
  const Shape& x = request.node.shape(0);
  for (int i = 0; i < x.rank(); ++i) move.input.push_back({0, {{i, 1, x[i], 1}}, {}});
  offer_device_move(request, move, out);
  offer_copy(request, out, kTile, TileParams{});
}

template <int From, int Extents>
void import_expand(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("expand", {node.in(From)}, {{"shape", node.ints(Extents)}}));
}

void import_tile(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("tile", {node.in(0)}, {{"repeats", node.ints(1)}}));
}

constexpr OpDef kExpand[] = {
    {.name = "expand",
     .aliases = named<Onnx<"Expand">, Tflite<"BROADCAST_TO", import_expand<0, 1>>,
                      Tflite<"FILL", import_expand<1, 0>>>,
     .category = Category::transposable,
     .infer = infer_expand,
     .parameters = parameter<1, "shape">,
     .reference = expand_reference,
     .offers = expand_offers,
     .kernels = elementwise_kernel("expand"),
     .device_kernels = kMapKernels,
     .axes = link_elementwise},
    {.name = "tile",
     .aliases = named<Onnx<"Tile">, Tflite<"TILE", import_tile>, Ncnn<"Tile", ncnn::tile>>,
     .category = Category::transposable,
     .mace = "Tile",
     .infer = infer_tile,
     .parameters = parameter<1, "repeats">,
     .reference = tile_reference,
     .offers = tile_offers,
     .kernels = kTileKernels,
     .device_kernels = kMoveKernels,
     .axes = link_positions},
};

}  // namespace

extern const std::span<const OpDef> ops_expand;
const std::span<const OpDef> ops_expand = kExpand;

}  // namespace stowage
