// SPDX-License-Identifier: Apache-2.0
#include "opencl/session.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "opencl/errors.h"

namespace stowage {

namespace {

constexpr int kCommandsUntilFlush = 16;

/// What the trail of an Error says of a step.
Trail trail_of(const Plan& plan, const Step& step) {
  if (step.kind == Step::Kind::call) return Trail("node", step.name, step.op);
  return Trail("conversion of", plan.slots[idx(step.src)].name);
}

cl::NDRange range(const std::array<std::size_t, 3>& n) { return {n[0], n[1], n[2]}; }

}  // namespace

std::array<std::size_t, 3> fitting_group(std::array<int, 3> group, std::size_t most_items,
                                         std::span<const std::size_t> most_each) {
  std::array<std::size_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = static_cast<std::size_t>(std::max(group[i], 1));
    if (i < most_each.size()) out[i] = std::min(out[i], std::max<std::size_t>(most_each[i], 1));
  }
  while (out[0] * out[1] * out[2] > std::max<std::size_t>(most_items, 1)) {
    *std::max_element(out.begin(), out.end()) /= 2;
  }
  return out;
}

OpenClSession::OpenClSession(std::shared_ptr<OpenClDevice> device, std::shared_ptr<const Plan> plan,
                             const OpenClDevice::Launcher& launcher)
    : device_(std::move(device)), plan_(std::move(plan)) {
  const Plan& p = *plan_;
  cl_call([&] {
    queue_ = cl::CommandQueue(device_->context(), device_->device(),
                              device_->profile() ? CL_QUEUE_PROFILING_ENABLE : 0);
    memory_ = std::make_unique<DeviceMemory>(device_->context(), p);
    if (device_->fill_nan()) memory_->fill_nan(queue_);
  });
  kernels_.resize(p.steps.size());
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (!p.on_device(p.steps[i])) continue;
    const Trail trail = trail_of(p, p.steps[i]);
    const StepLaunch launch = launcher(p, static_cast<int>(i));
    cl_call([&] { prepare(kernels_[i], launch); });
  }
  // Constants in buffers have been filled when they were made.
  for (std::size_t i = 0; i < p.slots.size(); ++i) {
    const Slot& slot = p.slots[i];
    if (slot.constant == nullptr || slot.place.memory != Place::Memory::image) continue;
    upload(static_cast<int>(i), slot.constant->data());
  }
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

void OpenClSession::set_range(Kernel& kernel, const StepLaunch& launch) const {
  const cl::Device& device = device_->device();
  const auto of_kernel = kernel.kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device);
  const auto of_device = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  std::array<int, 3> wanted = launch.launch.group;
  if (launch.launch.items[1] == 1) {
    // In one dimension the other rows of a group would have nothing to do.
    wanted = {wanted[0] * wanted[1], 1, wanted[2]};
  }
  const auto group = fitting_group(wanted, std::min(of_kernel, of_device),
                                   device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>());
  std::array<std::size_t, 3> global{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t items = launch.launch.items[i];
    kernel.nothing |= items == 0;
    global[i] = static_cast<std::size_t>(round_up(items, static_cast<std::int64_t>(group[i])));
  }
  kernel.global = range(global);
  kernel.local = range(group);
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
    memory_->upload(queue_, slot, from);
    enqueued();
  });
}

void OpenClSession::download(int slot, std::byte* to) {
  const Trail trail("download of", plan_->slots[idx(slot)].name);
  cl_run([&] { memory_->download(queue_, slot, to); });
  unflushed_ = 0;
}

void OpenClSession::enqueued() {
  if (++unflushed_ < kCommandsUntilFlush) return;
  queue_.flush();
  unflushed_ = 0;
}

void OpenClSession::wait() {
  cl_run([&] { queue_.finish(); });
  unflushed_ = 0;
}

double OpenClSession::step_us(int step) {
  const cl::Event& event = kernels_[idx(step)].event;
  if (event() == nullptr) return -1;
  return cl_run([&]() -> double {
    if (event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE) return -1;
    const auto began = event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
    const auto ended = event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
    return static_cast<double>(ended - began) / 1000;
  });
}

}  // namespace stowage
