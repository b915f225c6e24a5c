// SPDX-License-Identifier: Apache-2.0
// Where the slots of a plan lie on a device: buffers that it can have, and faults that verify sees.
#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/test_faults.h"
#include "plan/test_net.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// Each value has 2 * 8 * 3 * 5 f32, and five of them live at once.
constexpr std::int64_t kValueBytes = 2 * 8 * 3 * 5 * 4;
constexpr std::int64_t kPlainBytes = 2 * 5 * 3 * 5 * 4;  ///< in the order of the file
constexpr int kAlive = 5;

std::shared_ptr<Graph> long_lives() {
  Net net;
  std::vector<ValueId> values = {net.input({2, 5, 3, 5})};
  for (int i = 0; i < kAlive; ++i) values.push_back(net.add("sigmoid", {values.back()}));
  ValueId sum = values[1];
  for (int i = 2; i <= kAlive; ++i) sum = net.add("add", {values[idx(i)], sum});
  return net.finish({sum});
}

/// All on a device whose buffers and memory have no more bytes.
PlanOptions on_device(std::int64_t allocation_bytes,
                      std::int64_t memory_bytes = std::int64_t{1} << 30) {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;
  options.device.emplace();
  options.device->memory = DeviceOptions::Memory::buffer;
  options.device->facts.name = "a device";
  options.device->facts.allocation_bytes = allocation_bytes;
  options.device->facts.memory_bytes = memory_bytes;
  return options;
}

int kernels_there(const Plan& plan) {
  return static_cast<int>(
      std::ranges::count_if(plan.steps, [&](const Step& step) { return plan.on_device(step); }));
}

TEST(DeviceBuffers, OneWhereTheDeviceAllowsIt) {
  const auto plan = make_plan(long_lives(), on_device(std::int64_t{1} << 20));
  EXPECT_EQ(plan->buffers.size(), 1u);
  EXPECT_GE(plan->buffers[0], idx(kAlive * kValueBytes));
  EXPECT_EQ(plan->device_bytes(), static_cast<std::int64_t>(plan->buffers[0]));
}

TEST(DeviceBuffers, SeveralWhereTheDeviceAllowsNoLargerOne) {
  const int all = kernels_there(*make_plan(long_lives(), on_device(std::int64_t{1} << 20)));
  EXPECT_GE(all, 2 * kAlive - 1);
  for (const std::int64_t most :
       {kValueBytes, kValueBytes + 100, 2 * kValueBytes, 3 * kValueBytes}) {
    SCOPED_TRACE(most);
    const auto plan = make_plan(long_lives(), on_device(most));
    EXPECT_EQ(kernels_there(*plan), all);
    EXPECT_GE(plan->buffers.size(), 2u);
    for (const std::size_t bytes : plan->buffers) EXPECT_LE(bytes, idx(most));
    // In time, memory is used again.
    EXPECT_LT(plan->device_bytes(), 2 * (kAlive + 2) * kValueBytes);
    const auto copy = read_plan(plan_bytes(*plan));
    EXPECT_EQ(copy->buffers, plan->buffers);
  }
}

TEST(DeviceBuffers, WhatIsLargerThanOneStaysOnTheCpu) {
  EXPECT_EQ(kernels_there(*make_plan(long_lives(), on_device(kPlainBytes - 1))), 0);
}

TEST(DeviceBuffers, MoreThanTheMemoryOfTheDeviceIsALimit) {
  const std::int64_t bytes = make_plan(long_lives(), on_device(kValueBytes))->device_bytes();
  EXPECT_NO_THROW(make_plan(long_lives(), on_device(kValueBytes, bytes)));
  try {
    make_plan(long_lives(), on_device(kValueBytes, bytes - 1));
    ADD_FAILURE() << "nothing is thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::limit);
    EXPECT_EQ(e.sentence(),
              text("the plan keeps ", bytes, " bytes on 'a device', which has ", bytes - 1));
  }
}

TEST(DeviceBuffers, SeveralComputeWhatOneDoes) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const auto device = open_opencl(0, {.fill_nan = true});
  std::vector<float> results[3];
  for (const int i : {0, 1, 2}) {
    PlanOptions options = on_device(i == 1 ? std::int64_t{1} << 20 : kValueBytes);
    options.device->facts.alignment = device->facts().alignment;
    options.device->facts.image_width = options.device->facts.image_height = 0;
    if (i == 0) options.device.reset();
    const auto plan = make_plan(long_lives(), options);
    Session session(plan, i == 0 ? nullptr : device);
    Tensor x(DType::f32, session.inputs()[0].shape);
    for (std::size_t k = 0; k < x.as<float>().size(); ++k) {
      x.as<float>()[k] = static_cast<float>(k % 17) - 8;
    }
    session.set_input(0, x.view());
    session.run();
    session.run();
    const Tensor y = session.output(0);
    results[i].assign(y.as<float>().begin(), y.as<float>().end());
  }
  EXPECT_EQ(results[1], results[2]);
  for (std::size_t k = 0; k < results[0].size(); ++k) {
    EXPECT_NEAR(results[2][k], results[0][k], 1e-5) << k;
  }
}

