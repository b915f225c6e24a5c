// SPDX-License-Identifier: Apache-2.0
// Where things are in a picture: a detection model, its boxes, and a copy of the picture with the
// boxes drawn into it.
//
//   detect MODEL PICTURE OUT.png [--labels FILE] [--mean R,G,B] [--norm R,G,B] [--size W,H]
//   [--score S]
//
// Models of two kinds:
//   one output, rows of label, score, x1, y1, x2, y2 from 0 to 1: what ncnn's DetectionOutput,
//     YoloDetectionOutput and Yolov3DetectionOutput make. Label 0 is the background:
//     detect yolo-fastest-1.1.param street.jpg out.png --size 320,320 --mean 0 --norm 0.00392157
//   two outputs, `scores` and `boxes`: UltraFace for ncnn, whose boxes count from anchors:
//     detect slim_320.param people.jpg out.png
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pictures.h"

namespace {

struct Box {
  float x1, y1, x2, y2, score;
  int label;

  float area() const { return std::max(x2 - x1, 0.0f) * std::max(y2 - y1, 0.0f); }
};

/// Rows of a detection layer; those behind the last detection are zero.
std::vector<Box> boxes_of_rows(std::span<const float> rows, PictureSize size, float least) {
  std::vector<Box> out;
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  for (; rows.size() >= 6; rows = rows.subspan(6)) {
    if (rows[1] < least) continue;
    out.push_back({rows[2] * w, rows[3] * h, rows[4] * w, rows[5] * h, rows[1],
                   static_cast<int>(std::lround(std::clamp(rows[0], 0.0f, 1e6f)))});
  }
  return out;
}

/// UltraFace: anchors of two or three sides at each place of four grids; a score of no face and one
/// of a face for each, and its centre and size, counted from the anchor. Places divide the picture
/// into equal parts, as in training, also where the stride does not divide it.
std::vector<Box> faces(std::span<const float> scores, std::span<const float> boxes,
                       PictureSize size, float least) {
  const struct {
    int stride;
    std::vector<float> sides;
  } grids[] = {{8, {10, 16, 24}}, {16, {32, 48}}, {32, {64, 96}}, {64, {128, 192, 256}}};

  std::vector<Box> out;
  for (const auto& [stride, sides] : grids) {
    const int columns = (size.width + stride - 1) / stride;
    const int rows = (size.height + stride - 1) / stride;
    for (int place = 0; place < rows * columns; ++place) {
      const float x = (static_cast<float>(place % columns) + 0.5f) / static_cast<float>(columns);
      const float y = (static_cast<float>(place / columns) + 0.5f) / static_cast<float>(rows);
      for (const float side : sides) {
        if (scores.size() < 2 || boxes.size() < 4) {
          throw stowage::Error(stowage::ErrorCode::usage, "these are not the boxes of UltraFace");
        }
        const float cx = x * static_cast<float>(size.width) + boxes[0] * 0.1f * side;
        const float cy = y * static_cast<float>(size.height) + boxes[1] * 0.1f * side;
        const float w = side * std::exp(boxes[2] * 0.2f), h = side * std::exp(boxes[3] * 0.2f);
        if (scores[1] >= least) {
          out.push_back({cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, scores[1], 0});
        }
        scores = scores.subspan(2);
        boxes = boxes.subspan(4);
      }
    }
  }
  return out;
}

/// Of boxes of one label that overlap only the best stays.
std::vector<Box> without_overlaps(std::vector<Box> boxes, float most) {
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
      const Box shared = {std::max(box.x1, other.x1),
                          std::max(box.y1, other.y1),
                          std::min(box.x2, other.x2),
                          std::min(box.y2, other.y2),
                          0,
                          0};
      return box.label == other.label &&
             shared.area() > most * (box.area() + other.area() - shared.area());
    });
    if (!overlaps) kept.push_back(box);
  }
  return kept;
}

void draw(Picture& picture, const Box& box) {
  constexpr std::uint8_t kColours[][3] = {
      {235, 64, 52}, {52, 152, 219}, {46, 204, 113}, {241, 196, 15}};
  const std::uint8_t* colour = kColours[box.label % 4];
  const int thick = std::max(picture.width / 300, 2);
  const int x1 = static_cast<int>(box.x1), x2 = static_cast<int>(box.x2);
  const int y1 = static_cast<int>(box.y1), y2 = static_cast<int>(box.y2);
  for (int y = std::max(y1, 0); y < std::min(y2, picture.height); ++y) {
    for (int x = std::max(x1, 0); x < std::min(x2, picture.width); ++x) {
      const bool inside = x >= x1 + thick && x < x2 - thick && y >= y1 + thick && y < y2 - thick;
      const std::ptrdiff_t pixel = std::ptrdiff_t{y} * picture.width + x;
      if (!inside) std::copy_n(colour, 3, picture.samples.begin() + pixel * 3);
    }
  }
}

void run(const Arguments& arguments) {
  const std::vector<std::string> labels = read_labels(arguments);
  const std::vector<float> wanted = arguments.numbers("size", "320,240", 2);
  const std::vector<float> mean = arguments.numbers("mean", "127");
  const std::vector<float> norm = arguments.numbers("norm", "0.0078125");
  const float least = arguments.numbers("score", "0.7")[0];
  stowage::Session session = open_for_pictures(arguments.files[0], static_cast<int>(wanted[0]),
                                               static_cast<int>(wanted[1]));
  Picture picture(arguments.files[1]);

  // Into the model's size with its proportions, and (sample - mean) * norm.
  const PictureSize size(session.inputs()[0]);
  Picture fitted(size.width, size.height);
  const stowage::Letterbox letterbox = stowage::letterbox_pixels(picture.pixels(), fitted.pixels());
  stowage::FromPixels how;
  how.mean = mean;
  how.norm = norm;
  const stowage::Mat in = stowage::from_pixels(fitted.pixels(), how);
  session.set_input(0, in.view(stowage::DType::f32));
  session.run();

  std::vector<Box> found;
  if (session.outputs().size() == 1) {
    found = boxes_of_rows(session.output(0).as<float>(), size, least);
  } else {
    const stowage::Tensor scores = session.output(session.output_index("scores"));
    const stowage::Tensor boxes = session.output(session.output_index("boxes"));
    found = faces(scores.as<float>(), boxes.as<float>(), size, least);
  }
  for (Box box : without_overlaps(found, 0.3f)) {
    // Back to where the picture came from.
    const auto back = [&](float at, int before, int most) {
      const double there = (static_cast<double>(at) - before) / letterbox.scale;
      return static_cast<float>(std::clamp(there, 0.0, static_cast<double>(most)));
    };
    box = {back(box.x1, letterbox.left, picture.width),
           back(box.y1, letterbox.top, picture.height),
           back(box.x2, letterbox.left, picture.width),
           back(box.y2, letterbox.top, picture.height),
           box.score,
           box.label};
    const auto label = static_cast<std::size_t>(box.label);
    const std::string name = label < labels.size() ? labels[label] : std::to_string(label);
    std::printf("%s %.3f at %.0f,%.0f to %.0f,%.0f\n", name.c_str(), box.score, box.x1, box.y1,
                box.x2, box.y2);
    draw(picture, box);
  }
  picture.write_png(arguments.files[2]);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("detect", [&] {
    run(Arguments(argc, argv, 3, {"labels", "mean", "norm", "size", "score"}));
  });
}
