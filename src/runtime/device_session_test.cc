// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a session that lie on a device, which here keeps what it is given.
#include "plan/device_session.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"
#include "plan/plan.h"
#include "plan/test_net.h"
#include "stowage/error.h"

namespace stowage {
namespace {

struct Record {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::vector<float> uploaded;

  std::int64_t lends = 0;   ///< with this row pitch; 0: only copies
  std::vector<float> lent;  ///< begins as 7
  int mapped = 0, unmapped = 0, waits = 0;
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

  Mapped map(int slot, bool write) override {
    if (record_->lends == 0) return {};
    const Mapping& m = plan_->slot(slot).mapping;
    const Mapping wide(m.layout(), m.shape(), m.element_bytes(), record_->lends);
    if (write) record_->lent.assign(idx(wide.cells()), 7.0f);
    ++record_->mapped;
    return {reinterpret_cast<std::byte*>(record_->lent.data()), record_->lends};
  }

  void unmap(int, const Mapped& mapped) override {
    EXPECT_EQ(mapped.data, reinterpret_cast<std::byte*>(record_->lent.data()));
    ++record_->unmapped;
  }

  void wait() override { ++record_->waits; }

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

/// Bound memory is what goes up and what comes down, tails and all, lent or not.
TEST(DevicePorts, AreCopiedFromAndToBoundMemory) {
  for (const std::int64_t lends : {0, 16}) {
    Net net;
    const ValueId y = net.conv(net.input({2, 5, 3, 4}), 5, 6);
    const auto device = std::make_shared<RecordingDevice>();
    device->record.lends = lends;
    device->record.lent.resize(1 << 12);
    Session session(make_plan(net.finish({y}), on_device()), device);
    const PortFormat in = session.input_format(0), out = session.output_format(0);
    Tensor from(in.dtype, in.mapping.shape(), in.mapping.layout());
    Tensor to(out.dtype, out.mapping.shape(), out.mapping.layout());
    ASSERT_FALSE(in.mapping.bijective());
    EXPECT_EQ(in.copied_bytes, from.bytes());
    EXPECT_EQ(out.copied_bytes, to.bytes());
    session.bind_input(0, from);
    session.bind_output(0, to);
    EXPECT_EQ(device->record.from, nullptr) << "it is run that copies";
    for (const int runs : {1, 2}) {
      session.run();
      EXPECT_EQ(device->record.from, from.data()) << runs;
      EXPECT_EQ(device->record.mapped, lends == 0 ? 0 : runs);
      EXPECT_EQ(device->record.unmapped, device->record.mapped);
    }
    session.unbind_output(0);
    session.run();
    EXPECT_EQ(device->record.mapped, lends == 0 ? 0 : 2);
  }
}

/// A device that does not measure its steps is waited for, each time.
TEST(DevicePorts, StepsAreMeasuredByTheHost) {
  Net net;
  const ValueId y = net.add("sigmoid", {net.add("sigmoid", {net.input({2, 5, 3, 4})})});
  const auto plan = make_plan(net.finish({y}), on_device());
  const auto device = std::make_shared<RecordingDevice>();
  Session session(plan, device);
  session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
  const int before = device->record.waits;
  session.run();
  const int usual = device->record.waits - before;
  session.profile(true);
  session.run();
  EXPECT_EQ(device->record.waits - before, 2 * usual + static_cast<int>(plan->steps.size()));
  ASSERT_EQ(session.step_us().size(), plan->steps.size());
  for (const double us : session.step_us()) EXPECT_GE(us, 0);
}

/// A device that lends its memory copies nothing: tails are written there, what is between rows
/// not.
TEST(DevicePorts, LieInMemoryThatIsLent) {
  Net net;
  const ValueId x = net.input({2, 5, 3, 4});
  const auto plan = make_plan(net.finish({net.conv(x, 5, 5)}), on_device());
  const auto device = std::make_shared<RecordingDevice>();
  device->record.lends = 11;  // rows of 2 * 4 texels
  Session session(plan, device);
  Tensor tensor(DType::f32, session.inputs()[0].shape);
  std::ranges::fill(tensor.as<float>(), 1.0f);
  session.set_input(0, tensor.view());
  const std::vector<float>& lent = device->record.lent;
  const auto rows = 2 * 3;
  ASSERT_EQ(lent.size(), std::size_t{4 * 11} * rows);
  EXPECT_EQ(std::ranges::count(lent, 1.0f), 2 * 5 * 3 * 4);
  EXPECT_EQ(std::ranges::count(lent, 0.0f), 2 * 3 * 3 * 4);
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const auto between = lent.begin() + 4 * (11 * row + 8);
    EXPECT_EQ(std::count(between, between + 4 * 3, 7.0f), 4 * 3) << "row " << row;
  }
  session.run();
  std::ranges::fill(tensor.as<float>(), 0.0f);
  session.read_output(0, tensor.mutable_view());
  EXPECT_EQ(std::ranges::count(tensor.as<float>(), 1.0f), 2 * 5 * 3 * 4);
  EXPECT_EQ(device->record.from, nullptr);
  EXPECT_EQ(device->record.to, nullptr);
  EXPECT_EQ(device->record.mapped, 2);
  EXPECT_EQ(device->record.unmapped, 2);
  // Nothing stays lent to what is refused.
  const float none[2] = {};
  EXPECT_THROW(session.set_input(0, tensor.view(), none, {}), Error);
  EXPECT_EQ(device->record.mapped, device->record.unmapped);
}

}  // namespace
}  // namespace stowage
