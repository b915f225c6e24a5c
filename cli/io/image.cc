// SPDX-License-Identifier: Apache-2.0
#include "cli/io/image.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/trail.h"

namespace stowage::cli {
namespace {

enum class Kind { none, png, jpeg, bmp };

Kind kind_of(std::span<const std::byte> file) {
  const std::string_view head(reinterpret_cast<const char*>(file.data()),
                              std::min<std::size_t>(file.size(), 8));
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return Kind::png;
  if (head.starts_with("\xff\xd8\xff")) return Kind::jpeg;
  if (head.starts_with("BM")) return Kind::bmp;
  return Kind::none;
}

}  // namespace

bool looks_like_picture(std::span<const std::byte> file) { return kind_of(file) != Kind::none; }

Picture new_picture(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    fail(ErrorCode::bad_input, "the picture has no pixels (", width, " x ", height, ")");
  }
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixels) {
    fail(ErrorCode::limit, "the picture has ", width, " x ", height, " pixels; at most ",
         kMaxPixels, " are read, and ", kMaxSide, " a side; make it smaller first");
  }
  Picture picture{static_cast<int>(width), static_cast<int>(height), 3, {}};
  picture.pixels.resize(static_cast<std::size_t>(width * height * 3));
  return picture;
}

Picture decode_picture(std::span<const std::byte> file) {
  switch (kind_of(file)) {
    case Kind::png:
      return decode_png(file);
    case Kind::jpeg:
      return decode_jpeg(file);
    case Kind::bmp:
      return decode_bmp(file);
    case Kind::none:
      break;
  }
  fail(ErrorCode::bad_input,
       "this is no PNG, JPEG or BMP file; convert the picture to one of them");
}

Picture read_picture(const std::string& path) {
  const Trail trail("reading", path);
  return decode_picture(read_file(path, kMaxPictureFile));
}

}  // namespace stowage::cli
