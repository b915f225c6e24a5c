// SPDX-License-Identifier: Apache-2.0
// stowage bench: how long a model takes, from the user's arrays to the user's arrays.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/io/file.h"
#include "cli/layers.h"
#include "cli/model.h"
#include "cli/noise_runs.h"
#include "cli/plan_files.h"
#include "cli/trace.h"
#include "stowage/machine.h"
#include "stowage/plan.h"

namespace stowage::cli {
namespace {

constexpr int kMostRuns = 1'000'000;
constexpr double kMostMinutes = 24 * 60;
// A core that slept computes a model of microseconds at half its speed for the first ones.
constexpr int kLeastWarmup = 3;
constexpr double kLeastWarmupMs = 10;

struct BenchOptions : ModelOptions {
  std::string deploy, deployed_model;
  PlanFiles files;          ///< with the times of steps
  std::string trace;        ///< the file to write, or empty
  std::string thread_list;  ///< as --threads has it, or empty
  int runs = 20;
  std::optional<int> warmup;  ///< else as `kLeastWarmup` and `kLeastWarmupMs` say
  double minutes = 0;         ///< 0: as long as `runs` take
  bool json = false, csv = false, layers = false;
};

/// The time of each step is asked for, not only what all conversions take.
bool wants_steps(const BenchOptions& options) {
  return options.layers || options.files.any() || !options.trace.empty();
}

struct Samples {
  std::vector<double> whole, ports;
  double first = 0;
  int warmup = 0;
  std::vector<std::vector<double>>
      steps;                   ///< microseconds of each step, for each run under profile
  std::vector<double> layers;  ///< the median of each step
  double convert = 0;          ///< milliseconds of those that convert
};

double at(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  // The smallest value that at least this fraction of all does not exceed.
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

Samples samples_of(const BenchOptions& options, const PlanReport& plan, Session& session) {
  NoiseRuns runs(plan, session);
  Samples samples;
  const Stopwatch warmup;
  const auto is_cold = [&] {
    return options.warmup ? samples.warmup < *options.warmup
                          : samples.warmup < kLeastWarmup || warmup.ms() < kLeastWarmupMs;
  };
  samples.first = runs.once().whole;
  for (samples.warmup = 1; is_cold(); ++samples.warmup) runs.once();
  const Stopwatch watch;
  const auto goes_on = [&](int run) {
    return options.minutes > 0
               ? run == 0 || (watch.ms() < options.minutes * 60e3 && run < kMostRuns)
               : run < options.runs;
  };
  for (int i = 0; goes_on(i); ++i) {
    const NoiseRuns::Times times = runs.once();
    samples.whole.push_back(times.whole);
    samples.ports.push_back(times.ports);
  }
  samples.steps = runs.profile(std::min(options.runs, wants_steps(options) ? 20 : 5));
  samples.layers = step_medians(samples.steps);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool converts = plan.steps[i].kind == PlanReport::Step::Kind::convert;
    if (converts) samples.convert += samples.layers[i] / 1e3;
  }
  return samples;
}

/// How much slower the last tenth of the runs is than the first, in percent of it: what a machine
/// that grows warm, or is shared, does to a model that runs for long.
double drift_percent(const std::vector<double>& runs) {
  const auto tenth = static_cast<std::ptrdiff_t>(std::max<std::size_t>(runs.size() / 10, 1));
  const double first = median({runs.begin(), runs.begin() + tenth});
  return 100 * (median({runs.end() - tenth, runs.end()}) / first - 1);
}

/// All that is told of a number of threads, in the order in which it is told.
Json result(const BenchOptions& options, const Loaded& loaded, const PlanReport& plan,
            const Samples& samples) {
  const std::vector<double>& whole = samples.whole;
  Json json;
  json["model"] = model_name(options.model);
  json["device"] = options.device.value_or("cpu");
  json["threads"] = plan.threads;
  json["runs"] = whole.size();
  json["warmup"] = samples.warmup;
  json["min_ms"] = *std::ranges::min_element(whole);
  json["median_ms"] = median(whole);
  json["max_ms"] = *std::ranges::max_element(whole);
  json["p90_ms"] = at(whole, 0.9);
  json["avg_ms"] =
      std::accumulate(whole.begin(), whole.end(), 0.0) / static_cast<double>(whole.size());
  if (options.minutes > 0) json["drift_percent"] = drift_percent(whole);
  json["first_ms"] = samples.first;
  json["convert_ms"] = median(samples.ports) + samples.convert;
  json["import_ms"] = loaded.import_ms;
  json["plan_ms"] = loaded.plan_ms;
  json["peak_bytes"] = plan.arena_bytes + plan.weight_bytes;
  json["arena_bytes"] = plan.arena_bytes;
  json["weight_bytes"] = plan.weight_bytes;
  json["planner"] = plan.planner;
  return json;
}

/// Two, or as many as three significant digits of a shorter time take, down to a nanosecond.
int decimals_of(double ms) {
  return ms > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(ms))), 2, 6) : 2;
}

