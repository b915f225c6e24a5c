// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a Graph whose every value has a shape.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/trail.h"
#include "graph/op_def.h"
#include "import/onnx_file.h"
#include "import/onnx_tensor.h"
#include "import/proto_file.h"
#include "import/readers.h"
#include "stowage/model.h"

namespace stowage {

namespace {

/// How an operator is looked up and named: operators of other domains carry theirs.
std::string operator_name(const ForeignNode& node) {
  return node.domain.empty() ? node.type : node.domain + "." + node.type;
}

bool is_constant(const ForeignNode& node) { return node.domain.empty() && node.type == "Constant"; }

/// What the outputs of nodes have until their operator gives them a shape; one that keeps it is
/// an output that the operator does not have.
Shape unset_shape() { return Shape::parse("unset=0"); }

class Importer {
 public:
  Importer(const InputFile& file, const ImportOptions& options)
      : options_(options),
        file_(file),
        budget_(options.limits),
        onnx_(read_onnx_file(file, budget_)),
        graph_(std::make_shared<Graph>()) {}

  std::shared_ptr<Graph> run() {
    graph_->name = onnx_.graph_name;
    find_operators();
    add_initializers();
    add_inputs();
    for (const OnnxNode& node : onnx_.nodes) {
      if (is_constant(node.foreign)) add_constant_node(node);
    }
    for (const OnnxNode& node : onnx_.nodes) declare_outputs(node);
    for (OnnxNode& node : onnx_.nodes) add_node(node);
    add_outputs();
    infer_shapes(*graph_);
    check_outputs();
    check_sizes();
    return graph_;
  }

 private:
  void find_operators();
  void add_initializers();
  void add_inputs();
  std::vector<std::int64_t> input_extents(const OnnxPort& input) const;
  void bind_dims(const std::vector<const OnnxPort*>& inputs);
  void add_constant_node(const OnnxNode& node);
  Tensor constant_of(const OnnxNode& node);
  Tensor attribute_tensor(const FileRange& range);
  void declare_outputs(const OnnxNode& node);
  void add_node(OnnxNode& node);
  void add_outputs();
  void check_outputs();
  void check_sizes();

  void define(const std::string& name, ValueId id) {
    if (!values_.emplace(name, id).second) {
      fail(ErrorCode::bad_input, "the value '", name, "' is produced twice");
    }
  }

