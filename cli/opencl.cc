// SPDX-License-Identifier: Apache-2.0
#include "cli/opencl.h"

#include "stowage/error.h"

namespace stowage::cli {

#ifdef STOWAGE_HAS_OPENCL

std::vector<DeviceFacts> list_opencl(const OpenClOptions& options,
                                     std::vector<std::string>* skipped) {
  return stowage::opencl_devices(options, skipped);
}

std::shared_ptr<Device> open_opencl(int number, const OpenClOptions& options) {
  return stowage::open_opencl(number, options);
}

#else

namespace {

[[noreturn]] void fail_without() {
  throw Error(ErrorCode::device, "this build of stowage has no OpenCL");
}

}  // namespace

std::vector<DeviceFacts> list_opencl(const OpenClOptions&, std::vector<std::string>*) {
  fail_without();
}

std::shared_ptr<Device> open_opencl(int, const OpenClOptions&) { fail_without(); }

#endif

}  // namespace stowage::cli