std::string line(const Json& result, bool several) {
  std::string name = one_line(result["model"].get<std::string>());
  const int threads = result["threads"].get<int>();
  if (several) name += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  const int decimals = decimals_of(result["min_ms"].get<double>());
  std::string out = fmt::format("{:>20}", name);
  for (const char* const key : {"min", "max", "avg", "median"}) {
    out += fmt::format("  {} = {:7.{}f}", key, result[text(key, "_ms")].get<double>(), decimals);
  }
  out += "  ms";
  if (result.contains("drift_percent")) {
    out += fmt::format("  {} runs  drift = {:+.1f} %", result["runs"].get<std::size_t>(),
                       result["drift_percent"].get<double>());
  }
  return out + "\n";
}

/// A line of the keys, then one for each result. A text holds what a model's name may, in quotes.
std::string csv(const std::vector<Json>& results) {
  std::string out;
  const auto field = [](const Json& value) {
    if (!value.is_string()) return value.dump();
    std::string quoted = "\"";
    for (const char c : value.get<std::string>()) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
  };
  for (const auto& [key, value] : results.at(0).items()) out += text(out.empty() ? "" : ",", key);
  out += '\n';
  for (const Json& result : results) {
    std::string row;
    for (const auto& [key, value] : result.items())
      row += text(row.empty() ? "" : ",", field(value));
    out += row + '\n';
  }
  return out;
}

/// What --threads says: numbers of threads to measure one after the other.
std::vector<int> thread_counts(const std::string& list) {
  std::vector<int> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    int threads = 0;
    const auto [stop, error] = std::from_chars(list.data() + begin, list.data() + end, threads);
    if (error != std::errc() || stop != list.data() + end) {
      fail(ErrorCode::usage, "'", one_line(list),
           "' is no number; --threads N[,N...] takes one, or several, such as 1,2,4");
    }
    out.push_back(thread_count(threads));
    begin = end + 1;
  }
  return out;
}

void check_options(const BenchOptions& options) {
  for (const auto& [name, value, least] :
       {std::tuple{"--runs", options.runs, 1},
        std::tuple{"--warmup", options.warmup.value_or(kLeastWarmup), 0}}) {
    if (value < least || value > kMostRuns) {
      fail(ErrorCode::usage, name, " ", value, " is not possible; choose ", least, " to ",
           kMostRuns);
    }
  }
  if (!(options.minutes >= 0 && options.minutes <= kMostMinutes)) {
    fail(ErrorCode::usage, "--minutes ", options.minutes, " is not possible; choose 0 to ",
         kMostMinutes);
  }
  if (options.csv && (options.json || options.layers)) {
    fail(ErrorCode::usage, "--csv has one line for each number of threads; leave out --json and ",
         "--layers");
  }
}

