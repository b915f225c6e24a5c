// SPDX-License-Identifier: Apache-2.0
// Inference writes shapes and facts and nothing else: it may begin again, for other shapes of the
// inputs, and finds what it would have found in a graph that nobody inferred before.
#include <gtest/gtest.h>

#include <optional>

#include "base/text.h"
#include "tests/suite/random_graphs.h"

namespace stowage {
namespace {

using random_graphs::make_case;

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.data(), a.data() + a.bytes(), b.data());
}

bool same(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.map(), b.map(), [](const auto& x, const auto& y) {
    const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&x.second);
    const auto* other = std::get_if<std::shared_ptr<const Tensor>>(&y.second);
    if (x.first != y.first || (tensor == nullptr) != (other == nullptr)) return false;
    return tensor == nullptr ? x.second == y.second : same(**tensor, **other);
  });
}

/// What a file, an import rule or a patch decides. "" or what differs.
std::string asked_differently(const Graph& a, const Graph& b) {
  if (a.node_count() != b.node_count() || a.value_count() != b.value_count()) return "the size";
  for (NodeId id(0); id < a.node_count(); ++id) {
    const Node &x = a.node(id), &y = b.node(id);
    if (x.op != y.op || x.inputs != y.inputs || x.outputs != y.outputs || !same(x.attrs, y.attrs)) {
      return text("node '", x.name, "' (", y.op->name, ")");
    }
  }
  return "";
}

/// What inference finds. "" or what differs.
std::string found_differently(const Graph& a, const Graph& b) {
  for (NodeId id(0); id < a.node_count(); ++id) {
    const Node &x = a.node(id), &y = b.node(id);
    const bool live = !x.removed || x.evaluated;
    if (x.removed != y.removed || x.evaluated != y.evaluated || (live && !same(x.facts, y.facts))) {
      return text("node '", x.name, "' (", x.op->name, ")");
    }
  }
  for (ValueId v(0); v < a.value_count(); ++v) {
    const Value &x = a.value(v), &y = b.value(v);
    const bool known = x.constant != nullptr;
    if (x.dtype != y.dtype || x.shape != y.shape || x.producer != y.producer ||
        known != (y.constant != nullptr) || (known && !same(*x.constant, *y.constant))) {
      return text("value '", x.name, "': ", x.shape.extents(), " and ", y.shape.extents());
    }
  }
  return "";
}

/// The inputs with other extents: of their first axis, their last two, or all but the channels.
void stretch(Graph& graph, int way) {
  for (const ValueId v : graph.inputs) {
    const Shape& shape = graph.value(v).shape;
    Ints extents(shape.extents().begin(), shape.extents().end());
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const bool first = i == 0, spatial = i > 1;
      if (way % 2 == 0 && first) extents[i] += 1;
      if (way > 0 && spatial) extents[i] += way;
    }
    graph.value(v).shape = Shape(shape.axes(), extents);
  }
}

/// Nothing when the graph cannot have these shapes.
bool infers(Graph& graph) {
  try {
    infer_shapes(graph);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Inference, BeginsAgainForOtherShapes) {
  int stretched = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph file = make_case(seed).graph;
    Graph graph = file;
    infer_shapes(graph);
    const Graph before = graph;
    for (const int way : {0, 1, 2, 4}) {
      SCOPED_TRACE(text("seed ", seed, ", way ", way));
      Graph fresh = file, again = graph;
      stretch(fresh, way);
      stretch(again, way);
      const bool fits = infers(fresh);
      ASSERT_EQ(infers(again), fits);
      EXPECT_EQ(asked_differently(file, again), "");
      if (fits) {
        EXPECT_EQ(found_differently(fresh, again), "");
        ++stretched;
      }
      // And back, also after shapes that did not fit.
      for (const ValueId v : file.inputs) again.value(v).shape = file.value(v).shape;
      infer_shapes(again);
      EXPECT_EQ(found_differently(before, again), "");
    }
  }
  EXPECT_GT(stretched, 300);  // many do not fit: extents are constants of Reshape and the like
}

// Passes read facts and change attributes: both must say the same when they are done.
TEST(Inference, FindsInASimplifiedGraphWhatIsThere) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = make_case(seed).graph;
    infer_shapes(graph);
    simplify(graph);
    Graph again = graph;
    infer_shapes(again);
    name_axes(again);
    EXPECT_EQ(asked_differently(graph, again), "");
    EXPECT_EQ(found_differently(graph, again), "");
  }
}

}  // namespace
}  // namespace stowage
