// SPDX-License-Identifier: Apache-2.0
#include "plan/step_views.h"

namespace stowage {

namespace {

std::vector<LaunchView> views(const Plan& plan, std::span<const int> slots) {
  std::vector<LaunchView> out;
  for (const int i : slots) {
    if (i < 0) {
      out.emplace_back();
      continue;
    }
    const Slot& slot = plan.slot(i);
    out.push_back({slot.mapping, slot.dtype, slot.place.memory});
  }
  return out;
}

/// The bytes of a slot that is a constant in host memory, else null.
const std::byte* host_constant(const Plan& plan, int slot) {
  if (slot < 0 || plan.slot(slot).place.device != 0) return nullptr;
  const SlotMemory memory = memory_of(plan, slot);
  const Tensor* constant = plan.slot(memory.slot).constant.get();
  return constant == nullptr ? nullptr : constant->data() + memory.offset;
}

}  // namespace

StepViews::StepViews(const Plan& plan, std::span<const int> in_slots,
                     std::span<const int> out_slots)
    : in(views(plan, in_slots)), out(views(plan, out_slots)) {
  for (const int i : in_slots) constants.push_back(host_constant(plan, i));
}

}  // namespace stowage
