// SPDX-License-Identifier: Apache-2.0
// depth_to_space and space_to_depth: channels become blocks of pixels, and back.
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/relabel.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

std::int64_t block_of(const NodeRef& node) {
  node.expect_inputs(1, 1);
  expect_rank(node, 0, 4, 4);
  const std::int64_t block = node.attrs().integer("blocksize", 0);
  if (block < 1 || block > (1 << 20)) fail(ErrorCode::bad_input, "blocksize is ", block);
  const std::string mode = node.attrs().string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    fail(ErrorCode::bad_input, "mode is '", mode, "', expected DCR or CRD");
  }
  return block;
}

void infer_depth_to_space(const InferRef& node) {
  const std::int64_t b = block_of(node);
  const Shape& x = node.shape(0);
  if (x[1] % (b * b) != 0) {
    fail(ErrorCode::bad_input, x[1], " channels do not fill blocks of ", b, " by ", b);
  }
  node.set_output(0, node.dtype(0),
                  {x[0], x[1] / (b * b), checked_mul(x[2], b), checked_mul(x[3], b)});
}

void infer_space_to_depth(const InferRef& node) {
  const std::int64_t b = block_of(node);
  const Shape& x = node.shape(0);
  if (x[2] % b != 0 || x[3] % b != 0) {
    fail(ErrorCode::bad_input, x[2], " by ", x[3], " pixels do not fall into blocks of ", b);
  }
  node.set_output(0, node.dtype(0), {x[0], checked_mul(x[1], b * b), x[2] / b, x[3] / b});
}

/// Every pixel (h, w) of channel c on the spacious side is channel `deep` of (h/b, w/b).
template <bool ToSpace>
void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape &in = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const Shape &space = ToSpace ? out : in, &depth = ToSpace ? in : out;
  const std::int64_t b = args.node.attrs().integer("blocksize", 1);
  const bool crd = args.node.attrs().string("mode", "DCR") == "CRD";
  for_bytes(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    std::int64_t i = 0;
    for (std::int64_t n = 0; n < space[0]; ++n) {
      for (std::int64_t c = 0; c < space[1]; ++c) {
        for (std::int64_t h = 0; h < space[2]; ++h) {
          for (std::int64_t w = 0; w < space[3]; ++w, ++i) {
            const std::int64_t block = h % b * b + w % b;
            const std::int64_t deep = crd ? c * b * b + block : block * space[1] + c;
            const std::int64_t k = ((n * depth[1] + deep) * depth[2] + h / b) * depth[3] + w / b;
            if (ToSpace) {
              y[i] = x[k];
            } else {
              y[k] = x[i];
            }
          }
        }
      }
    }
  });
}

/// Both sides over the six axes that they have in common: pixel (h i, w j) of channel c.
template <bool ToSpace>
struct Blocks {
  explicit Blocks(const NodeRef& node)
      : space(ToSpace ? node.output().shape : node.shape(0)),
        depth(ToSpace ? node.shape(0) : node.output().shape) {
    const std::int64_t b = node.attrs().integer("blocksize", 1);
    const std::int64_t n = space[0], c = space[1], h = depth[2], w = depth[3];
    fine_space = Shape("nchiwj", {n, c, h, b, w, b});
    fine_depth = node.attrs().string("mode", "DCR") == "CRD" ? Shape("ncijhw", {n, c, b, b, h, w})
                                                             : Shape("nijchw", {n, b, b, c, h, w});
  }

  /// The layout of the input or the output over the six axes, if its digits fall on them.
  std::optional<Layout> fine(const Layout& layout, bool input) const {
    return input == ToSpace ? relabelled(layout, depth, fine_depth)
                            : relabelled(layout, space, fine_space);
  }

  const Shape &space, &depth;
  Shape fine_space, fine_depth;
};

struct BlocksParams : CopyParams {
  BoxCopy::IndexMap map(const BindArgs&) const {
    return [](int, std::int64_t i) { return i; };
  }
};

constexpr KernelDef kDepthToSpaceKernel = copy_row<BlocksParams>("depth_to_space");
constexpr KernelDef kSpaceToDepthKernel = copy_row<BlocksParams>("space_to_depth");
constexpr const KernelDef* kKernels[] = {&kDepthToSpaceKernel, &kSpaceToDepthKernel};

