// SPDX-License-Identifier: Apache-2.0
// A session in the open: memory begins as NaN, and what every step writes is looked at.
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/index.h"
#include "base/text.h"
#include "plan/plan.h"
#include "runtime/bound_step.h"
#include "tests/suite/random_graphs.h"

namespace stowage::random_graphs {

namespace {

/// The first cell of a tail that is not zero, or -1.
std::int64_t dirty_tail(const Mapping& mapping, const std::byte* data) {
  if (mapping.count().tail == 0) return -1;
  const auto size = idx(mapping.element_bytes());
  std::vector<std::int64_t> x(idx(mapping.shape().rank()) + 1);
  const std::vector<std::byte> zero(size);
  for (std::int64_t cell = 0; cell < mapping.cells(); ++cell) {
    if (mapping.inverse(cell, x) != Cell::tail) continue;
    if (std::memcmp(data + idx(cell) * size, zero.data(), size) != 0) return cell;
  }
  return -1;
}

class OpenSession {
 public:
  explicit OpenSession(const Plan& plan)
      : plan_(plan), storage_(plan.arena_bytes + kVectorSlack + kAlignment, std::byte{0xFF}) {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    arena_ = storage_.data() + (kAlignment - at % kAlignment) % kAlignment;
    slots_ = slot_pointers(plan, arena_);
  }

  std::string run(const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const PlanPort& input = plan_.inputs[i];
      const Shape& shape = input.port.shape;
      const Mapping source(Layout::row_major(shape), shape, dtype_bytes(input.port.dtype));
      for (const int s : input.slots) {
        const Slot& slot = plan_.slots[idx(s)];
        Conversion(input.port.dtype, source, slot.dtype, slot.mapping)
            .run(inputs[i].data(), slots_[idx(s)], nullptr);
        const std::string why = check(s, text("model input '", input.port.name, "'"));
        if (!why.empty()) return why;
      }
    }
    for (const Step& step : plan_.steps) {
      const std::string why = run(step);
      if (!why.empty()) return why;
    }
    return "";
  }

 private:
  std::string run(const Step& step) {
    bind_step(plan_, step, slots_, arena_).run(nullptr);
    if (step.kind == Step::Kind::convert) return check(step.dst, "a conversion");
    for (const int s : step.out) {
      const std::string why = check(s, text("node '", step.name, "'"));
      if (!why.empty()) return why;
    }
    return "";
  }

  std::string check(int s, std::string_view who) const {
    if (s < 0) return "";
    const Slot& slot = plan_.slots[idx(s)];
    const std::int64_t cell = dirty_tail(slot.mapping, slots_[idx(s)]);
    if (cell < 0) return "";
    return text(who, " leaves cell ", cell, " in the tail of '", slot.name, "' (",
                slot.mapping.layout().spelling(), ") other than zero");
  }

  const Plan& plan_;
  std::vector<std::byte> storage_;
  std::byte* arena_;
  std::vector<std::byte*> slots_;
};

}  // namespace

std::string check_tails(const Plan& plan, const std::vector<Tensor>& inputs) {
  return OpenSession(plan).run(inputs);
}

}  // namespace stowage::random_graphs
