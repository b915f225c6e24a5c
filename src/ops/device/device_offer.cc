// SPDX-License-Identifier: Apache-2.0
#include "ops/device/device_offer.h"

#include <algorithm>

#include "base/index.h"
#include "kernels/layouts.h"
#include "ops/relabel.h"

namespace stowage {

DeviceOffer::DeviceOffer(const OfferRequest& request)
    : node_(request.node), device_(*request.target.device) {
  const Node& n = node_.node();
  for (const ValueId v : n.inputs) {
    offer_.in.push_back(v == kNoValue ? Layout() : Layout::row_major(node_.graph().value(v).shape));
  }
  offer_.out.resize(n.outputs.size());
}

void DeviceOffer::place(const Value& value, const Layout& layout, Operand& operand) {
  const auto there = device_.operand(value, layout);
  fits_ &= there.has_value() && (takes_bytes_ || value.dtype == DType::f32);
  if (there) operand = *there;
}

void DeviceOffer::in(int i, const Layout& layout) {
  place(node_.graph().value(node_.node().inputs[idx(i)]), layout, offer_.in[idx(i)]);
}

void DeviceOffer::in_texels(int i, int axis) {
  const Value& value = node_.graph().value(node_.node().inputs[idx(i)]);
  if (value.shape.rank() == 0) {
    in(i, Layout::row_major(value.shape));
  } else {
    const bool along = value.constant != nullptr && axis >= 0;
    in(i, along ? texels_along(value.shape, axis) : texels(value.shape));
  }
}

void DeviceOffer::out(const Layout& layout, int o) {
  if (node_.has_output(o)) place(node_.output(o), layout, offer_.out[idx(o)]);
}

void DeviceOffer::posts() {
  const Shape& y = node_.output().shape;
  for (const Post& post : node_.node().posts) {
    if (post.input < 0) continue;
    const Shape& shape = node_.operand(post).shape;
    if (post.broadcast == Post::Broadcast::none) {
      in(post.input, offer_.out[0].layout.renamed(y.axes(), shape.axes()));
      continue;
    }
    int axis = 0;
    while (axis + 1 < shape.rank() && shape[axis] == 1) ++axis;
    in_texels(post.input, axis);
  }
}

void offer_device_move(const OfferRequest& request, const MoveParams& params,
                       std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  if (!request.target.device || node.output().shape.elements() == 0) return;
  const Shape &x = node.shape(0), &y = node.output().shape;
  for (const bool plain : {false, true}) {
    if (!plain && (x.rank() == 0 || y.rank() == 0)) continue;
    DeviceOffer offer(request);
    // What fills is a float.
    if (params.outside != MoveParams::Outside::fill) offer.takes_bytes();
    offer.in(0, plain ? Layout::row_major(x) : texels(x));
    offer.out(plain ? Layout::row_major(y) : texels(y));
    offer.add(kMove, params, 0, 1, offers);
  }
}

MoveParams::Coordinate along(int axis, std::int64_t begin, std::int64_t step) {
  return {begin, {{axis, 1, 0, step}}, {}};
}

namespace {

bool has_gaps(const Layout& layout) {
  return std::ranges::any_of(layout.items(), [](const Layout::Item& i) { return i.align != 1; });
}

/// The image under which the bytes of `from` are `texels(y)`: its rows must be as long.
bool same_texels(const Layout& from, const Shape& x, const Layout& to, const Shape& y) {
  if (!from.is_image() || has_gaps(from)) return false;
  const auto seen = relabelled(*linear_layout(from), x, y);
  if (!seen) return false;
  const Mapping a(from, x, 1), b(to, y, 1);
  return a.extent(Space::x) == b.extent(Space::x) &&
         Mapping(*seen, y, 1).same_bytes(Mapping(*linear_layout(to), y, 1));
}

}  // namespace

void offer_device_relabels(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  if (!request.target.device || node.output_count() != 1) return;
  const Value &x = node.input(0), &y = node.output();
  const auto add = [&](const Layout& from, const Layout& to) {
    const auto in = request.target.device->operand(x, from);
    const auto out = request.target.device->operand(y, to);
    if (!in || !out || in->place != out->place) return;
    for (const Offer& o : offers) {
      if (o.relabel && o.in[0] == *in && o.out[0] == *out) return;
    }
    Offer offer;
    offer.in = {*in};
    offer.out = {*out};
    offer.relabel = true;
    offers.push_back(std::move(offer));
  };
  add(Layout::row_major(x.shape), Layout::row_major(y.shape));
  if (x.shape.rank() == 0 || y.shape.rank() == 0) return;
  for (const Operand& from : request.device_candidates(node.node().inputs[0])) {
    if (same_texels(from.layout, x.shape, texels(y.shape), y.shape)) {
      add(from.layout, texels(y.shape));
    }
  }
  for (const Operand& to : request.device_candidates(node.node().outputs[0])) {
    if (same_texels(texels(x.shape), x.shape, to.layout, y.shape)) {
      add(texels(x.shape), to.layout);
    }
  }
}

}  // namespace stowage
