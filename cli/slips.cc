// SPDX-License-Identifier: Apache-2.0
#include "cli/slips.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/definitions.h"
#include "cli/io/file.h"

namespace stowage::cli {
namespace {

/// What an option is called by the tools of ONNX Runtime, TFLite, ncnn, MNN, OpenVINO and MACE.
struct Synonym {
  std::string_view theirs, ours;
};

constexpr Synonym kSynonyms[] = {
    {"num-threads", "--threads"},
    {"nthreads", "--threads"},
    {"cpu-threads", "--threads"},
    {"intra-op-num-threads", "--threads"},
    {"t", "--threads"},
    {"num-runs", "--runs"},
    {"iterations", "--runs"},
    {"loop-count", "--runs"},
    {"loops", "--runs"},
    {"repeat", "--runs"},
    {"r", "--runs"},
    {"n", "--runs"},
    {"warmup-runs", "--warmup"},
    {"use-gpu", "--device opencl"},
    {"gpu", "--device opencl"},
    {"use-opencl", "--device opencl"},
    {"use-cpu", "--device cpu"},
    {"provider", "--device"},
    {"backend", "--device"},
    {"runtime", "--device"},
    {"e", "--device"},
    {"d", "--device"},
    {"input-shape", "--shape"},
    {"input-shapes", "--shape"},
    {"input-layer-shape", "--shape"},
    {"override-input-shape", "--shape"},
    {"input-layer-value-files", "--input"},
    {"input-file", "--input"},
    {"i", "--input"},
    {"output-file", "--output"},
    {"o", "--output"},
    {"std", "--norm"},
    {"mean-values", "--mean"},
    {"scale-values", "--norm"},
    {"topk", "--top"},
    {"classes", "--labels"},
    {"precision", "--data-type"},
    {"fp16", "--data-type fp16_fp32"},
    {"layout", "--input-format"},
    {"data-format", "--input-format"},
    {"profile", "--layers"},
    {"profiling", "--layers"},
    {"enable-op-profiling", "--layers"},
    {"bin", "--weights"},
};

/// As those call the model, which has no option here.
constexpr std::string_view kModelNames[] = {"graph", "model-file", "model-path", "m", "param"};

constexpr std::string_view kModelExtensions[] = {"onnx", "tflite", "param"};

/// "num-threads" of "--num_threads=4".
std::string bare(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string out(word.substr(0, word.find('=')));
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

std::string help_of(const CLI::App& command) {
  return text("'stowage ", command.get_name(), " --help' tells what is understood");
}

bool has(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option.substr(0, option.find(' ')))) != nullptr;
}

/// The name of the first positional argument: MODEL, LAYOUT.
std::string first_argument(const CLI::App& command) {
  const std::vector<Definition> all = definitions_of(command);
  return all.empty() || !all[0].positional ? "" : all[0].names[0];
}

std::string unknown_option(const CLI::App& command, std::string_view word) {
  const std::string name = bare(word);
  const std::string there_is_none =
      text(command.get_name(), " has no option '", word.substr(0, word.find('=')), "'");
  const std::string argument = first_argument(command);
  if (argument == "MODEL" && std::ranges::find(kModelNames, name) != std::end(kModelNames)) {
    return text(there_is_none, "; the model stands alone: stowage ", command.get_name(), " FILE");
  }
  const auto* synonym = std::ranges::find(kSynonyms, name, &Synonym::theirs);
  if (synonym != std::end(kSynonyms) && has(command, synonym->ours)) {
    return text(there_is_none, "; it is ", synonym->ours, " here");
  }
  std::vector<std::string> names;
  for (const Definition& d : definitions_of(command)) {
    if (d.positional) continue;
    for (const std::string& own : d.names) names.push_back(bare(own));
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string meant = did_you_mean(name, candidates, "--");
  if (!meant.empty()) return there_is_none + meant;
  for (const CLI::App* other : commands_of(*command.get_parent())) {
    if (has(*other, text("--", name))) {
      return text(there_is_none, "; ", other->get_name(), " has one; ", help_of(command));
    }
  }
  return text(there_is_none, "; ", help_of(command));
}

std::string no_command(const CLI::App& app, std::span<const std::string> arguments) {
  std::string names;
  std::vector<std::string> all;
  for (const CLI::App* command : commands_of(app)) {
    names += text(names.empty() ? "" : ", ", command->get_name());
    all.push_back(command->get_name());
  }
  const std::string choose = text("choose one of ", names, ", or --help");
  if (arguments.empty()) return text("there is nothing to do; ", choose);
  const std::string& first = arguments.front();
  const std::string extension = extension_of(first);
  const bool option = is_option(first);
  if (!option && std::ranges::find(kModelExtensions, extension) != std::end(kModelExtensions)) {
    return text("there is no command before '", first, "'; write stowage run ", first, ", or ",
                choose);
  }
  for (const Definition& d : definitions_of(app)) {
    for (const std::string& own : d.names) all.push_back(bare(own));
  }
  const std::vector<std::string_view> candidates(all.begin(), all.end());
  std::string_view meant = nearest(bare(first), candidates);
  const bool dashes = !meant.empty() && app.get_option_no_throw(text("--", meant)) != nullptr;
  const std::string hint =
      meant.empty() ? "; " : text("; did you mean ", dashes ? "--" : "", meant, "? Or ");
  return option ? text("'", first, "' stands where a command should", hint, choose)
                : text("there is no command '", first, "'", hint, choose);
}

/// "--threads" of "--threads: 1 required N missing" and of "Could not convert: --threads = all".
const CLI::Option* option_in(const CLI::App& command, std::string_view sentence) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : definition_of(*option).names) {
      const std::size_t at = sentence.find(name);
      if (at == sentence.npos || (at > 0 && sentence[at - 1] != ' ')) continue;
      const std::size_t end = at + name.size();
      if (end == sentence.size() || sentence[end] == ':' || sentence[end] == ' ') return option;
    }
  }
  return nullptr;
}

