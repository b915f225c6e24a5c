// SPDX-License-Identifier: Apache-2.0
// The part of a session that is on a device: its memory, and the steps that run there. Commands
// are done in the order in which they are given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stowage {

class DeviceSession {
 public:
  DeviceSession() = default;
  virtual ~DeviceSession() = default;
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  /// Enqueues step `step` of the plan, a call or a conversion between slots of the device. Throws
  /// Error(device), as all others do.
  virtual void run(int step) = 0;
  /// Enqueues a copy of the bytes of a slot, as Slot::mapping has them (an image without pitch).
  /// They stay as they are until wait() or download().
  virtual void upload(int slot, const std::byte* from) = 0;
  /// Waits until the bytes are there.
  virtual void download(int slot, std::byte* to) = 0;

  /// The memory of a slot as the host reaches it.
  struct Mapped {
    std::byte* data = nullptr;   ///< null: only a copy of it is to be had
    std::int64_t row_pitch = 1;  ///< of an image, in texels: that of its Mapping here
  };

  /// Waits for what was enqueued and lends the memory itself, to be written as a whole (what it
  /// held is lost) or to be read, until unmap(); nothing runs meanwhile.
  virtual Mapped map(int /*slot*/, bool /*write*/) { return {}; }

  virtual void unmap(int /*slot*/, const Mapped& /*mapped*/) {}

  /// Until everything is done.
  virtual void wait() = 0;

  /// Whether step_us is to be had.
  virtual bool measures() const { return false; }

  /// Microseconds on the device of the last run of a step that has been waited for, copies from and
  /// to the host too; negative where the device does not measure.
  virtual double step_us(int step) = 0;
};

}  // namespace stowage
