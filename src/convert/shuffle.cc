// SPDX-License-Identifier: Apache-2.0
#include "convert/shuffle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "convert/blocks.h"
#include "convert/cost.h"
#include "convert/pool.h"

namespace stowage::conversion {
namespace {

constexpr std::int64_t kLongest = ShuffleTable::kMostBytes;

/// How many iterations of the loop go on with a chunk of so many bytes: to whole lines, if that
/// can be, the fewest; else as many as there is room for. Those of a long loop need not divide it:
/// the last chunk does some again. 1: none.
std::int64_t part_of_chunk(const Loop& loop, std::int64_t bytes) noexcept {
  constexpr std::int64_t kParts = 8, kLeast = 2 * kLine;
  std::int64_t even = 1, most = 1;
  for (std::int64_t n = 2; n <= loop.n && n * bytes <= kLongest; ++n) {
    const bool divides = loop.n % n == 0;
    if (!divides && kParts * n > loop.n) continue;
    most = n;
    if (divides) even = n;
    if (n * bytes % kLine == 0) return n;
  }
  return even * bytes >= kLeast ? even : most;
}

/// The loop of any kind but a computed one that goes on in the destination; -1: none.
int find_next(const Pool& pool, std::int64_t stride) noexcept {
  for (int i = 0; i < pool.count; ++i) {
    const Loop& loop = pool.loops[i];
    if (loop.os == stride && (loop.dim < 0 || is_of_end(loop))) return i;
  }
  return -1;
}

/// Whether the pool has digits of an end, of this axis or (-1) of any.
bool has_end(const Pool& pool, int dim) noexcept {
  return std::any_of(pool.loops.begin(), pool.loops.begin() + pool.count, [&](const Loop& loop) {
    return is_of_end(loop) && (dim < 0 || loop.dim == dim);
  });
}

/// Takes the loops of a chunk out of the pool, the digits of an end all or none, and the loop over
/// chunks where the last one begins `back` iterations before its place. False: there are none, or
/// an end is left.
bool take_chunk(Pool& pool, int element, Chain& out, Chain& over, std::int64_t& back) noexcept {
  std::int64_t before = 1;  // elements of a cell of the end whose digits are being taken
  bool within = false;
  while (out.count < static_cast<int>(out.loops.size())) {
    const std::int64_t bytes = out.n * element;
    const int i = find_next(pool, bytes);
    if (i < 0 || (bytes % kLine == 0 && !within)) break;
    const Loop next = pool.loops[i];
    const bool end = next.dim >= 0, whole = end || next.valid < next.n;
    if (within && next.dim != out.loops[out.count - 1].dim) break;
    const std::int64_t all = end ? before * next.end * element : next.n * bytes,
                       n = !whole           ? part_of_chunk(next, bytes)
                           : all > kLongest ? 1
                                            : next.n;
    if (n < 2) break;
    if (next.n % n == 0) {
      append(out, n == next.n ? pool.take(i) : pool.take_part(i, n));
    } else {
      Loop part = pool.take(i), rest = part;
      part.n = part.valid = n;
      rest.n = rest.valid = ceil_div(next.n, n);
      rest.is *= n;
      rest.os *= n;
      append(out, part);
      append(over, rest);
      back = rest.n * n - next.n;
    }
    within = end && has_end(pool, next.dim);
    if (end && !within) out.n = before * next.end;
    if (!within) before = out.n;
    if (n < next.n) break;
  }
  return out.count > 0 && !has_end(pool, -1);
}

/// Where each element of a chunk comes from, from where the chunk does; -1: zero. The digits of an
/// end count to less than twice its cells.
using Sources = std::array<std::int64_t, static_cast<std::size_t>(2 * kLongest)>;

/// Loop by loop: what is known comes again with each iteration of the next one.
void find_sources(const Chain& chunk, Sources& out) noexcept {
  Sources cells;                   // of an end, in which its digits may have any order
  std::int64_t n = 1, before = 1;  // elements that are known, and those of a cell of an end
  out[0] = 0;
  for (int k = 0; k < chunk.count; ++k) {
    const Loop& loop = chunk.loops[static_cast<std::size_t>(k)];
    const bool end = is_of_end(loop),
               last = k + 1 == chunk.count ||
                      chunk.loops[static_cast<std::size_t>(k) + 1].dim != loop.dim;
    if (end && n == before) std::fill_n(cells.begin(), n, 0);
    for (std::int64_t v = 1; v < loop.n; ++v) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::size_t>(i), to = static_cast<std::size_t>(v * n + i);
        const bool valid = out[from] >= 0 && (end || v < loop.valid);
        out[to] = valid ? out[from] + v * loop.is : -1;
        if (end) cells[to] = cells[from] + v * loop.step;
      }
    }
    n *= loop.n;
    if (end && !last) continue;
    if (end) n = before * loop.end;  // what digits count beyond is behind the others
    for (std::int64_t i = 0; end && i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (cells[at] >= loop.valid) out[at] = -1;
    }
    before = n;
  }
}

