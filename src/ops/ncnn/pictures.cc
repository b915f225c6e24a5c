// SPDX-License-Identifier: Apache-2.0
// ncnn's Interp, PixelShuffle and Reorg.
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/expression.h"
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

/// What an Interp makes of an axis.
struct ResizedAxis {
  std::int64_t in = 1, out = 1;
  float scale = 1;
  bool by_size = false;  ///< steps are in / out, not 1 / scale
};

}  // namespace

void interp(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const Ints computed = p.has(9) ? evaluate(node, p, 9) : Ints();
  if (computed.size() > 2) fail(ErrorCode::bad_input, "it computes ", computed.size(), " extents");
  const bool like = computed.empty() && node.input_count() == 2;
  node.expect(1, computed.empty() ? 2 : kAnyNumber);
  const ValueId x = node.in(0);
  const Shape shape = node.shape(x);
  const std::size_t dims = dims_of(shape).size();
  const Sizes from = sizes_of(shape);
  const float h_scale = p.real(1, 1), w_scale = p.real(2, 1);
  const Sizes other = like ? sizes_of(node.shape(node.in(1))) : Sizes();
  // Either both are said, or scales count.
  std::int64_t said_h = like ? other.h : p.integer(3, 0);
  std::int64_t said_w = like ? other.w : p.integer(4, 0);
  if (!computed.empty()) {  // w, h
    said_w = computed[0];
    said_h = computed.size() > 1 ? computed[1] : from.h;
  }
  if (said_h == 0 || said_w == 0) said_h = said_w = 0;
  if (dims == 1) {  // every element becomes a plane
    const Ints plane = {1, from.w, resized(said_h, 1, h_scale), resized(said_w, 1, w_scale)};
    return node.out(node.emit("expand", {node.reshape(x, {1, from.w, 1, 1})}, {{"shape", plane}}));
  }
  const std::int64_t mode = p.integer(0, 0);
  if (mode < kNearest || mode > kCubic) fail(ErrorCode::bad_input, "its type is ", mode);
  const bool corners = p.flag(6) && mode != kNearest;
  // A size that the file states makes the step of its axis the quotient of the sizes, also where
  // the other axis is missing, so that scales make the output.
  const bool by_size = like || !computed.empty() || corners;
  const auto axis = [&](int id, std::int64_t said, std::int64_t in, float scale) {
    ResizedAxis a{in, resized(said, in, scale), scale};
    a.by_size = by_size || p.integer(id, 0) != 0 || (mode == kLinear && a.out == in);
    return a;
  };
  const ResizedAxis w = axis(4, said_w, from.w, w_scale);
  const ResizedAxis h =
      dims > 2 ? axis(3, said_h, from.h, h_scale) : ResizedAxis{from.h, from.h, 1, true};
  const bool same = w.in == w.out && h.in == h.out;
  if (same && (mode != kCubic || ((w.by_size || w.scale == 1) && (h.by_size || h.scale == 1)))) {
    return node.out(x);
  }
  Attributes attrs;
  constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
  attrs.set("mode", std::string(kModes[mode - kNearest]));
  attrs.set("nearest_mode", std::string("floor"));
  attrs.set("coordinate_transformation_mode", std::string(mode == kNearest ? "asymmetric_product"
                                                          : corners        ? "align_corners"
                                                                           : "half_pixel"));
  // Sizes and scales exclude each other: two steps where an axis has the one, another the other.
  const auto resize = [&](ValueId v, bool sizes) {
    Ints extents = extents_of(node.shape(v));
    Floats scales(extents.size(), 1.0f);
    const auto set = [&](const ResizedAxis& a, std::size_t from_end) {
      if (a.by_size != sizes) return;
      extents[extents.size() - from_end] = a.out;
      scales[scales.size() - from_end] = a.scale;
    };
    set(w, 1);
    if (dims > 2) set(h, 2);
    if (sizes && extents == extents_of(node.shape(v))) return v;
    Attributes with = attrs;
    if (sizes) {
      with.set("sizes", extents);
    } else {
      with.set("scales", scales);
    }
    return node.emit("resize", {v}, with);
  };
  ValueId y = resize(x, true);
  if (!w.by_size || !h.by_size) y = resize(y, false);
  node.out(y);
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
