// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "base/trail.h"
#include "cli/data.h"
#include "cli/io/file.h"
#include "cli/io/npy.h"
#include "cli/io/preprocess.h"
#include "stowage/convert.h"

namespace stowage::cli {
namespace {

constexpr std::int64_t kMaxLabelFile = 16 << 20;
constexpr int kClasses = 256;

/// The shape with an axis of one channel where there are only rows and columns.
std::vector<std::int64_t> picture_extents(const Shape& shape) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  if (extents.size() == 2) extents.insert(extents.begin(), 1);
  return extents;
}

OutputRange known_range(const Tensor& tensor, OutputRange range) {
  if (range != OutputRange::automatic) return range;
  const std::vector<double> values = values_of(tensor);
  const bool large = std::any_of(values.begin(), values.end(), [](double v) { return v > 1.5; });
  return large ? OutputRange::byte : OutputRange::unit;
}

/// `shape` with its axes in another order.
Shape permuted(const Shape& shape, const std::vector<int>& order) {
  std::vector<Axis> axes;
  std::vector<std::int64_t> extents;
  for (const int i : order) {
    axes.push_back(shape.axis(i));
    extents.push_back(shape[i]);
  }
  return Shape(axes, extents);
}

/// The indices of the largest `count` scores, the best first; what is no number comes last.
std::vector<std::size_t> best(const std::vector<double>& values, int count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto better = [&](std::size_t a, std::size_t b) {
    const double x = values[a], y = values[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x != y && !std::isnan(x)) return x > y;
    return a < b;
  };
  const auto kept = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    better);
  order.resize(kept);
  return order;
}

}  // namespace

Tensor take_output(const Session& session, int output, DataFormat wanted) {
  Tensor tensor = session.output(output);
  const Port& port = session.outputs()[static_cast<std::size_t>(output)];
  const std::vector<int> order = format_order(wanted, port.data_format, port.shape.rank());
  if (std::is_sorted(order.begin(), order.end())) return tensor;
  const Shape shape = permuted(tensor.shape(), order);
  Tensor out(tensor.dtype(), shape);
  Conversion(tensor.dtype(), tensor.mapping(), out.dtype(), out.mapping())
      .run(tensor.data(), out.data());
  return out;
}

OutputRange parse_output_range(std::string_view word) {
  if (word.empty() || word == "auto") return OutputRange::automatic;
  if (word == "0..1") return OutputRange::unit;
  if (word == "0..255") return OutputRange::byte;
  fail(ErrorCode::usage, "--output-range '", word, "' is unknown; choose 0..1, 0..255 or auto");
}

bool is_picture(const Shape& shape) { return image_port(picture_extents(shape)).has_value(); }

Picture output_picture(const Tensor& output, OutputRange range, bool bgr) {
  const std::vector<std::int64_t> extents = picture_extents(output.shape());
  const std::optional<ImagePort> port = image_port(extents);
  Tensor tensor = output;
  tensor.reshape(Shape::unnamed(extents));
  Picture picture = new_picture(port->width, port->height);
  picture.channels = port->channels;
  picture.pixels.resize(static_cast<std::size_t>(tensor.shape().elements()));
  const TensorView view = picture_view(picture, tensor.shape(), *port);
  const float norm[] = {known_range(tensor, range) == OutputRange::unit ? 255.0f : 1.0f};
  ScalarMap map;
  map.norm = norm;
  Conversion(tensor.dtype(), tensor.mapping(), view.dtype, view.mapping, map)
      .run(tensor.data(), picture.pixels.data());
  if (!bgr || picture.channels == 1) return picture;
  Picture turned = picture;
  MutablePixels stored = pixels_of(picture);
  stored.format = PixelFormat::bgr;
  convert_pixels(stored, pixels_of(turned));
  return turned;
}

