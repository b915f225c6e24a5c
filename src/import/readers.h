// SPDX-License-Identifier: Apache-2.0
// The readers behind import_model, one a format.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "import/proto_file.h"
#include "stowage/model.h"

namespace stowage {

std::shared_ptr<Graph> import_onnx(const InputFile& file, const ImportOptions& options);
std::shared_ptr<Graph> import_tflite(const InputFile& file, const ImportOptions& options);

}  // namespace stowage
