// SPDX-License-Identifier: Apache-2.0
// The device and its session, over plans made by hand and kernels that are written here.
#include "opencl/session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "opencl/test_folder.h"
#include "stowage/error.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// y = f * x + table, each operand with the offset that stands in its first extent.
constexpr const char* kScale = R"(
__kernel void scale(__global const float* x, int8 xe, int8 xs, int xo, __global float* y, int8 ye,
                    int8 ys, int yo, __global const int* table, float f, int4 items) {
  const int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
  if (i >= items.x || j >= items.y || k >= items.z) return;
  const int at = (k * items.y + j) * items.x + i;
  y[yo + ye.s0 + at * ys.s7] = f * x[xo + xe.s0 + at * xs.s7] + table[j];
}
)";

/// Of images to images, by texel.
constexpr const char* kCopy = R"(
__constant sampler_t kNearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
__kernel void copy(__read_only image2d_t x, int8 xe, int8 xs, __write_only image2d_t y, int8 ye,
                   int8 ys, int4 items) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x >= items.x || at.y >= items.y) return;
  write_imagef(y, at, read_imagef(x, kNearest, at) + 1);
}
)";

/// A plan by hand, and the launches of its steps.
class Hand {
 public:
  explicit Hand(const DeviceFacts& facts) : alignment_(facts.alignment) { plan_.buffers = {0}; }

  int buffer(std::int64_t elements, DType dtype = DType::f32) {
    const int i = slot(Shape("a", {elements}), "a", dtype, Place::Memory::buffer);
    place(plan_.slots[idx(i)]);
    return i;
  }

  /// NHWC images, as large as `spare` texels more each way.
  int image(const Shape& shape, DType dtype = DType::f32, std::int64_t spare = 0) {
    const int i = slot(shape, "image-channel", dtype, Place::Memory::image);
    Slot& s = plan_.slots[idx(i)];
    s.image = static_cast<int>(plan_.images.size());
    plan_.images.push_back(
        {s.mapping.extent(Space::x) + spare, s.mapping.extent(Space::y) + spare, dtype});
    return i;
  }

  int constant(Tensor tensor, Place::Memory memory) {
    const Mapping m = tensor.mapping();
    const int i = slot(m.shape(), m.layout().text(), tensor.dtype(), memory);
    plan_.slots[idx(i)].constant = std::make_shared<const Tensor>(std::move(tensor));
    return i;
  }

  int part(int of, std::int64_t elements, std::size_t offset) {
    const Slot whole = plan_.slots[idx(of)];
    const int i = slot(Shape("a", {elements}), "a", whole.dtype, whole.place.memory);
    plan_.slots[idx(i)].alias_of = of;
    plan_.slots[idx(i)].alias_offset = offset;
    return i;
  }

  int alias(int of) {
    Slot s = plan_.slots[idx(of)];
    s.constant = nullptr;
    s.alias_of = of;
    s.offset = 0;
    s.image = -1;
    plan_.slots.push_back(std::move(s));
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  int scale(int x, int y, std::array<std::int64_t, 3> items, std::vector<std::int32_t> table,
            float f, std::array<int, 3> group = {8, 2, 1}) {
    StepLaunch launch;
    launch.text = kScale;
    launch.launch.source = "scale";
    launch.launch.table("table", std::move(table));
    launch.launch.scalars = {{"f", f}};
    launch.launch.items = items;
    launch.launch.group = group;
    return step(x, y, launch);
  }

  int copy(int x, int y) {
    const Mapping& mapping = plan_.slots[idx(x)].mapping;
    StepLaunch launch;
    launch.text = kCopy;
    launch.launch.source = "copy";
    launch.launch.items = {mapping.extent(Space::x), mapping.extent(Space::y), 1};
    launch.launch.group = {8, 2, 1};
    return step(x, y, launch);
  }

  int step(int x, int y, StepLaunch launch) {
    for (const int slot : {x, y}) {
      StepLaunch::Operand operand;
      operand.slot = slot;
      operand.strides[7] = 1;
      launch.operands.push_back(operand);
    }
    Step s;
    s.name = text("step", plan_.steps.size());
    s.op = launch.launch.source;
    s.in = {x};
    s.out = {y};
    plan_.steps.push_back(s);
    launches_.push_back(launch);
    return static_cast<int>(launches_.size()) - 1;
  }

  StepLaunch& launch(int step) { return launches_[idx(step)]; }

  Plan& plan() { return plan_; }

  std::unique_ptr<DeviceSession> open(OpenClDevice& device) const {
    return device.open_with(std::make_shared<const Plan>(plan_),
                            [this](const Plan&, int step) { return launches_[idx(step)]; });
  }

 private:
  void place(Slot& s) {
    s.buffer = 0;
    s.offset = plan_.buffers[0];
    plan_.buffers[0] += idx(round_up(static_cast<std::int64_t>(s.mapping.bytes()), alignment_));
  }

  int slot(const Shape& shape, std::string_view layout, DType dtype, Place::Memory memory) {
    Slot s;
    s.name = text("slot", plan_.slots.size());
    s.dtype = dtype;
    s.mapping = Mapping(Layout::parse(layout), shape, dtype_bytes(dtype));
    s.place = {1, memory};
    plan_.slots.push_back(std::move(s));
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  std::int64_t alignment_;
  Plan plan_;
  std::vector<StepLaunch> launches_;
};

/// The device of all tests that need no options, opened once.
OpenClDevice& shared_device() {
  static const std::shared_ptr<OpenClDevice> device = open_opencl_device(0, {});
  return *device;
}

std::vector<float> numbers(std::size_t n, float first = 1) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), first);
  return out;
}

