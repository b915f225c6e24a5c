// SPDX-License-Identifier: Apache-2.0
// The part of a session that is on an OpenCL device: everything is made in the constructor, so that
// a run only enqueues.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "opencl/device.h"
#include "opencl/groups.h"
#include "opencl/memory.h"

namespace stowage {

class OpenClSession : public DeviceSession {
 public:
  /// Throws Error(device, limit).
  OpenClSession(std::shared_ptr<OpenClDevice> device, std::shared_ptr<const Plan> plan,
                const OpenClDevice::Launcher& launcher);

  void run(int step) override;
  void upload(int slot, const std::byte* from) override;
  void download(int slot, std::byte* to) override;
  Mapped map(int slot, bool write) override;
  void unmap(int slot, const Mapped& mapped) override;
  void wait() override;

  bool measures() const override { return device_->profile(); }

  double step_us(int step) override;

 private:
  struct Kernel {
    cl::Kernel kernel;               // with its arguments
    std::vector<cl::Buffer> tables;  // which a kernel does not keep alive
    std::array<std::int64_t, 3> items{};
    cl::NDRange global, local;
    bool nothing = false;               // no items
    cl::Buffer bounds;                  // a BoundsRow for each operand, where they are checked
    std::vector<std::string> operands;  // their names then
    cl::Event event;                    // of the last run, where it is measured
  };

  /// A step whose group nobody has measured.
  struct Untuned {
    int step = -1;
    std::string program;  // Programs::key
    std::vector<Group> groups;
    double us = 0;  // in the usual group
  };

  void prepare(Kernel& kernel, const StepLaunch& launch) const;
  void set_arguments(Kernel& kernel, const StepLaunch& launch) const;
  void set_bounds(Kernel& kernel, const StepLaunch& launch) const;
  /// After everything is done. Throws Error(internal).
  void expect_inside();
  /// In the group that was measured, else in the usual one.
  void set_range(Kernel& kernel, const StepLaunch& launch) const;
  static void set_group(Kernel& kernel, const Group& group);
  GroupLimits limits(const Kernel& kernel) const;
  /// Runs steps over memory of zeros, those that take longest first, until a time is over.
  void tune(std::vector<Untuned> steps);
  /// Null where nothing is measured.
  cl::Event* transfer_event(int slot);
  /// A driver may hold commands back until it is told: it starts while more are enqueued.
  void enqueued();

  std::shared_ptr<OpenClDevice> device_;
  std::shared_ptr<const Plan> plan_;
  cl::CommandQueue queue_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<Kernel> kernels_;         // of the steps; empty for those of the host
  std::map<int, cl::Event> transfers_;  // the last ones of slots, where they are measured
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
