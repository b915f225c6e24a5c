// SPDX-License-Identifier: Apache-2.0
// ncnn's Interp, PixelShuffle and Reorg.
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

enum Mode : std::int64_t { kNearest = 1, kLinear = 2, kCubic = 3 };

/// The extent that an axis gets: as said, else scaled and rounded down.
std::int64_t resized(std::int64_t said, std::int64_t extent, float scale) {
  if (said < 0) fail(ErrorCode::bad_input, "its output has an extent of ", said);
  if (said > 0) return said;
  const float size = static_cast<float>(extent) * scale;
  if (!(size >= 1 && size < 0x1p31f)) {
    fail(ErrorCode::bad_input, "an axis of ", extent, " is scaled by ", scale);
  }
  return static_cast<std::int64_t>(size);
}

}  // namespace

void interp(ImportNode& node) {
  const NcnnParams p(node.attrs);
  if (p.has(9)) fail(ErrorCode::unsupported, "a size that is an expression (parameter 9)");
  const bool like = node.input_count() == 2;
  node.expect(1, 2);
  const ValueId x = node.in(0);
  const Shape shape = node.shape(x);
  const std::size_t dims = dims_of(shape).size();
  const Sizes from = sizes_of(shape);
  const float h_scale = p.real(1, 1), w_scale = p.real(2, 1);
  const Sizes other = like ? sizes_of(node.shape(node.in(1))) : Sizes();
  // Either both are said, or scales count.
  std::int64_t said_h = like ? other.h : p.integer(3, 0);
  std::int64_t said_w = like ? other.w : p.integer(4, 0);
  if (said_h == 0 || said_w == 0) said_h = said_w = 0;
  if (dims == 1) {  // every element becomes a plane
    const Ints plane = {1, from.w, resized(said_h, 1, h_scale), resized(said_w, 1, w_scale)};
    return node.out(node.emit("expand", {node.reshape(x, {1, from.w, 1, 1})}, {{"shape", plane}}));
  }
  const std::int64_t mode = p.integer(0, 0);
  if (mode < kNearest || mode > kCubic) fail(ErrorCode::bad_input, "its type is ", mode);
  Ints sizes = extents_of(shape);
  sizes.back() = resized(said_w, from.w, w_scale);
  if (dims > 2) sizes[sizes.size() - 2] = resized(said_h, from.h, h_scale);
  Attributes attrs;
  constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
  attrs.set("mode", std::string(kModes[mode - kNearest]));
  attrs.set("nearest_mode", std::string("floor"));
  const bool corners = p.flag(6) && mode != kNearest;
  attrs.set("coordinate_transformation_mode", std::string(mode == kNearest ? "asymmetric"
                                                          : corners        ? "align_corners"
                                                                           : "half_pixel"));
  if (mode == kNearest && !like && said_h == 0 && said_w == 0) {
    // Pixels are found by the scale that is said, not by the quotient of the sizes.
    Floats scales(sizes.size(), 1.0f);
    scales.back() = w_scale;
    if (dims > 2) scales[scales.size() - 2] = h_scale;
    attrs.set("scales", scales);
  } else {
    attrs.set("sizes", sizes);
  }
  node.out(node.emit("resize", {x}, attrs));
}

namespace {

void blocks(ImportNode& node, std::string_view op) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  if (node.shape(node.in(0)).rank() != 4) fail(ErrorCode::bad_input, "its input is no c h w");
  const std::string mode = p.flag(1) ? "DCR" : "CRD";
  node.out(node.emit(op, {node.in(0)}, {{"blocksize", p.integer(0, 1)}, {"mode", mode}}));
}

}  // namespace

void pixel_shuffle(ImportNode& node) { blocks(node, "depth_to_space"); }

void reorg(ImportNode& node) { blocks(node, "space_to_depth"); }

}  // namespace stowage::ncnn
