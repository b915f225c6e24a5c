// SPDX-License-Identifier: Apache-2.0
#include "opencl/memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"

namespace stowage {

namespace {

/// OpenCL has no buffer of no bytes.
constexpr std::size_t kLeastBytes = 16;
constexpr std::size_t kTexel = 4;

bool on_device(const Slot& slot) { return slot.place.memory != Place::Memory::host; }

std::size_t texels(const Mapping& mapping, Space space) {
  return static_cast<std::size_t>(mapping.extent(space));
}

/// One row or column at least.
cl::Image2D make_image(const cl::Context& context, cl_mem_flags flags, DType dtype,
                       std::size_t width, std::size_t height) {
  return {context, flags, image_format(dtype), std::max<std::size_t>(width, 1),
          std::max<std::size_t>(height, 1)};
}

}  // namespace

cl::ImageFormat image_format(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {CL_RGBA, CL_FLOAT};
    case DType::f16:
      return {CL_RGBA, CL_HALF_FLOAT};
    case DType::u8:
    case DType::boolean:
      return {CL_RGBA, CL_UNSIGNED_INT8};
    case DType::i8:
      return {CL_RGBA, CL_SIGNED_INT8};
    case DType::i32:
      return {CL_RGBA, CL_SIGNED_INT32};
    default:
      fail(ErrorCode::internal, "no image holds ", dtype_name(dtype));
  }
}

cl::Buffer constant_buffer(const cl::Context& context, const void* data, std::size_t bytes) {
  if (bytes >= kLeastBytes) {
    // A driver copies from it and leaves it as it is, though the type does not say so.
    return {context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, const_cast<void*>(data)};
  }
  std::byte few[kLeastBytes] = {};
  if (bytes > 0) std::memcpy(few, data, bytes);
  return {context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kLeastBytes, few};
}

DeviceMemory::DeviceMemory(const cl::Context& context, const Plan& plan, bool shared)
    : shared_(shared) {
  // Drivers allocate what the host is to reach where it reaches it without a copy.
  const cl_mem_flags place = shared ? CL_MEM_ALLOC_HOST_PTR : 0;
  for (const std::size_t bytes : plan.buffers) {
    buffer_bytes_.push_back(std::max(bytes, kLeastBytes));
    buffers_.emplace_back(context, CL_MEM_READ_WRITE | place, buffer_bytes_.back());
  }
  image_sizes_ = plan.images;
  nothing_ = cl::Buffer(context, CL_MEM_READ_WRITE, kLeastBytes);
  for (const PlanImage& image : plan.images) {
    images_.push_back(
        make_image(context, CL_MEM_READ_WRITE, image.dtype, idx(image.width), idx(image.height)));
  }
  slots_.resize(plan.slots.size());
  // First those that are a part of no other.
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (!on_device(slot)) continue;
    const Trail trail("slot", slot.name);
    Memory& memory = slots_[i];
    memory.image = slot.place.memory == Place::Memory::image;
    memory.bytes = slot.mapping.bytes();
    memory.width = texels(slot.mapping, Space::x);
    memory.height = texels(slot.mapping, Space::y);
    memory.texel_bytes = kTexel * idx(dtype_bytes(slot.dtype));
    if (slot.alias_of >= 0) continue;
    if (memory.image && slot.constant != nullptr) {
      memory.memory =
          make_image(context, CL_MEM_READ_ONLY, slot.dtype, memory.width, memory.height);
    } else if (memory.image) {
      memory.memory = images_[idx(slot.image)];
    } else if (slot.constant != nullptr) {
      memory.memory = constant_buffer(context, slot.constant->data(), memory.bytes);
    } else {
      memory.memory = buffers_[idx(slot.buffer)];
      memory.offset = slot.offset;
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (!on_device(slot) || slot.alias_of < 0) continue;
    const SlotMemory at = memory_of(plan, static_cast<int>(i));
    slots_[i].memory = slots_[idx(at.slot)].memory;
    slots_[i].offset = slots_[idx(at.slot)].offset + at.offset;
  }
}

