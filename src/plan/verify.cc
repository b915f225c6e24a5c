// SPDX-License-Identifier: Apache-2.0
// The executable specification of a Plan.
#include "base/text.h"
#include "plan/plan.h"

namespace stowage {

namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

[[noreturn]] void bug(const std::string& what) {
  fail(ErrorCode::internal, "the plan is inconsistent: ", what, "; this is a bug in Stowage");
}

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan), written_(plan.slots.size(), false) {}

  void run() {
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) slot(static_cast<int>(s));
    for (const Door& door : plan_.inputs) {
      for (int s : door.slots) written_[idx(s)] = true;
    }
    for (const Step& step : plan_.steps) {
      if (step.kind == Step::Kind::convert) {
        readable(step.src);
        if (!step.conversion) bug("a conversion is missing");
        write(step.dst);
      } else {
        for (int s : step.in) {
          if (s >= 0) readable(s);
        }
        if (step.kind == Step::Kind::call && !step.kernel) bug("a kernel is missing");
        if (step.scratch_offset + step.scratch_bytes > plan_.arena_bytes) bug("scratch is outside");
        for (int s : step.out) {
          if (s >= 0) write(s);
        }
      }
    }
    for (const Door& door : plan_.outputs) readable(door.slots.at(0));
  }

 private:
  std::string name(int s) const { return plan_.graph->value(plan_.slots[idx(s)].value).name; }

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

  /// An alias holds what its target holds.
  void readable(int s) const {
    for (; plan_.slots[idx(s)].alias_of >= 0; s = plan_.slots[idx(s)].alias_of) {
    }
    if (!written_[idx(s)] && plan_.slots[idx(s)].constant == nullptr) {
      bug(text("'", name(s), "' is read before it is written"));
    }
  }

  void write(int s) {
    if (plan_.slots[idx(s)].constant != nullptr || plan_.slots[idx(s)].alias_of >= 0) {
      bug(text("'", name(s), "' is written but not its own"));
    }
    if (written_[idx(s)]) bug(text("'", name(s), "' is written twice"));
    written_[idx(s)] = true;
  }

  const Plan& plan_;
  std::vector<bool> written_;
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace stowage
