// SPDX-License-Identifier: Apache-2.0
#include "pictures.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

using stowage::Error;
using stowage::ErrorCode;

Picture::Picture(int w, int h)
    : width(w), height(h), samples(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * 3) {}

Picture::Picture(const std::string& file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, file.c_str()) != 0) {
    png.format = PNG_FORMAT_RGB;
    *this = Picture(static_cast<int>(png.width), static_cast<int>(png.height));
    const png_color black = {0, 0, 0};
    if (png_image_finish_read(&png, &black, samples.data(), 0, nullptr) != 0) return;
    throw Error(ErrorCode::bad_input, file + ": " + png.message);
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::unique_ptr<void, int (*)(void*)> jpeg(tjInitDecompress(), tjDestroy);
  int w = 0, h = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(jpeg.get(), data, bytes.size(), &w, &h, &subsampling, &colours) == 0) {
    *this = Picture(w, h);
    if (tjDecompress2(jpeg.get(), data, bytes.size(), samples.data(), w, 0, h, TJPF_RGB,
                      TJFLAG_ACCURATEDCT) == 0) {
      return;
    }
  }
  throw Error(ErrorCode::bad_input, file + " is no PNG or JPEG that can be read");
}

void Picture::write_png(const std::string& file) const {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(width);
  png.height = static_cast<png_uint_32>(height);
  png.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&png, file.c_str(), 0, samples.data(), 0, nullptr) == 0) {
    throw Error(ErrorCode::bad_input, file + ": " + png.message);
  }
}

std::vector<std::string> read_labels(const Arguments& arguments) {
  std::vector<std::string> out;
  const auto given = arguments.options.find("labels");
  if (given == arguments.options.end()) return out;
  std::ifstream stream(given->second);
  if (!stream) throw Error(ErrorCode::bad_input, given->second + " cannot be read");
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

stowage::Session open_for_pictures(const std::string& file, int width, int height) {
  const auto model = stowage::open_model(file);
  const stowage::ModelInput& input = model->inputs()[0];
  stowage::SpecialiseOptions options;
  // Models of ncnn take c, h, w, and say nothing of them or give a hint.
  const bool batch = input.dims.has_value() && input.dims->size() == 4;
  const bool open = !input.dims.has_value() ||
                    std::any_of(input.dims->begin() + batch, input.dims->end(),
                                [](const stowage::ModelDim& dim) { return dim.extent < 0; });
  if (open && batch) options.shapes[input.name] = {1, 3, height, width};
  if (open && !batch) options.shapes[input.name] = {3, height, width};
  const int threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  return stowage::Session(
      stowage::make_plan(stowage::specialise(*model, options), {.threads = threads}));
}

PictureSize::PictureSize(const stowage::Port& port) {
  const int last = port.shape.rank() - 1 - (port.data_format == stowage::DataFormat::nhwc);
  if (last < 1) throw Error(ErrorCode::usage, "the model takes no picture: " + port.shape.text());
  width = static_cast<int>(port.shape[last]);
  height = static_cast<int>(port.shape[last - 1]);
}
