// SPDX-License-Identifier: Apache-2.0
// BMP: uncompressed, 24 or 32 bits a pixel or a palette of 8 bits.
#include "base/text.h"
#include "cli/io/image.h"

namespace stowage::cli {
namespace {

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> file) : file_(file) {}

  std::int64_t size() const { return static_cast<std::int64_t>(file_.size()); }

  std::uint8_t u8(std::int64_t at) const {
    if (at < 0 || at >= size()) fail(ErrorCode::bad_input, "the BMP is cut short");
    return static_cast<std::uint8_t>(file_[static_cast<std::size_t>(at)]);
  }

  std::int64_t u16(std::int64_t at) const { return u8(at) | u8(at + 1) << 8; }

  std::int64_t u32(std::int64_t at) const { return u16(at) | u16(at + 2) << 16; }

  std::int64_t i32(std::int64_t at) const { return static_cast<std::int32_t>(u32(at)); }

 private:
  std::span<const std::byte> file_;
};

}  // namespace

Picture decode_bmp(std::span<const std::byte> file) {
  const Bytes bytes(file);
  const std::int64_t data = bytes.u32(10), header = bytes.u32(14);
  if (header < 40 || header > 4096) {
    fail(ErrorCode::unsupported, "the BMP has a header of ", header,
         " bytes, an old kind; save it as PNG");
  }
  const std::int64_t width = bytes.i32(18), signed_height = bytes.i32(22);
  const std::int64_t bits = bytes.u16(28), compression = bytes.u32(30);
  const bool top_down = signed_height < 0;
  // Compression 3 states masks; the usual ones are what 0 means.
  const bool plain =
      compression == 0 || (compression == 3 && bits == 32 && bytes.u32(54) == 0xff0000 &&
                           bytes.u32(58) == 0xff00 && bytes.u32(62) == 0xff);
  if (!plain || (bits != 8 && bits != 24 && bits != 32)) {
    fail(ErrorCode::unsupported, "the BMP has ", bits, " bits a pixel and compression ",
         compression, "; only plain 8, 24 and 32 bits are read; save it as PNG");
  }
  const std::int64_t height = top_down ? -signed_height : signed_height;
  const std::int64_t row = (width * bits + 31) / 32 * 4;
  if (width >= 1 && height >= 1 && (data > bytes.size() || (bytes.size() - data) / row < height)) {
    fail(ErrorCode::bad_input, "the BMP promises ", width, " x ", height, " pixels but has only ",
         bytes.size(), " bytes; it is cut short");
  }
  Picture picture = new_picture(width, height);
  const std::int64_t palette = 14 + header;
  const std::int64_t colours = bytes.u32(46) == 0 ? 256 : bytes.u32(46);
  std::uint8_t* to = picture.pixels.data();
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t line = data + (top_down ? y : height - 1 - y) * row;
    for (std::int64_t x = 0; x < width; ++x, to += 3) {
      std::int64_t pixel = line + x * (bits / 8);
      if (bits == 8) {
        const std::int64_t index = bytes.u8(pixel);
        if (index >= colours) fail(ErrorCode::bad_input, "the BMP names a colour that it lacks");
        pixel = palette + 4 * index;
      }
      for (int c = 0; c < 3; ++c) to[c] = bytes.u8(pixel + 2 - c);
    }
  }
  return picture;
}

}  // namespace stowage::cli
