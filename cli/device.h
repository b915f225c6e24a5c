// SPDX-License-Identifier: Apache-2.0
// Where a model runs: the options that name a device and how its memory is used.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/cli.h"
#include "stowage/model.h"

namespace stowage::cli {

struct DeviceArguments {
  /// As said by the command line, else by a deployment file; nothing: cpu, any, fp32.
  std::optional<std::string> device, memory, data_type;
  std::string device_limits;
  bool winograd = true;            ///< where it is faster; else not at all
  bool or_cpu = false;             ///< where `device` is not here, the CPU will do
  bool profile = false;            ///< the device measures its steps
  bool tune = false;               ///< and its groups, where they are not known
  bool fill_nan = false;           ///< its memory begins as NaN
  std::shared_ptr<Device> opened;  ///< by open_device; null: the CPU
  std::string missing;             ///< why the CPU computes instead; set by open_device
};

/// --device, --memory, --data-type, --device-limits and --threads.
void add_device_options(CLI::App* command, DeviceArguments& arguments, std::optional<int>& threads);

/// --tune, of the verbs that run a model.
void add_tune_option(CLI::App* command, DeviceArguments& arguments);

/// A word of --memory and of cl_mem_type.
bool is_memory(std::string_view word);

/// Throws Error(usage) for options of devices without one, which a deployment file has named by now
/// if there is one.
void expect_device(const DeviceArguments& arguments);

/// Of the command line alone. Throws Error(usage) for words that mean nothing, and for options of
/// devices where neither the command line nor a deployment file (`deployed`: there is one) can name
/// one.
void check_device(const DeviceArguments& arguments, bool deployed);

bool on_device(const DeviceArguments& arguments);

/// Throws Error(usage) unless --device names a device that is not the CPU.
void expect_no_cpu(const DeviceArguments& arguments);

/// Opens what --device names. Throws Error(device) for one that is not here, unless `or_cpu`.
void open_device(DeviceArguments& arguments);

/// For PlanOptions: the device that was opened, with no more than --device-limits says, with what
/// `calibrate` measured (load_device_rates) and without the kernels that failed `selftest`; without
/// an open device what the file of limits says; nothing for the CPU. Throws Error(bad_input, usage)
/// for a bad file.
std::optional<DeviceOptions> device_options(const DeviceArguments& arguments,
                                            const std::string& rates);

}  // namespace stowage::cli
