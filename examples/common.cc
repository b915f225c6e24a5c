// SPDX-License-Identifier: Apache-2.0
#include "common.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>
#include <utility>

using stowage::Error;
using stowage::ErrorCode;

namespace {

/// "NAME=1,3,224,224"
std::pair<std::string, std::vector<std::int64_t>> shape_of(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  std::istringstream list(equals == std::string::npos ? "" : word.substr(equals + 1));
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = 0; list >> extent;) {
    extents.push_back(extent);
    if (list.peek() == ',') list.get();
  }
  if (extents.empty() || !list.eof()) {
    throw Error(ErrorCode::usage, "--shape " + word + " is no NAME=1,3,224,224");
  }
  return {word.substr(0, equals), extents};
}

}  // namespace

Arguments::Arguments(int argc, char** argv, std::size_t file_count,
                     const std::vector<std::string>& known) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      files.push_back(word);
      continue;
    }
    const bool exists = std::find(known.begin(), known.end(), word.substr(2)) != known.end();
    if (!exists || i + 1 == argc) {
      throw Error(ErrorCode::usage, word + (exists ? " needs a value" : " is unknown"));
    }
    if (word == "--shape") {
      shapes.insert(shape_of(argv[++i]));
    } else {
      options[word.substr(2)] = argv[++i];
    }
  }
  if (files.size() != file_count) {
    throw Error(ErrorCode::usage, std::to_string(file_count) + " files are needed");
  }
}

std::vector<float> Arguments::numbers(const std::string& name, const std::string& without,
                                      std::size_t count) const {
  const auto given = options.find(name);
  const std::string& list = given == options.end() ? without : given->second;
  std::vector<float> out;
  for (const char* at = list.c_str(); *at != '\0';) {
    char* end = nullptr;
    out.push_back(std::strtof(at, &end));
    if (end == at || !(std::fabs(out.back()) < 1e6f)) break;
    at = *end == ',' ? end + 1 : end;
    if (*end == '\0' && out.size() >= count) return out;
  }
  throw Error(ErrorCode::usage, "--" + name + " " + list + " is no list of numbers");
}

int run_program(const char* name, const std::function<void()>& program) {
  try {
    program();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", name);
    return static_cast<int>(ErrorCode::limit);
  }
}
