// SPDX-License-Identifier: Apache-2.0
// A plan with its memory: run is a loop over steps.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/cpus.h"
#include "base/float_mode.h"
#include "base/index.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/trail.h"
#include "plan/device_session.h"
#include "plan/plan.h"
#include "runtime/bound_step.h"
#include "stowage/model.h"
#include "tensor/half_range.h"

namespace stowage {

namespace {

struct Free {
  void operator()(std::byte* p) const noexcept { std::free(p); }
};

bool has_axis(const Shape& shape, Axis axis) { return shape.index_of(axis) >= 0; }

/// The view's mapping over the port's axis names: by name where the names agree, else by
/// position. Extents must be the port's.
Mapping over_port_axes(const Mapping& view, const Port& port) {
  const Shape &from = view.shape(), &to = port.shape;
  const auto refuse = [&]() {
    fail(ErrorCode::bad_input, "'", port.name, "' has the shape ", to.text(), ", not ",
         from.text());
  };
  bool by_name = true;
  for (int i = 0; i < from.rank(); ++i) by_name &= from[i] == 1 || has_axis(to, from.axis(i));
  for (int i = 0; i < to.rank(); ++i) by_name &= to[i] == 1 || has_axis(from, to.axis(i));
  if (by_name) {
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

}  // namespace

struct Session::State {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Device> device;
  // By slot: host memory for what of model inputs and outputs is copied to a device or back in
  // another layout than the caller's; made when it is needed.
  std::map<int, Tensor> staged;
  bool uploads = false;  // the device may have to read some of it yet
  ThreadPool pool;
  std::unique_ptr<std::byte, Free> arena;
  std::vector<std::byte*> slots;  // where each lies
  std::vector<BoundStep> steps;
  std::vector<bool> given;  // inputs set so far
  bool ran = false;
  std::vector<Port> inputs, outputs;
  std::function<void(int)> observer;
  // What of the plan is on the device; may be null. It goes first, for it may still be reading.
  std::unique_ptr<DeviceSession> there;

  State(std::shared_ptr<const Plan> p, std::shared_ptr<Device> d)
      : plan(std::move(p)),
        device(std::move(d)),
        pool(plan->threads, plan->threads > 1 ? available_cpus() : 1) {}

  void run_step(int i);
  Tensor& staging(int slot);

  void wait() {
    there->wait();
    uploads = false;
  }
};

namespace {

std::shared_ptr<const Plan> expect_plan(std::shared_ptr<const Plan> plan) {
  if (plan == nullptr) fail(ErrorCode::usage, "a session needs a plan, not a null pointer");
  return plan;
}

/// The plan was made for a device that has no more than this one.
void expect_device(const Plan& plan, const Device* device) {
  const bool needed =
      std::ranges::any_of(plan.slots, [](const Slot& slot) { return slot.place.device != 0; });
  if (!needed) return;
  if (device == nullptr) {
    fail(ErrorCode::usage, "the plan is for '", plan.device->name, "'; the session needs a device");
  }
  const DeviceFacts &want = *plan.device, &have = device->facts();
  const auto expect = [&](std::string_view what, std::int64_t wanted, std::int64_t is) {
    if (wanted <= is) return;
    fail(ErrorCode::device, "the plan was made for ", what, " of ", wanted, ", '", have.name,
         "' has ", is);
  };
  expect("images", want.images ? 1 : 0, have.images ? 1 : 0);
  expect("images of a width", want.image_width, have.image_width);
  expect("images of a height", want.image_height, have.image_height);
  expect("allocations", want.allocation_bytes, have.allocation_bytes);
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

/// What a caller gives.
struct Source {
  DType dtype;
  Mapping mapping;
  const std::byte* data;
  ScalarMap map;
};

/// In the layout of a slot of halves, as its device would store it.
Tensor in_half_range(const Source& from, const Slot& to, ThreadPool& pool) {
  Tensor wide(DType::f32, to.mapping.shape(), to.mapping.layout());
  Conversion(from.dtype, from.mapping, DType::f32, wide.mapping(), from.map)
      .run(from.data, wide.data(), &pool);
  clip_to_half(wide.as<float>());
  return wide;
}

void expect_data(const std::byte* data, const Mapping& mapping) {
  if (data == nullptr && mapping.cells() > 0) fail(ErrorCode::usage, "its data is a null pointer");
}

}  // namespace

Session::Session(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device)
    : state_(std::make_unique<State>(expect_plan(std::move(plan)), std::move(device))) {
  State& s = *state_;
  const Plan& p = *s.plan;
  expect_device(p, s.device.get());
  if (p.device && s.device != nullptr) s.there = s.device->open(s.plan);
  s.arena.reset(allocate_zeroed(p.arena_bytes + kVectorSlack));
  s.slots = slot_pointers(p, s.arena.get());
  for (const Step& step : p.steps) {
    const bool here = !p.on_device(step) && !p.brings_up(step) && !p.brings_down(step);
    s.steps.push_back(here ? bind_step(p, step, s.slots, s.arena.get()) : BoundStep());
  }
  for (const PlanPort& input : p.inputs) s.inputs.push_back(input.port);
  for (const PlanPort& output : p.outputs) s.outputs.push_back(output.port);
  s.given.assign(s.inputs.size(), false);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::span<const Port> Session::inputs() const noexcept { return state_->inputs; }

std::span<const Port> Session::outputs() const noexcept { return state_->outputs; }

void Session::set_input(int i, const TensorView& view, std::span<const float> mean,
                        std::span<const float> norm) {
  State& s = *state_;
  if (i < 0 || idx(i) >= s.inputs.size()) fail(ErrorCode::usage, "there is no input ", i);
  const Port& port = s.inputs[idx(i)];
  const Trail trail("input", port.name);
  expect_data(view.data, view.mapping);
  const Mapping mapping = over_port_axes(view.mapping, port);
  if (view.dtype != port.dtype && port.dtype != DType::f32) {
    fail(ErrorCode::bad_input, "'", port.name, "' is ", dtype_name(port.dtype), ", not ",
         dtype_name(view.dtype));
  }
  const Source given{view.dtype, mapping, view.data, {mean, norm, Axis("c")}};
  for (int slot : s.plan->inputs[idx(i)].slots) {
    const Slot& to = s.plan->slots[idx(slot)];
    std::optional<Tensor> clipped;
    if (to.place.device != 0 && to.dtype == DType::f16 && view.dtype != DType::f16) {
      clipped = in_half_range(given, to, s.pool);
    }
    const Source from =
        clipped ? Source{DType::f32, clipped->mapping(), clipped->data(), {}} : given;
    const Conversion conversion(from.dtype, from.mapping, to.dtype, to.mapping, from.map);
    if (to.place.device == 0) {
      conversion.run(from.data, s.slots[idx(slot)], &s.pool);
      continue;
    }
    if (const Lent lent(*s.there, slot, true); lent) {
      Conversion(from.dtype, from.mapping, to.dtype, lent.mapping(to), from.map)
          .run(from.data, lent.data(), &s.pool);
      continue;
    }
    if (s.uploads && s.given[idx(i)]) s.wait();
    // The caller's tails need not be zero.
    if (conversion.is_alias() && to.mapping.bijective()) {
      s.there->upload(slot, from.data);
      s.wait();
      continue;
    }
    Tensor& staged = s.staging(slot);
    conversion.run(from.data, staged.data(), &s.pool);
    s.uploads = true;
    s.there->upload(slot, staged.data());
  }
  s.given[idx(i)] = true;
}

Tensor& Session::State::staging(int i) {
  const auto found = staged.find(i);
  if (found != staged.end()) return found->second;
  const Slot& slot = plan->slot(i);
  return staged.emplace(i, Tensor(slot.dtype, slot.mapping.shape(), slot.mapping.layout()))
      .first->second;
}

void Session::State::run_step(int i) {
  const Step& step = plan->steps[idx(i)];
  if (plan->on_device(step)) {
    there->run(i);
  } else if (plan->brings_up(step)) {
    there->upload(step.dst, slots[idx(step.src)]);
  } else if (plan->brings_down(step)) {
    there->download(step.src, slots[idx(step.dst)]);
  } else if (!steps[idx(i)].may_throw()) {
    steps[idx(i)].run(&pool);
  } else {
    const Trail trail("node", step.name, step.op);
    steps[idx(i)].run(&pool);
  }
}

void Session::run() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.given.size(); ++i) {
    if (!s.given[i]) fail(ErrorCode::usage, "input '", s.inputs[i].name, "' is not set");
  }
  const Plan& p = *s.plan;
  const FlushDenormals flush;  // the pool's threads do as the caller does
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    s.run_step(static_cast<int>(i));
    if (s.observer) s.observer(static_cast<int>(i));
  }
  if (s.there != nullptr) s.wait();
  s.ran = true;
}

void Session::read_output(int i, const MutableTensorView& into) const {
  const State& s = *state_;
  if (i < 0 || idx(i) >= s.outputs.size()) fail(ErrorCode::usage, "there is no output ", i);
  const Port& port = s.outputs[idx(i)];
  const Trail trail("output", port.name);
  if (!s.ran) fail(ErrorCode::usage, "it is read before the first run");
  expect_data(into.data, into.mapping);
  const int slot = s.plan->outputs[idx(i)].slots[0];
  const Slot& from = s.plan->slots[idx(slot)];
  const Conversion conversion(from.dtype, from.mapping, into.dtype,
                              over_port_axes(into.mapping, port));
  if (from.place.device == 0) {
    conversion.run(s.slots[idx(slot)], into.data, &state_->pool);
    return;
  }
  if (const Lent lent(*s.there, slot, false); lent) {
    Conversion(from.dtype, lent.mapping(from), into.dtype, over_port_axes(into.mapping, port))
        .run(lent.data(), into.data, &state_->pool);
    return;
  }
  // The caller's gaps stay as they are.
  if (conversion.is_alias() && into.mapping.bijective()) {
    s.there->download(slot, into.data);
    return;
  }
  Tensor& staged = state_->staging(slot);
  s.there->download(slot, staged.data());
  conversion.run(staged.data(), into.data, &state_->pool);
}

Tensor Session::output(int i) const {
  if (i < 0 || idx(i) >= state_->outputs.size()) fail(ErrorCode::usage, "there is no output ", i);
  const Port& port = state_->outputs[idx(i)];
  Tensor out(port.dtype, port.shape);
  read_output(i, out.mutable_view());
  return out;
}

namespace {

int index_of(std::span<const Port> ports, std::string_view name, std::string_view kind) {
  std::string names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return static_cast<int>(i);
    names += text(i == 0 ? "" : ", ", "'", ports[i].name, "'");
  }
  fail(ErrorCode::usage, "the model has no ", kind, " '", name, "'; it has ", names);
}

}  // namespace

int Session::input_index(std::string_view name) const { return index_of(inputs(), name, "input"); }

int Session::output_index(std::string_view name) const {
  return index_of(outputs(), name, "output");
}

double Session::step_us(int step) const {
  const State& s = *state_;
  if (step < 0 || idx(step) >= s.plan->steps.size()) {
    fail(ErrorCode::usage, "there is no step ", step);
  }
  const Step& of = s.plan->steps[idx(step)];
  const bool there = s.plan->on_device(of) || s.plan->brings_up(of) || s.plan->brings_down(of);
  return s.there == nullptr || !there ? -1 : s.there->step_us(step);
}

void Session::on_step(std::function<void(int)> observer) { state_->observer = std::move(observer); }

}  // namespace stowage
