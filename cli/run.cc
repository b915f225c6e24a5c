// SPDX-License-Identifier: Apache-2.0
// stowage run: files in, one inference, files and words out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/data.h"
#include "cli/deploy.h"
#include "cli/io/npy.h"
#include "cli/io/preprocess_words.h"
#include "cli/model.h"
#include "cli/targets.h"
#include "cli/warnings.h"
#include "stowage/plan.h"

namespace stowage::cli {
namespace {

struct RunOptions : ModelOptions {
  std::string deploy, deployed_model, labels, preprocess;
  std::vector<std::string> inputs, images;
  PreprocessWords pictures;
  OutputWords outputs;
  Comparison comparison;
  int top = 0;
  bool json = false;
};

/// `usual`: a name of --preprocess, or none.
Preprocess preprocess_of(const RunOptions& options, const std::string& usual) {
  if (usual.empty()) return parse_preprocess(options.pictures);
  const PreprocessWords* words = preprocess_named(usual);
  if (words == nullptr) {
    fail(ErrorCode::usage, "--preprocess '", usual, "' is unknown; choose one of ",
         preprocess_names());
  }
  return parse_preprocess(options.pictures, *words);
}

/// What can be refused before any file is read.
void check_options(const RunOptions& options) {
  check_deploy_options("run", "MODEL", !options.model.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  parse_planner(options.planner);
  thread_count(options.threads);
  preprocess_of(options, options.preprocess);
  check_output_words(options.outputs);
  check_comparison(options.comparison);
  if (options.comparison.said() && options.outputs.expected.empty()) {
    fail(ErrorCode::usage, "--rtol, --atol and --cosine need --expect FILE");
  }
  if (options.top < 0) fail(ErrorCode::usage, "--top ", options.top, " is not possible");
  if (!options.labels.empty() && options.top == 0 && !options.outputs.argmax) {
    fail(ErrorCode::usage, "--labels needs --top K or --argmax");
  }
}

/// Reads every file that is given, for the input that it is given for.
std::vector<InputData> read_inputs(const RunOptions& options, const ModelPorts& model) {
  const std::vector<ModelInput>& inputs = model.inputs;
  const std::vector<std::string> names = names_of(inputs);
  std::vector<InputData> data;
  const auto add = [&](const std::string& name, const std::string& file, bool picture) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string all;
      for (const std::string& n : names) all += text(all.empty() ? "" : ", ", "'", n, "'");
      fail(ErrorCode::usage, "the model has no input '", name, "'; it has ", all);
    }
    for (const InputData& other : data) {
      if (other.name == name) fail(ErrorCode::usage, "input '", name, "' is given twice");
    }
    data.push_back(picture ? InputData{name, file, std::nullopt, read_picture(file)}
                           : read_input(name, file));
  };
  for (const std::string& item : options.inputs) {
    auto [name, file] = split_assignment(item, names);
    if (!name.has_value() && names.size() == 1) name = names[0];
    if (!name.has_value()) fail(ErrorCode::usage, "--input '", item, "' must be NAME=FILE");
    add(*name, file, false);
  }
  for (const std::string& item : options.images) {
    auto [name, file] = split_assignment(item, names);
    const bool named =
        name.has_value() && std::find(names.begin(), names.end(), *name) != names.end();
    add(named ? *name : picture_input(inputs), named ? file : item, true);
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

bool has_picture(const std::vector<InputData>& data) {
  return std::any_of(data.begin(), data.end(),
                     [](const InputData& d) { return d.picture.has_value(); });
}

/// What is said of pictures where there is none would be lost without a word.
void check_picture_options(const RunOptions& options, const std::vector<InputData>& data) {
  const bool in = has_picture(data);
  const bool out = std::any_of(options.outputs.files.begin(), options.outputs.files.end(),
                               [](const std::string& o) { return extension_of(o) == "png"; });
  const PreprocessWords& words = options.pictures;
  const char* option = !in && !options.preprocess.empty()    ? "--preprocess"
                       : !in && !words.resize.empty()        ? "--resize"
                       : !in && !words.resize_mode.empty()   ? "--resize-mode"
                       : !in && !words.crop.empty()          ? "--crop"
                       : !in && !out && !words.pixel.empty() ? "--pixel"
                                                             : nullptr;
  if (option != nullptr) {
    fail(ErrorCode::usage, option, " is about pictures, and no picture is given");
  }
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

/// Of what is infinite or no number, null.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json shape_json(const Shape& shape) {
  return std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end());
}

/// One run, told line by line, or with --json as one object at its end.
class Run {
 public:
  Run(const RunOptions& options, const Streams& streams) : options_(options), streams_(streams) {}