const std::byte* bytes(const std::vector<float>& v) {
  return reinterpret_cast<const std::byte*>(v.data());
}

std::vector<float> download(DeviceSession& session, int slot, std::size_t n) {
  std::vector<float> out(n, -7);
  session.download(slot, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  }
};

TEST_F(OpenCl, DevicesHaveFacts) {
  const std::vector<DeviceFacts> devices = opencl_devices();
  ASSERT_FALSE(devices.empty());
  for (const DeviceFacts& facts : devices) {
    EXPECT_FALSE(facts.name.empty());
    EXPECT_FALSE(facts.driver.empty());
    EXPECT_EQ(facts.image_width > 0, facts.images);
    EXPECT_EQ(facts.image_height > 0, facts.images);
    EXPECT_GE(facts.allocation_bytes, 1 << 20);
    EXPECT_GE(facts.memory_bytes, facts.allocation_bytes);
    EXPECT_GE(facts.alignment, 1);
    EXPECT_EQ(facts.alignment & (facts.alignment - 1), 0);
    EXPECT_GE(facts.group_items, 1);
    EXPECT_GE(facts.local_bytes, 1 << 10);
  }
  const std::shared_ptr<Device> first = open_opencl();
  EXPECT_EQ(first->facts().name, devices[0].name);
  EXPECT_EQ(first->facts().driver, devices[0].driver);
}

TEST_F(OpenCl, ANumberWithoutADeviceIsRefused) {
  for (const int number : {-1, 1000}) {
    const Error e = error_of([&] { open_opencl(number); });
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_NE(e.sentence().find(text("no OpenCL device ", number)), std::string::npos) << e.what();
  }
}

TEST_F(OpenCl, BytesComeBackFromBuffersAndImages) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  std::vector<int> slots;
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i8, DType::i32}) {
    for (const std::int64_t n : {0, 1, 33, 1000}) slots.push_back(hand.buffer(n, dtype));
    for (const std::int64_t c : {1, 4, 5, 33}) {
      slots.push_back(hand.image(Shape("nchw", {2, c, 3, 5}), dtype));
      slots.push_back(hand.image(Shape("nchw", {1, c, 1, 7}), dtype, 3));
    }
    slots.push_back(hand.image(Shape("nchw", {1, 0, 3, 5}), dtype));
  }
  const auto session = hand.open(device);
  std::map<int, std::vector<std::byte>> sent;
  for (const int slot : slots) {
    // Every bit pattern, NaNs and subnormal numbers among them.
    std::vector<std::byte>& content = sent[slot];
    content.resize(hand.plan().slots[idx(slot)].mapping.bytes());
    for (std::size_t i = 0; i < content.size(); ++i) {
      content[i] = static_cast<std::byte>(i * 7 + idx(slot));
    }
    session->upload(slot, content.data());
  }
  session->wait();
  for (const int slot : slots) {
    std::vector<std::byte> found(sent[slot].size());
    session->download(slot, found.data());
    EXPECT_EQ(found, sent[slot]) << "slot " << slot;
  }
}

