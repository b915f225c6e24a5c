// SPDX-License-Identifier: Apache-2.0
// Plans as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "loaded_model.h"

namespace stowage::python {

/// A plan with what it was made of.
struct PlanView {
  std::shared_ptr<LoadedModel> model;
  std::vector<GivenShape> given;
  std::shared_ptr<const Plan> plan;
};

/// numpy's name of it.
std::string numpy_name(DType dtype);

void bind_plan(nanobind::module_& m);

}  // namespace stowage::python