  const ImportOptions& options_;
  const InputFile& file_;
  ImportBudget budget_;
  OnnxFile onnx_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<std::string, ForeignMatch> operators_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, std::int64_t> dim_params_;
};

void Importer::find_operators() {
  std::set<std::string> missing;
  const OnnxNode* first = nullptr;
  for (const OnnxNode& node : onnx_.nodes) {
    if (is_constant(node.foreign)) continue;
    const std::string name = operator_name(node.foreign);
    const auto [it, added] = operators_.try_emplace(name);
    if (added) it->second = find_foreign_op("onnx", name);
    if (it->second.op != nullptr) continue;
    if (first == nullptr) first = &node;
    const std::string& domain = node.foreign.domain;
    missing.insert(domain.empty() ? name : text(node.foreign.type, " (domain '", domain, "')"));
  }
  if (missing.size() > 1) {
    std::string names;
    for (const std::string& m : missing) names.append(names.empty() ? "" : ", ").append(m);
    fail(ErrorCode::unsupported, "unsupported operators: ", names);
  }
  if (first != nullptr) {
    const Trail trail("node", first->foreign.name, first->foreign.type);
    fail(ErrorCode::unsupported, "unsupported operator ", *missing.begin());
  }
  for (const OnnxNode& node : onnx_.nodes) {
    const Trail trail("node", node.foreign.name, node.foreign.type);
    if (!node.unsupported.empty()) fail(ErrorCode::unsupported, node.unsupported);
    if (!onnx_.opsets.contains(node.foreign.domain)) {
      fail(ErrorCode::bad_input, "the model does not say its opset for domain '",
           node.foreign.domain, "'");
    }
  }
}

void Importer::add_initializers() {
  if (onnx_.sparse_initializers) {
    fail(ErrorCode::unsupported, "the model has sparse initializers");
  }
  // Weights that nobody reads would only cost memory.
  std::unordered_set<std::string_view> used;
  for (const OnnxNode& node : onnx_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
  used.insert(onnx_.outputs.begin(), onnx_.outputs.end());
  for (const FileRange& range : onnx_.initializers) {
    const OnnxTensor tensor(file_, range, options_.limits);
    if (tensor.name().empty()) fail(ErrorCode::bad_input, "an initializer has no name");
    const bool read = used.contains(tensor.name());
    define(
        tensor.name(),
        read ? graph_->add_constant(tensor.name(), tensor.read(file_, range, budget_)) : kNoValue);
  }
}

/// Dims of the same name are equal everywhere: those of the shapes that the caller gave, then
/// the batch.
void Importer::bind_dims(const std::vector<const OnnxPort*>& inputs) {
  for (const OnnxPort* input : inputs) {
    const auto given = options_.shapes.find(input->name);
    if (given == options_.shapes.end()) continue;
    const auto& extents = given->second;
    if (input->has_shape && extents.size() != input->dims.size()) {
      fail(ErrorCode::usage, "input '", input->name, "' has rank ", input->dims.size(),
           ", the shape given for it has rank ", extents.size());
    }
    for (std::int64_t e : extents) {
      if (e < 0) fail(ErrorCode::usage, "input '", input->name, "' cannot have the extent ", e);
    }
    for (std::size_t i = 0; i < input->dims.size(); ++i) {
      const OnnxDim& dim = input->dims[i];
      if (dim.value < 0 && !dim.param.empty()) dim_params_.emplace(dim.param, extents[i]);
    }
  }
  for (const OnnxPort* input : inputs) {
    if (input->dims.empty() || options_.shapes.contains(input->name)) continue;
    const OnnxDim& batch = input->dims[0];
    if (batch.value < 0 && !batch.param.empty()) dim_params_.emplace(batch.param, 1);
  }
}

std::vector<std::int64_t> Importer::input_extents(const OnnxPort& input) const {
  const auto given = options_.shapes.find(input.name);
  if (given != options_.shapes.end()) return given->second;
  if (!input.has_shape) {
    fail(ErrorCode::usage, "input '", input.name,
         "' has no shape in the file; give it, e.g. --shape ", input.name, "=1,3,224,224");
  }
  std::vector<std::int64_t> extents;
  const OnnxDim* open = nullptr;
  for (const OnnxDim& dim : input.dims) {
    const auto bound = dim_params_.find(dim.param);
    const bool batch = extents.empty();
    if (dim.value >= 0) {
      extents.push_back(dim.value);
    } else if (!dim.param.empty() && bound != dim_params_.end()) {
      extents.push_back(bound->second);
    } else {
      if (!batch && open == nullptr) open = &dim;
      extents.push_back(1);
    }
  }
  if (open == nullptr) return extents;
  // An example of the right rank, with the sizes that the file knows.
  std::string example;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const OnnxDim& dim = input.dims[i];
    const bool known = i == 0 || dim.value >= 0 || dim_params_.contains(dim.param);
    example += text(i == 0 ? "" : ",", known ? extents[i] : i == 1 ? 3 : 224);
  }
  const std::string which = open->param.empty()
                                ? text("a dim without a size (", open - input.dims.data(), ")")
                                : text("the symbolic dim '", open->param, "'");
  fail(ErrorCode::usage, "input '", input.name, "' has ", which, "; give its shape, e.g. --shape ",
       input.name, "=", example);
}

void Importer::add_inputs() {
  // In old files every initializer is listed as an input, too.
  std::vector<const OnnxPort*> inputs;
  std::vector<std::string> names;
  for (const OnnxPort& port : onnx_.inputs) {
    if (values_.contains(port.name)) continue;
    inputs.push_back(&port);
    names.push_back(port.name);
  }
  check_names(options_, names);
  bind_dims(inputs);
  for (const OnnxPort* input : inputs) {
    if (!input->is_tensor) {
      fail(ErrorCode::unsupported, "input '", input->name, "' is ", input->kind,
           "; only tensors are supported");
    }
    define(input->name,
           add_input(*graph_, input->name, onnx_dtype(input->elem_type, "input", input->name),
                     plain_shape(input_extents(*input)), options_));
  }
}

Tensor Importer::attribute_tensor(const FileRange& range) {
  return OnnxTensor(file_, range, options_.limits).read(file_, range, budget_);
}

/// A vector as a tensor of rank 1, or of rank 0 when `scalar`.
template <class T>
Tensor small_tensor(DType dtype, const std::vector<T>& from, bool scalar) {
  std::vector<std::int64_t> extents;
  if (!scalar) extents.push_back(static_cast<std::int64_t>(from.size()));
  Tensor out(dtype, plain_shape(extents));
  std::copy(from.begin(), from.end(), out.as<T>().begin());
  return out;
}

Tensor Importer::constant_of(const OnnxNode& node) {
  const Attributes& attrs = node.foreign.attrs;
  if (node.tensors.size() + attrs.map().size() != 1) {
    fail(ErrorCode::bad_input, "a constant must have exactly one value");
  }
  if (!node.tensors.empty()) return attribute_tensor(node.tensors[0].second);
  if (attrs.has("value_float"))
    return small_tensor(DType::f32, Floats{attrs.real("value_float", 0)}, true);
  if (attrs.has("value_floats"))
    return small_tensor(DType::f32, attrs.reals("value_floats"), false);
  if (attrs.has("value_int"))
    return small_tensor(DType::i64, Ints{attrs.integer("value_int", 0)}, true);
  if (attrs.has("value_ints")) return small_tensor(DType::i64, attrs.integers("value_ints"), false);
  fail(ErrorCode::unsupported, "a constant of '", attrs.map().begin()->first, "'");
}

/// Constants are values, not work.
void Importer::add_constant_node(const OnnxNode& node) {
  const Trail trail("node", node.foreign.name, node.foreign.type);
  if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty()) {
    fail(ErrorCode::bad_input, "a constant has no input and one output");
  }
  define(node.outputs[0], graph_->add_constant(node.outputs[0], constant_of(node)));
}

void Importer::declare_outputs(const OnnxNode& node) {
  if (is_constant(node.foreign)) return;
  const Trail trail("node", node.foreign.name, node.foreign.type);
  bool any = false;
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    any = true;
    Value value;
    value.name = name;
    value.shape = unset_shape();
    define(name, graph_->add_value(std::move(value)));
  }
  if (!any) fail(ErrorCode::bad_input, "the node has no output");
}

