// SPDX-License-Identifier: Apache-2.0
// Programs of one device, built once each: shared by its sessions, and kept in a folder.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "opencl/cache.h"
#include "opencl/cl.h"

namespace stowage {

class Programs {
 public:
  /// `cache`: a folder, or empty. Throws Error(bad_input) when it cannot be made.
  Programs(cl::Context context, cl::Device device, const std::string& identity,
           const std::string& cache);

  /// The program of this text, built. `source` names it in errors. Throws Error(device) with the
  /// first lines of the compiler's log, Error(limit).
  cl::Program get(const std::string& text, const std::string& source);

  /// What a program of this text is kept under: the device, its driver, the options and the text.
  std::string key(const std::string& text) const;

  /// How programs came about that nobody had built in this process.
  struct Counts {
    int compiled = 0;  ///< from their text
    int read = 0;      ///< from the folder
  };

  Counts counts() const;

 private:
  cl::Program compile(const std::string& text, const std::string& source) const;
  /// Null where the folder has none that the driver takes.
  cl::Program read(const std::string& key) const;

  cl::Context context_;
  cl::Device device_;
  std::string identity_;
  ProgramCache cache_;
  mutable std::mutex mutex_;
  std::map<std::string, cl::Program> programs_;
  Counts counts_;
};

}  // namespace stowage
