// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_files.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "base/text.h"
#include "cli/io/file.h"
#include "cli/model_explorer.h"
#include "stowage/report.h"

namespace stowage::cli {

void add_plan_files(CLI::App* command, PlanFiles& files, std::string_view and_times) {
  command
      ->add_option("--html", files.html,
                   text("Write one self-contained page: the graph by layout and time, what each "
                        "name means, the arena",
                        and_times))
      ->type_name("FILE");
  command
      ->add_option("--model-explorer", files.model_explorer,
                   text("Write the graph for Model Explorer, and beside FILE.json the overlays "
                        "FILE.layout.json and FILE.predicted.json",
                        and_times))
      ->type_name("FILE");
}

std::string write_plan_files(const PlanFiles& files, const PlanReport& plan,
                             const std::string& model, std::span<const double> step_us) {
  std::vector<std::string> paths;
  if (!files.html.empty()) {
    OutputFile page(files.html);
    page.write(plan_html(plan, model, step_us));
    page.commit();
    paths.push_back(files.html);
  }
  if (!files.model_explorer.empty()) {
    for (std::string& path : write_model_explorer(files.model_explorer, plan, model, step_us)) {
      paths.push_back(std::move(path));
    }
  }
  std::string out;
  for (const std::string& path : paths) out += text("wrote ", one_line(path), "\n");
  return out;
}

}  // namespace stowage::cli
