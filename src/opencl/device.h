// SPDX-License-Identifier: Apache-2.0
// An OpenCL device with its context and its programs.
#pragma once

#include <functional>
#include <memory>

#include "opencl/groups.h"
#include "opencl/programs.h"
#include "opencl/step_launch.h"
#include "plan/device_session.h"
#include "plan/plan.h"
#include "stowage/opencl.h"

namespace stowage {

class OpenClDevice : public Device, public std::enable_shared_from_this<OpenClDevice> {
 public:
  OpenClDevice(const cl::Device& device, const OpenClOptions& options);

  /// With other launches than those of the plan's kernels.
  using Launcher = std::function<StepLaunch(const Plan&, int step)>;
  std::unique_ptr<DeviceSession> open_with(std::shared_ptr<const Plan> plan,
                                           const Launcher& launcher);
  std::unique_ptr<DeviceSession> open(std::shared_ptr<const Plan> plan) override;

  const cl::Device& device() const noexcept { return device_; }

  const cl::Context& context() const noexcept { return context_; }

  Programs& programs() noexcept { return *programs_; }

  Groups& groups() noexcept { return groups_; }

  bool tune() const noexcept { return tune_; }

  /// Sessions lend their memory to the host instead of copying: where both have the same.
  bool maps() const noexcept { return maps_; }

  /// For tests: sessions opened from now on copy.
  void never_map() noexcept { maps_ = false; }

  bool profile() const noexcept { return profile_; }

  bool fill_nan() const noexcept { return fill_nan_; }

  bool check_bounds() const noexcept { return check_bounds_; }

 private:
  cl::Device device_;
  cl::Context context_;
  std::unique_ptr<Programs> programs_;
  Groups groups_;
  bool maps_ = false, tune_ = false, profile_ = false, fill_nan_ = false, check_bounds_ = false;
};

/// As open_opencl.
std::shared_ptr<OpenClDevice> open_opencl_device(int number, const OpenClOptions& options);

}  // namespace stowage
