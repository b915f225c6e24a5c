// SPDX-License-Identifier: Apache-2.0
#include "cli/formats.h"

#include <algorithm>

#include "base/text.h"
#include "base/trail.h"
#include "cli/model.h"

namespace stowage::cli {
DataFormat other_format(DataFormat format) {
  switch (format) {
    case DataFormat::nchw:
      return DataFormat::nhwc;
    case DataFormat::nhwc:
      return DataFormat::nchw;
    case DataFormat::none:
      break;
  }
  return DataFormat::none;
}

Formats parse_formats(std::string_view option, const std::vector<std::string>& list,
                      std::span<const std::string> names) {
  Formats formats;
  for (const std::string& item : list) {
    const auto [name, value] = assign(option, item, names);
    const std::optional<DataFormat> format = parse_data_format(value);
    if (!format.has_value()) {
      fail(ErrorCode::usage, option, " '", value, "' is unknown; choose NCHW, NHWC or NONE");
    }
    formats[name] = {*format, false, ""};
  }
  return formats;
}

DataFormat format_of(const SaidFormat& said, std::string_view name, const Shape& shape) {
  if (said.format == DataFormat::none || data_format(shape) != DataFormat::none) return said.format;
  if (said.for_all) return DataFormat::none;
  const bool file = !said.where.empty();
  const std::string why =
      shape.rank() == 4
          ? text("' of shape ", shape.extents(),
                 " has no data format, for no operator of the model names its axes n, c, h and w")
          : text("' has ", shape.rank(), shape.rank() == 1 ? " axis" : " axes",
                 "; NCHW and NHWC are orders of four");
  fail(file ? ErrorCode::bad_input : ErrorCode::usage, said.where, "'", name, why,
       file ? "; write NONE" : "; use NONE");
}

std::map<std::string, DataFormat> formats_of(const Formats& said, std::span<const Port> ports) {
  std::map<std::string, DataFormat> out;
  for (const Port& port : ports) {
    const auto at = said.find(port.name);
    if (at == said.end()) continue;
    const DataFormat format = format_of(at->second, port.name, port.shape);
    // What one word for all does not mean is not said.
    if (format == at->second.format) out[port.name] = format;
  }
  return out;
}

std::vector<int> format_order(DataFormat format, DataFormat own, int rank) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  const bool same = format == own || format == DataFormat::none || own == DataFormat::none;
  if (same || rank != 4) return order;
  return format == DataFormat::nhwc ? std::vector<int>{0, 2, 3, 1} : std::vector<int>{0, 3, 1, 2};
}

std::vector<std::int64_t> turned(std::span<const std::int64_t> extents, DataFormat format,
                                 DataFormat own) {
  const std::vector<int> order = format_order(format, own, static_cast<int>(extents.size()));
  std::vector<std::int64_t> out(extents.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    out[static_cast<std::size_t>(order[i])] = extents[i];
  }
  return out;
}

bool fits(const std::vector<std::int64_t>& extents, const ModelInput& input) {
  return !input.has_shape ||
         std::equal(extents.begin(), extents.end(), input.extents.begin(), input.extents.end(),
                    [](std::int64_t have, std::int64_t want) { return want < 0 || want == have; });
}

std::optional<std::vector<std::int64_t>> in_model_order(ModelInput& input, const SaidFormat& said,
                                                        std::span<const std::int64_t> extents) {
  for (const DataFormat own : {input.format, other_format(input.format)}) {
    const std::vector<std::int64_t> out = turned(extents, said.format, own);
    if (!fits(out, input)) continue;
    if (said.format != DataFormat::none) input.format = own;
    return out;
  }
  return std::nullopt;
}

std::optional<DataFormat> fitting_format(const ModelInput& input,
                                         std::span<const std::int64_t> extents) {
  if (extents.size() != 4) return std::nullopt;
  for (const DataFormat own : {DataFormat::nchw, DataFormat::nhwc}) {
    if (fits(turned(extents, other_format(own), own), input)) return other_format(own);
  }
  return std::nullopt;
}

}  // namespace stowage::cli
