// SPDX-License-Identifier: Apache-2.0
#include "cli/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "report/roofline.h"

namespace stowage::cli {
namespace {

constexpr std::size_t kFurthest = 5;

/// A row of the table of --layers: a step, or all steps of a kernel.
struct Row {
  std::string kernel, op, name;
  int steps = 1;
  double us = 0;
  StepLimit limit;  ///< all 0 without Peaks
};

std::vector<Row> step_rows(const PlanReport& plan, const std::vector<double>& us,
                           const std::optional<Peaks>& peaks) {
  std::vector<StepLimit> limits(us.size());
  if (peaks.has_value()) limits = step_limits(plan, *peaks);
  std::vector<Row> out;
  for (std::size_t i = 0; i < us.size(); ++i) {
    const PlanReport::Step& step = plan.steps[i];
    const bool convert = step.kind == PlanReport::Step::Kind::convert;
    out.push_back({convert ? "convert" : step.kernel, step.op, step.name, 1, us[i], limits[i]});
  }
  return out;
}

void add(Row& sum, const Row& row) {
  sum.us += row.us;
  sum.limit.us += row.limit.us;
  sum.limit.predicted_us += row.limit.predicted_us;
  sum.limit.flops += row.limit.flops;
  sum.limit.bytes += row.limit.bytes;
}

/// One of each kernel, and one of all conversions; the slowest first.
std::vector<Row> kernel_rows(const std::vector<Row>& steps) {
  std::vector<Row> out;
  for (const Row& row : steps) {
    auto known = std::ranges::find(out, row.kernel, &Row::kernel);
    if (known == out.end()) known = out.insert(out.end(), {row.kernel, "", "", 0});
    add(*known, row);
    ++known->steps;
  }
  std::ranges::stable_sort(out, std::greater(), &Row::us);
  return out;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// Time and share, and with Peaks what else there is to say in numbers.
std::string columns(const Row& row, double sum, bool limits) {
  std::string out = fmt::format("{:10.1f} us {:5.1f} %", row.us, percent(row.us, sum));
  if (!limits) return out;
  const double us = std::max(row.us, 1e-3);
  return out + fmt::format(" {:9.1f} us {:8.1f} {:7.1f} {:7.0f} %", row.limit.predicted_us,
                           row.limit.flops / (us * 1e3), row.limit.bytes / (us * 1e3),
                           percent(row.limit.us, row.us));
}

std::string peaks_text(const Peaks& peaks) {
  std::string out = fmt::format("{:.0f} GFLOP/s", peaks.gflops);
  for (const Peaks::Level& level : peaks.levels) {
    out += fmt::format(", {:.0f} GB/s in {}", level.gb_per_s, level.name);
  }
  return out;
}

void put_limit(Json& json, const Row& row) {
  json["predicted_us"] = row.limit.predicted_us;
  json["flops"] = row.limit.flops;
  json["bytes"] = row.limit.bytes;
  json["limit_us"] = row.limit.us;
  if (!row.limit.bound.empty()) json["bound"] = row.limit.bound;
}

}  // namespace

std::string layers_text(const PlanReport& plan, const std::vector<double>& us,
                        const std::optional<Peaks>& peaks) {
  const std::vector<Row> rows = step_rows(plan, us, peaks);
  Row all;
  for (const Row& row : rows) add(all, row);
  const auto line = [&](const Row& row) { return columns(row, all.us, peaks.has_value()); };
  std::string out;
  if (peaks.has_value()) {
    out += fmt::format("{:>13} {:>7} {:>12} {:>8} {:>7} {:>9}  {:<18} {:<18} {}\n", "time", "share",
                       "predicted", "GFLOP/s", "GB/s", "of limit", "kernel", "operator", "name");
  }
  for (const Row& row : rows) {
    out += fmt::format("{}  {:<18} {:<18} {}\n", line(row), row.kernel, row.op, one_line(row.name));
  }
  out += line(all) + "  in all\n";
  for (const Row& row : kernel_rows(rows)) {
    out += fmt::format("{}  {:<18} {} step{}\n", line(row), row.kernel, row.steps,
                       row.steps == 1 ? "" : "s");
  }
  if (!peaks.has_value()) return out;
  out += fmt::format("Furthest from the limit of {} thread{} here ({}):\n", peaks->threads,
                     peaks->threads == 1 ? "" : "s", peaks_text(*peaks));
  for (const FarStep& far : furthest_steps(plan, *peaks, us, kFurthest)) {
    const Row& row = rows[far.step];
    out += fmt::format("{:10.1f} us, {:.1f} by {}: {} {}\n{:15}{}\n", far.us, far.limit.us,
                       far.limit.bound, row.kernel, one_line(row.name), "", one_line(far.why));
  }
  return out;
}

void put_layers(Json& json, const PlanReport& plan, const std::vector<double>& us,
                const std::optional<Peaks>& peaks) {
  const std::vector<Row> rows = step_rows(plan, us, peaks);
  json["layers"] = Json::array();
  for (const Row& row : rows) {
    Json one;
    one["name"] = row.name;
    one["op"] = row.op;
    one["kernel"] = row.kernel == "convert" ? "" : row.kernel;
    one["us"] = row.us;
    if (peaks.has_value()) put_limit(one, row);
    json["layers"].push_back(one);
  }
  json["kernels"] = Json::array();
  for (const Row& row : kernel_rows(rows)) {
    Json one;
    one["kernel"] = row.kernel;
    one["steps"] = row.steps;
    one["us"] = row.us;
    if (peaks.has_value()) put_limit(one, row);
    json["kernels"].push_back(one);
  }
  if (!peaks.has_value()) return;
  json["peaks"]["gflops"] = peaks->gflops;
  for (const Peaks::Level& level : peaks->levels) {
    json["peaks"]["gb_per_s"][level.name] = level.gb_per_s;
  }
  json["furthest"] = Json::array();
  for (const FarStep& far : furthest_steps(plan, *peaks, us, kFurthest)) {
    Json one;
    one["layer"] = far.step;
    one["us"] = far.us;
    one["limit_us"] = far.limit.us;
    one["bound"] = far.limit.bound;
    one["why"] = far.why;
    json["furthest"].push_back(one);
  }
}

}  // namespace stowage::cli
