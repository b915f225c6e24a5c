// SPDX-License-Identifier: Apache-2.0
// stowage run: files in, one inference, files and words out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/data.h"
#include "cli/deploy.h"
#include "cli/io/file.h"
#include "cli/io/npy.h"
#include "cli/model.h"

namespace stowage::cli {
namespace {

struct RunOptions : ModelOptions {
  std::string deploy, deployed_model;
  std::vector<std::string> inputs, images, outputs;
  std::string output_dir, labels, mean, norm, pixel, resize, resize_mode, output_range;
  int top = 0;
};

/// A file that one output goes to.
struct Target {
  int output = 0;
  bool picture = false;
  OutputFile file;
};

Preprocess preprocess_of(const RunOptions& options) {
  Preprocess how;
  if (!options.resize.empty()) how.fit = parse_resize_fit(options.resize);
  if (!options.resize_mode.empty()) how.mode = parse_resize_mode(options.resize_mode);
  if (!options.pixel.empty()) how.pixel = parse_pixel_order(options.pixel);
  if (!options.mean.empty()) how.mean = parse_reals("--mean", options.mean);
  if (!options.norm.empty()) how.norm = parse_reals("--norm", options.norm);
  return how;
}

/// What can be refused before any file is read.
void check_options(const RunOptions& options) {
  check_deploy_options("run", "MODEL", !options.model.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  parse_planner(options.planner);
  thread_count(options.threads);
  preprocess_of(options);
  parse_output_range(options.output_range);
  if (options.top < 0) fail(ErrorCode::usage, "--top ", options.top, " is not possible");
  if (!options.labels.empty() && options.top == 0) fail(ErrorCode::usage, "--labels needs --top K");
  for (const std::string& output : options.outputs) {
    const std::string extension = extension_of(output);
    if (extension != "png" && extension != "npy") {
      fail(ErrorCode::usage, "--output '", output, "' must end in .npy or .png");
    }
  }
}

/// Reads every file that is given, for the input that it is given for.
std::vector<InputData> read_inputs(const RunOptions& options, const ModelPorts& model) {
  const std::vector<ModelInput>& inputs = model.inputs;
  const std::vector<std::string> names = names_of(inputs);
  std::vector<InputData> data;
  const auto add = [&](const std::string& name, const std::string& file) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string all;
      for (const std::string& n : names) all += text(all.empty() ? "" : ", ", "'", n, "'");
      fail(ErrorCode::usage, "the model has no input '", name, "'; it has ", all);
    }
    for (const InputData& other : data) {
      if (other.name == name) fail(ErrorCode::usage, "input '", name, "' is given twice");
    }
    data.push_back(read_input(name, file));
  };
  for (const std::string& item : options.inputs) {
    auto [name, file] = split_assignment(item, names);
    if (!name.has_value() && names.size() == 1) name = names[0];
    if (!name.has_value()) fail(ErrorCode::usage, "--input '", item, "' must be NAME=FILE");
    add(*name, file);
  }
  for (const std::string& item : options.images) {
    auto [name, file] = split_assignment(item, names);
    const bool named =
        name.has_value() && std::find(names.begin(), names.end(), *name) != names.end();
    add(named ? *name : picture_input(inputs), named ? file : item);
    if (!data.back().picture.has_value()) {
      fail(ErrorCode::bad_input, "--image '", data.back().file, "' is no PNG, JPEG or BMP file");
    }
  }
  return data;
}

/// Data of the deployment for what is not given. Throws Error(usage) without a deployment.
void add_missing(std::vector<InputData>& data, const ModelPorts& model,
                 const Deployment* deployment) {
  std::string missing;
  for (const ModelInput& input : model.inputs) {
    const bool given = std::any_of(data.begin(), data.end(),
                                   [&](const InputData& d) { return d.name == input.name; });
    if (given) continue;
    if (deployment != nullptr) {
      data.push_back(deployed_data(*deployment, input));
      continue;
    }
    missing += text(missing.empty() ? "" : ", ", "'", input.name, "' ",
                    input.has_shape ? extents_text(input.extents) : "of any shape");
  }
  if (!missing.empty()) {
    fail(ErrorCode::usage, "nothing is given for input ", missing,
         "; use --input NAME=FILE or --image FILE");
  }
}

/// What is said of pictures where there is none would be lost without a word.
void check_picture_options(const RunOptions& options, const std::vector<InputData>& data) {
  const bool in = std::any_of(data.begin(), data.end(),
                              [](const InputData& d) { return d.picture.has_value(); });
  const bool out = std::any_of(options.outputs.begin(), options.outputs.end(),
                               [](const std::string& o) { return extension_of(o) == "png"; });
  const char* option = !in && !options.resize.empty()          ? "--resize"
                       : !in && !options.resize_mode.empty()   ? "--resize-mode"
                       : !in && !out && !options.pixel.empty() ? "--pixel"
                                                               : nullptr;
  if (option != nullptr) {
    fail(ErrorCode::usage, option, " is about pictures, and no picture is given");
  }
}

/// Opens every output file, so that a place that cannot be written is known before the model runs.
std::vector<Target> open_outputs(const RunOptions& options, std::span<const Port> ports) {
  const std::vector<std::string> names = names_of(ports);
  std::vector<Target> targets;
  for (const std::string& item : options.outputs) {
    const auto [name, file] = split_assignment(item, names);
    const auto named =
        name.has_value() ? std::find(names.begin(), names.end(), *name) : names.end();
    if (name.has_value() && named == names.end()) {
      fail(ErrorCode::usage, "--output names '", *name, "', which is no output; the outputs are ",
           listed(names));
    }
    const bool picture = extension_of(item) == "png";
    std::vector<int> fitting;
    for (int i = 0; i < static_cast<int>(ports.size()); ++i) {
      const Shape& shape = ports[static_cast<std::size_t>(i)].shape;
      if (!picture || shape.rank() == 2 || image_port(shape.extents()).has_value()) {
        fitting.push_back(i);
      }
    }
    if (named != names.end()) fitting = {static_cast<int>(named - names.begin())};
    if (fitting.size() != 1) {
      std::string all;
      for (const Port& port : ports) {
        all += text(all.empty() ? "" : ", ", "'", port.name, "' ", port.shape.extents());
      }
      fail(ErrorCode::usage, "--output '", item, "': ", fitting.empty() ? "none" : "several",
           " of the outputs fit, ", all, "; use --output NAME=FILE or --output-dir");
    }
    targets.push_back({fitting[0], picture, OutputFile(file)});
  }
  if (!options.output_dir.empty()) {
    std::error_code problem;
    std::filesystem::create_directories(options.output_dir, problem);
    if (problem) {
      fail(ErrorCode::bad_input, "cannot make the folder '", options.output_dir,
           "': ", problem.message());
    }
    const std::vector<std::string> files = safe_file_names(names);
    for (std::size_t i = 0; i < files.size(); ++i) {
      targets.push_back(
          {static_cast<int>(i), false, OutputFile(options.output_dir + "/" + files[i] + ".npy")});
    }
  }
  return targets;
}

/// The output whose scores --top prints.
int classification(std::span<const Port> ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (is_classification(ports[i])) return static_cast<int>(i);
  }
  fail(ErrorCode::usage,
       "--top: no output is a list of scores like [1, 1000]; look at the outputs "
       "with --output-dir");
}