DeviceMemory::Location DeviceMemory::of(int slot) const {
  if (slot < 0) return {nothing_};
  return {slots_[idx(slot)].memory, slots_[idx(slot)].offset};
}

void DeviceMemory::fill(const cl::CommandQueue& queue, bool nan) const {
  constexpr std::uint8_t kNanByte = 0xFF;  // of a float, and of a half as well
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    queue.enqueueFillBuffer(buffers_[i], nan ? kNanByte : std::uint8_t{0}, 0, buffer_bytes_[i]);
  }
  // Integers have no NaN.
  const cl_uint u = nan ? 0xA5 : 0;
  const cl_int s = nan ? -91 : 0;
  const float v = nan ? std::numeric_limits<float>::quiet_NaN() : 0;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const cl::array<cl::size_type, 3> origin{0, 0, 0},
        size{idx(std::max<std::int64_t>(image_sizes_[i].width, 1)),
             idx(std::max<std::int64_t>(image_sizes_[i].height, 1)), 1};
    switch (image_sizes_[i].dtype) {
      case DType::f32:
      case DType::f16:
        queue.enqueueFillImage(images_[i], cl_float4{{v, v, v, v}}, origin, size);
        break;
      case DType::u8:
      case DType::boolean:
        queue.enqueueFillImage(images_[i], cl_uint4{{u, u, u, u}}, origin, size);
        break;
      default:
        queue.enqueueFillImage(images_[i], cl_int4{{s, s, s, s}}, origin, size);
    }
  }
}

void DeviceMemory::upload(const cl::CommandQueue& queue, int slot, const std::byte* from,
                          cl::Event* event) const {
  const Memory& m = slots_[idx(slot)];
  if (m.bytes == 0) return;
  if (m.image) {
    queue.enqueueWriteImage(cl::Image2D(m.memory(), true), CL_FALSE, {0, 0, 0},
                            {m.width, m.height, 1}, 0, 0, from, nullptr, event);
  } else {
    queue.enqueueWriteBuffer(cl::Buffer(m.memory(), true), CL_FALSE, m.offset, m.bytes, from,
                             nullptr, event);
  }
}

void DeviceMemory::download(const cl::CommandQueue& queue, int slot, std::byte* to,
                            cl::Event* event) const {
  const Memory& m = slots_[idx(slot)];
  if (m.bytes == 0) return;
  if (m.image) {
    queue.enqueueReadImage(cl::Image2D(m.memory(), true), CL_TRUE, {0, 0, 0},
                           {m.width, m.height, 1}, 0, 0, to, nullptr, event);
  } else {
    queue.enqueueReadBuffer(cl::Buffer(m.memory(), true), CL_TRUE, m.offset, m.bytes, to, nullptr,
                            event);
  }
}

DeviceSession::Mapped DeviceMemory::map(const cl::CommandQueue& queue, int slot, bool write) const {
  const Memory& m = slots_[idx(slot)];
  if (!shared_ || m.bytes == 0) return {};
  const cl_map_flags flags = write ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ;
  if (!m.image) {
    void* data =
        queue.enqueueMapBuffer(cl::Buffer(m.memory(), true), CL_TRUE, flags, m.offset, m.bytes);
    return {static_cast<std::byte*>(data)};
  }
  std::size_t row_bytes = 0;
  void* data = queue.enqueueMapImage(cl::Image2D(m.memory(), true), CL_TRUE, flags, {0, 0, 0},
                                     {m.width, m.height, 1}, &row_bytes, nullptr);
  const DeviceSession::Mapped mapped{static_cast<std::byte*>(data),
                                     static_cast<std::int64_t>(row_bytes / m.texel_bytes)};
  // A conversion may read what lies between rows, and behind the last one nothing is lent.
  const bool dense = row_bytes == m.width * m.texel_bytes;
  if (write ? row_bytes % m.texel_bytes == 0 : dense) return mapped;
  unmap(queue, slot, mapped);
  return {};
}

void DeviceMemory::unmap(const cl::CommandQueue& queue, int slot,
                         const DeviceSession::Mapped& mapped) const {
  queue.enqueueUnmapMemObject(slots_[idx(slot)].memory, mapped.data);
}

}  // namespace stowage
