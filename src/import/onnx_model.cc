// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_model.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <span>
#include <utility>

#include "base/trail.h"
#include "graph/op_def.h"
#include "import/onnx_tensor.h"
#include "import/proto_file.h"

namespace stowage {

namespace {

/// Calls `f` with each name that the node reads, in its branches too.
template <class F>
void each_read(const OnnxNode& node, const F& f) {
  for (const std::string& input : node.inputs) f(input);
  for (const OnnxGraph& branch : node.branches) {
    for (const OnnxNode& inner : branch.nodes) each_read(inner, f);
    for (const OnnxPort& output : branch.outputs) f(output.name);
  }
}

bool is_known(const OnnxNode& node) {
  return is_constant(node) || is_if(node) ||
         find_foreign_op("onnx", operator_name(node)).op != nullptr;
}

std::string unknown_name(const OnnxNode& node) {
  const std::string& domain = node.domain;
  return domain.empty() ? node.type : text(node.type, " (domain '", domain, "')");
}

OnnxTensor initializer_of(const InputFile& file, const FileRange& range, const Limits& limits) {
  OnnxTensor tensor(file, range, limits);
  if (tensor.name().empty()) fail(ErrorCode::bad_input, "an initializer has no name");
  return tensor;
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

}  // namespace

/// What the names in a branch stand for: those that it defines, which branches may have in common,
/// for names that no other value has; then those of the graphs around it.
struct OnnxModel::Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string, std::string> names;

  const std::string& find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto it = scope->names.find(name);
      if (it != scope->names.end()) return it->second;
    }
    return name;
  }
};

void expect_supported(const OnnxNode& node, const OnnxFile& file) {
  if (!is_known(node)) fail(ErrorCode::unsupported, "unsupported operator ", unknown_name(node));
  if (!node.unsupported.empty()) fail(ErrorCode::unsupported, node.unsupported);
  if (!file.opsets.contains(node.domain)) {
    fail(ErrorCode::bad_input, "the model does not say its opset for domain '", node.domain, "'");
  }
}

OnnxModel::OnnxModel(const InputFile& file, const Limits& limits)
    : budget_(limits), onnx_(read_onnx_file(file, budget_)) {
  name_ = onnx_.graph.name;
  find_operators();
  find_reads();
  read_constants(file);
  find_inputs();
  find_outputs();
  expect_names_once();
  read_branches(file, onnx_.graph.nodes, nullptr);
  find_reads();  // by the names that branches have now
  orders_[&onnx_.graph] = producers_first(onnx_.graph.nodes);
}

/// Operators in branches that are not taken are not missed.
void OnnxModel::find_operators() const {
  std::set<std::string> missing;
  const OnnxNode* first = nullptr;
  for (const OnnxNode& node : onnx_.graph.nodes) {
    if (is_known(node)) continue;
    if (first == nullptr) first = &node;
    missing.insert(unknown_name(node));
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
  for (const OnnxNode& node : onnx_.graph.nodes) {
    const Trail trail("node", node.name, node.type);
    expect_supported(node, onnx_);
  }
}

void OnnxModel::find_reads() {
  read_.clear();
  for (const OnnxNode& node : onnx_.graph.nodes) {
    each_read(node, [&](const std::string& name) { read_.insert(name); });
  }
  for (const OnnxPort& output : onnx_.graph.outputs) read_.insert(output.name);
}

void OnnxModel::read_constants(const InputFile& file) {
  if (onnx_.graph.sparse_initializers) {
    fail(ErrorCode::unsupported, "the model has sparse initializers");
  }
  for (const FileRange& range : onnx_.graph.initializers) {
    const OnnxTensor tensor = initializer_of(file, range, budget_.limits());
    // Weights that nobody reads would only cost memory.
    const bool read = read_.contains(tensor.name());
    constants_.push_back({tensor.name(), nullptr});
    if (!read) continue;
    constants_.back().tensor = std::make_shared<const Tensor>(tensor.read(file, range, budget_));
  }
  initializers_ = constants_.size();
  for (OnnxNode& node : onnx_.graph.nodes) read_tensors(file, node);
}

/// Those that attributes hold.
void OnnxModel::read_tensors(const InputFile& file, OnnxNode& node) {
  const Trail trail("node", node.name, node.type);
  if (is_constant(node)) {  // a value, not work
    if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty()) {
      fail(ErrorCode::bad_input, "a constant has no input and one output");
    }
    constants_.push_back({node.outputs[0], constant_of(file, node)});
    return;
  }
  for (const auto& [attribute, range] : node.tensors) {
    node.attrs.set(attribute, std::make_shared<const Tensor>(attribute_tensor(file, range)));
  }
}

