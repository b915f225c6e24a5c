// SPDX-License-Identifier: Apache-2.0
// This machine, as far as plans depend on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stowage/convert.h"
#include "stowage/device.h"
#include "stowage/model.h"

namespace stowage {

/// f32 elements in a vector of the widest instruction set that its kernels use: 4, 8 or 16 on x86.
/// It is the channel block of packed layouts.
int vector_lanes();

/// What one thread of this machine does, for PlanOptions::rates; takes about a second. Others who
/// use the machine meanwhile make the rates less certain, not lower.
Rates measure_rates();

/// What bounds every kernel of this machine's CPU, whatever it computes.
struct Peaks {
  int threads = 1;    ///< that work together
  double gflops = 0;  ///< f32, multiply-adds that wait for nothing

  /// A cache, or memory at last.
  struct Level {
    std::string name;       ///< "L2", "L3", "memory"
    std::size_t bytes = 0;  ///< that fit into it, all threads together
    double gb_per_s = 0;    ///< read, or read and written, whichever is more
  };

  std::vector<Level> levels;  ///< from the nearest to the furthest, into which everything fits

  /// The nearest into which so many bytes fit.
  const Level& level(double bytes) const;
};

/// Measures them; takes about half a second. Throws what a Session of so many threads throws.
Peaks measure_peaks(int threads);

/// The ConversionTuning with which this machine converts fastest: each candidate in turn, over
/// transpositions of several sizes and distances, one thread; the default unless another is faster
/// by a twentieth on the whole and loses nowhere as much. Takes about two seconds.
ConversionTuning measure_conversion_tuning();

/// What an open device does, for DeviceOptions::facts; takes seconds, most of them for the driver
/// to build programs. Throws Error(device, limit).
DeviceRates measure_device_rates(const std::shared_ptr<Device>& device);

/// What became of a kernel of a device, tried on small tensors.
struct KernelCheck {
  std::string kernel;
  std::string problem;  ///< empty: its results are the CPU's

  bool passed() const { return problem.empty(); }
};

/// Runs every kernel that there is for devices on the device and on the CPU, in images and in
/// buffers, stored as f32 and as f16. A kernel of which a driver refuses the program has failed. In
/// the order in which operators list them; takes seconds, most of them for the driver to build
/// programs.
std::vector<KernelCheck> selftest(const std::shared_ptr<Device>& device);

}  // namespace stowage
