// SPDX-License-Identifier: Apache-2.0
// What OpenCL reports, as an Error.
#pragma once

#include <string>
#include <utility>

#include "opencl/cl.h"

namespace stowage {

/// "CL_OUT_OF_RESOURCES (-5)"
std::string cl_code_text(cl_int code);

/// Throws Error(limit) where memory is lacking or a buffer or image is too large, else
/// Error(device): "clFinish failed: CL_OUT_OF_RESOURCES (-5)".
[[noreturn]] void fail_cl(const char* function, cl_int code);

/// Calls `f`, and what it throws becomes an Error.
template <class F>
decltype(auto) cl_call(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const cl::Error& e) {
    fail_cl(e.what(), e.err());
  }
}

}  // namespace stowage