/// The coordinates n c h w of the side that is read, from those of the side that is written.
template <bool ToSpace>
MoveParams move_of(const NodeRef& node) {
  const std::int64_t b = node.attrs().integer("blocksize", 1);
  const bool crd = node.attrs().string("mode", "DCR") == "CRD";
  const std::int64_t space = ToSpace ? node.output().shape[1] : node.shape(0)[1];
  using Term = MoveParams::Term;
  MoveParams move;
  move.input.resize(4);
  move.input[0] = along(0);
  // Channel `deep` is c, and the block's row and column.
  const std::int64_t of_c = crd ? b * b : 1, of_row = crd ? b : b * space,
                     of_column = crd ? 1 : space;
  if (ToSpace) {
    move.input[1].terms = {Term{1, 1, 0, of_c}, Term{2, 1, b, of_row}, Term{3, 1, b, of_column}};
    move.input[2].terms = {Term{2, b, 0, 1}};
    move.input[3].terms = {Term{3, b, 0, 1}};
  } else {
    move.input[1].terms = {Term{1, of_c, crd ? 0 : space, 1}};
    move.input[2].terms = {Term{2, 1, 0, b}, Term{1, of_row, crd ? b : 0, 1}};
    move.input[3].terms = {Term{3, 1, 0, b}, Term{1, of_column, b, 1}};
  }
  return move;
}

/// Any layout on either side, as long as it does not cut the blocks.
template <bool ToSpace>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (y.elements() == 0) return;
  offer_device_move(request, move_of<ToSpace>(node), out);
  const int size = dtype_bytes(node.dtype(0));
  const Blocks<ToSpace> blocks(node);
  const auto add = [&](const Layout& from, const Layout& to) {
    const auto fine_from = blocks.fine(from, true), fine_to = blocks.fine(to, false);
    if (!fine_from || !fine_to) return;
    for (const Offer& o : out) {
      if (o.in[0] == from && o.out[0] == to) return;
    }
    BlocksParams params;
    params.to = Mapping(*fine_to, blocks.fine_space, size);
    params.from = Mapping(*fine_from, blocks.fine_space, size);
    params.written = Mapping(to, y, size);
    Offer offer;
    offer.in = {from};
    offer.out = {to};
    offer.pieces =
        BoxCopy(params.to, params.from, BoxCopy::Direction::into_walked, params.map({})).pieces();
    offer.call = {ToSpace ? kDepthToSpaceKernel : kSpaceToDepthKernel, std::move(params)};
    out.push_back(std::move(offer));
  };
  for (const Layout& from : request.candidates(node.node().inputs[0])) {
    const Layout same = same_position_layout(x, y, from);
    if (places(same, y)) add(from, same);
    for (const Layout& to : request.candidates(node.node().outputs[0])) add(from, to);
  }
  for (const Layout& to : request.candidates(node.node().outputs[0])) {
    const Layout same = same_position_layout(y, x, to);
    if (places(same, x)) add(same, to);
  }
}

/// Only the batch survives; the rest have names but not the same extents.
void axes(const NodeRef& node, AxisLinks& links) {
  name_image_axes(node, node.node().inputs[0], links);
  name_image_axes(node, node.node().outputs[0], links);
  links.link(node.node().inputs[0], 0, node.node().outputs[0], 0);
}

template <FixedString Op>
void import_blocks(ImportNode& node) {
  node.expect(1, 1);
  node.out_image(node.emit(Op.text, {node.image(0)}, node.attrs));
}

struct BatchBlocks {
  Ints sizes, cuts;  ///< a block size an axis; two pads or crops an axis
};

/// Inputs 1 and 2 of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.
BatchBlocks batch_blocks(ImportNode& node) {
  node.expect(3, 3);
  BatchBlocks b{node.ints(1), node.ints(2)};
  const int rank = node.shape(node.in(0)).rank();
  if (b.sizes.empty() || static_cast<int>(b.sizes.size()) + 1 > rank ||
      b.cuts.size() != 2 * b.sizes.size()) {
    fail(ErrorCode::bad_input, b.sizes.size(), " block sizes and ", b.cuts.size(),
         " pads for an input of rank ", rank);
  }
  for (std::int64_t s : b.sizes) {
    if (s < 1) fail(ErrorCode::bad_input, "a block size is ", s);
  }
  for (std::int64_t c : b.cuts) {
    if (c < 0) fail(ErrorCode::bad_input, "a pad is ", c);
  }
  // Each block size adds an axis on the way.
  if (rank + static_cast<int>(b.sizes.size()) > kMaxRank) {
    fail(ErrorCode::limit, "it needs rank ", rank + static_cast<int>(b.sizes.size()));
  }
  return b;
}

