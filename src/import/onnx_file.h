// SPDX-License-Identifier: Apache-2.0
// An ONNX file as it is written: nodes, inputs, outputs, and where the weights lie. Nothing here
// knows operators or makes a Graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/attributes.h"
#include "import/onnx_tensor.h"
#include "import/proto_file.h"

namespace stowage {

struct OnnxGraph;

struct OnnxNode {
  std::string domain, type, name;
  Attributes attrs;                                        ///< without those that are tensors
  std::vector<std::string> inputs, outputs;                ///< empty text: absent
  std::vector<std::pair<std::string, FileRange>> tensors;  ///< attributes that hold a TensorProto
  std::vector<OnnxGraph> branches;                         ///< of an If
  std::string unsupported;  ///< why the node cannot be imported even if its operator is known
};

/// A dim of an input: a number, a name, or neither.
struct OnnxDim {
  std::int64_t value = -1;  ///< negative: not known
  std::string param;
};

struct OnnxPort {
  std::string name;
  std::int64_t elem_type = 0;
  bool is_tensor = false, has_shape = false;
  std::string kind = "a value of no type";  ///< "a sequence", ..., when it is no tensor
  std::vector<OnnxDim> dims;
};

/// How an operator is looked up and named: operators of other domains carry theirs.
std::string operator_name(const OnnxNode& node);

/// A value of the file, not work.
bool is_constant(const OnnxNode& node);

/// Nodes that are one of two graphs, which the node brings.
bool is_if(const OnnxNode& node);

/// The graph of a model, or a branch of an If, whose nodes read values of the graphs around it,
/// too.
struct OnnxGraph {
  std::string name;
  std::string attribute;  ///< of a branch: "then_branch" or "else_branch"
  std::vector<OnnxNode> nodes;
  std::vector<OnnxPort> inputs, outputs;
  std::vector<FileRange> initializers;  ///< TensorProtos
  bool sparse_initializers = false;
};

struct OnnxFile {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  ///< by domain; ai.onnx is ""
  OnnxGraph graph;
};

/// Throws Error(bad_input) for what is no ONNX model, Error(limit).
OnnxFile read_onnx_file(const InputFile& file, ImportBudget& budget);

}  // namespace stowage
