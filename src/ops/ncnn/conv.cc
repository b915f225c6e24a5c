// SPDX-License-Identifier: Apache-2.0
// ncnn's convolutions. Weights lie as [out][in / group][taps] in the file, those of transposed
// ones, too.
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

constexpr std::int64_t kSameUpper = -233, kSameLower = -234;

/// The numbers of the parameters of one spatial axis; each falls back to that of `w`, padding at
/// the end to padding at the beginning.
struct AxisIds {
  int kernel, dilation, stride, before, after;
};

constexpr AxisIds kW = {1, 2, 3, 4, 15}, kH = {11, 12, 13, 14, 16}, kD = {21, 22, 23, 24, 17};

/// A window along the spatial axes, outermost first.
struct Spatial {
  Ints kernel, dilations, strides, before, after;

  bool all_pads(std::int64_t v) const {
    return std::ranges::count(before, v) + std::ranges::count(after, v) ==
           std::ssize(before) + std::ssize(after);
  }

  Ints pads() const {
    Ints out = before;
    out.insert(out.end(), after.begin(), after.end());
    return out;
  }
};

Spatial spatial_of(const NcnnParams& p, int axes) {
  constexpr std::array<AxisIds, 3> kIds = {kD, kH, kW};
  Spatial s;
  for (std::size_t i = kIds.size() - at(axes); i < kIds.size(); ++i) {
    const AxisIds& id = kIds[i];
    s.kernel.push_back(p.integer(id.kernel, p.integer(kW.kernel, 0)));
    s.dilations.push_back(p.integer(id.dilation, p.integer(kW.dilation, 1)));
    s.strides.push_back(p.integer(id.stride, p.integer(kW.stride, 1)));
    s.before.push_back(p.integer(id.before, p.integer(kW.before, 0)));
    s.after.push_back(p.integer(id.after, s.before.back()));
  }
  return s;
}

/// A blob as a batch of one with channels and `axes` spatial axes. `flat`: a vector is that many
/// channels of one pixel.
ValueId image_of(ImportNode& node, ValueId v, int axes, bool flat) {
  Ints dims = dims_of(node.shape(v));
  const auto need = at(axes) + 1;
  if (dims.size() == 1 && flat) {
    dims.resize(need, 1);
  } else if (dims.size() > need) {
    fail(ErrorCode::bad_input, "its input has ", dims.size(), " dims, not ", need);
  }
  while (dims.size() < need) dims.insert(dims.begin(), 1);
  dims.insert(dims.begin(), 1);
  return node.reshape(v, dims);
}

/// The result of a window as a blob.
ValueId blob_of_image(ImportNode& node, ValueId v, bool flat) {
  Ints dims = extents_of(node.shape(v));
  dims.erase(dims.begin());
  if (flat) dims.resize(1);
  return as_blob(node, v, dims);
}

/// `x` with `value` around it, where the file pads with something else than zero.
ValueId pad_with(ImportNode& node, ValueId x, const Spatial& s, float value, Attributes& attrs) {
  const Shape shape = node.shape(x);
  Ints before = s.before, after = s.after, axes;
  const bool upper = s.all_pads(kSameUpper), lower = s.all_pads(kSameLower);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    axes.push_back(axis);
    if (upper || lower) {
      const std::int64_t stride = std::max<std::int64_t>(s.strides[i], 1);
      const std::int64_t reach = checked_add(checked_mul(s.kernel[i] - 1, s.dilations[i]), 1);
      const std::int64_t total = std::max<std::int64_t>(
          checked_add((shape[axis] - 1) / stride * stride, reach) - shape[axis], 0);
      before[i] = upper ? total / 2 : total - total / 2;
      after[i] = total - before[i];
    }
    if (before[i] < 0 || after[i] < 0) fail(ErrorCode::bad_input, "its padding is negative");
  }
  Ints pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  attrs.set("pads", Ints(pads.size(), 0));
  return node.emit("pad", {x, kNoValue, node.constant(value)}, {{"pads", pads}, {"axes", axes}});
}

void set_window(const Spatial& s, Attributes& attrs) {
  attrs.set("strides", s.strides);
  attrs.set("dilations", s.dilations);
  if (s.all_pads(kSameUpper)) {
    attrs.set("auto_pad", std::string("SAME_UPPER"));
  } else if (s.all_pads(kSameLower)) {
    attrs.set("auto_pad", std::string("SAME_LOWER"));
  } else {
    attrs.set("pads", s.pads());
  }
}

/// Weights that the layer takes as a blob [out][in / group][taps], and, if parameter 5 says that
/// there is one, a bias.
std::vector<ValueId> given_weights(ImportNode& node, const NcnnParams& p, int axes, Spatial& s) {
  const Ints dims = dims_of(node.shape(node.in(1)));
  if (dims.size() != at(axes) + 2) {
    fail(ErrorCode::bad_input, "its weights have ", dims.size(), " dims, not ", axes + 2);
  }
  s.kernel.assign(dims.begin() + 2, dims.end());
  std::vector<ValueId> out = {node.reshape(node.in(1), dims)};
  if (p.flag(5)) {  // whatever its dims are
    out.push_back(node.reshape(node.in(2), {node.shape(node.in(2)).elements()}));
  }
  return out;
}

std::vector<ValueId> weights_of(ImportNode& node, const NcnnParams& p, bool given, int axes,
                                Spatial& s) {
  node.expect(given ? 2 + p.flag(5) : 1, given ? 3 : 1);
  if (given) return given_weights(node, p, axes, s);
  std::vector<ValueId> out;
  for (int i = 0; i < node.weight_count(); ++i) out.push_back(node.weight(i));
  return out;
}

