// SPDX-License-Identifier: Apache-2.0
// Tables of models that must end in an Error, for the tests of bad models.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "stowage/error.h"
#include "stowage/model.h"
#include "tests/suite/onnx_builder.h"

namespace stowage {

struct BadModel {
  const char* name;
  std::function<std::string()> bytes;
  ErrorCode code;
  const char* words;  ///< what the message, trail included, must contain
  ImportOptions options = {};
};

/// The message of the Error that importing ends in, or "" when it succeeds.
inline std::string failure(const std::string& path, const ImportOptions& options, ErrorCode& code) {
  try {
    import_model(path, options);
  } catch (const Error& e) {
    code = e.code();
    return e.what();
  }
  return "";
}

inline void expect_failures(const std::vector<BadModel>& cases) {
  for (const BadModel& c : cases) {
    SCOPED_TRACE(c.name);
    const TempFile file(c.bytes());
    ErrorCode code = ErrorCode::internal;
    const std::string what = failure(file.path(), c.options, code);
    EXPECT_EQ(static_cast<int>(code), static_cast<int>(c.code)) << what;
    EXPECT_NE(what.find(c.words), std::string::npos)
        << "'" << what << "' lacks '" << c.words << "'";
    EXPECT_NE(what.find("importing '" + file.path() + "'"), std::string::npos) << what;
  }
}

}  // namespace stowage