std::optional<ImageAxes> image_axes(const Port& port, DataFormat source) {
  const Shape& shape = port.shape;
  const int rank = shape.rank();
  if (port.data_format != DataFormat::none) {
    if (shape[shape.index_of(Axis("n"))] != 1) return std::nullopt;
    return ImageAxes{shape.index_of(Axis("c")), shape.index_of(Axis("h")),
                     shape.index_of(Axis("w"))};
  }
  const bool batch = rank == 4 || (rank == 3 && shape[0] == 1);
  if (rank < 2 || rank > 4 || (batch && shape[0] != 1)) return std::nullopt;
  const int first = batch ? 1 : 0;
  if (rank - first == 2) return ImageAxes{-1, first, first + 1};
  if (source == DataFormat::nhwc) return ImageAxes{first + 2, first, first + 1};
  return ImageAxes{first, first + 1, first + 2};
}

namespace {

/// The values of an output, pixel by pixel.
class PixelValues {
 public:
  PixelValues(const Tensor& output, const ImageAxes& axes) : values_(values_of(output)) {
    const Shape& shape = output.shape();
    const auto stride = [&](int axis) {
      std::int64_t cells = 1;
      for (int i = axis + 1; i < shape.rank(); ++i) cells *= shape[i];
      return cells;
    };
    if (axes.channel >= 0) {
      channels = static_cast<int>(std::min<std::int64_t>(shape[axes.channel], 1 << 30));
      channel_stride_ = stride(axes.channel);
    }
    row_stride_ = stride(axes.height);
    column_stride_ = stride(axes.width);
    height = shape[axes.height];
    width = shape[axes.width];
  }

  double at(int channel, std::int64_t y, std::int64_t x) const {
    return values_[static_cast<std::size_t>(channel * channel_stride_ + y * row_stride_ +
                                            x * column_stride_)];
  }

  int channels = 1;
  std::int64_t height = 0, width = 0;

 private:
  std::vector<double> values_;
  std::int64_t channel_stride_ = 0, row_stride_ = 0, column_stride_ = 0;
};

Picture grey_picture(std::int64_t width, std::int64_t height) {
  Picture picture = new_picture(width, height);
  picture.channels = 1;
  picture.pixels.resize(static_cast<std::size_t>(width * height));
  return picture;
}

}  // namespace

Picture channel_picture(const Tensor& output, const ImageAxes& axes, int channel, OutputRange range,
                        const std::string& name) {
  const PixelValues values(output, axes);
  if (channel < 0 || channel >= values.channels) {
    fail(ErrorCode::usage, "--channel ", channel, ": output '", name, "' of shape ",
         output.shape().extents(), " has channels 0 to ", values.channels - 1);
  }
  Picture picture = grey_picture(values.width, values.height);
  const double norm = known_range(output, range) == OutputRange::unit ? 255 : 1;
  std::uint8_t* to = picture.pixels.data();
  for (std::int64_t y = 0; y < values.height; ++y) {
    for (std::int64_t x = 0; x < values.width; ++x) {
      const double v = values.at(channel, y, x) * norm;
      *to++ =
          std::isnan(v) ? 0 : static_cast<std::uint8_t>(std::clamp(std::nearbyint(v), 0., 255.));
    }
  }
  return picture;
}

