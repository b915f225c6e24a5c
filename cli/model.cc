// SPDX-License-Identifier: Apache-2.0
#include "cli/model.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/cpus.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "cli/rates.h"
#include "stowage/plan.h"

namespace stowage::cli {

std::string listed(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) out += text(out.empty() ? "" : ", ", "'", name, "'");
  return out.empty() ? "none" : out;
}

std::pair<std::string, std::string> assign(std::string_view option, const std::string& item,
                                           std::span<const std::string> names) {
  auto [name, value] = split_assignment(item, names);
  if (!name.has_value() && names.size() == 1) name = names[0];
  if (!name.has_value()) {
    fail(ErrorCode::usage, option, " '", item, "' names none of ", listed(names),
         "; write NAME=VALUE");
  }
  if (std::find(names.begin(), names.end(), *name) == names.end()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    fail(ErrorCode::usage, option, " names '", *name, "'; the model has ", listed(names),
         did_you_mean(*name, known));
  }
  return {*name, value};
}

void add_model_file(CLI::App* command, ModelOptions& options) {
  command
      ->add_option("MODEL", options.model, "The model, an ONNX or TFLite file or a .param of ncnn")
      ->required();
  command
      ->add_option("--shape", options.shapes,
                   "Extents of an input, such as data=1,3,224,224 or 1x3x224x224; the name may be "
                   "left out when there is one input. May be given for each input")
      ->type_name("NAME=SHAPE")
      ->allow_extra_args(false);
}

void add_model_options(CLI::App* command, ModelOptions& options) {
  add_model_file(command, options);
  command
      ->add_option("--weights", options.weights,
                   "The .bin of an ncnn model (default: the one of the same name beside it)")
      ->type_name("FILE");
  command->add_flag("--generated-weights", options.generated_weights,
                    "Make up the weights of an ncnn model and read no .bin: to measure times");
  command
      ->add_option("--planner", options.planner,
                   "optimal (the default), rule (MACE's lists and forward pass) or source (every "
                   "tensor in the model's own order)")
      ->type_name("optimal|rule|source");
  command->add_flag("--exact", options.exact,
                    "On the CPU add up the products that the model asks for: no convolution by "
                    "Winograd's method, which is faster but rounds more");
  command
      ->add_option("--rates", options.rates,
                   "What 'stowage calibrate' measured (default: the file it writes); round numbers "
                   "where there is none, or with 'default'")
      ->type_name("FILE");
  add_device_options(command, options, options.threads);
}

void add_format_options(CLI::App* command, ModelOptions& options) {
  command
      ->add_option("--input-format", options.input_formats,
                   "The order in which an input is given, when it is not the model's: NAME=NCHW, "
                   "NAME=NHWC or NAME=NONE")
      ->type_name("NAME=FORMAT")
      ->allow_extra_args(false);
  command
      ->add_option("--output-format", options.output_formats,
                   "The order in which an output is wanted, likewise")
      ->type_name("NAME=FORMAT")
      ->allow_extra_args(false);
}

int thread_count(const std::optional<int>& threads) {
  constexpr int kMost = 256;
  if (!threads.has_value()) return std::clamp(available_cpus(), 1, kMost);
  if (*threads < 1 || *threads > kMost) {
    fail(ErrorCode::usage, "--threads ", *threads, " is not possible; choose 1 to ", kMost);
  }
  return *threads;
}

PlanOptions::Planner parse_planner(const std::string& planner) {
  if (planner == "optimal") return PlanOptions::Planner::optimal;
  if (planner == "source") return PlanOptions::Planner::source;
  if (planner == "rule") return PlanOptions::Planner::rule;
  fail(ErrorCode::usage, "--planner '", planner, "' is unknown; choose optimal, source or rule");
}

std::pair<std::optional<std::string>, std::string> split_assignment(
    const std::string& text, std::span<const std::string> names) {
  std::size_t at = text.find('=');
  std::size_t longest = 0;
  for (const std::string& name : names) {
    if (name.size() >= longest && text.size() > name.size() && text[name.size()] == '=' &&
        text.starts_with(name)) {
      longest = at = name.size();
    }
  }
  if (at == std::string::npos) return {std::nullopt, text};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::int64_t> parse_extents(const std::string& text) {
  std::string_view rest = text;
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  std::vector<std::int64_t> out;
  const auto blanks = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  };
  blanks();
  while (!rest.empty()) {
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    blanks();
    const bool last = rest.empty();
    if (problem != std::errc() || extent < 0 || (!last && rest[0] != ',' && rest[0] != 'x')) {
      fail(ErrorCode::usage, "'", text, "' is no shape; write 1,3,224,224 or NAME=1,3,224,224");
    }
    out.push_back(extent);
    if (!last) {
      rest.remove_prefix(1);
      blanks();
      if (rest.empty())
        fail(ErrorCode::usage, "'", text, "' is no shape; write 1,3,224,224 or NAME=1,3,224,224");
    }
  }
  return out;
}

Shapes parse_shapes(const std::vector<std::string>& list, std::span<const ModelInput> inputs) {
  const std::vector<std::string> names = names_of(inputs);
  Shapes shapes;
  for (const std::string& item : list) {
    const auto [name, value] = assign("--shape", item, names);
    if (!shapes.emplace(name, parse_extents(value)).second) {
      fail(ErrorCode::usage, "--shape names '", name, "' twice");
    }
  }
  return shapes;
}

namespace {

/// What the command line says, and of others what the deployment file does.
Formats with_deployed(Formats formats, const Formats& deployed) {
  formats.insert(deployed.begin(), deployed.end());
  return formats;
}

}  // namespace

