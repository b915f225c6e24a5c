// SPDX-License-Identifier: Apache-2.0
// What is possible, but looks like a slip: sentences for "warning: ...".
#pragma once

#include <string>
#include <vector>

#include "cli/data.h"
#include "cli/outputs.h"

namespace stowage::cli {

/// Of --mean and --norm for a picture that becomes `dtype`: both for the same range of samples, and
/// the right way up.
std::vector<std::string> picture_warnings(const Preprocess& how, DType dtype);

/// Of --mean for an array.
std::vector<std::string> array_warnings(const Preprocess& how, const InputData& data);

/// Of labels for an output of so many classes.
std::vector<std::string> label_warnings(const std::string& file, std::size_t labels,
                                        const Port& output);

/// Of values that are no numbers.
std::vector<std::string> output_warnings(const Port& output, const Summary& summary);

/// Of --output-range.
std::vector<std::string> range_warnings(const Port& output, const Summary& summary,
                                        OutputRange range);

}  // namespace stowage::cli
