// SPDX-License-Identifier: Apache-2.0
// An ncnn .param file, text or binary: layers and the blobs between them. Weights lie in another
// file, without names or sizes (ncnn_weights.h).
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "graph/attributes.h"
#include "import/untrusted.h"

namespace stowage {

struct NcnnLayer {
  std::string type, name;
  std::vector<std::string> inputs, outputs;  ///< blobs
  Attributes params;                         ///< as NcnnParams reads them
};

/// A model input: a blob of an Input, with its dims, outermost first, if the file says any.
struct NcnnPort {
  std::string name;
  Ints dims;
};

/// Throws Error(bad_input) for layers that are no part of a model: an Input that reads something,
/// a layer that makes nothing.
std::vector<NcnnPort> ncnn_inputs(const std::vector<NcnnLayer>& layers);
/// The blobs that no layer reads, in the order of the file. A Noop with more inputs than outputs is
/// how converters end a model with several outputs: what it takes counts as not read. Throws
/// Error(bad_input) without any.
std::vector<std::string> ncnn_outputs(const std::vector<NcnnLayer>& layers);

/// Whether the file starts as either kind does.
bool is_ncnn(const InputFile& file);

/// Every blob is the output of one layer that stands before all that read it. In a binary file
/// layers and blobs are called by their numbers. Throws Error(bad_input, unsupported, limit).
std::vector<NcnnLayer> read_ncnn_file(const InputFile& file, ImportBudget& budget);

}  // namespace stowage
