// SPDX-License-Identifier: Apache-2.0
// PNG through libpng. Its errors jump: everything with a destructor lives outside the functions
// that set a jump target.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "base/text.h"
#include "cli/io/image.h"

namespace stowage::cli {
namespace {

constexpr std::size_t kSentence = 160;
/// Deflate makes at most 1032 bytes of one.
constexpr std::int64_t kMaxInflation = 1040;

struct Coding {
  std::span<const std::byte> rest;  ///< reading
  OutputFile* file = nullptr;       ///< writing
  std::string write_problem;        ///< an Error must not cross C frames
  ErrorCode write_code = ErrorCode::bad_input;
  char problem[kSentence] = "";
  png_uint_32 width = 0, height = 0;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* coding = static_cast<Coding*>(png_get_error_ptr(png));
  std::strncpy(coding->problem, message, kSentence - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep into, std::size_t count) {
  auto* coding = static_cast<Coding*>(png_get_io_ptr(png));
  if (count > coding->rest.size()) png_error(png, "the file is cut short");
  std::memcpy(into, coding->rest.data(), count);
  coding->rest = coding->rest.subspan(count);
}

void on_write(png_structp png, png_bytep bytes, std::size_t count) {
  auto* coding = static_cast<Coding*>(png_get_io_ptr(png));
  try {
    coding->file->write(std::as_bytes(std::span(bytes, count)));
    return;
  } catch (const Error& error) {
    coding->write_problem = error.sentence();
    coding->write_code = error.code();
  }
  png_error(png, "cannot write");
}

void on_flush(png_structp) {}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Writer() { png_destroy_write_struct(&png, &info); }
};

/// Everything up to the size; asks for 8-bit RGB. False after an error.
bool read_header(const Reader& reader, Coding& coding) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  // new_picture knows the limits and says so in a sentence.
  png_set_user_limits(reader.png, 0x7fffffff, 0x7fffffff);
  png_set_chunk_cache_max(reader.png, 64);
  png_set_chunk_malloc_max(reader.png, 1 << 24);
  png_read_info(reader.png, reader.info);
  coding.width = png_get_image_width(reader.png, reader.info);
  coding.height = png_get_image_height(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  return true;
}

bool read_rows(const Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_update_info(reader.png, reader.info);
  const std::size_t row = png_get_image_width(reader.png, reader.info) * std::size_t{3};
  if (png_get_rowbytes(reader.png, reader.info) != row) png_error(reader.png, "an odd kind of PNG");
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

bool write_rows(const Writer& writer, const Picture& picture, png_bytepp rows,
                std::span<const png_color> palette) {
  if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
  const int grey = palette.empty() ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_PALETTE;
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), 8,
               picture.channels == 1 ? grey : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty()) {
    png_set_PLTE(writer.png, writer.info, palette.data(), static_cast<int>(palette.size()));
  }
  png_write_info(writer.png, writer.info);
  png_write_image(writer.png, rows);
  png_write_end(writer.png, nullptr);
  return true;
}

std::vector<png_bytep> rows_of(const Picture& picture) {
  std::vector<png_bytep> rows;
  const std::size_t row =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  auto* first = const_cast<png_bytep>(picture.pixels.data());
  for (int y = 0; y < picture.height; ++y)
    rows.push_back(first + static_cast<std::size_t>(y) * row);
  return rows;
}

[[noreturn]] void damaged(const Coding& coding) {
  fail(ErrorCode::bad_input, "the PNG is damaged: ", coding.problem);
}

}  // namespace

Picture decode_png(std::span<const std::byte> file) {
  Coding coding;
  coding.rest = file;
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &coding, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) fail(ErrorCode::limit, "no memory for the PNG");
  png_set_read_fn(reader.png, &coding, on_read);
  if (!read_header(reader, coding)) damaged(coding);
  // Each row has at least a filter byte and a bit a pixel.
  const std::int64_t least =
      std::int64_t{coding.height} * (1 + (std::int64_t{coding.width} + 7) / 8);
  if (least / kMaxInflation > static_cast<std::int64_t>(file.size())) {
    fail(ErrorCode::bad_input, "the PNG promises ", coding.width, " x ", coding.height,
         " pixels, more than ", file.size(), " bytes can hold; it is damaged");
  }
  Picture picture = new_picture(coding.width, coding.height);
  std::vector<png_bytep> rows = rows_of(picture);
  if (!read_rows(reader, rows.data())) damaged(coding);
  return picture;
}

void write_png(OutputFile& file, const Picture& picture, std::span<const Colour> palette) {
  Coding coding;
  coding.file = &file;
  Writer writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &coding, on_error, on_warning);
  if (writer.png != nullptr) writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) fail(ErrorCode::limit, "no memory for the PNG");
  png_set_write_fn(writer.png, &coding, on_write, on_flush);
  std::vector<png_bytep> rows = rows_of(picture);
  std::vector<png_color> colours;
  for (const Colour& c : palette) colours.push_back({c[0], c[1], c[2]});
  if (write_rows(writer, picture, rows.data(), colours)) return;
  if (!coding.write_problem.empty()) throw Error(coding.write_code, coding.write_problem);
  fail(ErrorCode::bad_input, "cannot write '", file.path(), "' as PNG: ", coding.problem);
}

}  // namespace stowage::cli
