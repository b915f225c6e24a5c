// SPDX-License-Identifier: Apache-2.0
// What a model file holds: the files of import_model, read without making a Graph.
#include "stowage/inspect.h"

#include <algorithm>
#include <new>
#include <set>

#include "base/checked.h"
#include "base/trail.h"
#include "graph/op_def.h"
#include "import/foreign_file.h"
#include "import/ncnn_file.h"
#include "import/ncnn_weights.h"
#include "import/onnx_file.h"
#include "import/onnx_proto.h"
#include "import/proto_file.h"
#include "import/readers.h"
#include "import/tflite_file.h"

namespace stowage {

namespace {

/// Operators of a file, each counted once a node, in the order of their names.
class Operators {
 public:
  /// `unsupported`: what is wrong with this node, if anything is.
  void add(std::string_view format, const std::string& name, const std::string& unsupported) {
    add(name, find_foreign_op(format, name).op != nullptr, unsupported);
  }

  void add(const std::string& name, bool known, const std::string& unsupported) {
    ModelInfo::Operator& op = by_name_[name];
    ++op.count;
    if (op.unsupported.empty()) op.unsupported = known ? unsupported : "no operator of that name";
  }

  std::vector<ModelInfo::Operator> take() {
    std::vector<ModelInfo::Operator> out;
    for (auto& [name, op] : by_name_) {
      op.name = name;
      out.push_back(std::move(op));
    }
    return out;
  }

