// SPDX-License-Identifier: Apache-2.0
#include "c/parts.h"

#include <charconv>
#include <system_error>

#include "base/text.h"
#include "stowage/stowage_c.h"
#ifdef STOWAGE_C_HAS_OPENCL
#include "stowage/opencl.h"
#endif

namespace stowage::c {
namespace {

/// "opencl" or "opencl:N".
int device_number(const std::string& name) {
  const std::string prefix = "opencl";
  int number = 0;
  bool right = name.starts_with(prefix);
  if (right && name.size() > prefix.size()) {
    const char* begin = name.data() + prefix.size() + 1;
    const char* end = name.data() + name.size();
    const auto [at, error] = std::from_chars(begin, end, number);
    right = name[prefix.size()] == ':' && error == std::errc() && at == end && number >= 0;
  }
  if (!right) {
    fail(ErrorCode::usage, "there is no device '", name, "'; it is cpu, opencl or opencl:N");
  }
  return number;
}

}  // namespace

std::shared_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return nullptr;
  [[maybe_unused]] const int number = device_number(name);
#ifdef STOWAGE_C_HAS_OPENCL
  return open_opencl(number);
#else
  fail(ErrorCode::unsupported, "this build of the library has no OpenCL");
#endif
}

}  // namespace stowage::c

extern "C" int stowage_has_part(int32_t part) {
  switch (part) {
#ifdef STOWAGE_C_HAS_ONNX
    case STOWAGE_PART_ONNX:
      return 1;
#endif
#ifdef STOWAGE_C_HAS_TFLITE
    case STOWAGE_PART_TFLITE:
      return 1;
#endif
#ifdef STOWAGE_C_HAS_NCNN
    case STOWAGE_PART_NCNN:
      return 1;
#endif
#ifdef STOWAGE_C_HAS_OPENCL
    case STOWAGE_PART_OPENCL:
      return 1;
#endif
    default:
      return 0;
  }
}
