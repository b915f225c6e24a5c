// SPDX-License-Identifier: Apache-2.0
// Arena: random lifetimes against an O(n^2) check of overlap, easy cases against the exact optimum.
#include "plan/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include "stowage/error.h"

namespace stowage::plan {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::size_t cells(std::size_t bytes) { return (bytes + 64 + 63) / 64 * 64; }

/// The block that buffer `i` lies in and where.
std::pair<int, std::size_t> root(const std::vector<Buffer>& buffers, int i) {
  std::size_t at = 0;
  for (; buffers[i].share_with >= 0; i = buffers[i].share_with) at += buffers[i].share_at;
  return {i, at};
}

/// Units of 64 bytes that are held at a step, one by one: by block, then by unit of the block the
/// first and the last step.
std::map<int, std::map<std::size_t, std::pair<int, int>>> held_units(
    const std::vector<Buffer>& buffers) {
  std::map<int, std::map<std::size_t, std::pair<int, int>>> out;
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const auto [block, at] = root(buffers, i);
    const Buffer& b = buffers[i];
    for (std::size_t unit = at / 64; unit < (at + b.bytes + 63) / 64; ++unit) {
      auto [place, is_new] = out[block].try_emplace(unit, b.first_step, b.last_step);
      place->second.first = std::min(place->second.first, b.first_step);
      place->second.second = std::max(place->second.second, b.last_step);
    }
  }
  return out;
}

bool overlaps(const std::vector<Buffer>& buffers, const Arena& arena) {
  std::map<std::pair<int, std::size_t>, int> owner;  // by step and unit of the arena
  for (const auto& [block, units] : held_units(buffers)) {
    for (const auto& [unit, steps] : units) {
      for (int step = steps.first; step <= steps.second; ++step) {
        const auto at = owner.try_emplace({step, arena.offsets[block] / 64 + unit}, block).first;
        if (at->second != block) return true;
      }
    }
  }
  return false;
}

ErrorCode code_of(const std::vector<Buffer>& buffers, std::size_t limit) {
  try {
    make_arena(buffers, limit);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode{};
}

TEST(Arena, RandomLifetimes) {
  std::mt19937 rng(1);
  double worst = 1;
  for (int round = 0; round < 400; ++round) {
    std::vector<Buffer> buffers(rng() % 60);
    const int steps = 1 + rng() % 80, longest = 1 + rng() % 12;
    for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
      Buffer& b = buffers[i];
      b.bytes = rng() % 4 == 0 ? rng() % 3 : rng() % 5000;
      b.first_step = static_cast<int>(rng() % steps) - 1;
      b.last_step = b.first_step + static_cast<int>(rng() % longest);
      if (i > 0 && rng() % 5 == 0) {
        b.share_with = rng() % i;
        if (rng() % 2 == 0) b.share_at = rng() % 40 * 64;
      }
    }
    // The order of the list means nothing: shares may also point forward.
    if (round % 2 == 1) {
      std::reverse(buffers.begin(), buffers.end());
      for (Buffer& b : buffers) {
        if (b.share_with >= 0) b.share_with = static_cast<int>(buffers.size()) - 1 - b.share_with;
      }
    }
    const Arena arena = make_arena(buffers, kNoLimit);
    ASSERT_EQ(arena.offsets.size(), buffers.size());
    ASSERT_NO_THROW(verify(buffers, arena));
    ASSERT_FALSE(overlaps(buffers, arena)) << "round " << round;
    ASSERT_GE(arena.bytes, arena.lower_bound);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      ASSERT_EQ(arena.offsets[i] % kArenaAlignment, 0u);
      ASSERT_LE(arena.offsets[i] + buffers[i].bytes + kArenaSlack, arena.bytes);
    }
    for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
      const auto [block, at] = root(buffers, i);
      ASSERT_EQ(arena.offsets[i], arena.offsets[block] + at);
    }
    // No arena is smaller than what is alive at one step, and none has to be much larger.
    std::map<int, std::size_t> alive;
    for (const auto& [block, units] : held_units(buffers)) {
      for (const auto& [unit, held] : units) {
        for (int step = held.first; step <= held.second; ++step) alive[step] += 64;
      }
    }
    std::size_t most = 0;
    for (const auto& [step, bytes] : alive) most = std::max(most, bytes);
    ASSERT_LE(most, arena.bytes);
    if (arena.lower_bound > 0) {
      worst = std::max(worst, static_cast<double>(arena.bytes) / arena.lower_bound);
    }
    const Arena again = make_arena(buffers, arena.bytes);
    EXPECT_EQ(again.offsets, arena.offsets);
  }
  EXPECT_LT(worst, 1.5);
}

