// SPDX-License-Identifier: Apache-2.0
// The files that outputs go to, and those that they are compared with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/io/file.h"
#include "cli/outputs.h"

namespace stowage::cli {

/// What the command line says of outputs.
struct OutputWords {
  std::vector<std::string> files, expected;
  std::optional<std::string> dir;
  std::string range;
  bool argmax = false;
  std::optional<int> channel;
};

enum class Form {
  array,    ///< .npy
  picture,  ///< .png, as are the others
  channel,  ///< one channel in grey
  classes,  ///< the best class of each pixel in the colours of class_palette
};

struct Target {
  int output = 0;
  Form form = Form::array;
  ImageAxes axes;  ///< of channel and classes
  OutputFile file;
};

/// What can be refused before any file is read. Throws Error(usage).
void check_output_words(const OutputWords& words);

/// Opens every output file, so that a place that cannot be written is known before the model runs.
/// `source`: how files of this kind order the axes of images. Throws Error(usage, bad_input).
std::vector<Target> open_outputs(const OutputWords& words, std::span<const Port> ports,
                                 DataFormat source);

/// What an output must be.
struct Expected {
  int output = 0;
  std::string file;
  Tensor tensor;
};

/// Reads the files of --expect. Throws Error(usage, bad_input).
std::vector<Expected> read_expected(const OutputWords& words, std::span<const Port> ports);

}  // namespace stowage::cli
