// SPDX-License-Identifier: Apache-2.0
#include "cli/io/model_inputs.h"

#include <set>

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "import/onnx_file.h"
#include "import/tflite_file.h"

namespace stowage::cli {
namespace {

std::vector<ModelInput> tflite_inputs(const TfliteFile& file) {
  std::vector<ModelInput> inputs;
  for (const int i : file.inputs) {
    const TfliteTensor& t = file.tensors[static_cast<std::size_t>(i)];
    inputs.push_back({t.name, true, t.signature});
  }
  return inputs;
}

}  // namespace

std::vector<ModelInput> model_inputs(const std::string& path) {
  const Trail trail("importing", path);
  for (const std::string_view other : {"param", "bin", "pb", "mnn", "pt", "pth"}) {
    if (extension_of(path) == other) {
      fail(ErrorCode::unsupported, "a '.", other,
           "' model is not read; export it as ONNX or TFLite");
    }
  }
  const Limits limits;
  const stowage::InputFile file(path, limits.file_bytes);
  ImportBudget budget(limits);
  if (is_tflite(file)) return tflite_inputs(TfliteFile(file, budget));
  const OnnxFile onnx = read_onnx_file(file, budget);
  // Old files list their weights as inputs, too.
  std::set<std::string> weights;
  for (const FileRange& range : onnx.initializers) {
    weights.insert(OnnxTensor(file, range, limits).name());
  }
  std::vector<ModelInput> inputs;
  for (const OnnxPort& port : onnx.inputs) {
    if (weights.contains(port.name)) continue;
    ModelInput input{port.name, port.has_shape, {}};
    for (const OnnxDim& dim : port.dims) input.extents.push_back(dim.value);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string out = "[";
  for (const std::int64_t extent : extents) {
    out += text(out.size() > 1 ? ", " : "", extent < 0 ? "?" : std::to_string(extent));
  }
  return out + "]";
}

}  // namespace stowage::cli
