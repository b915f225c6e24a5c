// SPDX-License-Identifier: Apache-2.0
// A TFLite file for the tests of the command line.
#pragma once

#include <string>
#include <vector>

#include "tests/suite/tflite_builder.h"

namespace stowage::cli::test {

/// Relu, then a pooling over single pixels: what a batch of images is.
inline std::string tflite_image_model(const std::string& input, const std::vector<int>& shape,
                                      const std::string& output) {
  TfliteBuilder b;
  const int x = b.input(input, shape), rectified = b.tensor("rectified", shape);
  b.op(tfl::BuiltinOperator_RELU, {x}, {rectified});
  b.op(tfl::BuiltinOperator_MAX_POOL_2D, {rectified}, {b.output(output, shape)},
       tfl::CreatePool2DOptions(b.fbb, tfl::Padding_VALID, 1, 1, 1, 1),
       tfl::BuiltinOptions_Pool2DOptions);
  return b.bytes();
}

}  // namespace stowage::cli::test
