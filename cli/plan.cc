// SPDX-License-Identifier: Apache-2.0
// stowage plan: which layouts and kernels the planner chose, and why.
#include "stowage/plan.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/trail.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/model.h"
#include "cli/noise_runs.h"
#include "cli/plan_files.h"
#include "cli/plan_summary.h"
#include "stowage/report.h"

namespace stowage::cli {
namespace {

struct PlanCommandOptions : ModelOptions {
  bool json = false, summary = false, measure = false;
  PlanFiles files;
  std::string why_not, deploy, deployed_model;
};

/// NODE=LAYOUT; a layout never holds '=', a name may.
WhyNot answer(const PlanCommandOptions& options, const Prepared& prepared) {
  const std::size_t at = options.why_not.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == options.why_not.size()) {
    fail(ErrorCode::usage, "--why-not '", options.why_not,
         "' is not understood; write NODE=LAYOUT, such as conv1=NHWC");
  }
  return stowage::why_not(prepared.graph, prepared.options, options.why_not.substr(0, at),
                          options.why_not.substr(at + 1));
}

/// Medians of each step, of up to 20 runs in three seconds.
std::vector<double> measured_steps(const Loaded& loaded, const PlanReport& plan) {
  constexpr int kWarmUp = 2, kRuns = 20;
  constexpr double kMs = 3000;
  Session session(loaded.plan, loaded.device);
  NoiseRuns runs(plan, session);
  const Stopwatch watch;
  for (int i = 0; i == 0 || (i < kWarmUp && watch.ms() < kMs); ++i) runs.once();
  return step_medians(runs.profile(kRuns, kMs));
}

void check_measure(const PlanCommandOptions& options) {
  if (!options.measure) return;
  if (!options.why_not.empty()) {
    fail(ErrorCode::usage, "--why-not asks for plans that are not run; leave out --measure");
  }
  if (!options.device_limits.empty()) {
    fail(ErrorCode::usage,
         "--device-limits plans for a device that is not here; leave out --measure");
  }
}

int run(PlanCommandOptions options, std::ostream& out) {
  check_measure(options);
  check_deploy_options("plan", "MODEL", !options.model.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  parse_planner(options.planner);
  const auto deployment = take_deployment(options.deploy, options.deployed_model, options);
  ModelPorts model = model_ports(options.model);
  if (deployment.has_value()) apply_deployment(*deployment, model, options);
  expect_device(options);
  options.profile = options.measure;
  // A file of limits says all that a plan needs.
  if (options.device_limits.empty()) open_device(options);
  if (deployment.has_value() && !options.json) out << deployment_notes(*deployment, options);
  Prepared prepared = prepare_model(options, model, [&] {
    return bound_shapes(options, deployment.has_value() ? &*deployment : nullptr, model);
  });
  if (deployment.has_value()) check_outputs(*deployment, output_ports(*prepared.graph));
  const Trail trail("planning", options.model);
  if (!options.why_not.empty()) {
    const WhyNot found = answer(options, prepared);
    out << (options.json ? why_not_json(found) + "\n" : explain(found));
    return 0;
  }
  // Where nothing is run, the graph stays, so that the plan leaves its constants where they are.
  std::shared_ptr<Graph> graph;
  if (!options.measure) graph = prepared.graph;
  const Loaded loaded = load_model(options, std::move(prepared));
  const PlanReport told = report(*loaded.plan);
  std::vector<double> step_us;
  if (options.measure) step_us = measured_steps(loaded, told);
  const std::string name = model_name(options.model);
  const std::string wrote = write_plan_files(options.files, told, name, step_us);
  if (options.json) {
    out << plan_json(told, name, step_us) << "\n";
    return 0;
  }
  out << wrote;
  if (options.summary) {
    out << plan_summary(told, name, step_us);
  } else if (!options.files.any()) {
    out << explain(*loaded.plan, step_us);
  }
  return 0;
}

}  // namespace

Command add_plan(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Explain the plan of a model: layouts, kernels, conversions, and what lost");
  command->footer(
      "Each operator is told with the way it runs, the ways that lost with what they would cost\n"
      "alone, and the conversions into and out of it. docs/planning.md explains the words.");
  add_model_options(command, *options);
  add_deploy_options(command, options->deploy, options->deployed_model);
  add_format_options(command, *options);
  CLI::Option* json = command->add_flag("--json", options->json, "Print JSON and nothing else");
  command
      ->add_flag("--summary", options->summary,
                 "Print ten lines: layouts, conversions, the kernels that take most time, memory")
      ->excludes(json);
  command->add_flag("--measure", options->measure,
                    "Run the model on noise, too, at most 20 times, and tell beside what was "
                    "predicted of each operator and conversion what it took");
  add_plan_files(command, options->files, "");
  command
      ->add_option("--why-not", options->why_not,
                   "What it would cost to run one operator in another layout, such as "
                   "conv1=NHWC, or #3=nChw16c for the third of the plan")
      ->type_name("NODE=LAYOUT");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
