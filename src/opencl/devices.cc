// SPDX-License-Identifier: Apache-2.0
// The devices of all platforms, their facts, and opening one.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "opencl/device.h"
#include "opencl/errors.h"
#include "opencl/loader.h"
#include "opencl/session.h"

namespace stowage {

namespace {

/// ICD loaders say so where no platform is installed (cl_khr_icd).
constexpr cl_int kPlatformNotFound = -1001;

/// Drivers pad names with blanks and zeros.
std::string trimmed(std::string_view s) {
  const std::string_view blank(" \t\n\0", 4);
  const std::size_t first = s.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return std::string(s.substr(first, s.find_last_not_of(blank) - first + 1));
}

std::vector<cl::Platform> platforms() {
  std::vector<cl::Platform> found;
  try {
    cl::Platform::get(&found);
  } catch (const cl::Error& e) {
    if (e.err() != kPlatformNotFound) fail_cl(e.what(), e.err());
  }
  if (found.empty()) {
    fail(ErrorCode::device, "there is no OpenCL platform: no driver is installed");
  }
  return found;
}

std::vector<cl::Device> devices_of(const cl::Platform& platform) {
  std::vector<cl::Device> found;
  try {
    platform.getDevices(CL_DEVICE_TYPE_ALL, &found);
  } catch (const cl::Error& e) {
    if (e.err() != CL_DEVICE_NOT_FOUND) throw;
  }
  std::stable_partition(found.begin(), found.end(), [](const cl::Device& device) {
    return (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_GPU) != 0;
  });
  return found;
}

std::vector<cl::Device> all_devices(const OpenClOptions& options) {
  const Trail trail("looking for OpenCL devices");
  load_opencl(options.loader);
  return cl_call([] {
    std::vector<cl::Device> all;
    for (const cl::Platform& platform : platforms()) {
      const std::vector<cl::Device> devices = devices_of(platform);
      all.insert(all.end(), devices.begin(), devices.end());
    }
    if (all.empty()) fail(ErrorCode::device, "no OpenCL platform has a device");
    return all;
  });
}

DeviceFacts facts_of(const cl::Device& device) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>(), true);
  DeviceFacts facts;
  facts.name = trimmed(device.getInfo<CL_DEVICE_NAME>());
  facts.driver = text(trimmed(platform.getInfo<CL_PLATFORM_NAME>()), ' ',
                      trimmed(device.getInfo<CL_DRIVER_VERSION>()));
  facts.images = device.getInfo<CL_DEVICE_IMAGE_SUPPORT>() != CL_FALSE;
  facts.image_width = facts.image_height = 0;
  if (facts.images) {
    facts.image_width = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_IMAGE2D_MAX_WIDTH>());
    facts.image_height = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_IMAGE2D_MAX_HEIGHT>());
  }
  facts.allocation_bytes =
      static_cast<std::int64_t>(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>());
  facts.memory_bytes = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>());
  facts.alignment = device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;  // of bits
  facts.alignment = std::max<std::int64_t>(facts.alignment, 1);
  facts.group_items = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
  facts.local_bytes = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>());
  facts.unified = device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() != CL_FALSE;
  return facts;
}

}  // namespace

OpenClDevice::OpenClDevice(const cl::Device& device, const OpenClOptions& options)
    : device_(device), profile_(options.profile), fill_nan_(options.fill_nan) {
  cl_call([&] {
    facts_ = facts_of(device_);
    if (device_.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() == CL_FALSE) {
      fail(ErrorCode::device, "'", facts_.name, "' has no compiler for OpenCL C");
    }
    context_ = cl::Context(device_);
  });
  programs_ = std::make_unique<Programs>(context_, device_, text(facts_.name, '\n', facts_.driver),
                                         options.cache);
}

std::unique_ptr<DeviceSession> OpenClDevice::open(std::shared_ptr<const Plan> plan) {
  return open_with(std::move(plan), step_launch);
}

std::unique_ptr<DeviceSession> OpenClDevice::open_with(std::shared_ptr<const Plan> plan,
                                                       const Launcher& launcher) {
  const Trail trail("device", facts_.name);
  // Drivers answer with a number that says nothing of sizes.
  if (plan->device_bytes > static_cast<std::size_t>(facts_.allocation_bytes)) {
    fail(ErrorCode::limit, "what the plan keeps in buffers takes ", plan->device_bytes,
         " bytes, the device allows ", facts_.allocation_bytes);
  }
  return std::make_unique<OpenClSession>(shared_from_this(), std::move(plan), launcher);
}

std::shared_ptr<OpenClDevice> open_opencl_device(int number, const OpenClOptions& options) {
  const std::vector<cl::Device> devices = all_devices(options);
  if (number < 0 || idx(number) >= devices.size()) {
    fail(ErrorCode::device, "there is no OpenCL device ", number, ": ", devices.size(),
         devices.size() == 1 ? " is there" : " are there", ", counted from 0");
  }
  return std::make_shared<OpenClDevice>(devices[idx(number)], options);
}

std::shared_ptr<Device> open_opencl(int number, const OpenClOptions& options) {
  return open_opencl_device(number, options);
}

std::vector<DeviceFacts> opencl_devices(const OpenClOptions& options) {
  const std::vector<cl::Device> devices = all_devices(options);
  return cl_call([&] {
    std::vector<DeviceFacts> facts;
    for (const cl::Device& device : devices) facts.push_back(facts_of(device));
    return facts;
  });
}

}  // namespace stowage
