// SPDX-License-Identifier: Apache-2.0
// Min and Max with a constant, Relu and Clip are all min(max(x, lo), hi): each becomes a Clip, and
// a Clip of a Clip is one. All of them give NaN for NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// min(max(x, lo), hi) with lo <= hi.
struct Clip {
  ValueId x = kNoValue;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();

  float operator()(float v) const { return std::min(std::max(v, lo), hi); }
};

/// The node as a clip of a value that is computed, if that is all it is.
std::optional<Clip> clip_of(Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (!n.posts.empty() || n.outputs[0] == kNoValue ||
      graph.value(n.outputs[0]).dtype != DType::f32) {
    return std::nullopt;
  }
  Clip clip;
  const bool min = n.op->name == "min", max = n.op->name == "max";
  if (n.op->name == "relu" || n.op->name == "clip") {
    const auto post = n.op->post(NodeRef(graph, id), 0);
    if (!post) return std::nullopt;
    clip = {n.inputs[0], post->activation.a, post->activation.b};
  } else if ((min || max) && n.inputs.size() == 2) {
    for (const std::size_t k : {1, 0}) {
      const auto bound = scalar_constant(graph, n.inputs[k], n.inputs[1 - k]);
      if (!bound || clip.x != kNoValue) continue;
      clip.x = n.inputs[1 - k];
      (min ? clip.hi : clip.lo) = *bound;
    }
  }
  if (clip.x == kNoValue || graph.value(clip.x).constant != nullptr || std::isnan(clip.lo) ||
      std::isnan(clip.hi)) {
    return std::nullopt;
  }
  // The upper bound has the last word.
  clip.lo = std::min(clip.lo, clip.hi);
  return clip;
}

void become(Node& n, const Clip& clip) {
  n.op = find_op("clip");
  n.type.clear();
  n.inputs = {clip.x};
  n.attrs = Attributes();
  n.attrs.set("min", clip.lo);
  n.attrs.set("max", clip.hi);
}

}  // namespace

bool recognise_clips(Graph& graph) {
  bool changed = false;
  const auto readers = graph.consumers();
  // In order, so that of a long chain each has already become one with those before it.
  for (const NodeId id : graph.topological_order()) {
    auto clip = clip_of(graph, id);
    if (!clip) continue;
    const Node& n = graph.node(id);
    const NodeId producer = graph.value(clip->x).producer;
    std::optional<Clip> first;
    if (producer != kNoNode && sole_reader(graph, readers, clip->x) == id) {
      first = clip_of(graph, producer);
    }
    if (first) {
      Patch patch(graph,
                  text("fold '", graph.node(producer).name, "' (", graph.node(producer).op->name,
                       ") into '", n.name, "' (", n.op->name, ")"));
      become(patch.edit(id), {first->x, (*clip)(first->lo), (*clip)(first->hi)});
      patch.infer(id);
      patch.remove(producer);
      changed = true;
    } else if (n.op->name == "min" || n.op->name == "max") {
      Patch patch(graph, text("'", n.name, "' (", n.op->name, ") with a constant is a clip"));
      become(patch.edit(id), *clip);
      patch.infer(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace stowage
