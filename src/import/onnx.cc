// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a Graph whose every value has a shape.
#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/trail.h"
#include "import/builder.h"
#include "import/onnx_file.h"
#include "import/onnx_tensor.h"
#include "import/proto_file.h"
#include "import/readers.h"
#include "stowage/model.h"

namespace stowage {

namespace {

using Values = std::unordered_map<std::string, ValueId>;
using Names = std::unordered_set<std::string_view>;

/// One node of the file while it becomes nodes of the graph.
class Operator final : public BuilderNode {
 public:
  Operator(Builder& builder, Values& values, const Names& read, OnnxNode& node, std::int64_t opset)
      : BuilderNode(builder, "onnx"), values_(values), read_(read), node_(node) {
    domain = node.domain;
    type = node.type;
    name = node.name;
    version = opset;
    attrs = std::move(node.attrs);
  }

  int input_count() const override { return static_cast<int>(node_.inputs.size()); }

  int output_count() const override { return static_cast<int>(node_.outputs.size()); }

  bool has(int i) const override {
    return i >= 0 && i < input_count() && !node_.inputs[static_cast<std::size_t>(i)].empty();
  }

  bool is_read(int i) const override {
    if (i >= output_count()) return false;
    const std::string& output = node_.outputs[static_cast<std::size_t>(i)];
    return !output.empty() && read_.contains(output);
  }

  ValueId in(int i) override {
    if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
    const std::string& input = node_.inputs[static_cast<std::size_t>(i)];
    const auto it = values_.find(input);
    if (it == values_.end()) {
      fail(ErrorCode::bad_input, "nothing produces its input '", input, "'");
    }
    return it->second;
  }

 private:
  void define(int i, ValueId v) override {
    const std::string& output = node_.outputs[static_cast<std::size_t>(i)];
    if (output.empty()) return;
    if (builder().takes_name(v)) builder().rename(v, output);
    values_[output] = v;
  }

  /// The node keeps the names of the file.
  NodeId as_is(const OpDef& op) override {
    Node node;
    node.op = &op;
    node.name = name;
    node.type = type;
    node.attrs = std::move(attrs);
    node.inputs = node_inputs();
    const auto names = std::span(node_.outputs).first(static_cast<std::size_t>(node_outputs()));
    const NodeId id = builder().add_node(std::move(node), names);
    const auto& outputs = builder().graph().node(id).outputs;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) values_[names[i]] = outputs[i];
    }
    return id;
  }

  Values& values_;
  const Names& read_;
  const OnnxNode& node_;
};

class Importer {
 public:
  Importer(const InputFile& file, const ImportOptions& options)
      : options_(options),
        file_(file),
        budget_(options.limits),
        onnx_(read_onnx_file(file, budget_)),
        builder_(onnx_.graph_name, DataFormat::nchw, budget_) {}

