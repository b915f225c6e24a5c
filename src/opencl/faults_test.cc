// SPDX-License-Identifier: Apache-2.0
// Drivers that fail: functions of OpenCL replaced one by one by such that do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "opencl/cl.h"
#include "plan/test_net.h"
#include "stowage/error.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// As long as it lives, what the library calls is `f`.
template <cl_api::Function F, class Signature>
class Replaced {
 public:
  explicit Replaced(Signature* f) : real_(cl_api::functions[F]) {
    cl_api::functions[F] = reinterpret_cast<void*>(f);
  }

  ~Replaced() { cl_api::functions[F] = real_; }

  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

  Signature* real() const { return reinterpret_cast<Signature*>(real_); }

 private:
  void* real_;
};

/// Its weights are two images.
std::shared_ptr<const Plan> plan_for(const Device& device) {
  Net net;
  const ValueId x = net.conv(net.input({1, 5, 4, 3}), 5, 6);
  const auto graph = net.finish({net.conv(x, 6, 5)});
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;
  options.device = DeviceOptions{device.facts()};
  options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
  return make_plan(graph, options);
}

using NdRange = std::remove_reference_t<decltype(::clEnqueueNDRangeKernel)>;
using Finish = std::remove_reference_t<decltype(::clFinish)>;
using WriteImage = std::remove_reference_t<decltype(::clEnqueueWriteImage)>;

int finishes = 0, writes = 0;
Finish* real_finish = nullptr;
WriteImage* real_write = nullptr;

cl_int CL_API_CALL count_finish(cl_command_queue queue) {
  ++finishes;
  return real_finish(queue);
}

cl_int CL_API_CALL second_write_fails(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const std::size_t* origin, const std::size_t* region,
                                      std::size_t row, std::size_t slice, const void* from,
                                      cl_uint waits, const cl_event* list, cl_event* event) {
  if (++writes == 2) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return real_write(queue, image, blocking, origin, region, row, slice, from, waits, list, event);
}

class OpenClFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
    device_ = open_opencl();
  }

  std::shared_ptr<Device> device_;
};

