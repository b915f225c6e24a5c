// SPDX-License-Identifier: Apache-2.0
// The command line of the examples: words, and errors as sentences and exit codes.
#pragma once

#include <stowage/stowage.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// "MODEL PICTURE --labels FILE": files in their order, values of options by name.
struct Arguments {
  /// `known`: names of options. Throws stowage::Error for another one, or for another number of
  /// files.
  Arguments(int argc, char** argv, std::size_t file_count, const std::vector<std::string>& known);

  /// The numbers "1,2,3" of an option, `count` of them or more. Throws stowage::Error.
  std::vector<float> numbers(const std::string& name, const std::string& without,
                             std::size_t count = 1) const;

  std::vector<std::string> files;
  std::map<std::string, std::string> options;
  /// Of every --shape NAME=1,3,224,224.
  std::map<std::string, std::vector<std::int64_t>> shapes;
};

/// Runs what is after `main`; errors become a sentence and the exit code that they name.
int run_program(const char* name, const std::function<void()>& program);
