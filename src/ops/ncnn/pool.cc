// SPDX-License-Identifier: Apache-2.0
// ncnn's Pooling: windows whose last one may be partly outside, over everything, or as many as the
// output has pixels.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

enum PadMode : std::int64_t { kFull = 0, kValid = 1, kSameUpper = 2, kSameLower = 3 };

/// The parameters of one axis of the window.
struct AxisIds {
  int kernel, stride, before, after, size;
};

constexpr AxisIds kW = {1, 2, 3, 14, 8}, kH = {11, 12, 13, 15, 18};

struct Pool {
  std::string_view op, reduction;
  Ints kernel, strides, before, after;  // of the spatial axes, outermost first
};

std::vector<AxisIds> ids_of(int axes) {
  return axes == 1 ? std::vector<AxisIds>{kW} : std::vector<AxisIds>{kH, kW};
}

/// The result of Pooling in mode full: windows begin while any element is left.
void fill_up(const Shape& x, Pool& pool) {
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    if (pool.strides[i] < 1) fail(ErrorCode::bad_input, "its stride is ", pool.strides[i]);
    const std::int64_t padded =
        checked_add(checked_add(x[static_cast<int>(i) + 2], pool.before[i]), pool.after[i]);
    const std::int64_t rest = padded - pool.kernel[i];
    if (rest < 0 || rest % pool.strides[i] == 0) continue;
    pool.after[i] = checked_add(pool.after[i], pool.strides[i] - rest % pool.strides[i]);
  }
}

/// Output pixel i sees input pixels floor(i * in / out) up to ceil((i + 1) * in / out).
ValueId adapt(ImportNode& node, const Pool& pool, ValueId x, int axis, std::int64_t out) {
  const std::int64_t in = node.shape(x)[axis];
  if (out < 1) fail(ErrorCode::bad_input, "its output has ", out, " pixels along an axis");
  if (out > (1 << 12)) fail(ErrorCode::limit, "adaptive pooling to ", out, " pixels along an axis");
  if (in == out) return x;
  const auto reduce = [&](ValueId v) {
    return node.emit(pool.reduction, {v}, {{"axes", Ints{axis}}, {"keepdims", std::int64_t{1}}});
  };
  if (out == 1) return reduce(x);
  // Windows as rows of one length; the last pixel of a shorter one stands there more than once.
  const std::int64_t length = ceil_div(in, out) + 1;
  constexpr std::int64_t kMostPixels = 1 << 24;
  if (checked_mul(out, length) > kMostPixels) {
    fail(ErrorCode::limit, "adaptive pooling of ", in, " pixels to ", out);
  }
  Tensor pixels(DType::i64, Shape("a", {checked_mul(out, length)}));
  Ints weighted(at(node.shape(x).rank()) + 1, 1);
  weighted[at(axis)] = out;
  weighted[at(axis) + 1] = length;
  Tensor weights(DType::f32, Shape::unnamed(weighted));
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t begin = i * in / out, count = ceil_div((i + 1) * in, out) - begin;
    for (std::int64_t k = 0; k < length; ++k) {
      const auto of_window =
          static_cast<float>(k + 1 < count ? count : count * (length - count + 1));
      pixels.as<std::int64_t>()[at(i * length + k)] = begin + std::min(k, count - 1);
      weights.as<float>()[at(i * length + k)] = 1 / of_window;
    }
  }
  Ints rows = extents_of(node.shape(x)), merged = rows;
  rows[at(axis)] = out;
  rows.insert(rows.begin() + axis + 1, length);
  merged[at(axis)] = out;
  ValueId y = node.reshape(
      node.emit("gather", {x, node.constant(std::move(pixels))}, {{"axis", std::int64_t{axis}}}),
      rows);
  const bool mean = pool.reduction == "reduce_mean";
  if (mean) y = node.emit("mul", {y, node.constant(std::move(weights))});
  y = node.emit(mean ? "reduce_sum" : pool.reduction, {y},
                {{"axes", Ints{axis + 1}}, {"keepdims", std::int64_t{1}}});
  return node.reshape(y, merged);
}

/// Where the windows are alike, they are those of a plain pool.
ValueId adaptive(ImportNode& node, const NcnnParams& p, const Pool& pool, ValueId x, int axes) {
  const Shape shape = node.shape(x);
  Ints sizes, kernel;
  for (int i = 0; i < axes; ++i) {
    const std::int64_t in = shape[i + 2];
    const std::int64_t said = p.integer(ids_of(axes)[at(i)].size, p.integer(kW.size, 0));
    sizes.push_back(said == NcnnParams::kNone ? in : said);
    const std::int64_t out = sizes.back();
    if (out > 0 && in % out == 0) kernel.push_back(in / out);
  }
  if (kernel.size() == sizes.size()) {
    return node.emit(pool.op, {x}, {{"kernel_shape", kernel}, {"strides", kernel}});
  }
  // A mean over a rectangle is a mean of means over its rows; so is a maximum.
  for (int i = 0; i < axes; ++i) x = adapt(node, pool, x, i + 2, sizes[at(i)]);
  return x;
}

