// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a Graph whose every value has a shape.
#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/trail.h"
#include "import/builder.h"
#include "import/onnx_model.h"
#include "import/readers.h"
#include "stowage/model.h"

namespace stowage {

namespace {

using Values = std::unordered_map<std::string, ValueId>;

/// One node of the file while it becomes nodes of the graph.
class Operator final : public BuilderNode {
 public:
  Operator(Builder& builder, Values& values, const OnnxModel::Names& read, const OnnxNode& node,
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
  const OnnxModel::Names& read_;
  const OnnxNode& node_;
};

/// The graph of an OnnxModel for one set of shapes.
class Specialiser {
 public:
  Specialiser(const OnnxModel& model, const SpecialiseOptions& options)
      : options_(options),
        model_(model),
        budget_(model.budget()),
        builder_(model.file().graph.name, DataFormat::nchw, budget_) {}

  std::shared_ptr<Graph> run() {
    for (const OnnxConstant& given : model_.constants()) {
      define(given.name,
             given.tensor == nullptr ? kNoValue : builder_.add_constant(given.name, given.tensor));
    }
    check_names(options_, model_.inputs());
    bind_dims();
    for (const ModelInput& input : model_.inputs()) {
      define(input.name,
             builder_.add_input(input.name, input.dtype, input_extents(input), options_));
    }
    reserve_outputs(model_.file().graph);
    import(model_.file().graph);
    add_outputs();
    return builder_.take();
  }

 private:
  std::vector<std::int64_t> input_extents(const ModelInput& input) const;
  void bind_dims();
  void reserve_outputs(const OnnxGraph& graph);
  void import(const OnnxGraph& graph);
  void import_if(const OnnxNode& node);
  const OnnxGraph& branch_of(const OnnxNode& node) const;
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

void Specialiser::reserve_outputs(const OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes) {
    for (const std::string& name : node.outputs) {
      if (!name.empty()) builder_.reserve(name);
    }
    for (const OnnxGraph& branch : node.branches) reserve_outputs(branch);
  }
}

void Specialiser::import(const OnnxGraph& graph) {
  for (const std::size_t i : model_.order(graph)) {
    const OnnxNode& from = graph.nodes[i];
    if (is_if(from)) {
      import_if(from);
      continue;
    }
    Operator node(builder_, values_, model_.read(), from, model_.file().opsets.at(from.domain));
    node.import(find_foreign_op("onnx", operator_name(from)));
  }
}

/// The branch that an If takes, which is to be known from shapes and constants.
const OnnxGraph& Specialiser::branch_of(const OnnxNode& node) const {
  if (node.inputs.size() != 1) fail(ErrorCode::bad_input, "an If has one input");
  const auto input = values_.find(node.inputs[0]);
  if (input == values_.end()) {
    fail(ErrorCode::bad_input, "nothing produces its input '", node.inputs[0], "'");
  }
  const Value& condition = builder_.value(input->second);
  if (condition.constant == nullptr) {
    fail(ErrorCode::unsupported, "which branch it takes is known only when the model runs");
  }
  const Tensor& taken = *condition.constant;
  if (taken.dtype() != DType::boolean || taken.bytes() != 1) {
    fail(ErrorCode::bad_input, "its condition is not one bool");
  }
  const char* const attribute = *taken.data() != std::byte{0} ? "then_branch" : "else_branch";
  const auto branch = std::ranges::find(node.branches, attribute, &OnnxGraph::attribute);
  if (branch == node.branches.end()) fail(ErrorCode::bad_input, "it has no ", attribute);
  if (branch->outputs.size() != node.outputs.size()) {
    fail(ErrorCode::bad_input, "its ", attribute, " has ", branch->outputs.size(), " outputs for ",
         node.outputs.size());
  }
  return *branch;
}

/// The nodes of the branch take the place of the If.
void Specialiser::import_if(const OnnxNode& node) {
  const Trail trail("node", node.name, node.type);
  const OnnxGraph& branch = branch_of(node);
  for (const OnnxNode& inner : branch.nodes) {
    const Trail within("node", inner.name, inner.type);
    expect_supported(inner, model_.file());
  }
  import(branch);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    const auto result = values_.find(branch.outputs[i].name);
    if (result == values_.end()) {
      fail(ErrorCode::bad_input, "nothing produces the output '", branch.outputs[i].name,
           "' of its ", branch.attribute);
    }
    const ValueId v = result->second;
    if (name.empty()) continue;
    if (builder_.takes_name(v)) builder_.rename(v, name);
    values_[name] = v;
  }
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

}  // namespace

std::shared_ptr<Graph> OnnxModel::graph(const SpecialiseOptions& options) const {
  return Specialiser(*this, options).run();
}

std::shared_ptr<Model> open_onnx(const InputFile& file, const Limits& limits) {
  return std::make_shared<OnnxModel>(file, limits);
}

}  // namespace stowage