void Importer::add_node(OnnxNode& from) {
  if (is_constant(from.foreign)) return;
  const Trail trail("node", from.foreign.name, from.foreign.type);
  const ForeignMatch& match = operators_.at(operator_name(from.foreign));
  from.foreign.version = onnx_.opsets.at(from.foreign.domain);
  for (const auto& [name, range] : from.tensors) {
    from.foreign.attrs.set(name, std::make_shared<const Tensor>(attribute_tensor(range)));
  }
  if (match.name->import != nullptr) match.name->import(from.foreign);

  Node node;
  node.op = match.op;
  node.name = from.foreign.name;
  node.type = from.foreign.type;
  node.attrs = std::move(from.foreign.attrs);
  const auto id_of = [&](const std::string& name) {
    if (name.empty()) return kNoValue;
    const auto it = values_.find(name);
    if (it == values_.end()) {
      fail(ErrorCode::bad_input, "nothing produces its input '", name, "'");
    }
    return it->second;
  };
  for (const std::string& name : from.inputs) node.inputs.push_back(id_of(name));
  for (const std::string& name : from.outputs) node.outputs.push_back(id_of(name));
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  while (!node.outputs.empty() && node.outputs.back() == kNoValue) node.outputs.pop_back();
  graph_->add_node(std::move(node));
}

void Importer::add_outputs() {
  if (onnx_.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : onnx_.outputs) {
    const auto it = values_.find(name);
    if (it == values_.end()) fail(ErrorCode::bad_input, "nothing produces the output '", name, "'");
    if (!seen.insert(name).second) {
      fail(ErrorCode::bad_input, "the output '", name, "' is listed twice");
    }
    graph_->outputs.push_back(it->second);
  }
}

void Importer::check_outputs() {
  const Shape unset = unset_shape();
  for (ValueId v = 0; v < graph_->value_count(); ++v) {
    const Value& value = graph_->value(v);
    const bool has_shape = value.shape != unset;
    if (value.producer == kNoNode) {
      if (has_shape || value.constant == nullptr) continue;
      fail(ErrorCode::bad_input, "the operator of '", value.name, "' has no such output");
    }
    const Node& node = graph_->node(value.producer);
    const bool made = std::find(node.outputs.begin(), node.outputs.end(), v) != node.outputs.end();
    if (made && has_shape) continue;
    const Trail trail("node", node.name, node.type);
    fail(ErrorCode::bad_input, "its operator has no such output as '", value.name, "'");
  }
}

void Importer::check_sizes() {
  ImportBudget all(options_.limits);
  for (ValueId v = 0; v < graph_->value_count(); ++v) {
    const Value& value = graph_->value(v);
    all.take_value(value.name, checked_mul(value.shape.elements(), dtype_bytes(value.dtype)));
  }
}

}  // namespace

std::shared_ptr<Graph> import_onnx(const InputFile& file, const ImportOptions& options) {
  return Importer(file, options).run();
}

}  // namespace stowage