/// Measures, writes the files that were asked for and says so; JSON of the result.
Json measure(BenchOptions& options, const Deployment* deployment, ModelPorts model,
             std::string& told) {
  const auto bind = [&] { return bound_shapes(options, deployment, model); };
  const Loaded loaded = load_model(options, prepare_model(options, model, bind));
  Session session(loaded.plan, loaded.device);
  const PlanReport plan = report(*loaded.plan);
  if (deployment != nullptr) check_outputs(*deployment, session.outputs());
  const Samples samples = samples_of(options, plan, session);
  const std::string name = model_name(options.model);
  told += write_plan_files(options.files, plan, name, samples.layers);
  if (!options.trace.empty()) {
    OutputFile file(options.trace);
    file.write(json_text(trace(plan, name, samples.steps)));
    file.commit();
    told += text("wrote ", one_line(options.trace), "\n");
  }
  Json json = result(options, loaded, plan, samples);
  told += line(json, options.thread_list.find(',') != std::string::npos);
  if (!options.layers) return json;
  std::optional<Peaks> peaks;
  if (loaded.device == nullptr) peaks = measure_peaks(plan.threads);
  told += layers_text(plan, samples.layers, peaks);
  put_layers(json, plan, samples.layers, peaks);
  return json;
}

int run(BenchOptions options, std::ostream& out) {
  check_deploy_options("bench", "MODEL", !options.model.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  check_options(options);
  std::vector<int> threads;
  if (!options.thread_list.empty()) threads = thread_counts(options.thread_list);
  if (threads.size() > 1 && (options.files.any() || !options.trace.empty())) {
    fail(ErrorCode::usage, "a page or a trace is of one number of threads; --threads says ",
         threads.size());
  }
  if (!threads.empty()) options.threads = threads[0];
  const auto deployment = take_deployment(options.deploy, options.deployed_model, options);
  ModelPorts model = model_ports(options.model);
  if (deployment.has_value()) apply_deployment(*deployment, model, options);
  expect_device(options);
  options.profile = wants_steps(options);
  open_device(options);
  const bool words = !options.json && !options.csv;
  if (deployment.has_value() && words) out << deployment_notes(*deployment, options);
  std::vector<Json> results;
  for (std::size_t i = 0; i < std::max<std::size_t>(threads.size(), 1); ++i) {
    if (i > 0) options.threads = threads[i];
    std::string told;
    results.push_back(
        measure(options, deployment.has_value() ? &*deployment : nullptr, model, told));
    if (words) out << told << std::flush;
  }
  if (options.csv) out << csv(results);
  if (options.json) out << json_text(threads.size() > 1 ? Json(results) : results[0]) << "\n";
  return 0;
}

}  // namespace

Command add_bench(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure how long a model takes");
  command->footer(
      "The inputs are noise, the same in every run. A run is what a user waits for: the inputs "
      "are\n"
      "moved into the plan's layouts, the model is computed, the outputs are moved back.\n"
      "All times are milliseconds. convert_ms is what of a run goes into moving; first_ms is the\n"
      "very first run.");
  add_model_options(command, *options);
  add_deploy_options(command, options->deploy, options->deployed_model);
  add_format_options(command, *options);
  add_tune_option(command, *options);
  command->remove_option(command->get_option("--threads"));  // here it may be several
  command
      ->add_option("--threads", options->thread_list,
                   "Threads to use, or several numbers to measure one after the other, such as "
                   "1,2,4 (default: every CPU)")
      ->type_name("N[,N...]");
  command->add_option("--runs", options->runs, "Runs that count (default 20)")->type_name("N");
  command
      ->add_option("--warmup", options->warmup,
                   "Runs before those (default: as many as take 10 ms, and at least 3)")
      ->type_name("N");
  command
      ->add_option("--minutes", options->minutes,
                   "Run for so long instead, and tell by how much the last tenth of the runs is "
                   "slower than the first")
      ->type_name("N");
  command->add_flag(
      "--layers", options->layers,
      "Tell the time of each step, too, what was predicted, and on the CPU how near it "
      "is to what this machine can do, with the five that are furthest and why; a "
      "device measures itself then, which makes a run a little slower");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  command->add_flag("--csv", options->csv,
                    "Print lines of comma-separated values and nothing else: the names of the "
                    "columns, then one for each number of threads");
  add_plan_files(command, options->files, "; with the measured time of each step");
  command
      ->add_option("--trace", options->trace,
                   "Write up to 20 runs in Chrome's trace format, for ui.perfetto.dev: each step "
                   "and conversion with its layouts, and how much of the arena is in use")
      ->type_name("FILE");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
