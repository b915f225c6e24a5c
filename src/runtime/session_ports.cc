// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a session: set, bound, read.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/bytes.h"
#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "kernels/copy/digit_loops.h"
#include "runtime/session_state.h"
#include "stowage/convert.h"
#include "tensor/half_range.h"

namespace stowage {

namespace {

/// Whether `to` has the axes of `from`, all of them or those that are longer than 1.
bool has_axes(const Shape& to, const Shape& from, bool all) {
  for (int i = 0; i < from.rank(); ++i) {
    if ((all || from[i] != 1) && to.index_of(from.axis(i)) < 0) return false;
  }
  return true;
}

/// Whether the names of a view's axes say which of the port's they are. a, b, c, ... do not: that
/// the other shape has a c, too, is chance. A view may still have a port's letters in another
/// order.
bool named_alike(const Shape& from, const Shape& to) {
  const bool unnamed = from.rank() == to.rank() && to.is_unnamed();
  if (from.rank() == to.rank() && from.is_unnamed()) return unnamed;
  return has_axes(to, from, unnamed) && has_axes(from, to, unnamed);
}

/// The view's mapping over the port's axis names: by name where the names agree, else by
/// position. Extents must be the port's.
Mapping over_port_axes(const Mapping& view, const Port& port) {
  const Shape &from = view.shape(), &to = port.shape;
  const auto refuse = [&]() {
    fail(ErrorCode::bad_input, "'", port.name, "' has the shape ", to.text(), ", not ",
         from.text());
  };
  if (named_alike(from, to)) {
    for (int i = 0; i < from.rank(); ++i) {
      const int j = to.index_of(from.axis(i));
      if (j >= 0 && to[j] != from[i]) refuse();
    }
    return view;
  }
  if (from.rank() != to.rank() ||
      !std::equal(from.extents().begin(), from.extents().end(), to.extents().begin())) {
    refuse();
  }
  return Mapping(view.layout().renamed(from.axes(), to.axes()), to, view.element_bytes());
}

/// The memory of a slot for as long as its device lends it, if it does.
class Lent {
 public:
  Lent(DeviceSession& device, int slot, bool write)
      : device_(device), slot_(slot), mapped_(device.map(slot, write)) {}

  ~Lent() {
    try {
      if (*this) device_.unmap(slot_, mapped_);
    } catch (const Error&) {
      // A device that fails says so at the next command, too.
    }
  }

  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  explicit operator bool() const noexcept { return mapped_.data != nullptr; }

  std::byte* data() const noexcept { return mapped_.data; }

  /// Where the elements of the slot lie there.
  Mapping mapping(const Slot& slot) const {
    const Mapping& m = slot.mapping;
    return {m.layout(), m.shape(), m.element_bytes(), mapped_.row_pitch};
  }