/// Pads, splits each blocked axis into (a, block), and moves the blocks to the batch.
void import_space_to_batch(ImportNode& node) {
  const BatchBlocks b = batch_blocks(node);
  const std::size_t m = b.sizes.size();
  ValueId v = node.in(0);
  const auto rank = static_cast<std::size_t>(node.shape(v).rank());
  Ints pads(2 * rank, 0);
  for (std::size_t i = 0; i < m; ++i) {
    pads[i + 1] = b.cuts[2 * i];
    pads[rank + i + 1] = b.cuts[2 * i + 1];
  }
  v = node.emit("pad", {v}, {{"pads", pads}});
  const Shape padded = node.shape(v);
  Ints split{padded[0]}, perm, merged{padded[0]};
  for (std::size_t i = 0; i < m; ++i) {
    const std::int64_t extent = padded[static_cast<int>(i) + 1];
    if (extent % b.sizes[i] != 0) {
      fail(ErrorCode::bad_input, "blocks of ", b.sizes[i], " do not fill ", extent);
    }
    split.insert(split.end(), {extent / b.sizes[i], b.sizes[i]});
    perm.push_back(static_cast<std::int64_t>(2 * i + 2));
    merged[0] = checked_mul(merged[0], b.sizes[i]);
    merged.push_back(extent / b.sizes[i]);
  }
  perm.push_back(0);
  for (std::size_t i = 0; i < m; ++i) perm.push_back(static_cast<std::int64_t>(2 * i + 1));
  for (std::size_t i = m + 1; i < rank; ++i) {
    split.push_back(padded[static_cast<int>(i)]);
    merged.push_back(padded[static_cast<int>(i)]);
    perm.push_back(static_cast<std::int64_t>(i + m));
  }
  v = node.emit("transpose", {node.reshape(v, split)}, {{"perm", perm}});
  node.out(node.reshape(v, merged));
}

/// The way back: blocks leave the batch, each joins its axis, and crops cut the ends.
void import_batch_to_space(ImportNode& node) {
  const BatchBlocks b = batch_blocks(node);
  const std::size_t m = b.sizes.size();
  ValueId v = node.in(0);
  const Shape from = node.shape(v);
  std::int64_t all = 1;
  for (std::int64_t s : b.sizes) all = checked_mul(all, s);
  if (from[0] % all != 0)
    fail(ErrorCode::bad_input, "a batch of ", from[0], " for ", all, " blocks");
  Ints split(b.sizes), perm{static_cast<std::int64_t>(m)}, merged{from[0] / all};
  split.push_back(from[0] / all);
  Ints starts, ends, axes;
  for (std::size_t i = 0; i < m; ++i) {
    const std::int64_t extent = from[static_cast<int>(i) + 1];
    split.push_back(extent);
    perm.insert(perm.end(), {static_cast<std::int64_t>(m + 1 + i), static_cast<std::int64_t>(i)});
    merged.push_back(checked_mul(extent, b.sizes[i]));
    axes.push_back(static_cast<std::int64_t>(i) + 1);
    starts.push_back(b.cuts[2 * i]);
    ends.push_back(std::max<std::int64_t>(merged.back() - b.cuts[2 * i + 1], 0));
  }
  for (int i = static_cast<int>(m) + 1; i < from.rank(); ++i) {
    split.push_back(from[i]);
    merged.push_back(from[i]);
    perm.push_back(static_cast<std::int64_t>(m) + i);
  }
  v = node.emit("transpose", {node.reshape(v, split)}, {{"perm", perm}});
  v = node.reshape(v, merged);
  node.out(node.emit("slice", {v}, {{"starts", starts}, {"ends", ends}, {"axes", axes}}));
}

constexpr OpDef kDepthToSpace[] = {
    {.name = "depth_to_space",
     .aliases =
         named<Onnx<"DepthToSpace">, Tflite<"DEPTH_TO_SPACE", import_blocks<"depth_to_space">>,
               Tflite<"BATCH_TO_SPACE_ND", import_batch_to_space>,
               Ncnn<"PixelShuffle", ncnn::pixel_shuffle>>,
     .category = Category::fixed,
     .mace = "DepthToSpace",
     .infer = infer_depth_to_space,
     .reference = reference<true>,
     .offers = offers<true>,
     .kernels = std::span(kKernels).first<1>(),
     .device_kernels = kMoveKernels,
     .axes = axes},
    {.name = "space_to_depth",
     .aliases =
         named<Onnx<"SpaceToDepth">, Tflite<"SPACE_TO_DEPTH", import_blocks<"space_to_depth">>,
               Tflite<"SPACE_TO_BATCH_ND", import_space_to_batch>, Ncnn<"Reorg", ncnn::reorg>>,
     .category = Category::fixed,
     .mace = "SpaceToDepth",
     .infer = infer_space_to_depth,
     .reference = reference<false>,
     .offers = offers<false>,
     .kernels = std::span(kKernels).last<1>(),
     .device_kernels = kMoveKernels,
     .axes = axes},
};

}  // namespace

extern const std::span<const OpDef> ops_depth_to_space;
const std::span<const OpDef> ops_depth_to_space = kDepthToSpace;

}  // namespace stowage
