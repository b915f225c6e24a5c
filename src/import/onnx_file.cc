// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_file.h"

#include <bit>
#include <memory>

#include "base/trail.h"
#include "import/onnx_proto.h"

namespace stowage {

namespace {

/// Bytes that a text in a list takes besides its characters.
constexpr std::int64_t kTextBytes = sizeof(std::string);

/// How deep branches may be within branches. Exporters of PyTorch write four.
constexpr int kMostDepth = 16;

class Reader {
 public:
  Reader(const InputFile& file, ImportBudget& budget) : file_(file), budget_(budget) {}

  OnnxFile read() {
    const FileRange graph = read_header();
    out_.graph = read_graph(graph);
    return std::move(out_);
  }

 private:
  std::string name_of(ProtoReader& in) {
    budget_.take_entry();
    std::string name = in.text(budget_.limits().name_bytes);
    check_name(name);
    return name;
  }

  static std::string domain_of(std::string name) { return name == "ai.onnx" ? "" : name; }

  FileRange read_header() {
    using Proto = onnx::ModelProto;
    FileRange graph;
    int graphs = 0;
    for (ProtoReader in(file_, all_of(file_)); in.next();) {
      switch (in.field()) {
        case Proto::kIrVersionFieldNumber:
          out_.ir_version = in.varint();
          break;
        case Proto::kGraphFieldNumber:
          graph = in.bytes();
          ++graphs;
          break;
        case Proto::kOpsetImportFieldNumber:
          read_opset(in.bytes());
          break;
        default:
          break;  // functions: a node that calls one is an unsupported operator
      }
    }
    if (graphs != 1) {
      fail(ErrorCode::bad_input, "not an ONNX model: it has ", graphs == 0 ? "no" : "more than one",
           " graph");
    }
    if (out_.ir_version <= 0) fail(ErrorCode::bad_input, "the model does not say its IR version");
    // Before version 3 there was but one opset.
    if (out_.opsets.empty() && out_.ir_version < 3) out_.opsets[""] = 1;
    if (out_.opsets.empty()) fail(ErrorCode::bad_input, "the model does not say its opset");
    return graph;
  }

  void read_opset(const FileRange& message) {
    using Proto = onnx::OperatorSetIdProto;
    std::string domain;
    std::int64_t version = 0;
    for (ProtoReader in(file_, message); in.next();) {
      if (in.field() == Proto::kDomainFieldNumber) domain = domain_of(name_of(in));
      if (in.field() == Proto::kVersionFieldNumber) version = in.varint();
    }
    if (version < 1) {
      fail(ErrorCode::bad_input, "opset ", version, " of domain '", domain, "' does not exist");
    }
    budget_.take_entry();
    out_.opsets[domain] = version;
  }

  OnnxGraph read_graph(const FileRange& message) {
    using Proto = onnx::GraphProto;
    OnnxGraph out;
    for (ProtoReader in(file_, message); in.next();) {
      switch (in.field()) {
        case Proto::kNameFieldNumber:
          out.name = name_of(in);
          break;
        case Proto::kNodeFieldNumber:
          budget_.take_node();
          out.nodes.push_back(read_node(in.bytes()));
          break;
        case Proto::kInitializerFieldNumber:
          budget_.take_entry();
          out.initializers.push_back(in.bytes());
          break;
        case Proto::kSparseInitializerFieldNumber:
          out.sparse_initializers = true;
          break;
        case Proto::kInputFieldNumber:
          budget_.take_entry();
          out.inputs.push_back(read_port(in.bytes()));
          break;
        case Proto::kOutputFieldNumber:
          budget_.take_entry();
          out.outputs.push_back(read_port(in.bytes()));
          break;
        default:
          break;
      }
    }
    return out;
  }

  OnnxNode read_node(const FileRange& message) {
    using Proto = onnx::NodeProto;
    OnnxNode node;
    std::vector<FileRange> attributes;
    for (ProtoReader in(file_, message); in.next();) {
      switch (in.field()) {
        case Proto::kInputFieldNumber:
          node.inputs.push_back(name_of(in));
          break;
        case Proto::kOutputFieldNumber:
          node.outputs.push_back(name_of(in));
          break;
        case Proto::kNameFieldNumber:
          node.name = name_of(in);
          break;
        case Proto::kOpTypeFieldNumber:
          node.type = name_of(in);
          break;
        case Proto::kDomainFieldNumber:
          node.domain = domain_of(name_of(in));
          break;
        case Proto::kAttributeFieldNumber:
          budget_.take_entry();
          attributes.push_back(in.bytes());
          break;
        default:
          break;
      }
    }
    // Nodes need no name; the first output has one and says as much.
    if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0];
    const Trail trail("node", node.name, node.type);
    if (node.type.empty()) fail(ErrorCode::bad_input, "a node has no operator");
    for (const FileRange& a : attributes) read_attribute(a, node);
    return node;
  }

