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

/// Bytes of a block that live as long as each other.
struct Piece {
  std::size_t begin = 0, end = 0;  ///< in the block
  int first = 0, last = 0;
};

/// Buffers that share memory, as one that cannot be bent.
struct Block {
  std::size_t bytes = 0;  ///< alignment and slack included
  int first = std::numeric_limits<int>::max(), last = std::numeric_limits<int>::min();
  std::vector<Piece> pieces;  ///< by begin; no two have a byte in common
};

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct Blocks {
  std::vector<Block> blocks;
  std::vector<int> of;          // the block of each buffer
  std::vector<std::size_t> at;  // where in the block each buffer begins
};

/// The block of each buffer, and where in it the buffer begins.
void link_shared(std::span<const Buffer> buffers, Blocks& out) {
  const int n = static_cast<int>(buffers.size());
  out.of.assign(buffers.size(), -1);
  out.at.assign(buffers.size(), 0);
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
        path.pop_back();
      } else {
        at = next;
      }
    }
    // From the outermost inwards.
    for (auto k = path.rbegin(); k != path.rend(); ++k) {
      const Buffer& b = buffers[*k];
      out.of[*k] = out.of[b.share_with];
      out.at[*k] = add(out.at[b.share_with], b.share_at);
    }
  }
}

/// Cuts the block wherever one of its buffers begins or ends.
void cut_pieces(std::span<const Buffer> buffers, const Blocks& blocks,
                const std::vector<int>& members, Block& block) {
  std::vector<std::size_t> cuts;
  for (int i : members) {
    cuts.push_back(blocks.at[i]);
    cuts.push_back(blocks.at[i] + buffers[i].bytes);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Piece piece{cuts[k], cuts[k + 1], block.last, block.first};
    for (int i : members) {
      if (blocks.at[i] > piece.begin || blocks.at[i] + buffers[i].bytes < piece.end) continue;
      piece.first = std::min(piece.first, buffers[i].first_step);
      piece.last = std::max(piece.last, buffers[i].last_step);
    }
    if (piece.first > piece.last) continue;  // between two buffers
    Piece* before = block.pieces.empty() ? nullptr : &block.pieces.back();
    if (before != nullptr && before->end == piece.begin && before->first == piece.first &&
        before->last == piece.last) {
      before->end = piece.end;
    } else {
      block.pieces.push_back(piece);
    }
  }
  if (block.pieces.empty()) block.pieces.push_back({0, 0, block.first, block.last});
  block.pieces.back().end = block.bytes;
}

Blocks join_shared(std::span<const Buffer> buffers) {
  Blocks out;
  link_shared(buffers, out);
  std::vector<std::vector<int>> members(out.blocks.size());
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const Buffer& b = buffers[i];
    if (b.first_step > b.last_step) {
      fail(ErrorCode::internal, "buffer ", i, " ends at step ", b.last_step,
           " before it begins at step ", b.first_step);
    }
    members[out.of[i]].push_back(i);
    Block& block = out.blocks[out.of[i]];
    block.bytes = std::max(block.bytes, padded(add(out.at[i], b.bytes)));
    block.first = std::min(block.first, b.first_step);
    block.last = std::max(block.last, b.last_step);
  }
  for (std::size_t k = 0; k < out.blocks.size(); ++k) {
    cut_pieces(buffers, out, members[k], out.blocks[k]);
  }
  return out;
}

std::vector<int> sorted(std::size_t n, const std::function<bool(int, int)>& less) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

std::vector<Piece> all_pieces(const std::vector<Block>& blocks) {
  std::vector<Piece> out;
  for (const Block& b : blocks) out.insert(out.end(), b.pieces.begin(), b.pieces.end());
  return out;
}

