// SPDX-License-Identifier: Apache-2.0
#include "cli/io/model_doors.h"

#include <set>

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "import/onnx_file.h"
#include "import/tflite_file.h"

namespace stowage::cli {
namespace {

ModelDoors tflite_doors(const TfliteFile& file) {
  ModelDoors doors;
  doors.source = DataFormat::nhwc;
  const auto tensor = [&](int i) -> const TfliteTensor& {
    return file.tensors[static_cast<std::size_t>(i)];
  };
  for (const int i : file.inputs)
    doors.inputs.push_back({tensor(i).name, true, tensor(i).signature, doors.source});
  for (const int i : file.outputs) doors.outputs.push_back(tensor(i).name);
  return doors;
}

ModelDoors onnx_doors(const InputFile& file, const Limits& limits, ImportBudget& budget) {
  const OnnxFile onnx = read_onnx_file(file, budget);
  // Old files list their weights as inputs, too.
  std::set<std::string> weights;
  for (const FileRange& range : onnx.initializers) {
    weights.insert(OnnxTensor(file, range, limits).name());
  }
  ModelDoors doors;
  for (const OnnxPort& port : onnx.inputs) {
    if (weights.contains(port.name)) continue;
    ModelInput input{port.name, port.has_shape, {}, doors.source};
    for (const OnnxDim& dim : port.dims) input.extents.push_back(dim.value);
    doors.inputs.push_back(std::move(input));
  }
  doors.outputs = onnx.outputs;
  return doors;
}

}  // namespace

ModelDoors model_doors(const std::string& path) {
  const Trail trail("importing", path);
  for (const std::string_view other : {"param", "bin", "pb", "mnn", "pt", "pth"}) {
    if (extension_of(path) == other) {
      fail(ErrorCode::unsupported, "a '.", other,
           "' model is not read; export it as ONNX or TFLite");
    }
  }
  const Limits limits;
  const InputFile file = open_input(path, limits.file_bytes);
  ImportBudget budget(limits);
  return is_tflite(file) ? tflite_doors(TfliteFile(file, budget))
                         : onnx_doors(file, limits, budget);
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string out = "[";
  for (const std::int64_t extent : extents) {
    out += text(out.size() > 1 ? ", " : "", extent < 0 ? "?" : std::to_string(extent));
  }
  return out + "]";
}

}  // namespace stowage::cli
