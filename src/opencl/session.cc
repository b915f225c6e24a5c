// SPDX-License-Identifier: Apache-2.0
#include "opencl/session.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "kernels/accessors.h"
#include "opencl/errors.h"

namespace stowage {

namespace {

constexpr int kCommandsUntilFlush = 16;
/// For which a session measures groups.
constexpr std::chrono::seconds kTuningTime{30};

/// What the trail of an Error says of a step.
Trail trail_of(const Plan& plan, const Step& step) {
  if (step.kind == Step::Kind::call) return Trail("node", step.name, step.op);
  return Trail("conversion of", plan.slots[idx(step.src)].name);
}

cl::NDRange range(const Group& n) { return {n[0], n[1], n[2]}; }

/// Of a command that is done, on a queue that measures.
double microseconds(const cl::Event& event) {
  const auto began = event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
  const auto ended = event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  return static_cast<double>(ended - began) / 1000;
}

}  // namespace

OpenClSession::OpenClSession(std::shared_ptr<OpenClDevice> device, std::shared_ptr<const Plan> plan,
                             const OpenClDevice::Launcher& launcher)
    : device_(std::move(device)), plan_(std::move(plan)) {
  const Plan& p = *plan_;
  cl_call([&] {
    queue_ = cl::CommandQueue(device_->context(), device_->device(),
                              device_->profile() ? CL_QUEUE_PROFILING_ENABLE : 0);
    memory_ = std::make_unique<DeviceMemory>(device_->context(), p, device_->maps());
  });
  kernels_.resize(p.steps.size());
  std::vector<Untuned> untuned;
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (!p.on_device(p.steps[i])) continue;
    const Trail trail = trail_of(p, p.steps[i]);
    const StepLaunch launch = launcher(p, static_cast<int>(i));
    cl_call([&] {
      Kernel& kernel = kernels_[i];
      prepare(kernel, launch);
      if (!device_->tune() || kernel.nothing) return;
      std::string program = device_->programs().key(launch.text);
      std::vector<Group> groups = groups_to_try(launch.launch, limits(kernel));
      if (groups.size() < 2 || device_->groups().find(program, kernel.items)) return;
      untuned.push_back({static_cast<int>(i), std::move(program), std::move(groups)});
    });
  }
  // Constants in buffers have been filled when they were made.
  for (std::size_t i = 0; i < p.slots.size(); ++i) {
    const Slot& slot = p.slots[i];
    if (slot.constant == nullptr || slot.place.memory != Place::Memory::image) continue;
    upload(static_cast<int>(i), slot.constant->data());
  }
  wait();
  if (!untuned.empty()) tune(std::move(untuned));
  if (device_->fill_nan()) cl_call([&] { memory_->fill(queue_, true); });
  wait();
}

OpenClSession::Finish::~Finish() {
  if (queue() == nullptr) return;
  try {
    queue.finish();
  } catch (const cl::Error&) {
    // The queue has failed: it runs nothing.
  }
}

void OpenClSession::prepare(Kernel& kernel, const StepLaunch& launch) const {
  const cl::Program program = device_->programs().get(launch.text, launch.launch.source);
  kernel.kernel = cl::Kernel(program, launch.launch.source.c_str());
  set_arguments(kernel, launch);
  set_range(kernel, launch);
}

void OpenClSession::set_arguments(Kernel& kernel, const StepLaunch& launch) const {
  cl_uint next = 0;
  const auto set_memory = [&](const cl::Memory& memory) {
    const cl_mem handle = memory();
    kernel.kernel.setArg(next++, sizeof handle, &handle);
  };
  const auto set_numbers = [&](const std::array<std::int32_t, 8>& numbers) {
    cl_int8 all{};
    std::copy(numbers.begin(), numbers.end(), all.s);
    kernel.kernel.setArg(next++, all);
  };
  for (const StepLaunch::Operand& operand : launch.operands) {
    const DeviceMemory::Location at = memory_->of(operand.slot);
    set_memory(at.memory);
    set_numbers(operand.extents);
    set_numbers(operand.strides);
    const Slot* slot = operand.slot < 0 ? nullptr : &plan_->slot(operand.slot);
    if (slot != nullptr && slot->place.memory == Place::Memory::image) continue;
    const std::size_t bytes = slot == nullptr ? 1 : idx(dtype_bytes(slot->dtype));
    if (at.offset / bytes > idx(std::numeric_limits<cl_int>::max())) {
      fail(ErrorCode::limit, "the plan needs more of a device's memory than kernels can address");
    }
    kernel.kernel.setArg(next++, static_cast<cl_int>(at.offset / bytes));
  }
  for (const Launch::Table& table : launch.launch.tables) {
    kernel.tables.push_back(std::visit(
        [&](const auto& data) {
          return constant_buffer(device_->context(), data.data(), data.size() * sizeof(data[0]));
        },
        table.data));
    set_memory(kernel.tables.back());
  }
  for (const auto& [name, value] : launch.launch.scalars) {
    std::visit([&](auto v) { kernel.kernel.setArg(next++, v); }, value);
  }
  if (launch.check_bounds) {
    set_bounds(kernel, launch);
    set_memory(kernel.bounds);
  }
  cl_int4 items{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t n = launch.launch.items[i];
    if (n < 0 || n > std::numeric_limits<cl_int>::max()) {
      fail(ErrorCode::limit, "a kernel has at most 2^31 - 1 items in a dimension, not ", n);
    }
    items.s[i] = static_cast<cl_int>(n);
  }
  kernel.kernel.setArg(next++, items);
}

