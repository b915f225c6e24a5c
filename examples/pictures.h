// SPDX-License-Identifier: Apache-2.0
// What the examples with pictures need beside Stowage: pictures in files, names of classes.
#pragma once

#include "common.h"

/// 8 bits a sample: red, green, blue.
struct Picture {
  Picture(int width, int height);

  /// Reads PNG and JPEG. Throws stowage::Error.
  explicit Picture(const std::string& file);

  void write_png(const std::string& file) const;

  stowage::MutablePixels pixels() {
    return {stowage::PixelFormat::rgb, width, height, samples.data()};
  }

  int width = 0, height = 0;
  std::vector<std::uint8_t> samples;
};

/// Lines of a file; none without a file.
std::vector<std::string> read_labels(const Arguments& arguments);

/// Opens a model for pictures of this size, where the file leaves it open, and plans it.
stowage::Session open_for_pictures(const std::string& file, int width, int height);

/// Width and height of the pictures that an input takes.
struct PictureSize {
  explicit PictureSize(const stowage::Port& port);
  int width, height;
};