  std::shared_ptr<Graph> run() {
    find_operators();
    for (const OnnxNode& node : onnx_.nodes) read_.insert(node.inputs.begin(), node.inputs.end());
    for (const OnnxPort& output : onnx_.outputs) read_.insert(output.name);
    add_initializers();
    add_inputs();
    for (const OnnxNode& node : onnx_.nodes) {
      if (is_constant(node)) add_constant_node(node);
    }
    declare_outputs();
    for (OnnxNode* node : producers_first()) add_node(*node);
    add_outputs();
    return builder_.take();
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
  void declare_outputs();
  std::vector<OnnxNode*> producers_first();
  void add_node(OnnxNode& node);
  void add_outputs();

  /// Every name is produced once; values that the builder makes up have others.
  void declare(const std::string& name) {
    if (!builder_.reserve(name)) {
      fail(ErrorCode::bad_input, "the value '", name, "' is produced twice");
    }
  }

  void define(const std::string& name, ValueId id) {
    declare(name);
    values_.emplace(name, id);
  }

  const ImportOptions& options_;
  const InputFile& file_;
  ImportBudget budget_;
  OnnxFile onnx_;
  Builder builder_;
  Values values_;
  Names read_;                                              // by a node, or an output of the model
  std::unordered_map<std::string, std::size_t> producers_;  // index of the node
  std::unordered_map<std::string, std::int64_t> dim_params_;
};

void Importer::find_operators() {
  std::set<std::string> missing;
  const OnnxNode* first = nullptr;
  for (const OnnxNode& node : onnx_.nodes) {
    if (is_constant(node)) continue;
    const std::string name = operator_name(node);
    if (find_foreign_op("onnx", name).op != nullptr) continue;
    if (first == nullptr) first = &node;
    const std::string& domain = node.domain;
    missing.insert(domain.empty() ? name : text(node.type, " (domain '", domain, "')"));
  }
  if (missing.size() > 1) {
    std::string names;
    for (const std::string& m : missing) names.append(names.empty() ? "" : ", ").append(m);
    fail(ErrorCode::unsupported, "unsupported operators: ", names);
  }
  if (first != nullptr) {
    const Trail trail("node", first->name, first->type);
    fail(ErrorCode::unsupported, "unsupported operator ", *missing.begin());
  }
  for (const OnnxNode& node : onnx_.nodes) {
    const Trail trail("node", node.name, node.type);
    if (!node.unsupported.empty()) fail(ErrorCode::unsupported, node.unsupported);
    if (!onnx_.opsets.contains(node.domain)) {
      fail(ErrorCode::bad_input, "the model does not say its opset for domain '", node.domain, "'");
    }
  }
}

void Importer::add_initializers() {
  if (onnx_.sparse_initializers) {
    fail(ErrorCode::unsupported, "the model has sparse initializers");
  }
  for (const FileRange& range : onnx_.initializers) {
    const OnnxTensor tensor(file_, range, options_.limits);
    if (tensor.name().empty()) fail(ErrorCode::bad_input, "an initializer has no name");
    // Weights that nobody reads would only cost memory.
    const bool read = read_.contains(tensor.name());
    define(
        tensor.name(),
        read ? builder_.add_constant(tensor.name(), tensor.read(file_, range, budget_)) : kNoValue);
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
           builder_.add_input(input->name, onnx_dtype(input->elem_type, "input", input->name),
                              input_extents(*input), options_));
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
  const Attributes& attrs = node.attrs;
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
  const Trail trail("node", node.name, node.type);
  if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty()) {
    fail(ErrorCode::bad_input, "a constant has no input and one output");
  }
  define(node.outputs[0], builder_.add_constant(node.outputs[0], constant_of(node)));
}

void Importer::declare_outputs() {
  for (std::size_t i = 0; i < onnx_.nodes.size(); ++i) {
    const OnnxNode& node = onnx_.nodes[i];
    if (is_constant(node)) continue;
    const Trail trail("node", node.name, node.type);
    bool any = false;
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      any = true;
      declare(name);
      producers_.emplace(name, i);
    }
    if (!any) fail(ErrorCode::bad_input, "the node has no output");
  }
}

/// The nodes that are not constants, each behind those whose outputs it reads, ties in file order.
/// The standard asks files to be sorted; some are not.
std::vector<OnnxNode*> Importer::producers_first() {
  std::vector<OnnxNode>& nodes = onnx_.nodes;
  std::vector<int> missing(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].inputs) {
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) continue;
      readers[producer->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<OnnxNode*> order;
  std::size_t sorted = 0;
  for (; !ready.empty(); ++sorted) {
    const std::size_t i = ready.top();
    ready.pop();
    if (!is_constant(nodes[i])) order.push_back(&nodes[i]);
    for (std::size_t reader : readers[i]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (sorted == nodes.size()) return order;
  const auto stuck = std::ranges::find_if(missing, [](int m) { return m > 0; });
  fail(ErrorCode::bad_input, "the graph has a cycle through node '",
       nodes[static_cast<std::size_t>(stuck - missing.begin())].name, "'");
}

void Importer::add_node(OnnxNode& from) {
  {
    const Trail trail("node", from.name, from.type);
    for (const auto& [name, range] : from.tensors) {
      from.attrs.set(name, std::make_shared<const Tensor>(attribute_tensor(range)));
    }
  }
  Operator node(builder_, values_, read_, from, onnx_.opsets.at(from.domain));
  node.import(find_foreign_op("onnx", operator_name(from)));
}

void Importer::add_outputs() {
  if (onnx_.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
  std::unordered_set<std::string_view> seen;
  for (const OnnxPort& output : onnx_.outputs) {
    const std::string& name = output.name;
    const auto it = values_.find(name);
    if (it == values_.end()) fail(ErrorCode::bad_input, "nothing produces the output '", name, "'");
    if (!seen.insert(name).second) {
      fail(ErrorCode::bad_input, "the output '", name, "' is listed twice");
    }
    ValueId v = it->second;
    if (builder_.value(v).name != name) {  // a rule made it another value of the file
      v = builder_.emit("identity", name, {v}, 1, {})[0];
      builder_.graph().value(v).name = name;
    }
    builder_.graph().outputs.push_back(v);
  }
}

}  // namespace

std::shared_ptr<Graph> import_onnx(const InputFile& file, const ImportOptions& options) {
  return Importer(file, options).run();
}

}  // namespace stowage
