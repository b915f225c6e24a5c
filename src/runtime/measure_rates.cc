// SPDX-License-Identifier: Apache-2.0
// What this machine does a second, for the planner: timed, each rate alone.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/caches.h"
#include "graph/op_def.h"
#include "plan/build.h"
#include "runtime/measure.h"
#include "stowage/convert.h"
#include "stowage/machine.h"

namespace stowage {

namespace {

/// Bytes read and written in a nanosecond.
double conversion_rate(const Shape& shape, const Layout& from, const Layout& to) {
  const Tensor source(DType::f32, shape, from);
  Tensor target(DType::f32, shape, to);
  const Conversion conversion(DType::f32, source.mapping(), DType::f32, target.mapping());
  const double us = measure_us([&] { conversion.run(source.data(), target.data()); });
  return static_cast<double>(conversion.bytes_moved()) / (us * 1e3);
}

/// A chain from one input.
class Net {
 public:
  explicit Net(const Ints& extents) : last_(graph_.input(extents)) {}

  void add(std::string_view op, const Ints& weights = {}) {
    std::vector<ValueId> inputs = {last_};
    std::map<std::string, Attribute> attrs;
    if (!weights.empty()) {
      inputs.push_back(graph_.constant(plain_tensor(weights)));
      attrs["pads"] = Ints{1, 1, 1, 1};
    }
    last_ = graph_.node(op, attrs, std::move(inputs))[0];
  }

  std::shared_ptr<Graph> finish() { return graph_.finish({last_}); }

 private:
  SmallGraph graph_;
  ValueId last_;
};

PlanOptions options_with(PlanOptions::Planner planner) {
  PlanOptions options;
  options.planner = planner;
  options.simplify = false;
  options.exact = true;  // a convolution does the flops that are counted
  return options;
}

/// Microseconds of one run of the steps, without model inputs and outputs.
double session_us(const std::shared_ptr<Graph>& graph, PlanOptions::Planner planner) {
  Session session(make_plan(graph, options_with(planner)));
  session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
  return measure_us([&] { session.run(); });
}

double reference_us(const std::shared_ptr<Graph>& graph) {
  const NodeRef node(*graph, NodeId(0));
  ReferenceViews views(node);
  std::vector<Tensor> tensors;
  const auto bind = [&](const std::vector<ValueId>& values, auto& list) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      tensors.emplace_back(graph->value(values[i]).dtype, graph->value(values[i]).shape);
      list[i].data = tensors.back().data();
    }
  };
  bind(node.node().inputs, views.in);
  bind(node.node().outputs, views.out);
  return measure_us([&] { run_reference(node, views.in, views.out); });
}

/// GFLOP/s that a lane reaches in a convolution, divided by the efficiency that the kernel claims.
double convolution_rate() {
  Net net({1, 64, 56, 56});
  net.add("conv", {64, 64, 3, 3});
  const std::shared_ptr<Graph> graph = net.finish();
  const plan::Decision decision = plan::decide(*graph, options_with(PlanOptions::Planner::optimal));
  const plan::Option& option =
      decision.table.options[0][static_cast<std::size_t>(decision.chosen.choice[0])];
  const double flops = 2.0 * 64 * 64 * 9 * 56 * 56;
  const double us = session_us(graph, PlanOptions::Planner::optimal);
  return flops / (us * 1e3) / decision.target.lanes / std::max(option.offer.efficiency, 0.01);
}

}  // namespace

int vector_lanes() { return host_target(1).lanes; }

Rates measure_rates() {
  const int lanes = vector_lanes();
  const Shape shape("nchw", {1, 64, 112, 112});
  const Layout nchw = Layout::row_major(shape), nhwc = Layout::parse("n h w c"),
               blocked = Layout::blocked(shape, 1, lanes);
  Rates rates;
  // Runs of one channel, as where batches and channels change places.
  rates.copy_gb_per_s =
      conversion_rate(Shape("nchw", {4, 64, 56, 56}), nchw, Layout::parse("CNHW"));
  double us_per_gb = 0;
  const std::array<std::pair<Layout, Layout>, 4> shuffles = {
      {{nchw, nhwc}, {nhwc, nchw}, {nchw, blocked}, {blocked, nchw}}};
  for (const auto& [from, to] : shuffles) us_per_gb += 1 / conversion_rate(shape, from, to);
  rates.shuffle_gb_per_s = static_cast<double>(shuffles.size()) / us_per_gb;
  // Digits in the opposite order: nothing is left to move together.
  const Shape reversed("abcdefgh", {3, 5, 3, 7, 5, 7, 3, 5});
  rates.generic_gb_per_s =
      conversion_rate(reversed, Layout::row_major(reversed), Layout::parse("h g f e d c b a"));

  Net tiny({1, 4, 2, 2});
  constexpr int kTiny = 32;
  for (int i = 0; i < kTiny; ++i) tiny.add("relu");
  rates.call_us = session_us(tiny.finish(), PlanOptions::Planner::source) / kTiny;

  Net wide({1, 64, 112, 112});
  wide.add("relu");
  const double bytes = 2.0 * 4 * 64 * 112 * 112;
  rates.kernel_gb_per_s = bytes / (session_us(wide.finish(), PlanOptions::Planner::source) * 1e3);
  rates.memory_gb_per_s = memory_gb_per_s();
  rates.cached_mb = static_cast<double>(host_caches().l3) / 2e6;  // others use it, too
  rates.gflops_per_lane = convolution_rate();

  Net loop({1, 64, 28, 28});
  loop.add("sigmoid");
  rates.reference_elements_per_us = 64 * 28 * 28 / reference_us(loop.finish());
  Net sum({1, 16, 14, 14});
  sum.add("conv", {16, 16, 3, 3});
  rates.reference_gflops = 2.0 * 16 * 16 * 9 * 14 * 14 / (reference_us(sum.finish()) * 1e3);
  return rates;
}

}  // namespace stowage
