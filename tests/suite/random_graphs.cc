// SPDX-License-Identifier: Apache-2.0
// From a seed to a graph and the way in which it is planned and run.
#include "tests/suite/random_graphs.h"

#include <algorithm>

#include "base/index.h"
#include "tests/suite/random_graphs_builder.h"

namespace stowage::random_graphs {

namespace {

/// Mostly images; extents are small and odd, so that blocks have tails.
void draw_input(Builder& b) {
  const std::int64_t kind = b.below(20);
  const std::int64_t rank = kind < 15 ? 4 : kind < 17 ? 3 : kind < 19 ? 2 : 5;
  Ints extents;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i == 0) {
      extents.push_back(b.chance(50) ? 1 : b.between(1, 3));
    } else if (i == 1) {
      extents.push_back(b.channels());
    } else {
      extents.push_back(b.chance(12) && extents.back() < 14 ? extents.back()
                                                            : b.between(1, rank == 5 ? 6
                                                                           : b.large ? 40
                                                                                     : 13));
    }
  }
  const std::int64_t other = b.below(20);
  const ValueId x = b.input(extents, other == 0 ? DType::u8 : other == 1 ? DType::i64 : DType::f32);
  // A picture is scaled before use.
  if (!b.is_float(x)) {
    Attributes to;
    to.set("to", std::string("f32"));
    const ValueId y = b.add_exact("cast", {x}, to);
    if (other == 0) b.add("mul", {y, b.scalar(1 / 255.0f)});
  }
}

const Move& draw_move(Builder& b) {
  std::int64_t all = 0;
  for (const auto list : {layer_moves(), element_moves(), shape_moves()}) {
    for (const Move& m : list) all += m.weight;
  }
  std::int64_t at = b.below(all);
  for (const auto list : {layer_moves(), element_moves(), shape_moves()}) {
    for (const Move& m : list) {
      if (at < m.weight) return m;
      at -= m.weight;
    }
  }
  return layer_moves()[0];
}

/// Results that nobody reads, and some that somebody reads as well.
void draw_outputs(Builder& b) {
  Graph& graph = b.graph;
  const auto readers = graph.consumers();
  for (ValueId v(0); v < graph.value_count(); ++v) {
    if (b.known(v).constant || graph.value(v).producer == kNoNode) continue;
    const bool unread = readers[idx(v)].empty();
    if (b.chance(unread ? 85 : 12)) graph.outputs.push_back(v);
  }
  if (graph.outputs.empty()) {
    for (int number = graph.value_count(); number-- > 0;) {
      const ValueId v(number);
      if (b.known(v).constant) continue;
      graph.outputs.push_back(v);
      break;
    }
  }
  if (b.chance(2)) graph.outputs.push_back(graph.inputs[0]);
  // Files name outputs in any order.
  for (std::int64_t i = std::ssize(graph.outputs); i-- > 1;) {
    std::swap(graph.outputs[idx(i)], graph.outputs[idx(b.below(i + 1))]);
  }
}

/// Machines that never were: their plans use what a cheaper kernel or conversion hides on this one.
void draw_rates(Builder& b, Rates& rates) {
  for (double* rate :
       {&rates.gflops_per_lane, &rates.kernel_gb_per_s, &rates.memory_gb_per_s, &rates.cached_mb,
        &rates.copy_gb_per_s, &rates.shuffle_gb_per_s, &rates.generic_gb_per_s, &rates.call_us}) {
    static constexpr double kFactors[] = {0.01, 0.1, 1, 1, 10, 100};
    *rate *= b.one_of(kFactors);
  }
  if (b.chance(50)) rates.reference_elements_per_us = rates.reference_gflops = 1e-3;
}

}  // namespace

Case make_case(std::uint64_t seed) {
  Builder b(seed);
  b.graph.name = "random";
  b.large = b.chance(5);
  const std::int64_t nodes = b.between(3, 20), inputs = b.chance(70) ? 1 : b.between(1, 3);
  while (std::ssize(b.graph.inputs) < inputs) b.attempt(draw_input);
  for (int tries = 0; tries < 300 && b.nodes() < nodes; ++tries) {
    const Move& move = draw_move(b);
    b.attempt(move.run);
  }
  draw_outputs(b);
  Case c;
  c.seed = seed;
  const std::int64_t planner = b.below(20);
  using Planner = PlanOptions::Planner;
  c.options.planner = planner < 14   ? Planner::optimal
                      : planner < 17 ? Planner::rule
                                     : Planner::source;
  static constexpr int kThreads[] = {1, 1, 1, 2, 2};
  c.options.threads = b.one_of(kThreads);
  if (b.chance(35)) draw_rates(b, c.options.rates);
  c.simplified = b.chance(85);
  c.layout_seed = b.chance(35) ? static_cast<std::uint64_t>(b.between(1, 1 << 30)) : 0;
  if (b.chance(20)) b.graph.source_format = DataFormat::nhwc;
  c.graph = std::move(b.graph);
  c.inputs = std::move(b.inputs);
  return c;
}

}  // namespace stowage::random_graphs