void convolve(ImportNode& node, int axes, bool grouped) {
  const NcnnParams p(node.attrs);
  Spatial s = spatial_of(p, axes);
  std::vector<ValueId> operands = weights_of(node, p, p.flag(19), axes, s);
  const bool flat = dims_of(node.shape(node.in(0))).size() == 1 && axes == 2 &&
                    std::ranges::all_of(s.kernel, [](std::int64_t k) { return k == 1; });
  ValueId x = image_of(node, node.in(0), axes, flat);
  Attributes attrs;
  set_window(s, attrs);
  attrs.set("group", grouped ? p.integer(7, 1) : std::int64_t{1});
  const float value = p.real(18, 0);
  if (value != 0) {
    x = pad_with(node, x, s, value, attrs);
    attrs.erase("auto_pad");
  }
  operands.insert(operands.begin(), x);
  const ValueId y = activate(node, p, node.emit("conv", operands, attrs));
  node.out(blob_of_image(node, y, flat));
}

/// The weights of a transposed convolution as our operator has them: [in][out / group][taps].
ValueId transposed_weights(ImportNode& node, ValueId w, std::int64_t group) {
  Ints e = extents_of(node.shape(w));
  const std::int64_t out = e[0], in = e[1];
  Ints split = {group, out / group, in}, merged = {checked_mul(group, in), out / group};
  Ints perm = {0, 2, 1};
  for (std::size_t i = 2; i < e.size(); ++i) {
    perm.push_back(std::ssize(split));
    split.push_back(e[i]);
    merged.push_back(e[i]);
  }
  return node.reshape(node.emit("transpose", {node.reshape(w, split)}, {{"perm", perm}}), merged);
}

/// What a transposed convolution cuts from the ends of its full result.
void cut_result(const NcnnParams& p, const Shape& x, Spatial& s, const Ints& extra) {
  if (std::ranges::any_of(s.pads(), [](std::int64_t v) { return v > 0; })) return;
  const bool upper = s.all_pads(kSameUpper), lower = s.all_pads(kSameLower);
  const std::int64_t w = p.integer(20, 0), h = p.integer(21, w);
  const bool sized = w > 0 && h > 0;
  if (sized && !upper && !lower) {
    fail(ErrorCode::bad_input,
         "it states the extents of its output without SAME padding, so that "
         "it has none");
  }
  for (std::size_t i = 0; i < s.before.size(); ++i) {
    if (s.before[i] != 0 && !upper && !lower) {
      fail(ErrorCode::bad_input, "its padding is ", s.before[i]);
    }
    if (!sized) {  // SAME without a size cuts nothing
      s.before[i] = s.after[i] = 0;
      continue;
    }
    const std::int64_t reach = checked_add(checked_mul(s.kernel[i] - 1, s.dilations[i]), 1);
    const std::int64_t full = checked_add(
        checked_add(checked_mul(x[static_cast<int>(i) + 2] - 1, s.strides[i]), reach), extra[i]);
    const std::int64_t cut = full - (i + 1 == s.before.size() ? w : h);
    if (cut < 0) fail(ErrorCode::bad_input, "its output is ", -cut, " larger than its full result");
    s.before[i] = upper ? cut / 2 : cut - cut / 2;
    s.after[i] = cut - s.before[i];
  }
}

void deconvolve(ImportNode& node, int axes, bool grouped) {
  const NcnnParams p(node.attrs);
  Spatial s = spatial_of(p, axes);
  std::vector<ValueId> operands = weights_of(node, p, false, axes, s);
  const std::int64_t group = grouped ? p.count(7, 1, 1) : 1;
  if (node.shape(operands[0])[0] % group != 0) {
    fail(ErrorCode::bad_input, group, " groups of ", node.shape(operands[0])[0], " channels");
  }
  operands[0] = transposed_weights(node, operands[0], group);
  const ValueId x = image_of(node, node.in(0), axes, false);
  Ints extra = {p.integer(18, 0)};
  if (axes == 2) extra.insert(extra.begin(), p.integer(19, extra[0]));
  cut_result(p, node.shape(x), s, extra);
  operands.insert(operands.begin(), x);
  Attributes attrs;
  set_window(s, attrs);
  attrs.set("output_padding", extra);
  attrs.set("group", group);
  const ValueId y = activate(node, p, node.emit("conv_transpose", operands, attrs));
  node.out(blob_of_image(node, y, false));
}

}  // namespace

void convolution(ImportNode& node) { convolve(node, 2, false); }

void convolution_depth_wise(ImportNode& node) { convolve(node, 2, true); }

void convolution_1d(ImportNode& node) { convolve(node, 1, false); }

void convolution_depth_wise_1d(ImportNode& node) { convolve(node, 1, true); }

void convolution_3d(ImportNode& node) { convolve(node, 3, false); }

void convolution_depth_wise_3d(ImportNode& node) { convolve(node, 3, true); }

void deconvolution(ImportNode& node) { deconvolve(node, 2, false); }

void deconvolution_depth_wise(ImportNode& node) { deconvolve(node, 2, true); }

void deconvolution_1d(ImportNode& node) { deconvolve(node, 1, false); }

void deconvolution_depth_wise_1d(ImportNode& node) { deconvolve(node, 1, true); }

}  // namespace stowage::ncnn
