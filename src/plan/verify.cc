// SPDX-License-Identifier: Apache-2.0
// The executable specification of a Plan.
#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/step_views.h"

namespace stowage {

namespace {

[[noreturn]] void bug(const std::string& what) {
  fail(ErrorCode::internal, "the plan is inconsistent: ", what, "; this is a bug in Stowage");
}

/// Follows a run in thought: which slot's bytes lie where after each step. It knows nothing of the
/// lifetimes from which the arena was laid out.
class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan), written_(plan.slots.size(), false) {}

  void run() {
    expect_slots();
    expect_buffers();
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) slot(static_cast<int>(s));
    for (const PlanPort& input : plan_.inputs) {
      for (int s : input.slots) write(s);
    }
    for (const Step& step : plan_.steps) {
      if (step.kind == Step::Kind::convert) {
        expect_crossing(step);
        check({step.src}, {step.dst}, step);
        // The device has everything that was given to it before, when something comes back.
        if (plan_.brings_down(step)) given_.clear();
        if (plan_.brings_up(step) && !is_constant(step.src)) given_.push_back(range(step.src));
      } else {
        const KernelDef* def = step.call ? &step.call.def() : nullptr;
        if (def == nullptr || (def->run == nullptr && def->launch == nullptr)) {
          bug("a kernel is missing");
        }
        expect_places(step);
        check(step.in, step.out, step);
      }
    }
    for (const PlanPort& output : plan_.outputs) readable(output.slots.at(0));
    // The next run may use them again.
    for (const PlanPort& input : plan_.inputs) {
      for (int s : input.slots) readable(s);
    }
  }

 private:
  /// Bytes [begin, end) of a memory: 0 is the arena, then come the buffers of the device, then its
  /// images, which are taken whole.
  struct Range {
    std::size_t begin, end;
    int memory = 0;

    bool overlaps(const Range& other) const {
      return memory == other.memory && begin < other.end && other.begin < end;
    }

    bool contains(const Range& other) const {
      return memory == other.memory && begin <= other.begin && other.end <= end;
    }
  };

  std::string name(int s) const { return plan_.slots[idx(s)].name; }

  /// Every number of a slot is that of one, and aliases end somewhere.
  void expect_slots() const {
    const auto count = static_cast<int>(plan_.slots.size());
    const auto expect = [&](int s, int least) {
      if (s < least || s >= count) bug(text("there is no slot ", s));
    };
    for (const Slot& slot : plan_.slots) {
      expect(slot.alias_of, -1);
      int steps = 0;
      for (int s = slot.alias_of; s >= 0; s = plan_.slots[idx(s)].alias_of) {
        if (++steps > count) bug("a slot relabels itself");
        expect(plan_.slots[idx(s)].alias_of, -1);
      }
    }
    for (const auto* ports : {&plan_.inputs, &plan_.outputs}) {
      for (const PlanPort& port : *ports) {
        for (const int s : port.slots) expect(s, 0);
      }
    }
    for (const Step& step : plan_.steps) {
      if (step.kind == Step::Kind::convert) {
        expect(step.src, 0);
        expect(step.dst, 0);
      }
      for (const auto* list : {&step.in, &step.out}) {
        for (const int s : *list) expect(s, -1);
      }
      for (const Step::View& view : step.views) {
        const auto inputs = static_cast<int>(step.in.size());
        if (view.input < 0 || view.input >= inputs || step.out.empty() || step.out[0] < 0) {
          bug("a view of no operand");
        }
      }
    }
  }

  int root(int s) const { return memory_of(plan_, s).slot; }

  bool is_constant(int s) const { return plan_.slots[idx(root(s))].constant != nullptr; }

  /// Where the bytes of a slot lie that is no constant.
  Range range(int s) const {
    const SlotMemory memory = memory_of(plan_, s);
    const Slot& owner = plan_.slots[idx(memory.slot)];
    const auto buffers = static_cast<int>(plan_.buffers.size());
    if (owner.place.memory == Place::Memory::image) return {0, 1, 1 + buffers + owner.image};
    const std::size_t begin = owner.offset + memory.offset;
    return {begin, begin + plan_.slots[idx(s)].mapping.bytes(),
            owner.place.device == 0 ? 0 : 1 + owner.buffer};
  }

  void slot(int s) const {
    const Slot& slot = plan_.slots[idx(s)];
    expect_place(slot);
    if (slot.alias_of >= 0) {
      const std::size_t bytes = plan_.slots[idx(slot.alias_of)].mapping.bytes();
      if (slot.alias_offset > bytes || slot.mapping.bytes() > bytes - slot.alias_offset) {
        bug(text("'", name(s), "' does not lie in what it is a part of"));
      }
    } else if (slot.constant != nullptr) {
      if (slot.constant->bytes() != slot.mapping.bytes()) {
        bug(text("'", name(s), "' is not as large as its constant"));
      }
    } else if (slot.place.memory == Place::Memory::image) {
      if (slot.image < 0 || slot.image >= static_cast<int>(plan_.images.size())) {
        bug(text("'", name(s), "' has no image"));
      }
      const PlanImage& image = plan_.images[idx(slot.image)];
      if (slot.mapping.extent(Space::x) > image.width ||
          slot.mapping.extent(Space::y) > image.height || slot.dtype != image.dtype) {
        bug(text("'", name(s), "' does not fit into its image"));
      }
    } else if (slot.place.memory == Place::Memory::buffer) {
      if (slot.buffer < 0 || slot.buffer >= static_cast<int>(plan_.buffers.size())) {
        bug(text("'", name(s), "' has no buffer"));
      }
      if (range(s).end > plan_.buffers[idx(slot.buffer)]) {
        bug(text("'", name(s), "' lies outside its buffer"));
      }
    } else if (range(s).end > plan_.arena_bytes) {
      bug(text("'", name(s), "' lies outside the arena"));
    }
  }

  void expect_place(const Slot& slot) const {
    const Place& place = slot.place;
    if (place.device != 0 && !plan_.device) bug("a slot is on a device that is none");
    const bool host = place.memory == Place::Memory::host;
    if (place.device < 0 || place.device > 1 || host != (place.device == 0)) {
      bug(text("'", slot.name, "' lies in a memory that there is not"));
    }
    if (place.memory == Place::Memory::image && !slot.mapping.layout().is_image()) {
      bug(text("'", slot.name, "' lies in an image, but not as one"));
    }
    if (slot.alias_of >= 0 && plan_.slots[idx(slot.alias_of)].place != place) {
      bug(text("'", slot.name, "' lies elsewhere than what it is a part of"));
    }
  }

  void expect_buffers() const {
    for (const std::size_t bytes : plan_.buffers) {
      if (!plan_.device) bug("a buffer is on a device that is none");
      if (bytes > static_cast<std::size_t>(plan_.device->allocation_bytes)) {
        bug("a buffer is larger than the device allows");
      }
    }
  }

  /// Operands of a kernel are where it runs.
  void expect_places(const Step& step) const {
    const bool there = step.call.def().launch != nullptr;
    for (const int s : step.out) {
      if (s >= 0 && (plan_.slot(s).place.device != 0) != there) {
        bug(text("'", name(s), "' is written by a kernel of another device"));
      }
    }
    const auto expect_read = [&](int s) {
      if (s >= 0 && (plan_.slot(s).place.device != 0) != there) {
        bug(text("'", name(s), "' is read by a kernel of another device"));
      }
    };
    if (!there) {
      for (const int s : step.in) expect_read(s);
      return;
    }
    // What a kernel of a device does not read is no operand of its launch.
    const StepViews views(plan_, step.in, step.out);
    const Launch launch = step.call.launch(views.args_without_constants());
    for (const Launch::Operand& operand : launch.operands) {
      if (!operand.output) expect_read(step.in.at(idx(operand.index)));
    }
  }

  /// A crossing copies bytes.
  void expect_crossing(const Step& step) const {
    if (!plan_.brings_up(step) && !plan_.brings_down(step)) return;
    const Slot &from = plan_.slot(step.src), &to = plan_.slot(step.dst);
    if (from.dtype != to.dtype || !from.mapping.same_bytes(to.mapping)) {
      bug(text("'", from.name, "' becomes another on its way to another device"));
    }
  }

  void readable(int s) const {
    if (is_constant(s)) return;
    const int from = root(s);
    if (!written_[idx(from)]) bug(text("'", name(s), "' is read before it is written"));
    if (!held_.contains({range(from).memory, range(from).begin, from})) {
      bug(text("'", name(s), "' is read after something was written over it"));
    }
  }

  /// Input `k` lies in output 0, as the step says.
  bool is_view(const Step& step, std::size_t k) const {
    return std::ranges::any_of(step.views, [&](const Step::View& view) {
      return view.input == static_cast<int>(k) &&
             range(step.in[k]).begin == range(step.out[0]).begin + view.offset &&
             range(step.out[0]).contains(range(step.in[k]));
    });
  }

  /// What a step reads is there, and what it writes is not what it reads, but for an input that it
  /// may write over or that lies in its output.
  void check(const std::vector<int>& in, const std::vector<int>& out, const Step& step) {
    const Range scratch{step.scratch_offset, step.scratch_offset + step.scratch_bytes};
    if (scratch.end > plan_.arena_bytes) bug("scratch is outside");
    std::vector<Range> kept;  // of output 0, which is not written
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k] < 0) continue;
      readable(in[k]);
      if (!is_constant(in[k]) && is_view(step, k)) kept.push_back(range(in[k]));
    }
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k] < 0 || is_constant(in[k])) continue;
      const Range read = range(in[k]);
      if (read.overlaps(scratch)) bug(text("scratch lies over '", name(in[k]), "'"));
      const bool stays =
          std::ranges::any_of(kept, [&](const Range& part) { return part.contains(read); });
      for (std::size_t o = 0; o < out.size(); ++o) {
        if (out[o] < 0 || !range(out[o]).overlaps(read) || (o == 0 && stays)) continue;
        const bool in_place = o == 0 && static_cast<int>(k) == step.in_place &&
                              range(out[o]).begin == read.begin && range(out[o]).end == read.end;
        if (!in_place) bug(text("'", name(out[o]), "' is written over '", name(in[k]), "'"));
      }
    }
    clear(scratch);
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (out[o] < 0) continue;
      if (range(out[o]).overlaps(scratch)) bug(text("scratch lies over '", name(out[o]), "'"));
      write(out[o], o == 0 ? kept : std::vector<Range>());
    }
    for (int s : out) {
      if (s >= 0) readable(s);
    }
  }

  void write(int s, std::vector<Range> kept = {}) {
    if (is_constant(s) || plan_.slots[idx(s)].alias_of >= 0) {
      bug(text("'", name(s), "' is written but not its own"));
    }
    if (written_[idx(s)]) bug(text("'", name(s), "' is written twice"));
    written_[idx(s)] = true;
    std::ranges::sort(kept, {}, &Range::begin);
    // What lies between the parts that are there already is written.
    std::size_t from = range(s).begin;
    for (const Range& part : kept) {
      clear({from, part.begin, range(s).memory});
      from = std::max(from, part.end);
    }
    clear({from, range(s).end, range(s).memory});
    held_.insert({range(s).memory, range(s).begin, s});
    longest_ = std::max(longest_, range(s).end - range(s).begin);
  }

  /// What lay there is gone.
  void clear(const Range& bytes) {
    if (bytes.begin >= bytes.end) return;
    for (const Range& given : given_) {
      if (given.overlaps(bytes)) bug("what the device has yet to read is written over");
    }
    const std::size_t first = bytes.begin > longest_ ? bytes.begin - longest_ : 0;
    for (auto at = held_.lower_bound({bytes.memory, first, -1});
         at != held_.end() && std::get<0>(*at) == bytes.memory && std::get<1>(*at) < bytes.end;) {
      const Range other = range(std::get<2>(*at));
      at = other.begin < other.end && other.overlaps(bytes) ? held_.erase(at) : std::next(at);
    }
  }

  const Plan& plan_;
  std::vector<bool> written_;
  // Memory, offset and slot: its bytes lie there, whole.
  std::set<std::tuple<int, std::size_t, int>> held_;
  std::vector<Range> given_;  // what the device may still have to read
  std::size_t longest_ = 0;   // most bytes of a slot that was written
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace stowage
