// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/box_copy.h"

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"

namespace stowage {

namespace {

std::vector<Digit> digits_of_axis(const Mapping& mapping, int axis) {
  std::vector<Digit> own;
  for (const Digit& d : mapping.linear_digits()) {
    if (d.dim == axis && d.e > 1) own.push_back(d);
  }
  return own;
}

/// N to 2 N bytes: what begins and what ends them.
template <std::size_t N>
inline void copy_ends(std::byte* to, const std::byte* from, std::int64_t bytes) noexcept {
  std::array<std::byte, N> begin, end;
  const std::int64_t rest = bytes - static_cast<std::int64_t>(N);
  std::memcpy(begin.data(), from, N);
  std::memcpy(end.data(), from + rest, N);
  std::memcpy(to, begin.data(), N);
  std::memcpy(to + rest, end.data(), N);
}

/// A run of small elements is often one or two vectors long; memcpy's call costs more than that.
inline void copy_run(std::byte* to, const std::byte* from, std::int64_t bytes) noexcept {
  if (bytes > 128) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (bytes >= 64) {
    copy_ends<64>(to, from, bytes);
  } else if (bytes >= 32) {
    copy_ends<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else {
    for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

/// Elements that are apart on one side at least.
struct Strided {
  std::int64_t count, to, from;
};

template <class T>
void copy_strided(std::byte* to, const std::byte* from, const Strided& outer,
                  const Strided& inner) noexcept {
  for (std::int64_t k = 0; k < outer.count; ++k) {
    auto* y = reinterpret_cast<T*>(to) + k * outer.to;
    const auto* x = reinterpret_cast<const T*>(from) + k * outer.from;
    for (std::int64_t i = 0; i < inner.count; ++i) y[i * inner.to] = x[i * inner.from];
  }
}

void copy_strided(std::int64_t size, std::byte* to, const std::byte* from, const Strided& outer,
                  const Strided& inner) noexcept {
  switch (size) {
    case 1:
      return copy_strided<std::uint8_t>(to, from, outer, inner);
    case 2:
      return copy_strided<std::uint16_t>(to, from, outer, inner);
    case 4:
      return copy_strided<std::uint32_t>(to, from, outer, inner);
    default:
      return copy_strided<std::uint64_t>(to, from, outer, inner);
  }
}

/// The least work of a task.
constexpr std::int64_t kTaskBytes = 1 << 14;

}  // namespace

std::int64_t axis_offset(const Mapping& mapping, int axis, std::int64_t x) {
  std::int64_t offset = 0;
  for (const Digit& d : mapping.linear_digits()) {
    if (d.dim == axis) offset += x / d.q % d.e * d.stride;
  }
  return offset;
}

BoxCopy::BoxCopy(const Mapping& walked, const Mapping& other, Direction direction,
                 const IndexMap& map)
    : direction_(direction), size_(walked.element_bytes()) {
  for (int axis = 0; axis < walked.shape().rank(); ++axis) add_axis(walked, other, axis, map);
  std::ranges::stable_sort(outer_, [](const Loop& a, const Loop& b) { return a.order > b.order; });
  std::vector<Loop> fused;
  for (Loop& loop : outer_) {
    if (loop.entries.empty() && loop.extent == 1) continue;
    Loop* last = fused.empty() ? nullptr : &fused.back();
    const bool even = last != nullptr && last->entries.empty() && loop.entries.empty() &&
                      last->walked == loop.walked * loop.extent &&
                      last->other == loop.other * loop.extent;
    if (even) {
      loop.extent *= last->extent;
      *last = loop;
    } else {
      fused.push_back(std::move(loop));
    }
  }
  outer_ = std::move(fused);
  inner_ = {};
  if (!outer_.empty()) {
    inner_ = std::move(outer_.back());
    outer_.pop_back();
  }
  share_out_run();
  take_table();
  take_middle();
  for (const Loop& loop : outer_) outer_count_ *= loop.count();
  if (inner_.count() == 0) outer_count_ = 0;
  in_order_ = inner_.entries.empty();
  std::int64_t reach = (middle_.extent - 1) * middle_.walked + (inner_.extent - 1) * inner_.walked;
  for (std::size_t k = outer_.size(); k-- > 0; reach += (outer_[k].extent - 1) * outer_[k].walked) {
    in_order_ = in_order_ && outer_[k].entries.empty() && outer_[k].walked > reach;
  }
}

/// A single long run is cut, so that threads can share it.
void BoxCopy::share_out_run() {
  constexpr std::int64_t kLongest = 1 << 14, kShortest = 1 << 12;
  if (!inner_.entries.empty() || inner_.walked != 1 || inner_.other != 1) return;
  for (std::int64_t run = kLongest; run >= kShortest && inner_.extent > kLongest; --run) {
    if (inner_.extent % run != 0) continue;
    outer_.push_back({inner_.extent / run, run, run, {}, run});
    inner_.extent = run;
  }
}

/// A table of places of one run each is a table of runs: nothing is looked up between them.
void BoxCopy::take_table() {
  if (outer_.empty() || outer_.back().entries.empty()) return;
  if (!inner_.entries.empty() || inner_.walked != 1 || inner_.other != 1) return;
  Loop& table = outer_.back();
  // Threads need something to share.
  const std::int64_t bytes = table.count() * inner_.extent * size_;
  if (outer_.size() == 1 && bytes > kTaskBytes) return;
  for (Entry& e : table.entries) e.run = inner_.extent;
  inner_ = std::move(table);
  outer_.pop_back();
}

/// Short pieces are moved several at a time, as far as threads still have something to share.
void BoxCopy::take_middle() {
  middle_ = {};
  if (outer_.empty() || !inner_.entries.empty() || !outer_.back().entries.empty()) return;
  Loop& loop = outer_.back();
  std::int64_t count = std::min(loop.extent, kTaskBytes / (inner_.extent * size_));
  while (count > 1 && loop.extent % count != 0) --count;
  if (count < 2) return;
  middle_ = loop;
  middle_.extent = count;
  loop.extent /= count;
  loop.walked *= count;
  loop.other *= count;
  if (loop.extent == 1) outer_.pop_back();
}

void BoxCopy::add_axis(const Mapping& walked, const Mapping& other, int axis, const IndexMap& map) {
  if (walked.shape()[axis] == 0) {
    outer_count_ = 0;
    return;
  }
  if (!add_strided(walked, other, axis, map)) add_table(walked, other, axis, map);
}

/// The partner's offset is a sum over the walked digits, too: the axis is as many even loops.
bool BoxCopy::add_strided(const Mapping& walked, const Mapping& other, int axis,
                          const IndexMap& map) {
  const std::int64_t extent = walked.shape()[axis], padded = walked.padded(axis);
  const std::int64_t first = map(axis, 0);
  if (first < 0) return false;
  const std::int64_t base = axis_offset(other, axis, first);
  const std::vector<Digit> digits = digits_of_axis(walked, axis);
  std::vector<std::int64_t> strides;
  for (const Digit& d : digits) {
    if (d.q >= extent) return false;
    const std::int64_t y = map(axis, d.q);
    if (y < 0) return false;
    strides.push_back(axis_offset(other, axis, y) - base);
  }
  const bool writes_other = direction_ == Direction::from_walked;
  for (std::int64_t x = 1; x < padded; ++x) {
    std::int64_t sum = base;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      sum += x / digits[i].q % digits[i].e * strides[i];
    }
    if (x < extent || writes_other) {
      const std::int64_t y = map(axis, x);
      if (y < 0 || y >= other.padded(axis) || (x >= extent && y < other.shape()[axis])) {
        return false;
      }
      if (axis_offset(other, axis, y) != sum) return false;
    } else if (sum < 0 || sum > axis_offset(other, axis, other.padded(axis) - 1)) {
      return false;  // a tail would be read from outside of the buffer
    }
  }
  other_first_ += base;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    outer_.push_back({digits[i].e, digits[i].stride, strides[i], {}, digits[i].stride});
  }
  return true;
}

/// Every element by itself, joined into runs that are contiguous on both sides.
void BoxCopy::add_table(const Mapping& walked, const Mapping& other, int axis,
                        const IndexMap& map) {
  Loop loop;
  loop.order = std::int64_t{1} << 62;
  for (const Digit& d : digits_of_axis(walked, axis)) loop.order = std::min(loop.order, d.stride);
  const bool innermost = loop.order == 1;
  for (std::int64_t x = 0; x < walked.shape()[axis]; ++x) {
    const std::int64_t y = map(axis, x);
    if (y < 0) continue;
    const Entry e{axis_offset(walked, axis, x), axis_offset(other, axis, y), 1};
    if (innermost && !loop.entries.empty()) {
      Entry& last = loop.entries.back();
      if (last.walked + last.run == e.walked && last.other + last.run == e.other) {
        ++last.run;
        continue;
      }
    }
    loop.entries.push_back(e);
  }
  if (loop.entries.empty()) {
    outer_count_ = 0;
  } else if (!add_even(loop.entries)) {
    outer_.push_back(std::move(loop));
  }
}

/// Runs of one length, equally far apart: loops instead of a table.
bool BoxCopy::add_even(const std::vector<Entry>& entries) {
  const Entry first = entries.front();
  const bool several = entries.size() > 1;
  const std::int64_t walked = several ? entries[1].walked - first.walked : 0;
  const std::int64_t other = several ? entries[1].other - first.other : 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const auto n = static_cast<std::int64_t>(i);
    if (e.run != first.run || e.walked != first.walked + n * walked ||
        e.other != first.other + n * other) {
      return false;
    }
  }
  walked_first_ += first.walked;
  other_first_ += first.other;
  if (several) outer_.push_back({std::ssize(entries), walked, other, {}, walked});
  if (first.run > 1) outer_.push_back({first.run, 1, 1, {}, 1});
  return true;
}

void BoxCopy::move(std::int64_t walked, std::int64_t other, const std::byte* from,
                   std::byte* to) const noexcept {
  const bool forward = direction_ == Direction::from_walked;
  const auto source = [&](std::int64_t w, std::int64_t o) {
    return from + (forward ? w : o) * size_;
  };
  const auto target = [&](std::int64_t w, std::int64_t o) {
    return to + (forward ? o : w) * size_;
  };
  if (!inner_.entries.empty()) {
    for (const Entry& e : inner_.entries) {
      const std::int64_t w = walked + e.walked, o = other + e.other;
      copy_run(target(w, o), source(w, o), e.run * size_);
    }
    return;
  }
  std::byte* y = target(walked, other);
  const std::byte* x = source(walked, other);
  const auto strided = [&](const Loop& loop) {
    return forward ? Strided{loop.extent, loop.other, loop.walked}
                   : Strided{loop.extent, loop.walked, loop.other};
  };
  const Strided middle = strided(middle_), inner = strided(inner_);
  if ((inner.to == 1 && inner.from == 1) || inner.count == 1) {
    for (std::int64_t k = 0; k < middle.count; ++k) {
      copy_run(y + k * middle.to * size_, x + k * middle.from * size_, inner.count * size_);
    }
    return;
  }
  const bool longer = middle.count > inner.count;
  copy_strided(size_, y, x, longer ? inner : middle, longer ? middle : inner);
}

std::int64_t BoxCopy::task_pieces() const noexcept {
  std::int64_t cells = inner_.entries.empty() ? middle_.extent * inner_.extent : 0;
  for (const Entry& e : inner_.entries) cells += e.run;
  return std::max<std::int64_t>(1, kTaskBytes / std::max<std::int64_t>(cells * size_, 1));
}

std::int64_t BoxCopy::tasks() const noexcept {
  return outer_count_ == 0 ? 0 : ceil_div(outer_count_, task_pieces());
}

void BoxCopy::run_task(std::int64_t task, const std::byte* from, std::byte* to,
                       const Fill* fill) const noexcept {
  const std::int64_t step = task_pieces(), first = task * step;
  const std::int64_t last = std::min(first + step, outer_count_);
  std::array<std::int64_t, 2 * kMaxDigits> index{};
  const auto set_index = [&](std::int64_t rest) {
    for (std::size_t k = outer_.size(); k-- > 0; rest /= outer_[k].count()) {
      index[k] = rest % outer_[k].count();
    }
  };
  const auto offsets = [&] {
    std::int64_t walked = walked_first_, other = other_first_;
    for (std::size_t k = 0; k < outer_.size(); ++k) {
      const Loop& loop = outer_[k];
      const bool table = !loop.entries.empty();
      walked += table ? loop.entries[at(index[k])].walked : index[k] * loop.walked;
      other += table ? loop.entries[at(index[k])].other : index[k] * loop.other;
    }
    return std::pair(walked, other);
  };
  if (fill != nullptr) {
    set_index(last);
    const std::int64_t end = last == outer_count_ ? fill->cells() : offsets().first;
    set_index(first);
    fill->run(to, first == 0 ? 0 : offsets().first, end);
  }
  set_index(first);
  for (std::int64_t i = first; i < last; ++i) {
    const auto [walked, other] = offsets();
    move(walked, other, from, to);
    for (std::size_t k = outer_.size(); k-- > 0 && ++index[k] == outer_[k].count();) index[k] = 0;
  }
}

void BoxCopy::run(const std::byte* from, std::byte* to, ThreadPool* pool,
                  const Fill* fill) const noexcept {
  // A task fills what it copies into, up to where the next one begins, while it is in its caches.
  const bool fills = fill != nullptr && tasks() > 0 && in_order_ && fill->cells() > 0 &&
                     direction_ == Direction::into_walked;
  if (fill != nullptr && !fills) fill->run(to);
  parallel(pool, at(tasks()), [&](std::size_t task) {
    run_task(static_cast<std::int64_t>(task), from, to, fills ? fill : nullptr);
  });
}

bool BoxCopy::in_place(const std::byte* from, const std::byte* to) const noexcept {
  const bool forward = direction_ == Direction::from_walked;
  return from + (forward ? walked_first_ : other_first_) * size_ ==
         to + (forward ? other_first_ : walked_first_) * size_;
}

std::optional<std::size_t> part_offset(const Mapping& whole, const Mapping& part, int axis,
                                       std::int64_t begin) {
  const auto a = whole.linear_digits(), b = part.linear_digits();
  if (a.size() != b.size() || part.cells() == 0) return std::nullopt;
  // The axis is cut along its outermost digit, and that must be the outermost of all.
  std::size_t top = a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dim == axis && (top == a.size() || a[i].q > a[top].q)) top = i;
  }
  if (top == a.size()) return std::nullopt;
  const std::int64_t block = a[top].q, stride = a[top].stride;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dim != b[i].dim || a[i].q != b[i].q) return std::nullopt;
    if (i == top) continue;
    const bool inner = a[i].e == 1 || (a[i].stride == b[i].stride && a[i].stride < stride);
    if (a[i].e != b[i].e || !inner) return std::nullopt;
  }
  const std::int64_t end = begin + part.shape()[axis];
  const bool whole_blocks = part.shape()[axis] % block == 0 || end == whole.shape()[axis];
  if (begin % block != 0 || !whole_blocks || part.cells() != b[top].e * stride) {
    return std::nullopt;
  }
  const auto offset = static_cast<std::size_t>(begin / block * stride * whole.element_bytes());
  if (offset % kAlignment != 0) return std::nullopt;
  return offset;
}

