// SPDX-License-Identifier: Apache-2.0
// What the command line says of pictures, word by word, and names for what is usual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/io/preprocess.h"

namespace stowage::cli {

/// The options of those names, as they are written; empty: not said.
struct PreprocessWords {
  std::string resize, resize_mode, crop, mean, norm, pixel;
};

/// What --preprocess NAME stands for; null for a name that is unknown.
const PreprocessWords* preprocess_named(std::string_view name);

/// "imagenet, keras-tf, ..."
std::string preprocess_names();

/// `words`, and what they leave unsaid from `usual`. Throws Error(usage).
Preprocess parse_preprocess(const PreprocessWords& words, const PreprocessWords& usual = {});

/// "123.675,116.28,103.53", "[0.5]", "1/255". Throws Error(usage).
std::vector<float> parse_reals(std::string_view option, std::string_view list);

}  // namespace stowage::cli
