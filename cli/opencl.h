// SPDX-License-Identifier: Apache-2.0
// OpenCL devices, in a build with the library stowage::opencl or without it.
#pragma once

#include <memory>
#include <vector>

#include "stowage/opencl.h"

namespace stowage::cli {

/// As opencl_devices() and open_opencl(). A build without OpenCL throws Error(device), too.
std::vector<DeviceFacts> list_opencl(const OpenClOptions& options = {},
                                     std::vector<std::string>* skipped = nullptr);
std::shared_ptr<Device> open_opencl(int number, const OpenClOptions& options = {});

}  // namespace stowage::cli