  int act() {
    check_options(options_);
    if (options_.deploy.empty()) open_device(options_);
    deployment_ = take_deployment(options_.deploy, options_.deployed_model, options_);
    ModelPorts model = model_ports(options_.model);
    if (deployment_.has_value()) apply_deployment(*deployment_, model, options_);
    expect_device(options_);
    open_device(options_);
    json_["model"] = options_.model;
    json_["warnings"] = json_["notes"] = Json::array();
    if (deployment_.has_value()) note(deployment_notes(*deployment_, options_));
    if (!options_.labels.empty()) labels_ = read_labels(options_.labels);
    const std::vector<InputData> given = read_inputs(options_, model);
    std::vector<InputData> data;
    const auto bind = [&] {
      const Deployment* deployed = deployment_.has_value() ? &*deployment_ : nullptr;
      Shapes shapes = bound_shapes(options_, deployed, model);
      data = given;
      add_missing(data, model, deployed);
      check_picture_options(options_, data);
      bind_data(options_, preprocess(data), model, data, shapes);
      return shapes;
    };
    const Loaded loaded = load_model(options_, prepare_model(options_, model, bind));
    Session session(loaded.plan, loaded.device);
    const std::span<const Port> ports = session.outputs();
    if (deployment_.has_value()) check_outputs(*deployment_, ports);
    out_formats_ = loaded.output_formats;
    const int scores = options_.top > 0 ? classification(ports) : -1;
    const std::vector<Expected> expected = read_expected(options_.outputs, ports);
    std::vector<Target> targets = open_outputs(options_.outputs, ports, model.source);
    json_["device"] = options_.device.value_or("cpu");
    json_["threads"] = report(*loaded.plan).threads;
    give(session, data, loaded.input_formats);
    const Stopwatch watch;
    session.run();
    const double ms = watch.ms();
    std::vector<std::vector<std::pair<int, double>>> shares;
    for (Target& target : targets) shares.push_back(write(session, target));
    for (Target& target : targets) target.file.commit();
    tell_outputs(session, targets, shares);
    line(fmt::format("ran in {:.2f} ms\n", ms));
    json_["ms"] = ms;
    if (scores >= 0) tell_scores(session, scores);
    const bool as_expected = compare(session, expected);
    if (options_.json) streams_.out << json_text(json_) << "\n";
    return as_expected ? 0 : static_cast<int>(ErrorCode::check_failed);
  }

 private:
  void line(std::string_view text) {
    if (!options_.json) streams_.out << text;
  }

  void note(const std::string& lines) {
    line(lines);
    json_["notes"] = note_list(lines);
  }

  void warn(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) {
      streams_.out.flush();
      streams_.err << "warning: " << one_line(sentence) << std::endl;
      json_["warnings"].push_back(sentence);
    }
  }

  /// What a deployment says is meant for pictures alone.
  Preprocess preprocess(const std::vector<InputData>& data) const {
    const bool deployed =
        options_.preprocess.empty() && deployment_.has_value() && has_picture(data);
    return preprocess_of(options_, deployed ? deployment_->preprocess : options_.preprocess);
  }

  void give(Session& session, const std::vector<InputData>& data,
            const std::map<std::string, DataFormat>& formats) {
    const Preprocess how = preprocess(data);
    const std::optional<std::string> scaled = scaled_array(data, how, session.inputs());
    bgr_ = how.pixel == PixelOrder::bgr;
    json_["inputs"] = Json::array();
    for (const InputData& item : data) {
      const auto at = static_cast<std::size_t>(session.input_index(item.name));
      const Port& port = session.inputs()[at];
      const std::string what =
          give_input(session, item, how, said_format(formats, item.name), scaled == item.name);
      line(
          fmt::format("input   {}  from {}: {}\n", one_line(item.name), one_line(item.file), what));
      json_["inputs"].push_back({{"name", item.name},
                                 {"file", item.file},
                                 {"dtype", dtype_name(port.dtype)},
                                 {"shape", shape_json(port.shape)},
                                 {"what", what}});
      if (item.picture.has_value()) warn(picture_warnings(how, port.dtype));
      if (scaled == item.name) warn(array_warnings(how, item));
    }
  }