 private:
  DeviceSession& device_;
  int slot_;
  DeviceSession::Mapped mapped_;
};

Tensor& tensor_for(SlotTensors& tensors, const Plan& plan, int slot, DType dtype) {
  const auto found = tensors.find(slot);
  if (found != tensors.end()) return found->second;
  const Mapping& m = plan.slot(slot).mapping;
  return tensors.emplace(slot, Tensor(dtype, m.shape(), m.layout())).first->second;
}

/// Copies a small tensor that lies on either side as on the other, which takes less than describing
/// a conversion; false where it does not.
bool copy_as_it_lies(DType from_dtype, const Mapping& from, const std::byte* data, DType to_dtype,
                     const Mapping& to, std::byte* into) {
  constexpr std::size_t kMostBytes = 1 << 16;
  if (from_dtype != to_dtype || from.bytes() > kMostBytes || !from.same_bytes(to) ||
      !from.bijective()) {
    return false;
  }
  if (from.bytes() > 0) std::memmove(into, data, from.bytes());
  return true;
}

void expect_data(const std::byte* data, const Mapping& mapping) {
  if (data == nullptr && mapping.cells() > 0) fail(ErrorCode::usage, "its data is a null pointer");
}

}  // namespace

const Port& Session::State::input(int i) const {
  if (i < 0 || idx(i) >= inputs.size()) fail(ErrorCode::usage, "there is no input ", i);
  return inputs[idx(i)];
}

const Port& Session::State::output(int i) const {
  if (i < 0 || idx(i) >= outputs.size()) fail(ErrorCode::usage, "there is no output ", i);
  return outputs[idx(i)];
}

void Session::set_input(int i, const TensorView& view, std::span<const float> mean,
                        std::span<const float> norm) {
  State& s = *state_;
  const Port& port = s.input(i);
  const Trail trail("input", port.name);
  expect_data(view.data, view.mapping);
  const Mapping mapping = over_port_axes(view.mapping, port);
  if (view.dtype != port.dtype && port.dtype != DType::f32) {
    fail(ErrorCode::bad_input, "'", port.name, "' is ", dtype_name(port.dtype), ", not ",
         dtype_name(view.dtype));
  }
  if (s.bound_inputs[idx(i)]) unbind_input(i);
  const Source given{view.dtype, mapping, view.data, {mean, norm, Axis("c")}};
  for (const int slot : s.plan->inputs[idx(i)].slots) s.fill(slot, given, s.given[idx(i)]);
  s.given[idx(i)] = true;
}

void Session::State::fill(int slot, const Source& source, bool in_use) {
  const Slot& to = plan->slot(slot);
  Source from = source;
  if (to.place.device != 0 && to.dtype == DType::f16 && source.dtype != DType::f16) {
    const Tensor& clipped = in_half_range(source, slot);
    from = {DType::f32, clipped.mapping(), clipped.data(), {}};
  }
  const bool mapped = !from.map.mean.empty() || !from.map.norm.empty();
  if (to.place.device == 0 && !mapped &&
      copy_as_it_lies(from.dtype, from.mapping, from.data, to.dtype, to.mapping,
                      slots[idx(slot)])) {
    return;
  }
  const Conversion conversion(from.dtype, from.mapping, to.dtype, to.mapping, from.map);
  if (to.place.device == 0) {
    conversion.run(from.data, slots[idx(slot)], &pool);
    return;
  }
  if (const Lent lent(*there, slot, true); lent) {
    Conversion(from.dtype, from.mapping, to.dtype, lent.mapping(to), from.map)
        .run(from.data, lent.data(), &pool);
    return;
  }
  if (uploads && in_use) wait();
  // The caller's tails need not be zero.
  if (conversion.is_alias() && to.mapping.bijective()) {
    there->upload(slot, from.data);
    wait();
    return;
  }
  Tensor& stage = staging(slot);
  conversion.run(from.data, stage.data(), &pool);
  uploads = true;
  there->upload(slot, stage.data());
}

Tensor& Session::State::staging(int slot) {
  return tensor_for(staged, *plan, slot, plan->slot(slot).dtype);
}

const Tensor& Session::State::in_half_range(const Source& from, int slot) {
  Tensor& to = tensor_for(wide, *plan, slot, DType::f32);
  Conversion(from.dtype, from.mapping, DType::f32, to.mapping(), from.map)
      .run(from.data, to.data(), &pool);
  clip_to_half(to.as<float>());
  return to;
}

PortFormat Session::input_format(int i) const {
  state_->input(i);
  return input_place(*state_->plan, i).format;
}

PortFormat Session::output_format(int i) const {
  state_->output(i);
  return output_place(*state_->plan, i).format;
}

Bound Session::State::checked(const PortPlace& place, const Port& port, const TensorView& view,
                              std::size_t bytes) const {
  expect_data(view.data, view.mapping);
  expect_format(place.format, {view.dtype, over_port_axes(view.mapping, port), view.data}, bytes);
  Bound bound{place, const_cast<std::byte*>(view.data), false};
  expect_disjoint(bound, bound_outputs);
  return bound;
}

void Session::State::expect_disjoint(const Bound& memory,
                                     const std::vector<std::optional<Bound>>& others) {
  const std::less<> before;
  for (const std::optional<Bound>& other : others) {
    if (!other || !before(memory.data, other->end()) || !before(other->data, memory.end())) {
      continue;
    }
    fail(ErrorCode::usage, "the memory is bound already; what an output is bound to is its own");
  }
}

void Session::State::prepare(const Bound& bound) {
  for (const int s : bound.place.copied) {
    const Slot& slot = plan->slot(s);
    if (slot.place.device == 0) continue;
    staging(s);
    if (slot.dtype == DType::f16) tensor_for(wide, *plan, s, DType::f32);
  }
}

void Session::State::point_steps() {
  std::vector<std::byte*> own(plan->slots.size());
  for (const auto* ports : {&bound_inputs, &bound_outputs}) {
    for (const std::optional<Bound>& bound : *ports) {
      if (!bound || bound->place.replaced < 0) continue;
      replace_memory(*plan, bound->place.replaced, bound->data, own);
    }
  }
  slots = slot_pointers(*plan, arena.get(), own);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (here(plan->steps[i])) point(steps[i], plan->steps[i], slots);
  }
}

void Session::bind_input(int i, const TensorView& view, std::size_t bytes) {
  State& s = *state_;
  const Trail trail("input", s.input(i).name);
  const Bound bound = s.checked(input_place(*s.plan, i), s.input(i), view, bytes);
  s.prepare(bound);
  s.bound_inputs[idx(i)] = bound;
  s.point_steps();
  s.given[idx(i)] = true;
}

