// SPDX-License-Identifier: Apache-2.0
#include "opencl/groups.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "base/index.h"
#include "base/text.h"

namespace stowage {

namespace {

/// Shapes of groups: rows, squares and columns of one or more of the 32 or 64 items that devices
/// run in step.
constexpr std::array<int, 3> kTried[] = {{32, 1, 1},  {64, 1, 1}, {128, 1, 1}, {256, 1, 1},
                                         {32, 4, 1},  {16, 4, 1}, {8, 8, 1},   {4, 16, 1},
                                         {16, 16, 1}, {1, 64, 1}};
constexpr int kRounds = 5;
/// After one round those that take so many times as long as the best are not tried again.
constexpr double kHopeless = 2;
/// Of the time of the usual group: what is closer to it may be chance.
constexpr double kGain = 0.97;
constexpr int kMostSide = 1 << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string key_of(const std::string& program, const std::array<std::int64_t, 3>& items) {
  return text(program, "\ngroup of ", items[0], ' ', items[1], ' ', items[2]);
}

/// Three numbers, a blank between two.
std::optional<std::array<int, 3>> parse(std::string_view s) {
  std::array<int, 3> out{};
  const char *at = s.data(), *end = at + s.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && (at == end || *at++ != ' ')) return std::nullopt;
    const auto [stop, problem] = std::from_chars(at, end, out[i]);
    if (problem != std::errc() || out[i] < 1 || out[i] > kMostSide) return std::nullopt;
    at = stop;
  }
  if (at != end) return std::nullopt;
  return out;
}

}  // namespace

Group fitting_group(std::array<int, 3> group, const GroupLimits& limits) {
  Group out{};
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = static_cast<std::size_t>(std::max(group[i], 1));
    if (i < limits.sides.size()) {
      out[i] = std::min(out[i], std::max<std::size_t>(limits.sides[i], 1));
    }
  }
  while (out[0] * out[1] * out[2] > std::max<std::size_t>(limits.items, 1)) {
    *std::max_element(out.begin(), out.end()) /= 2;
  }
  return out;
}

Group usual_group(const Launch& launch, const GroupLimits& limits) {
  std::array<int, 3> wanted = launch.group;
  if (launch.items[1] == 1) {
    // In one dimension the other rows of a group would have nothing to do.
    wanted = {wanted[0] * wanted[1], 1, wanted[2]};
  }
  return fitting_group(wanted, limits);
}

std::vector<Group> groups_to_try(const Launch& launch, const GroupLimits& limits) {
  std::vector<Group> out{usual_group(launch, limits)};
  if (launch.fixed_group) return out;
  for (const std::array<int, 3>& tried : kTried) {
    const Group group = fitting_group(tried, limits);
    bool useful = std::ranges::find(out, group) == out.end();
    for (std::size_t i = 0; i < 3; ++i) {
      useful &= group[i] == idx(tried[i]);
      useful &= group[i] <= std::bit_ceil(idx(std::max<std::int64_t>(launch.items[i], 1)));
    }
    if (useful) out.push_back(group);
  }
  return out;
}

std::optional<std::size_t> fastest(std::size_t count,
                                   const std::function<double(std::size_t)>& measure,
                                   const std::function<bool()>& time_left) {
  std::vector<std::vector<double>> times(count);
  std::vector<bool> hopeless(count, false);
  for (int round = -1; round < kRounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (hopeless[i]) continue;
      if (!time_left()) return std::nullopt;
      const double us = measure(i);
      if (round >= 0) times[i].push_back(us);
    }
    if (round != 0) continue;
    double best = times[0][0];
    for (const auto& time : times) best = std::min(best, time[0]);
    for (std::size_t i = 1; i < count; ++i) hopeless[i] = times[i][0] > kHopeless * best;
  }
  std::size_t winner = 0;
  double best = kGain * median(times[0]);
  for (std::size_t i = 1; i < count; ++i) {
    const double us = median(times[i]);
    if (hopeless[i] || us >= best) continue;
    winner = i;
    best = us;
  }
  // A driver that refused everything has measured nothing.
  if (!std::isfinite(median(times[winner]))) return std::nullopt;
  return winner;
}

std::optional<std::array<int, 3>> Groups::find(const std::string& program,
                                               const std::array<std::int64_t, 3>& items) {
  const std::string key = key_of(program, items);
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const std::vector<std::byte> bytes = cache_.read(key);
  const auto group = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!group.has_value()) return std::nullopt;
  ++counts_.read;
  known_.emplace(key, *group);
  return group;
}

void Groups::put(const std::string& program, const std::array<std::int64_t, 3>& items,
                 const Group& group) {
  const std::string key = key_of(program, items);
  const std::string content = text(group[0], ' ', group[1], ' ', group[2]);
  const std::lock_guard lock(mutex_);
  ++counts_.measured;
  known_[key] = {static_cast<int>(group[0]), static_cast<int>(group[1]),
                 static_cast<int>(group[2])};
  cache_.write(key, std::as_bytes(std::span(content)));
}

Groups::Counts Groups::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace stowage
