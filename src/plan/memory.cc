// SPDX-License-Identifier: Apache-2.0
#include "plan/memory.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "plan/arena.h"

namespace stowage::plan {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 46;
/// Of a buffer of a device that several slots share: a kernel counts the elements before its
/// operand in an int.
constexpr std::size_t kMostShared = std::size_t{1} << 31;

class MemoryPlanner {
 public:
  explicit MemoryPlanner(Plan& plan) : plan_(plan) {}

  void run() {
    find_lives();
    place_on_host();
    place_in_device_buffers();
    place_in_images();
  }

 private:
  /// Buffers of the arena, one for each slot that has memory of its own there.
  struct Buffers {
    std::vector<Buffer> list;
    std::vector<int> of;         // by slot that is no alias; -1: none
    std::vector<bool> in_views;  // by buffer: it, or a part of it, is shared by several values

    /// The buffer in whose memory `b` lies, and where.
    std::pair<int, std::size_t> root(int b) const {
      std::size_t at = 0;
      while (list[idx(b)].share_with >= 0) {
        at += list[idx(b)].share_at;
        b = list[idx(b)].share_with;
      }
      return {b, at};
    }
  };

  /// The buffer of an operand that a step may make lie in another; -1 for a constant, a model input
  /// (which is written before run) or a part of something else.
  int movable(const Buffers& buffers, int s) const {
    const std::size_t bytes = plan_.slots[idx(s)].mapping.bytes();
    s = root(s);
    if (plan_.slots[idx(s)].mapping.bytes() != bytes) return -1;
    for (const PlanPort& input : plan_.inputs) {
      if (std::ranges::find(input.slots, s) != input.slots.end()) return -1;
    }
    return buffers.of[idx(s)];
  }

