// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

namespace stowage {

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The file's beginning; empty where there is none. Mount tables of hosts with many containers
/// have some hundred KiB.
std::string read_text(const std::string& path) {
  constexpr std::size_t kMostBytes = 4 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string out;
  char part[4096];
  while (out.size() < kMostBytes && (file.read(part, sizeof part), file.gcount() > 0)) {
    out.append(part, static_cast<std::size_t>(file.gcount()));
  }
  return out;
}

/// The parts between separators; no empty ones where `skip_empty`.
std::vector<std::string_view> split(std::string_view text, char separator, bool skip_empty) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0 || !skip_empty) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool lists(std::string_view names, std::string_view name) {
  const auto all = split(names, ',', true);
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// The number at the beginning of a line; 0 where there is none above 0 ("max", -1).
double positive(std::string_view text) {
  long long value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole =
      end == text.data() + text.size() || *end == '\n' || *end == ' ' || *end == '\t';
  return problem == std::errc{} && whole && value > 0 ? static_cast<double>(value) : 0;
}

double ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

/// What one group allows, by whichever files its folder has.
double limit_of(const std::string& folder, bool unified) {
  if (unified) {
    const std::string text = read_text(folder + "/cpu.max");
    const auto fields = split(text, ' ', true);
    return fields.size() == 2 ? ratio(positive(fields[0]), positive(fields[1])) : kNoLimit;
  }
  return ratio(positive(read_text(folder + "/cpu.cfs_quota_us")),
               positive(read_text(folder + "/cpu.cfs_period_us")));
}

/// Of /proc/self/mountinfo: blanks and backslashes are written as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// A mounted tree of control groups that limits CPU time.
struct Mount {
  std::string group;  // which group lies at `point`
  std::string point;
  bool unified;  // cgroup v2
};

/// "31 23 0:28 /group /mount/point rw,relatime shared:1 - cgroup2 source rw,nsdelegate", a line
/// each.
std::vector<Mount> mounts(std::string_view mountinfo) {
  std::vector<Mount> out;
  for (std::string_view line : split(mountinfo, '\n', true)) {
    const auto fields = split(line, ' ', true);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool unified = dash[1] == "cgroup2";
    if (!unified && (dash[1] != "cgroup" || !lists(dash[3], "cpu"))) continue;
    out.push_back({unescape(fields[3]), unescape(fields[4]), unified});
  }
  return out;
}

/// The group of this process from /proc/self/cgroup: "4:cpu,cpuacct:/group" or "0::/group".
std::string group_of(std::string_view cgroups, bool unified) {
  for (std::string_view line : split(cgroups, '\n', true)) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : lists(controllers, "cpu")) {
      return std::string(line.substr(second + 1));
    }
  }
  return {};
}

/// The folders below `mount` that lead to `group`, as "/a/b". None where the group does not lie
/// there, as with a group seen from within another namespace: then the mount point is all there is.
std::string path_below(const Mount& mount, std::string group) {
  if (group.find("/..") != std::string::npos) return {};
  if (mount.group != "/") {
    const bool below = group.starts_with(mount.group) &&
                       (group.size() == mount.group.size() || group[mount.group.size()] == '/');
    if (!below) return {};
    group.erase(0, mount.group.size());
  }
  return group;
}

}  // namespace

double cgroup_cpu_limit(const std::string& root) {
  const std::string cgroups = read_text(root + "/proc/self/cgroup");
  double limit = kNoLimit;
  for (const Mount& mount : mounts(read_text(root + "/proc/self/mountinfo"))) {
    std::string path = path_below(mount, group_of(cgroups, mount.unified));
    while (true) {
      while (path.ends_with('/')) path.pop_back();
      limit = std::min(limit, limit_of(root + mount.point + path, mount.unified));
      if (path.empty()) break;
      const std::size_t slash = path.rfind('/');
      path.erase(slash == std::string::npos ? 0 : slash);
    }
  }
  return limit;
}

int available_cpus() noexcept {
  cpu_set_t set;
  // A set of 1024 is too small for some machines; the other count does without it.
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
  int cpus = known ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  try {
    const double limit = cgroup_cpu_limit();
    if (limit < cpus) cpus = static_cast<int>(limit);
  } catch (...) {
    // No memory to read the files: the affinity stands.
  }
  return std::max(cpus, 1);
}

}  // namespace stowage
