// SPDX-License-Identifier: Apache-2.0
#include "opencl/loader.h"

#include <gtest/gtest.h>

#include <string>

#include "opencl/errors.h"
#include "stowage/error.h"
#include "test_paths.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

template <class F>
std::string device_error(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::device) << e.what();
    return e.sentence();
  }
  ADD_FAILURE() << "nothing is thrown";
  return {};
}

TEST(OpenClLoader, AFileThatIsNotThereIsNamed) {
  const std::string path = "/nonexistent/libOpenCL.so";
  EXPECT_NE(device_error([&] { load_opencl(path); }).find("'" + path + "' cannot be opened"),
            std::string::npos);
  EXPECT_NE(device_error([&] { opencl_devices({.loader = path}); }).find(path), std::string::npos);
  EXPECT_NE(device_error([&] { open_opencl(0, {.loader = path}); }).find(path), std::string::npos);
}

TEST(OpenClLoader, AFileThatIsNoLibraryIsNamed) {
  const std::string path = STOWAGE_SOURCE_DIR "/CMakeLists.txt";
  EXPECT_NE(device_error([&] { load_opencl(path); }).find("'" + path + "' cannot be opened"),
            std::string::npos);
}

TEST(OpenClLoader, ALibraryWithoutOpenClIsRefused) {
  const std::string path = "libm.so.6";
  EXPECT_NE(device_error([&] { load_opencl(path); }).find("'" + path + "'"), std::string::npos);
}

TEST(OpenClLoader, WhatFailedDoesNotSpoilWhatFollows) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  device_error([] { load_opencl("/nonexistent/libOpenCL.so"); });
  EXPECT_FALSE(opencl_devices().empty());
  load_opencl("libOpenCL.so.1");  // the one that is open, by its name
  // There is one loader in a process.
  EXPECT_NE(device_error([] { load_opencl("libm.so.6"); }).find("another OpenCL loader"),
            std::string::npos);
  EXPECT_FALSE(opencl_devices().empty());
}

TEST(OpenClErrors, HaveTheFunctionAndTheNameOfTheCode) {
  EXPECT_EQ(cl_code_text(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(cl_code_text(-9999), "error -9999");
  EXPECT_EQ(device_error([] { fail_cl("clFinish", CL_OUT_OF_RESOURCES); }),
            "clFinish failed: CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(device_error([] { fail_cl("stowage_clFinish", CL_INVALID_VALUE); }),
            "clFinish failed: CL_INVALID_VALUE (-30)");
  for (const cl_int code : {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY,
                            CL_INVALID_BUFFER_SIZE, CL_INVALID_IMAGE_SIZE}) {
    try {
      fail_cl("clCreateBuffer", code);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::limit);
    }
  }
}

}  // namespace
}  // namespace stowage