void Session::bind_input(int i, const Tensor& tensor) {
  bind_input(i, tensor.view(), tensor.bytes() + kVectorSlack);
}

void Session::unbind_input(int i) {
  State& s = *state_;
  s.input(i);
  if (!s.bound_inputs[idx(i)]) return;
  s.bound_inputs[idx(i)].reset();
  s.point_steps();
  s.given[idx(i)] = false;
}

void Session::bind_output(int i, const MutableTensorView& view, std::size_t bytes) {
  State& s = *state_;
  const Trail trail("output", s.output(i).name);
  // The new memory may meet what the output had before.
  const std::optional<Bound> before = std::exchange(s.bound_outputs[idx(i)], std::nullopt);
  try {
    Bound bound = s.checked(output_place(*s.plan, i), s.output(i), TensorView(view), bytes);
    State::expect_disjoint(bound, s.bound_inputs);
    s.prepare(bound);
    s.bound_outputs[idx(i)] = std::move(bound);
  } catch (...) {
    s.bound_outputs[idx(i)] = before;
    throw;
  }
  s.point_steps();
  s.ready[idx(i)] = false;
}

void Session::bind_output(int i, Tensor& tensor) {
  bind_output(i, tensor.mutable_view(), tensor.bytes() + kVectorSlack);
}

void Session::unbind_output(int i) {
  State& s = *state_;
  s.output(i);
  if (!s.bound_outputs[idx(i)]) return;
  s.bound_outputs[idx(i)].reset();
  s.point_steps();
  s.ready[idx(i)] = false;
}

/// What of bound inputs is not read where it lies.
void Session::State::take_inputs() {
  for (std::size_t i = 0; i < bound_inputs.size(); ++i) {
    if (!bound_inputs[i]) continue;
    Bound& bound = *bound_inputs[i];
    const Trail trail("input", inputs[i].name);
    const PortFormat& format = bound.place.format;
    if (!bound.looked && !TailZero(format.mapping).holds(bound.data)) {
      fail(ErrorCode::bad_input, "the tail of the bound memory is not zero: cells of ",
           format.mapping.layout().spelling(), " beyond ", inputs[i].shape.text(),
           " hold zero bytes");
    }
    bound.looked = true;
    for (const int slot : bound.place.copied) {
      const Slot& to = plan->slot(slot);
      if (to.place.device != 0 && to.dtype == format.dtype &&
          to.mapping.same_bytes(format.mapping)) {
        there->upload(slot, bound.data);
      } else {
        fill(slot, {format.dtype, format.mapping, bound.data, {}}, false);
      }
    }
  }
}

void Session::State::give_outputs() {
  for (std::size_t i = 0; i < bound_outputs.size(); ++i) {
    if (!bound_outputs[i] || bound_outputs[i]->place.copied.empty()) continue;
    const Bound& bound = *bound_outputs[i];
    const PortFormat& format = bound.place.format;
    const Trail trail("output", outputs[i].name);
    read(static_cast<int>(i), {format.dtype, format.mapping, bound.data});
  }
}

void Session::State::read(int i, const MutableTensorView& into) {
  const Port& port = output(i);
  const int slot = plan->outputs[idx(i)].slots[0];
  const Slot& from = plan->slot(slot);
  const Mapping wanted = over_port_axes(into.mapping, port);
  if (from.place.device == 0 &&
      copy_as_it_lies(from.dtype, from.mapping, slots[idx(slot)], into.dtype, wanted, into.data)) {
    return;
  }
  const Conversion conversion(from.dtype, from.mapping, into.dtype, wanted);
  if (from.place.device == 0) {
    conversion.run(slots[idx(slot)], into.data, &pool);
    return;
  }
  if (const Lent lent(*there, slot, false); lent) {
    Conversion(from.dtype, lent.mapping(from), into.dtype, wanted)
        .run(lent.data(), into.data, &pool);
    return;
  }
  // The caller's gaps stay as they are.
  if (conversion.is_alias() && into.mapping.bijective()) {
    there->download(slot, into.data);
    return;
  }
  Tensor& stage = staging(slot);
  there->download(slot, stage.data());
  conversion.run(stage.data(), into.data, &pool);
}

void Session::read_output(int i, const MutableTensorView& into) const {
  const Trail trail("output", state_->output(i).name);
  if (!state_->ready[idx(i)]) {
    fail(ErrorCode::usage,
         "it is read before the first run, or before another one where that threw or the output "
         "was bound or unbound since");
  }
  expect_data(into.data, into.mapping);
  state_->read(i, into);
}

Tensor Session::output(int i) const {
  const Port& port = state_->output(i);
  Tensor out(port.dtype, port.shape);
  read_output(i, out.mutable_view());
  return out;
}

}  // namespace stowage
