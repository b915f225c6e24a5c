// SPDX-License-Identifier: Apache-2.0
// Sizes of work groups: what a device has room for, what is worth trying, and what was measured to
// be the fastest. Results of kernels do not depend on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/launch.h"
#include "opencl/cache.h"

namespace stowage {

using Group = std::array<std::size_t, 3>;

/// What a group of one kernel on one device is at most.
struct GroupLimits {
  std::size_t items = 1;           ///< in all
  std::vector<std::size_t> sides;  ///< along each dimension; missing ones have no limit
};

/// A group that a kernel and a device can run: the longest side is halved until it fits.
Group fitting_group(std::array<int, 3> group, const GroupLimits& limits);

/// The group of a launch that nobody has measured.
Group usual_group(const Launch& launch, const GroupLimits& limits);

/// What to try: the usual group first, then others that fit, none twice and none that mostly sticks
/// out of the items. Nothing but the usual one where the source counts on its group.
std::vector<Group> groups_to_try(const Launch& launch, const GroupLimits& limits);

/// Which of `count` candidates is the fastest; `measure(i)` runs candidate i and returns how long
/// it took. Each runs once uncounted, for drivers complete a kernel then, and some times in turn;
/// the smallest median wins if it is less than that of candidate 0 by more than noise. Nothing
/// where `time_left` said no before all was measured.
std::optional<std::size_t> fastest(std::size_t count,
                                   const std::function<double(std::size_t)>& measure,
                                   const std::function<bool()>& time_left);

/// What was measured on one device: shared by its sessions, and kept in the folder of programs.
class Groups {
 public:
  /// `cache`: a folder, or empty. Throws Error(bad_input) when it cannot be made.
  explicit Groups(const std::string& cache) : cache_(cache) {}

  /// For the program of this key (Programs::key) over so many items, as somebody put it. A file
  /// that is damaged or says nonsense is as good as none.
  std::optional<std::array<int, 3>> find(const std::string& program,
                                         const std::array<std::int64_t, 3>& items);
  void put(const std::string& program, const std::array<std::int64_t, 3>& items,
           const Group& group);

  /// Held while one session measures, for two at once would measure each other.
  std::mutex& measuring() noexcept { return measuring_; }

  /// Groups that were asked for the first time in this process.
  struct Counts {
    int measured = 0;  ///< put
    int read = 0;      ///< from the folder
  };

  Counts counts() const;

 private:
  ProgramCache cache_;
  mutable std::mutex mutex_;
  std::mutex measuring_;
  std::map<std::string, std::array<int, 3>> known_;
  Counts counts_;
};

}  // namespace stowage
