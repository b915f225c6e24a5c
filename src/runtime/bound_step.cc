// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_step.h"

#include "base/index.h"
#include "base/trail.h"

namespace stowage {

void BoundStep::run(ThreadPool* pool) const {
  if (conversion) {
    conversion->run(in[0], out[0], pool);
  } else {
    kernel.run({in, out, scratch, pool});
  }
}

std::vector<std::byte*> slot_pointers(const Plan& plan, std::byte* arena) {
  std::vector<std::byte*> out;
  for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
    const SlotMemory memory = memory_of(plan, s);
    const Slot& owner = plan.slots[idx(memory.slot)];
    if (owner.place.device != 0) {
      out.push_back(nullptr);
      continue;
    }
    // Constants are only ever read; one table of pointers serves both kinds.
    std::byte* const begin =
        owner.constant ? const_cast<std::byte*>(owner.constant->data()) : arena + owner.offset;
    out.push_back(begin + memory.offset);
  }
  return out;
}

BoundStep bind_step(const Plan& plan, const Step& step, std::span<std::byte* const> slots,
                    std::byte* arena) {
  BoundStep bound;
  if (step.kind == Step::Kind::convert) {
    const Slot &from = plan.slots[idx(step.src)], &to = plan.slots[idx(step.dst)];
    bound.in = {slots[idx(step.src)]};
    bound.out = {slots[idx(step.dst)]};
    bound.conversion.emplace(from.dtype, from.mapping, to.dtype, to.mapping);
    return bound;
  }
  std::vector<const std::byte*> constants;
  for (const int s : step.in) {
    bound.in.push_back(s < 0 ? nullptr : slots[idx(s)]);
    const bool constant = s >= 0 && plan.slots[idx(memory_of(plan, s).slot)].constant != nullptr;
    constants.push_back(constant ? bound.in.back() : nullptr);
  }
  for (const int s : step.out) bound.out.push_back(s < 0 ? nullptr : slots[idx(s)]);
  bound.scratch = arena + step.scratch_offset;
  const Trail trail("node", step.name, step.op);
  bound.kernel = step.call.bind({constants});
  return bound;
}

}  // namespace stowage