  /// Puts inputs of concatenations into their results. An input that lies in a result already
  /// brings that along, if all of it is part of this one, too: results of one growing chain end up
  /// as beginnings of the longest.
  void share_views(Buffers& buffers) {
    for (Step& step : plan_.steps) {
      if (step.views.empty()) continue;
      const std::vector<Step::View> wanted = std::move(step.views);
      step.views.clear();
      const int whole = buffers.of[idx(root(step.out[0]))];
      std::vector<int> candidates;
      for (const auto& view : wanted) {
        candidates.push_back(movable(buffers, step.in[idx(view.input)]));
      }
      const auto lies_at = [&](std::size_t k, int block, std::size_t at) {
        if (candidates[k] < 0 || candidates[k] == whole) return false;
        const auto [r, offset] = buffers.root(candidates[k]);
        return r == block && at + offset == wanted[k].offset;
      };
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (candidates[k] < 0) continue;
        const auto [block, inside] = buffers.root(candidates[k]);
        if (block == whole || wanted[k].offset < inside) continue;
        const std::size_t at = wanted[k].offset - inside;
        std::size_t covered = 0;
        for (std::size_t j = 0; j < wanted.size(); ++j) {
          if (lies_at(j, block, at)) covered += buffers.list[idx(candidates[j])].bytes;
        }
        if (at % kArenaAlignment != 0 || covered != buffers.list[idx(block)].bytes) continue;
        buffers.list[idx(block)].share_with = whole;
        buffers.list[idx(block)].share_at = at;
        for (const int b : {block, whole, candidates[k]}) buffers.in_views[idx(b)] = true;
      }
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (!lies_at(k, whole, 0)) continue;
        buffers.in_views[idx(candidates[k])] = true;
        step.views.push_back(wanted[k]);
      }
    }
  }

  /// What a step may write over its input it does where nobody reads the input afterwards and no
  /// other operand lies there. Model inputs and outputs live to the end, so they are never written
  /// over.
  void share_in_place(Buffers& buffers) {
    for (int i = 0; i < static_cast<int>(plan_.steps.size()); ++i) {
      Step& step = plan_.steps[idx(i)];
      if (step.in_place < 0) continue;
      const auto buffer = [&](int s) { return s < 0 ? -1 : buffers.of[idx(root(s))]; };
      const int from = buffer(step.in[idx(step.in_place)]), to = buffer(step.out[0]);
      std::vector<Buffer>& list = buffers.list;
      const bool possible = from >= 0 && to >= 0 && from != to && list[idx(from)].last_step == i &&
                            list[idx(to)].first_step == i &&
                            list[idx(from)].bytes == list[idx(to)].bytes &&
                            !buffers.in_views[idx(from)];
      const auto here = std::ranges::count_if(step.in, [&](int s) { return buffer(s) == from; });
      if (!possible || here != 1) {
        step.in_place = -1;
      } else if (buffers.in_views[idx(to)]) {
        // The result has its place: the input, and what it was made of in place, moves there.
        list[idx(buffers.root(from).first)].share_with = to;
      } else {
        list[idx(to)].share_with = from;
      }
    }
  }

  int root(int s) const { return memory_of(plan_, s).slot; }

  /// The first step that waits for the device at or after step `i`: until then what was given to it
  /// must stay as it is.
  int next_wait(int i) const {
    const int after = static_cast<int>(plan_.steps.size());
    while (i < after && !plan_.brings_down(plan_.steps[idx(i)])) ++i;
    return i;
  }

  bool on_host(int s) const { return plan_.slots[idx(s)].place.device == 0; }

  /// First and last step of every slot that has memory of its own there; those that nothing uses
  /// have none.
  void find_lives() {
    const int after = static_cast<int>(plan_.steps.size());  // the last step
    lives_.assign(plan_.slots.size(), {after, -1});
    const auto live = [&](int s, int step) {
      if (s < 0) return;
      s = root(s);
      if (plan_.slots[idx(s)].constant != nullptr) return;
      auto& [first, last] = lives_[idx(s)];
      if (last < 0) order_.push_back(s);
      first = std::min(first, step);
      last = std::max(last, step);
    };
    // Inputs outlive a run, so that the next run may use them again.
    for (const PlanPort& input : plan_.inputs) {
      for (int s : input.slots) live(s, 0), live(s, after);
    }
    for (int i = 0; i < after; ++i) {
      const Step& step = plan_.steps[idx(i)];
      for (int s : {step.src, step.dst}) live(s, i);
      if (step.src >= 0 && on_host(step.src) && !on_host(step.dst)) live(step.src, next_wait(i));
      for (const auto* list : {&step.in, &step.out}) {
        for (int s : *list) live(s, i);
      }
    }
    for (const PlanPort& output : plan_.outputs) live(output.slots[0], after);
  }

  void place_on_host() {
    Buffers buffers;
    buffers.of.assign(plan_.slots.size(), -1);
    for (const int s : order_) {
      if (!on_host(s)) continue;
      buffers.of[idx(s)] = static_cast<int>(buffers.list.size());
      const auto [first, last] = lives_[idx(s)];
      buffers.list.push_back({plan_.slots[idx(s)].mapping.bytes(), first, last});
    }
    buffers.in_views.assign(buffers.list.size(), false);
    share_views(buffers);
    share_in_place(buffers);
    std::vector<std::pair<std::size_t, std::size_t>> scratch;  // step, buffer
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].scratch_bytes == 0) continue;
      scratch.emplace_back(i, buffers.list.size());
      buffers.list.push_back(
          {plan_.steps[i].scratch_bytes, static_cast<int>(i), static_cast<int>(i)});
    }
    const Arena arena = make_arena(buffers.list, kMostBytes);
    plan::verify(buffers.list, arena);
    plan_.arena_bytes = arena.bytes;
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
      const int b = buffers.of[s];
      if (b >= 0) plan_.slots[s].offset = arena.offsets[idx(b)];
    }
    for (const auto& [step, buffer] : scratch) {
      plan_.steps[step].scratch_offset = arena.offsets[buffer];
    }
  }

  std::size_t bytes(int s) const { return plan_.slots[idx(s)].mapping.bytes(); }

  /// Offsets that the device can address are multiples of this.
  std::size_t device_unit() const {
    return static_cast<std::size_t>(
        std::max<std::int64_t>(plan_.device->alignment, static_cast<int>(kArenaAlignment)));
  }

  /// One buffer of the device where it allows so many bytes, else several.
  void place_in_device_buffers() {
    if (!plan_.device) return;
    std::vector<int> slots;
    for (const int s : order_) {
      if (plan_.slots[idx(s)].place.memory == Place::Memory::buffer) slots.push_back(s);
    }
    if (slots.empty()) return;
    const auto most = static_cast<std::size_t>(
        std::min(plan_.device->allocation_bytes, static_cast<std::int64_t>(kMostShared)));
    if (!place_in_one_buffer(slots, most)) place_in_several_buffers(slots, most);
  }

  /// An arena is laid out for the CPU's alignment; one of its units stands for one of the device's
  /// here. False where it has more than `most` bytes.
  bool place_in_one_buffer(const std::vector<int>& slots, std::size_t most) {
    const std::size_t unit = device_unit();
    std::vector<Buffer> list;
    for (const int s : slots) {
      const auto [first, last] = lives_[idx(s)];
      list.push_back({(bytes(s) + unit - 1) / unit * kArenaAlignment, first, last});
    }
    const Arena arena = make_arena(list, kMostBytes / unit * kArenaAlignment);
    plan::verify(list, arena);
    std::size_t end = 0;
    for (std::size_t b = 0; b < slots.size(); ++b) {
      Slot& slot = plan_.slots[idx(slots[b])];
      slot.buffer = 0;
      slot.offset = arena.offsets[b] / kArenaAlignment * unit;
      end = std::max(end, slot.offset + slot.mapping.bytes());
    }
    plan_.buffers = {end};
    return end <= most;
  }

  /// The largest slots first, each in the first buffer that has room for it while it lives. A slot
  /// that alone is over `most` has a buffer to itself, or shares one over time.
  void place_in_several_buffers(std::vector<int> slots, std::size_t most) {
    std::ranges::stable_sort(slots, std::ranges::greater(), [&](int s) { return bytes(s); });
    plan_.buffers.clear();
    std::vector<std::vector<int>> placed;  // by buffer, by offset
    for (const int s : slots) {
      Slot& slot = plan_.slots[idx(s)];
      for (std::size_t b = 0;; ++b) {
        if (b == placed.size()) {
          placed.emplace_back();
          plan_.buffers.push_back(0);
        }
        slot.offset = lowest_free(placed[b], s);
        const std::size_t end = slot.offset + slot.mapping.bytes();
        if (slot.offset > 0 && end > most) continue;
        slot.buffer = static_cast<int>(b);
        plan_.buffers[b] = std::max(plan_.buffers[b], end);
        placed[b].push_back(s);
        std::ranges::stable_sort(placed[b], {}, [&](int p) { return plan_.slots[idx(p)].offset; });
        break;
      }
    }
  }

  /// Where `s` may begin beside those of `placed` that live when it does.
  std::size_t lowest_free(const std::vector<int>& placed, int s) const {
    const std::size_t unit = device_unit();
    std::size_t at = 0;
    for (const int other : placed) {
      const auto [first, last] = lives_[idx(other)];
      if (last < lives_[idx(s)].first || first > lives_[idx(s)].second) continue;
      const std::size_t begin = plan_.slots[idx(other)].offset;
      if (at + bytes(s) <= begin) break;
      at = std::max(at, (begin + bytes(other) + unit - 1) / unit * unit);
    }
    return at;
  }

  /// Images: each slot takes one of its type that is free, that which grows least.
  void place_in_images() {
    std::vector<int> slots;
    for (const int s : order_) {
      if (plan_.slots[idx(s)].place.memory == Place::Memory::image) slots.push_back(s);
    }
    std::ranges::stable_sort(slots, {}, [&](int s) { return lives_[idx(s)].first; });
    std::vector<int> busy_until;
    for (const int s : slots) {
      Slot& slot = plan_.slots[idx(s)];
      const auto [first, last] = lives_[idx(s)];
      const PlanImage wanted{slot.mapping.extent(Space::x), slot.mapping.extent(Space::y),
                             slot.dtype};
      const auto grown = [&](const PlanImage& image) {
        return PlanImage{std::max(image.width, wanted.width), std::max(image.height, wanted.height),
                         wanted.dtype};
      };
      // Never more than an image by itself would add.
      std::int64_t least = wanted.width * wanted.height;
      for (std::size_t i = 0; i < plan_.images.size(); ++i) {
        const PlanImage& image = plan_.images[i];
        if (image.dtype != wanted.dtype || busy_until[i] >= first) continue;
        const PlanImage larger = grown(image);
        const std::int64_t more = larger.width * larger.height - image.width * image.height;
        if (more >= least || larger.bytes() > plan_.device->allocation_bytes) continue;
        least = more;
        slot.image = static_cast<int>(i);
      }
      if (slot.image < 0) {
        slot.image = static_cast<int>(plan_.images.size());
        plan_.images.push_back(wanted);
        busy_until.push_back(last);
      } else {
        PlanImage& image = plan_.images[idx(slot.image)];
        image = grown(image);
        busy_until[idx(slot.image)] = last;
      }
    }
  }

  Plan& plan_;
  std::vector<std::pair<int, int>> lives_;  // by slot: first and last step
  std::vector<int> order_;                  // slots that have a life
};

}  // namespace

void lay_out(Plan& plan) { MemoryPlanner(plan).run(); }

}  // namespace stowage::plan
