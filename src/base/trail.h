// SPDX-License-Identifier: Apache-2.0
// What is being done, for the trail of an Error.
#pragma once

#include <string>
#include <string_view>

#include "stowage/error.h"

namespace stowage {

/// While it lives, every Error made on this thread carries `what 'name' (detail)`.
/// The strings must outlive it: `Trail t("node", node.name, node.op->name);`
class Trail {
 public:
  explicit Trail(std::string_view what, std::string_view name = {},
                 std::string_view detail = {}) noexcept;
  ~Trail();
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  /// "node 'prob' (Softmax) < importing 'm.onnx'"
  static std::string text();

 private:
  std::string_view what_, name_, detail_;
  const Trail* outer_;
};

}  // namespace stowage
