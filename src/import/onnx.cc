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
  Operator(Builder& builder, Values& values, const Names& read, const OnnxNode& node,
           std::int64_t opset)
      : BuilderNode(builder, "onnx"), values_(values), read_(read), node_(node) {
    domain = node.domain;
    type = node.type;
    name = node.name;
    version = opset;
    attrs = node.attrs;
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

/// A value that the file brings: an initializer, or the output of a Constant.
struct Given {
  std::string name;
  std::shared_ptr<const Tensor> tensor;  ///< null where nobody reads it
};

/// An ONNX file, decoded: nothing of it lies on disk any longer.
class OnnxModel final : public Model {
 public:
  OnnxModel(const InputFile& file, const Limits& limits)
      : budget_(limits), onnx_(read_onnx_file(file, budget_)) {
    name_ = onnx_.graph_name;
    find_operators();
    for (const OnnxNode& node : onnx_.nodes) read_.insert(node.inputs.begin(), node.inputs.end());
    for (const OnnxPort& output : onnx_.outputs) read_.insert(output.name);
    read_constants(file);
    find_inputs();
    find_outputs();
    expect_names_once();
    producers_first();
  }

 private:
  friend class Specialiser;

  std::shared_ptr<Graph> graph(const SpecialiseOptions& options) const override;

  void find_operators() const;
  void read_constants(const InputFile& file);
  std::shared_ptr<const Tensor> constant_of(const InputFile& file, const OnnxNode& node);
  Tensor attribute_tensor(const InputFile& file, const FileRange& range);
  void find_inputs();
  void find_outputs();
  void expect_names_once() const;
  void producers_first();

  ImportBudget budget_;  // what the file has taken
  OnnxFile onnx_;
  Names read_;  // by a node, or an output of the model
  std::vector<Given> given_;
  std::size_t initializers_ = 0;    // the first of those
  std::vector<std::size_t> order_;  // nodes that are not constants, producers first
};

/// The graph of an OnnxModel for one set of shapes.
class Specialiser {
 public:
  Specialiser(const OnnxModel& model, const SpecialiseOptions& options)
      : options_(options),
        model_(model),
        budget_(model.budget_),
        builder_(model.onnx_.graph_name, DataFormat::nchw, budget_) {}

  std::shared_ptr<Graph> run() {
    for (const Given& given : model_.given_) {
      define(given.name,
             given.tensor == nullptr ? kNoValue : builder_.add_constant(given.name, given.tensor));
    }
    check_names(options_, model_.inputs());
    bind_dims();
    for (const ModelInput& input : model_.inputs()) {
      define(input.name,
             builder_.add_input(input.name, input.dtype, input_extents(input), options_));
    }
    reserve_outputs();
    for (const std::size_t i : model_.order_) {
      const OnnxNode& from = model_.onnx_.nodes[i];
      Operator node(builder_, values_, model_.read_, from, model_.onnx_.opsets.at(from.domain));
      node.import(find_foreign_op("onnx", operator_name(from)));
    }
    add_outputs();
    return builder_.take();
  }

 private:
  std::vector<std::int64_t> input_extents(const ModelInput& input) const;
  void bind_dims();
  void reserve_outputs();
  void add_outputs();

  /// Values that the builder makes up have other names.
  void define(const std::string& name, ValueId id) {
    builder_.reserve(name);
    values_.emplace(name, id);
  }

  const SpecialiseOptions& options_;
  const OnnxModel& model_;
  ImportBudget budget_;
  Builder builder_;
  Values values_;
  std::unordered_map<std::string, std::int64_t> symbols_;
};

void OnnxModel::find_operators() const {
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

void OnnxModel::read_constants(const InputFile& file) {
  if (onnx_.sparse_initializers) {
    fail(ErrorCode::unsupported, "the model has sparse initializers");
  }
  for (const FileRange& range : onnx_.initializers) {
    const OnnxTensor tensor(file, range, budget_.limits());
    if (tensor.name().empty()) fail(ErrorCode::bad_input, "an initializer has no name");
    // Weights that nobody reads would only cost memory.
    const bool read = read_.contains(tensor.name());
    given_.push_back({tensor.name(), nullptr});
    if (!read) continue;
    given_.back().tensor = std::make_shared<const Tensor>(tensor.read(file, range, budget_));
  }
  initializers_ = given_.size();
  for (OnnxNode& node : onnx_.nodes) {
    const Trail trail("node", node.name, node.type);
    if (is_constant(node)) {  // a value, not work
      if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty()) {
        fail(ErrorCode::bad_input, "a constant has no input and one output");
      }
      given_.push_back({node.outputs[0], constant_of(file, node)});
      continue;
    }
    for (const auto& [attribute, range] : node.tensors) {
      node.attrs.set(attribute, std::make_shared<const Tensor>(attribute_tensor(file, range)));
    }
  }
}

/// Dims of the same name are equal everywhere: those of the shapes that the caller gave, then
/// the batch.
void Specialiser::bind_dims() {
  for (const ModelInput& input : model_.inputs()) {
    const auto given = options_.shapes.find(input.name);
    if (given == options_.shapes.end()) continue;
    const auto& extents = given->second;
    if (input.dims && extents.size() != input.dims->size()) {
      fail(ErrorCode::usage, "input '", input.name, "' has rank ", input.dims->size(),
           ", the shape given for it has rank ", extents.size());
    }
    for (std::int64_t e : extents) {
      if (e < 0) fail(ErrorCode::usage, "input '", input.name, "' cannot have the extent ", e);
    }
    for (std::size_t i = 0; input.dims && i < extents.size(); ++i) {
      const ModelDim& dim = (*input.dims)[i];
      if (dim.extent < 0 && !dim.symbol.empty()) symbols_.emplace(dim.symbol, extents[i]);
    }
  }
  for (const ModelInput& input : model_.inputs()) {
    if (!input.dims || input.dims->empty() || options_.shapes.contains(input.name)) continue;
    const ModelDim& batch = input.dims->front();
    if (batch.extent < 0 && !batch.symbol.empty()) symbols_.emplace(batch.symbol, 1);
  }
}

std::vector<std::int64_t> Specialiser::input_extents(const ModelInput& input) const {
  const auto given = options_.shapes.find(input.name);
  if (given != options_.shapes.end()) return given->second;
  if (!input.dims) {
    fail(ErrorCode::usage, "input '", input.name,
         "' has no shape in the file; give it, e.g. --shape ", input.name, "=1,3,224,224");
  }
  std::vector<std::int64_t> extents;
  const ModelDim* open = nullptr;
  for (const ModelDim& dim : *input.dims) {
    const auto bound = symbols_.find(dim.symbol);
    const bool batch = extents.empty();
    if (dim.extent >= 0) {
      extents.push_back(dim.extent);
    } else if (!dim.symbol.empty() && bound != symbols_.end()) {
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
    const ModelDim& dim = (*input.dims)[i];
    const bool known = i == 0 || dim.extent >= 0 || symbols_.contains(dim.symbol);
    example += text(i == 0 ? "" : ",", known ? extents[i] : i == 1 ? 3 : 224);
  }
  const std::string which = open->symbol.empty()
                                ? text("a dim without a size (", open - input.dims->data(), ")")
                                : text("the symbolic dim '", open->symbol, "'");
  fail(ErrorCode::usage, "input '", input.name, "' has ", which, "; give its shape, e.g. --shape ",
       input.name, "=", example);
}

void OnnxModel::find_inputs() {
  // In old files every initializer is listed as an input, too.
  Names initializers;
  for (const Given& g : std::span(given_).first(initializers_)) initializers.insert(g.name);
  for (const OnnxPort& port : onnx_.inputs) {
    if (initializers.contains(port.name)) continue;
    if (!port.is_tensor) {
      fail(ErrorCode::unsupported, "input '", port.name, "' is ", port.kind,
           "; only tensors are supported");
    }
    ModelInput input{port.name, onnx_dtype(port.elem_type, "input", port.name), std::nullopt};
    if (port.has_shape) {
      input.dims.emplace();
      for (const OnnxDim& dim : port.dims) input.dims->push_back({dim.value, dim.param});
    }
    inputs_.push_back(std::move(input));
  }
}

void OnnxModel::expect_names_once() const {
  Names names;
  const auto declare = [&](const std::string& name) {
    if (names.insert(name).second) return;
    fail(ErrorCode::bad_input, "the value '", name, "' is produced twice");
  };
  for (const Given& given : given_) declare(given.name);
  for (const ModelInput& input : inputs_) declare(input.name);
  for (const OnnxNode& node : onnx_.nodes) {
    if (is_constant(node)) continue;
    const Trail trail("node", node.name, node.type);
    for (const std::string& name : node.outputs) {
      if (!name.empty()) declare(name);
    }
  }
}

void OnnxModel::find_outputs() {
  if (onnx_.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
  for (const OnnxPort& output : onnx_.outputs) outputs_.push_back(output.name);
}

Tensor OnnxModel::attribute_tensor(const InputFile& file, const FileRange& range) {
  return OnnxTensor(file, range, budget_.limits()).read(file, range, budget_);
}

/// A vector as a tensor of rank 1, or of rank 0 when `scalar`.
template <class T>
Tensor small_tensor(DType dtype, const std::vector<T>& from, bool scalar) {
  std::vector<std::int64_t> extents;
  if (!scalar) extents.push_back(static_cast<std::int64_t>(from.size()));
  Tensor out(dtype, Shape::unnamed(extents));
  std::copy(from.begin(), from.end(), out.as<T>().begin());
  return out;
}

std::shared_ptr<const Tensor> OnnxModel::constant_of(const InputFile& file, const OnnxNode& node) {
  const Attributes& attrs = node.attrs;
  if (node.tensors.size() + attrs.map().size() != 1) {
    fail(ErrorCode::bad_input, "a constant must have exactly one value");
  }
  const auto shared = [](Tensor t) { return std::make_shared<const Tensor>(std::move(t)); };
  if (!node.tensors.empty()) return shared(attribute_tensor(file, node.tensors[0].second));
  if (attrs.has("value_float"))
    return shared(small_tensor(DType::f32, Floats{attrs.real("value_float", 0)}, true));
  if (attrs.has("value_floats"))
    return shared(small_tensor(DType::f32, attrs.reals("value_floats"), false));
  if (attrs.has("value_int"))
    return shared(small_tensor(DType::i64, Ints{attrs.integer("value_int", 0)}, true));
  if (attrs.has("value_ints"))
    return shared(small_tensor(DType::i64, attrs.integers("value_ints"), false));
  fail(ErrorCode::unsupported, "a constant of '", attrs.map().begin()->first, "'");
}

void Specialiser::reserve_outputs() {
  for (const OnnxNode& node : model_.onnx_.nodes) {
    for (const std::string& name : node.outputs) {
      if (!name.empty()) builder_.reserve(name);
    }
  }
}

/// The nodes that are not constants, each behind those whose outputs it reads, ties in file order.
/// The standard asks files to be sorted; some are not.
void OnnxModel::producers_first() {
  const std::vector<OnnxNode>& nodes = onnx_.nodes;
  std::unordered_map<std::string_view, std::size_t> producers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_constant(nodes[i])) continue;
    bool any = false;
    for (const std::string& output : nodes[i].outputs) {
      if (output.empty()) continue;
      any = true;
      producers.emplace(output, i);
    }
    const Trail trail("node", nodes[i].name, nodes[i].type);
    if (!any) fail(ErrorCode::bad_input, "the node has no output");
  }
  std::vector<int> missing(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      const auto producer = producers.find(input);
      if (producer == producers.end()) continue;
      readers[producer->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::size_t sorted = 0;
  for (; !ready.empty(); ++sorted) {
    const std::size_t i = ready.top();
    ready.pop();
    if (!is_constant(nodes[i])) order_.push_back(i);
    for (std::size_t reader : readers[i]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (sorted == nodes.size()) return;
  const auto stuck = std::ranges::find_if(missing, [](int m) { return m > 0; });
  fail(ErrorCode::bad_input, "the graph has a cycle through node '",
       nodes[static_cast<std::size_t>(stuck - missing.begin())].name, "'");
}

void Specialiser::add_outputs() {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : model_.outputs()) {
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

std::shared_ptr<Graph> OnnxModel::graph(const SpecialiseOptions& options) const {
  return Specialiser(*this, options).run();
}

}  // namespace

std::shared_ptr<Model> open_onnx(const InputFile& file, const Limits& limits) {
  return std::make_shared<OnnxModel>(file, limits);
}

}  // namespace stowage