void OnnxModel::read_branches(const InputFile& file, std::vector<OnnxNode>& nodes,
                              const Scope* scope) {
  for (OnnxNode& node : nodes) {
    const Trail trail("node", node.name, node.type);
    for (OnnxGraph& branch : node.branches) read_branch(file, branch, scope);
  }
}

/// Constants are read, names made unlike all others, nodes put into order.
void OnnxModel::read_branch(const InputFile& file, OnnxGraph& branch, const Scope* outer) {
  if (!branch.inputs.empty()) fail(ErrorCode::bad_input, "a branch has no inputs");
  if (branch.sparse_initializers) fail(ErrorCode::unsupported, "a branch has sparse initializers");
  Scope scope{outer, {}};
  const auto define = [&](const std::string& name) -> const std::string& {
    const auto [it, first] = scope.names.try_emplace(name);
    if (!first) fail(ErrorCode::bad_input, "the value '", name, "' is produced twice");
    return it->second = unlike_others(name);
  };
  for (const FileRange& range : branch.initializers) {
    const OnnxTensor tensor = initializer_of(file, range, budget_.limits());
    constants_.push_back(
        {define(tensor.name()), std::make_shared<const Tensor>(tensor.read(file, range, budget_))});
  }
  for (OnnxNode& node : branch.nodes) {
    for (std::string& output : node.outputs) {
      if (!output.empty()) output = define(output);
    }
  }
  for (OnnxNode& node : branch.nodes) {
    for (std::string& input : node.inputs) {
      if (!input.empty()) input = scope.find(input);
    }
    read_tensors(file, node);
  }
  for (OnnxPort& output : branch.outputs) output.name = scope.find(output.name);
  read_branches(file, branch.nodes, &scope);
  orders_[&branch] = producers_first(branch.nodes);
}

/// The name, or one like it that no value of the file has.
std::string OnnxModel::unlike_others(const std::string& name) {
  if (names_.try_emplace(name, 0).second) return name;
  for (;;) {
    std::string other = text(name, "_", ++names_[name]);
    if (names_.try_emplace(other, 0).second) return other;
  }
}

void OnnxModel::find_inputs() {
  // In old files every initializer is listed as an input, too.
  Names initializers;
  for (const OnnxConstant& g : std::span(constants_).first(initializers_))
    initializers.insert(g.name);
  for (const OnnxPort& port : onnx_.graph.inputs) {
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

void OnnxModel::expect_names_once() {
  const auto declare = [&](const std::string& name) {
    if (names_.try_emplace(name, 0).second) return;
    fail(ErrorCode::bad_input, "the value '", name, "' is produced twice");
  };
  for (const OnnxConstant& c : constants_) declare(c.name);
  for (const ModelInput& input : inputs_) declare(input.name);
  for (const OnnxNode& node : onnx_.graph.nodes) {
    if (is_constant(node)) continue;
    const Trail trail("node", node.name, node.type);
    for (const std::string& name : node.outputs) {
      if (!name.empty()) declare(name);
    }
  }
}

void OnnxModel::find_outputs() {
  if (onnx_.graph.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
  for (const OnnxPort& output : onnx_.graph.outputs) outputs_.push_back(output.name);
}

Tensor OnnxModel::attribute_tensor(const InputFile& file, const FileRange& range) {
  return OnnxTensor(file, range, budget_.limits()).read(file, range, budget_);
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

/// The nodes that are not constants, each behind those whose outputs it reads, ties in file order.
/// The standard asks files to be sorted; some are not.
std::vector<std::size_t> OnnxModel::producers_first(const std::vector<OnnxNode>& nodes) const {
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
    each_read(nodes[i], [&](const std::string& input) {
      const auto producer = producers.find(input);
      if (producer == producers.end()) return;
      readers[producer->second].push_back(i);
      ++missing[i];
    });
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::size_t sorted = 0;
  std::vector<std::size_t> order;
  for (; !ready.empty(); ++sorted) {
    const std::size_t i = ready.top();
    ready.pop();
    if (!is_constant(nodes[i])) order.push_back(i);
    for (std::size_t reader : readers[i]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (sorted == nodes.size()) return order;
  const auto stuck = std::ranges::find_if(missing, [](int m) { return m > 0; });
  fail(ErrorCode::bad_input, "the graph has a cycle through node '",
       nodes[static_cast<std::size_t>(stuck - missing.begin())].name, "'");
}

}  // namespace stowage
