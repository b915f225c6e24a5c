// SPDX-License-Identifier: Apache-2.0
// What both examples need beside Stowage: arguments, pictures in files, names of classes.
#pragma once

#include <stowage/stowage.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// "MODEL PICTURE --labels FILE": files in their order, values of options by name.
struct Arguments {
  /// `known`: names of options. Throws stowage::Error for another one, or for another number of
  /// files.
  Arguments(int argc, char** argv, std::size_t file_count, const std::vector<std::string>& known);

  /// The numbers "1,2,3" of an option, `count` of them or more. Throws stowage::Error.
  std::vector<float> numbers(const std::string& name, const std::string& without,
                             std::size_t count = 1) const;

  std::vector<std::string> files;
  std::map<std::string, std::string> options;
};

/// Runs what is after `main`; errors become a sentence and the exit code that they name.
int run_program(const char* name, const std::function<void()>& program);

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
