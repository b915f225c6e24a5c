// SPDX-License-Identifier: Apache-2.0
// The logical computation: values have shapes and dtypes, no layouts. Nodes are changed by Patch
// only; inference writes what it finds out beside them, and may begin again for other shapes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "graph/attributes.h"
#include "graph/id.h"
#include "kernels/post.h"
#include "stowage/data_format.h"
#include "stowage/tensor.h"

namespace stowage {

struct OpDef;
class NodeRef;

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
inline constexpr ValueId kNoValue;
inline constexpr NodeId kNoNode;

/// A tensor of the computation. Its shape is in source order; the axis names are what
/// `name_axes` found out (graph/axes.h), or a, b, c, ...
struct Value {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<const Tensor> constant;  ///< row-major; null unless known before run
  float step = 0;  ///< of a constant: its elements are whole numbers from -128 to 127 times this; 0
                   ///< where that is not known
  NodeId producer = kNoNode;  ///< none for graph inputs and constants
};

struct Node {
  const OpDef* op = nullptr;
  std::string name;
  std::string type;  ///< what the file calls the operator; empty where it is our own
  Attributes attrs;  ///< as the file, its import rule or a patch says; inference leaves them alone
  Attributes facts;  ///< what inference made of them for these shapes: pads, axes from 0 on, sizes
  std::vector<ValueId> inputs;  ///< kNoValue where an optional input is absent; the operator's own,
                                ///< then the operands of posts
  std::vector<ValueId> outputs;  ///< kNoValue where nobody wants the output
  Posts posts;                   ///< what follows the node's own mathematics, on output 0
  bool removed = false;
  /// Inference has computed the outputs, which are constants now: counts as removed until inference
  /// begins again.
  bool evaluated = false;
};

class Graph {
 public:
  std::string name;                             ///< of the model
  DataFormat source_format = DataFormat::nchw;  ///< in which files of this kind keep images
  std::vector<ValueId> inputs, outputs;         ///< in the order of the file
  bool simplified = false;                      ///< simplify has run

  ValueId add_value(Value value);
  ValueId add_constant(std::string value_name, Tensor tensor);
  ValueId add_constant(std::string value_name, std::shared_ptr<const Tensor> tensor);
  /// Appends a node; its outputs' producer is set. Nodes need not be added in order. Output 0 is
  /// always there, as operators expect: it becomes a value that nobody reads where it is absent.
  NodeId add_node(Node node);

  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }

  Value& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }

  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }

  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }

  int value_count() const { return static_cast<int>(values_.size()); }

  int node_count() const { return static_cast<int>(nodes_.size()); }

  /// Live nodes, producers before consumers, ties in file order.
  /// Throws Error(bad_input) that names a node on a cycle.
  std::vector<NodeId> topological_order() const;

  /// Live nodes that read each value; a node that reads it twice is listed twice.
  std::vector<std::vector<NodeId>> consumers() const;

  bool is_output(ValueId id) const;

  /// What was done to the graph, one line a patch.
  std::vector<std::string> history;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
};

/// Throws Error(internal) unless every input of every live node has a producer, is a graph input
/// or a constant, and no value has two producers. Run after every pass.
void verify(const Graph& graph);

/// Infers the shape of everything from the shapes of the graph inputs and constants, and
/// evaluates nodes whose inputs are all constant. After it every value has a shape. Forgets what
/// was inferred before, so that it may be called again for other shapes of the inputs, until
/// `simplify`. Throws Error(bad_input) with the node in the trail.
void infer_shapes(Graph& graph);

/// Shapes and facts of one node; evaluates nothing. Throws Error(bad_input).
void infer_node(Graph& graph, NodeId id);

/// infer_shapes node by node, for a graph that is still growing. Evaluating may not turn a small
/// file into a large process or a long wait: it has a budget, and what is not evaluated stays in
/// the graph and runs as any other node.
class Inference {
 public:
  explicit Inference(Graph& graph) : graph_(graph) {}

  /// The inputs of the node must have shapes.
  void run(NodeId id);

 private:
  /// The inputs are constant, and computing the outputs now is affordable; takes it off the budget.
  bool affordable(const NodeRef& node);

  Graph& graph_;
  double elements_ = 1 << 27;  ///< all that folding may make: weights that are transposed, say
  double growth_ = 1 << 22;    ///< what it may make out of nothing: ConstantOfShape, Expand
};

/// Names the axes of every value: operators name some (n c h w of a convolution), elementwise
/// operators pass names on, a reshape ends them; the rest are a, b, c, ...
void name_axes(Graph& graph);

/// Infers what is not known yet, then passes until none changes anything, then name_axes. The
/// result is for these shapes of the inputs.
void simplify(Graph& graph);

}  // namespace stowage
