// SPDX-License-Identifier: Apache-2.0
// stowage bench: how long a model takes, from the user's arrays to the user's arrays.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/io/file.h"
#include "cli/model.h"
#include "cli/plan_files.h"
#include "cli/trace.h"
#include "stowage/plan.h"

namespace stowage::cli {
namespace {

constexpr int kMostRuns = 1'000'000;

struct BenchOptions : ModelOptions {
  std::string deploy, deployed_model;
  PlanFiles files;    ///< with the times of steps
  std::string trace;  ///< the file to write, or empty
  int runs = 20, warmup = 3;
  bool json = false, layers = false;
};

/// The time of each step is asked for, not only what all conversions take.
bool wants_steps(const BenchOptions& options) {
  return options.layers || options.files.any() || !options.trace.empty();
}

/// Deterministic noise: f32 between -1 and 1, other types 0 or 1, which every index allows.
class Noise {
 public:
  void fill(Tensor& tensor) {
    const auto cells = static_cast<std::size_t>(tensor.mapping().cells());
    for (std::size_t i = 0; i < cells; ++i) {
      const std::uint32_t bits = next();
      switch (tensor.dtype()) {
        case DType::f32:
          tensor.as<float>()[i] = real(bits);
          break;
        case DType::f64:
          tensor.as<double>()[i] = real(bits);
          break;
        // 1.0 or 0.5 with either sign, without arithmetic on halves.
        case DType::f16:
          tensor.as<std::uint16_t>()[i] =
              static_cast<std::uint16_t>(0x3800 | (bits >> 31) << 15 | (bits >> 20 & 1) << 10);
          break;
        case DType::bf16:
          tensor.as<std::uint16_t>()[i] =
              static_cast<std::uint16_t>(0x3f00 | (bits >> 31) << 15 | (bits >> 20 & 1) << 7);
          break;
        default: {
          // The low byte of any integer.
          const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype()));
          tensor.data()[i * width] = static_cast<std::byte>(bits >> 31);
        }
      }
    }
  }

 private:
  std::uint32_t next() { return state_ = state_ * 1664525u + 1013904223u; }

  static float real(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) / static_cast<float>(1 << 23) - 1;
  }

  std::uint32_t state_ = 42;
};

/// Milliseconds of one run (set_input, run, read_output), and of what of it is not `run`.
struct Times {
  double whole = 0, ports = 0;
};

struct Samples {
  std::vector<double> whole, ports;
  double first = 0;
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

class Bench {
 public:
  Bench(const PlanReport& plan, Session& session) : plan_(plan), session_(session) {
    Noise noise;
    for (const PlanReport::Boundary& input : plan.inputs) {
      inputs_.emplace_back(input.port.dtype, input.port.shape, input.layout);
      noise.fill(inputs_.back());
    }
    for (const PlanReport::Boundary& output : plan.outputs) {
      outputs_.emplace_back(output.port.dtype, output.port.shape, output.layout);
    }
  }

  Samples measure(const BenchOptions& options) {
    Samples samples;
    samples.first = once().whole;
    for (int i = 1; i < options.warmup; ++i) once();
    for (int i = 0; i < options.runs; ++i) {
      const Times times = once();
      samples.whole.push_back(times.whole);
      samples.ports.push_back(times.ports);
    }
    profile(std::min(options.runs, wants_steps(options) ? 20 : 5), samples);
    return samples;
  }

 private:
  Times once() {
    const Stopwatch watch;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      session_.set_input(static_cast<int>(i), inputs_[i].view());
    }
    const double given = watch.ms();
    session_.run();
    const double ran = watch.ms();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      session_.read_output(static_cast<int>(i), outputs_[i].mutable_view());
    }
    const double whole = watch.ms();
    return {whole, given + (whole - ran)};
  }

  /// In runs of their own, for the clock between steps takes time itself.
  void profile(int runs, Samples& samples) {
    session_.profile(true);
    for (int r = 0; r < runs; ++r) {
      session_.run();
      const auto times = session_.step_us();
      samples.steps.emplace_back(times.begin(), times.end());
    }
    session_.profile(false);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      std::vector<double> all;
      for (const std::vector<double>& run : samples.steps) all.push_back(run[i]);
      samples.layers.push_back(median(std::move(all)));
      const bool converts = plan_.steps[i].kind == PlanReport::Step::Kind::convert;
      if (converts) samples.convert += samples.layers[i] / 1e3;
    }
  }

  const PlanReport& plan_;
  Session& session_;
  std::vector<Tensor> inputs_, outputs_;
};

/// What is spent in a kernel, or in all conversions.
struct KernelTime {
  std::string kernel;
  int steps = 0;
  double us = 0;
};

/// The slowest first.
std::vector<KernelTime> kernel_times(const PlanReport& plan, const std::vector<double>& layers) {
  std::vector<KernelTime> out;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const PlanReport::Step& step = plan.steps[i];
    const bool convert = step.kind == PlanReport::Step::Kind::convert;
    const std::string kernel = convert ? "convert" : step.kernel;
    auto known = std::ranges::find(out, kernel, &KernelTime::kernel);
    if (known == out.end()) known = out.insert(out.end(), {kernel});
    ++known->steps;
    known->us += layers[i];
  }
  std::ranges::stable_sort(out, std::greater(), &KernelTime::us);
  return out;
}

