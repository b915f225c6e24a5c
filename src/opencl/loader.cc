// SPDX-License-Identifier: Apache-2.0
#include "opencl/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "base/text.h"
#include "opencl/cl.h"

namespace stowage {

void* cl_api::functions[cl_api::kFunctions] = {};

namespace {

std::string dl_reason() {
  const char* reason = dlerror();
  return reason == nullptr ? "no reason is given" : reason;
}

void* open_library(const std::string& path) {
  if (!path.empty()) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    fail(ErrorCode::device, "the OpenCL loader '", path, "' cannot be opened: ", dl_reason());
  }
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  fail(ErrorCode::device, "there is no OpenCL loader: libOpenCL.so.1 is not found");
}

}  // namespace

void load_opencl(const std::string& path) {
  static std::mutex mutex;
  static void* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr && path.empty()) return;
  void* library = open_library(path);
  if (loaded != nullptr) {
    // The same file has the same handle, which counts how often it was opened.
    dlclose(library);
    if (library == loaded) return;
    fail(ErrorCode::device, "this process has another OpenCL loader open than '", path, "'");
  }
  std::array<void*, cl_api::kFunctions> found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = dlsym(library, cl_api::kNames[i]);
    if (found[i] != nullptr) continue;
    dlclose(library);
    fail(ErrorCode::device, "the OpenCL loader '", path.empty() ? "libOpenCL" : path, "' has no ",
         cl_api::kNames[i]);
  }
  std::copy(found.begin(), found.end(), cl_api::functions);
  loaded = library;
}

}  // namespace stowage
