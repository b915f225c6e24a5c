// SPDX-License-Identifier: Apache-2.0
// This machine, as far as plans depend on it.
#pragma once

#include "stowage/model.h"

namespace stowage {

/// f32 elements in a vector of the widest instruction set that its kernels use: 4, 8 or 16 on x86.
/// It is the channel block of packed layouts.
int vector_lanes();

/// What one thread of this machine does, for PlanOptions::rates; takes about a second. Others who
/// use the machine meanwhile make the rates less certain, not lower.
Rates measure_rates();

}  // namespace stowage
