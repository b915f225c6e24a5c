// SPDX-License-Identifier: Apache-2.0
// The devices of all platforms, their facts, and opening one.
#include <algorithm>
#include <cstdio>
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

/// Throws Error(device) unless `version`, "OpenCL 1.2 and more words", is one that the library can
/// use.
void expect_version(const std::string& version) {
  constexpr int kMajor = 1, kMinor = 2;
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) == 2 &&
      (major > kMajor || (major == kMajor && minor >= kMinor))) {
    return;
  }
  fail(ErrorCode::device, "it has '", trimmed(version), "', ", kMajor, ".", kMinor, " is needed");
}

struct Listing {
  std::vector<cl::Device> devices;
  std::vector<DeviceFacts> facts;    ///< of each
  std::vector<std::string> skipped;  ///< platforms and devices, and why
};

/// Runs `f`; where it throws, `what` is left out.
template <class F>
void list(Listing& all, const std::string& what, F&& f) {
  try {
    cl_run(f);
  } catch (const Error& e) {
    all.skipped.push_back(text("the ", what, " is left out: ", e.sentence()));
  }
}

Listing all_devices(const OpenClOptions& options) {
  const Trail trail("looking for OpenCL devices");
  load_opencl(options.loader);
  Listing all;
  int number = 0;
  for (const cl::Platform& platform : cl_call(platforms)) {
    std::string name = text("platform ", number++);
    std::vector<cl::Device> devices;
    try {
      name = text("platform '", trimmed(platform.getInfo<CL_PLATFORM_NAME>()), "'");
    } catch (const cl::Error&) {
      // What follows fails, too.
    }
    list(all, name, [&] {
      expect_version(platform.getInfo<CL_PLATFORM_VERSION>());
      devices = devices_of(platform);
    });
    for (std::size_t i = 0; i < devices.size(); ++i) {
      list(all, text("device ", i, " of the ", name), [&] {
        expect_version(devices[i].getInfo<CL_DEVICE_VERSION>());
        all.facts.push_back(facts_of(devices[i]));
        all.devices.push_back(devices[i]);
      });
    }
  }
  if (!all.devices.empty()) return all;
  std::string why;
  for (const std::string& skipped : all.skipped) why += text(why.empty() ? ": " : "; ", skipped);
  fail(ErrorCode::device, "no OpenCL platform has a device", why);
}

}  // namespace

OpenClDevice::OpenClDevice(const cl::Device& device, const OpenClOptions& options)
    : device_(device),
      groups_(options.cache),
      tune_(options.tune),
      profile_(options.profile),
      fill_nan_(options.fill_nan),
      check_bounds_(options.check_bounds) {
  cl_call([&] {
    facts_ = facts_of(device_);
    maps_ = facts_.unified;
    if (device_.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() == CL_FALSE) {
      fail(ErrorCode::device, "'", facts_.name, "' has no compiler for OpenCL C");
    }
    context_ = cl::Context(device_);
  });
  programs_ = std::make_unique<Programs>(context_, device_, text(facts_.name, '\n', facts_.driver),
                                         options.cache);
}

std::unique_ptr<DeviceSession> OpenClDevice::open(std::shared_ptr<const Plan> plan) {
  return open_with(std::move(plan), [check = check_bounds_](const Plan& p, int step) {
    return step_launch(p, step, check);
  });
}

std::unique_ptr<DeviceSession> OpenClDevice::open_with(std::shared_ptr<const Plan> plan,
                                                       const Launcher& launcher) {
  const Trail trail("device", facts_.name);
  // Drivers answer with a number that says nothing of sizes.
  for (const std::size_t bytes : plan->buffers) {
    if (bytes <= static_cast<std::size_t>(facts_.allocation_bytes)) continue;
    fail(ErrorCode::limit, "a buffer of the plan takes ", bytes, " bytes, the device allows ",
         facts_.allocation_bytes);
  }
  return std::make_unique<OpenClSession>(shared_from_this(), std::move(plan), launcher);
}

std::shared_ptr<OpenClDevice> open_opencl_device(int number, const OpenClOptions& options) {
  const std::vector<cl::Device> devices = all_devices(options).devices;
  if (number < 0 || idx(number) >= devices.size()) {
    fail(ErrorCode::device, "there is no OpenCL device ", number, ": ", devices.size(),
         devices.size() == 1 ? " is there" : " are there", ", counted from 0");
  }
  return std::make_shared<OpenClDevice>(devices[idx(number)], options);
}

std::shared_ptr<Device> open_opencl(int number, const OpenClOptions& options) {
  return open_opencl_device(number, options);
}

std::vector<DeviceFacts> opencl_devices(const OpenClOptions& options,
                                        std::vector<std::string>* skipped) {
  Listing all = all_devices(options);
  if (skipped != nullptr) *skipped = std::move(all.skipped);
  return std::move(all.facts);
}

}  // namespace stowage