bool states_pads(const Pool& pool) {
  const auto stated = [](std::int64_t v) { return v != 0; };
  return std::ranges::any_of(pool.before, stated) || std::ranges::any_of(pool.after, stated);
}

/// A mean that pads as SAME says and leaves out as many pixels at the ends of the result as the
/// file states as its padding.
ValueId stated_within_same(ImportNode& node, const Pool& pool, ValueId x, bool upper) {
  const Shape shape = node.shape(x);
  Ints before, after, axes, starts, ends, pads = pool.before;
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    const std::int64_t in = shape[static_cast<int>(i) + 2];
    if (pool.strides[i] < 1) fail(ErrorCode::bad_input, "its stride is ", pool.strides[i]);
    if (pool.before[i] < 0 || pool.after[i] < 0) {
      fail(ErrorCode::bad_input, "its padding is negative");
    }
    const std::int64_t total = std::max<std::int64_t>(
        checked_add((in - 1) / pool.strides[i] * pool.strides[i], pool.kernel[i]) - in, 0);
    before.push_back(upper ? total / 2 : total - total / 2);
    after.push_back(total - before.back());
    axes.push_back(static_cast<std::int64_t>(i) + 2);
    starts.push_back(pool.before[i]);
    ends.push_back(in + total - pool.after[i]);
    if (ends.back() <= starts.back()) fail(ErrorCode::bad_input, "its padding leaves no pixel");
  }
  before.insert(before.end(), after.begin(), after.end());
  x = node.emit("pad", {x}, {{"pads", before}, {"axes", axes}});
  x = node.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
  pads.insert(pads.end(), pool.after.begin(), pool.after.end());
  return node.emit(pool.op, {x},
                   {{"pads", pads}, {"kernel_shape", pool.kernel}, {"strides", pool.strides}});
}

ValueId windows(ImportNode& node, const NcnnParams& p, Pool& pool, ValueId x, int axes) {
  for (const AxisIds& id : ids_of(axes)) {
    pool.kernel.push_back(p.integer(id.kernel, p.integer(kW.kernel, 0)));
    pool.strides.push_back(p.integer(id.stride, p.integer(kW.stride, 1)));
    pool.before.push_back(p.integer(id.before, p.integer(kW.before, 0)));
  }
  // The end of h is as its beginning, that of w as the beginning of w.
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    pool.after.push_back(p.integer(ids_of(axes)[i].after, pool.before[i]));
  }
  Attributes attrs;
  const std::int64_t mode = p.integer(5, kFull);
  const bool same = mode == kSameUpper || mode == kSameLower;
  if (same && pool.op == "average_pool" && !p.flag(6) && states_pads(pool)) {
    return stated_within_same(node, pool, x, mode == kSameUpper);
  }
  if (same) {
    attrs.set("auto_pad", std::string(mode == kSameUpper ? "SAME_UPPER" : "SAME_LOWER"));
  } else if (mode == kFull || mode == kValid) {
    if (mode == kFull) fill_up(node.shape(x), pool);
    Ints pads = pool.before;
    pads.insert(pads.end(), pool.after.begin(), pool.after.end());
    attrs.set("pads", pads);
  } else {
    fail(ErrorCode::bad_input, "its pad mode is ", mode);
  }
  attrs.set("kernel_shape", pool.kernel);
  attrs.set("strides", pool.strides);
  // What SAME pads counts in any case.
  if (pool.op == "average_pool") attrs.set("count_include_pad", std::int64_t{same || p.flag(6)});
  return node.emit(pool.op, {x}, attrs);
}

void pool_over(ImportNode& node, int axes) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const std::int64_t type = p.integer(0, 0);
  if (type != 0 && type != 1) fail(ErrorCode::bad_input, "its type is ", type);
  Pool pool{type == 0 ? "max_pool" : "average_pool", type == 0 ? "reduce_max" : "reduce_mean"};
  Ints dims = dims_of(node.shape(node.in(0)));
  const auto need = at(axes) + 1;
  if (dims.size() > need || (dims.size() < 2)) {
    fail(ErrorCode::bad_input, "its input has ", dims.size(), " dims, not ", need);
  }
  while (dims.size() < need) dims.insert(dims.begin(), 1);
  Ints image = dims;
  image.insert(image.begin(), 1);
  const ValueId x = node.reshape(node.in(0), image);
  if (p.flag(4)) {
    const ValueId y = node.emit(pool.op, {x}, {{"global", std::int64_t{1}}});
    return node.out(as_blob(node, y, {dims[0]}));
  }
  const ValueId y = p.flag(7) ? adaptive(node, p, pool, x, axes) : windows(node, p, pool, x, axes);
  Ints out = extents_of(node.shape(y));
  out.erase(out.begin());
  node.out(as_blob(node, y, out));
}

}  // namespace

void pooling(ImportNode& node) { pool_over(node, 2); }

void pooling_1d(ImportNode& node) { pool_over(node, 1); }

}  // namespace stowage::ncnn
