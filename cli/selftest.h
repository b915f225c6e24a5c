// SPDX-License-Identifier: Apache-2.0
// The file in which `stowage selftest` keeps which kernels failed on which device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stowage/machine.h"

namespace stowage::cli {

/// selftest.json beside the file of rates (rates_file() where `rates` is empty or "default"); empty
/// where that has no place.
std::string selftest_file(const std::string& rates);

/// Names of the kernels that failed when the device was last tested with this driver. Throws
/// Error(bad_input).
std::vector<std::string> failed_kernels(const std::string& rates, const DeviceFacts& facts);

/// What is known of other devices, and of other drivers of this one, stays. Throws
/// Error(bad_input).
void save_selftest(const std::string& file, const DeviceFacts& facts,
                   std::span<const KernelCheck> checks);

}  // namespace stowage::cli
