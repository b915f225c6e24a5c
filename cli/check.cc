// SPDX-License-Identifier: Apache-2.0
// stowage check: ONNX backend-test folders, model.onnx beside test_data_set_N, and folders of a
// .param of ncnn beside arrays of its blobs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/data.h"
#include "cli/deploy.h"
#include "cli/io/file.h"
#include "cli/model.h"
#include "stowage/inspect.h"

namespace stowage::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelFile = "model.onnx";
/// Folders of folders that are searched for models.
constexpr int kMaxDepth = 2;
constexpr double kQuietMs = 1000;

struct CheckOptions : ModelOptions {
  std::vector<std::string> folders;
  std::string deploy, deployed_model;
  Comparison comparison;
  bool json = false;
};

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> list;
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    list.push_back(it->path());
  }
  if (problem) {
    fail(ErrorCode::bad_input, "cannot read the folder '", folder.string(),
         "': ", problem.message());
  }
  std::sort(list.begin(), list.end());
  return list;
}

/// Files of models.
void find_models(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  if (fs::exists(folder / kModelFile)) {
    found.push_back(folder / kModelFile);
    return;
  }
  const std::vector<fs::path> all = entries(folder);
  const std::size_t before = found.size();
  for (const fs::path& entry : all) {
    if (entry.extension() == ".param") found.push_back(entry);
  }
  if (depth == 0 || found.size() > before) return;
  for (const fs::path& entry : all) {
    std::error_code ignored;
    if (fs::is_directory(entry, ignored)) find_models(entry, depth - 1, found);
  }
}

/// N of "test_data_set_N", or nothing.
std::optional<int> number_behind(const std::string& name, std::string_view prefix) {
  int n = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  const char* end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data() + prefix.size(), end, n);
  if (problem != std::errc() || stop != end || n < 0) return std::nullopt;
  return n;
}

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// input_0.pb, input_1.pb, ...
std::vector<NamedTensor> read_tensors(const fs::path& set, std::string_view kind) {
  std::vector<NamedTensor> tensors;
  while (true) {
    const fs::path file = set / text(kind, "_", tensors.size(), ".pb");
    if (!fs::exists(file)) return tensors;
    NamedTensor item;
    item.tensor = tensor_from_pb_file(file.string(), Limits{}, &item.name);
    tensors.push_back(std::move(item));
  }
}

/// input_data.npy, output_prob.npy, ... of those names; what has no file is left out.
std::vector<NamedTensor> read_arrays(const fs::path& folder, std::string_view kind,
                                     std::span<const std::string> names) {
  std::vector<NamedTensor> tensors;
  for (const std::string& name : names) {
    const fs::path file = folder / text(kind, "_", safe_file_name(name), ".npy");
    if (fs::exists(file)) tensors.push_back({name, *read_input(name, file.string()).tensor});
  }
  return tensors;
}

/// The input that item `k` is for: by its name, else by its place.
/// Detections: ncnn's blob ends with the last that was found, ours goes on with rows of zeros. What
/// is no such output stays as it is.
Tensor found_rows(Tensor actual, const Shape& expected) {
  constexpr std::int64_t kColumns = 6;  // label, score, corners
  const Shape& have = actual.shape();
  if (actual.dtype() != DType::f32 || have.rank() != 2 || expected.rank() != 2 ||
      have[1] != kColumns || expected[1] != kColumns || expected[0] >= have[0]) {
    return actual;
  }
  const auto all = actual.as<float>();
  const auto found = all.first(static_cast<std::size_t>(expected.elements()));
  if (std::ranges::any_of(all.subspan(found.size()), [](float v) { return v != 0; })) return actual;
  Tensor cut(DType::f32, expected);
  std::ranges::copy(found, cut.as<float>().begin());
  return cut;
}

std::string input_name(const NamedTensor& item, std::size_t k,
                       const std::vector<ModelInput>& inputs) {
  for (const ModelInput& input : inputs) {
    if (input.name == item.name) return item.name;
  }
  if (k < inputs.size()) return inputs[k].name;
  fail(ErrorCode::bad_input, "there is data for ", k + 1, " inputs but the model has ",
       inputs.size());
}

/// A list as short as axes, shapes, sizes and scales are.
bool is_short_list(const Tensor& tensor) {
  return tensor.shape().rank() <= 1 && tensor.shape().elements() <= 16;
}

bool is_integer(const Tensor& tensor) {
  return tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32;
}

/// One model with the data in its folder.
class Case {
 public:
  Case(const fs::path& model, const CheckOptions& options)
      : folder_(model.parent_path()), options_(options) {
    options_.model = model.string();
  }

  /// Empty, or what is wrong.
  std::string run() {
    inputs_ = model_ports(options_.model).inputs;
    if (is_param_file(options_.model)) {
      run_on(read_arrays(folder_, "input", names_of(inputs_)));
      return compare(read_arrays(folder_, "output", names_of(session_->outputs())));
    }
    std::vector<std::pair<int, fs::path>> sets;
    for (const fs::path& entry : entries(folder_)) {
      const std::optional<int> n = number_behind(entry.filename().string(), "test_data_set_");
      if (n.has_value()) sets.emplace_back(*n, entry);
    }
    std::sort(sets.begin(), sets.end());
    if (sets.empty()) return "there is no test_data_set_0 beside the model";
    for (const auto& [n, set] : sets) {
      const std::string problem = run_set(set);
      if (!problem.empty()) return sets.size() == 1 ? problem : text("set ", n, ": ", problem);
    }
    return "";
  }

