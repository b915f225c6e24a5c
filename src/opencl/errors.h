// SPDX-License-Identifier: Apache-2.0
// What OpenCL reports, as an Error.
#pragma once

#include <string>
#include <utility>

#include "opencl/cl.h"
#include "stowage/error.h"

namespace stowage {

/// "CL_OUT_OF_RESOURCES (-5)"
std::string cl_code_text(cl_int code);

/// Throws Error(limit) where memory is lacking or a buffer or image is too large, else
/// Error(device): "clFinish failed: CL_OUT_OF_RESOURCES (-5)". `limit`: what is thrown instead of
/// Error(limit).
[[noreturn]] void fail_cl(const char* function, cl_int code, ErrorCode limit = ErrorCode::limit);

/// Calls `f`, and what it throws becomes an Error.
template <class F>
decltype(auto) cl_call(F&& f, ErrorCode limit = ErrorCode::limit) {
  try {
    return std::forward<F>(f)();
  } catch (const cl::Error& e) {
    fail_cl(e.what(), e.err(), limit);
  }
}

/// Likewise in a run, where all is Error(device): a driver may allocate when memory is first used.
template <class F>
decltype(auto) cl_run(F&& f) {
  return cl_call(std::forward<F>(f), ErrorCode::device);
}

}  // namespace stowage
