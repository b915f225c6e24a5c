// SPDX-License-Identifier: Apache-2.0
// Files of JSON that commands keep for a user: rates, and kernels that failed.
#pragma once

#include <string>
#include <string_view>

#include "cli/cli.h"
#include "stowage/device.h"

namespace stowage::cli {

/// `name` in the user's folder of stowage: that which the environment variable names (as XDG has
/// them), else below the home; empty without either.
std::string user_path(const char* variable, std::string_view below_home, std::string_view name);

/// There is a file of that name.
bool is_there(const std::string& file);

/// An object that has an object `member`; Error(bad_input) says `sentence` where it is none.
Json read_user_file(const std::string& file, const char* member, const std::string& sentence);

/// Makes the folder, too.
void write_user_file(const std::string& file, const Json& json);

/// As devices are called in files: "name, driver".
std::string device_key(const DeviceFacts& facts);

/// What the file has of the device under `devices`, or null.
const Json* device_entry(const Json& json, const DeviceFacts& facts);

}  // namespace stowage::cli
