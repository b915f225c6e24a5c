// SPDX-License-Identifier: Apache-2.0
// An offer on the device of a request. Operands that the device cannot hold make none.
#pragma once

#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "kernels/copy/move.h"

namespace stowage {

class DeviceOffer {
 public:
  /// `request` has a device.
  explicit DeviceOffer(const OfferRequest& request);

  /// Before operands are named: they may be u8 and i8, which the kernel takes as float and leaves
  /// as they are, or rounds. Without this, values of other types than f32 make no offer.
  void takes_bytes() { takes_bytes_ = true; }

  void in(int i, const Layout& layout);
  /// Input `i` as devices keep what they compute: `texels`; where it is a constant, with texels
  /// along `axis`.
  void in_texels(int i, int axis);
  void out(const Layout& layout, int o = 0);
  /// The operands of the node's posts. Needs output 0.
  void posts();

  /// Bytes that the kernel touches beside its operands.
  void touches(double bytes) { offer_.extra_bytes = bytes; }

  /// Every operand that was named can lie on the device.
  bool fits() const { return fits_; }

  /// Adds the offer to `offers` where it fits.
  template <class P>
  void add(const KernelDef& kernel, P params, double flops, double efficiency,
           std::vector<Offer>& offers) {
    if (!fits_) return;
    offer_.call = {kernel, std::move(params)};
    offer_.flops = flops;
    offer_.efficiency = efficiency;
    offers.push_back(offer_);
  }

 private:
  void place(const Value& value, const Layout& layout, Operand& operand);

  const NodeRef node_;
  const DeviceTarget& device_;
  Offer offer_;
  bool fits_ = true, takes_bytes_ = false;
};

/// Output 0 as elements of input 0: as the device keeps what it computes, and in the order of the
/// file.
void offer_device_move(const OfferRequest& request, const MoveParams& params,
                       std::vector<Offer>& offers);

/// Coordinate `axis` of the result, a step for each index.
MoveParams::Coordinate along(int axis, std::int64_t begin = 0, std::int64_t step = 1);

/// Relabels on the device of what `relabelled(layout, from, to)` finds, and between buffers in the
/// order of the file.
void offer_device_relabels(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
