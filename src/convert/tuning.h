// SPDX-License-Identifier: Apache-2.0
// What conversions assume of the machine that they run on.
#pragma once

#include "base/caches.h"
#include "stowage/convert.h"

namespace stowage::conversion {

/// Any values give the same bytes; they decide how fast.
struct Tuning : ConversionTuning {
  Caches caches = host_caches();
};

/// What new conversions use.
Tuning current_tuning() noexcept;

}  // namespace stowage::conversion
