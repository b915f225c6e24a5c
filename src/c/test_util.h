// SPDX-License-Identifier: Apache-2.0
// Handles that end with their scope, for tests of the C interface.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "stowage/stowage_c.h"
#include "test_paths.h"

namespace stowage::test {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};

using MappingHandle = std::unique_ptr<stowage_mapping, Destroy<stowage_mapping_destroy>>;
using ModelHandle = std::unique_ptr<stowage_model, Destroy<stowage_model_destroy>>;
using OptionsHandle = std::unique_ptr<stowage_options, Destroy<stowage_options_destroy>>;
using PlanHandle = std::unique_ptr<stowage_plan, Destroy<stowage_plan_destroy>>;
using SessionHandle = std::unique_ptr<stowage_session, Destroy<stowage_session_destroy>>;

/// Null where it fails.
inline MappingHandle map_of(const char* layout, const char* shape, std::size_t element_bytes = 4,
                            std::int64_t row_pitch = 0) {
  stowage_mapping* out = nullptr;
  stowage_mapping_create(layout, shape, element_bytes, row_pitch, &out);
  return MappingHandle(out);
}

/// A text of the library, which is given back.
inline std::string taken(char* text) {
  const std::string out = text == nullptr ? "" : text;
  stowage_free_text(text);
  return out;
}

inline const std::string kModels = std::string(STOWAGE_SOURCE_DIR) + "/models/";

inline ModelHandle open(const std::string& name) {
  stowage_model* out = nullptr;
  EXPECT_EQ(stowage_model_open((kModels + name).c_str(), nullptr, &out), STOWAGE_OK)
      << stowage_last_error();
  return ModelHandle(out);
}

inline OptionsHandle make_options() {
  stowage_options* out = nullptr;
  EXPECT_EQ(stowage_options_create(&out), STOWAGE_OK);
  return OptionsHandle(out);
}

inline PlanHandle plan_of(const ModelHandle& model, const OptionsHandle& options = nullptr) {
  stowage_plan* out = nullptr;
  EXPECT_EQ(stowage_plan_create(model.get(), options.get(), &out), STOWAGE_OK)
      << stowage_last_error();
  return PlanHandle(out);
}

inline SessionHandle session_of(const PlanHandle& plan) {
  stowage_session* out = nullptr;
  EXPECT_EQ(stowage_session_create(plan.get(), &out), STOWAGE_OK) << stowage_last_error();
  return SessionHandle(out);
}

}  // namespace stowage::test
