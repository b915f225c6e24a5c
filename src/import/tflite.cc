// SPDX-License-Identifier: Apache-2.0
// From a TFLite file to a Graph whose every value has a shape. Values keep the order of the file,
// n h w c; operators that want another order stand between transposes (ImportNode::image).
#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "base/trail.h"
#include "import/readers.h"
#include "import/tflite_graph.h"

namespace stowage {

namespace {

/// The operator that imports `op`.
ForeignMatch find_rule(const TfliteOperator& op) {
  return find_foreign_op("tflite", op.lookup_name());
}

/// Integers with scales are refused where they are computed; as weights they become floats.
void refuse_quantized(const TfliteFile& file) {
  const auto check = [&](int tensor) {
    if (tensor < 0) return;
    const TfliteTensor& t = file.tensors[static_cast<std::size_t>(tensor)];
    if (t.constant || t.variable || t.quantization.empty()) return;
    const DType dtype = tflite_dtype(t);
    const bool eight = dtype == DType::i8 || dtype == DType::u8;
    if (!eight && dtype != DType::i16) return;
    fail(ErrorCode::unsupported, eight ? "int8" : "int16",
         " quantised tensors are not supported yet: '", t.name, "' is ", dtype_name(dtype),
         " with a scale");
  };
  for (int t : file.inputs) check(t);
  for (const TfliteOperator& op : file.operators) {
    for (int t : op.inputs) check(t);
    for (int t : op.outputs) check(t);
  }
}

std::string node_name(const TfliteFile& file, const TfliteOperator& op) {
  return op.outputs.empty() ? std::string()
                            : file.tensors[static_cast<std::size_t>(op.outputs[0])].name;
}

void refuse_unknown(const TfliteFile& file) {
  std::set<std::string> missing;
  const TfliteOperator* first = nullptr;
  for (const TfliteOperator& op : file.operators) {
    if (find_rule(op).op != nullptr) continue;
    if (first == nullptr) first = &op;
    missing.insert(op.custom ? text(op.type, " (custom)") : op.type);
  }
  if (first == nullptr) return;
  if (missing.size() == 1) {
    const std::string name = node_name(file, *first);
    const Trail trail("node", name, first->type);
    fail(ErrorCode::unsupported, "unsupported operator ", *missing.begin());
  }
  std::string names;
  for (const std::string& m : missing) names.append(names.empty() ? "" : ", ").append(m);
  fail(ErrorCode::unsupported, "unsupported operators: ", names);
}

/// What the caller says, else what the file says; a batch that the file leaves open is 1.
Ints input_extents(const ModelInput& input, const SpecialiseOptions& options) {
  const auto given = options.shapes.find(input.name);
  if (given != options.shapes.end()) {
    for (std::int64_t e : given->second) {
      if (e < 0) fail(ErrorCode::usage, "input '", input.name, "' cannot have the extent ", e);
    }
    if (given->second.size() != input.dims->size()) {
      fail(ErrorCode::usage, "input '", input.name, "' has rank ", input.dims->size(),
           ", the shape given for it has rank ", given->second.size());
    }
    return given->second;
  }
  Ints extents;
  std::string example;
  bool open = false;
  for (const ModelDim& dim : *input.dims) {
    const bool batch = extents.empty(), known = batch || dim.extent >= 0;
    open |= !known;
    extents.push_back(batch && dim.extent < 0 ? 1 : dim.extent);
    example += text(batch ? "" : ",", known ? extents.back() : std::int64_t{224});
  }
  if (!open) return extents;
  fail(ErrorCode::usage, "input '", input.name, "' has dims without a size; give its shape, e.g. ",
       "--shape ", input.name, "=", example);
}

/// A TFLite file, decoded: its bytes are gone.
class TfliteModel final : public Model {
 public:
  TfliteModel(const InputFile& from, const Limits& limits)
      : budget_(limits), file_(from, budget_), constants_(file_.tensors.size()) {
    name_ = file_.name;
    refuse_quantized(file_);
    refuse_unknown(file_);
    if (file_.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
    for (int i : file_.inputs) {
      const TfliteTensor& t = tensor(i);
      ModelInput& input = inputs_.emplace_back();
      input = {t.name, tflite_dtype(t), std::vector<ModelDim>()};
      for (const std::int64_t e : t.signature) input.dims->push_back({e, ""});
    }
    for (int i : file_.outputs) outputs_.push_back(tensor(i).name);
    for (const TfliteOperator& op : file_.operators) {
      const std::string node = op.outputs.empty() ? op.type : tensor(op.outputs[0]).name;
      const Trail trail("node", node, op.type);
      options_.push_back(read_tflite_options(op));
      for (int i : op.inputs) read_constant(i);
    }
    for (int i : file_.outputs) read_constant(i);
    file_.release();
  }

 private:
  const TfliteTensor& tensor(int i) const { return file_.tensors[static_cast<std::size_t>(i)]; }

  void read_constant(int i) {
    if (i < 0 || !tensor(i).constant || tensor(i).variable) return;
    auto& constant = constants_[static_cast<std::size_t>(i)];
    if (constant.tensor != nullptr) return;
    const Trail trail("tensor", tensor(i).name);
    constant = read_tflite_constant(tensor(i), budget_);
  }

  std::shared_ptr<Graph> graph(const SpecialiseOptions& options) const override {
    check_names(options, inputs());
    ImportBudget budget = budget_;
    TfliteGraph graph(file_, constants_, budget);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      graph.add_input(file_.inputs[i], input_extents(inputs_[i], options), options);
    }
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const TfliteOperator& op = file_.operators[i];
      TfliteNode node(graph, op, options_[i]);
      node.import(find_rule(op));
    }
    for (int i : file_.outputs) graph.add_output(i);
    return graph.builder().take();
  }

  ImportBudget budget_;  // what the file has taken
  TfliteFile file_;
  TfliteConstants constants_;
  std::vector<TfliteOptions> options_;  // by operator
};

}  // namespace

std::shared_ptr<Model> open_tflite(const InputFile& file, const Limits& limits) {
  return std::make_shared<TfliteModel>(file, limits);
}

}  // namespace stowage
