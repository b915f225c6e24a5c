// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a session that lie on a device, which here keeps what it is given.
#include "plan/device_session.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"
#include "plan/plan.h"
#include "plan/test_net.h"

namespace stowage {
namespace {

struct Record {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::vector<float> uploaded;
};

class RecordingSession : public DeviceSession {
 public:
  RecordingSession(std::shared_ptr<const Plan> plan, Record& record)
      : plan_(std::move(plan)), record_(&record) {}

  void run(int) override {}

  void upload(int slot, const std::byte* from) override {
    record_->from = from;
    record_->uploaded.resize(plan_->slot(slot).mapping.bytes() / sizeof(float));
    std::memcpy(record_->uploaded.data(), from, record_->uploaded.size() * sizeof(float));
  }

  void download(int slot, std::byte* to) override {
    record_->to = to;
    std::memset(to, 0, plan_->slot(slot).mapping.bytes());
  }

  void wait() override {}

  double step_us(int) override { return -1; }

 private:
  std::shared_ptr<const Plan> plan_;
  Record* record_;
};

class RecordingDevice : public Device {
 public:
  Record record;

 private:
  std::unique_ptr<DeviceSession> open(std::shared_ptr<const Plan> plan) override {
    return std::make_unique<RecordingSession>(std::move(plan), record);
  }
};

PlanOptions on_device() {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;
  options.device.emplace();
  return options;
}

TEST(DevicePorts, AreNotCopiedWhereNothingIsConverted) {
  Net net;
  const ValueId y = net.add("sigmoid", {net.add("sigmoid", {net.input({2, 5, 3, 4})})});
  const auto device = std::make_shared<RecordingDevice>();
  Session session(make_plan(net.finish({y}), on_device()), device);
  Tensor tensor(DType::f32, session.inputs()[0].shape);
  session.set_input(0, tensor.view());
  EXPECT_EQ(device->record.from, tensor.data());
  session.run();
  session.read_output(0, tensor.mutable_view());
  EXPECT_EQ(device->record.to, tensor.data());

  // Gaps are the caller's.
  std::vector<float> wide(2 * 5 * 16, 7.0f);
  const Mapping rows(Layout::parse("n c (h w)~16"), Shape("nchw", {2, 5, 3, 4}), sizeof(float));
  session.read_output(0, MutableTensorView(DType::f32, rows, wide.data()));
  EXPECT_EQ(std::ranges::count(wide, 0.0f), 2 * 5 * 3 * 4);
}

TEST(DevicePorts, TailsGoUpAsZero) {
  Net net;
  const ValueId y = net.conv(net.input({2, 5, 3, 4}), 5, 6);
  const auto plan = make_plan(net.finish({y}), on_device());
  const Slot& slot = plan->slot(plan->inputs[0].slots.at(0));
  ASSERT_EQ(slot.place.memory, Place::Memory::image);
  const auto device = std::make_shared<RecordingDevice>();
  Session session(plan, device);
  Tensor tensor(DType::f32, slot.mapping.shape(), slot.mapping.layout());
  std::ranges::fill(tensor.as<float>(), 1.0f);
  session.set_input(0, tensor.view());
  ASSERT_EQ(device->record.uploaded.size(), 2u * 8 * 3 * 4);
  EXPECT_EQ(std::ranges::count(device->record.uploaded, 1.0f), 2 * 5 * 3 * 4);
}

}  // namespace
}  // namespace stowage
