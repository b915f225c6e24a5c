// SPDX-License-Identifier: Apache-2.0
// Data on its way into a model: files, pictures.
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
/// Throws Error(bad_input) when the data does not fit what the model fixes, and what picture_fit
/// does.
void bind_data(const ModelOptions& options, const Preprocess& how, ModelPorts& model,
               std::vector<InputData>& data, Shapes& shapes);

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

/// The elements of a tensor without padding as numbers, as they lie.
std::vector<double> values_of(const Tensor& tensor);

}  // namespace stowage::cli
