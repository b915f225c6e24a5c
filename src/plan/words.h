// SPDX-License-Identifier: Apache-2.0
// How plans speak of times, sizes and names.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace stowage::plan {

/// "%.{digits}f"
std::string fixed(double value, int digits);

/// "3.20 us", "1.25 ms"
std::string time_of(double us);

/// "12 B", "1.5 KiB", "3.0 MiB"
std::string size_of(double bytes);

/// A name out of a model file, which may hold anything: control characters as \x1b, long ones cut.
std::string printable(std::string_view name);

/// "image-channel in an image": the layout, and where it lies if that is not the host's memory.
std::string placed_layout(const Layout& layout, const Place& place);

/// "NCHW, f16": a layout of elements that are stored in another type than the value's.
std::string stored_as(const std::string& layout, DType dtype);

/// "nchw -> nChw16c" of what was chosen: the first input and output.
std::string layouts_of(const NodeReport& node);

}  // namespace stowage::plan
