// SPDX-License-Identifier: Apache-2.0
// Work turned into predicted microseconds.
#pragma once

#include <cstddef>

#include "graph/op_def.h"
#include "stowage/convert.h"
#include "stowage/model.h"

namespace stowage::plan {

/// A kernel that does an offer's flops, moves its pieces one by one and touches `bytes`, of which
/// `far` come from memory in every run, for no cache holds them.
double kernel_us(const Rates& rates, const Target& target, const Offer& offer, double bytes,
                 double far);

/// The reference of a node whose best kernel does `flops` and whose outputs have `elements`.
double reference_us(const Rates& rates, double flops, double elements);

/// A kernel of a device; `images`: some of its operands lie in images.
double device_us(const DeviceRates& rates, bool images, double flops, double efficiency,
                 double bytes);

/// The device has conversions between its own formats. They share a kernel with operators that
/// move elements: where plans avoid that one, there are none.
bool converts(const DeviceTarget& device);

/// A step that moves a value: a conversion on the CPU or on the device, or a copy of the same bytes
/// between them. Infinite where there is no such step.
double conversion_us(const Rates& rates, const Target& target, const Shape& shape,
                     const Format& from, const Format& to);

/// What set_input and read_output do: a conversion on the CPU, and a copy to or from the device.
double port_us(const Rates& rates, const Target& target, const Shape& shape, const Format& from,
               const Format& to);

}  // namespace stowage::plan
