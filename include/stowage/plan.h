// SPDX-License-Identifier: Apache-2.0
// What a plan decided, as plain data for tools: every node with the kernel that runs it and those
// that lost, every conversion with its reason, the steps, the memory. `explain` says it in words.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/model.h"

namespace stowage {

/// What became of a node of the graph.
struct NodeReport {
  int node = -1;  ///< its number in the graph
  std::string name, op;
  Category category = Category::source;       ///< that the planner goes by
  Category rule_category = Category::source;  ///< of MACE's lists
  /// MACE's rule calls the node AUTO: it runs in the format of the runtime; else in the source's.
  bool rule_auto = false;

  struct Operand {
    int id = -1;  ///< of the value: tells it from others of the same name
    std::string name, layout;
    Shape shape;               ///< in the model's own order of axes
    DType dtype = DType::f32;  ///< of the value; `layout` says so where it is stored otherwise
    DataFormat data_format = DataFormat::none;  ///< of the axes, in the order of `shape`
    bool constant = false;                      ///< known before the first run
  };

  std::vector<Operand> inputs, outputs;  ///< absent ones left out
  std::string kernel;                    ///< "relabel" when it moves no byte
  double cost_us = 0;                    ///< predicted, of the node alone
  // What its kernel does, and the planner goes by:
  double flops = 0;         ///< a multiplication and an addition are two
  double efficiency = 1;    ///< the part of the arithmetic peak that it should reach
  double pieces = 0;        ///< of a copy: runs of elements that are moved one by one
  double bytes = 0;         ///< read and written, padding included
  double weight_bytes = 0;  ///< of them constants

  /// Another way to run the node.
  struct Lost {
    std::string kernel, layouts;  ///< "nchw -> nchw"
    double cost_us = 0;           ///< of the node alone

    friend bool operator==(const Lost&, const Lost&) = default;
  };

  std::vector<Lost> lost;

  /// What the operator was asked to do.
  struct Detail {
    std::string name, value;  ///< "strides" and "2, 2"

    friend bool operator==(const Detail&, const Detail&) = default;
  };

  /// Attributes as they come out for these shapes, in the order of their names, which are ONNX's
  /// where ONNX has one for the same thing; then, as "posts", what the kernel does to its results
  /// before it stores them: "+ 'residual', clip(0, 6)".
  std::vector<Detail> details;
};

/// A value that is moved from one layout into another.
struct ConversionReport {
  int id = -1;  ///< of the value, as in NodeReport::Operand
  std::string value, from, to;
  std::size_t bytes = 0;  ///< read and written
  double cost_us = 0;
  std::string reason;  ///< "model input", "model output", "read by 'conv1' (conv_blocked)"
  int node = -1;       ///< which alone reads or writes the copy, as NodeReport::node
};

/// MACE's argument of an operator: "AUTO", or the source format, "NCHW" or "NHWC".
std::string_view rule_format(const NodeReport& node, DataFormat source) noexcept;

struct PlanReport {
  std::string model;    ///< the name that its file gives it
  std::string planner;  ///< "optimal", "rule", "source"
  int threads = 1;
  int lanes = 0;                                ///< vector_lanes() of the machines that it is for
  DataFormat source_format = DataFormat::nchw;  ///< in which files of its kind keep images

  /// A model input or output.
  struct Boundary {
    Port port;
    Layout layout;  ///< in which the caller has it or wants it, as far as the planner knows
    int id = -1;    ///< of the value, as in NodeReport::Operand
  };

  std::vector<Boundary> inputs, outputs;
  std::vector<NodeReport> nodes;              ///< in the order in which they run
  std::vector<ConversionReport> conversions;  ///< of inputs and outputs, too

  /// What a run does, one after the other; Session::step_us has the time of each.
  struct Step {
    enum class Kind { convert, call } kind = Kind::call;
    std::string name;    ///< of the node, or of the value that is converted
    std::string op;      ///< of the node; empty for a conversion
    std::string kernel;  ///< likewise
    /// Of the node, as NodeReport::node, or the place of the conversion in `conversions`; -1 where
    /// it is none of them, which is so for a copy on the way of a longer one.
    int node = -1, conversion = -1;
  };

  std::vector<Step> steps;

  /// A part of the arena, and the steps from `first` to `last` in which it is in use. What lies in
  /// another tensor's memory (a relabel, a part of a concatenation) has no entry.
  struct Block {
    int id = -1;               ///< of the value, as in NodeReport::Operand; -1: scratch of a kernel
    std::string name, layout;  ///< of the value; "scratch" and nothing
    std::size_t offset = 0, bytes = 0;
    int first = 0, last = 0;
  };

  std::vector<Block> arena;

  std::size_t arena_bytes = 0;    ///< one allocation for everything that is not constant
  std::size_t weight_bytes = 0;   ///< constants in the layouts of their kernels
  std::size_t touched_bytes = 0;  ///< read and written by all kernels and conversions
  /// Predicted: of this plan, of MACE's rule, of source order everywhere.
  double cost_us = 0, rule_cost_us = 0, source_cost_us = 0;
  double lower_bound_us = 0;         ///< equals cost_us when proved optimal
  std::vector<std::string> history;  ///< what simplify did, one line a patch

  /// A kernel that some node could have run, had it not been in DeviceOptions::avoid.
  struct Avoided {
    std::string kernel, device;
  };

  std::vector<Avoided> avoided;  ///< each kernel once
};

/// Copies it from the plan.
PlanReport report(const Plan& plan);

/// Microseconds of each of PlanReport::nodes and conversions; below 0 where nothing was measured.
struct MeasuredTimes {
  std::vector<double> nodes, conversions;
  double us = 0, predicted_us = 0;  ///< of all that was measured
};

/// `step_us` are those of PlanReport::steps, as Session::step_us has them, or nothing.
MeasuredTimes measured_times(const PlanReport& plan, std::span<const double> step_us);

/// What it would cost to run one node in another layout than the plan does.
struct WhyNot {
  std::string node, op, layout;
  NodeReport chosen;   ///< as the plan runs it
  double cost_us = 0;  ///< of the whole plan

  /// Some kernel has this layout on the node's first input or output.
  bool offered = false;
  bool is_chosen = false;  ///< and the plan has it already
  // The best plan in which it does, when it is offered and not chosen:
  NodeReport forced;
  double forced_us = 0;                        ///< of the whole plan
  std::vector<ConversionReport> added, saved;  ///< conversions, against the plan
  std::vector<std::string> followers;          ///< other nodes that would run otherwise
};

/// `node` is a name, or #N: the N-th of the plan. `layout` is in any known spelling; n, c, h and w
/// stand for the axes of a value of rank 4 that has no such names. The graph is not changed.
/// Throws Error(usage) for an unknown node or a layout that does not fit.
WhyNot why_not(std::shared_ptr<Graph> graph, const PlanOptions& options, std::string_view node,
               std::string_view layout);

/// In words and numbers.
std::string explain(const WhyNot& answer);

/// What one run computes, a multiplication and an addition counted as two: for each node what the
/// kernel with the least does, without padding and conversions. The graph is not changed.
double flops(const std::shared_ptr<Graph>& graph);

/// What a graph takes and gives, before it is planned.
std::vector<Port> input_ports(const Graph& graph);
std::vector<Port> output_ports(const Graph& graph);

}  // namespace stowage
