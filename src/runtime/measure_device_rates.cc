// SPDX-License-Identifier: Apache-2.0
// What a device does a second, for the planner. What a run costs beside its kernels (the wait at
// its end) falls out as the difference of a long and a short chain of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "plan/build.h"
#include "runtime/measure.h"
#include "stowage/machine.h"

namespace stowage {

namespace {

using Memory = DeviceOptions::Memory;

/// Everything that the device can do is done there, in the way that it would choose among its own.
PlanOptions device_plan(const DeviceFacts& facts, Memory memory) {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e9;  // of the CPU
  options.device = DeviceOptions{facts, memory};
  options.device->facts.rates = {};
  return options;
}

/// Of two links at least: where one is all that there is, each baseline of the planner is as good
/// as its optimum, and they convert within the run.
using Chain = std::shared_ptr<Graph> (*)(int length, std::int64_t size);

std::shared_ptr<Graph> relus(int length, std::int64_t elements) {
  SmallGraph graph;
  ValueId last = graph.input({elements});
  for (int i = 0; i < length; ++i) last = graph.node("relu", {}, {last})[0];
  return graph.finish({last});
}

/// Of rows that an image can have, in as many of them as there are elements.
std::shared_ptr<Graph> maps(int length, std::int64_t elements) {
  constexpr std::int64_t kRow = 4096;
  SmallGraph graph;
  ValueId last = graph.input({elements / kRow, kRow});
  for (int i = 0; i < length; ++i) last = graph.node("relu", {}, {last})[0];
  return graph.finish({last});
}

/// Of `size` channels and as many rows and columns.
std::shared_ptr<Graph> convolutions(int length, std::int64_t size) {
  SmallGraph graph;
  ValueId last = graph.input({1, size, size, size});
  const ValueId weights = graph.constant(plain_tensor({size, size, 3, 3}));
  for (int i = 0; i < length; ++i) {
    last = graph.node("conv", {{"pads", Ints{1, 1, 1, 1}}}, {last, weights})[0];
  }
  return graph.finish({last});
}

/// A session with its inputs set.
Session session_of(const std::shared_ptr<Device>& device, const std::shared_ptr<Graph>& graph,
                   Memory memory) {
  const auto plan = make_plan(graph, device_plan(device->facts(), memory));
  const KernelDef* kernel = find_kernel(plan->nodes.at(0).kernel);
  if (kernel == nullptr || kernel->launch == nullptr) {
    fail(ErrorCode::device, "no kernel of '", device->facts().name, "' can be measured");
  }
  Session session(plan, device);
  session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
  return session;
}

/// Microseconds of a link of the chain.
double link_us(const std::shared_ptr<Device>& device, Chain chain, std::int64_t size, int few,
               int many, Memory memory) {
  const auto run_us = [&](int length) {
    Session session = session_of(device, chain(length, size), memory);
    return measure_us([&] { session.run(); });
  };
  const double shorter = run_us(few), longer = run_us(many);
  // Where others use the machine meanwhile, the long chain may have seemed no longer.
  return std::max((longer - shorter) / (many - few), longer / many * 0.05);
}

/// What the kernel claims to reach of the device's peak.
double claimed_efficiency(const DeviceFacts& facts, Graph& graph) {
  const plan::Decision decision = plan::decide(graph, device_plan(facts, Memory::buffer));
  const plan::Option& option = decision.table.options[0][idx(decision.chosen.choice[0])];
  return std::max(option.offer.efficiency, 0.01);
}

struct Compute {
  double gflops, image_compute;
};

Compute compute(const std::shared_ptr<Device>& device, const DeviceRates& rates) {
  // Fast devices are not filled by what slow ones do in a millisecond.
  constexpr std::array<std::int64_t, 3> kSizes = {32, 64, 128};
  constexpr double kLongEnoughUs = 1000;
  const DeviceFacts& facts = device->facts();
  Compute best{0, 1};
  for (const std::int64_t size : kSizes) {
    const auto net_us = [&](Memory memory, double launch_us) {
      const double us = link_us(device, convolutions, size, 2, 4, memory);
      return std::max(us - launch_us, us * 0.1);
    };
    const double us = net_us(Memory::buffer, rates.launch_us);
    const double flops = 2.0 * 9 * std::pow(static_cast<double>(size), 4);
    const double reached = flops / (us * 1e3 * claimed_efficiency(facts, *convolutions(2, size)));
    if (reached > best.gflops) {
      best.gflops = reached;
      if (facts.images) {
        best.image_compute = us / net_us(Memory::image, rates.launch_us * rates.image_launch);
      }
    }
    if (us > kLongEnoughUs) break;
  }
  return best;
}

struct Crossing {
  double up_us, down_us;
};

/// A tensor given to the device and taken from it, with nothing to convert on the way.
Crossing crossing(const std::shared_ptr<Device>& device, std::int64_t elements) {
  Session session = session_of(device, relus(2, elements), Memory::buffer);
  session.run();
  Tensor tensor(DType::f32, session.inputs()[0].shape);
  return {measure_us([&] { session.set_input(0, tensor.view()); }),
          measure_us([&] { session.read_output(0, tensor.mutable_view()); })};
}

}  // namespace

DeviceRates measure_device_rates(const std::shared_ptr<Device>& device) {
  if (device == nullptr) fail(ErrorCode::usage, "there is no device to measure");
  const DeviceFacts& facts = device->facts();
  const Trail trail("measuring", facts.name);
  DeviceRates rates;
  constexpr std::int64_t kFew = 64, kMegabyte = 1 << 20;
  rates.launch_us = link_us(device, relus, kFew, 8, 72, Memory::buffer);
  if (facts.images) {
    rates.image_launch = link_us(device, relus, kFew, 8, 72, Memory::image) / rates.launch_us;
  }

  // More than caches hold; a chain keeps two tensors in one allocation.
  const std::int64_t bytes = std::clamp(facts.allocation_bytes / 4, kMegabyte, 64 * kMegabyte);
  const auto net_us = [&](Memory memory, double launch_us) {
    const double us = link_us(device, maps, bytes / 4, 2, 5, memory);
    return std::max(us - launch_us, us * 0.1);
  };
  const double map_us = net_us(Memory::buffer, rates.launch_us);
  rates.gb_per_s = 2.0 * static_cast<double>(bytes) / (map_us * 1e3);
  if (facts.images) {
    rates.image_bandwidth = map_us / net_us(Memory::image, rates.launch_us * rates.image_launch);
  }

  const Compute measured = compute(device, rates);
  rates.gflops = measured.gflops;
  rates.image_compute = measured.image_compute;

  const std::int64_t moved = std::min(bytes, 16 * kMegabyte);
  const Crossing little = crossing(device, kFew), much = crossing(device, moved / 4);
  const auto speed = [&](double few_us, double many_us) {
    return static_cast<double>(moved) / (std::max(many_us - few_us, many_us * 0.1) * 1e3);
  };
  rates.upload_gb_per_s = speed(little.up_us, much.up_us);
  rates.download_gb_per_s = speed(little.down_us, much.down_us);
  rates.crossing_us = (little.up_us + little.down_us) / 2;

  constexpr double kLeast = 1e-3, kMost = 1e7;
  for (double* rate : {&rates.gflops, &rates.gb_per_s, &rates.launch_us, &rates.upload_gb_per_s,
                       &rates.download_gb_per_s, &rates.crossing_us, &rates.image_launch,
                       &rates.image_compute, &rates.image_bandwidth}) {
    *rate = std::isfinite(*rate) ? std::clamp(*rate, kLeast, kMost) : kMost;
  }
  return rates;
}

}  // namespace stowage