/// "--threads N: Threads to use (default: every CPU)"
std::string told(const CLI::Option& option) {
  const Definition d = definition_of(option);
  return text(d.names.back(), d.value.empty() ? "" : " ", d.value, ": ", d.description);
}

std::string too_many(const CLI::App& command, const std::string& word) {
  std::string takes;
  for (const Definition& d : definitions_of(command)) {
    if (d.positional) takes += text(takes.empty() ? "" : " and ", d.names[0]);
  }
  return text("'", word, "' is too much: ", command.get_name(), " takes ",
              takes.empty() ? "no arguments" : takes, " and options; ", help_of(command));
}

}  // namespace

std::string slip(const CLI::App& app, std::span<const std::string> arguments,
                 const CLI::ParseError& error) {
  const CLI::App* command = &app;
  for (const CLI::App* one : commands_of(app)) {
    if (one->parsed()) command = one;
  }
  if (command != &app && arguments.front() == "help")
    return text("there is no command 'help'; ", help_of(*command));
  // What else is wrong often follows from an option that is none.
  const std::vector<std::string> left = command->remaining();
  const auto unknown = std::find_if(left.begin(), left.end(), is_option);
  if (command != &app && unknown != left.end()) return unknown_option(*command, *unknown);
  const CLI::Option* option = option_in(*command, error.what());
  const bool mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  if (option != nullptr && (mismatch || conversion)) {
    const Definition d = definition_of(*option);
    if (!d.positional && d.value.empty()) {
      return text(d.names.back(), " takes no value; ", told(*option));
    }
    if (mismatch) {
      // As CLI11 says it of what ArgumentMismatch::AtMost makes.
      const bool one_too_many = std::string_view(error.what()).find("At Most") != std::string::npos;
      return text(d.names.back(), one_too_many ? " is given twice; " : " needs a value; ",
                  told(*option));
    }
    return text("'", option->results().back(), "' is no number; ", told(*option));
  }
  if (command == &app) return no_command(app, arguments);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    return too_many(*command, left.front());
  }
  return text(error.what(), "; ", help_of(*command));
}

}  // namespace stowage::cli
