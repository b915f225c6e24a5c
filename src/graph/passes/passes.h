// SPDX-License-Identifier: Apache-2.0
// The passes of simplify. Each looks at the whole graph once, edits it through patches, and
// returns whether it changed anything.
#pragma once

#include <optional>

#include "graph/constants.h"
#include "graph/op_def.h"
#include "graph/patch.h"

namespace stowage {

bool bind_parameters(Graph& graph);
bool remove_dead_nodes(Graph& graph);
bool remove_identity(Graph& graph);
bool cancel_transposes(Graph& graph);
bool fold_pad(Graph& graph);
bool recognise_clips(Graph& graph);
bool recognise_functions(Graph& graph);
bool recognise_norms(Graph& graph);
bool fold_affine(Graph& graph);
bool fuse_posts(Graph& graph);

/// Whether fuse_attention would change the graph.
bool has_attention(const Graph& graph);
/// No pass of simplify: devices have no kernel for its result, so it is make_plan's to call for a
/// graph that is simplified. Makes `attention` of what computes it.
bool fuse_attention(Graph& graph);

/// The only node that reads the value, or kNoNode when there are more or it is a graph output.
NodeId sole_reader(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                   ValueId value);

/// The constant is one f32 element that stretches no shape beyond the rank of `like`.
std::optional<float> scalar_constant(const Graph& graph, ValueId v, ValueId like);

}  // namespace stowage