void OpenClSession::set_bounds(Kernel& kernel, const StepLaunch& launch) const {
  std::vector<BoundsRow> rows;
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    kernel.operands.push_back(launch.launch.operands[i].name);
    rows.emplace_back();
    const int number = launch.operands[i].slot;
    if (number < 0) continue;  // nothing is there
    const Slot& slot = plan_->slot(number);
    const DeviceMemory::Location at = memory_->of(number);
    std::array<std::int64_t, 2> there{};
    if (slot.place.memory == Place::Memory::image) {
      const cl::Image2D image(at.memory(), true);
      there = {static_cast<std::int64_t>(image.getImageInfo<CL_IMAGE_WIDTH>()),
               static_cast<std::int64_t>(image.getImageInfo<CL_IMAGE_HEIGHT>())};
    } else {
      const auto bytes = static_cast<std::int64_t>(at.memory.getInfo<CL_MEM_SIZE>());
      there[0] = (bytes - static_cast<std::int64_t>(at.offset)) / dtype_bytes(slot.dtype);
    }
    rows.back() = BoundsRow({slot.mapping, slot.dtype, slot.place.memory}, there);
  }
  kernel.bounds = cl::Buffer(device_->context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                             rows.size() * sizeof(BoundsRow), rows.data());
}

void OpenClSession::expect_inside() {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    Kernel& kernel = kernels_[i];
    if (kernel.bounds() == nullptr) continue;
    std::vector<BoundsRow> rows(kernel.operands.size());
    const std::size_t bytes = rows.size() * sizeof(BoundsRow);
    cl_run([&] { queue_.enqueueReadBuffer(kernel.bounds, CL_TRUE, 0, bytes, rows.data()); });
    for (std::size_t o = 0; o < rows.size(); ++o) {
      const std::int32_t times = std::exchange(rows[o].outside, 0);
      if (times == 0) continue;
      cl_run([&] { queue_.enqueueWriteBuffer(kernel.bounds, CL_TRUE, 0, bytes, rows.data()); });
      const Step& step = plan_->steps[i];
      const Trail trail = trail_of(*plan_, step);
      const bool call = step.kind == Step::Kind::call && step.call;
      fail(ErrorCode::internal, "the kernel '", call ? step.call.name() : "move",
           "' accesses its operand '", kernel.operands[o], "' outside, ", times,
           times == 1 ? " time" : " times", "; this is a bug in Stowage");
    }
  }
}

GroupLimits OpenClSession::limits(const Kernel& kernel) const {
  const cl::Device& device = device_->device();
  const std::size_t of_kernel = kernel.kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device);
  return {std::min(of_kernel, device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>()),
          device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>()};
}

void OpenClSession::set_range(Kernel& kernel, const StepLaunch& launch) const {
  kernel.items = launch.launch.items;
  kernel.nothing = std::ranges::find(kernel.items, 0) != kernel.items.end();
  const GroupLimits most = limits(kernel);
  Group group = usual_group(launch.launch, most);
  if (!launch.launch.fixed_group) {
    const auto known = device_->groups().find(device_->programs().key(launch.text), kernel.items);
    if (known.has_value()) group = fitting_group(*known, most);
  }
  set_group(kernel, group);
}

void OpenClSession::set_group(Kernel& kernel, const Group& group) {
  Group global{};
  for (std::size_t i = 0; i < 3; ++i) {
    global[i] = idx(round_up(kernel.items[i], static_cast<std::int64_t>(group[i])));
  }
  kernel.global = range(global);
  kernel.local = range(group);
}

