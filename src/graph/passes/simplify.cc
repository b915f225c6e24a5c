// SPDX-License-Identifier: Apache-2.0
#include "base/trail.h"
#include "graph/passes/passes.h"
#include "stowage/model.h"

namespace stowage {

namespace {

struct Pass {
  std::string_view name;
  bool (*run)(Graph&);
};

constexpr Pass kPasses[] = {
    {"bind_parameters", bind_parameters},
    {"remove_dead_nodes", remove_dead_nodes},
    {"remove_identity", remove_identity},
    {"cancel_transposes", cancel_transposes},
    {"fold_pad", fold_pad},
    {"recognise_clips", recognise_clips},
    {"recognise_functions", recognise_functions},
    {"recognise_norms", recognise_norms},
    {"fold_affine", fold_affine},
    {"fuse_posts", fuse_posts},
};

/// Every productive pass shortens the graph or moves transposes towards its end, so this bound is
/// never reached by an honest one.
constexpr int kMostRounds = 1000;

/// What is not inferred yet; nodes that were evaluated go for good, for patches rely on it.
void infer_rest(Graph& graph) {
  Inference inference(graph);
  for (NodeId id : graph.topological_order()) inference.run(id);
  for (NodeId id(0); id < graph.node_count(); ++id) graph.node(id).evaluated = false;
}

/// Constants that nobody reads any more are the larger part of a model's memory.
void release_unread_constants(Graph& graph) {
  const auto readers = graph.consumers();
  for (ValueId v(0); v < graph.value_count(); ++v) {
    if (readers[static_cast<std::size_t>(v)].empty() && !graph.is_output(v)) {
      graph.value(v).constant = nullptr;
    }
  }
}

}  // namespace

NodeId sole_reader(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                   ValueId value) {
  const auto& list = readers[static_cast<std::size_t>(value)];
  return list.size() == 1 && !graph.is_output(value) ? list[0] : kNoNode;
}

void simplify(Graph& graph) {
  const Trail trail("simplifying", graph.name);
  infer_rest(graph);
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (const Pass& pass : kPasses) {
      const Trail in_pass("pass", pass.name);
      if (!pass.run(graph)) continue;
      changed = true;
      verify(graph);
    }
  }
  release_unread_constants(graph);
  name_axes(graph);
  graph.simplified = true;
}

}  // namespace stowage
