// SPDX-License-Identifier: Apache-2.0
// ncnn's calls, which name formats by numbers.
#include "base/index.h"
#include "base/text.h"
#include "stowage/pixels.h"

namespace stowage {

namespace {

PixelFormat format_of(int number) {
  switch (number) {
    case Mat::PIXEL_RGB:
      return PixelFormat::rgb;
    case Mat::PIXEL_BGR:
      return PixelFormat::bgr;
    case Mat::PIXEL_GRAY:
      return PixelFormat::gray;
    case Mat::PIXEL_RGBA:
      return PixelFormat::rgba;
    case Mat::PIXEL_BGRA:
      return PixelFormat::bgra;
    default:
      fail(ErrorCode::usage, "pixel type ", number, " is unknown");
  }
}

struct Formats {
  PixelFormat first, second;
};

/// X, or X2Y.
Formats formats_of(int type) {
  const int second = type >> Mat::PIXEL_CONVERT_SHIFT;
  const PixelFormat first = format_of(type & Mat::PIXEL_FORMAT_MASK);
  return {first, second == 0 ? first : format_of(second)};
}

Mat made(const unsigned char* pixels, int type, int w, int h, int stride, FromPixels how) {
  const Formats formats = formats_of(type);
  how.to = formats.second;
  return from_pixels({formats.first, w, h, pixels, stride}, how);
}

FromPixels resized_to(int width, int height) {
  // 0 stands for "as it is" there, and for a mistake here.
  if (width < 1 || height < 1) {
    fail(ErrorCode::usage, "a picture of ", width, " x ", height, " pixels is not possible");
  }
  FromPixels how;
  how.width = width;
  how.height = height;
  return how;
}

FromPixels part(FromPixels how, int x, int y, int w, int h) {
  how.region = PixelRegion{x, y, w, h};
  return how;
}

}  // namespace

Mat Mat::from_pixels(const unsigned char* pixels, int type, int w, int h, int stride) {
  return made(pixels, type, w, h, stride, {});
}

Mat Mat::from_pixels_resize(const unsigned char* pixels, int type, int w, int h, int target_width,
                            int target_height) {
  return made(pixels, type, w, h, 0, resized_to(target_width, target_height));
}

Mat Mat::from_pixels_resize(const unsigned char* pixels, int type, int w, int h, int stride,
                            int target_width, int target_height) {
  return made(pixels, type, w, h, stride, resized_to(target_width, target_height));
}

Mat Mat::from_pixels_roi(const unsigned char* pixels, int type, int w, int h, int roix, int roiy,
                         int roiw, int roih) {
  return made(pixels, type, w, h, 0, part({}, roix, roiy, roiw, roih));
}

Mat Mat::from_pixels_roi(const unsigned char* pixels, int type, int w, int h, int stride, int roix,
                         int roiy, int roiw, int roih) {
  return made(pixels, type, w, h, stride, part({}, roix, roiy, roiw, roih));
}

Mat Mat::from_pixels_roi_resize(const unsigned char* pixels, int type, int w, int h, int roix,
                                int roiy, int roiw, int roih, int target_width, int target_height) {
  return made(pixels, type, w, h, 0,
              part(resized_to(target_width, target_height), roix, roiy, roiw, roih));
}

Mat Mat::from_pixels_roi_resize(const unsigned char* pixels, int type, int w, int h, int stride,
                                int roix, int roiy, int roiw, int roih, int target_width,
                                int target_height) {
  return made(pixels, type, w, h, stride,
              part(resized_to(target_width, target_height), roix, roiy, roiw, roih));
}

void Mat::to_pixels(unsigned char* pixels, int type, int stride) const {
  to_pixels_resize(pixels, type, w, h, stride);
}

void Mat::to_pixels_resize(unsigned char* pixels, int type, int target_width, int target_height,
                           int target_stride) const {
  const Formats formats = formats_of(type);
  const MutablePixels to{formats.second, target_width,  target_height,
                         pixels,         target_stride, nullptr};
  ToPixels how;
  how.from = formats.first;
  stowage::to_pixels(*this, to, how);
}

}  // namespace stowage
