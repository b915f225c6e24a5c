// SPDX-License-Identifier: Apache-2.0
// stowage calibrate: what this machine does a second, for the planner.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/rates.h"
#include "graph/op_def.h"
#include "plan/build.h"
#include "plan/plan.h"
#include "stowage/convert.h"

namespace stowage::cli {
namespace {

/// Microseconds of one call: the lower quartile of samples that last long enough to be timed.
/// Others may be using the machine; what they take away is not what it can do.
template <class F>
double measure(F&& work) {
  constexpr double kSampleMs = 1.5, kBudgetMs = 90;
  work();
  std::vector<double> samples;
  int calls = 1;
  const Stopwatch whole;
  while (samples.size() < 5 || whole.ms() < kBudgetMs) {
    const Stopwatch watch;
    for (int i = 0; i < calls; ++i) work();
    const double ms = watch.ms();
    if (ms < kSampleMs && calls < (1 << 20)) {
      calls *= 2;
      continue;
    }
    samples.push_back(ms * 1e3 / calls);
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 4];
}

/// Bytes read and written in a nanosecond.
double conversion_rate(const Shape& shape, const Layout& from, const Layout& to) {
  const Tensor source(DType::f32, shape, from);
  Tensor target(DType::f32, shape, to);
  const Conversion conversion(DType::f32, source.mapping(), DType::f32, target.mapping());
  const double us = measure([&] { conversion.run(source.data(), target.data()); });
  return static_cast<double>(conversion.bytes_moved()) / (us * 1e3);
}

/// A graph of one input, made node by node.
class Net {
 public:
  explicit Net(std::initializer_list<std::int64_t> extents) : graph_(std::make_shared<Graph>()) {
    Value v;
    v.name = "x";
    v.shape = Shape("abcd", extents);
    last_ = graph_->add_value(std::move(v));
    graph_->inputs = {last_};
  }

  void add(std::string_view op, std::initializer_list<std::int64_t> weights = {}) {
    Node n;
    n.op = find_op(op);
    n.name = std::string(op);
    n.inputs = {last_};
    if (weights.size() != 0) {
      n.inputs.push_back(graph_->add_constant("w", Tensor(DType::f32, Shape("abcd", weights))));
      n.attrs.set("pads", Ints{1, 1, 1, 1});
    }
    Value v;
    v.name = "y";
    last_ = graph_->add_value(std::move(v));
    n.outputs = {last_};
    graph_->add_node(std::move(n));
  }

  const std::shared_ptr<Graph>& finish() {
    graph_->outputs = {last_};
    infer_shapes(*graph_);
    name_axes(*graph_);
    return graph_;
  }

 private:
  std::shared_ptr<Graph> graph_;
  ValueId last_ = kNoValue;
};

/// Microseconds of one run of the steps, without model inputs and outputs.
double session_us(const std::shared_ptr<Graph>& graph, PlanOptions::Planner planner) {
  PlanOptions options;
  options.planner = planner;
  options.simplify = false;
  Session session(make_plan(graph, options));
  session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
  return measure([&] { session.run(); });
}

double reference_us(const std::shared_ptr<Graph>& graph) {
  const NodeRef node(*graph, 0);
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
  return measure([&] { run_reference(node, views.in, views.out); });
}

/// GFLOP/s that a lane reaches in a convolution, divided by the efficiency that the kernel claims.
double convolution_rate() {
  Net net({1, 64, 56, 56});
  net.add("conv", {64, 64, 3, 3});
  const std::shared_ptr<Graph>& graph = net.finish();
  const plan::Decision decision = plan::decide(*graph, {});
  const plan::Option& option =
      decision.table.options[0][static_cast<std::size_t>(decision.chosen.choice[0])];
  const double flops = 2.0 * 64 * 64 * 9 * 56 * 56;
  const double us = session_us(graph, PlanOptions::Planner::optimal);
  return flops / (us * 1e3) / decision.target.lanes / std::max(option.offer.efficiency, 0.01);
}

Rates measure_rates() {
  const int lanes = host_target(1).lanes;
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
  rates.gflops_per_lane = convolution_rate();

  Net loop({1, 64, 28, 28});
  loop.add("sigmoid");
  rates.reference_elements_per_us = 64 * 28 * 28 / reference_us(loop.finish());
  Net sum({1, 16, 14, 14});
  sum.add("conv", {16, 16, 3, 3});
  rates.reference_gflops = 2.0 * 16 * 16 * 9 * 14 * 14 / (reference_us(sum.finish()) * 1e3);
  return rates;
}

struct CalibrateOptions {
  std::string file;
  bool json = false, dry = false;
};

int run(const CalibrateOptions& options, std::ostream& out) {
  const std::string file = options.file.empty() ? rates_file() : options.file;
  if (file.empty() && !options.dry) {
    fail(ErrorCode::usage, "there is no home to keep the rates in; use --rates FILE");
  }
  const Rates rates = measure_rates(), usual;
  if (!options.dry) save_rates(file, rates);
  if (options.json) {
    Json json;
    json["machine"] = processor_name();
    for (const RateName& r : rate_names()) json["rates"][r.name] = rates.*r.member;
    out << json_text(json) << "\n";
    return 0;
  }
  for (const RateName& r : rate_names()) {
    out << fmt::format("{:26} {:9.2f} {:8} {} (built in: {:g})\n", r.name, rates.*r.member, r.unit,
                       r.meaning, usual.*r.member);
  }
  if (!options.dry) out << "kept in " << one_line(file) << "\n";
  return 0;
}

}  // namespace

Command add_calibrate(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine for the planner, in about a second");
  command->footer(
      "The rates are kept by machine in XDG_CONFIG_HOME/stowage/rates.json (~/.config unless set)\n"
      "and used by run, plan and bench from then on; '--rates default' does without them.");
  command->add_option("--rates", options->file, "Keep them in this file")->type_name("FILE");
  command->add_flag("--dry-run", options->dry, "Measure and print, keep nothing");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
