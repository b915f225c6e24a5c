// SPDX-License-Identifier: Apache-2.0
#include "cli/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace stowage::cli {
namespace {

using Floats = std::vector<float>;

std::string listed(const Floats& list) { return fmt::format("{:g}", fmt::join(list, ",")); }

template <class F>
Floats each(const Floats& list, F&& f) {
  Floats out;
  for (const float v : list) out.push_back(static_cast<float>(f(v)));
  return out;
}

template <class F>
bool all(const Floats& list, F&& f) {
  return !list.empty() && std::all_of(list.begin(), list.end(), f);
}

/// Means of samples from 0 to 1.
bool of_unit(const Floats& mean) {
  return all(mean, [](float v) { return std::fabs(v) <= 1; }) &&
         std::any_of(mean.begin(), mean.end(), [](float v) { return v != 0; });
}

bool of_bytes(const Floats& mean) {
  return std::any_of(mean.begin(), mean.end(), [](float v) { return std::fabs(v) > 1; });
}

/// What a multiplier looks like that is none, and what to write instead; empty where it is fine.
std::string norm_slip(const Floats& norm) {
  std::string_view what;
  std::string instead;
  if (all(norm, [](float v) { return v >= 0.1f && v < 1; })) {
    what = "looks like a standard deviation of samples from 0 to 1";
    instead = listed(each(norm, [](float v) { return 1 / (255 * v); }));
  } else if (all(norm, [](float v) { return v > 10; })) {
    what = "looks like a divisor";
    instead = "1/" + fmt::format("{:g}", fmt::join(norm, ",1/"));
  } else if (all(norm, [](float v) { return v > 1; })) {
    what = "looks like a factor of samples from 0 to 1";
    instead = listed(each(norm, [](float v) { return v / 255; }));
  } else {
    return "";
  }
  return text("--norm ", listed(norm), " ", what,
              "; it multiplies samples from 0 to 255, so perhaps --norm ", instead, " is meant");
}

/// What a type holds, of those in which few numbers between two are lost sight of.
bool small_integers(DType dtype, double& least, double& most) {
  least = dtype == DType::i8 ? -128 : 0;
  most = dtype == DType::i8 ? 127 : 255;
  return dtype == DType::i8 || dtype == DType::u8;
}

}  // namespace

std::vector<std::string> picture_warnings(const Preprocess& how, DType dtype) {
  std::vector<std::string> out;
  if (of_unit(how.mean)) {
    out.push_back(text("--mean ", listed(how.mean),
                       " looks like one of samples from 0 to 1; it is subtracted from samples from "
                       "0 to 255, so perhaps --mean ",
                       listed(each(how.mean, [](float v) { return 255 * v; })), " is meant"));
  }
  if (of_bytes(how.mean) && how.norm.empty()) {
    out.push_back(text("--mean ", listed(how.mean),
                       " stands without --norm, which is 1/255 then; models that want samples less "
                       "a mean and no more want --norm 1"));
  }
  if (std::string slip = norm_slip(how.norm); !slip.empty()) out.push_back(std::move(slip));
  double least = 0, most = 0;
  if ((!how.mean.empty() || !how.norm.empty()) && small_integers(dtype, least, most)) {
    const Floats mean = how.mean.empty() ? Floats{0} : how.mean;
    const Floats norm = how.norm.empty() ? Floats{1.0f / 255} : how.norm;
    double low = INFINITY, high = -INFINITY;
    for (std::size_t c = 0; c < std::max(mean.size(), norm.size()); ++c) {
      const double m = mean[mean.size() == 1 ? 0 : c], n = norm[norm.size() == 1 ? 0 : c];
      low = std::min({low, (0 - m) * n, (255 - m) * n});
      high = std::max({high, (0 - m) * n, (255 - m) * n});
    }
    constexpr double kFew = 16;
    if (low < least - 1 || high > most + 1 || high - low < kFew) {
      out.push_back(
          fmt::format("the input is {} and holds {:g} to {:g}, but --mean and --norm make {:g} to "
                      "{:g}; without "
                      "them samples stay as they are",
                      dtype_name(dtype), least, most, low, high));
    }
  }
  return out;
}

std::vector<std::string> array_warnings(const Preprocess& how, const InputData& data) {
  if (!data.tensor.has_value()) return {};
  const Summary summary = summary_of(*data.tensor);
  if (summary.numbers == 0) return {};
  const double largest = std::max(std::fabs(summary.least), std::fabs(summary.most));
  const bool mean_of_bytes = of_bytes(how.mean) && largest <= 1;
  if (!mean_of_bytes && !(of_unit(how.mean) && largest > 16)) return {};
  return {fmt::format(
      "--mean {} looks like one of samples from 0 to {}, but '{}' holds {:g} to {:g}",
      listed(how.mean), mean_of_bytes ? 255 : 1, data.file, summary.least, summary.most)};
}

std::vector<std::string> label_warnings(const std::string& file, std::size_t labels,
                                        const Port& output) {
  const auto classes = static_cast<std::size_t>(output.shape.elements());
  if (labels == classes) return {};
  std::string out = text("'", file, "' has ", labels, " labels, but output '", output.name,
                         "' has ", classes, " classes");
  if (labels + 1 == classes) out += "; where class 0 is the background, every label is off by one";
  if (labels == classes + 1) out += "; where label 0 is the background, every label is off by one";
  return {std::move(out)};
}

std::vector<std::string> output_warnings(const Port& output, const Summary& summary) {
  if (summary.others == 0) return {};
  return {text("output '", output.name, "' has ", summary.others,
               " elements that are infinite or no number; perhaps the input is not scaled as the "
               "model wants it")};
}

std::vector<std::string> range_warnings(const Port& output, const Summary& summary,
                                        OutputRange range) {
  const bool dark = range == OutputRange::byte && summary.numbers > 0 && summary.most <= 1.5;
  const bool bright = range == OutputRange::unit && summary.most > 1.5;
  if (!dark && !bright) return {};
  return {
      fmt::format("output '{}' holds {:g} to {:g}, so with --output-range {} the picture is "
                  "nearly all {}",
                  output.name, summary.least, summary.most, dark ? "0..255" : "0..1",
                  dark ? "black" : "white")};
}

}  // namespace stowage::cli
