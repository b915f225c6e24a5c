// SPDX-License-Identifier: Apache-2.0
// Calls the command line in the process of the test.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/io/image.h"
#include "cli/io/npy.h"
#include "cli/test_files.h"
#include "test_paths.h"

namespace stowage::cli {

/// The elements of a .npy file of f32.
inline std::vector<float> floats(const std::string& path) {
  const Tensor tensor = read_npy(path);
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

struct Outcome {
  int code = 0;
  std::string out, err;
};

inline Outcome stowage(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_cli(arguments, {out, err});
  return {code, out.str(), err.str()};
}

inline std::string write_floats(const TestFolder& folder, std::string_view name,
                                const std::vector<std::int64_t>& shape,
                                const std::vector<float>& values) {
  OutputFile file(folder.path(name));
  write_npy(file, DType::f32, shape, std::as_bytes(std::span(values)));
  file.commit();
  return file.path();
}

inline std::string data_path(std::string_view name) {
  const std::string root = STOWAGE_TEST_DATA;
  return root.empty() ? "" : root + "/" + std::string(name);
}

}  // namespace stowage::cli
