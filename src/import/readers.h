// SPDX-License-Identifier: Apache-2.0
// The readers behind open_model, one a format.
#pragma once

#include <memory>
#include <span>

#include "graph/graph.h"
#include "import/untrusted.h"
#include "stowage/model.h"

namespace stowage {

std::shared_ptr<Model> open_onnx(const InputFile& file, const Limits& limits);
std::shared_ptr<Model> open_tflite(const InputFile& file, const Limits& limits);
/// With the weights that the options name, or that lie beside the file.
std::shared_ptr<Model> open_ncnn(const InputFile& file, const OpenOptions& options);
std::shared_ptr<Model> open_ncnn(const InputFile& file, const InputFile& weights,
                                 const Limits& limits);

/// Throws Error(usage) when a shape or a known value is for none of these inputs.
void check_names(const SpecialiseOptions& options, std::span<const ModelInput> inputs);

}  // namespace stowage