/// What lies in images where the rates of images are so much of those of buffers.
int images_at(double times) {
  Net net;
  const ValueId x = net.add("sigmoid", {net.input({2, 5, 3, 5})});
  PlanOptions options = on_device(std::int64_t{1} << 20);
  options.device->memory = DeviceOptions::Memory::any;
  DeviceRates& rates = options.device->facts.rates;
  rates.image_launch = 1 / times;
  rates.image_compute = rates.image_bandwidth = times;
  const auto plan = make_plan(net.finish({net.conv(net.conv(x, 5, 6), 6, 5)}), options);
  EXPECT_GE(kernels_there(*plan), 3);
  int images = 0;
  for (const Step& step : plan->steps) {
    for (const int s : step.out) {
      images += plan->slot(s).place.memory == Place::Memory::image ? 1 : 0;
    }
  }
  return images;
}

TEST(DeviceMemory, IsWhatIsFaster) {
  EXPECT_GE(images_at(1), 2);  // images in a tie
  EXPECT_GE(images_at(1.5), 2);
  EXPECT_EQ(images_at(0.5), 0);
}

/// A convolution in images between an input and an output of the caller.
std::shared_ptr<Plan> plan_in_images() {
  Net net;
  const ValueId y = net.conv(net.add("sigmoid", {net.input({2, 5, 3, 5})}), 5, 6);
  PlanOptions options = on_device(std::int64_t{1} << 20);
  options.device->memory = DeviceOptions::Memory::image;
  return std::const_pointer_cast<Plan>(make_plan(net.finish({y}), options));
}

std::shared_ptr<Plan> plan_in_buffers() {
  return std::const_pointer_cast<Plan>(make_plan(long_lives(), on_device(kValueBytes)));
}

void move_to_host(Plan& plan, int slot) {
  plan.slots[idx(slot)].place = {};
  plan.arena_bytes = 1 << 20;
}

TEST(VerifyPlan, SeesFaultsOfPlaces) {
  const Fault images[] = {
      {"a device that is none",
       [](Plan& p) { p.slots[idx(p.inputs[0].slots[0])].place.device = 2; },
       "lies in a memory that there is not"},
      {"host memory of a device",
       [](Plan& p) { p.slots[idx(p.inputs[0].slots[0])].place.memory = Place::Memory::host; },
       "lies in a memory that there is not"},
      {"an image of the host",
       [](Plan& p) { p.slots[idx(p.outputs[0].slots[0])].place.device = 0; },
       "lies in a memory that there is not"},
      {"an image of the CPU's layout",
       [](Plan& p) {
         Slot& slot = p.slots[idx(p.inputs[0].slots[0])];
         slot.mapping = Mapping(Layout::row_major(slot.mapping.shape()), slot.mapping.shape(), 4);
       },
       "lies in an image, but not as one"},
      {"an input that the kernel cannot read", [](Plan& p) { move_to_host(p, p.steps[0].in[0]); },
       "is read by a kernel of another device"},
      {"a result that the kernel cannot write", [](Plan& p) { move_to_host(p, p.steps[1].out[0]); },
       "of another device"},
      {"a constant that the kernel cannot read", [](Plan& p) { move_to_host(p, p.steps[1].in[1]); },
       "is read by a kernel of another device"},
  };
  expect_verify_sees(images, plan_in_images);
  const Fault buffers[] = {
      {"no buffer", [](Plan& p) { p.slots[idx(p.steps[0].out[0])].buffer = -1; }, "has no buffer"},
      {"a buffer too many",
       [](Plan& p) { p.slots[idx(p.steps[0].out[0])].buffer = static_cast<int>(p.buffers.size()); },
       "has no buffer"},
      {"outside", [](Plan& p) { p.buffers[0] -= 1; }, "lies outside its buffer"},
      {"too large", [](Plan& p) { p.buffers[0] = kValueBytes + 1; },
       "larger than the device allows"},
      {"a result over what is read later",
       [](Plan& p) {
         Slot& result = p.slots[idx(p.steps[1].out[0])];
         const Slot& kept = p.slots[idx(p.steps[0].out[0])];
         result.buffer = kept.buffer;
         result.offset = kept.offset;
       },
       "is written over"},
  };
  expect_verify_sees(buffers, plan_in_buffers);
}

}  // namespace
}  // namespace stowage