double BoxCopy::pieces() const {
  const auto outer = static_cast<double>(outer_count_), count = static_cast<double>(inner_.count());
  if (!inner_.entries.empty()) return outer * count;
  const auto middle = static_cast<double>(middle_.extent);
  // A strided element is a load and a store.
  const bool run = (inner_.walked == 1 && inner_.other == 1) || inner_.extent == 1;
  return run ? outer * middle : outer * (1 + 0.15 * middle * count);
}

Fill::Fill(const Mapping& mapping, std::uint64_t bits)
    : bits_(bits), size_(mapping.element_bytes()), loops_(digit_loops<1>(mapping, {})) {
  if (!loops_.empty() && loops_.back().stride[0] == 1) {
    run_ = loops_.back().extent;
    loops_.pop_back();
  }
}

template <class F>
void Fill::with_type(F&& f) const noexcept {
  switch (size_) {
    case 1:
      return f(static_cast<std::uint8_t>(bits_));
    case 2:
      return f(static_cast<std::uint16_t>(bits_));
    case 4:
      return f(static_cast<std::uint32_t>(bits_));
    default:
      return f(bits_);
  }
}

void Fill::run(std::byte* data) const noexcept {
  with_type([&]<class T>(T value) {
    for_each_offset(loops_.data(), loops_.size(), [&](const auto& offset) {
      std::fill_n(reinterpret_cast<T*>(data) + offset[0], run_, value);
    });
  });
}

void Fill::run(std::byte* data, std::int64_t begin, std::int64_t end) const noexcept {
  with_type([&]<class T>(T value) {
    std::fill(reinterpret_cast<T*>(data) + begin, reinterpret_cast<T*>(data) + end, value);
  });
}

BoundCopy bind_copy(const CopyParams& p, const BoxCopy::IndexMap& map) {
  std::optional<Fill> fill;
  if (p.fill) fill.emplace(p.written, *p.fill);
  return {BoxCopy(p.to, p.from, BoxCopy::Direction::into_walked, map), std::move(fill),
          TailZero(p.written)};
}

void run_copy(const BoundCopy& bound, const KernelArgs& args) noexcept {
  bound.copy.run(args.in[0], args.out[0], args.pool, bound.fill ? &*bound.fill : nullptr);
  bound.tails.run(args.out[0]);
}

}  // namespace stowage