TEST(Arena, EasyCasesAreOptimal) {
  for (int n : {0, 1, 2, 3, 17, 100}) {
    std::vector<Buffer> chain, together, disjoint, residual;
    for (int i = 0; i < n; ++i) {
      const std::size_t bytes = 1000 + 37 * (i % 7);
      chain.push_back({bytes, i, i + 1});
      together.push_back({bytes, 0, 5});
      disjoint.push_back({bytes, 2 * i, 2 * i + 1});
      residual.push_back({640, i, i % 3 == 0 ? i + 3 : i + 1});
    }
    for (const auto& buffers : {chain, together, disjoint, residual}) {
      const Arena arena = make_arena(buffers, kNoLimit);
      verify(buffers, arena);
      EXPECT_EQ(arena.bytes, arena.lower_bound) << n;
    }
  }
}

TEST(Arena, SharingHoldsTheMemoryBetween) {
  // 0 ends at step 1, 1 continues it at step 5; 2 lives in the meantime and must lie elsewhere.
  const std::vector<Buffer> buffers = {{200, 0, 1}, {200, 5, 6, 0}, {300, 3, 3}};
  const Arena arena = make_arena(buffers, kNoLimit);
  EXPECT_EQ(arena.offsets[0], arena.offsets[1]);
  EXPECT_EQ(arena.bytes, cells(200) + cells(300));
}

/// Two parts become one whole: the memory of the second is free until it is written.
TEST(Arena, PartsLiveByThemselves) {
  const std::vector<Buffer> buffers = {
      {6400, 6, 7}, {3200, 0, 6, 0, 0}, {3200, 5, 6, 0, 3200}, {3000, 2, 3}};
  const Arena arena = make_arena(buffers, kNoLimit);
  verify(buffers, arena);
  EXPECT_EQ(arena.offsets[1], arena.offsets[0]);
  EXPECT_EQ(arena.offsets[2], arena.offsets[0] + 3200);
  EXPECT_EQ(arena.bytes, cells(6400));
}

TEST(Arena, LimitIsKept) {
  const std::vector<Buffer> buffers = {{1000, 0, 1}, {1000, 1, 2}};
  EXPECT_EQ(make_arena(buffers, 2 * cells(1000)).bytes, 2 * cells(1000));
  EXPECT_EQ(code_of(buffers, 2 * cells(1000) - 1), ErrorCode::limit);
  EXPECT_EQ(code_of({{kNoLimit - 3, 0, 1}}, kNoLimit), ErrorCode::limit);
  EXPECT_EQ(code_of({{kNoLimit / 2, 0, 1}, {kNoLimit / 2 + 1, 0, 1}}, kNoLimit), ErrorCode::limit);
  EXPECT_EQ(code_of({{kNoLimit / 2, 0, 1}, {kNoLimit / 2, 2, 3}}, kNoLimit), ErrorCode{});
}

TEST(Arena, NonsenseIsRefused) {
  const std::vector<std::vector<Buffer>> cases = {
      {{8, 3, 2}},                   // ends before it begins
      {{8, 0, 1, 0}},                // shares with itself
      {{8, 0, 1, 1}, {8, 0, 1, 0}},  // a ring
      {{8, 0, 1, 2}, {8, 0, 1}},     // out of range
      {{8, 0, 1, -2}},
  };
  for (const auto& buffers : cases) EXPECT_EQ(code_of(buffers, kNoLimit), ErrorCode::internal);
}

TEST(Arena, VerifySeesWhatIsWrong) {
  const std::vector<Buffer> buffers = {{100, 0, 2}, {100, 2, 3}, {100, 3, 4}, {50, 4, 5, 2}};
  const Arena good = make_arena(buffers, kNoLimit);
  ASSERT_NO_THROW(verify(buffers, good));
  ASSERT_EQ(good.bytes, 2 * cells(100));
  const auto broken = [&](auto change) {
    Arena arena = good;
    change(arena);
    try {
      verify(buffers, arena);
    } catch (const Error& e) {
      return e.code() == ErrorCode::internal;
    }
    return false;
  };
  EXPECT_TRUE(broken([](Arena& a) { a.offsets[1] = a.offsets[0]; }));
  EXPECT_TRUE(broken([](Arena& a) { a.offsets[0] += 8; }));
  EXPECT_TRUE(broken([](Arena& a) { a.offsets[3] += 64; }));
  EXPECT_TRUE(broken([](Arena& a) { a.bytes -= 64; }));
  EXPECT_TRUE(broken([](Arena& a) { a.offsets.pop_back(); }));
  // The slack of the lower buffer may not be written by the upper one.
  EXPECT_TRUE(broken([](Arena& a) {
    a.bytes += 1024;
    (a.offsets[0] < a.offsets[1] ? a.offsets[1] : a.offsets[0]) -= 64;
  }));
}

}  // namespace
}  // namespace stowage::plan
