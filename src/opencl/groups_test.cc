// SPDX-License-Identifier: Apache-2.0
#include "opencl/groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <set>

#include "kernels/gemm/gemm_device.h"
#include "opencl/test_folder.h"

namespace stowage {
namespace {

using Items = std::array<std::int64_t, 3>;

TEST(OpenClGroup, IsHalvedUntilItFits) {
  const std::vector<std::size_t> each{1024, 1024, 64};
  EXPECT_EQ(fitting_group({16, 4, 1}, {256, each}), (Group{16, 4, 1}));
  EXPECT_EQ(fitting_group({16, 4, 1}, {64, each}), (Group{16, 4, 1}));
  EXPECT_EQ(fitting_group({16, 4, 1}, {63, each}), (Group{8, 4, 1}));
  EXPECT_EQ(fitting_group({16, 4, 1}, {1, each}), (Group{1, 1, 1}));
  EXPECT_EQ(fitting_group({16, 4, 128}, {4096, each}), (Group{16, 4, 64}));
  EXPECT_EQ(fitting_group({0, 4, 1}, {256, {}}), (Group{1, 4, 1}));
}

TEST(OpenClGroup, WhatIsTriedFitsAndIsTriedOnce) {
  const Items all_items[] = {{1, 1, 1}, {7, 1, 1},     {1000, 1, 1}, {1, 500, 1},
                             {9, 3, 1}, {300, 200, 1}, {33, 5, 2}};
  const GroupLimits all_limits[] = {
      {4096, {4096, 4096, 4096}}, {256, {256, 256, 64}}, {100, {1024, 8, 1}}, {1, {1, 1, 1}}};
  for (const Items& items : all_items) {
    for (const GroupLimits& limits : all_limits) {
      Launch launch;
      launch.items = items;
      const std::vector<Group> groups = groups_to_try(launch, limits);
      ASSERT_FALSE(groups.empty());
      EXPECT_EQ(groups[0], usual_group(launch, limits));
      EXPECT_EQ(std::set<Group>(groups.begin(), groups.end()).size(), groups.size());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        EXPECT_LE(groups[g][0] * groups[g][1] * groups[g][2], limits.items);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_LE(groups[g][i], limits.sides[i]);
          // Half of a group at most has nothing to do.
          if (g > 0) {
            EXPECT_LT(groups[g][i], 2 * static_cast<std::size_t>(items[i]));
          }
        }
      }
      launch.fixed_group = true;
      EXPECT_EQ(groups_to_try(launch, limits), (std::vector<Group>{groups[0]}));
    }
  }
  Launch launch;
  launch.items = {300, 200, 1};
  EXPECT_GT(groups_to_try(launch, all_limits[0]).size(), 5u);
  launch.items = {300, 1, 1};
  EXPECT_EQ(groups_to_try(launch, all_limits[0]).size(), 4u);
}

/// Times of each candidate by turn; the last one stays.
std::optional<std::size_t> fastest_of(const std::vector<std::vector<double>>& times, int left = 999,
                                      std::vector<std::size_t>* turns = nullptr) {
  std::vector<std::size_t> turn(times.size(), 0);
  const auto best = fastest(
      times.size(),
      [&](std::size_t i) {
        const std::size_t t = turn[i]++;
        return times[i][std::min(t, times[i].size() - 1)];
      },
      [&] { return left-- > 0; });
  if (turns != nullptr) *turns = turn;
  return best;
}

TEST(OpenClGroup, OnlyWhatIsFasterByMoreThanNoiseIsChosen) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fastest_of({{10}}), 0u);
  EXPECT_EQ(fastest_of({{10}, {8}, {7}, {9}}), 2u);
  EXPECT_EQ(fastest_of({{10}, {9.9}}), 0u);
  EXPECT_EQ(fastest_of({{10}, {kNever}, {9}}), 2u);
  EXPECT_EQ(fastest_of({{0}, {0}}), 0u);  // a device without a clock
  // The first run does not count, and neither does a single slow one.
  EXPECT_EQ(fastest_of({{1, 10}, {99, 5}}), 1u);
  EXPECT_EQ(fastest_of({{10}, {6, 6, 12, 6, 6, 12}}), 1u);
  EXPECT_EQ(fastest_of({{10}, {12, 12, 6, 12, 12, 12}}), 0u);
}

TEST(OpenClGroup, HopelessOnesRunTwice) {
  std::vector<std::size_t> turns;
  EXPECT_EQ(fastest_of({{10}, {30}, {9}}, 999, &turns), 2u);
  EXPECT_EQ(turns, (std::vector<std::size_t>{6, 2, 6}));
}

TEST(OpenClGroup, NothingIsSaidWhenTheTimeIsOver) {
  EXPECT_EQ(fastest_of({{10}, {5}}, 0), std::nullopt);
  EXPECT_EQ(fastest_of({{10}, {5}}, 11), std::nullopt);
  EXPECT_EQ(fastest_of({{10}, {5}}, 12), 1u);
}

TEST(OpenClGroup, SourcesThatShareWorkKeepTheirs) {
  const Shape shape("mn", {8, 512});
  const LaunchView view{Mapping(Layout::parse("m n"), shape, 4)};
  const LaunchView in[] = {view, {Mapping(Layout::parse("m n"), Shape("mn", {512, 512}), 4)}};
  const LaunchView out[] = {view};
  for (const bool split : {false, true}) {
    GemmDeviceParams params;
    params.split = split ? 16 : 1;
    Launch launch;
    launch_gemm(params, {in, out}, launch);
    EXPECT_EQ(launch.fixed_group, split);
  }
}

TEST(OpenClGroup, IsKeptInTheFolder) {
  const TestFolder folder;
  const Items items{7, 5, 1};
  Groups groups(folder.path());
  EXPECT_EQ(groups.find("p", items), std::nullopt);
  groups.put("p", items, {8, 4, 1});
  EXPECT_EQ(groups.find("p", items), (std::array{8, 4, 1}));
  Groups others(folder.path());
  EXPECT_EQ(others.find("p", items), (std::array{8, 4, 1}));
  EXPECT_EQ(others.find("q", items), std::nullopt);
  EXPECT_EQ(others.find("p", {7, 5, 2}), std::nullopt);
  EXPECT_EQ(others.counts().read, 1);
  EXPECT_EQ(others.counts().measured, 0);
  EXPECT_EQ(Groups("").find("p", items), std::nullopt);
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::filesystem::resize_file(file, file.file_size() - 1);
  }
  EXPECT_EQ(Groups(folder.path()).find("p", items), std::nullopt);
  groups.put("p", items, {4, 4, 1});
  EXPECT_EQ(Groups(folder.path()).find("p", items), (std::array{4, 4, 1}));
}

TEST(OpenClGroup, NonsenseInAWholeFileIsNone) {
  const TestFolder folder;
  const ProgramCache cache(folder.path());
  for (const std::string content :
       {"", "8 4", "8 4 0", "-8 4 1", "8 4 1 1", "8 4 1\n", " 8 4 1", "8  4 1", "99999999 1 1",
        "99999999999999999999 1 1", "a b c"}) {
    cache.write("p\ngroup of 7 5 1", std::as_bytes(std::span(content)));
    EXPECT_EQ(Groups(folder.path()).find("p", {7, 5, 1}), std::nullopt) << content;
  }
  const std::string good = "8 4 1";
  cache.write("p\ngroup of 7 5 1", std::as_bytes(std::span(good)));
  EXPECT_EQ(Groups(folder.path()).find("p", {7, 5, 1}), (std::array{8, 4, 1}));
}

}  // namespace
}  // namespace stowage
