// SPDX-License-Identifier: Apache-2.0
// Conversions of calls that follow each other.
#pragma once

#include <memory>

#include "stowage/convert.h"

namespace stowage {

/// What `make()` gives, or what it gave for the thread's last key of this type where that was the
/// same: describing a conversion takes 3 us, in which 100 KB are moved. Until the next call.
template <class Key, class Make>
const Conversion& kept_conversion(const Key& key, const Make& make) {
  struct Kept {
    Key key;
    ConversionTuning tuning;
    Conversion conversion;
  };

  thread_local std::unique_ptr<const Kept> last;
  const ConversionTuning tuning = conversion_tuning();
  if (last == nullptr || last->key != key || last->tuning != tuning)
    last.reset(new Kept{key, tuning, make()});
  return last->conversion;
}

}  // namespace stowage
