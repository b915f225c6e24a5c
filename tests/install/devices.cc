// SPDX-License-Identifier: Apache-2.0
// What an application does with OpenCL: it starts and runs where there is none.
#include <stowage/error.h>
#include <stowage/opencl.h>

#include <iostream>

int main() {
  try {
    for (const stowage::DeviceFacts& facts : stowage::opencl_devices()) {
      std::cout << facts.name << ", " << facts.driver << "\n";
    }
  } catch (const stowage::Error& e) {
    if (e.code() != stowage::ErrorCode::device) throw;
    std::cout << "no OpenCL: " << e.what() << "\n";
  }
}
