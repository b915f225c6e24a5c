// SPDX-License-Identifier: Apache-2.0
#include "ops/box_copy/box_copy.h"

#include <algorithm>

#include "ops/shapes.h"

namespace stowage {

Layout same_position_layout(const Shape& from, const Shape& to, const Layout& layout) {
  return layout.renamed(from.axes(), to.axes());
}

std::vector<Layout> position_layouts(const OfferRequest& request) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  std::vector<Layout> layouts;
  if (x.rank() != y.rank()) return layouts;
  const auto add = [&](const Layout& l) {
    if (places(l, y) && places(same_position_layout(y, x, l), x) &&
        std::ranges::find(layouts, l) == layouts.end()) {
      layouts.push_back(l);
    }
  };
  for (const Layout& l : request.candidates(node.node().outputs[0])) add(l);
  for (const Layout& l : request.candidates(node.node().inputs[0])) {
    add(same_position_layout(x, y, l));
  }
  return layouts;
}

void for_each_copy(const OfferRequest& request, CopyParams& params,
                   const std::function<void(Offer)>& add) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (x.elements() == 0 || y.elements() == 0) return;
  const int size = dtype_bytes(node.dtype(0));
  for (const Layout& layout : position_layouts(request)) {
    params.to = params.written = Mapping(layout, y, size);
    params.from = Mapping(same_position_layout(y, x, layout), x, size);
    Offer offer;
    offer.in = {params.from.layout()};
    for (int i = 1; i < node.input_count(); ++i) {
      offer.in.push_back(node.has(i) ? Layout::row_major(node.shape(i)) : Layout());
    }
    offer.out = {layout};
    add(std::move(offer));
  }
}

void weigh_copy(const NodeRef& node, const CopyParams& params, const BoxCopy& copy, Offer& offer) {
  offer.pieces = copy.pieces();
  const auto from = static_cast<double>(params.from.bytes()),
             to = static_cast<double>(params.to.bytes());
  offer.extra_bytes = std::min(to - from, 0.0);
  if (node.constant(0) != nullptr) offer.extra_weight_bytes = offer.extra_bytes;
}

}  // namespace stowage
