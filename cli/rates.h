// SPDX-License-Identifier: Apache-2.0
// The file in which `stowage calibrate` keeps what machines do a second.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/cli.h"
#include "stowage/convert.h"
#include "stowage/model.h"

namespace stowage::cli {

/// The name that the system gives the processor, or "CPU".
std::string processor_name();

/// Where rates are kept by default: below XDG_CONFIG_HOME or ~/.config; empty without either.
std::string rates_file();

/// What was measured of this machine; without a word from a file, what is built in.
struct MachineRates {
  Rates rates;
  ConversionTuning conversions = default_conversion_tuning();
};

/// Those of this machine: from `file`, which must have rates unless it has those of a device;
/// from rates_file() when `file` is empty, and the built-in ones when that has none; the built-in
/// ones for "default". Throws Error(bad_input).
MachineRates load_rates(const std::string& file);

/// As files and `calibrate --json` have it.
Json json_of(const ConversionTuning& tuning);

/// Puts them into the file; those of other machines stay. Throws Error(bad_input).
void save_rates(const std::string& file, const MachineRates& rates);

/// The rates of the device, from the files that load_rates reads; those of the facts where no file
/// has them, and for "default". Throws Error(bad_input).
DeviceRates load_device_rates(const std::string& file, const DeviceFacts& facts);

/// Puts them into the file; all others stay. Throws Error(bad_input).
void save_device_rates(const std::string& file, const DeviceFacts& facts, const DeviceRates& rates);

/// A member of Rates, as files and tables call it.
struct RateName {
  const char* name;
  double Rates::*member;
  const char* unit;
  const char* meaning;
};

std::span<const RateName> rate_names();

/// Likewise of DeviceRates.
struct DeviceRateName {
  const char* name;
  double DeviceRates::*member;
  const char* unit;
  const char* meaning;
};

std::span<const DeviceRateName> device_rate_names();

}  // namespace stowage::cli
