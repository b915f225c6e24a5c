// SPDX-License-Identifier: Apache-2.0
// The one exception type of Stowage.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace stowage {

/// What kind of thing went wrong. The value is the exit code of the command line.
enum class ErrorCode : int {
  check_failed = 1,  ///< a comparison did not hold
  usage = 2,         ///< the caller asked for something that does not make sense
  bad_input = 3,     ///< a file or an input is missing, malformed or of the wrong shape
  unsupported = 4,   ///< valid, but Stowage cannot do it
  device = 5,        ///< a device or its driver failed
  limit = 6,         ///< a size limit or the memory is exceeded
  internal = 7,      ///< a bug in Stowage
};

/// One sentence, and the trail of what was being done: `axis 7 is out of range for rank 4
/// [node 'prob' (Softmax) < importing m.onnx]`. Kernels and conversions
/// never throw; what can fail fails before `Session::run`, which itself throws only what its
/// comment names.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string sentence);

  ErrorCode code() const noexcept { return code_; }

  const std::string& sentence() const noexcept { return sentence_; }

  /// "node 'prob' (Softmax) < importing m.onnx", innermost first; empty without context.
  const std::string& trail() const noexcept { return trail_; }

  /// Sentence and trail in one line.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorCode code_;
  std::string sentence_, trail_, what_;
};

}  // namespace stowage