 private:
  std::map<std::string, ModelInfo::Operator> by_name_;
};

/// Nothing where `dtype` throws Error(unsupported).
template <class F>
std::optional<DType> supported(F&& dtype) {
  try {
    return dtype();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}

/// Bits of an element; 0 for strings and for what is unknown.
int bits_of(std::int64_t type) {
  using Proto = onnx::TensorProto;
  // Of later versions of ONNX than the one that this was built with.
  constexpr std::int64_t kFloat8[] = {17, 18, 19, 20, 24}, kFour[] = {21, 22, 23};
  if (std::ranges::find(kFloat8, type) != std::end(kFloat8)) return 8;
  if (std::ranges::find(kFour, type) != std::end(kFour)) return 4;
  if (type == Proto::COMPLEX64) return 64;
  if (type == Proto::COMPLEX128) return 128;
  if (type == Proto::STRING) return 0;
  const auto dtype = supported([&] { return onnx_dtype(type, "tensor", ""); });
  return dtype.has_value() ? 8 * dtype_bytes(*dtype) : 0;
}

void add_parameters(ModelInfo& info, std::span<const std::int64_t> dims, int bits) {
  std::int64_t elements = 1;
  for (const std::int64_t d : dims) {
    if (d < 0) fail(ErrorCode::bad_input, "it has the negative dim ", d);
    elements = checked_mul(elements, d);
  }
  info.parameters = checked_add(info.parameters, elements);
  info.parameter_bytes =
      checked_add(info.parameter_bytes, checked_add(checked_mul(elements, bits), 7) / 8);
}

/// Counts a TensorProto; returns its name.
std::string add_tensor(ModelInfo& info, const InputFile& file, const FileRange& message,
                       const Limits& limits) {
  using Proto = onnx::TensorProto;
  std::string name;
  Ints dims;
  std::int64_t type = Proto::UNDEFINED;
  for (ProtoReader in(file, message); in.next();) {
    switch (in.field()) {
      case Proto::kNameFieldNumber:
        name = in.text(limits.name_bytes);
        check_name(name);
        break;
      case Proto::kDataTypeFieldNumber:
        type = in.varint();
        break;
      case Proto::kDimsFieldNumber:
        in.each_varint([&](std::int64_t d) {
          if (dims.size() > kMaxRank) {
            fail(ErrorCode::limit, "a tensor has more than ", kMaxRank, " dims");
          }
          dims.push_back(d);
        });
        break;
      default:
        break;
    }
  }
  const Trail trail("tensor", name);
  add_parameters(info, dims, bits_of(type));
  return name;
}

ModelInfo::Operand operand_of(const OnnxPort& port) {
  ModelInfo::Operand out;
  out.name = port.name;
  if (port.is_tensor) {
    out.dtype = supported([&] { return onnx_dtype(port.elem_type, "tensor", port.name); });
  }
  out.has_shape = port.has_shape;
  for (const OnnxDim& dim : port.dims) out.dims.push_back({dim.value, dim.param});
  return out;
}

/// Counts the nodes and the values of constants, those of branches too.
void add_nodes(ModelInfo& info, Operators& operators, const OnnxGraph& graph, const InputFile& file,
               const Limits& limits) {
  for (const OnnxNode& node : graph.nodes) {
    const Trail trail("node", node.name, node.type);
    if (is_constant(node)) {
      for (const auto& [name, range] : node.tensors) add_tensor(info, file, range, limits);
    } else if (is_if(node)) {
      operators.add(node.type, true, node.unsupported);
    } else {
      operators.add("onnx", operator_name(node), node.unsupported);
    }
    for (const OnnxGraph& branch : node.branches) {
      add_nodes(info, operators, branch, file, limits);
      for (const FileRange& range : branch.initializers) add_tensor(info, file, range, limits);
    }
  }
}

ModelInfo inspect_onnx(const InputFile& file, const Limits& limits) {
  ImportBudget budget(limits);
  const OnnxFile onnx = read_onnx_file(file, budget);
  ModelInfo info;
  info.format = "ONNX";
  info.version = onnx.ir_version;
  for (const auto& [domain, version] : onnx.opsets) {
    info.opsets[domain.empty() ? "ai.onnx" : domain] = version;
  }
  info.name = onnx.graph.name;
  Operators operators;
  add_nodes(info, operators, onnx.graph, file, limits);
  info.operators = operators.take();
  // Old files list their weights as inputs, too.
  std::set<std::string> weights;
  for (const FileRange& range : onnx.graph.initializers) {
    weights.insert(add_tensor(info, file, range, limits));
  }
  for (const OnnxPort& port : onnx.graph.inputs) {
    if (!weights.contains(port.name)) info.inputs.push_back(operand_of(port));
  }
  for (const OnnxPort& port : onnx.graph.outputs) info.outputs.push_back(operand_of(port));
  return info;
}

ModelInfo inspect_tflite(const InputFile& from, const Limits& limits) {
  ImportBudget budget(limits);
  const TfliteFile file(from, budget);
  ModelInfo info;
  info.format = "TFLite";
  info.version = 3;  // TfliteFile reads no other
  info.name = file.name;
  info.source_format = DataFormat::nhwc;
  const auto operand = [&](int i) {
    const TfliteTensor& tensor = file.tensors[static_cast<std::size_t>(i)];
    ModelInfo::Operand out;
    out.name = tensor.name;
    out.dtype = supported([&] { return tflite_dtype(tensor); });
    out.has_shape = true;
    for (const std::int64_t extent : tensor.signature) out.dims.push_back({extent, ""});
    return out;
  };
  for (const int i : file.inputs) info.inputs.push_back(operand(i));
  for (const int i : file.outputs) info.outputs.push_back(operand(i));
  Operators operators;
  for (const TfliteOperator& op : file.operators) operators.add("tflite", op.lookup_name(), "");
  info.operators = operators.take();
  for (const TfliteTensor& tensor : file.tensors) {
    if (!tensor.constant) continue;
    const Trail trail("tensor", tensor.name);
    add_parameters(info, tensor.shape, 0);
    info.parameter_bytes =
        checked_add(info.parameter_bytes, static_cast<std::int64_t>(tensor.data.size()));
  }
  return info;
}

ModelInfo inspect_ncnn(const InputFile& file, const Limits& limits) {
  ImportBudget budget(limits);
  const std::vector<NcnnLayer> layers = read_ncnn_file(file, budget);
  ModelInfo info;
  info.format = "ncnn";
  Operators operators;
  for (const NcnnLayer& layer : layers) {
    const Trail trail("node", layer.name, layer.type);
    if (layer.type != "Input") operators.add("ncnn", layer.type, ncnn_unsupported(layer));
    // Of how many bits they are only the file of weights says; here all are f32.
    for (const NcnnWeight& w : ncnn_weights(layer)) add_parameters(info, w.extents, 32);
  }
  info.operators = operators.take();
  for (const NcnnPort& port : ncnn_inputs(layers)) {
    ModelInfo::Operand operand{port.name, DType::f32, !port.dims.empty(), {}};
    for (const std::int64_t e : port.dims) operand.dims.push_back({e, ""});
    info.inputs.push_back(std::move(operand));
  }
  for (const std::string& name : ncnn_outputs(layers)) {
    info.outputs.push_back({name, DType::f32, false, {}});
  }
  return info;
}

}  // namespace

ModelInfo inspect_model(const std::string& path, const Limits& limits) {
  const Trail trail("importing", path);
  try {
    const InputFile file = open_input(path, limits.file_bytes);
    if (is_ncnn(file)) return inspect_ncnn(file, limits);
    if (is_tflite(file)) return inspect_tflite(file, limits);
    refuse_foreign(file);
    return inspect_onnx(file, limits);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "the model does not fit into memory");
  }
}

}  // namespace stowage
