// SPDX-License-Identifier: Apache-2.0
// Operators of TFLite on images (n h w c). Ours have the channels second, so a transpose stands
// before and behind each; it names axes and moves no byte.
#include <algorithm>

#include "base/checked.h"
#include "import/tflite_graph.h"

namespace stowage {

namespace {

constexpr std::int64_t kOne = 1;

/// The input as n c h w.
ValueId image(const TfliteNode& node, int i) {
  const ValueId v = node.in(i);
  if (node.shape(v).rank() != 4) {
    fail(ErrorCode::bad_input, "input ", i, " has rank ", node.shape(v).rank(), ", not 4");
  }
  return node.channels_second(v);
}

std::string auto_pad(int padding) {
  if (padding == tfl::Padding_SAME) return "SAME_UPPER";
  if (padding == tfl::Padding_VALID) return "VALID";
  fail(ErrorCode::bad_input, "the padding ", padding, " is neither SAME nor VALID");
}

void finish(const TfliteNode& node, ValueId v, int activation) {
  node.out(node.channels_last(node.activate(v, activation)));
}

/// Weights as the file has them, of rank 4.
ValueId weights(const TfliteNode& node, int i) {
  const ValueId w = node.in(i);
  if (node.shape(w).rank() != 4) {
    fail(ErrorCode::bad_input, "the weights have rank ", node.shape(w).rank(), ", not 4");
  }
  return w;
}

void conv(const TfliteNode& node) {
  node.expect(2, 3);
  const auto& o = node.options<tfl::Conv2DOptions>();
  const ValueId x = image(node, 0);
  const ValueId w = node.emit("transpose", {weights(node, 1)}, {{"perm", Ints{0, 3, 1, 2}}});
  // A group takes as many channels as the weights have.
  const std::int64_t channels = node.shape(x)[1], taken = node.shape(w)[1];
  if (taken < 1 || channels % taken != 0) {
    fail(ErrorCode::bad_input, "the weights take ", taken, " channels of ", channels);
  }
  const ValueId y = node.emit("conv", {x, w, node.optional(2)},
                              {{"group", std::max(channels / taken, kOne)},
                               {"strides", Ints{o.stride_h(), o.stride_w()}},
                               {"dilations", Ints{o.dilation_h_factor(), o.dilation_w_factor()}},
                               {"auto_pad", auto_pad(o.padding())}});
  finish(node, y, o.fused_activation_function());
}

/// Weights 1 h w (c m): each input channel makes m output channels, which follow each other.
void depthwise_conv(const TfliteNode& node) {
  node.expect(2, 3);
  const auto& o = node.options<tfl::DepthwiseConv2DOptions>();
  const ValueId x = image(node, 0);
  if (node.shape(weights(node, 1))[0] != 1) {
    fail(ErrorCode::bad_input, "depthwise weights of shape ", node.shape(node.in(1)).extents());
  }
  const ValueId w = node.emit("transpose", {node.in(1)}, {{"perm", Ints{3, 0, 1, 2}}});
  const ValueId y = node.emit("conv", {x, w, node.optional(2)},
                              {{"group", node.shape(x)[1]},
                               {"strides", Ints{o.stride_h(), o.stride_w()}},
                               {"dilations", Ints{o.dilation_h_factor(), o.dilation_w_factor()}},
                               {"auto_pad", auto_pad(o.padding())}});
  finish(node, y, o.fused_activation_function());
}

/// Inputs: extents of the output, weights o h w i, x, bias. What the extents leave out of the
/// full result is cut, with SAME evenly, else at the end.
void transpose_conv(const TfliteNode& node) {
  node.expect(3, 4);
  const auto& o = node.options<tfl::TransposeConvOptions>();
  const Ints wanted = node.ints(0);
  const ValueId x = image(node, 2);
  const ValueId w = node.emit("transpose", {weights(node, 1)}, {{"perm", Ints{3, 0, 1, 2}}});
  if (wanted.size() != 4) fail(ErrorCode::bad_input, "its output has rank ", wanted.size());
  const bool same = auto_pad(o.padding()) == "SAME_UPPER";
  const Ints strides{o.stride_h(), o.stride_w()};
  Ints pads(4, 0), extra(2, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const std::int64_t full =
        checked_add(checked_mul(node.shape(x)[axis] - 1, strides[i]), node.shape(w)[axis]);
    const std::int64_t cut = full - std::clamp<std::int64_t>(wanted[i + 1], 0, kOne << 40);
    extra[i] = std::max<std::int64_t>(-cut, 0);
    pads[i] = same ? std::max<std::int64_t>(cut, 0) / 2 : 0;
    pads[i + 2] = std::max<std::int64_t>(cut, 0) - pads[i];
  }
  const ValueId y = node.emit("conv_transpose", {x, w, node.optional(3)},
                              {{"strides", strides}, {"pads", pads}, {"output_padding", extra}});
  finish(node, y, o.fused_activation_function());
}

template <bool Max>
void pool(const TfliteNode& node) {
  node.expect(1, 1);
  const auto& o = node.options<tfl::Pool2DOptions>();
  const ValueId y = node.emit(Max ? "max_pool" : "average_pool", {image(node, 0)},
                              {{"kernel_shape", Ints{o.filter_height(), o.filter_width()}},
                               {"strides", Ints{o.stride_h(), o.stride_w()}},
                               {"auto_pad", auto_pad(o.padding())}});
  finish(node, y, o.fused_activation_function());
}

void resize(const TfliteNode& node, std::string_view mode, std::string_view coordinates,
            std::string_view nearest_mode) {
  const Ints size = node.ints(1);
  if (size.size() != 2) fail(ErrorCode::bad_input, "its size has ", size.size(), " numbers, not 2");
  const ValueId x = image(node, 0);
  const ValueId y =
      node.emit("resize", {x},
                {{"mode", std::string(mode)},
                 {"coordinate_transformation_mode", std::string(coordinates)},
                 {"nearest_mode", std::string(nearest_mode)},
                 {"sizes", Ints{node.shape(x)[0], node.shape(x)[1], size[0], size[1]}}});
  finish(node, y, tfl::ActivationFunction_NONE);
}

void resize_bilinear(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<tfl::ResizeBilinearOptions>();
  const bool corners = o != nullptr && o->align_corners();
  const bool half = o != nullptr && o->half_pixel_centers();
  if (corners && half) {
    fail(ErrorCode::bad_input, "align_corners and half_pixel_centers exclude each other");
  }
  resize(node, "linear", corners ? "align_corners" : half ? "half_pixel" : "asymmetric", "floor");
}

void resize_nearest(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<tfl::ResizeNearestNeighborOptions>();
  const bool corners = o != nullptr && o->align_corners();
  const bool half = o != nullptr && o->half_pixel_centers();
  if (corners && half) {
    fail(ErrorCode::unsupported, "align_corners together with half_pixel_centers");
  }
  resize(node, "nearest",
         corners ? "align_corners"
         : half  ? "tf_half_pixel_for_nn"
                 : "asymmetric",
         corners ? "round_prefer_ceil" : "floor");
}

void depth_to_space(const TfliteNode& node) {
  node.expect(1, 1);
  const auto& o = node.options<tfl::DepthToSpaceOptions>();
  const ValueId y =
      node.emit("depth_to_space", {image(node, 0)}, {{"blocksize", std::int64_t{o.block_size()}}});
  finish(node, y, tfl::ActivationFunction_NONE);
}

void space_to_depth(const TfliteNode& node) {
  node.expect(1, 1);
  const auto& o = node.options<tfl::SpaceToDepthOptions>();
  const ValueId y =
      node.emit("space_to_depth", {image(node, 0)}, {{"blocksize", std::int64_t{o.block_size()}}});
  finish(node, y, tfl::ActivationFunction_NONE);
}

/// The slope broadcasts to x; on images one of c, or of h w c.
void prelu(const TfliteNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), slope = node.in(1);
  const int rank = node.shape(slope).rank();
  if (node.shape(x).rank() != 4 || (rank != 1 && rank != 3)) {
    return node.out(node.emit("prelu", {x, slope}));
  }
  const ValueId second = rank == 1 ? node.reshape(slope, {node.shape(slope)[0], 1, 1})
                                   : node.emit("transpose", {slope}, {{"perm", Ints{2, 0, 1}}});
  finish(node, node.emit("prelu", {node.channels_second(x), second}), tfl::ActivationFunction_NONE);
}

struct Blocks {
  Ints sizes, cuts;  ///< a block size an axis; two pads or crops an axis
};

/// Inputs 1 and 2 of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.
Blocks blocks_of(const TfliteNode& node) {
  node.expect(3, 3);
  Blocks b{node.ints(1), node.ints(2)};
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
void space_to_batch(const TfliteNode& node) {
  const Blocks b = blocks_of(node);
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
void batch_to_space(const TfliteNode& node) {
  const Blocks b = blocks_of(node);
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

constexpr TfliteRule kRules[] = {
    {tfl::BuiltinOperator_CONV_2D, conv},
    {tfl::BuiltinOperator_DEPTHWISE_CONV_2D, depthwise_conv},
    {tfl::BuiltinOperator_TRANSPOSE_CONV, transpose_conv},
    {tfl::BuiltinOperator_MAX_POOL_2D, pool<true>},
    {tfl::BuiltinOperator_AVERAGE_POOL_2D, pool<false>},
    {tfl::BuiltinOperator_RESIZE_BILINEAR, resize_bilinear},
    {tfl::BuiltinOperator_RESIZE_NEAREST_NEIGHBOR, resize_nearest},
    {tfl::BuiltinOperator_DEPTH_TO_SPACE, depth_to_space},
    {tfl::BuiltinOperator_SPACE_TO_DEPTH, space_to_depth},
    {tfl::BuiltinOperator_PRELU, prelu},
    {tfl::BuiltinOperator_SPACE_TO_BATCH_ND, space_to_batch},
    {tfl::BuiltinOperator_BATCH_TO_SPACE_ND, batch_to_space},
};

}  // namespace

std::span<const TfliteRule> tflite_image_rules() { return kRules; }

}  // namespace stowage