std::size_t most_alive(const std::vector<Block>& blocks) {
  const std::vector<Piece> pieces = all_pieces(blocks);
  const auto births =
      sorted(pieces.size(), [&](int a, int b) { return pieces[a].first < pieces[b].first; });
  const auto deaths =
      sorted(pieces.size(), [&](int a, int b) { return pieces[a].last < pieces[b].last; });
  const auto bytes = [&](int i) { return pieces[i].end - pieces[i].begin; };
  std::size_t alive = 0, most = 0, dead = 0;
  for (int i : births) {
    while (pieces[deaths[dead]].last < pieces[i].first) alive -= bytes(deaths[dead++]);
    alive = add(alive, bytes(i));
    most = std::max(most, alive);
  }
  // Arenas are whole multiples of the alignment.
  return add(most, kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

struct Placed {
  std::size_t begin, end;
  int first, last;
};

/// Offsets [lo, hi) at which a block would meet what is placed.
struct Blocked {
  std::int64_t lo, hi;
};

/// The slack behind each piece is kept free, too, while it lives.
void blocked_offsets(const Block& b, const std::vector<Placed>& placed, std::vector<Blocked>& out) {
  out.clear();
  for (const Placed& p : placed) {
    for (const Piece& piece : b.pieces) {
      if (p.last < piece.first || p.first > piece.last) continue;
      const std::size_t end = piece.end == b.bytes ? piece.end : piece.end + kArenaSlack;
      out.push_back({static_cast<std::int64_t>(p.begin) - static_cast<std::int64_t>(end) + 1,
                     static_cast<std::int64_t>(p.end) - static_cast<std::int64_t>(piece.begin)});
    }
  }
  std::sort(out.begin(), out.end(), [](const Blocked& x, const Blocked& y) { return x.lo < y.lo; });
}

/// Each block of the order into the tightest gap between the blocks that live with it, else behind
/// them all. A gap that touches `cap` is filled from above, the others from below: with a cap close
/// to the optimum the blocks of a chain take turns at both ends and leave the middle whole.
/// Returns the total, or kNone when a block does not fit below `cap`.
std::size_t pack(const std::vector<Block>& blocks, const std::vector<int>& order, std::size_t cap,
                 std::vector<std::size_t>& offsets) {
  offsets.assign(blocks.size(), 0);
  std::vector<Placed> placed;
  placed.reserve(blocks.size());
  std::vector<Blocked> blocked;
  std::size_t total = 0;
  for (int i : order) {
    const Block& b = blocks[i];
    blocked_offsets(b, placed, blocked);
    constexpr auto kAlign = static_cast<std::int64_t>(kArenaAlignment);
    std::int64_t free_from = 0;
    std::size_t best = 0, best_gap = kNone;
    for (const Blocked& x : blocked) {
      // The gap holds the block and what is left over.
      if (x.lo > free_from) {
        const std::size_t gap = static_cast<std::size_t>(x.lo - 1 - free_from) + b.bytes;
        if (gap < best_gap) best = static_cast<std::size_t>(free_from), best_gap = gap;
      }
      free_from = std::max(free_from, (x.hi + kAlign - 1) / kAlign * kAlign);
    }
    const auto behind = static_cast<std::size_t>(free_from);
    const std::size_t last_gap = cap > behind ? cap - behind : 0;
    if (cap == kNone) {
      if (best_gap == kNone) best = behind;
    } else if (last_gap >= b.bytes && last_gap < best_gap) {
      best = behind == 0 ? 0 : cap - b.bytes;
    } else if (best_gap == kNone) {
      return kNone;
    }
    for (const Piece& piece : b.pieces) {
      const std::size_t end = piece.end == b.bytes ? piece.end : piece.end + kArenaSlack;
      placed.push_back({add(best, piece.begin), add(best, end), piece.first, piece.last});
    }
    offsets[i] = best;
    total = std::max(total, add(best, b.bytes));
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
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    arena.offsets[i] = best[joined.of[i]] + joined.at[i];
  }
  return arena;
}

namespace {

/// A sweep over the steps: while no two live pieces overlap, a new one can only overlap its
/// neighbours in memory.
void expect_no_clash(const std::vector<Block>& blocks, const std::vector<std::size_t>& base) {
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    for (Piece p : blocks[k].pieces) {
      p.begin += base[k];
      p.end += base[k];
      if (p.begin < p.end) pieces.push_back(p);
    }
  }
  const auto births =
      sorted(pieces.size(), [&](int a, int b) { return pieces[a].first < pieces[b].first; });
  const auto deaths =
      sorted(pieces.size(), [&](int a, int b) { return pieces[a].last < pieces[b].last; });
  std::map<std::size_t, int> alive;  // by begin
  std::size_t dead = 0;
  for (int i : births) {
    for (; pieces[deaths[dead]].last < pieces[i].first; ++dead) {
      alive.erase(pieces[deaths[dead]].begin);
    }
    const auto above = alive.lower_bound(pieces[i].begin);
    const bool meets_above = above != alive.end() && above->first < pieces[i].end;
    const bool meets_below =
        above != alive.begin() && pieces[std::prev(above)->second].end > pieces[i].begin;
    if (meets_above || meets_below) {
      fail(ErrorCode::internal, "two buffers live at step ", pieces[i].first,
           " and overlap at offset ", pieces[i].begin);
    }
    alive.emplace(pieces[i].begin, i);
  }
}

}  // namespace

void verify(std::span<const Buffer> buffers, const Arena& arena) {
  const Blocks joined = join_shared(buffers);
  if (arena.offsets.size() != buffers.size()) {
    fail(ErrorCode::internal, "the arena has ", arena.offsets.size(), " offsets for ",
         buffers.size(), " buffers");
  }
  std::vector<std::size_t> base(joined.blocks.size(), kNone);  // where each block begins
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const std::size_t offset = arena.offsets[i];
    if (offset % kArenaAlignment != 0) {
      fail(ErrorCode::internal, "buffer ", i, " lies at ", offset, ", off the alignment");
    }
    if (offset > arena.bytes || arena.bytes - offset < padded(buffers[i].bytes)) {
      fail(ErrorCode::internal, "buffer ", i, " lies outside the arena");
    }
    std::size_t& begin = base[joined.of[i]];
    if (begin == kNone && offset >= joined.at[i]) begin = offset - joined.at[i];
    if (begin == kNone || offset != begin + joined.at[i]) {
      fail(ErrorCode::internal, "buffer ", i, " shares memory but lies outside of it");
    }
  }
  expect_no_clash(joined.blocks, base);
}

}  // namespace stowage::plan
