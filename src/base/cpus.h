// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may use.
#pragma once

#include <string>

namespace stowage {

/// CPUs that this process may use at once: its affinity mask, and within that what the CPU limits
/// of its control groups (cgroup v1 and v2) and of their parents allow, rounded down: the thread
/// over a limit makes the kernel stop all of them in the middle of their work. At least 1.
int available_cpus() noexcept;

/// The CPUs worth of time that the control groups of this process allow, over all levels; infinite
/// where they set no limit or their files say nothing that can be understood. `root` stands before
/// /proc/self and before the mount points that are named there; empty for the real ones.
double cgroup_cpu_limit(const std::string& root = {});

}  // namespace stowage