class Run {
 public:
  Run(const RunOptions& options, std::ostream& out) : options_(options), out_(out) {}

  int act() {
    check_options(options_);
    if (options_.deploy.empty()) open_device(options_);
    const std::optional<Deployment> deployment =
        take_deployment(options_.deploy, options_.deployed_model, options_);
    ModelPorts model = model_ports(options_.model);
    if (deployment.has_value()) apply_deployment(*deployment, model, options_);
    check_device(options_, false);
    open_device(options_);
    if (deployment.has_value()) out_ << deployment_notes(*deployment, options_);
    const Deployment* deployed = deployment.has_value() ? &*deployment : nullptr;
    std::vector<std::string> labels;
    if (!options_.labels.empty()) labels = read_labels(options_.labels);
    const std::vector<InputData> given = read_inputs(options_, model);
    std::vector<InputData> data;
    const auto bind = [&] {
      Shapes shapes = bound_shapes(options_, deployed, model);
      data = given;
      add_missing(data, model, deployed);
      check_picture_options(options_, data);
      bind_data(options_, model, data, shapes);
      return shapes;
    };
    const Loaded loaded = load_model(options_, prepare_model(options_, model, bind));
    Session session(loaded.plan, loaded.device);
    if (deployment.has_value()) check_outputs(*deployment, session.outputs());
    out_formats_ = loaded.output_formats;
    const int scores = options_.top > 0 ? classification(session.outputs()) : -1;
    std::vector<Target> targets = open_outputs(options_, session.outputs());
    give(session, data, loaded.input_formats);
    const Stopwatch watch;
    session.run();
    const double ms = watch.ms();
    for (Target& target : targets) write(session, target);
    for (Target& target : targets) target.file.commit();
    print_outputs(session, targets, ms);
    if (scores < 0) return 0;
    for (const std::string& line : top_lines(session.output(scores), options_.top, labels)) {
      out_ << line << "\n";
    }
    return 0;
  }