  /// The shares of classes, of a target that is a map of them.
  std::vector<std::pair<int, double>> write(const Session& session, Target& target) {
    const std::string& name = session.outputs()[static_cast<std::size_t>(target.output)].name;
    if (target.form == Form::array) {
      const Tensor tensor = take_output(session, target.output, said_format(out_formats_, name));
      write_npy(target.file, tensor.dtype(), tensor.shape().extents(),
                {tensor.data(), tensor.bytes()});
      return {};
    }
    const Tensor output = session.output(target.output);
    if (target.form == Form::classes) {
      ClassMap map = class_map(output, target.axes, name);
      write_png(target.file, map.classes, class_palette());
      return std::move(map.shares);
    }
    const OutputRange range = parse_output_range(options_.outputs.range);
    write_png(target.file,
              target.form == Form::channel
                  ? channel_picture(output, target.axes, *options_.outputs.channel, range, name)
                  : output_picture(output, range, bgr_));
    return {};
  }

  void tell_outputs(const Session& session, const std::vector<Target>& targets,
                    const std::vector<std::vector<std::pair<int, double>>>& shares) {
    const std::span<const Port> ports = session.outputs();
    json_["outputs"] = Json::array();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Summary summary = summary_of(session.output(static_cast<int>(i)));
      line(fmt::format("output  {}  {} {}  {}\n", one_line(ports[i].name),
                       dtype_name(ports[i].dtype), text(ports[i].shape.extents()),
                       summary_words(summary)));
      Json json = {{"name", ports[i].name},
                   {"dtype", dtype_name(ports[i].dtype)},
                   {"shape", shape_json(ports[i].shape)},
                   {"min", number_json(summary.least)},
                   {"max", number_json(summary.most)},
                   {"mean", number_json(summary.mean)},
                   {"not_finite", summary.others},
                   {"files", Json::array()}};
      warn(output_warnings(ports[i], summary));
      for (std::size_t k = 0; k < targets.size(); ++k) {
        if (targets[k].output != static_cast<int>(i)) continue;
        line(fmt::format("        written to {}\n", one_line(targets[k].file.path())));
        json["files"].push_back(targets[k].file.path());
        if (targets[k].form == Form::picture || targets[k].form == Form::channel) {
          warn(range_warnings(ports[i], summary, parse_output_range(options_.outputs.range)));
        }
        if (targets[k].form == Form::classes) tell_classes(shares[k], json);
      }
      json_["outputs"].push_back(std::move(json));
    }
  }

  void tell_classes(const std::vector<std::pair<int, double>>& shares, Json& json) {
    for (const auto& [index, share] : shares) {
      const auto at = static_cast<std::size_t>(index);
      const std::string label = at < labels_.size() ? labels_[at] : "";
      const Colour& colour = class_palette()[at];
      line(fmt::format("        class {:<3}  #{:02x}{:02x}{:02x}  {:6.2f} %{}{}\n", index,
                       colour[0], colour[1], colour[2], 100 * share, label.empty() ? "" : "  ",
                       label));
      Json one = {{"class", index}, {"share", share}};
      if (!label.empty()) one["label"] = label;
      json["classes"].push_back(std::move(one));
    }
  }

  void tell_scores(const Session& session, int output) {
    const Port& port = session.outputs()[static_cast<std::size_t>(output)];
    json_["top"] = Json::array();
    for (const Score& score : best_scores(session.output(output), options_.top, labels_)) {
      line(fmt::format("{} = {:.6f}{}{}\n", score.index, score.score,
                       score.label.empty() ? "" : "  ", score.label));
      Json json = {{"index", score.index}, {"score", number_json(score.score)}};
      if (!score.label.empty()) json["label"] = score.label;
      json_["top"].push_back(std::move(json));
    }
    if (!labels_.empty()) warn(label_warnings(options_.labels, labels_.size(), port));
  }

  /// Whether all outputs are as expected.
  bool compare(const Session& session, const std::vector<Expected>& expected) {
    bool all = true;
    for (const Expected& want : expected) {
      const std::string& name = session.outputs()[static_cast<std::size_t>(want.output)].name;
      const Tensor actual = take_output(session, want.output, said_format(out_formats_, name));
      const std::string problem = compared(actual, want.tensor, options_.comparison);
      all = all && problem.empty();
      line(text(problem.empty() ? "PASS" : "FAIL", " output '", one_line(name), "' against ",
                one_line(want.file), problem.empty() ? "" : ": ", problem, "\n"));
      Json json = {{"name", name}, {"file", want.file}, {"passed", problem.empty()}};
      if (!problem.empty()) json["problem"] = problem;
      json_["expected"].push_back(std::move(json));
    }
    return all;
  }