/// The windows of one vector, which has n elements of E bytes; no window begins behind `last`, if
/// lanes allow that. False: it needs too many.
template <int E>
bool find_windows(const std::int64_t* from, std::int64_t n, std::int64_t last, int v,
                  ShuffleTable& out) noexcept {
  const std::int64_t lane = out.lane;
  std::uint64_t left = 0;  // elements without a window
  for (std::int64_t i = 0; i < n; ++i) {
    left |= std::uint64_t{from[i] >= 0} << i;
    out.zeros |= from[i] < 0;
  }
  for (int window = 0; left != 0; ++window) {
    const int step = window / out.sources, source = window % out.sources;
    if (step == ShuffleTable::kMostSteps) return false;
    std::int64_t begin = INT64_MAX;
    for (std::uint64_t rest = left; rest != 0; rest &= rest - 1)
      begin = std::min(begin, from[std::countr_zero(rest)]);
    if (begin > last && (begin - last) % lane == 0) begin = last;
    out.steps = std::max(out.steps, step + 1);
    out.windows_of(v, step)[source] = begin;
    out.reach = std::max(out.reach, begin + out.vector);
    Byte* const order = out.order_of(v, step);
    Byte* const taken = out.taken_of(v, step);
    for (std::uint64_t rest = left; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      const std::int64_t at = from[i] - begin;
      if (at + E > out.vector || at % lane != 0) continue;
      left &= ~(std::uint64_t{1} << i);
      if (out.sources > 1) std::memset(taken + i * E, 0xff, E);
      const std::int64_t first = at + source * out.vector;
      for (int k = 0; k < E && lane == 4; k += 4) {
        const auto word = static_cast<std::uint32_t>(first + k) / 4;
        std::memcpy(order + i * E + k, &word, 4);
      }
      for (int k = 0; k < E && lane == 1; ++k) order[i * E + k] = static_cast<Byte>(first + k);
    }
  }
  return true;
}

constexpr bool (*kFindWindows[])(const std::int64_t*, std::int64_t, std::int64_t, int,
                                 ShuffleTable&) = {
    find_windows<1>, find_windows<2>, find_windows<4>, find_windows<8>, find_windows<16>};

}  // namespace

bool has_end(const Nest& nest) noexcept { return has_end(Pool(nest), -1); }