/// A driver may allocate when memory is first used.
TEST_F(OpenClFaults, MemoryThatIsShortInARunIsAnErrorOfTheDevice) {
  const auto plan = plan_for(*device_);
  Session session(plan, device_);
  const Tensor x(DType::f32, session.inputs()[0].shape);
  session.set_input(0, x.view());
  {
    const Replaced<cl_api::k_clEnqueueNDRangeKernel, NdRange> launch(
        [](cl_command_queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*,
           const std::size_t*, cl_uint, const cl_event*,
           cl_event*) -> cl_int { return CL_MEM_OBJECT_ALLOCATION_FAILURE; });
    const Error e = error_of([&] { session.run(); });
    EXPECT_EQ(e.code(), ErrorCode::device) << e.what();
    EXPECT_EQ(e.sentence(), "clEnqueueNDRangeKernel failed: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
  }
  {
    const Replaced<cl_api::k_clFinish, Finish> finish(
        [](cl_command_queue) -> cl_int { return CL_OUT_OF_HOST_MEMORY; });
    EXPECT_EQ(error_of([&] { session.run(); }).code(), ErrorCode::device);
  }
  session.run();
}

TEST_F(OpenClFaults, ASessionThatIsNotOpenedHasNothingToReadLeft) {
  const auto plan = plan_for(*device_);
  finishes = writes = 0;
  const Replaced<cl_api::k_clFinish, Finish> finish(count_finish);
  real_finish = finish.real();
  const Replaced<cl_api::k_clEnqueueWriteImage, WriteImage> write(second_write_fails);
  real_write = write.real();
  error_of([&] { Session(plan, device_); });
  EXPECT_EQ(writes, 2);
  EXPECT_GE(finishes, 1);
}

/// Three platforms that nobody can use, before those that are there.
enum Fake : std::intptr_t { kOld = 16, kWithoutDevices = 32, kSilent = 48 };

using PlatformIds = std::remove_reference_t<decltype(::clGetPlatformIDs)>;
using PlatformInfo = std::remove_reference_t<decltype(::clGetPlatformInfo)>;
using DeviceIds = std::remove_reference_t<decltype(::clGetDeviceIDs)>;

PlatformIds* real_ids = nullptr;
PlatformInfo* real_info = nullptr;
DeviceIds* real_devices = nullptr;
bool fakes_alone = false;

cl_platform_id platform(Fake fake) { return reinterpret_cast<cl_platform_id>(fake); }

bool is(cl_platform_id id, Fake fake) { return id == platform(fake); }

cl_int CL_API_CALL platform_ids(cl_uint room, cl_platform_id* ids, cl_uint* count) {
  std::vector<cl_platform_id> all = {platform(kOld), platform(kWithoutDevices), platform(kSilent)};
  cl_uint real = 0;
  if (!fakes_alone && real_ids(0, nullptr, &real) == CL_SUCCESS) {
    all.resize(3 + real);
    real_ids(real, all.data() + 3, nullptr);
  }
  if (count != nullptr) *count = static_cast<cl_uint>(all.size());
  if (ids != nullptr) std::copy_n(all.begin(), room, ids);
  return CL_SUCCESS;
}

cl_int CL_API_CALL platform_info(cl_platform_id id, cl_platform_info what, std::size_t room,
                                 void* value, std::size_t* size) {
  if (!is(id, kOld) && !is(id, kWithoutDevices) && !is(id, kSilent)) {
    return real_info(id, what, room, value, size);
  }
  if (is(id, kSilent)) return CL_OUT_OF_RESOURCES;
  const char* answer = what != CL_PLATFORM_VERSION ? (is(id, kOld) ? "Old" : "Without devices")
                       : is(id, kOld)              ? "OpenCL 1.1 of somebody"
                                                   : "OpenCL 3.0";
  if (size != nullptr) *size = std::strlen(answer) + 1;
  if (value != nullptr) std::memcpy(value, answer, std::min(room, std::strlen(answer) + 1));
  return CL_SUCCESS;
}

cl_int CL_API_CALL device_ids(cl_platform_id id, cl_device_type type, cl_uint room,
                              cl_device_id* ids, cl_uint* count) {
  if (is(id, kOld) || is(id, kWithoutDevices) || is(id, kSilent)) return CL_INVALID_PLATFORM;
  return real_devices(id, type, room, ids, count);
}

TEST_F(OpenClFaults, PlatformsThatNobodyCanUseAreLeftOut) {
  const std::vector<DeviceFacts> without = opencl_devices();
  const Replaced<cl_api::k_clGetPlatformIDs, PlatformIds> ids(platform_ids);
  real_ids = ids.real();
  const Replaced<cl_api::k_clGetPlatformInfo, PlatformInfo> info(platform_info);
  real_info = info.real();
  const Replaced<cl_api::k_clGetDeviceIDs, DeviceIds> devices(device_ids);
  real_devices = devices.real();
  const std::string old =
      "the platform 'Old' is left out: it has 'OpenCL 1.1 of somebody', 1.2 is needed";
  fakes_alone = false;
  std::vector<std::string> skipped;
  const std::vector<DeviceFacts> found = opencl_devices({}, &skipped);
  ASSERT_EQ(found.size(), without.size());
  EXPECT_EQ(found[0].name, without[0].name);
  EXPECT_EQ(open_opencl()->facts().name, without[0].name);
  EXPECT_EQ(skipped,
            (std::vector<std::string>{
                old,
                "the platform 'Without devices' is left out: clGetDeviceIDs failed: "
                "CL_INVALID_PLATFORM (-32)",
                "the platform 2 is left out: clGetPlatformInfo failed: CL_OUT_OF_RESOURCES (-5)"}));
  fakes_alone = true;
  const Error e = error_of([] { opencl_devices(); });
  EXPECT_EQ(e.code(), ErrorCode::device);
  EXPECT_EQ(e.sentence().find("no OpenCL platform has a device: " + old), 0u) << e.sentence();
}

}  // namespace
}  // namespace stowage
