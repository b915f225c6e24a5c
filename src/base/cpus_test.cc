// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace stowage {
namespace {

constexpr double kNone = HUGE_VAL;

using Files = std::vector<std::pair<std::string, std::string>>;

/// A folder with the given files, gone with the object.
class Root {
 public:
  explicit Root(const Files& files) {
    std::string name = (std::filesystem::temp_directory_path() / "stowage_cpus_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    for (const auto& [file, text] : files) {
      const std::filesystem::path at = path_ + "/" + file;
      std::filesystem::create_directories(at.parent_path());
      std::ofstream(at, std::ios::binary) << text;
    }
  }

  ~Root() { std::filesystem::remove_all(path_); }

  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string kV2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kV1 =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu rw shared:10 master:2 - cgroup cgroup rw,cpu,cpuacct\n";

Files v2(const std::string& group, Files groups) {
  groups.emplace_back("proc/self/mountinfo", kV2);
  groups.emplace_back("proc/self/cgroup", "0::" + group + "\n");
  return groups;
}

Files v1(const std::string& group, Files groups) {
  groups.emplace_back("proc/self/mountinfo", kV1);
  groups.emplace_back("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:" + group + "\n");
  return groups;
}

Files mounted(const std::string& mountinfo, const std::string& cgroup, Files groups) {
  groups.emplace_back("proc/self/mountinfo", mountinfo);
  groups.emplace_back("proc/self/cgroup", cgroup);
  return groups;
}

struct Case {
  const char* name;
  double limit;
  Files files;
};

const std::string kFs = "sys/fs/cgroup/";

std::vector<Case> cases() {
  return {
      {"nothing at all", kNone, {}},
      {"v2: a limit", 1.5, v2("/a", {{kFs + "a/cpu.max", "150000 100000\n"}})},
      {"v2: no limit", kNone, v2("/a", {{kFs + "a/cpu.max", "max 100000\n"}})},
      {"v2: the root group has no file", kNone, v2("/", {})},
      {"v2: a namespace's own root", 3, v2("/", {{kFs + "cpu.max", "300000 100000\n"}})},
      {"v2: the parent allows less", 2,
       v2("/a/b/c", {{kFs + "a/cpu.max", "200000 100000\n"},
                     {kFs + "a/b/cpu.max", "max 100000\n"},
                     {kFs + "a/b/c/cpu.max", "400000 100000\n"}})},
      {"v2: the child allows less", 0.25,
       v2("/a/b", {{kFs + "a/cpu.max", "200000 100000\n"}, {kFs + "a/b/cpu.max", "5000 20000\n"}})},
      {"v2: a group beside does not count", kNone,
       v2("/a", {{kFs + "b/cpu.max", "100000 100000\n"}, {kFs + "a/b/cpu.max", "1000 100000\n"}})},
      {"v2: outside this namespace", 4,
       v2("/../../x", {{kFs + "cpu.max", "400000 100000\n"}, {"sys/x/cpu.max", "1000 100000\n"}})},
      {"v1: a limit", 2.5,
       v1("/a", {{kFs + "cpu/a/cpu.cfs_quota_us", "250000\n"},
                 {kFs + "cpu/a/cpu.cfs_period_us", "100000\n"}})},
      {"v1: no limit", kNone,
       v1("/a", {{kFs + "cpu/a/cpu.cfs_quota_us", "-1\n"},
                 {kFs + "cpu/a/cpu.cfs_period_us", "100000\n"}})},
      {"v1: the parent allows less", 1,
       v1("/a/b", {{kFs + "cpu/a/cpu.cfs_quota_us", "50000\n"},
                   {kFs + "cpu/a/cpu.cfs_period_us", "50000\n"},
                   {kFs + "cpu/a/b/cpu.cfs_quota_us", "400000\n"},
                   {kFs + "cpu/a/b/cpu.cfs_period_us", "100000\n"}})},
      {"v1: another controller's group does not count", kNone,
       v1("/", {{kFs + "cpu/other/cpu.cfs_quota_us", "1000\n"},
                {kFs + "cpu/other/cpu.cfs_period_us", "100000\n"}})},
      {"v1: the container's group is mounted itself", 2,
       mounted("9 8 0:1 /docker/x /cg ro - cgroup cgroup rw,cpu\n", "4:cpu:/docker/x/y\n",
               {{"cg/cpu.cfs_quota_us", "200000"},
                {"cg/cpu.cfs_period_us", "100000"},
                {"cg/y/cpu.cfs_quota_us", "300000"},
                {"cg/y/cpu.cfs_period_us", "100000"}})},
      {"v1: a group that only begins alike", 2,
       mounted("9 8 0:1 /docker/x /cg ro - cgroup cgroup rw,cpu\n", "4:cpu:/docker/xy\n",
               {{"cg/cpu.cfs_quota_us", "200000"},
                {"cg/cpu.cfs_period_us", "100000"},
                {"cg/y/cpu.cfs_quota_us", "1000"},
                {"cg/y/cpu.cfs_period_us", "100000"}})},
      {"both versions", 2,
       mounted(kV2 + kV1, "4:cpu:/a\n0::/a\n",
               {{kFs + "cpu/a/cpu.cfs_quota_us", "200000"},
                {kFs + "cpu/a/cpu.cfs_period_us", "100000"},
                {kFs + "a/cpu.max", "300000 100000"}})},
      {"a mount point with a blank", 1,
       mounted("9 8 0:1 / /c\\040g rw - cgroup2 none rw\n", "0::/\n",
               {{"c g/cpu.max", "100000 100000\n"}})},
      {"malformed numbers", kNone, v2("/a", {{kFs + "a/cpu.max", "1e5 100000\n"}})},
      {"one number", kNone, v2("/a", {{kFs + "a/cpu.max", "100000\n"}})},
      {"three numbers", kNone, v2("/a", {{kFs + "a/cpu.max", "1 2 3\n"}})},
      {"a period of zero", kNone, v2("/a", {{kFs + "a/cpu.max", "100000 0\n"}})},
      {"a quota of zero", kNone, v2("/a", {{kFs + "a/cpu.max", "0 100000\n"}})},
      {"past 64 bits", kNone, v2("/a", {{kFs + "a/cpu.max", "99999999999999999999 100000\n"}})},
      {"empty files", kNone, v2("/a", {{kFs + "a/cpu.max", ""}})},
      {"v1: a quota without a period", kNone,
       v1("/a", {{kFs + "cpu/a/cpu.cfs_quota_us", "50000\n"}})},
      {"lines without fields", kNone, mounted("\n \n- - -\n1 2 3 4 5 6 -\n", "\n:\n4\n", {})},
      {"groups without a group", kNone, mounted(kV2 + kV1, "0:\n4:cpu\n", {})},
      {"bytes that are no text", kNone, mounted(kV2, std::string("\0\xff::\0/", 6), {})},
  };
}

TEST(Cpus, LimitsOfControlGroups) {
  for (const Case& c : cases()) {
    const Root root(c.files);
    EXPECT_EQ(cgroup_cpu_limit(root.path()), c.limit) << c.name;
  }
}

TEST(Cpus, VeryDeepGroups) {
  std::string group;
  for (int i = 0; i < 60; ++i) group += "/g";
  const Root root(v2(group, {{kFs + group.substr(1) + "/cpu.max", "300000 100000"},
                             {kFs + "g/g/cpu.max", "200000 100000"}}));
  EXPECT_EQ(cgroup_cpu_limit(root.path()), 2);
}

TEST(Cpus, NoMoreThanTheAffinityAllows) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace stowage
