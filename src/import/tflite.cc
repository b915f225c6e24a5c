// SPDX-License-Identifier: Apache-2.0
// From a TFLite file to a Graph whose every value has a shape. Values keep the order of the file,
// n h w c; operators that want another order stand between transposes (ImportNode::image).
#include <algorithm>
#include <set>
#include <string>

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
    if (t.is_constant() || t.variable || t.quantization.empty()) return;
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
Ints input_extents(const TfliteTensor& input, const ImportOptions& options) {
  const auto given = options.shapes.find(input.name);
  if (given != options.shapes.end()) {
    for (std::int64_t e : given->second) {
      if (e < 0) fail(ErrorCode::usage, "input '", input.name, "' cannot have the extent ", e);
    }
    if (given->second.size() != input.shape.size()) {
      fail(ErrorCode::usage, "input '", input.name, "' has rank ", input.shape.size(),
           ", the shape given for it has rank ", given->second.size());
    }
    return given->second;
  }
  Ints extents = input.signature;
  std::string example;
  bool open = false;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const bool known = i == 0 || extents[i] >= 0;
    open |= !known;
    if (i == 0 && extents[i] < 0) extents[i] = 1;
    example += text(i == 0 ? "" : ",", known ? extents[i] : std::int64_t{224});
  }
  if (!open) return extents;
  fail(ErrorCode::usage, "input '", input.name, "' has dims without a size; give its shape, e.g. ",
       "--shape ", input.name, "=", example);
}

}  // namespace

std::shared_ptr<Graph> import_tflite(const InputFile& from, const ImportOptions& options) {
  ImportBudget budget(options.limits);
  const TfliteFile file(from, budget);
  refuse_quantized(file);
  refuse_unknown(file);
  std::vector<std::string> names;
  for (int i : file.inputs) names.push_back(file.tensors[static_cast<std::size_t>(i)].name);
  check_names(options, names);
  if (file.outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");

  TfliteGraph graph(file, budget);
  for (int i : file.inputs) {
    graph.add_input(i, input_extents(file.tensors[static_cast<std::size_t>(i)], options), options);
  }
  for (const TfliteOperator& op : file.operators) {
    TfliteNode node(graph, op);
    {
      const Trail trail("node", node.name, node.type);
      read_tflite_options(op, node);
    }
    node.import(find_rule(op));
  }
  for (int i : file.outputs) graph.add_output(i);
  return graph.builder().take();
}

}  // namespace stowage