/// The rows of a slot in memory that is mapped.
std::vector<std::span<std::byte>> rows_of(const Slot& slot, const DeviceSession::Mapped& mapped) {
  if (slot.place.memory != Place::Memory::image) return {{mapped.data, slot.mapping.bytes()}};
  const std::size_t texel = 4 * idx(dtype_bytes(slot.dtype));
  std::vector<std::span<std::byte>> rows;
  for (std::int64_t y = 0; y < slot.mapping.extent(Space::y); ++y) {
    rows.emplace_back(mapped.data + idx(y * mapped.row_pitch) * texel,
                      idx(slot.mapping.extent(Space::x)) * texel);
  }
  return rows;
}

TEST_F(OpenCl, SharedMemoryIsLent) {
  const auto device = open_opencl_device(0, {.fill_nan = true});
  EXPECT_EQ(device->maps(), device->facts().unified);
  if (!device->maps()) GTEST_SKIP() << "skipped: the device has memory of its own";
  Hand hand(device->facts());
  const Shape shape("nchw", {2, 5, 3, 5});
  const int slots[] = {hand.buffer(33), hand.buffer(1000, DType::f16), hand.image(shape),
                       hand.image(shape, DType::f16, 3)};
  const auto session = hand.open(*device);
  for (const int i : slots) {
    const Slot& slot = hand.plan().slots[idx(i)];
    std::vector<std::byte> sent(slot.mapping.bytes()), found(sent.size());
    for (std::size_t k = 0; k < sent.size(); ++k) sent[k] = static_cast<std::byte>(k * 7 + 1);
    const DeviceSession::Mapped written = session->map(i, true);
    ASSERT_NE(written.data, nullptr);
    auto from = sent.begin();
    for (const std::span<std::byte> row : rows_of(slot, written)) {
      std::copy_n(from, row.size(), row.begin());
      from += static_cast<std::ptrdiff_t>(row.size());
    }
    session->unmap(i, written);
    session->download(i, found.data());
    EXPECT_EQ(found, sent) << "slot " << i;
    const DeviceSession::Mapped read = session->map(i, false);
    // A part of a larger image has other texels between its rows.
    ASSERT_EQ(read.data != nullptr, i != slots[3]) << "slot " << i;
    if (read.data == nullptr) continue;
    found.clear();
    for (const std::span<std::byte> row : rows_of(slot, read)) {
      found.insert(found.end(), row.begin(), row.end());
    }
    session->unmap(i, read);
    EXPECT_EQ(found, sent) << "slot " << i;
  }
  device->never_map();
  EXPECT_EQ(hand.open(*device)->map(slots[0], true).data, nullptr);
}

TEST_F(OpenCl, AKernelRunsOverOddNumbersOfItems) {
  OpenClDevice& device = shared_device();
  for (const std::array<std::int64_t, 3> items :
       {std::array<std::int64_t, 3>{1, 1, 1}, {9, 3, 2}, {33, 5, 1}, {0, 4, 1}}) {
    const std::size_t n = idx(items[0] * items[1] * items[2]);
    Hand hand(device.facts());
    const int x = hand.buffer(static_cast<std::int64_t>(n)), y = hand.buffer(1000);
    hand.scale(x, y, items, {10, 20, 30, 40, 50}, 2);
    const auto session = hand.open(device);
    const std::vector<float> in = numbers(n), blank(1000, -1);
    session->upload(x, bytes(in));
    session->upload(y, bytes(blank));
    session->run(0);
    const std::vector<float> out = download(*session, y, blank.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i >= n) {
        EXPECT_EQ(out[i], -1) << i;
        continue;
      }
      const std::size_t row = i / idx(items[0]) % idx(items[1]);
      EXPECT_EQ(out[i], 2 * in[i] + 10 * static_cast<float>(row + 1)) << i;
    }
  }
}

TEST_F(OpenCl, PartsAndConstantsLieWhereThePlanSays) {
  OpenClDevice& device = shared_device();
  const auto step = static_cast<std::size_t>(device.facts().alignment);
  const auto elements = static_cast<std::int64_t>(step / sizeof(float));
  Hand hand(device.facts());
  hand.buffer(3);  // so that nothing lies at 0
  const int whole = hand.buffer(3 * elements);
  const int middle = hand.part(whole, elements, step), inner = hand.part(middle, elements, step);
  Tensor weights(DType::f32, Shape("a", {2 * elements}));
  const std::vector<float> w = numbers(idx(2 * elements));
  std::copy(w.begin(), w.end(), weights.as<float>().begin());
  const int constant = hand.constant(std::move(weights), Place::Memory::buffer);
  const int half = hand.part(constant, elements, step);
  hand.scale(hand.alias(hand.part(constant, elements, 0)), middle, {elements, 1, 1}, {100}, 1);
  hand.scale(half, inner, {elements, 1, 1}, {200}, 1);
  const auto session = hand.open(device);
  const std::vector<float> blank(idx(3 * elements), 0);
  session->upload(whole, bytes(blank));
  session->run(0);
  session->run(1);
  const std::vector<float> out = download(*session, whole, blank.size());
  for (std::int64_t i = 0; i < elements; ++i) {
    EXPECT_EQ(out[idx(i)], 0);
    EXPECT_EQ(out[idx(i + elements)], w[idx(i)] + 100);
    EXPECT_EQ(out[idx(i + 2 * elements)], w[idx(i + elements)] + 200);
  }
  EXPECT_EQ(download(*session, inner, idx(elements))[0], w[idx(elements)] + 200);
}

