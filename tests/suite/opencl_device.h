// SPDX-License-Identifier: Apache-2.0
// Tests that need an OpenCL device:
//
//   if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "stowage/error.h"
#include "stowage/opencl.h"

namespace stowage {

/// Empty where there is a device. Where STOWAGE_TEST_OPENCL=require, as in ./dev test, it is a
/// failure that there is none.
inline std::string no_opencl() {
  try {
    opencl_devices();
    return {};
  } catch (const Error& e) {
    const char* wanted = std::getenv("STOWAGE_TEST_OPENCL");
    if (wanted != nullptr && std::string_view(wanted) == "require") ADD_FAILURE() << e.what();
    return "skipped: " + e.sentence();
  }
}

/// OpenClOptions::check_bounds of tests: under the address sanitizer, and where STOWAGE_TEST_BOUNDS
/// is set. Other builds test the programs that users run.
inline bool check_bounds() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return std::getenv("STOWAGE_TEST_BOUNDS") != nullptr;
#endif
}

/// What f throws.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing is thrown";
  return Error(ErrorCode::internal, "");
}

inline DeviceOptions::Memory memory_of(bool images) {
  return images ? DeviceOptions::Memory::image : DeviceOptions::Memory::buffer;
}

}  // namespace stowage
