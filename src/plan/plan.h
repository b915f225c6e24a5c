// SPDX-License-Identifier: Apache-2.0
// A Plan: where every value lies, what is called in which order, and why. It is data, and immutable
// once it is made: sessions on several threads share one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "stowage/convert.h"
#include "stowage/model.h"
#include "stowage/plan.h"

namespace stowage {

/// A value in one format, somewhere in memory. Several slots may hold the same value.
struct Slot {
  ValueId value = kNoValue;  ///< of the graph that was planned
  std::string name;          ///< of the value
  DType dtype = DType::f32;  ///< of the stored elements
  Mapping mapping;
  Place place;
  std::shared_ptr<const Tensor> constant;  ///< weights, already in this layout; null: in the arena
  int alias_of = -1;                       ///< the slot whose bytes these are, or -1
  std::size_t alias_offset = 0;            ///< from which of them on
  std::size_t offset = 0;  ///< into the arena or the buffer of the device; of an alias: nothing
  int buffer = -1;         ///< of Plan::buffers, for a place in one
  int image = -1;          ///< of Plan::images, for a place in one

  void fields(Archive& a);
};

struct Step {
  enum class Kind { convert, call } kind = Kind::call;
  // convert
  int src = -1, dst = -1;  ///< slots
  // call
  NodeId node = kNoNode;     ///< of the graph that was planned
  std::string name, op;      ///< of the node
  std::vector<int> in, out;  ///< slots; -1 where absent
  int in_place = -1;         ///< output 0 lies where this input lies, whose last reader this is

  /// Inputs that lie in output 0 already.
  struct View {
    int input = -1;
    std::size_t offset = 0;  ///< in output 0

    void fields(Archive& a);
  };

  std::vector<View> views;
  KernelCall call;
  std::size_t scratch_bytes = 0, scratch_offset = 0;  ///< in the arena

  void fields(Archive& a);
};

/// An image of the device. Slots of disjoint lifetimes share it, each at its upper left corner.
struct PlanImage {
  std::int64_t width = 0, height = 0;  ///< texels
  DType dtype = DType::f32;

  std::int64_t bytes() const { return width * height * 4 * dtype_bytes(dtype); }

  void fields(Archive& a) { a("width", width)("height", height)("dtype", dtype); }
};

/// A model input or output: its port, and the slots that set_input fills or read_output reads.
struct PlanPort {
  Port port;
  std::vector<int> slots;  ///< output: exactly one
  ValueId value = kNoValue;
  Layout layout;  ///< in which the caller has it or wants it, as far as the planner knows

  void fields(Archive& a);
};

class Plan {
 public:
  std::string model;                            ///< its name
  DataFormat source_format = DataFormat::nchw;  ///< in which files of its kind keep images
  int threads = 1;
  int lanes = 0;        ///< Target::lanes: a machine of other lanes cannot run the plan
  std::string planner;  ///< "optimal", "rule", "source"

  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<PlanPort> inputs, outputs;

  std::optional<DeviceFacts> device;  ///< what device 1 has at least; nothing: all is on the CPU
  std::vector<std::size_t> buffers;   ///< bytes of each of the device, for slots in buffers
  std::vector<PlanImage> images;

  std::size_t arena_bytes = 0;   ///< one allocation of the host for what is not constant
  std::size_t weight_bytes = 0;  ///< constants in the layouts of their kernels

  std::vector<NodeReport> nodes;
  std::vector<ConversionReport> conversions;  ///< of inputs and outputs, too
  std::vector<std::string> history;           ///< what simplify did
  std::vector<std::string> avoided;           ///< kernels that DeviceOptions::avoid kept out
  /// Predicted: of this plan, of MACE's rule, of source order everywhere.
  double cost_us = 0, rule_cost_us = 0, source_cost_us = 0;
  double lower_bound_us = 0;      ///< equals cost_us when proved optimal
  std::size_t touched_bytes = 0;  ///< read and written by all kernels

  void fields(Archive& a);

  const Slot& slot(int s) const { return slots[static_cast<std::size_t>(s)]; }

  /// What the plan keeps on the device: buffers, images, constants and the tables of
  /// kernels.
  std::int64_t device_bytes() const;

  /// The step is done by the device: a kernel, or a conversion within its memory.
  bool on_device(const Step& step) const;
  /// It copies from the host to the device, or back.
  bool brings_up(const Step& step) const;
  bool brings_down(const Step& step) const;
};

/// Where the bytes of a slot lie: from `offset` on in those of a slot that is a part of no other.
struct SlotMemory {
  int slot = -1;
  std::size_t offset = 0;
};

/// Follows Slot::alias_of.
SlotMemory memory_of(const Plan& plan, int slot) noexcept;

/// The plan with its weights; equal plans have equal bytes.
std::vector<std::byte> plan_bytes(const Plan& plan);

/// A plan from what plan_bytes wrote, verified. The bytes are trusted as code is: parameters of
/// kernels are not checked. Throws Error(bad_input) for bytes that are no plan of this version,
/// Error(unsupported) for a plan that was made for another number of lanes.
std::shared_ptr<const Plan> read_plan(std::span<const std::byte> bytes);

/// Throws Error(internal) unless everything lies inside the arena, every step finds what it reads
/// where it was written, nothing is written over that is read later, and no step writes over what
/// it reads but in place. Follows the steps alone: it knows nothing of lifetimes.
void verify(const Plan& plan);

}  // namespace stowage
