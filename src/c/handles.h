// SPDX-License-Identifier: Apache-2.0
// What the handles of models, options and plans hold.
#pragma once

#include <memory>
#include <vector>

#include "stowage/model.h"
#include "stowage/plan.h"
#include "stowage/stowage_c.h"

struct stowage_model {
  std::shared_ptr<const stowage::Model> model;
};

struct stowage_options {
  stowage::SpecialiseOptions model;
  stowage::PlanOptions plan;
  std::shared_ptr<stowage::Device> device;
};

struct stowage_plan {
  std::shared_ptr<const stowage::Plan> plan;
  std::shared_ptr<stowage::Device> device;
  std::vector<stowage::PlanReport::Step> steps;
};
