// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"

#include <algorithm>

#include "kernels/elementwise/map.h"
#include "kernels/layouts.h"
#include "ops/device/device_offer.h"
#include "ops/shapes.h"

namespace stowage {

std::vector<Layout> elementwise_layouts(const OfferRequest& request) {
  const NodeRef& node = request.node;
  const Shape& out = node.output().shape;
  std::vector<Layout> layouts;
  const auto add = [&](const Layout& l) {
    if (std::ranges::find(layouts, l) == layouts.end()) layouts.push_back(l);
  };
  for (const Layout& l : request.candidates(node.node().outputs[0])) add(l);
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has(i) || !same_extents(node.shape(i), out)) continue;
    for (const Layout& l : request.candidates(node.node().inputs[at(i)])) {
      add(l.renamed(node.shape(i).axes(), out.axes()));
    }
  }
  return layouts;
}

Follower broadcast_follower(const NodeRef& node, int input, const Layout& out) {
  const Shape &shape = node.shape(input), &whole = node.output().shape;
  const int shift = whole.rank() - shape.rank();
  std::array<int, kMaxRank> axis{-1, -1, -1, -1, -1, -1, -1, -1};
  std::vector<Axis> dropped, from, to;
  for (int i = 0; i < whole.rank(); ++i) {
    if (i >= shift && shape[i - shift] == whole[i]) {
      axis[at(i)] = i - shift;
      from.push_back(whole.axis(i));
      to.push_back(shape.axis(i - shift));
    } else {
      dropped.push_back(whole.axis(i));
    }
  }
  const Layout layout = out.without(dropped).renamed(from, to);
  return {Mapping(layout, shape, dtype_bytes(node.dtype(input))), axis};
}

namespace {

bool all_f32(const NodeRef& node, int count) {
  for (int i = 0; i < count; ++i) {
    if (node.dtype(i) != DType::f32) return false;
  }
  return node.output().dtype == DType::f32;
}

/// The offer's layouts, and the operands' mappings for its kernel.
Offer start_offer(const NodeRef& node, const Layout& layout, int count,
                  std::vector<Follower>& operands) {
  Offer offer;
  offer.out = {layout};
  for (int i = 0; i < node.input_count(); ++i) {
    if (i >= count || !node.has(i)) {
      offer.in.push_back(node.has(i) ? Layout::row_major(node.shape(i)) : Layout());
      continue;
    }
    operands.push_back(broadcast_follower(node, i, layout));
    offer.in.push_back(operands.back().mapping.layout());
    if (offer.in_place < 0 && same_extents(node.shape(i), node.output().shape)) offer.in_place = i;
  }
  offer.flops = 4 * static_cast<double>(node.output().shape.elements());
  offer.efficiency = 0.25;
  return offer;
}

/// On the device, as it keeps what it computes and in the order of the file.
void offer_map(const OfferRequest& request, std::vector<Offer>& out, const MapParams& params) {
  const NodeRef& node = request.node;
  const Shape& y = node.output().shape;
  // OpenCL promises 1024 bytes of arguments, and a buffer takes 96 of them.
  constexpr int kMostOperands = 8;
  if (!request.target.device || !has_map(params.function.fn) || y.elements() == 0 ||
      params.operands > kMostOperands) {
    return;
  }
  const double flops = 4.0 * params.operands * static_cast<double>(y.elements());
  const auto add = [&](bool plain) {
    DeviceOffer offer(request);
    const Layout layout = plain ? Layout::row_major(y) : texels(y);
    offer.out(layout);
    // Texels of a constant go as those of the result do.
    const Axis along = plain ? Axis("a") : layout.items().back().axis;
    for (int i = 0; i < params.operands; ++i) {
      const Shape& x = node.shape(i);
      if (plain) {
        offer.in(i, Layout::row_major(x));
      } else {
        const int axis = y.index_of(along) - (y.rank() - x.rank());
        offer.in_texels(i, axis < 0 || x[axis] == 1 ? -1 : axis);
      }
    }
    offer.add(kMap, params, flops, 0.5, out);
  };
  add(true);
  if (y.rank() > 0) add(false);
}

}  // namespace

void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       const Function& function, int count) {
  const NodeRef& node = request.node;
  if (!all_f32(node, count)) return;
  offer_map(request, out, {function, count, 1});
  for (const Layout& layout : elementwise_layouts(request)) {
    ElementwiseParams params;
    Offer offer = start_offer(node, layout, count, params.operands);
    params.function = function;
    params.out = Mapping(layout, node.output().shape, sizeof(float));
    offer.call = {*node.node().op->kernels[0], std::move(params)};
    out.push_back(std::move(offer));
  }
}

void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       const Function& function) {
  offer_elementwise(request, out, function, request.node.input_count());
}

void offer_chain(const OfferRequest& request, std::vector<Offer>& out, Fn fn, float scale) {
  const NodeRef& node = request.node;
  const int count = node.input_count();
  if (!all_f32(node, count)) return;
  offer_map(request, out, {{fn, 0, 0}, count, scale});
  for (const Layout& layout : elementwise_layouts(request)) {
    ChainParams params;
    Offer offer = start_offer(node, layout, count, params.operands);
    // Later operands are read after the output has been written.
    if (count > 2 && offer.in_place > 0) offer.in_place = -1;
    params.fn = fn;
    params.scale = scale;
    params.out = Mapping(layout, node.output().shape, sizeof(float));
    offer.call = {*node.node().op->kernels[0], std::move(params)};
    out.push_back(std::move(offer));
  }
}

}  // namespace stowage
