// SPDX-License-Identifier: Apache-2.0
// Finds libOpenCL when it is first needed.
#pragma once

#include <string>

namespace stowage {

/// Opens the loader at `path`, or libOpenCL.so.1 or libOpenCL.so where `path` is empty, and
/// resolves what `cl.h` forwards to. A process has one loader: what was found stays open, and later
/// calls find it again. Throws Error(device): there is none, it lacks a function, or another one is
/// open.
void load_opencl(const std::string& path);

}  // namespace stowage
