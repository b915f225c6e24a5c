// SPDX-License-Identifier: Apache-2.0
// The readers behind import_model, one a format.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "graph/graph.h"
#include "import/proto_file.h"
#include "stowage/model.h"

namespace stowage {

std::shared_ptr<Graph> import_onnx(const InputFile& file, const ImportOptions& options);
std::shared_ptr<Graph> import_tflite(const InputFile& file, const ImportOptions& options);

/// Throws Error(usage) when a shape or a known value is for none of these inputs.
void check_names(const ImportOptions& options, std::span<const std::string> inputs);

}  // namespace stowage
