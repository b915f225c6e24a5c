// SPDX-License-Identifier: Apache-2.0
// The part of a session that is on an OpenCL device: everything is made in the constructor, so that
// a run only enqueues.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "opencl/device.h"
#include "opencl/memory.h"

namespace stowage {

/// A group that a kernel and a device can run: the longest side is halved until it fits.
std::array<std::size_t, 3> fitting_group(std::array<int, 3> group, std::size_t most_items,
                                         std::span<const std::size_t> most_each);

class OpenClSession : public DeviceSession {
 public:
  /// Throws Error(device, limit).
  OpenClSession(std::shared_ptr<OpenClDevice> device, std::shared_ptr<const Plan> plan,
                const OpenClDevice::Launcher& launcher);

  void run(int step) override;
  void upload(int slot, const std::byte* from) override;
  void download(int slot, std::byte* to) override;
  void wait() override;
  double step_us(int step) override;

 private:
  struct Kernel {
    cl::Kernel kernel;               // with its arguments
    std::vector<cl::Buffer> tables;  // which a kernel does not keep alive
    cl::NDRange global, local;
    bool nothing = false;  // no items
    cl::Event event;       // of the last run, where it is measured
  };

  void prepare(Kernel& kernel, const StepLaunch& launch) const;
  void set_arguments(Kernel& kernel, const StepLaunch& launch) const;
  void set_range(Kernel& kernel, const StepLaunch& launch) const;
  /// A driver may hold commands back until it is told: it starts while more are enqueued.
  void enqueued();

  std::shared_ptr<OpenClDevice> device_;
  std::shared_ptr<const Plan> plan_;
  cl::CommandQueue queue_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<Kernel> kernels_;  // of the steps; empty for those of the host
  int unflushed_ = 0;

  /// Memory of the host that commands read and write may go away with the session, also when the
  /// constructor throws: the last member, hence the first to go.
  struct Finish {
    const cl::CommandQueue& queue;
    ~Finish();
  };

  Finish finish_{queue_};
};

}  // namespace stowage
