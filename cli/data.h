// SPDX-License-Identifier: Apache-2.0
// Data on its way into a model and out of it: files, pictures, classifications.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/io/image.h"
#include "cli/io/preprocess.h"
#include "cli/model.h"

namespace stowage::cli {

/// What a user gives for one input.
struct InputData {
  std::string name, file;
  std::optional<Tensor> tensor;    ///< .npy, .pb
  std::optional<Picture> picture;  ///< .png, .jpg, .bmp
};

/// Reads a file of any of these kinds, by its content, .pb by its name.
InputData read_input(const std::string& name, const std::string& file);

/// Adds what the data says about extents that the model, or `shapes`, leaves free. A leading axis
/// of 1 may be left out: it is put back. The model's own order is each ModelInput::format, or the
/// other one where only that fits.
/// Throws Error(bad_input) when the data does not fit what the model fixes.
void bind_data(const ModelOptions& options, ModelPorts& model, std::vector<InputData>& data,
               Shapes& shapes);

/// The input that takes a picture when none is named: of four axes before three.
/// Throws Error(usage) when there is none.
std::string picture_input(std::span<const ModelInput> inputs);

/// The input to which --mean and --norm belong: nothing when pictures are given, to which they
/// do, or when nothing is said. Throws Error(usage) when it is not clear which.
std::optional<std::string> scaled_array(const std::vector<InputData>& data, const Preprocess& how,
                                        std::span<const Port> ports);

/// Gives one input; returns what was done in words: "640 x 427 stretched to 224 x 224, rgb, ...".
/// `given`: the format of an array. `scaled`: (x - mean) * norm is computed of an array, too.
std::string give_input(Session& session, const InputData& data, const Preprocess& how,
                       DataFormat given, bool scaled);

/// The values as they lie in memory when read row by row, in the format that is wanted.
Tensor take_output(const Session& session, int output, DataFormat wanted);

/// Whether samples of a picture run from 0 to 1 or from 0 to 255; automatic: 0 to 1 unless a
/// value exceeds 1.5.
enum class OutputRange { automatic, unit, byte };
OutputRange parse_output_range(std::string_view word);

/// An output as a picture. Throws Error(usage) when its shape is none.
Picture output_picture(const Tensor& output, OutputRange range, bool bgr, const std::string& name);

/// Axes that hold more than one element are one at most: a list of scores.
bool is_classification(const Port& port);

/// "281 = 0.912345  tabby", the best first. Labels may be empty.
std::vector<std::string> top_lines(const Tensor& scores, int count,
                                   const std::vector<std::string>& labels);

/// One label a line. Throws Error(bad_input, limit).
std::vector<std::string> read_labels(const std::string& file);

/// "min -0.5  max 3.25  mean 0.125", and how many are no numbers.
std::string summary(const Tensor& tensor);

/// The elements of a tensor without padding as numbers, as they lie.
std::vector<double> values_of(const Tensor& tensor);

}  // namespace stowage::cli