void OpenClSession::tune(std::vector<Untuned> steps) {
  const std::lock_guard lock(device_->groups().measuring());
  const cl::CommandQueue queue(device_->context(), device_->device(), CL_QUEUE_PROFILING_ENABLE);
  // What memory happens to hold may be slow to compute with.
  cl_call([&] { memory_->fill(queue, false); });
  const auto run_once = [&](const Kernel& kernel) {
    cl::Event event;
    queue.enqueueNDRangeKernel(kernel.kernel, cl::NullRange, kernel.global, kernel.local, nullptr,
                               &event);
    event.wait();
    return microseconds(event);
  };
  using Clock = std::chrono::steady_clock;
  Clock::time_point end;
  // The first of two runs is one in which drivers complete a kernel, and is not counted.
  for (int round = 0; round < 2; ++round) {
    if (round == 1) end = Clock::now() + kTuningTime;
    for (Untuned& untuned : steps) {
      if (round == 1 && Clock::now() > end) break;
      const Trail trail = trail_of(*plan_, plan_->steps[idx(untuned.step)]);
      cl_call([&] { untuned.us = run_once(kernels_[idx(untuned.step)]); });
    }
  }
  std::ranges::stable_sort(steps, std::greater(), &Untuned::us);
  for (const Untuned& untuned : steps) {
    Kernel& kernel = kernels_[idx(untuned.step)];
    if (const auto known = device_->groups().find(untuned.program, kernel.items)) {
      set_group(kernel, fitting_group(*known, limits(kernel)));
      continue;
    }
    const auto measure = [&](std::size_t i) {
      set_group(kernel, untuned.groups[i]);
      try {
        return run_once(kernel);
      } catch (const cl::Error&) {
        // A driver may refuse what it has announced.
        return std::numeric_limits<double>::infinity();
      }
    };
    const auto best = fastest(untuned.groups.size(), measure, [&] { return Clock::now() < end; });
    set_group(kernel, untuned.groups[best.value_or(0)]);
    if (best.has_value()) {
      device_->groups().put(untuned.program, kernel.items, untuned.groups[*best]);
    }
  }
}

void OpenClSession::run(int step) {
  Kernel& kernel = kernels_[idx(step)];
  if (kernel.nothing) return;
  const Trail trail = trail_of(*plan_, plan_->steps[idx(step)]);
  cl_run([&] {
    queue_.enqueueNDRangeKernel(kernel.kernel, cl::NullRange, kernel.global, kernel.local, nullptr,
                                device_->profile() ? &kernel.event : nullptr);
    enqueued();
  });
}

void OpenClSession::upload(int slot, const std::byte* from) {
  const Trail trail("upload of", plan_->slots[idx(slot)].name);
  cl_run([&] {
    memory_->upload(queue_, slot, from, transfer_event(slot));
    enqueued();
  });
}

void OpenClSession::download(int slot, std::byte* to) {
  const Trail trail("download of", plan_->slots[idx(slot)].name);
  cl_run([&] { memory_->download(queue_, slot, to, transfer_event(slot)); });
  unflushed_ = 0;
}

DeviceSession::Mapped OpenClSession::map(int slot, bool write) {
  const Trail trail("mapping of", plan_->slots[idx(slot)].name);
  const Mapped mapped = cl_run([&] { return memory_->map(queue_, slot, write); });
  if (mapped.data != nullptr) unflushed_ = 0;
  return mapped;
}

void OpenClSession::unmap(int slot, const Mapped& mapped) {
  const Trail trail("mapping of", plan_->slots[idx(slot)].name);
  cl_run([&] {
    memory_->unmap(queue_, slot, mapped);
    enqueued();
  });
}

void OpenClSession::enqueued() {
  if (++unflushed_ < kCommandsUntilFlush) return;
  queue_.flush();
  unflushed_ = 0;
}

void OpenClSession::wait() {
  cl_run([&] { queue_.finish(); });
  unflushed_ = 0;
  expect_inside();
}

cl::Event* OpenClSession::transfer_event(int slot) {
  return device_->profile() ? &transfers_[slot] : nullptr;
}

double OpenClSession::step_us(int number) {
  const Step& step = plan_->steps[idx(number)];
  const bool up = plan_->brings_up(step), down = plan_->brings_down(step);
  const cl::Event& event =
      up || down ? transfers_[up ? step.dst : step.src] : kernels_[idx(number)].event;
  if (event() == nullptr) return -1;
  return cl_run([&]() -> double {
    if (event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE) return -1;
    return microseconds(event);
  });
}

}  // namespace stowage
