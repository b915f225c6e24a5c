// SPDX-License-Identifier: Apache-2.0
// Where the models of the test data are.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <string>

#include "test_paths.h"

namespace stowage {

/// The folder of "models/..." or "zoo/...", or nothing where there is no test data.
inline std::filesystem::path model_folder(const std::string& line) {
  namespace fs = std::filesystem;
  const std::string data = STOWAGE_TEST_DATA;
  const fs::path folder = line.starts_with("zoo/") ? fs::path(STOWAGE_SOURCE_DIR) / "build" / line
                                                   : fs::path(data) / line;
  return !data.empty() && fs::exists(folder / "model.onnx") ? folder : fs::path();
}

inline std::string base_name(const std::string& line) { return line.substr(line.rfind('/') + 1); }

/// The model's name as a test's.
inline std::string model_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string out = base_name(info.param);
  for (char& c : out) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

}  // namespace stowage