 private:
  std::string run_set(const fs::path& set) {
    run_on(read_tensors(set, "input"));
    return compare(read_tensors(set, "output"));
  }

  void run_on(const std::vector<NamedTensor>& given) {
    Shapes shapes;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const std::span<const std::int64_t> extents = given[k].tensor.shape().extents();
      names.push_back(input_name(given[k], k, inputs_));
      shapes[names.back()] = {extents.begin(), extents.end()};
    }
    if (!session_.has_value() || shapes != shapes_ || !known_.empty()) load(given, names, shapes);
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (known_.contains(names[k])) continue;
      const int index = session_->input_index(names[k]);
      const Tensor& tensor = given[k].tensor;
      const Port& port = session_->inputs()[static_cast<std::size_t>(index)];
      session_->set_input(
          index, view_as(tensor, port,
                         format_order(DataFormat::none, port.data_format, tensor.shape().rank())));
    }
    session_->run();
  }

  /// A session; what the model can be planned only with becomes constant: short lists of integers
  /// (axes, shapes, sizes), and if that is not enough those of other numbers, too (scales).
  void load(const std::vector<NamedTensor>& given, const std::vector<std::string>& names,
            const Shapes& shapes) {
    session_.reset();
    shapes_ = shapes;
    known_.clear();
    const auto plan = [&] {
      const Loaded loaded = load_model(options_, prepare_model(options_, shapes, known_));
      session_.emplace(loaded.plan, loaded.device);
    };
    for (const bool integers_only : {true, false}) {
      try {
        return plan();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        const std::size_t before = known_.size();
        for (std::size_t k = 0; k < given.size(); ++k) {
          const Tensor& t = given[k].tensor;
          if (is_short_list(t) && is_integer(t) == integers_only) known_.emplace(names[k], t);
        }
        if (known_.size() == before && !integers_only) throw;
      }
    }
    plan();
  }

  std::string compare(const std::vector<NamedTensor>& expected) const {
    const std::span<const Port> ports = session_->outputs();
    const bool by_name = is_param_file(options_.model);
    if (expected.empty()) {
      return by_name ? "there is no output_BLOB.npy to compare with"
                     : "there is no output_0.pb to compare with";
    }
    if (expected.size() > ports.size()) {
      return text("there are ", expected.size(), " expected outputs but the model has ",
                  ports.size());
    }
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const int output = by_name ? session_->output_index(expected[k].name) : static_cast<int>(k);
      const Tensor actual = by_name
                                ? found_rows(session_->output(output), expected[k].tensor.shape())
                                : session_->output(output);
      const std::string problem = compared(actual, expected[k].tensor, options_.comparison);
      if (problem.empty()) continue;
      return text("output '", ports[static_cast<std::size_t>(output)].name, "' ", problem);
    }
    return "";
  }

  fs::path folder_;
  CheckOptions options_;
  std::vector<ModelInput> inputs_;
  Shapes shapes_;
  std::map<std::string, Tensor> known_;  ///< inputs that are constant
  std::optional<Session> session_;
};

/// What became of one model.
struct Verdict {
  std::string result;  ///< pass, fail or skip
  std::string why;     ///< empty: it passed
};

/// `check` returns what is wrong, empty when nothing is.
Verdict judge(const std::function<std::string()>& check) {
  try {
    const std::string problem = check();
    return {problem.empty() ? "pass" : "fail", one_line(problem)};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return {"skip", one_line(error.sentence())};
    return {"fail", one_line(error.what())};
  } catch (const std::bad_alloc&) {
    return {"fail", "out of memory"};
  } catch (const std::exception& error) {
    return {"fail", text("a bug in Stowage: ", error.what())};
  }
}

Json outputs_json(const DeploymentCheck& check) {
  Json all = Json::array();
  for (const DeploymentCheck::Output& output : check.outputs) {
    const double sqnr = output.closeness.sqnr_db;
    all.push_back({{"name", output.name},
                   {"similarity", output.closeness.similarity},
                   {"sqnr_db", std::isfinite(sqnr) ? Json(sqnr) : Json(nullptr)},
                   {"against", output.against}});
  }
  return all;
}

std::string outputs_text(const DeploymentCheck& check) {
  std::string all;
  for (const DeploymentCheck::Output& output : check.outputs) {
    const double sqnr = output.closeness.sqnr_db;
    all += fmt::format("     output {}  similarity {:.9g}  sqnr {}  against {}\n",
                       one_line(output.name), output.closeness.similarity,
                       sqnr == INFINITY ? "exact" : fmt::format("{:.1f} dB", sqnr),
                       one_line(output.against));
  }
  return all;
}