/// Every step with its share, in the order in which they run, and the sums of each kernel.
std::string layers_text(const PlanReport& plan, const std::vector<double>& layers) {
  const double sum = std::max(std::accumulate(layers.begin(), layers.end(), 0.0), 1e-9);
  std::string out;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const PlanReport::Step& step = plan.steps[i];
    const bool convert = step.kind == PlanReport::Step::Kind::convert;
    out +=
        fmt::format("{:10.1f} us {:5.1f} %  {:<18} {:<18} {}\n", layers[i], 100 * layers[i] / sum,
                    convert ? "convert" : step.kernel, step.op, one_line(step.name));
  }
  out += fmt::format("{:10.1f} us in all\n", sum);
  for (const KernelTime& kernel : kernel_times(plan, layers)) {
    out +=
        fmt::format("{:10.1f} us {:5.1f} %  {:<18} {} step{}\n", kernel.us, 100 * kernel.us / sum,
                    kernel.kernel, kernel.steps, kernel.steps == 1 ? "" : "s");
  }
  return out;
}

Json layers_json(const PlanReport& plan, const std::vector<double>& layers) {
  Json all = Json::array();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const PlanReport::Step& step = plan.steps[i];
    Json one;
    one["name"] = step.name;
    one["op"] = step.op;
    one["kernel"] = step.kernel;
    one["us"] = layers[i];
    all.push_back(one);
  }
  return all;
}

int run(BenchOptions options, std::ostream& out) {
  check_deploy_options("bench", "MODEL", !options.model.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  for (const auto& [name, value, least] :
       {std::tuple{"--runs", options.runs, 1}, std::tuple{"--warmup", options.warmup, 0}}) {
    if (value < least || value > kMostRuns) {
      fail(ErrorCode::usage, name, " ", value, " is not possible; choose ", least, " to ",
           kMostRuns);
    }
  }
  const auto deployment = take_deployment(options.deploy, options.deployed_model, options);
  ModelPorts model = model_ports(options.model);
  if (deployment.has_value()) apply_deployment(*deployment, model, options);
  check_device(options, false);
  options.profile = wants_steps(options);
  open_device(options);
  if (deployment.has_value() && !options.json) out << deployment_notes(*deployment, options);
  const auto bind = [&] {
    return bound_shapes(options, deployment.has_value() ? &*deployment : nullptr, model);
  };
  const Loaded loaded = load_model(options, prepare_model(options, model, bind));
  Session session(loaded.plan, loaded.device);
  const PlanReport plan = report(*loaded.plan);
  if (deployment.has_value()) check_outputs(*deployment, session.outputs());
  const Samples samples = Bench(plan, session).measure(options);
  const double least = *std::min_element(samples.whole.begin(), samples.whole.end());
  const double most = *std::max_element(samples.whole.begin(), samples.whole.end());
  const double average = std::accumulate(samples.whole.begin(), samples.whole.end(), 0.0) /
                         static_cast<double>(samples.whole.size());
  const std::string name = model_name(options.model);
  std::string wrote = write_plan_files(options.files, plan, name, samples.layers);
  if (!options.trace.empty()) {
    OutputFile file(options.trace);
    file.write(json_text(trace(plan, name, samples.steps)));
    file.commit();
    wrote += text("wrote ", one_line(options.trace), "\n");
  }
  if (!options.json) {
    out << wrote
        << fmt::format(
               "{:>20}  min = {:7.2f}  max = {:7.2f}  avg = {:7.2f}  median = {:7.2f}  ms\n",
               one_line(name), least, most, average, median(samples.whole));
    if (options.layers) out << layers_text(plan, samples.layers);
    return 0;
  }
  Json json;
  json["model"] = name;
  json["device"] = options.device.value_or("cpu");
  json["threads"] = plan.threads;
  json["runs"] = options.runs;
  json["warmup"] = options.warmup;
  json["min_ms"] = least;
  json["median_ms"] = median(samples.whole);
  json["max_ms"] = most;
  json["p90_ms"] = at(samples.whole, 0.9);
  json["avg_ms"] = average;
  json["first_ms"] = samples.first;
  json["convert_ms"] = median(samples.ports) + samples.convert;
  json["import_ms"] = loaded.import_ms;
  json["plan_ms"] = loaded.plan_ms;
  json["peak_bytes"] = plan.arena_bytes + plan.weight_bytes;
  json["arena_bytes"] = plan.arena_bytes;
  json["weight_bytes"] = plan.weight_bytes;
  json["planner"] = plan.planner;
  if (options.layers) {
    json["layers"] = layers_json(plan, samples.layers);
    for (const KernelTime& kernel : kernel_times(plan, samples.layers)) {
      json["kernels"].push_back(
          {{"kernel", kernel.kernel}, {"steps", kernel.steps}, {"us", kernel.us}});
    }
  }
  out << json_text(json) << "\n";
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
  command->add_option("--runs", options->runs, "Runs that count (default 20)")->type_name("N");
  command->add_option("--warmup", options->warmup, "Runs before those (default 3)")->type_name("N");
  command->add_flag("--layers", options->layers,
                    "Tell the time of each step, too; on a device it measures itself then, which "
                    "makes a run a little slower");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
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
