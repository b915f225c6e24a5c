// SPDX-License-Identifier: Apache-2.0
// The executable specification of a Plan.
#include <iterator>
#include <map>

#include "base/text.h"
#include "plan/plan.h"

namespace stowage {

namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

[[noreturn]] void bug(const std::string& what) {
  fail(ErrorCode::internal, "the plan is inconsistent: ", what, "; this is a bug in Stowage");
}

/// Follows a run in thought: which slot's bytes lie where after each step. It knows nothing of the
/// lifetimes from which the arena was laid out.
class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan), written_(plan.slots.size(), false) {}

  void run() {
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) slot(static_cast<int>(s));
    for (const Door& door : plan_.inputs) {
      for (int s : door.slots) write(s);
    }
    for (const Step& step : plan_.steps) {
      if (step.kind == Step::Kind::convert) {
        if (!step.conversion) bug("a conversion is missing");
        check({step.src}, {step.dst}, step);
      } else {
        if (step.kind == Step::Kind::call && !step.kernel) bug("a kernel is missing");
        check(step.in, step.out, step);
      }
    }
    for (const Door& door : plan_.outputs) readable(door.slots.at(0));
    // The next run may use them again.
    for (const Door& door : plan_.inputs) {
      for (int s : door.slots) readable(s);
    }
  }

 private:
  /// Bytes of the arena, [begin, end).
  struct Range {
    std::size_t begin, end;

    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  };

  std::string name(int s) const { return plan_.graph->value(plan_.slots[idx(s)].value).name; }

  /// An alias holds what its target holds.
  int root(int s) const {
    while (plan_.slots[idx(s)].alias_of >= 0) s = plan_.slots[idx(s)].alias_of;
    return s;
  }

  Range range(int root_slot) const {
    const Slot& slot = plan_.slots[idx(root_slot)];
    return {slot.offset, slot.offset + slot.mapping.bytes()};
  }

  void slot(int s) const {
    const Slot& slot = plan_.slots[idx(s)];
    if (slot.alias_of >= 0) {
      const Slot& target = plan_.slots.at(idx(slot.alias_of));
      if (target.mapping.bytes() != slot.mapping.bytes()) {
        bug(text("'", name(s), "' is not as large as what it relabels"));
      }
    } else if (slot.constant == nullptr && slot.offset + slot.mapping.bytes() > plan_.arena_bytes) {
      bug(text("'", name(s), "' lies outside the arena"));
    }
  }

  void readable(int s) const {
    s = root(s);
    if (plan_.slots[idx(s)].constant != nullptr) return;
    if (!written_[idx(s)]) bug(text("'", name(s), "' is read before it is written"));
    const auto at = held_.find(plan_.slots[idx(s)].offset);
    const bool holds = range(s).begin == range(s).end || (at != held_.end() && at->second == s);
    if (!holds) bug(text("'", name(s), "' is read after something was written over it"));
  }

  /// What a step reads is there, and what it writes is not what it reads, but for an input that it
  /// may write over.
  void check(const std::vector<int>& in, const std::vector<int>& out, const Step& step) {
    const Range scratch{step.scratch_offset, step.scratch_offset + step.scratch_bytes};
    if (scratch.end > plan_.arena_bytes) bug("scratch is outside");
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k] < 0) continue;
      readable(in[k]);
      const int read = root(in[k]);
      if (plan_.slots[idx(read)].constant != nullptr) continue;
      if (range(read).overlaps(scratch)) bug(text("scratch lies over '", name(read), "'"));
      for (std::size_t o = 0; o < out.size(); ++o) {
        if (out[o] < 0 || !range(out[o]).overlaps(range(read))) continue;
        const bool in_place = o == 0 && static_cast<int>(k) == step.in_place &&
                              range(out[o]).begin == range(read).begin &&
                              range(out[o]).end == range(read).end;
        if (!in_place) bug(text("'", name(out[o]), "' is written over '", name(read), "'"));
      }
    }
    clear(scratch);
    for (int s : out) {
      if (s < 0) continue;
      if (range(s).overlaps(scratch)) bug(text("scratch lies over '", name(s), "'"));
      write(s);
    }
    for (int s : out) {
      if (s >= 0) readable(s);
    }
  }

  void write(int s) {
    if (plan_.slots[idx(s)].constant != nullptr || plan_.slots[idx(s)].alias_of >= 0) {
      bug(text("'", name(s), "' is written but not its own"));
    }
    if (written_[idx(s)]) bug(text("'", name(s), "' is written twice"));
    written_[idx(s)] = true;
    clear(range(s));
    if (range(s).begin < range(s).end) held_.emplace(range(s).begin, s);
  }

  /// What lay there is gone.
  void clear(const Range& bytes) {
    if (bytes.begin == bytes.end) return;
    auto at = held_.upper_bound(bytes.begin);
    if (at != held_.begin() && range(std::prev(at)->second).overlaps(bytes)) --at;
    while (at != held_.end() && range(at->second).overlaps(bytes)) at = held_.erase(at);
  }

  const Plan& plan_;
  std::vector<bool> written_;
  std::map<std::size_t, int> held_;  // by offset: the slot whose bytes lie there, whole
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace stowage
