// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace stowage::cli {
namespace {

constexpr std::array<std::uint8_t, 4> kLetterboxGrey = {114, 114, 114, 114};

template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, std::size_t N>
T parse_word(std::string_view option, std::string_view word, const Word<T> (&words)[N]) {
  std::string known;
  for (const Word<T>& w : words) {
    if (w.word == word) return w.value;
    known += text(known.empty() ? "" : ", ", w.word);
  }
  fail(ErrorCode::usage, option, " '", word, "' is unknown; choose one of ", known);
}

}  // namespace

std::optional<ImagePort> image_port(std::span<const std::int64_t> extents) {
  const std::size_t rank = extents.size();
  if (rank != 3 && rank != 4) return std::nullopt;
  const std::size_t first = rank - 3;
  if (first == 1 && extents[0] > 1) return std::nullopt;
  std::size_t c = first, h = first + 1, w = first + 2;
  // Three channels at either end tell more than one: a picture of three rows or columns is rare.
  const auto both = std::pair(extents[first], extents[first + 2]);
  const bool channels_first = both.first == 3 || (both.first == 1 && both.second != 3);
  if (!channels_first) {
    if (both.second != 1 && both.second != 3) return std::nullopt;
    c = first + 2, h = first, w = first + 1;
  }
  const auto extent = [&](std::size_t axis) {
    return static_cast<int>(std::clamp<std::int64_t>(extents[axis], 0, kMaxSide + 1));
  };
  return ImagePort{extent(h),           extent(w),           extent(c),
                   static_cast<int>(h), static_cast<int>(w), static_cast<int>(c)};
}

MutablePixels pixels_of(Picture& picture) {
  return {picture.channels == 1 ? PixelFormat::gray : PixelFormat::rgb, picture.width,
          picture.height, picture.pixels.data()};
}

Mat fit_picture(const Picture& picture, const ImagePort& port, const Preprocess& how, DType dtype) {
  const PixelOrder order =
      how.pixel.value_or(port.channels == 1 ? PixelOrder::gray : PixelOrder::rgb);
  if ((order == PixelOrder::gray) != (port.channels == 1)) {
    fail(ErrorCode::usage, "the input has ", port.channels, " channels; --pixel ",
         port.channels == 1 ? "must be gray" : "must be rgb or bgr");
  }
  for (const auto* list : {&how.mean, &how.norm}) {
    if (list->size() > 1 && static_cast<int>(list->size()) != port.channels) {
      fail(ErrorCode::usage, list == &how.mean ? "--mean" : "--norm", " has ", list->size(),
           " numbers but the input has ", port.channels, " channels; give one number or ",
           port.channels);
    }
  }
  const bool holds_samples = dtype != DType::i8 && dtype != DType::boolean;
  if (!holds_samples && how.mean.empty() && how.norm.empty()) {
    fail(ErrorCode::usage, "the input is ", dtype_name(dtype),
         ", which does not hold samples from 0 to 255; give --mean and --norm");
  }
  FromPixels to;
  to.width = port.width > 0 ? port.width : picture.width;
  to.height = port.height > 0 ? port.height : picture.height;
  to.resize = how.mode;
  to.to = order == PixelOrder::gray  ? PixelFormat::gray
          : order == PixelOrder::bgr ? PixelFormat::bgr
                                     : PixelFormat::rgb;
  to.dtype = dtype;
  to.mean = how.mean;
  to.norm = how.norm;
  // Read only.
  const Pixels pixels = pixels_of(const_cast<Picture&>(picture));
  if (how.fit == ResizeFit::letterbox) {
    Picture boxed = new_picture(to.width, to.height);
    boxed.channels = picture.channels;
    letterbox_pixels(pixels, pixels_of(boxed), kLetterboxGrey, how.mode);
    return from_pixels(pixels_of(boxed), to);
  }
  if (how.fit == ResizeFit::none && (picture.width != to.width || picture.height != to.height)) {
    fail(ErrorCode::bad_input, "the picture has ", picture.width, " x ", picture.height,
         " pixels but the input wants ", to.width, " x ", to.height,
         "; use --resize stretch or --resize letterbox");
  }
  return from_pixels(pixels, to);
}

TensorView planes_view(const Mat& planes, DType dtype, const Shape& shape, const ImagePort& port) {
  const TensorView seen = planes.view(dtype);
  const std::vector<Axis> from = {Axis("c"), Axis("h"), Axis("w")};
  const std::vector<Axis> to = {shape.axis(port.channel_axis), shape.axis(port.height_axis),
                                shape.axis(port.width_axis)};
  return {dtype, shape, seen.mapping.layout().renamed(from, to), planes.data};
}

TensorView picture_view(const Picture& picture, const Shape& shape, const ImagePort& port) {
  std::vector<Axis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != port.height_axis && i != port.width_axis && i != port.channel_axis) {
      axes.push_back(shape.axis(i));
    }
  }
  for (const int i : {port.height_axis, port.width_axis, port.channel_axis})
    axes.push_back(shape.axis(i));
  return {DType::u8, shape, Layout::row_major(axes), picture.pixels.data()};
}

ResizeFit parse_resize_fit(std::string_view word) {
  constexpr Word<ResizeFit> words[] = {{"stretch", ResizeFit::stretch},
                                       {"letterbox", ResizeFit::letterbox},
                                       {"none", ResizeFit::none}};
  return parse_word("--resize", word, words);
}

ResizeMode parse_resize_mode(std::string_view word) {
  constexpr Word<ResizeMode> words[] = {{"nearest", ResizeMode::nearest},
                                        {"bilinear", ResizeMode::bilinear},
                                        {"bicubic", ResizeMode::bicubic}};
  return parse_word("--resize-mode", word, words);
}

PixelOrder parse_pixel_order(std::string_view word) {
  constexpr Word<PixelOrder> words[] = {
      {"rgb", PixelOrder::rgb}, {"bgr", PixelOrder::bgr}, {"gray", PixelOrder::gray}};
  return parse_word("--pixel", word, words);
}

std::vector<float> parse_reals(std::string_view option, std::string_view list) {
  std::string_view rest = list;
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  const auto refuse = [&]() {
    fail(ErrorCode::usage, option, " '", list,
         "' is no list of numbers; write 0.5 or 104,117,123 or 1/255");
  };
  const auto number = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    float value = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (problem != std::errc()) refuse();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return value;
  };
  std::vector<float> out;
  while (true) {
    float value = number();
    if (!rest.empty() && rest.front() == '/') {
      rest.remove_prefix(1);
      value /= number();
    }
    if (!std::isfinite(value)) refuse();
    out.push_back(value);
    if (rest.empty()) return out;
    if (rest.front() != ',') refuse();
    rest.remove_prefix(1);
  }
}

}  // namespace stowage::cli
