// SPDX-License-Identifier: Apache-2.0
// A plan to bytes and back.
#include "plan/plan.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/trail.h"
#include "plan/step_views.h"

namespace stowage {

namespace {

constexpr std::string_view kMagic = "stowage plan";
/// Raised whenever a plan or the parameters of a kernel change their fields.
constexpr int kVersion = 7;

void header(Archive& a) {
  std::string magic(kMagic);
  int version = kVersion;
  a("magic", magic);
  if (magic != kMagic) fail(ErrorCode::bad_input, "it is no plan");
  a("version", version);
  if (version != kVersion) {
    fail(ErrorCode::bad_input, "a plan of version ", version, "; this is version ", kVersion);
  }
}

}  // namespace

void archive(Archive& a, DeviceRates& r) {
  a("gflops", r.gflops)("gb_per_s", r.gb_per_s)("launch_us", r.launch_us);
  a("upload_gb_per_s", r.upload_gb_per_s)("download_gb_per_s", r.download_gb_per_s);
  a("crossing_us", r.crossing_us)("image_launch", r.image_launch);
  a("image_compute", r.image_compute)("image_bandwidth", r.image_bandwidth);
  a("winograd_compute", r.winograd_compute);
}

void archive(Archive& a, DeviceFacts& f) {
  a("name", f.name)("driver", f.driver)("images", f.images);
  a("image_width", f.image_width)("image_height", f.image_height);
  a("allocation_bytes", f.allocation_bytes)("memory_bytes", f.memory_bytes);
  a("alignment", f.alignment)("group_items", f.group_items)("local_bytes", f.local_bytes);
  a("unified", f.unified)("rates", f.rates);
}

void archive(Archive& a, Port& port) {
  a("name", port.name)("dtype", port.dtype)("shape", port.shape)("data_format", port.data_format);
}

void Slot::fields(Archive& a) {
  a("value", value)("name", name)("dtype", dtype)("mapping", mapping)("place", place);
  a("constant", constant);
  a("alias_of", alias_of)("alias_offset", alias_offset)("offset", offset);
  a("buffer", buffer)("image", image);
}

void Step::View::fields(Archive& a) { a("input", input)("offset", offset); }

void Step::fields(Archive& a) {
  a("kind", kind)("src", src)("dst", dst)("node", node)("name", name)("op", op);
  a("in", in)("out", out)("in_place", in_place)("views", views);
  a("call", call);
  a("scratch_bytes", scratch_bytes)("scratch_offset", scratch_offset);
}

void archive(Archive& a, NodeReport::Operand& o) {
  a("id", o.id)("name", o.name)("shape", o.shape)("layout", o.layout);
  a("dtype", o.dtype)("data_format", o.data_format)("constant", o.constant);
}

void archive(Archive& a, NodeReport::Detail& d) { a("name", d.name)("value", d.value); }

void archive(Archive& a, NodeReport::Lost& lost) {
  a("kernel", lost.kernel)("layouts", lost.layouts)("cost_us", lost.cost_us);
}

void archive(Archive& a, NodeReport& n) {
  a("node", n.node)("name", n.name)("op", n.op)("category", n.category);
  a("rule_category", n.rule_category)("rule_auto", n.rule_auto)("inputs", n.inputs);
  a("outputs", n.outputs)("kernel", n.kernel)("cost_us", n.cost_us)("lost", n.lost);
  a("details", n.details);
}

void archive(Archive& a, ConversionReport& c) {
  a("id", c.id)("value", c.value)("from", c.from)("to", c.to)("bytes", c.bytes);
  a("cost_us", c.cost_us)("reason", c.reason)("node", c.node);
}

void PlanPort::fields(Archive& a) {
  a("port", port)("slots", slots)("value", value)("layout", layout);
}

void Plan::fields(Archive& a) {
  a("model", model)("source_format", source_format)("threads", threads)("lanes", lanes);
  a("planner", planner)("slots", slots)("steps", steps)("inputs", inputs)("outputs", outputs);
  a("device", device)("buffers", buffers)("images", images);
  a("arena_bytes", arena_bytes)("weight_bytes", weight_bytes)("nodes", nodes);
  a("conversions", conversions)("history", history)("avoided", avoided);
  a("cost_us", cost_us);
  a("rule_cost_us", rule_cost_us)("source_cost_us", source_cost_us);
  a("lower_bound_us", lower_bound_us)("touched_bytes", touched_bytes);
}

std::int64_t Plan::device_bytes() const {
  std::int64_t bytes = 0;
  for (const std::size_t buffer : buffers) bytes += static_cast<std::int64_t>(buffer);
  for (const PlanImage& image : images) bytes += image.bytes();
  for (const Slot& slot : slots) {
    if (slot.place.device == 0 || slot.constant == nullptr || slot.alias_of >= 0) continue;
    bytes += static_cast<std::int64_t>(slot.mapping.bytes());
  }
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::call || !on_device(step)) continue;
    const StepViews views(*this, step.in, step.out);
    for (const Launch::Table& table : step.call.launch(views.args_without_constants()).tables) {
      bytes += static_cast<std::int64_t>(table.bytes);
    }
  }
  return bytes;
}

bool Plan::on_device(const Step& step) const {
  if (step.kind == Step::Kind::call) {
    return std::ranges::any_of(step.out,
                               [&](int s) { return s >= 0 && slot(s).place.device != 0; });
  }
  return slot(step.src).place.device != 0 && slot(step.dst).place.device != 0;
}

bool Plan::brings_up(const Step& step) const {
  return step.kind == Step::Kind::convert && slot(step.src).place.device == 0 &&
         slot(step.dst).place.device != 0;
}

bool Plan::brings_down(const Step& step) const {
  return step.kind == Step::Kind::convert && slot(step.src).place.device != 0 &&
         slot(step.dst).place.device == 0;
}

SlotMemory memory_of(const Plan& plan, int slot) noexcept {
  SlotMemory memory{slot, 0};
  for (const Slot* s = &plan.slots[idx(slot)]; s->alias_of >= 0;
       s = &plan.slots[idx(memory.slot)]) {
    memory.slot = s->alias_of;
    memory.offset += s->alias_offset;
  }
  return memory;
}

std::vector<std::byte> plan_bytes(const Plan& plan) {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  header(writer);
  writer("plan", const_cast<Plan&>(plan));  // a writer changes nothing
  return bytes;
}

std::shared_ptr<const Plan> read_plan(std::span<const std::byte> bytes) {
  const Trail trail("reading", "a plan");
  ByteReader reader(bytes);
  header(reader);
  auto plan = std::make_shared<Plan>();
  reader("plan", *plan);
  if (reader.left() != 0) fail(ErrorCode::bad_input, reader.left(), " bytes follow the plan");
  const int lanes = host_target(1).lanes;
  if (plan->lanes != lanes) {
    fail(ErrorCode::unsupported, "the plan is for ", plan->lanes, " lanes, this machine has ",
         lanes);
  }
  expect_threads(plan->threads);
  verify(*plan);
  return plan;
}

}  // namespace stowage
