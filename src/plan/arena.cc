// SPDX-License-Identifier: Apache-2.0
// Greedy packing of lifetimes with best fit into gaps.
#include "plan/arena.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "base/text.h"

namespace stowage::plan {
namespace {

std::size_t add(std::size_t a, std::size_t b) {
  std::size_t out;
  if (__builtin_add_overflow(a, b, &out)) fail(ErrorCode::limit, "the arena exceeds all memory");
  return out;
}

std::size_t padded(std::size_t bytes) {
  return add(bytes, kArenaSlack + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Buffers that share memory, as one.
struct Block {
  std::size_t bytes = 0;
  int first = std::numeric_limits<int>::max(), last = std::numeric_limits<int>::min();
};

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct Blocks {
  std::vector<Block> blocks;
  std::vector<int> of;  // the block of each buffer
};

Blocks join_shared(std::span<const Buffer> buffers) {
  const int n = static_cast<int>(buffers.size());
  Blocks out;
  out.of.assign(buffers.size(), -1);
  std::vector<int> path;
  for (int i = 0; i < n; ++i) {
    path.clear();
    int at = i;
    while (out.of[at] < 0) {
      path.push_back(at);
      if (path.size() > buffers.size()) {
        fail(ErrorCode::internal, "buffer ", i, " shares memory with itself");
      }
      const int next = buffers[at].share_with;
      if (next < -1 || next >= n) {
        fail(ErrorCode::internal, "buffer ", at, " shares memory with buffer ", next, " of ", n);
      }
      if (next < 0) {
        out.of[at] = static_cast<int>(out.blocks.size());
        out.blocks.emplace_back();
      } else {
        at = next;
      }
    }
    for (int k : path) out.of[k] = out.of[at];
  }
  for (int i = 0; i < n; ++i) {
    const Buffer& b = buffers[i];
    if (b.first_step > b.last_step) {
      fail(ErrorCode::internal, "buffer ", i, " ends at step ", b.last_step,
           " before it begins at step ", b.first_step);
    }
    Block& block = out.blocks[out.of[i]];
    block.bytes = std::max(block.bytes, padded(b.bytes));
    block.first = std::min(block.first, b.first_step);
    block.last = std::max(block.last, b.last_step);
  }
  return out;
}

std::vector<int> sorted(std::size_t n, const std::function<bool(int, int)>& less) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

std::size_t most_alive(const std::vector<Block>& blocks) {
  const auto births =
      sorted(blocks.size(), [&](int a, int b) { return blocks[a].first < blocks[b].first; });
  const auto deaths =
      sorted(blocks.size(), [&](int a, int b) { return blocks[a].last < blocks[b].last; });
  std::size_t alive = 0, most = 0, dead = 0;
  for (int i : births) {
    while (blocks[deaths[dead]].last < blocks[i].first) alive -= blocks[deaths[dead++]].bytes;
    alive = add(alive, blocks[i].bytes);
    most = std::max(most, alive);
  }
  return most;
}

struct Placed {
  std::size_t begin, end;
  int first, last;
};

/// Each block of the order into the tightest gap between the blocks that live with it, else behind
/// them all. A gap that touches `cap` is filled from above, the others from below: with a cap close
/// to the optimum the blocks of a chain take turns at both ends and leave the middle whole.
/// Returns the total, or kNone when a block does not fit below `cap`.
std::size_t pack(const std::vector<Block>& blocks, const std::vector<int>& order, std::size_t cap,
                 std::vector<std::size_t>& offsets) {
  offsets.assign(blocks.size(), 0);
  std::vector<Placed> placed;  // by begin
  placed.reserve(blocks.size());
  std::size_t total = 0;
  for (int i : order) {
    const Block& b = blocks[i];
    std::size_t free_from = 0, best = 0, best_gap = kNone;
    for (const Placed& p : placed) {
      if (p.last < b.first || p.first > b.last) continue;
      if (p.begin > free_from) {
        const std::size_t gap = p.begin - free_from;
        if (gap >= b.bytes && gap < best_gap) best = free_from, best_gap = gap;
      }
      free_from = std::max(free_from, p.end);
    }
    const std::size_t last_gap = cap > free_from ? cap - free_from : 0;
    if (cap == kNone) {
      if (best_gap == kNone) best = free_from;
    } else if (last_gap >= b.bytes && last_gap < best_gap) {
      best = free_from == 0 ? 0 : cap - b.bytes;
    } else if (best_gap == kNone) {
      return kNone;
    }
    const Placed here{best, add(best, b.bytes), b.first, b.last};
    const auto by_begin = [](const Placed& x, const Placed& y) { return x.begin < y.begin; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here, by_begin), here);
    offsets[i] = best;
    total = std::max(total, here.end);
  }
  return total;
}

double area(const Block& b) {
  return static_cast<double>(b.bytes) * (static_cast<double>(b.last) - b.first + 1);
}

}  // namespace

Arena make_arena(std::span<const Buffer> buffers, std::size_t limit) {
  const Blocks joined = join_shared(buffers);
  const std::vector<Block>& blocks = joined.blocks;
  Arena arena;
  arena.lower_bound = most_alive(blocks);
  if (arena.lower_bound > limit) {
    fail(ErrorCode::limit, "the tensors alive at one step take ", arena.lower_bound,
         " bytes, more than the limit of ", limit);
  }
  std::vector<std::vector<int>> orders;
  const auto order_by = [&](const std::function<bool(int, int)>& less) {
    orders.push_back(sorted(blocks.size(), less));
  };
  order_by([&](int a, int b) { return blocks[a].bytes > blocks[b].bytes; });
  order_by([&](int a, int b) { return area(blocks[a]) > area(blocks[b]); });
  order_by([&](int a, int b) {
    return blocks[a].first != blocks[b].first ? blocks[a].first < blocks[b].first
                                              : blocks[a].bytes > blocks[b].bytes;
  });
  std::vector<std::size_t> offsets, best;
  arena.bytes = kNone;
  const auto attempt = [&](std::size_t cap) {
    for (const auto& order : orders) {
      if (arena.bytes == arena.lower_bound) return;
      const std::size_t total = pack(blocks, order, cap, offsets);
      if (total < arena.bytes || best.size() != blocks.size()) {
        arena.bytes = total;
        best.swap(offsets);
      }
    }
  };
  attempt(kNone);
  // Packing takes quadratic time, so only small plans are worth the whole ladder of caps.
  const std::size_t rungs = blocks.size() <= 2048 ? 8 : 1;
  const std::size_t step = (arena.bytes - arena.lower_bound) / rungs / kArenaAlignment;
  for (std::size_t k = 0; k < rungs; ++k) {
    const std::size_t cap = arena.lower_bound + k * step * kArenaAlignment;
    if (cap < arena.bytes) attempt(cap);
  }
  if (arena.bytes > limit) {
    fail(ErrorCode::limit, "the arena takes ", arena.bytes, " bytes, more than the limit of ",
         limit);
  }
  arena.offsets.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) arena.offsets[i] = best[joined.of[i]];
  return arena;
}

void verify(std::span<const Buffer> buffers, const Arena& arena) {
  const Blocks joined = join_shared(buffers);
  if (arena.offsets.size() != buffers.size()) {
    fail(ErrorCode::internal, "the arena has ", arena.offsets.size(), " offsets for ",
         buffers.size(), " buffers");
  }
  std::vector<int> member(joined.blocks.size(), -1);  // one buffer of each block
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const std::size_t offset = arena.offsets[i];
    if (offset % kArenaAlignment != 0) {
      fail(ErrorCode::internal, "buffer ", i, " lies at ", offset, ", off the alignment");
    }
    if (offset > arena.bytes || arena.bytes - offset < padded(buffers[i].bytes)) {
      fail(ErrorCode::internal, "buffer ", i, " lies outside the arena");
    }
    int& first = member[joined.of[i]];
    if (first < 0) first = i;
    if (offset != arena.offsets[first]) {
      fail(ErrorCode::internal, "buffers ", first, " and ", i, " share memory but lie apart");
    }
  }
  // A sweep over the steps: while no two live blocks overlap, a new one can only overlap its
  // neighbours in memory.
  const std::vector<Block>& blocks = joined.blocks;
  const auto births =
      sorted(blocks.size(), [&](int a, int b) { return blocks[a].first < blocks[b].first; });
  const auto deaths =
      sorted(blocks.size(), [&](int a, int b) { return blocks[a].last < blocks[b].last; });
  std::map<std::size_t, int> alive;  // offset to block
  std::size_t dead = 0;
  for (int i : births) {
    for (; blocks[deaths[dead]].last < blocks[i].first; ++dead) {
      alive.erase(arena.offsets[member[deaths[dead]]]);
    }
    const std::size_t begin = arena.offsets[member[i]];
    const auto above = alive.lower_bound(begin);
    const auto clash = [&](int other) {
      fail(ErrorCode::internal, "buffers ", member[other], " and ", member[i],
           " live at one step and overlap");
    };
    if (above != alive.end() && above->first - begin < blocks[i].bytes) clash(above->second);
    if (above != alive.begin()) {
      const auto below = std::prev(above);
      if (begin - below->first < blocks[below->second].bytes) clash(below->second);
    }
    alive.emplace(begin, i);
  }
}

}  // namespace stowage::plan