  RunOptions options_;
  Streams streams_;
  std::optional<Deployment> deployment_;
  std::vector<std::string> labels_;
  std::map<std::string, DataFormat> out_formats_;
  bool bgr_ = false;  ///< pictures are, inside the model
  Json json_;
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
      ->add_option(
          "--preprocess", options.preprocess,
          "What a model was trained with: imagenet (torchvision), keras-tf, keras-caffe or "
          "keras-torch (Keras); stands for the options below, which win over it")
      ->type_name("NAME");
  command
      ->add_option("--resize", options.pictures.resize,
                   "How a picture gets the model's size: stretch (the default), letterbox "
                   "(proportions kept, grey 114 around), shorter=N (the shorter side becomes N, "
                   "then the centre is cut out; N/M: N where the model takes M) or none")
      ->type_name("HOW");
  command
      ->add_option("--resize-mode", options.pictures.resize_mode,
                   "bilinear (the default), nearest or bicubic, at pixel centres; "
                   "bilinear-antialias or bicubic-antialias, as PIL resizes")
      ->type_name("MODE");
  command
      ->add_option("--crop", options.pictures.crop,
                   "The centre that is cut out after --resize shorter=N or none, 224 or "
                   "WIDTHxHEIGHT (default: the model's size)")
      ->type_name("SIZE");
  command
      ->add_option("--mean", options.pictures.mean,
                   "Subtracted from the samples of a picture, which count from 0 to 255, or from "
                   "an array: one number or one a channel (default 0)")
      ->type_name("LIST");
  command
      ->add_option("--norm,--scale", options.pictures.norm,
                   "Multiplies what is left: one number or one a channel (default 1/255; 1 for an "
                   "array)")
      ->type_name("LIST");
  command
      ->add_option("--pixel", options.pictures.pixel,
                   "Order of the channels that the model wants: rgb, bgr or gray (default: rgb or "
                   "gray, by their number)")
      ->type_name("ORDER");
}

void add_output_options(CLI::App* command, RunOptions& options) {
  command
      ->add_option("--output", options.outputs.files,
                   "Write an output as .npy or .png; NAME=FILE where the model has several")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--output-dir", options.outputs.dir,
                   "Write every output as NAME.npy into this folder, in logical order")
      ->type_name("DIR");
  command
      ->add_option(
          "--output-range", options.outputs.range,
          "What an output picture counts in: 0..1 or 0..255 (default 0..1, or 0..255 where "
          "a value exceeds 1.5)")
      ->type_name("RANGE");
  command->add_flag("--argmax", options.outputs.argmax,
                    "Of an output of one channel a class, write the best class of each pixel: a "
                    ".png with a palette, whose pixels are the classes");
  command
      ->add_option("--channel", options.outputs.channel,
                   "Of an output of several channels, write channel K as a grey .png, from 0 on")
      ->type_name("K");
  command
      ->add_option("--expect", options.outputs.expected,
                   "Compare an output with a .npy or .pb file, as check does; the exit code is 1 "
                   "where they differ. NAME=FILE where the model has several")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_comparison_options(command, options.comparison);
  command
      ->add_option("--top", options.top, "Print the K best scores of a classification, best first")
      ->type_name("K");
  command->add_option("--labels", options.labels, "Names of the classes, one a line")
      ->type_name("FILE");
  command->add_flag("--json", options.json, "Print one JSON object and nothing else");
}

}  // namespace

Command add_run(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model once on files");
  command->footer(
      "A picture is decoded, resized, put into the model's order of channels, and becomes\n"
      "(x - mean) * norm in the type of the input. What was done is printed; what looks like a\n"
      "slip is told in a line 'warning: ...' on the standard error. Files appear whole or not at\n"
      "all; a place that cannot be written ends the run before it begins, with exit code 3.");
  add_model_options(command, *options);
  add_tune_option(command, *options);
  add_deploy_options(command, options->deploy, options->deployed_model);
  add_format_options(command, *options);
  add_input_options(command, *options);
  add_output_options(command, *options);
  const Streams where = streams;
  return {command, [options, where] { return Run(*options, where).act(); }};
}

}  // namespace stowage::cli
