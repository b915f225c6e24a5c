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
#include "kernels/window/conv_device.h"
#include "kernels/window/winograd_device.h"
#include "plan/build.h"
#include "runtime/measure.h"
#include "stowage/machine.h"

namespace stowage {

namespace {

using Memory = DeviceOptions::Memory;

/// How kernels that are measured are planned.
struct Manner {
  Memory memory = Memory::buffer;
  DeviceRates rates = {};  ///< what is known by then: ways to share work depend on it
  const KernelDef* avoided = &kWinogradDevice;
};

/// Everything that the device can do is done there, in the way that it would choose among its own.
PlanOptions device_plan(const DeviceFacts& facts, const Manner& manner) {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e9;  // of the CPU
  options.device = DeviceOptions{facts, manner.memory};
  options.device->facts.rates = manner.rates;
  options.device->facts.rates.winograd_compute = 1;
  options.device->avoid = {std::string(manner.avoided->name)};
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
                   const Manner& manner) {
  const auto plan = make_plan(graph, device_plan(device->facts(), manner));
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
               int many, const Manner& manner) {
  const auto run_us = [&](int length) {
    Session session = session_of(device, chain(length, size), manner);
    return measure_us([&] { session.run(); });
  };
  const double shorter = run_us(few), longer = run_us(many);
  // Where others use the machine meanwhile, the long chain may have seemed no longer.
  return std::max((longer - shorter) / (many - few), longer / many * 0.05);
}

/// What a convolution of `size` reaches of what its kernel claims, in GFLOP/s.
struct Reached {
  double us, gflops;
};

Reached reached(const std::shared_ptr<Device>& device, std::int64_t size, const Manner& manner) {
  const bool images = manner.memory == Memory::image;
  const double launch_us = manner.rates.launch_us * (images ? manner.rates.image_launch : 1);
  const double us = link_us(device, convolutions, size, 2, 4, manner);
  const double net_us = std::max(us - launch_us, us * 0.1);
  const auto graph = convolutions(2, size);
  const plan::Decision decision = plan::decide(
      *graph, device_plan(device->facts(), {Memory::buffer, manner.rates, manner.avoided}));
  const Offer& offer = decision.table.options[0][idx(decision.chosen.choice[0])].offer;
  return {net_us, offer.flops / (net_us * 1e3 * std::max(offer.efficiency, 0.01))};
}

/// Sets gflops, image_compute and winograd_compute.
void measure_compute(const std::shared_ptr<Device>& device, DeviceRates& rates) {
  // Fast devices are not filled by what slow ones do in a millisecond.
  constexpr std::array<std::int64_t, 3> kSizes = {32, 64, 128};
  constexpr double kLongEnoughUs = 1000;
  const DeviceRates known = rates;
  rates.gflops = 0;
  for (const std::int64_t size : kSizes) {
    const Reached direct = reached(device, size, {Memory::buffer, known});
    // What is little beside a launch is no measure, where there is a larger one.
    if (direct.us < 2 * known.launch_us && size != kSizes.back()) continue;
    if (direct.gflops > rates.gflops) {
      rates.gflops = direct.gflops;
      const Reached winograd = reached(device, size, {Memory::buffer, known, &kConvDevice});
      rates.winograd_compute = winograd.gflops / direct.gflops;
      if (device->facts().images) {
        rates.image_compute = direct.us / reached(device, size, {Memory::image, known}).us;
      }
    }
    if (direct.us > kLongEnoughUs) break;
  }
}

struct Crossing {
  double up_us, down_us;
};

/// A tensor given to the device and taken from it, with nothing to convert on the way.
Crossing crossing(const std::shared_ptr<Device>& device, std::int64_t elements) {
  Session session = session_of(device, relus(2, elements), {});
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
  rates.launch_us = link_us(device, relus, kFew, 8, 72, {});
  if (facts.images) {
    rates.image_launch = link_us(device, relus, kFew, 8, 72, {Memory::image}) / rates.launch_us;
  }

  // More than caches hold; a chain keeps two tensors in one allocation.
  const std::int64_t bytes = std::clamp(facts.allocation_bytes / 4, kMegabyte, 64 * kMegabyte);
  const auto net_us = [&](Memory memory, double launch_us) {
    const double us = link_us(device, maps, bytes / 4, 2, 5, {memory});
    return std::max(us - launch_us, us * 0.1);
  };
  const double map_us = net_us(Memory::buffer, rates.launch_us);
  rates.gb_per_s = 2.0 * static_cast<double>(bytes) / (map_us * 1e3);
  if (facts.images) {
    rates.image_bandwidth = map_us / net_us(Memory::image, rates.launch_us * rates.image_launch);
  }

  measure_compute(device, rates);

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
                       &rates.image_compute, &rates.image_bandwidth, &rates.winograd_compute}) {
    *rate = std::isfinite(*rate) ? std::clamp(*rate, kLeast, kMost) : kMost;
  }
  return rates;
}

}  // namespace stowage
