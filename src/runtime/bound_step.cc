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

std::vector<std::byte*> slot_pointers(const Plan& plan, std::byte* arena,
                                      std::span<std::byte* const> own) {
  std::vector<std::byte*> out;
  for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
    const SlotMemory memory = memory_of(plan, s);
    const Slot& owner = plan.slots[idx(memory.slot)];
    if (owner.place.device != 0) {
      out.push_back(nullptr);
      continue;
    }
    // Constants are only ever read; one table of pointers serves both kinds.
    std::byte* begin =
        owner.constant ? const_cast<std::byte*>(owner.constant->data()) : arena + owner.offset;
    if (!own.empty() && own[idx(memory.slot)] != nullptr) begin = own[idx(memory.slot)];
    out.push_back(begin + memory.offset);
  }
  return out;
}

void point(BoundStep& bound, const Step& step, std::span<std::byte* const> slots) noexcept {
  const auto at = [&](int s) { return s < 0 ? nullptr : slots[idx(s)]; };
  if (step.kind == Step::Kind::convert) {
    bound.in[0] = at(step.src);
    bound.out[0] = at(step.dst);
    return;
  }
  for (std::size_t i = 0; i < step.in.size(); ++i) bound.in[i] = at(step.in[i]);
  for (std::size_t i = 0; i < step.out.size(); ++i) bound.out[i] = at(step.out[i]);
}

BoundStep bind_step(const Plan& plan, const Step& step, std::span<std::byte* const> slots,
                    std::byte* arena) {
  BoundStep bound;
  if (step.kind == Step::Kind::convert) {
    const Slot &from = plan.slots[idx(step.src)], &to = plan.slots[idx(step.dst)];
    bound.in.resize(1);
    bound.out.resize(1);
    point(bound, step, slots);
    bound.conversion.emplace(from.dtype, from.mapping, to.dtype, to.mapping);
    return bound;
  }
  bound.in.resize(step.in.size());
  bound.out.resize(step.out.size());
  point(bound, step, slots);
  std::vector<const std::byte*> constants;
  for (const int s : step.in) {
    const bool constant = s >= 0 && plan.slots[idx(memory_of(plan, s).slot)].constant != nullptr;
    constants.push_back(constant ? slots[idx(s)] : nullptr);
  }
  bound.scratch = arena + step.scratch_offset;
  const Trail trail("node", step.name, step.op);
  bound.kernel = step.call.bind({constants});
  return bound;
}

}  // namespace stowage