TEST_F(OpenCl, SlotsShareALargerImage) {
  OpenClDevice& device = shared_device();
  if (!device.facts().images) GTEST_SKIP() << "skipped: no images";
  Hand hand(device.facts());
  const Shape large("nchw", {1, 6, 4, 5}), small("nchw", {1, 3, 2, 3});
  Tensor weights(DType::f32, large, Layout::parse("image-channel"));
  const std::size_t cells = idx(weights.mapping().cells());
  for (std::size_t i = 0; i < cells; ++i) weights.as<float>()[i] = static_cast<float>(i);
  const int constant = hand.constant(std::move(weights), Place::Memory::image);
  const int a = hand.image(large), b = hand.image(small);
  const int c = hand.image(small);
  hand.plan().slots[idx(b)].image = hand.plan().slots[idx(a)].image;
  hand.copy(hand.alias(constant), a);
  hand.copy(b, hand.alias(hand.alias(c)));
  const auto session = hand.open(device);
  session->run(0);
  const std::vector<float> copied = download(*session, a, cells);
  for (std::size_t i = 0; i < cells; ++i) EXPECT_EQ(copied[i], static_cast<float>(i) + 1);
  const std::vector<float> few = numbers(2 * 3 * 4, 50);
  session->upload(b, bytes(few));
  session->run(1);
  EXPECT_EQ(download(*session, c, few.size()), numbers(few.size(), 51));
}

TEST_F(OpenCl, AnAbsentOperandIsSomethingThatHoldsNothing) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  const int y = hand.buffer(4);
  hand.scale(-1, y, {0, 1, 1}, {1}, 1);
  const auto session = hand.open(device);
  session->run(0);
  session->wait();
}

TEST_F(OpenCl, StepsAreMeasuredWhereThatIsAskedFor) {
  for (const bool profile : {false, true}) {
    const auto device = open_opencl_device(0, {.profile = profile});
    Hand hand(device->facts());
    const int x = hand.buffer(64), y = hand.buffer(64);
    hand.scale(x, y, {64, 1, 1}, {1}, 1);
    hand.scale(y, x, {64, 1, 1}, {1}, 1);
    const auto session = hand.open(*device);
    EXPECT_LT(session->step_us(0), 0);
    session->run(0);
    session->wait();
    EXPECT_EQ(session->step_us(0) >= 0, profile);
    EXPECT_LT(session->step_us(1), 0);
  }
}

TEST_F(OpenCl, AProgramThatIsNotBuiltSaysWhere) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  const int x = hand.buffer(4), y = hand.buffer(4);
  const int step = hand.scale(x, y, {4, 1, 1}, {1}, 1);
  hand.launch(step).text = "#line 1 \"scale.cl\"\n__kernel void scale() { no_such_name = 1; }\n";
  const Error e = error_of([&] { hand.open(device); });
  EXPECT_EQ(e.code(), ErrorCode::device);
  EXPECT_NE(e.sentence().find("'scale.cl'"), std::string::npos) << e.what();
  EXPECT_NE(e.sentence().find("no_such_name"), std::string::npos) << e.what();
  EXPECT_EQ(e.sentence().find('\n'), std::string::npos) << e.what();
  EXPECT_NE(e.trail().find("'step0' (scale)"), std::string::npos) << e.what();
}

TEST_F(OpenCl, ArgumentsThatDoNotMatchAreTold) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  const int x = hand.buffer(4), y = hand.buffer(4);
  hand.launch(hand.scale(x, y, {4, 1, 1}, {1}, 1)).launch.scalars.clear();
  const Error e = error_of([&] { hand.open(device); });
  EXPECT_EQ(e.code(), ErrorCode::device);
  EXPECT_NE(e.sentence().find("clSetKernelArg failed: CL_INVALID_ARG_SIZE (-51)"),
            std::string::npos)
      << e.what();
}

