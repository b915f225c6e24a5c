// SPDX-License-Identifier: Apache-2.0
// A plan with its memory: run is a loop over steps.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/bytes.h"
#include "base/cpus.h"
#include "base/float_mode.h"
#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "runtime/session_state.h"
#include "stowage/model.h"

namespace stowage {

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

}  // namespace

Session::State::State(std::shared_ptr<const Plan> p, std::shared_ptr<Device> d)
    : plan(std::move(p)),
      device(std::move(d)),
      pool(plan->threads, plan->threads > 1 ? available_cpus() : 1) {}

Session::Session(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device)
    : state_(std::make_unique<State>(expect_plan(std::move(plan)), std::move(device))) {
  State& s = *state_;
  const Plan& p = *s.plan;
  expect_device(p, s.device.get());
  if (p.device && s.device != nullptr) s.there = s.device->open(s.plan);
  s.arena.reset(allocate_zeroed(p.arena_bytes + kVectorSlack));
  s.slots = slot_pointers(p, s.arena.get());
  for (const Step& step : p.steps) {
    s.steps.push_back(s.here(step) ? bind_step(p, step, s.slots, s.arena.get()) : BoundStep());
  }
  for (const PlanPort& input : p.inputs) s.inputs.push_back(input.port);
  for (const PlanPort& output : p.outputs) s.outputs.push_back(output.port);
  s.given.assign(s.inputs.size(), false);
  s.ready.assign(s.outputs.size(), false);
  s.bound_inputs.resize(s.inputs.size());
  s.bound_outputs.resize(s.outputs.size());
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::span<const Port> Session::inputs() const noexcept { return state_->inputs; }

std::span<const Port> Session::outputs() const noexcept { return state_->outputs; }

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

void Session::State::run_steps() {
  const FlushDenormals flush;  // the pool's threads do as the caller does
  if (profile) {
    measure_steps();
    return;
  }
  for (std::size_t i = 0; i < plan->steps.size(); ++i) run_step(static_cast<int>(i));
  if (there != nullptr) wait();
}

void Session::State::measure_steps() {
  using Clock = std::chrono::steady_clock;
  const bool waits = there != nullptr && !there->measures();
  step_us.resize(plan->steps.size());  // in the room that `profile` has made
  for (std::size_t i = 0; i < plan->steps.size(); ++i) {
    const Clock::time_point begin = Clock::now();
    run_step(static_cast<int>(i));
    if (waits && !here(plan->steps[i])) wait();
    step_us[i] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  if (there == nullptr) return;
  wait();
  for (std::size_t i = 0; i < plan->steps.size(); ++i) {
    if (here(plan->steps[i])) continue;
    const double us = there->step_us(static_cast<int>(i));
    if (us >= 0) step_us[i] = us;
  }
}

void Session::run() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.given.size(); ++i) {
    if (!s.given[i]) fail(ErrorCode::usage, "input '", s.inputs[i].name, "' is not set");
  }
  s.ready.assign(s.ready.size(), false);
  try {
    s.take_inputs();
    s.run_steps();
    s.give_outputs();
  } catch (...) {
    // The device may be reading memory of the caller.
    try {
      if (s.there != nullptr) s.wait();
    } catch (const Error&) {
      // It has failed: it reads nothing.
    }
    throw;
  }
  s.ready.assign(s.ready.size(), true);
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

void Session::profile(bool on) {
  state_->profile = on;
  if (on) state_->step_us.reserve(state_->plan->steps.size());
}

std::span<const double> Session::step_us() const noexcept { return state_->step_us; }

}  // namespace stowage
