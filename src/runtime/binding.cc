// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"

namespace stowage {

namespace {

int root_of(const Plan& plan, int slot) { return memory_of(plan, slot).slot; }

/// How many model outputs lie in the memory of the slot.
std::ptrdiff_t outputs_in(const Plan& plan, int root) {
  return std::ranges::count_if(
      plan.outputs, [&](const PlanPort& output) { return root_of(plan, output.slots[0]) == root; });
}

bool is_input(const Plan& plan, int root) {
  return std::ranges::any_of(plan.inputs, [&](const PlanPort& input) {
    return std::ranges::find(input.slots, root) != input.slots.end();
  });
}

bool on_host(const Slot& slot) { return slot.place.device == 0; }

PortFormat format_of(DType dtype, const Mapping& mapping) {
  return {dtype, mapping, kAlignment, mapping.bytes() + kVectorSlack, 0};
}

/// Of the layouts in which an input is read: the caller's, else one of the host, else any.
int preferred(const Plan& plan, const PlanPort& input) {
  const auto is_callers = [&](int s) {
    const Slot& slot = plan.slot(s);
    return on_host(slot) && slot.mapping.layout() == input.layout;
  };
  auto found = std::ranges::find_if(input.slots, is_callers);
  if (found == input.slots.end()) {
    found = std::ranges::find_if(input.slots, [&](int s) { return on_host(plan.slot(s)); });
  }
  return found == input.slots.end() ? input.slots[0] : *found;
}

void add_copies(const Plan& plan, PortPlace& place) {
  for (const int s : place.copied) place.format.copied_bytes += plan.slot(s).mapping.bytes();
}

}  // namespace

PortPlace input_place(const Plan& plan, int number) {
  const PlanPort& input = plan.inputs[idx(number)];
  if (input.slots.empty()) {  // nobody reads it
    const Port& port = input.port;
    return {
        format_of(port.dtype, Mapping(input.layout, port.shape, dtype_bytes(port.dtype))), -1, {}};
  }
  const int chosen = preferred(plan, input);
  const Slot& slot = plan.slot(chosen);
  PortPlace place{format_of(slot.dtype, slot.mapping), -1, input.slots};
  if (on_host(slot) && outputs_in(plan, chosen) == 0) {
    place.replaced = chosen;
    std::erase(place.copied, chosen);
  }
  add_copies(plan, place);
  return place;
}

PortPlace output_place(const Plan& plan, int number) {
  const int chosen = plan.outputs[idx(number)].slots[0];
  const Slot& slot = plan.slot(chosen);
  const SlotMemory memory = memory_of(plan, chosen);
  const Slot& root = plan.slot(memory.slot);
  PortPlace place{format_of(slot.dtype, slot.mapping), -1, {}};
  if (on_host(root) && root.constant == nullptr && memory.offset == 0 &&
      root.mapping.bytes() == slot.mapping.bytes() && outputs_in(plan, memory.slot) == 1 &&
      !is_input(plan, memory.slot)) {
    place.replaced = memory.slot;
  } else {
    place.copied = {chosen};
  }
  add_copies(plan, place);
  return place;
}

void replace_memory(const Plan& plan, int root, std::byte* at, std::span<std::byte*> own) {
  own[idx(root)] = at;
  for (const Step& step : plan.steps) {
    if (step.views.empty()) continue;
    const SlotMemory whole = memory_of(plan, step.out[0]);
    if (whole.slot != root) continue;
    for (const Step::View& view : step.views) {
      const SlotMemory part = memory_of(plan, step.in[idx(view.input)]);
      if (outputs_in(plan, part.slot) > 0) continue;
      replace_memory(plan, part.slot, at + whole.offset + view.offset - part.offset, own);
    }
  }
}

void expect_format(const PortFormat& format, const TensorView& view, std::size_t bytes) {
  if (view.dtype != format.dtype || !view.mapping.same_bytes(format.mapping)) {
    fail(ErrorCode::usage, "the plan has it as ", dtype_name(format.dtype), " in ",
         format.mapping.layout().spelling(), ", not as ", dtype_name(view.dtype), " in ",
         view.mapping.layout().spelling(),
         "; bind memory of that format, or use set_input or read_output, which convert");
  }
  const std::size_t off = reinterpret_cast<std::uintptr_t>(view.data) % format.alignment;
  if (off != 0) {
    fail(ErrorCode::usage, "bound memory begins at a multiple of ", format.alignment,
         " bytes, not ", off, " behind one");
  }
  if (bytes < format.bytes) {
    fail(ErrorCode::usage, "bound memory has ", format.bytes, " bytes here, ",
         format.mapping.bytes(), " of cells and ", format.bytes - format.mapping.bytes(),
         " behind them that kernels may read, not ", bytes);
  }
}

}  // namespace stowage
