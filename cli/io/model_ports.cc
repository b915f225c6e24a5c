// SPDX-License-Identifier: Apache-2.0
#include "cli/io/model_ports.h"

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "stowage/inspect.h"

namespace stowage::cli {

ModelPorts model_ports(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension == "bin" && !is_param_file(path)) {
    const Trail trail("importing", path);
    fail(ErrorCode::unsupported,
         "a '.bin' holds the weights of an ncnn model; give the .param beside it");
  }
  if (extension == "yml" || extension == "yaml") {
    fail(ErrorCode::usage, "'", path, "' is no model; a deployment file is given by --deploy");
  }
  for (const std::string_view other :
       {"pb", "mnn", "pt", "pth", "caffemodel", "prototxt", "mlmodel", "engine", "pdmodel"}) {
    if (extension == other) {
      const Trail trail("importing", path);
      fail(ErrorCode::unsupported, "a '.", other,
           "' model is not read; export it as ONNX, TFLite or ncnn");
    }
  }
  const ModelInfo info = inspect_model(path);
  ModelPorts ports;
  ports.source = info.source_format;
  for (const ModelInfo::Operand& operand : info.inputs) {
    ModelInput input{operand.name, operand.has_shape, {}, info.source_format};
    for (const ModelDim& dim : operand.dims) input.extents.push_back(dim.extent);
    input.hint = info.format == "ncnn";
    ports.inputs.push_back(std::move(input));
  }
  for (const ModelInfo::Operand& operand : info.outputs) ports.outputs.push_back(operand.name);
  return ports;
}

bool is_param_file(std::string_view path) {
  return path.ends_with(".param") || path.ends_with(".param.bin");
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string out = "[";
  for (const std::int64_t extent : extents) {
    out += text(out.size() > 1 ? ", " : "", extent < 0 ? "?" : std::to_string(extent));
  }
  return out + "]";
}

}  // namespace stowage::cli