  void read_attribute(const FileRange& message, OnnxNode& node);

  void read_branch(const FileRange& message, const std::string& attribute, OnnxNode& node) {
    if (depth_ == kMostDepth) {
      fail(ErrorCode::limit, "graphs are within each other more than ", kMostDepth, " deep");
    }
    ++depth_;
    OnnxGraph branch = read_graph(message);
    --depth_;
    branch.attribute = attribute;
    node.branches.push_back(std::move(branch));
  }

  OnnxPort read_port(const FileRange& message) {
    using Proto = onnx::ValueInfoProto;
    OnnxPort port;
    FileRange type;
    for (ProtoReader in(file_, message); in.next();) {
      if (in.field() == Proto::kNameFieldNumber) port.name = name_of(in);
      if (in.field() == Proto::kTypeFieldNumber) type = in.bytes();
    }
    if (port.name.empty()) fail(ErrorCode::bad_input, "an input or output has no name");
    if (type.size > 0) read_type(type, port);
    return port;
  }

  void read_type(const FileRange& message, OnnxPort& port) {
    using Proto = onnx::TypeProto;
    for (ProtoReader in(file_, message); in.next();) {
      switch (in.field()) {
        case Proto::kTensorTypeFieldNumber:
          port.is_tensor = true;
          read_tensor_type(in.bytes(), port);
          break;
        case Proto::kSequenceTypeFieldNumber:
          port.kind = "a sequence";
          break;
        case Proto::kMapTypeFieldNumber:
          port.kind = "a map";
          break;
        case Proto::kOptionalTypeFieldNumber:
          port.kind = "an optional value";
          break;
        case Proto::kSparseTensorTypeFieldNumber:
          port.kind = "a sparse tensor";
          break;
        default:
          break;
      }
    }
  }

  void read_tensor_type(const FileRange& message, OnnxPort& port) {
    using Proto = onnx::TypeProto_Tensor;
    for (ProtoReader in(file_, message); in.next();) {
      if (in.field() == Proto::kElemTypeFieldNumber) port.elem_type = in.varint();
      if (in.field() != Proto::kShapeFieldNumber) continue;
      port.has_shape = true;
      for (ProtoReader shape(file_, in.bytes()); shape.next();) {
        if (shape.field() != onnx::TensorShapeProto::kDimFieldNumber) continue;
        if (port.dims.size() >= kMaxRank) {
          fail(ErrorCode::limit, "'", port.name, "' has more than ", kMaxRank, " dims, the limit");
        }
        port.dims.push_back(read_dim(shape.bytes()));
      }
    }
  }

  OnnxDim read_dim(const FileRange& message) {
    using Proto = onnx::TensorShapeProto_Dimension;
    OnnxDim dim;
    for (ProtoReader in(file_, message); in.next();) {
      if (in.field() == Proto::kDimValueFieldNumber) dim.value = in.varint();
      if (in.field() == Proto::kDimParamFieldNumber) dim.param = name_of(in);
    }
    return dim;
  }

  const InputFile& file_;
  ImportBudget& budget_;
  OnnxFile out_;
  int depth_ = 0;  // of branches
};

/// The values that an AttributeProto holds; `kinds` says which fields occurred.
struct AttributeFields {
  std::string name, s;
  std::int64_t type = 0, i = 0;
  float f = 0;
  FileRange t, g;
  Ints ints;
  Floats floats;
  std::vector<std::string> strings;
  int kind = 0;  ///< the type that the fields show, 0 when none occurred, -1 when several

