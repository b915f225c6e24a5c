// SPDX-License-Identifier: Apache-2.0
// The kernels of devices, src/kernels/**/*.cl, which the build puts into the library.
#pragma once

#include <string_view>

namespace stowage {

/// The text of STEM.cl; empty where there is none.
std::string_view cl_source(std::string_view stem);

}  // namespace stowage
