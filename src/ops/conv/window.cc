// SPDX-License-Identifier: Apache-2.0
// Checks and arithmetic of sliding windows.
#include "ops/conv/window.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/text.h"

namespace stowage {

namespace {

Ints spatial_ints(const NodeRef& node, std::string_view name, int rank, int count,
                  std::int64_t otherwise, std::int64_t least) {
  Ints v = node.attrs().integers(name);
  if (v.empty()) v.assign(static_cast<std::size_t>(rank * count), otherwise);
  if (static_cast<int>(v.size()) != rank * count) {
    fail(ErrorCode::bad_input, name, " has ", v.size(), " entries where ", rank * count,
         " are needed for ", rank, " spatial axes");
  }
  for (const std::int64_t x : v) {
    if (x < least || x > (std::int64_t{1} << 31)) {
      fail(ErrorCode::bad_input, name, " is ", std::span<const std::int64_t>(v), "; at least ",
           least, " is needed");
    }
  }
  return v;
}

std::string auto_pad_of(const Attributes& attrs) {
  const std::string value = attrs.string("auto_pad", "NOTSET");
  for (const char* known : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    if (value == known) return value;
  }
  fail(ErrorCode::bad_input, "auto_pad is '", value,
       "'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known");
}

}  // namespace

int check_spatial_rank(const NodeRef& node) {
  const int rank = node.rank(0) - 2;
  if (rank < 1) {
    fail(ErrorCode::bad_input, "the input has rank ", node.rank(0),
         "; batch, channels and at least one spatial axis are needed");
  }
  if (rank > 3) fail(ErrorCode::unsupported, rank, " spatial axes; at most 3 are supported");
  if (node.attrs().has("kernel_shape")) {
    spatial_ints(node, "kernel_shape", rank, 1, 1, 1);
  }
  return rank;
}

Ints infer_window(const InferRef& node, const Ints& kernel, bool ceil_mode) {
  const int rank = static_cast<int>(kernel.size());
  const Shape& in = node.shape(0);
  const Ints strides = spatial_ints(node, "strides", rank, 1, 1, 1);
  const Ints dilations = spatial_ints(node, "dilations", rank, 1, 1, 1);
  Ints pads = spatial_ints(node, "pads", rank, 2, 0, 0);
  const std::string auto_pad = auto_pad_of(node.attrs());
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (auto_pad == "VALID") std::fill(pads.begin(), pads.end(), 0);
  Ints out;
  for (int i = 0; i < rank; ++i) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + rank);
    const std::int64_t extent = in[i + 2], stride = strides[a];
    const std::int64_t reach = checked_add(checked_mul(kernel[a] - 1, dilations[a]), 1);
    if (same) {
      const std::int64_t steps = ceil_div(extent, stride);
      const std::int64_t total =
          std::max<std::int64_t>(checked_add(checked_mul(steps - 1, stride), reach) - extent, 0);
      pads[a] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[b] = total - pads[a];
    }
    const std::int64_t padded = checked_add(checked_add(extent, pads[a]), pads[b]);
    const bool ceils = ceil_mode && !same && extent + pads[a] > 0;
    if (padded < reach && (!ceils || reach - padded >= stride)) {
      fail(ErrorCode::bad_input, "a window of ", reach, " does not fit into spatial axis ", i,
           " of extent ", extent, " with ", pads[a] + pads[b], " of padding");
    }
    // The last window may be partly outside if it begins inside; a window too long is one.
    const std::int64_t rest = padded - reach;
    std::int64_t steps = rest / stride + 1;
    if (ceils && rest > 0 && rest % stride != 0 && steps * stride < extent + pads[a]) ++steps;
    out.push_back(steps);
  }
  node.set_fact("strides", strides);
  node.set_fact("dilations", dilations);
  node.set_fact("pads", pads);
  node.set_fact("kernel_shape", kernel);
  return out;
}

