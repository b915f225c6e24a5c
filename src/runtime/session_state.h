// SPDX-License-Identifier: Apache-2.0
// What a session keeps. session.cc makes and runs it, session_ports.cc fills and reads it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "plan/device_session.h"
#include "plan/plan.h"
#include "runtime/binding.h"
#include "runtime/bound_step.h"
#include "stowage/model.h"

namespace stowage {

/// What a caller gives.
struct Source {
  DType dtype;
  Mapping mapping;
  const std::byte* data;
  ScalarMap map;
};

/// Memory of the caller.
struct Bound {
  PortPlace place;
  std::byte* data = nullptr;  // of an input: only read
  bool looked = false;        // its tails hold zero

  const std::byte* end() const { return data + place.format.mapping.bytes(); }
};

/// Tensors by slot, made when they are needed.
using SlotTensors = std::map<int, Tensor>;

struct Session::State {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Device> device;
  // Host memory for what of model inputs and outputs is copied to a device or back in another
  // layout than the caller's; and for f32 values on their way to halves.
  SlotTensors staged, wide;
  bool uploads = false;  // the device may have to read some of it yet
  ThreadPool pool;
  std::unique_ptr<std::byte, Free> arena;
  std::vector<std::byte*> slots;  // where each lies
  std::vector<BoundStep> steps;
  std::vector<bool> given;  // inputs that are set or bound
  std::vector<bool> ready;  // outputs that the last run computed
  std::vector<std::optional<Bound>> bound_inputs, bound_outputs;
  std::vector<Port> inputs, outputs;
  bool profile = false;
  std::vector<double> step_us;  // of the last run under `profile`
  // What of the plan is on the device; may be null. It goes first, for it may still be reading.
  std::unique_ptr<DeviceSession> there;

  State(std::shared_ptr<const Plan> p, std::shared_ptr<Device> d);

  const Port& input(int i) const;
  const Port& output(int i) const;

  /// Writes into a slot of a model input. `in_use`: a device may be reading what it was filled
  /// with before.
  void fill(int slot, const Source& source, bool in_use);
  Tensor& staging(int slot);
  /// f32 values as a device stores them in halves, in the layout of the slot.
  const Tensor& in_half_range(const Source& from, int slot);

  Bound checked(const PortPlace& place, const Port& port, const TensorView& view,
                std::size_t bytes) const;
  /// The memory of the caller meets none of these.
  static void expect_disjoint(const Bound& memory, const std::vector<std::optional<Bound>>& others);
  /// Makes what a run needs to copy.
  void prepare(const Bound& bound);
  /// After a change of what is bound: where slots lie, for steps as well.
  void point_steps();

  bool here(const Step& step) const {
    return !plan->on_device(step) && !plan->brings_up(step) && !plan->brings_down(step);
  }

  // The parts of a run: what of bound memory is not read or written where it lies is copied.
  void take_inputs();
  void run_steps();
  void run_step(int i);
  void measure_steps();
  void give_outputs();

  /// Converts output `i` into `into`.
  void read(int i, const MutableTensorView& into);

  void wait() {
    there->wait();
    uploads = false;
  }
};

}  // namespace stowage