TEST_F(OpenCl, TooManyItemsAreALimit) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  const int x = hand.buffer(4), y = hand.buffer(4);
  hand.scale(x, y, {std::int64_t{1} << 31, 1, 1}, {1}, 1);
  EXPECT_EQ(error_of([&] { hand.open(device); }).code(), ErrorCode::limit);
}

TEST_F(OpenCl, APlanOfMoreThanADeviceAllocatesIsALimit) {
  OpenClDevice& device = shared_device();
  Hand hand(device.facts());
  hand.plan().buffers[0] = static_cast<std::size_t>(device.facts().allocation_bytes) + 1;
  const Error e = error_of([&] { hand.open(device); });
  EXPECT_EQ(e.code(), ErrorCode::limit);
  EXPECT_NE(e.sentence().find(text(hand.plan().buffers[0], " bytes")), std::string::npos);
}

/// Builds and runs one step; what the programs' counts are then.
Programs::Counts counts_after_a_run(const OpenClOptions& options, int sessions = 1) {
  const auto device = open_opencl_device(0, options);
  Hand hand(device->facts());
  const int x = hand.buffer(9), y = hand.buffer(9);
  hand.scale(x, y, {9, 1, 1}, {5}, 3);
  hand.scale(y, x, {9, 1, 1}, {5}, 3);  // the same text
  for (int i = 0; i < sessions; ++i) {
    const auto session = hand.open(*device);
    const std::vector<float> in = numbers(9);
    session->upload(x, bytes(in));
    session->run(0);
    EXPECT_EQ(download(*session, y, 9)[8], 3 * 9 + 5);
  }
  return device->programs().counts();
}

TEST_F(OpenCl, ProgramsAreKeptInAFolder) {
  const TestFolder folder;
  const OpenClOptions options{.cache = folder.path() + "/programs"};
  const auto expect = [&](int compiled, int read, const char* when) {
    const Programs::Counts counts = counts_after_a_run(options, 2);
    EXPECT_EQ(counts.compiled, compiled) << when;
    EXPECT_EQ(counts.read, read) << when;
  };
  expect(1, 0, "new");
  expect(0, 1, "kept");
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(options.cache)) {
    file = entry.path();
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  expect(1, 0, "damaged");
  expect(0, 1, "written anew");
  std::ofstream(file) << "something else";
  expect(1, 0, "foreign");
  expect(0, 1, "written anew");
}

TEST_F(OpenCl, ABinaryThatTheDriverRefusesIsBuiltAnew) {
  const TestFolder folder;
  const OpenClOptions options{.cache = folder.path()};
  EXPECT_EQ(counts_after_a_run(options).compiled, 1);
  // A whole file under the same key, whose content is no program.
  const auto device = open_opencl_device(0, {});
  const std::string key = text(device->facts().name, '\n', device->facts().driver,
                               "\n-cl-std=CL1.2 -cl-mad-enable\n", kScale);
  const ProgramCache cache(folder.path());
  ASSERT_FALSE(cache.read(key).empty());
  cache.write(key, std::as_bytes(std::span("no program", 10)));
  EXPECT_EQ(counts_after_a_run(options).compiled, 1);
  EXPECT_EQ(counts_after_a_run(options).read, 1);
}

TEST_F(OpenCl, SessionsShareADeviceOnSeveralThreads) {
  const auto device = open_opencl_device(0, {});
  Hand hand(device->facts());
  const int x = hand.buffer(100), y = hand.buffer(100);
  hand.scale(x, y, {100, 1, 1}, {0}, 2);
  hand.scale(y, x, {100, 1, 1}, {0}, 2);
  std::vector<std::thread> threads;
  for (const float first : {1.f, 1000.f}) {
    threads.emplace_back([&, first] {
      const auto session = hand.open(*device);
      for (int i = 0; i < 20; ++i) {
        const std::vector<float> in = numbers(100, first + static_cast<float>(i));
        session->upload(x, bytes(in));
        session->run(0);
        session->run(1);
        const std::vector<float> out = download(*session, x, 100);
        for (std::size_t k = 0; k < out.size(); ++k) EXPECT_EQ(out[k], 4 * in[k]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->programs().counts().compiled, 1);
}

}  // namespace
}  // namespace stowage