Ints infer_transposed_window(const InferRef& node, const Ints& kernel) {
  const Attributes& attrs = node.attrs();
  const int rank = static_cast<int>(kernel.size());
  const Shape& in = node.shape(0);
  const Ints strides = spatial_ints(node, "strides", rank, 1, 1, 1);
  const Ints dilations = spatial_ints(node, "dilations", rank, 1, 1, 1);
  const Ints extra = spatial_ints(node, "output_padding", rank, 1, 0, 0);
  Ints pads = spatial_ints(node, "pads", rank, 2, 0, 0);
  const std::string auto_pad = auto_pad_of(attrs);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (auto_pad == "VALID") std::fill(pads.begin(), pads.end(), 0);
  const bool stated = !attrs.integers("output_shape").empty();
  Ints shape = spatial_ints(node, "output_shape", rank, 1, 1, 1);
  Ints out;
  for (int i = 0; i < rank; ++i) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + rank);
    const std::int64_t extent = in[i + 2];
    if (extent < 1) fail(ErrorCode::bad_input, "spatial axis ", i, " of the input is empty");
    if (kernel[a] < 1) fail(ErrorCode::bad_input, "spatial axis ", i, " of the weights is empty");
    const std::int64_t reach = checked_add(checked_mul(kernel[a] - 1, dilations[a]), 1);
    const std::int64_t full =
        checked_add(checked_add(checked_mul(strides[a], extent - 1), extra[a]), reach);
    if (stated || same) {
      if (!stated) shape[a] = checked_mul(extent, strides[a]);
      const std::int64_t total = full - shape[a];
      const std::int64_t less = std::max<std::int64_t>(total, 0) / 2;
      pads[a] = auto_pad == "SAME_UPPER" ? less : std::max<std::int64_t>(total, 0) - less;
      pads[b] = std::max<std::int64_t>(total, 0) - pads[a];
      out.push_back(shape[a]);
    } else {
      out.push_back(full - pads[a] - pads[b]);
    }
    if (out.back() < 1) {
      fail(ErrorCode::bad_input, "padding of ", pads[a] + pads[b],
           " leaves nothing of spatial axis ", i, " of the output");
    }
  }
  node.set_fact("strides", strides);
  node.set_fact("dilations", dilations);
  node.set_fact("pads", pads);
  return out;
}

Window window_of(const Attributes& facts, std::span<const std::int64_t> kernel, const Shape& in,
                 const Shape& out) {
  Window w;
  const auto rank = kernel.size();
  const Ints strides = facts.integers("strides"), dilations = facts.integers("dilations"),
             pads = facts.integers("pads");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t to = 3 - rank + i;
    w.in[to] = in[static_cast<int>(i) + 2];
    w.out[to] = out[static_cast<int>(i) + 2];
    w.kernel[to] = kernel[i];
    w.stride[to] = strides[i];
    w.dilation[to] = dilations[i];
    w.pad_begin[to] = pads[i];
    w.pad_end[to] = pads[i + rank];
  }
  return w;
}

void name_spatial(const NodeRef& node, AxisLinks& links, ValueId value, std::string_view first,
                  std::string_view second) {
  if (value == kNoValue) return;
  const int rank = node.graph().value(value).shape.rank();
  if (rank < 3 || rank > 5) return;
  static constexpr std::string_view kSpatial[] = {"d", "h", "w"};
  links.name(value, 0, first);
  links.name(value, 1, second);
  for (int i = 2; i < rank; ++i) links.name(value, i, kSpatial[i + 3 - rank]);
}

void link_convolution(const NodeRef& node, AxisLinks& links, std::string_view first,
                      std::string_view second) {
  const Node& n = node.node();
  name_spatial(node, links, n.inputs[0], "n", "c");
  name_spatial(node, links, n.inputs[1], first, second);
  name_spatial(node, links, n.outputs[0], "n", "c");
  links.link(n.inputs[0], 0, n.outputs[0], 0);
}

}  // namespace stowage
