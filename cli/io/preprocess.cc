// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "cli/io/resample.h"

namespace stowage::cli {
namespace {

constexpr std::array<std::uint8_t, 4> kLetterboxGrey = {114, 114, 114, 114};

/// What resize_pixels does.
ResizeMode mode_of(ResizeFilter filter) {
  return filter == ResizeFilter::bicubic ? ResizeMode::bicubic : ResizeMode::bilinear;
}

/// What resample does.
std::optional<Filter> filter_of(ResizeFilter filter) {
  if (filter == ResizeFilter::nearest) return Filter::nearest;
  if (filter == ResizeFilter::bilinear_antialias) return Filter::triangle;
  if (filter == ResizeFilter::bicubic_antialias) return Filter::catmull_rom;
  return std::nullopt;
}

std::string size_text(const PictureSize& size) { return text(size.width, " x ", size.height); }

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

PictureFit picture_fit(const PictureSize& picture, const ImagePort& port, const Preprocess& how) {
  if (port.width > kMaxSide || port.height > kMaxSide) {
    fail(ErrorCode::limit, "the input has more than ", kMaxSide,
         " pixels a side, and no picture is made so large; give a smaller --shape");
  }
  const PictureSize crop = how.crop.value_or(PictureSize{});
  const auto side = [](int fixed, int said, int open) {
    return fixed > 0 ? fixed : said > 0 ? said : open;
  };
  // What only shorter=A/B tells of a model that leaves its size open is that of B.
  const int open = how.fit == ResizeFit::shorter ? how.shorter_of : 0;
  const PictureSize wanted = {side(port.width, crop.width, open),
                              side(port.height, crop.height, open)};
  if (how.crop.has_value() && wanted != crop) {
    fail(ErrorCode::usage, "--crop makes a picture of ", size_text(crop), " but the input wants ",
         size_text(wanted), "; leave it out");
  }
  PictureFit fit{picture, wanted};
  if (how.fit == ResizeFit::shorter) {
    const std::int64_t least = std::min(picture.width, picture.height);
    const std::int64_t model = std::max(wanted.width, wanted.height);
    const std::int64_t shorter = how.shorter_of == 0 ? how.shorter
                                                     : (2 * model * how.shorter + how.shorter_of) /
                                                           (2 * std::int64_t{how.shorter_of});
    // Cut off, not rounded, as torchvision has it.
    const auto scaled = [&](std::int64_t length) { return shorter * length / least; };
    check_picture_size(scaled(picture.width), scaled(picture.height));
    fit.resized = {static_cast<int>(scaled(picture.width)),
                   static_cast<int>(scaled(picture.height))};
  }
  fit.size.width = side(wanted.width, 0, fit.resized.width);
  fit.size.height = side(wanted.height, 0, fit.resized.height);
  check_picture_size(fit.size.width, fit.size.height);
  if (how.fit == ResizeFit::stretch) fit.resized = fit.size;
  if (how.fit == ResizeFit::letterbox) {
    const double scale = std::min(static_cast<double>(fit.size.width) / picture.width,
                                  static_cast<double>(fit.size.height) / picture.height);
    const auto scaled = [&](int length, int most) {
      return std::clamp(static_cast<int>(std::lround(length * scale)), 1, most);
    };
    fit.resized = {scaled(picture.width, fit.size.width), scaled(picture.height, fit.size.height)};
    return fit;
  }
  const bool too_small = fit.resized.width < fit.size.width || fit.resized.height < fit.size.height;
  if (how.fit == ResizeFit::none && !how.crop.has_value() && fit.resized != fit.size) {
    fail(ErrorCode::bad_input, "the picture has ", size_text(picture),
         " pixels but the input wants ", size_text(fit.size), "; use --resize stretch or letterbox",
         too_small ? "" : text(", or --crop ", fit.size.width, "x", fit.size.height));
  }
  if (too_small) {
    fail(ErrorCode::bad_input, "the picture has ", size_text(fit.resized),
         how.fit == ResizeFit::shorter ? " pixels when it is resized" : " pixels",
         ", too few to cut ", size_text(fit.size),
         " out; use --resize shorter=", std::max(fit.size.width, fit.size.height));
  }
  return fit;
}

std::string fit_words(const PictureSize& picture, const PictureFit& fit, const Preprocess& how) {
  std::string out = size_text(picture);
  if (how.fit == ResizeFit::letterbox) {
    return picture == fit.size ? out : out + " letterboxed to " + size_text(fit.size);
  }
  if (fit.resized != picture) {
    out += how.fit == ResizeFit::stretch ? " stretched to " : " resized to ";
    out += size_text(fit.resized);
  }
  if (fit.size != fit.resized) out += ", centre " + size_text(fit.size);
  return out;
}

namespace {

/// The picture in the size `fit.resized`, or of the fit letterbox in grey.
Picture resized(const Picture& picture, const PictureFit& fit, const Preprocess& how) {
  Picture inner = picture;
  if (const std::optional<Filter> filter = filter_of(how.filter)) {
    inner = resample(picture, fit.resized.width, fit.resized.height, *filter);
  }
  const bool boxed = how.fit == ResizeFit::letterbox;
  const PictureSize size = boxed ? fit.size : fit.resized;
  if (size == PictureSize{inner.width, inner.height}) return inner;
  Picture out = new_picture(size.width, size.height);
  out.channels = picture.channels;
  out.pixels.resize(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                    static_cast<std::size_t>(picture.channels));
  if (boxed) {
    letterbox_pixels(pixels_of(inner), pixels_of(out), kLetterboxGrey, mode_of(how.filter));
  } else {
    resize_pixels(pixels_of(inner), pixels_of(out), mode_of(how.filter));
  }
  return out;
}

/// The first of `part` pixels in the centre of `all`; of two that are as near the even one, which
/// is what round() of Python makes.
int centred(int all, int part) { return static_cast<int>(std::nearbyint((all - part) / 2.0)); }

}  // namespace

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
  const PictureSize size{picture.width, picture.height};
  const PictureFit fit = picture_fit(size, port, how);
  FromPixels to;
  to.to = order == PixelOrder::gray  ? PixelFormat::gray
          : order == PixelOrder::bgr ? PixelFormat::bgr
                                     : PixelFormat::rgb;
  to.dtype = dtype;
  to.mean = how.mean;
  to.norm = how.norm;
  if (fit.size == fit.resized && !filter_of(how.filter).has_value()) {
    // At once: from_pixels resizes rows as it goes. It only reads.
    to.width = fit.size.width;
    to.height = fit.size.height;
    to.resize = mode_of(how.filter);
    return from_pixels(pixels_of(const_cast<Picture&>(picture)), to);
  }
  Picture ready = resized(picture, fit, how);
  if (how.fit != ResizeFit::letterbox) {
    to.region =
        PixelRegion{centred(ready.width, fit.size.width), centred(ready.height, fit.size.height),
                    fit.size.width, fit.size.height};
  }
  return from_pixels(pixels_of(ready), to);
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

}  // namespace stowage::cli
