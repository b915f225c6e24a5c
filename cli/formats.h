// SPDX-License-Identifier: Apache-2.0
// Data formats of a model's inputs and outputs: what the user says of them, and what the model has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/model_ports.h"
#include "stowage/data_format.h"
#include "stowage/model.h"

namespace stowage::cli {

/// The format in which the user has an input or wants an output. none: as the model has it.
struct SaidFormat {
  DataFormat format = DataFormat::none;
  /// Said once for several tensors: it means those that have a data format.
  bool for_all = false;
  std::string where;  ///< "app.yml:7: ", of a deployment file; empty: the command line
};

/// By name.
using Formats = std::map<std::string, SaidFormat>;

/// NAME=NCHW|NHWC|NONE in any case, for ports of these names; a single port needs no name.
/// Throws Error(usage).
Formats parse_formats(std::string_view option, const std::vector<std::string>& list,
                      std::span<const std::string> names);

/// What holds for a port: `said`, or none where one format stands for all and the port has no
/// data format. Throws Error(usage), for a deployment file Error(bad_input), when it is NCHW or
/// NHWC and `shape` has no data format.
DataFormat format_of(const SaidFormat& said, std::string_view name, const Shape& shape);

/// Of all ports that something is said of.
std::map<std::string, DataFormat> formats_of(const Formats& said, std::span<const Port> ports);

/// NHWC for NCHW and NCHW for NHWC.
DataFormat other_format(DataFormat format);

/// order[i]: which axis of the model stands at place i of a tensor of four axes in `format`, when
/// the model has it in `own`; the identity when one of them is none, or for another rank.
std::vector<int> format_order(DataFormat format, DataFormat own, int rank);

/// Extents of a tensor in `format`, in the order of `own`.
std::vector<std::int64_t> turned(std::span<const std::int64_t> extents, DataFormat format,
                                 DataFormat own);

/// The extents are those that the model file fixes.
bool fits(const std::vector<std::int64_t>& extents, const ModelInput& input);

/// The extents, in the model's order, of a tensor that has `extents` in the format said of it.
/// The model's own order is `input.format`, or the other one where only that fits: it is kept
/// there. Nothing when neither fits.
std::optional<std::vector<std::int64_t>> in_model_order(ModelInput& input, const SaidFormat& said,
                                                        std::span<const std::int64_t> extents);

/// The format in which extents that do not fit would; nothing when none does.
std::optional<DataFormat> fitting_format(const ModelInput& input,
                                         std::span<const std::int64_t> extents);

}  // namespace stowage::cli