ClassMap class_map(const Tensor& output, const ImageAxes& axes, const std::string& name) {
  const PixelValues values(output, axes);
  const DType dtype = output.dtype();
  const bool real =
      dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
  if (real && values.channels == 1) {
    fail(ErrorCode::usage, "--argmax: output '", name, "' of shape ", output.shape().extents(),
         " has one channel, so there is no best; --channel 0 writes it in grey");
  }
  ClassMap map;
  map.classes = grey_picture(values.width, values.height);
  std::array<std::int64_t, kClasses> count{};
  std::uint8_t* to = map.classes.pixels.data();
  for (std::int64_t y = 0; y < values.height; ++y) {
    for (std::int64_t x = 0; x < values.width; ++x) {
      double best = values.at(0, y, x), index = values.channels == 1 ? best : 0;
      for (int c = 1; c < values.channels; ++c) {
        const double v = values.at(c, y, x);
        if (v > best || (std::isnan(best) && !std::isnan(v))) {
          best = v;
          index = c;
        }
      }
      if (!(index >= 0 && index < kClasses)) {
        fail(ErrorCode::usage, "--argmax: output '", name, "' has a pixel of class ",
             fmt::format("{:g}", index), "; a palette has 256 colours, so use a .npy file");
      }
      *to = static_cast<std::uint8_t>(index);
      ++count[*to++];
    }
  }
  for (int c = 0; c < kClasses; ++c) {
    const auto n = static_cast<double>(count[static_cast<std::size_t>(c)]);
    if (n > 0) map.shares.emplace_back(c, n / static_cast<double>(values.width * values.height));
  }
  std::stable_sort(map.shares.begin(), map.shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return map;
}

const std::vector<Colour>& class_palette() {
  static const std::vector<Colour> palette = [] {
    constexpr Colour kHues[] = {{0xe6, 0x9f, 0x00}, {0x56, 0xb4, 0xe9}, {0x00, 0x9e, 0x73},
                                {0xf0, 0xe4, 0x42}, {0x00, 0x72, 0xb2}, {0xd5, 0x5e, 0x00},
                                {0xcc, 0x79, 0xa7}};
    std::vector<Colour> out = {{0, 0, 0}};
    for (int round = 0; static_cast<int>(out.size()) < kClasses; ++round) {
      // 1/2, 1/4, 3/4, 1/8, ... towards white, then as far towards black.
      double share = 0, bit = 0.5;
      for (int k = (round + 1) / 2; k > 0; k /= 2, bit /= 2) share += k % 2 * bit;
      const double towards = round % 2 == 1 ? 255 : 0;
      for (const Colour& hue : kHues) {
        Colour mixed{};
        for (std::size_t i = 0; i < mixed.size(); ++i) {
          mixed[i] = static_cast<std::uint8_t>(std::lround(hue[i] + share * (towards - hue[i])));
        }
        if (static_cast<int>(out.size()) < kClasses) out.push_back(mixed);
      }
    }
    return out;
  }();
  return palette;
}

bool is_classification(const Port& port) {
  int long_axes = 0;
  for (int i = 0; i < port.shape.rank(); ++i) long_axes += port.shape[i] > 1;
  return long_axes == 1;
}

std::vector<Score> best_scores(const Tensor& scores, int count,
                               const std::vector<std::string>& labels) {
  const std::vector<double> values = values_of(scores);
  std::vector<Score> out;
  for (const std::size_t i : best(values, count)) {
    out.push_back({i, values[i], i < labels.size() ? labels[i] : ""});
  }
  return out;
}

std::vector<std::string> read_labels(const std::string& file) {
  const Trail trail("reading", file);
  const std::vector<std::byte> bytes = read_file(file, kMaxLabelFile);
  std::vector<std::string> labels(1);
  for (const std::byte b : bytes) {
    const char c = static_cast<char>(b);
    if (c == '\n') {
      labels.emplace_back();
    } else if (static_cast<unsigned char>(c) >= 32 || c == '\t') {
      labels.back() += c == '\t' ? ' ' : c;
    }
  }
  if (labels.back().empty()) labels.pop_back();
  if (labels.empty()) fail(ErrorCode::bad_input, "the file of labels is empty; write one a line");
  return labels;
}

Summary summary_of(const Tensor& tensor) {
  Summary summary{INFINITY, -INFINITY};
  double sum = 0;
  for (const double v : values_of(tensor)) {
    if (!std::isfinite(v)) {
      ++summary.others;
      continue;
    }
    ++summary.numbers;
    summary.least = std::min(summary.least, v);
    summary.most = std::max(summary.most, v);
    sum += v;
  }
  summary.mean = sum / static_cast<double>(summary.numbers);
  return summary;
}

std::string summary_words(const Summary& summary) {
  std::string out = summary.numbers == 0 ? "no numbers"
                                         : fmt::format("min {:g}  max {:g}  mean {:g}",
                                                       summary.least, summary.most, summary.mean);
  if (summary.others > 0) {
    out += fmt::format("  ({} are infinite or no number)", summary.others);
  }
  return out;
}

}  // namespace stowage::cli
