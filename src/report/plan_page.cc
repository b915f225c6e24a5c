// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "report/plan_json.h"

namespace stowage {

/// Written by cmake/report.cmake from src/report/plan.html.
extern const char* const kPlanPage;

std::string plan_html(const PlanReport& plan, const std::string& model,
                      std::span<const double> step_us) {
  // ASCII, and no character that could end the script element: names come from the model file.
  const std::string json =
      plan_object(plan, model, step_us).dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  const std::string_view page = kPlanPage, mark = "@PLAN_JSON@";
  const std::size_t at = page.find(mark);
  return text(page.substr(0, at), safe, page.substr(at + mark.size()));
}

}  // namespace stowage
