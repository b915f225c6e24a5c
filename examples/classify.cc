// SPDX-License-Identifier: Apache-2.0
// What a picture shows: a classification model and its three best scores.
//
//   classify MODEL PICTURE [--labels FILE] [--mean R,G,B] [--norm R,G,B] [--order rgb|bgr] [--size
//   N]
//
// (sample - mean) * norm is what the model wants; samples run from 0 to 255. For example
//
//   classify squeezenet_v1.1.param cat.jpg --size 227 --order bgr --mean 104,117,123 --norm 1
//   classify mobilenet_v1.tflite cat.jpg --mean 127.5 --norm 0.00784314
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "pictures.h"

namespace {

struct Class {
  std::size_t index;
  float score;
};

/// The picture as the model wants it, in one pass: size, order of colours, mean, norm.
stowage::Mat input_of(Picture& picture, const PictureSize& size, const Arguments& arguments) {
  const std::vector<float> mean = arguments.numbers("mean", "123.675,116.28,103.53");
  const std::vector<float> norm = arguments.numbers("norm", "0.01712475,0.017507,0.01742919");
  const bool bgr = arguments.options.contains("order") && arguments.options.at("order") == "bgr";
  stowage::FromPixels how;
  how.width = size.width;
  how.height = size.height;
  how.to = bgr ? stowage::PixelFormat::bgr : stowage::PixelFormat::rgb;
  how.mean = mean;
  how.norm = norm;
  return stowage::from_pixels(picture.pixels(), how);
}

std::vector<Class> best(std::span<const float> scores, std::size_t count) {
  std::vector<Class> all;
  for (std::size_t i = 0; i < scores.size(); ++i) all.push_back({i, scores[i]});
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Class& a, const Class& b) { return a.score > b.score; });
  all.resize(count);
  return all;
}

void run(const Arguments& arguments) {
  const std::vector<std::string> labels = read_labels(arguments);
  const int side = static_cast<int>(arguments.numbers("size", "224")[0]);
  stowage::Session session = open_for_pictures(arguments.files[0], side, side);
  Picture picture(arguments.files[1]);

  const stowage::Mat in = input_of(picture, PictureSize(session.inputs()[0]), arguments);
  session.set_input(0, in.view(stowage::DType::f32));
  session.run();
  const stowage::Tensor scores = session.output(0);

  for (const Class& found : best(scores.as<float>(), 3)) {
    const std::string name = found.index < labels.size() ? "  " + labels[found.index] : "";
    std::printf("%zu = %f%s\n", found.index, found.score, name.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("classify", [&] {
    run(Arguments(argc, argv, 2, {"labels", "mean", "norm", "order", "size"}));
  });
}