/// A line a model, or with --json one object at the end.
class Results {
 public:
  Results(bool as_json, const Streams& streams) : streams_(streams), as_json_(as_json) {
    json_["models"] = Json::array();
  }

  void add(const std::string& name, const Verdict& verdict,
           const DeploymentCheck* deployment = nullptr) {
    ++(verdict.result == "pass" ? passed_ : verdict.result == "fail" ? failed_ : skipped_);
    if (as_json_) {
      Json json = {{"name", name}, {"result", verdict.result}};
      if (!verdict.why.empty()) json["why"] = verdict.why;
      if (deployment != nullptr) {
        json["outputs"] = outputs_json(*deployment);
        json["notes"] = note_list(deployment->notes);
      }
      json_["models"].push_back(std::move(json));
      return;
    }
    if (deployment != nullptr) streams_.out << deployment->notes;
    std::string word = verdict.result;
    for (char& c : word) c = static_cast<char>(c - 'a' + 'A');
    streams_.out << text(word, " ", name, verdict.why.empty() ? "" : ": ", verdict.why, "\n");
    if (deployment != nullptr) streams_.out << outputs_text(*deployment);
    streams_.out << std::flush;
  }

  /// The exit code.
  int finish() {
    if (as_json_) {
      json_["passed"] = passed_;
      json_["failed"] = failed_;
      json_["skipped"] = skipped_;
      streams_.out << json_text(json_) << "\n";
    } else {
      streams_.out << fmt::format("{} passed, {} failed, {} skipped\n", passed_, failed_, skipped_);
    }
    return failed_ > 0 ? static_cast<int>(ErrorCode::check_failed) : 0;
  }

 private:
  Streams streams_;
  bool as_json_;
  Json json_;
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

/// Every model of a deployment file, or the one of --model.
int run_deployments(const CheckOptions& options, Results& results) {
  std::vector<Deployment> list = read_deployments(options.deploy);
  if (!options.deployed_model.empty()) list = {choose_deployment(list, options.deployed_model)};
  for (const Deployment& deployment : list) {
    DeploymentCheck check;
    const Verdict verdict = judge([&] {
      check_deployment(deployment, options, options.comparison.cosine, check);
      return check.problem;
    });
    results.add(one_line(deployment.name), verdict, &check);
  }
  return results.finish();
}

int run(CheckOptions options, const Streams& streams) {
  check_deploy_options("check", "DIR", !options.folders.empty(), options.deploy,
                       options.deployed_model);
  check_device(options, !options.deploy.empty());
  parse_planner(options.planner);
  thread_count(options.threads);
  check_comparison(options.comparison);
  open_device(options);
  Results results(options.json, streams);
  if (!options.deploy.empty()) return run_deployments(options, results);
  std::vector<fs::path> models;
  for (const std::string& folder : options.folders) {
    if (!fs::is_directory(folder)) {
      fail(ErrorCode::bad_input, "'", folder, "' is no folder; give one that holds ", kModelFile,
           " or a .param, or a folder of such folders");
    }
    const std::size_t before = models.size();
    // Without the slash at the end, or the last part of the path would be empty.
    find_models(fs::path(folder + "/.").lexically_normal().parent_path(), kMaxDepth, models);
    if (models.size() == before) {
      fail(ErrorCode::bad_input, "'", folder, "' holds no ", kModelFile,
           " and no .param, nor do its folders");
    }
  }
  const Stopwatch watch;
  bool progress = false;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string name =
        one_line(model_name(fs::absolute(models[i]).lexically_normal().string()));
    if (streams.err_is_terminal && watch.ms() > kQuietMs) {
      streams.err << fmt::format("\r\033[K{} of {}: {}", i + 1, models.size(), name) << std::flush;
      progress = true;
    }
    const Verdict verdict = judge([&] { return Case(models[i], options).run(); });
    if (progress) streams.err << "\r\033[K" << std::flush;
    results.add(name, verdict);
  }
  return results.finish();
}

}  // namespace

Command add_check(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Compare models with the outputs that are kept beside them");
  command->footer(
      "A folder holds model.onnx and test_data_set_N/input_K.pb and output_K.pb, as ONNX's own\n"
      "tests do, or a .param of ncnn and its .bin beside input_BLOB.npy and output_BLOB.npy;\n"
      "folders of such folders are searched. Floating-point elements may differ by\n"
      "atol + rtol * the largest magnitude of the expected output; all others must be equal.\n"
      "With --deploy, outputs must reach the cosine similarity that the file asks for.\n"
      "The exit code is 1 when a folder or a model failed.");
  command->add_option("DIR", options->folders, "Folders to check")->required();
  add_deploy_options(command, options->deploy, options->deployed_model);
  add_comparison_options(command, options->comparison);
  command->add_flag("--json", options->json, "Print one JSON object and nothing else");
  command
      ->add_option("--planner", options->planner,
                   "optimal (the default), source (every tensor in the model's own order) or rule")
      ->type_name("PLANNER");
  add_device_options(command, *options, options->threads);
  const Streams where = streams;
  return {command, [options, where] { return run(*options, where); }};
}

}  // namespace stowage::cli
