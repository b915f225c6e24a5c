// SPDX-License-Identifier: Apache-2.0
// OpenCL devices. In the library stowage::opencl, which finds the loader (libOpenCL) when it is
// first asked: a program that was linked with it starts on a machine without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stowage/device.h"

namespace stowage {

struct OpenClOptions {
  std::string loader;  ///< path of the loader or driver; empty: libOpenCL.so.1, libOpenCL.so
  /// A folder for built programs and for what `tune` found, made where it is missing; empty: both
  /// are made anew by every process.
  std::string cache;
  /// Sessions measure work-group sizes of kernels that nobody has measured on this device with this
  /// driver, which takes each half a minute at most. What is known already, from `cache` too, is
  /// used without it. Results do not depend on it.
  bool tune = false;
  bool profile = false;  ///< the device measures what Session::step_us tells of it
  /// Memory of a session begins as NaN: what a kernel reads that nobody wrote is seen. For tests.
  bool fill_nan = false;
  /// Kernels count accesses outside of their operands instead of doing them; a run that had any
  /// throws Error(internal), which names node, kernel and operand. Other programs, and slower. For
  /// tests.
  bool check_bounds = false;
};

/// Every device of every platform, in the order of the platforms, GPUs of a platform first; the
/// position is the number in `--device opencl:N`. Platforms and devices that fail or have less than
/// OpenCL 1.2 are left out; `skipped` gets a sentence for each. Throws Error(device): no loader, no
/// platform, no device.
std::vector<DeviceFacts> opencl_devices(const OpenClOptions& options = {},
                                        std::vector<std::string>* skipped = nullptr);

/// Throws Error(device), also where there is no device of that number.
std::shared_ptr<Device> open_opencl(int number = 0, const OpenClOptions& options = {});

}  // namespace stowage