  void saw(int type_shown) { kind = kind == 0 || kind == type_shown ? type_shown : -1; }
};

AttributeFields read_fields(const InputFile& file, const FileRange& message, ImportBudget& budget) {
  using Proto = onnx::AttributeProto;
  const std::int64_t most_text = budget.limits().tensor_bytes;
  AttributeFields a;
  for (ProtoReader in(file, message); in.next();) {
    switch (in.field()) {
      case Proto::kNameFieldNumber:
        a.name = in.text(budget.limits().name_bytes);
        break;
      case Proto::kTypeFieldNumber:
        a.type = in.varint();
        break;
      case Proto::kFFieldNumber:
        a.f = std::bit_cast<float>(in.fixed32());
        a.saw(Proto::FLOAT);
        break;
      case Proto::kIFieldNumber:
        a.i = in.varint();
        a.saw(Proto::INT);
        break;
      case Proto::kSFieldNumber:
        a.s = in.text(most_text);
        budget.take_bytes(static_cast<std::int64_t>(a.s.size()));
        a.saw(Proto::STRING);
        break;
      case Proto::kTFieldNumber:
        a.t = in.bytes();
        a.saw(Proto::TENSOR);
        break;
      case Proto::kFloatsFieldNumber:
        in.each_fixed32([&](std::uint32_t v) {
          budget.take_bytes(sizeof(float));
          a.floats.push_back(std::bit_cast<float>(v));
        });
        a.saw(Proto::FLOATS);
        break;
      case Proto::kIntsFieldNumber:
        in.each_varint([&](std::int64_t v) {
          budget.take_bytes(sizeof(std::int64_t));
          a.ints.push_back(v);
        });
        a.saw(Proto::INTS);
        break;
      case Proto::kStringsFieldNumber:
        a.strings.push_back(in.text(most_text));
        budget.take_bytes(static_cast<std::int64_t>(a.strings.back().size()) + kTextBytes);
        a.saw(Proto::STRINGS);
        break;
      case Proto::kGFieldNumber:
        a.g = in.bytes();
        a.saw(Proto::GRAPH);
        break;
      case Proto::kGraphsFieldNumber:
        a.saw(Proto::GRAPHS);
        break;
      case Proto::kTensorsFieldNumber:
        a.saw(Proto::TENSORS);
        break;
      case Proto::kTpFieldNumber:
        a.saw(Proto::TYPE_PROTO);
        break;
      case Proto::kTypeProtosFieldNumber:
        a.saw(Proto::TYPE_PROTOS);
        break;
      case Proto::kSparseTensorFieldNumber:
        a.saw(Proto::SPARSE_TENSOR);
        break;
      case Proto::kSparseTensorsFieldNumber:
        a.saw(Proto::SPARSE_TENSORS);
        break;
      case Proto::kRefAttrNameFieldNumber:
        fail(ErrorCode::bad_input, "attribute '", a.name, "' refers to one of a function");
      default:
        break;
    }
  }
  return a;
}

void Reader::read_attribute(const FileRange& message, OnnxNode& node) {
  using Proto = onnx::AttributeProto;
  AttributeFields a = read_fields(file_, message, budget_);
  check_name(a.name);
  if (a.name.empty()) fail(ErrorCode::bad_input, "an attribute has no name");
  for (const auto& [name, range] : node.tensors) {
    if (name == a.name) fail(ErrorCode::bad_input, "attribute '", a.name, "' occurs twice");
  }
  for (const OnnxGraph& branch : node.branches) {
    if (branch.attribute == a.name)
      fail(ErrorCode::bad_input, "attribute '", a.name, "' occurs twice");
  }
  Attributes& attrs = node.attrs;
  if (attrs.has(a.name)) fail(ErrorCode::bad_input, "attribute '", a.name, "' occurs twice");
  // Old files do not say the type; a field that holds its default may be missing.
  const std::int64_t type = a.type != 0 ? a.type : a.kind;
  if (type <= 0 || a.kind < 0 || (a.kind != 0 && a.kind != type)) {
    fail(ErrorCode::bad_input, "attribute '", a.name, "' does not hold the type that it declares");
  }
  switch (type) {
    case Proto::FLOAT:
      attrs.set(a.name, a.f);
      break;
    case Proto::INT:
      attrs.set(a.name, a.i);
      break;
    case Proto::STRING:
      attrs.set(a.name, std::move(a.s));
      break;
    case Proto::FLOATS:
      attrs.set(a.name, std::move(a.floats));
      break;
    case Proto::INTS:
      attrs.set(a.name, std::move(a.ints));
      break;
    case Proto::STRINGS:
      attrs.set(a.name, std::move(a.strings));
      break;
    case Proto::TENSOR:
      node.tensors.emplace_back(a.name, a.t);
      break;
    case Proto::GRAPH:
      if (is_if(node)) return read_branch(a.g, a.name, node);
      [[fallthrough]];
    case Proto::GRAPHS:
      node.unsupported = text("attribute '", a.name, "' is a graph");
      break;
    default:
      node.unsupported = text("attribute '", a.name, "' is of a type that is not supported");
  }
}

}  // namespace

std::string operator_name(const OnnxNode& node) {
  return node.domain.empty() ? node.type : node.domain + "." + node.type;
}

bool is_constant(const OnnxNode& node) { return node.domain.empty() && node.type == "Constant"; }

bool is_if(const OnnxNode& node) { return node.domain.empty() && node.type == "If"; }

OnnxFile read_onnx_file(const InputFile& file, ImportBudget& budget) {
  return Reader(file, budget).read();
}

}  // namespace stowage
