// SPDX-License-Identifier: Apache-2.0
// Pictures: PNG, JPEG and BMP in, PNG out; 8 bits a sample, interleaved, rows from the top.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/io/file.h"

namespace stowage::cli {

/// `channels` is 1 (grey) or 3 (red, green, blue).
struct Picture {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels;
};

/// A picture may have this many pixels; more is Error(limit).
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 27;
/// Likewise for each side.
inline constexpr int kMaxSide = 1 << 16;
/// Likewise for the bytes of its file.
inline constexpr std::int64_t kMaxPictureFile = std::int64_t{1} << 30;

/// The file, by its first bytes and not by its name, always as three channels. Alpha is dropped,
/// 16 bits are reduced to 8, colour profiles and the EXIF orientation are not applied.
/// Throws Error(bad_input) for a damaged or truncated file, Error(unsupported) for a kind that is
/// not read, Error(limit) for a picture that is too large, before it is decoded.
Picture read_picture(const std::string& path);

/// The same from memory.
Picture decode_picture(std::span<const std::byte> file);

/// The file is a PNG, JPEG or BMP by its first bytes, of which kPictureHead are enough.
bool looks_like_picture(std::span<const std::byte> file);
inline constexpr std::size_t kPictureHead = 16;

/// "a WebP picture; convert it to PNG or JPEG": what a file that is not read is, by its first
/// bytes; empty for all others.
std::string not_read(std::span<const std::byte> file);

/// Red, green, blue.
using Colour = std::array<std::uint8_t, 3>;

/// Writes a PNG file of one or three channels; the caller commits. With a palette, of at most 256
/// colours, the one channel holds indices into it.
void write_png(OutputFile& file, const Picture& picture, std::span<const Colour> palette = {});

// One decoder each, in the files of their names.
Picture decode_png(std::span<const std::byte> file);
Picture decode_jpeg(std::span<const std::byte> file);
Picture decode_bmp(std::span<const std::byte> file);

/// Throws Error(bad_input) where a side is below 1, Error(limit) for more than is read.
void check_picture_size(std::int64_t width, std::int64_t height);

/// An empty picture of that size, three channels. Throws as check_picture_size.
Picture new_picture(std::int64_t width, std::int64_t height);

}  // namespace stowage::cli