Formats input_formats(const ModelOptions& options, std::span<const std::string> names) {
  return with_deployed(parse_formats("--input-format", options.input_formats, names),
                       options.deployed_inputs);
}

std::vector<std::string> names_of(std::span<const ModelInput> inputs) {
  std::vector<std::string> names;
  for (const ModelInput& input : inputs) names.push_back(input.name);
  return names;
}

std::vector<std::string> names_of(std::span<const Port> ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

Prepared prepare_model(const ModelOptions& options, const Shapes& shapes,
                       const std::map<std::string, Tensor>& known) {
  Prepared prepared;
  prepared.options.threads = thread_count(options.threads);
  prepared.options.planner = parse_planner(options.planner);
  prepared.options.exact = options.exact;
  const MachineRates machine = load_rates(options.rates);
  prepared.options.rates = machine.rates;
  set_conversion_tuning(machine.conversions);
  prepared.options.device = device_options(options, options.rates);
  const Stopwatch watch;
  std::optional<Trail> shapes_from;
  if (!options.shapes_from.empty()) shapes_from.emplace("with the shapes of", options.shapes_from);
  ImportOptions import_options;
  import_options.shapes = shapes;
  import_options.known = known;
  import_options.weights = options.weights;
  import_options.generate_weights = options.generated_weights;
  prepared.graph = import_model(options.model, import_options);
  {
    const Trail trail("preparing", options.model);
    simplify(*prepared.graph);
  }
  prepared.import_ms = watch.ms();
  const std::vector<Port> inputs = input_ports(*prepared.graph);
  const std::vector<Port> outputs = output_ports(*prepared.graph);
  prepared.input_formats = formats_of(input_formats(options, names_of(inputs)), inputs);
  prepared.output_formats = formats_of(
      with_deployed(parse_formats("--output-format", options.output_formats, names_of(outputs)),
                    options.deployed_outputs),
      outputs);
  prepared.options.formats = prepared.output_formats;
  prepared.options.formats.insert(prepared.input_formats.begin(), prepared.input_formats.end());
  return prepared;
}

Prepared prepare_model(const ModelOptions& options, ModelPorts& model,
                       const std::function<Shapes()>& bind) {
  std::vector<ModelInput*> inputs;  // whose format the user says
  const Formats said = input_formats(options, names_of(model.inputs));
  for (ModelInput& input : model.inputs) {
    const auto at = said.find(input.name);
    if (at != said.end() && at->second.format != DataFormat::none) inputs.push_back(&input);
  }
  Prepared prepared;
  Shapes bound;
  std::optional<Error> first;
  // As files of this kind have it, as the names say, and once to see that both agree.
  constexpr int kMostRounds = 3;
  for (int round = 0; round < kMostRounds; ++round) {
    try {
      const Shapes shapes = bind();
      if (prepared.graph == nullptr || shapes != bound) prepared = prepare_model(options, shapes);
      bound = shapes;
    } catch (const Error& error) {
      if (first.has_value()) throw *first;
      if (round > 0 || error.code() != ErrorCode::bad_input || inputs.empty()) throw;
      first = error;
      for (ModelInput* input : inputs) input->format = other_format(input->format);
      continue;
    }
    bool agree = true;
    for (ModelInput* input : inputs) {
      for (const Port& port : input_ports(*prepared.graph)) {
        if (port.name != input->name) continue;
        agree &= port.data_format == input->format;
        input->format = port.data_format;
      }
    }
    if (agree) return prepared;
  }
  fail(ErrorCode::bad_input, options.shapes_from, options.shapes_from.empty() ? "" : ": ",
       "the shapes given do not fit the order in which the model has its inputs; give them in the "
       "model's own, without --input-format",
       options.shapes_from.empty() ? "" : " and input_data_formats");
}

Loaded load_model(const ModelOptions& options, Prepared prepared) {
  Loaded loaded;
  loaded.import_ms = prepared.import_ms;
  loaded.input_formats = std::move(prepared.input_formats);
  loaded.output_formats = std::move(prepared.output_formats);
  const Trail trail("preparing", options.model);
  const Stopwatch watch;
  loaded.plan = make_plan(std::move(prepared.graph), prepared.options);
  loaded.device = options.opened;
  loaded.plan_ms = watch.ms();
  return loaded;
}

DataFormat said_format(const std::map<std::string, DataFormat>& formats, const std::string& name) {
  const auto at = formats.find(name);
  return at == formats.end() ? DataFormat::none : at->second;
}

std::string model_name(const std::string& path) {
  const std::filesystem::path p(path);
  const std::string stem = p.stem().string();
  const std::string folder = p.parent_path().filename().string();
  return stem == "model" && !folder.empty() ? folder : stem;
}

TensorView view_as(const Tensor& tensor, const Port& port, const std::vector<int>& order) {
  const Shape &have = tensor.shape(), &want = port.shape;
  bool same = have.rank() == want.rank() && order.size() == have.extents().size();
  std::vector<Axis> axes;
  for (std::size_t i = 0; same && i < order.size(); ++i) {
    same = have[static_cast<int>(i)] == want[order[i]];
    axes.push_back(want.axis(order[i]));
  }
  if (!same) {
    fail(ErrorCode::bad_input, "input '", port.name, "' has shape ", want.extents(), ", not ",
         have.extents(), "; give data of that shape, or another --shape");
  }
  return {tensor.dtype(), want, tensor.layout().renamed(have.axes(), axes), tensor.data()};
}

}  // namespace stowage::cli
