// SPDX-License-Identifier: Apache-2.0
// Random graphs. The oracle runs every node by its scalar reference, in order, on row-major
// tensors; what simplify, make_plan and Session make of the same graph must agree with it.
//
// A seed means the same graph on every machine: the numbers come from std::mt19937_64 and own
// distributions. The generator looks at values that the references compute, so that a libm which
// rounds the last bit elsewhere could in principle decide a borderline case differently.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "stowage/model.h"

namespace stowage::random_graphs {

/// Two sets of inputs: the outputs of a session must follow them.
inline constexpr int kInputSets = 2;

/// Largest difference of an element of an f32 output from the oracle, over the largest magnitude
/// of that output. Other dtypes must be equal. The generator keeps only nodes after which noise of
/// 2^-20 at every value before has grown to less than a fifth of it, and drops the rest: a graph
/// whose results hang on the last bits shows nothing.
inline constexpr double kTolerance = 1e-4;

struct Case {
  std::uint64_t seed = 0;
  Graph graph;                              ///< as a file would give it: nothing inferred
  std::vector<std::vector<Tensor>> inputs;  ///< [set][model input], row-major
  bool simplified = true;                   ///< else only infer_shapes and name_axes
  PlanOptions options;                      ///< `layouts` are drawn from layout_seed
  /// Draws the layouts at model inputs and outputs, of the plan and of the views that are given
  /// and read; 0: row-major everywhere.
  std::uint64_t layout_seed = 0;
};

/// The case of a seed: 3 to about 25 nodes. One in twenty has large values.
Case make_case(std::uint64_t seed);

/// The outputs for one set of inputs, node by node, each by its reference alone.
std::vector<Tensor> oracle(const Graph& graph, const std::vector<Tensor>& inputs);

/// Plans, runs two sessions over both sets of inputs. "" or the first thing that is wrong.
std::string check(const Case& c);

/// Runs the plan step by step in memory that begins as NaN: kernels and conversions must leave zero
/// in the tails of what they write. "" or the first that does not.
std::string check_tails(const Plan& plan, const std::vector<Tensor>& inputs);

/// Runs the plan over bound memory that has not a byte more than it takes: the outputs must have
/// the bits of `want`, by set of inputs, and nothing else may be written. "" or what is wrong.
std::string check_bound(const std::shared_ptr<const Plan>& plan,
                        const std::vector<std::vector<Tensor>>& inputs,
                        const std::vector<std::vector<Tensor>>& want);

/// A smaller case that still fails: outputs dropped, nodes replaced by model inputs that hold
/// what the oracle computed, plainer options.
Case shrink(Case c);

/// The graph as text, and the plan where one can be made.
std::string describe(const Case& c);

/// check(make_case(seed)). "" or the whole story of a failure: seed, what differs, the graph, the
/// shrunk graph, its plan.
std::string run_seed(std::uint64_t seed);

/// One node by its reference, in a graph of its own. `known`: the inputs that are constants there;
/// they may be attributes in disguise. Inputs that are absent are null.
std::vector<Tensor> evaluate(const Node& node, const std::vector<const Tensor*>& inputs,
                             const std::vector<bool>& known);

}  // namespace stowage::random_graphs
