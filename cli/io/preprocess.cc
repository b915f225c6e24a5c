// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace stowage::cli {
namespace {

constexpr std::uint8_t kLetterboxGrey = 114;
constexpr int kMaxTaps = 4;

/// The source pixels of one output position and their weights.
struct Taps {
  std::array<int, kMaxTaps> at{};
  std::array<float, kMaxTaps> weight{};
};

/// Keys' cubic with a = -0.75, as OpenCV has it.
float cubic(float x) {
  constexpr float a = -0.75f;
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

std::vector<Taps> taps_of(int from, int to, ResizeMode mode) {
  std::vector<Taps> out(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    Taps& taps = out[static_cast<std::size_t>(i)];
    const double centre = (i + 0.5) * from / to;
    const auto put = [&](std::size_t k, int at, float weight) {
      taps.at[k] = std::clamp(at, 0, from - 1);
      taps.weight[k] = weight;
    };
    if (mode == ResizeMode::nearest) {
      put(0, static_cast<int>(centre), 1);
      continue;
    }
    const int floor = static_cast<int>(std::floor(centre - 0.5));
    const float fraction = static_cast<float>(centre - 0.5 - floor);
    if (mode == ResizeMode::bilinear) {
      put(0, floor, 1 - fraction);
      put(1, floor + 1, fraction);
    } else {
      for (int k = 0; k < kMaxTaps; ++k) {
        put(static_cast<std::size_t>(k), floor - 1 + k,
            cubic(fraction + 1 - static_cast<float>(k)));
      }
    }
  }
  return out;
}

std::size_t tap_count(ResizeMode mode) {
  return mode == ResizeMode::nearest ? 1 : mode == ResizeMode::bilinear ? 2 : kMaxTaps;
}

/// One row of `picture`, its width already resized.
void resize_row(const Picture& picture, int y, const std::vector<Taps>& columns, std::size_t taps,
                float* to) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::uint8_t* row = picture.pixels.data() + static_cast<std::size_t>(y) *
                                                        static_cast<std::size_t>(picture.width) *
                                                        channels;
  for (const Taps& column : columns) {
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < taps; ++k) {
        sum += column.weight[k] * row[static_cast<std::size_t>(column.at[k]) * channels + c];
      }
      *to++ = sum;
    }
  }
}

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

Picture resize(const Picture& picture, int width, int height, ResizeMode mode) {
  if (picture.width == width && picture.height == height) return picture;
  const std::vector<Taps> columns = taps_of(picture.width, width, mode);
  const std::vector<Taps> rows = taps_of(picture.height, height, mode);
  const std::size_t taps = tap_count(mode);
  Picture out = new_picture(width, height);
  out.channels = picture.channels;
  const std::size_t row =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(picture.channels);
  out.pixels.resize(row * static_cast<std::size_t>(height));
  // The source rows in use, each resized once: row y lives in the place y modulo the taps.
  std::array<std::vector<float>, kMaxTaps> lines;
  std::array<int, kMaxTaps> line_of;
  line_of.fill(-1);
  for (std::size_t k = 0; k < taps; ++k) lines[k].resize(row);
  std::uint8_t* to = out.pixels.data();
  for (const Taps& tap : rows) {
    std::array<const float*, kMaxTaps> from{};
    for (std::size_t k = 0; k < taps; ++k) {
      const std::size_t place = static_cast<std::size_t>(tap.at[k]) % taps;
      if (line_of[place] != tap.at[k]) {
        resize_row(picture, tap.at[k], columns, taps, lines[place].data());
        line_of[place] = tap.at[k];
      }
      from[k] = lines[place].data();
    }
    for (std::size_t i = 0; i < row; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < taps; ++k) sum += tap.weight[k] * from[k][i];
      *to++ = static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum), 0.0f, 255.0f));
    }
  }
  return out;
}

Picture letterbox(const Picture& picture, int width, int height, ResizeMode mode) {
  const double scale =
      std::min(double{1} * width / picture.width, double{1} * height / picture.height);
  const int inner_width =
      std::clamp(static_cast<int>(std::lround(picture.width * scale)), 1, width);
  const int inner_height =
      std::clamp(static_cast<int>(std::lround(picture.height * scale)), 1, height);
  const Picture inner = resize(picture, inner_width, inner_height, mode);
  Picture out = new_picture(width, height);
  const auto channels = static_cast<std::size_t>(picture.channels);
  out.channels = picture.channels;
  out.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * channels,
                    kLetterboxGrey);
  const std::size_t left = static_cast<std::size_t>((width - inner_width) / 2);
  const std::size_t top = static_cast<std::size_t>((height - inner_height) / 2);
  const std::size_t row = static_cast<std::size_t>(inner_width) * channels;
  for (std::size_t y = 0; y < static_cast<std::size_t>(inner_height); ++y) {
    std::copy_n(
        inner.pixels.begin() + static_cast<std::ptrdiff_t>(y * row), row,
        out.pixels.begin() + static_cast<std::ptrdiff_t>(
                                 ((top + y) * static_cast<std::size_t>(width) + left) * channels));
  }
  return out;
}

Picture to_gray(const Picture& picture) {
  if (picture.channels == 1) return picture;
  Picture out{picture.width, picture.height, 1, {}};
  out.pixels.reserve(picture.pixels.size() / 3);
  for (std::size_t i = 0; i + 2 < picture.pixels.size(); i += 3) {
    // The weights times 2^16; their sum is 2^16, so that grey stays what it is.
    const std::uint32_t sum = 19595u * picture.pixels[i] + 38470u * picture.pixels[i + 1] +
                              7471u * picture.pixels[i + 2] + 32768u;
    out.pixels.push_back(static_cast<std::uint8_t>(sum >> 16));
  }
  return out;
}

void swap_red_blue(Picture& picture) {
  if (picture.channels != 3) return;
  for (std::size_t i = 0; i + 2 < picture.pixels.size(); i += 3) {
    std::swap(picture.pixels[i], picture.pixels[i + 2]);
  }
}

Picture fit_picture(Picture picture, const ImagePort& port, const Preprocess& how) {
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
  const int width = port.width > 0 ? port.width : picture.width;
  const int height = port.height > 0 ? port.height : picture.height;
  if (picture.width != width || picture.height != height) {
    if (how.fit == ResizeFit::none) {
      fail(ErrorCode::bad_input, "the picture has ", picture.width, " x ", picture.height,
           " pixels but the input wants ", width, " x ", height,
           "; use --resize stretch or --resize letterbox");
    }
    picture = how.fit == ResizeFit::stretch ? resize(picture, width, height, how.mode)
                                            : letterbox(picture, width, height, how.mode);
  }
  if (order == PixelOrder::gray) picture = to_gray(picture);
  if (order == PixelOrder::bgr) swap_red_blue(picture);
  return picture;
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
