// SPDX-License-Identifier: Apache-2.0
// A device beside the CPU: what plans need to know of it, and the device itself, opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stowage {

class DeviceSession;
class Plan;

/// What a device does, as far as plans depend on it. The defaults are those of a middling graphics
/// card; only ratios, to each other and to Rates, decide between places.
struct DeviceRates {
  double gflops = 1000;          ///< a kernel of efficiency 1, f32
  double gb_per_s = 150;         ///< bytes that a kernel reads and writes
  double launch_us = 4;          ///< of a kernel, whatever it does
  double upload_gb_per_s = 8;    ///< from host memory
  double download_gb_per_s = 8;  ///< to host memory
  double crossing_us = 15;       ///< of a transfer either way, waiting included
  /// What `launch_us`, `gflops` and `gb_per_s` are times where operands lie in images: they are
  /// those of buffers.
  double image_launch = 1, image_compute = 1, image_bandwidth = 1;
  /// What `gflops` are times in a Winograd convolution, its own operations counted.
  double winograd_compute = 0.5;
};

/// A device as data: from the device itself, or from a file about one that is not here.
struct DeviceFacts {
  std::string name, driver;
  bool images = true;               ///< CL_DEVICE_IMAGE_SUPPORT
  std::int64_t image_width = 8192;  ///< texels; CL_DEVICE_IMAGE2D_MAX_WIDTH
  std::int64_t image_height = 8192;
  std::int64_t allocation_bytes = std::int64_t{128} << 20;  ///< one buffer or image at most
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  std::int64_t alignment = 128;  ///< of a part of a buffer, in bytes
  std::int64_t group_items = 256;
  std::int64_t local_bytes = 32 << 10;
  bool unified = false;  ///< its memory is the host's
  DeviceRates rates;
};

/// A device that a plan may use beside the CPU, and how.
struct DeviceOptions {
  /// any: each kernel has its operands where it is faster by the device's rates; images in a tie.
  /// image: in images where these fit. buffer: all in buffers.
  enum class Memory { any, image, buffer };

  DeviceFacts facts;  ///< of the device, or of one that is not here
  Memory memory = Memory::any;
  /// f32 tensors are kept as f16 there, finite values of at most 65504; arithmetic stays f32.
  bool half = false;
  /// Names of kernels that do not run there, as those that failed `selftest`.
  std::vector<std::string> avoid = {};
};

/// A device that was opened. Any number of sessions may use it, one after the other or at once.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceFacts& facts() const noexcept { return facts_; }

 protected:
  Device() = default;

  DeviceFacts facts_;

 private:
  friend class Session;

  /// Programs built, memory allocated, weights uploaded. Throws Error(device, limit).
  virtual std::unique_ptr<DeviceSession> open(std::shared_ptr<const Plan> plan) = 0;
};

}  // namespace stowage
