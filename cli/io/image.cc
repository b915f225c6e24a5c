// SPDX-License-Identifier: Apache-2.0
#include "cli/io/image.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/trail.h"

namespace stowage::cli {
namespace {

enum class Kind { none, png, jpeg, bmp };

std::string_view head_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), std::min(file.size(), kPictureHead)};
}

Kind kind_of(std::span<const std::byte> file) {
  const std::string_view head = head_of(file);
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return Kind::png;
  if (head.starts_with("\xff\xd8\xff")) return Kind::jpeg;
  if (head.starts_with("BM")) return Kind::bmp;
  return Kind::none;
}

/// What stands at a place of a file that is of another kind.
struct Mark {
  std::size_t at;
  std::string_view bytes;
  std::string_view kind;
};

constexpr Mark kOtherPictures[] = {
    {8, "WEBP", "a WebP"},
    {0, "GIF8", "a GIF"},
    {0, std::string_view("II*\0", 4), "a TIFF"},
    {0, std::string_view("MM\0*", 4), "a TIFF"},
    {0, std::string_view("II+\0", 4), "a TIFF"},
    {0, std::string_view("MM\0+", 4), "a TIFF"},
    {4, "ftypavif", "an AVIF"},
    {4, "ftypavis", "an AVIF"},
    {4, "ftyphei", "a HEIC"},
    {4, "ftyphev", "a HEIC"},
    {4, "ftypmif1", "a HEIF"},
    {4, "ftypmsf1", "a HEIF"},
    {0, "\xff\x0a", "a JPEG XL"},
    {4, "JXL \r\n", "a JPEG XL"},
    {4, "jP  \r\n", "a JPEG 2000"},
    {0, "8BPS", "a Photoshop"},
    {0, "qoif", "a QOI"},
    {0, "<svg", "an SVG"},
};

constexpr Mark kNoPictures[] = {
    {0, "<!DOCTYPE", "a web page; download the picture itself"},
    {0, "<!doctype", "a web page; download the picture itself"},
    {0, "<html", "a web page; download the picture itself"},
    {0, "version https://", "a pointer of Git LFS; fetch the file with 'git lfs pull'"},
};

template <std::size_t N>
std::string_view marked(std::string_view head, const Mark (&marks)[N]) {
  for (const Mark& mark : marks) {
    if (head.size() > mark.at && head.substr(mark.at).starts_with(mark.bytes)) return mark.kind;
  }
  return "";
}

}  // namespace

std::string not_read(std::span<const std::byte> file) {
  const std::string_view head = head_of(file), picture = marked(head, kOtherPictures);
  if (!picture.empty()) return text(picture, " picture; convert it to PNG or JPEG");
  return std::string(marked(head, kNoPictures));
}

bool looks_like_picture(std::span<const std::byte> file) { return kind_of(file) != Kind::none; }

void check_picture_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    fail(ErrorCode::bad_input, "the picture has no pixels (", width, " x ", height, ")");
  }
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixels) {
    fail(ErrorCode::limit, "the picture has ", width, " x ", height, " pixels; at most ",
         kMaxPixels, " are read, and ", kMaxSide, " a side; make it smaller first");
  }
}

Picture new_picture(std::int64_t width, std::int64_t height) {
  check_picture_size(width, height);
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
  const std::string other = not_read(file);
  if (!other.empty()) fail(ErrorCode::bad_input, "this is ", other);
  if (file.empty()) fail(ErrorCode::bad_input, "the file is empty");
  fail(ErrorCode::bad_input,
       "this is no PNG, JPEG or BMP file; convert the picture to one of them");
}

Picture read_picture(const std::string& path) {
  const std::vector<std::byte> file = read_file(path, kMaxPictureFile);
  const std::string other = not_read(file);
  if (!other.empty()) fail(ErrorCode::bad_input, "'", path, "' is ", other);
  const Trail trail("reading", path);
  return decode_picture(file);
}

}  // namespace stowage::cli