bool make_shuffle(const Chain& chunk, int element, ShuffleTable& out) noexcept {
  const Shuffles& shuffles = kernels().shuffles_of(element);
  const std::int64_t bytes = chunk.n * element;
  if (bytes > kLongest || shuffles.vector == 0) return false;
  out.vector = shuffles.vector;
  out.sources = shuffles.sources;
  Sources from;
  // Where the last window ends that is needed: chunks at the end of the source are moved by
  // elements where windows reach beyond that. Those of whole lines often begin with lines, and stay
  // there.
  std::int64_t end = bytes % kLine == 0 ? INT64_MAX : out.vector;
  find_sources(chunk, from);
  bool words = true;
  for (std::int64_t i = 0; i < chunk.n; ++i) {
    const std::int64_t at = from[static_cast<std::size_t>(i)];
    end = std::max(end, at + element);
    words &= at < 0 || at % 4 == 0;
  }
  // Elements of words that are not in words go by bytes, if there are such lines of them.
  const bool lines = out.vector == kLine;
  out.lane = lines && element >= 4 && (words || kernels().shuffles_of(1).vector != kLine) ? 4 : 1;
  out.vectors = static_cast<int>(ceil_div(bytes, out.vector));
  out.bytes = bytes;
  out.steps = 1;
  out.reach = out.vector;  // of windows that are read where there are none
  out.zeros = false;
  constexpr Byte kNone = 0x80;
  std::memset(out.order, out.sources == 1 ? kNone : Byte{0}, sizeof out.order);
  if (out.sources > 1) std::memset(out.taken, 0, sizeof out.taken);
  std::memset(out.windows, 0, sizeof out.windows);
  const auto find = kFindWindows[log2_of(element)];
  const std::int64_t per = out.vector / element;
  for (int v = 0; v < out.vectors; ++v) {
    const std::int64_t first = v * per;
    if (!find(from.data() + first, std::min(per, chunk.n - first), end - out.vector, v, out))
      return false;
  }
  return true;
}

void move_chunk(const Chain& chunk, int element, const Byte* src, Byte* dst) noexcept {
  const auto e = static_cast<std::size_t>(element);
  Sources from;
  find_sources(chunk, from);
  for (std::int64_t i = 0; i < chunk.n; ++i, dst += element) {
    const std::int64_t at = from[static_cast<std::size_t>(i)];
    at >= 0 ? std::memcpy(dst, src + at, e) : std::memset(dst, 0, e);
  }
}

bool set_shuffle(const Nest& nest, int scalar, Job& job) noexcept {
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Job made;
  begin_job(nest, element, element, made);
  ShuffleTable table;
  std::int64_t back = 0;
  if (!take_chunk(pool, element, made.chunk, made.a, back) ||
      !make_shuffle(made.chunk, element, table))
    return false;
  const Loop& part = made.chunk.loops[made.chunk.count - 1];
  made.back_is = back * part.is;
  made.back_os = back * part.os;
  made.kind = Kind::shuffle;
  made.shuffle = kernels().shuffles_of(table.lane).run_of(table.vectors, table.steps);
  made.windows = table.vectors * table.steps * table.sources;
  // Chunks that follow each other in the destination, and of those the ones whose sources are near.
  for (Chain* const chain : {&made.a, &made.b}) {
    if (chain->count > 0) continue;
    const int i = pool.find_nearest_whole(chain == &made.a ? &Loop::os : &Loop::is);
    append(*chain, i >= 0 ? pool.take(i) : kOneIteration);
  }
  made.a.block = std::clamp<std::int64_t>(kMostBytes / table.bytes, 1, made.a.n);
  // A chunk that does some of another again is in its unit: among so many blocks there is one that
  // does not leave it alone.
  while (back > 0 && made.a.block > 2 && made.a.n % made.a.block == 1) --made.a.block;
  made.b.block = std::clamp<std::int64_t>(kMostBytes / table.bytes / made.a.block, 1, made.b.n);
  order_steps(made, pool);
  job = made;
  return true;
}

void choose_shuffle(const Nest& nest, int scalar, double least, const Tuning& tuning,
                    Job& job) noexcept {
  constexpr double kGain = 0.9, kWorth = 2;  // ns of a line
  if (job.fill) return;
  const double most = most_of_other(cost_of(job, tuning), job.bytes(), kWorth, kGain, least);
  Job made;
  if (most > 0 && set_shuffle(nest, scalar, made) && cost_of(made, tuning) < most) job = made;
}

}  // namespace stowage::conversion