 private:
  void give(Session& session, const std::vector<InputData>& data,
            const std::map<std::string, DataFormat>& formats) {
    const Preprocess how = preprocess_of(options_);
    const std::optional<std::string> scaled = scaled_array(data, how, session.inputs());
    for (const InputData& item : data) {
      const std::string what =
          give_input(session, item, how, said_format(formats, item.name), scaled == item.name);
      out_ << fmt::format("input   {}  from {}: {}\n", one_line(item.name), one_line(item.file),
                          what);
    }
  }

  void write(const Session& session, Target& target) const {
    const std::string& name = session.outputs()[static_cast<std::size_t>(target.output)].name;
    if (target.picture) {
      write_png(target.file, output_picture(session.output(target.output),
                                            parse_output_range(options_.output_range),
                                            options_.pixel == "bgr", name));
      return;
    }
    const Tensor tensor = take_output(session, target.output, said_format(out_formats_, name));
    write_npy(target.file, tensor.dtype(), tensor.shape().extents(),
              {tensor.data(), tensor.bytes()});
  }

  void print_outputs(const Session& session, const std::vector<Target>& targets, double ms) {
    const std::span<const Port> ports = session.outputs();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      out_ << fmt::format("output  {}  {} {}  {}\n", one_line(ports[i].name),
                          dtype_name(ports[i].dtype), text(ports[i].shape.extents()),
                          summary(session.output(static_cast<int>(i))));
      for (const Target& target : targets) {
        if (target.output == static_cast<int>(i)) {
          out_ << fmt::format("        written to {}\n", one_line(target.file.path()));
        }
      }
    }
    out_ << fmt::format("ran in {:.2f} ms\n", ms);
  }

  RunOptions options_;
  std::ostream& out_;
  std::map<std::string, DataFormat> out_formats_;
};

void add_input_options(CLI::App* command, RunOptions& options) {
  command
      ->add_option("--input", options.inputs,
                   "Data for an input: a .npy, .pb, .png, .jpg or .bmp file. May be given for "
                   "each input; a single input needs no name")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--image", options.images,
                   "A picture for the input that takes one, or for the input named NAME=FILE")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--mean", options.mean,
                   "Subtracted from the samples of a picture, which count from 0 to 255, or from "
                   "an array: one number or one a channel (default 0)")
      ->type_name("LIST");
  command
      ->add_option("--norm,--scale", options.norm,
                   "Multiplies what is left: one number or one a channel (default 1/255; 1 for an "
                   "array)")
      ->type_name("LIST");
  command
      ->add_option("--pixel", options.pixel,
                   "Order of the channels that the model wants: rgb, bgr or gray (default: rgb or "
                   "gray, by their number)")
      ->type_name("ORDER");
  command
      ->add_option("--resize", options.resize,
                   "How a picture gets the model's size: stretch (the default), letterbox "
                   "(proportions kept, grey 114 around) or none")
      ->type_name("HOW");
  command
      ->add_option("--resize-mode", options.resize_mode,
                   "bilinear (the default), nearest or bicubic; at pixel centres, no antialias")
      ->type_name("MODE");
}

void add_output_options(CLI::App* command, RunOptions& options) {
  command
      ->add_option("--output", options.outputs,
                   "Write an output as .npy or .png; NAME=FILE where the model has several")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--output-dir", options.output_dir,
                   "Write every output as NAME.npy into this folder, in logical order")
      ->type_name("DIR");
  command
      ->add_option(
          "--output-range", options.output_range,
          "What an output picture counts in: 0..1 or 0..255 (default 0..1, or 0..255 where "
          "a value exceeds 1.5)")
      ->type_name("RANGE");
  command
      ->add_option("--top", options.top, "Print the K best scores of a classification, best first")
      ->type_name("K");
  command->add_option("--labels", options.labels, "Names of the classes, one a line")
      ->type_name("FILE");
}

}  // namespace

Command add_run(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model once on files");
  command->footer(
      "A picture is decoded, resized, put into the model's order of channels, and becomes\n"
      "(x - mean) * norm in the type of the input. What was done is printed. Files appear whole\n"
      "or not at all; a place that cannot be written ends the run before it begins, with exit\n"
      "code 3.");
  add_model_options(command, *options);
  add_tune_option(command, *options);
  add_deploy_options(command, options->deploy, options->deployed_model);
  add_format_options(command, *options);
  add_input_options(command, *options);
  add_output_options(command, *options);
  std::ostream& out = streams.out;
  return {command, [options, &out] { return Run(*options, out).act(); }};
}

}  // namespace stowage::cli
