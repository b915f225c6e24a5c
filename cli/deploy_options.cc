// SPDX-License-Identifier: Apache-2.0
// Deployment files on the command line: which one, and which model of it.
#include <CLI/CLI.hpp>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/deploy.h"
#include "cli/io/sha256.h"

namespace stowage::cli {

void add_deploy_options(CLI::App* command, std::string& file, std::string& model) {
  for (CLI::Option* option : command->get_options()) {
    if (option->get_positional()) option->required(false);
  }
  command
      ->add_option("--deploy", file,
                   "A deployment file in YAML, with MACE's keys, that names the model and more")
      ->type_name("FILE");
  command->add_option("--model", model, "Which model of the deployment file")->type_name("NAME");
}

void check_deploy_options(std::string_view command, std::string_view instead, bool given,
                          const std::string& file, const std::string& model) {
  if (!given && file.empty() && model.empty())
    fail(ErrorCode::usage, "give ", instead, " or --deploy FILE; 'stowage ", command,
         " --help' tells what is understood");
  if (given && !file.empty()) {
    fail(ErrorCode::usage, instead, " and --deploy exclude each other; the file names the model");
  }
  if (!model.empty() && file.empty()) {
    fail(ErrorCode::usage, "--model needs --deploy FILE, in which it chooses; the file ",
         "of a model stands alone: stowage ", command, " ", model);
  }
}

const Deployment& choose_deployment(const std::vector<Deployment>& list, const std::string& name) {
  if (name.empty() && list.size() == 1) return list[0];
  std::string all;
  std::vector<std::string_view> names;
  for (const Deployment& deployment : list) {
    if (deployment.name == name) return deployment;
    all += text(all.empty() ? "" : ", ", deployment.name);
    names.push_back(deployment.name);
  }
  fail(ErrorCode::usage, "'", list.at(0).file, "' has ",
       name.empty() ? std::string("several models")
                    : text("no model '", name, "'", did_you_mean(name, names)),
       "; choose one with --model: ", all);
}

void verify_deployment(const Deployment& deployment) {
  if (deployment.refusal.has_value()) {
    fail(deployment.refusal->code(), deployment.refusal->sentence());
  }
  try {
    const InputFile there(deployment.model);
  } catch (const Error& error) {
    fail(error.code(), deployment.file, ":", deployment.model_line, ": ", error.sentence(),
         "; paths begin in the folder of this file");
  }
  if (deployment.sha256.empty()) return;
  const std::string sum = sha256_of_file(deployment.model);
  if (sum != deployment.sha256) {
    fail(ErrorCode::bad_input, deployment.file, ":", deployment.sha256_line, ": '",
         deployment.model, "' has the SHA-256 ", sum,
         ", so it is another file than this one tells of");
  }
}

std::optional<Deployment> take_deployment(const std::string& file, const std::string& name,
                                          ModelOptions& options) {
  if (file.empty()) return std::nullopt;
  Deployment chosen = choose_deployment(read_deployments(file), name);
  verify_deployment(chosen);
  options.model = chosen.model;
  return chosen;
}

}  // namespace stowage::cli
