// SPDX-License-Identifier: Apache-2.0
// Where the slots of a plan lie on a device.
#pragma once

#include <cstddef>
#include <vector>

#include "opencl/cl.h"
#include "plan/device_session.h"
#include "plan/plan.h"
#include "stowage/device.h"

namespace stowage {

/// The CL_RGBA image of a type. Throws Error(internal) for a type that images don't hold.
cl::ImageFormat image_format(DType dtype);

/// Buffers and images for everything that is not constant, shared by slots as the plan
/// says; constants in memory of their own. Contents are undefined.
class DeviceMemory {
 public:
  /// `shared`: memory of the host, which map() lends. Throws Error(limit, device).
  DeviceMemory(const cl::Context& context, const Plan& plan, bool shared);

  /// Where a slot begins.
  struct Location {
    const cl::Memory& memory;
    std::size_t offset = 0;  ///< in bytes, of a buffer
  };

  /// What kernels take for the slot; -1: something that holds nothing.
  Location of(int slot) const;

  /// Enqueues zeros, or NaN, for all that is not constant.
  void fill(const cl::CommandQueue& queue, bool nan) const;

  /// Enqueues a copy of the whole slot; `from` stays until the queue is done with it. `event`, of
  /// this and of others, may be null, and stays as it is where there is nothing to copy.
  void upload(const cl::CommandQueue& queue, int slot, const std::byte* from,
              cl::Event* event) const;
  /// Waits until it is there.
  void download(const cl::CommandQueue& queue, int slot, std::byte* to, cl::Event* event) const;

  /// As DeviceSession has them.
  DeviceSession::Mapped map(const cl::CommandQueue& queue, int slot, bool write) const;
  void unmap(const cl::CommandQueue& queue, int slot, const DeviceSession::Mapped& mapped) const;

 private:
  struct Memory {
    cl::Memory memory;  // a buffer or an image
    bool image = false;
    std::size_t offset = 0, bytes = 0;  // in and of a buffer
    std::size_t width = 0, height = 0;  // of an image, texels
    std::size_t texel_bytes = 0;
  };

  std::vector<cl::Buffer> buffers_;
  cl::Memory nothing_;
  std::vector<cl::Image2D> images_;
  std::vector<PlanImage> image_sizes_;
  std::vector<std::size_t> buffer_bytes_;
  bool shared_ = false;
  std::vector<Memory> slots_;
};

/// Read-only, with this content.
cl::Buffer constant_buffer(const cl::Context& context, const void* data, std::size_t bytes);

}  // namespace stowage
