// SPDX-License-Identifier: Apache-2.0
// A model from its file to its outputs, for tests.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "stowage/model.h"

namespace stowage {

using Tensors = std::map<std::string, Tensor>;

/// Import, plan and a session.
inline Session session_of(const std::string& path, const ImportOptions& options = {},
                          bool simplified = true) {
  PlanOptions plan_options;
  plan_options.simplify = simplified;
  return Session(make_plan(import_model(path, options), plan_options));
}

/// Uniform in [-1, 1), or indices below 100.
inline Tensor random_input(const Port& port, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  Tensor t(port.dtype, port.shape);
  if (port.dtype == DType::f32) {
    for (float& x : t.as<float>()) x = real(random);
  } else if (port.dtype == DType::i32) {
    for (std::int32_t& x : t.as<std::int32_t>()) x = static_cast<std::int32_t>(random() % 100);
  }
  return t;
}

/// Inputs by position; outputs in the order of the model.
inline std::vector<Tensor> run_session(Session& session, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    session.set_input(static_cast<int>(i), inputs[i].view());
  }
  session.run();
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < session.outputs().size(); ++i) {
    out.push_back(session.output(static_cast<int>(i)));
  }
  return out;
}

}  // namespace stowage
