// SPDX-License-Identifier: Apache-2.0
// What a build of the C library has or not.
#pragma once

#include <memory>
#include <string>

#include "stowage/device.h"

namespace stowage::c {

/// Null for "cpu". Throws Error(usage) for what is no device, Error(unsupported) where this build
/// has no OpenCL, Error(device).
std::shared_ptr<Device> open_device(const std::string& name);

}  // namespace stowage::c
