// SPDX-License-Identifier: Apache-2.0
// The parts of the extension stowage._native; each adds its classes and functions to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace stowage::python {

/// Makes stowage::Error an exception of stowage._errors.
void bind_errors(nanobind::module_& m);
/// Model, Plan, Named.
void bind_model(nanobind::module_& m);
/// Layout, Mapping.
void bind_layout(nanobind::module_& m);
/// convert, pack.
void bind_convert(nanobind::module_& m);

}  // namespace stowage::python
