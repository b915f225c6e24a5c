// SPDX-License-Identifier: Apache-2.0
#include "cli/io/image.h"

#include <turbojpeg.h>

#include <cstdlib>

#include "cli/test_files.h"
#include "test_paths.h"

namespace stowage::cli {
namespace {

/// Another value at every sample.
Picture pattern(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<std::uint8_t>(i * 37 + i / 7));
  }
  return picture;
}

std::string png_bytes(const Picture& picture) {
  const TestFolder folder;
  OutputFile file(folder.path("p.png"));
  write_png(file, picture);
  file.commit();
  return folder.read("p.png");
}

std::string jpeg_bytes(const Picture& picture) {
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, picture.pixels.data(), picture.width, 0, picture.height, TJPF_RGB, &out,
              &size, TJSAMP_444, 100, 0);
  std::string bytes(reinterpret_cast<char*>(out), size);
  tjFree(out);
  tjDestroy(handle);
  return bytes;
}

void put(std::string& out, std::size_t at, std::int64_t value, int bytes) {
  if (out.size() < at + static_cast<std::size_t>(bytes))
    out.resize(at + static_cast<std::size_t>(bytes));
  for (int i = 0; i < bytes; ++i)
    out[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
}

std::string bmp_bytes(int width, int height, int bits, std::string_view pixels) {
  std::string out = "BM";
  const int palette = bits == 8 ? 1024 : 0;
  put(out, 10, 54 + palette, 4);
  put(out, 14, 40, 4);
  put(out, 18, width, 4);
  put(out, 22, height, 4);
  put(out, 26, 1, 2);
  put(out, 28, bits, 2);
  put(out, 53, 0, 1);
  for (int i = 0; i < palette / 4; ++i) {
    for (const int c : {i, 255 - i, i / 2, 0}) out += static_cast<char>(c);
  }
  return out.append(pixels);
}

TEST(Png, WritesWhatItReads) {
  for (const int width : {1, 2, 7, 33}) {
    for (const int channels : {1, 3}) {
      const Picture picture = pattern(width, 5, channels);
      const Picture back = decode_picture(bytes_of(png_bytes(picture)));
      ASSERT_EQ(back.width, width);
      ASSERT_EQ(back.height, 5);
      ASSERT_EQ(back.channels, 3);
      for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
        const std::size_t at = channels == 3 ? i : i * 3 + i % 3;
        ASSERT_EQ(back.pixels[at], picture.pixels[i]);
      }
    }
  }
}

TEST(Jpeg, IsCloseToWhatWasEncoded) {
  Picture picture{16, 8, 3, {}};
  for (int i = 0; i < 16 * 8; ++i) {
    for (const int v : {i, 255 - i, 100}) picture.pixels.push_back(static_cast<std::uint8_t>(v));
  }
  const Picture back = decode_picture(bytes_of(jpeg_bytes(picture)));
  ASSERT_EQ(back.pixels.size(), picture.pixels.size());
  for (std::size_t i = 0; i < back.pixels.size(); ++i) {
    EXPECT_NEAR(back.pixels[i], picture.pixels[i], 4);
  }
}

TEST(Bmp, PaletteAndTrueColour) {
  // Rows from the bottom, padded to four bytes; blue first.
  const std::string two_rows =
      std::string("\1\2\3\4\5\6\0\0", 8) + std::string("\7\10\11\12\13\14\0\0", 8);
  const Picture picture = decode_picture(bytes_of(bmp_bytes(2, 2, 24, two_rows)));
  EXPECT_EQ(picture.pixels, (std::vector<std::uint8_t>{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4}));
  const Picture down = decode_picture(bytes_of(bmp_bytes(2, -2, 24, two_rows)));
  EXPECT_EQ(down.pixels, (std::vector<std::uint8_t>{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
  const Picture indexed =
      decode_picture(bytes_of(bmp_bytes(1, 1, 8, std::string("\x08\0\0\0", 4))));
  EXPECT_EQ(indexed.pixels, (std::vector<std::uint8_t>{4, 247, 8}));
  const Picture wide = decode_picture(bytes_of(bmp_bytes(1, 1, 32, std::string("\1\2\3\xff", 4))));
  EXPECT_EQ(wide.pixels, (std::vector<std::uint8_t>{3, 2, 1}));
}

TEST(Picture, EveryPrefixIsRefused) {
  const std::string files[] = {png_bytes(pattern(9, 7, 3)), jpeg_bytes(pattern(24, 24, 3)),
                               bmp_bytes(3, 3, 24, std::string(36, 'x')),
                               bmp_bytes(3, 3, 8, std::string(12, 'x'))};
  for (const std::string& file : files) {
    ASSERT_NO_THROW(decode_picture(bytes_of(file)));
    // The last bytes of a PNG are its end mark, those of a JPEG may be padding.
    for (std::size_t n = 0; n + 4 < file.size(); ++n) {
      EXPECT_THROW(decode_picture(bytes_of(std::string_view(file).substr(0, n))), Error)
          << n << " of " << file.size() << " bytes";
    }
  }
}

TEST(Picture, DamageNeverCrashes) {
  const std::string files[] = {png_bytes(pattern(9, 7, 3)), jpeg_bytes(pattern(24, 24, 3)),
                               bmp_bytes(3, 3, 8, std::string(12, 'x'))};
  std::uint32_t random = 1;
  for (const std::string& file : files) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = file;
      for (int k = 0; k < 3; ++k) {
        random = random * 1664525u + 1013904223u;
        damaged[(random >> 8) % damaged.size()] = static_cast<char>(random >> 24);
      }
      try {
        const Picture picture = decode_picture(bytes_of(damaged));
        EXPECT_EQ(picture.pixels.size(), static_cast<std::size_t>(picture.width) *
                                             static_cast<std::size_t>(picture.height) * 3);
      } catch (const Error&) {
      }
    }
  }
}

TEST(Picture, RefusesWhatItCannotRead) {
  std::string vast = png_bytes(pattern(4, 4, 3));
  vast[16] = '\x7f';  // the width; its checksum no longer fits, which is damage, too
  std::string vast_bmp = bmp_bytes(0x7fffffff, 0x7fffffff, 24, "");

  const struct {
    std::string bytes;
    ErrorCode code;
    const char* words;
  } cases[] = {
      {"", ErrorCode::bad_input, "the file is empty"},
      {"hello", ErrorCode::bad_input, "no PNG, JPEG or BMP"},
      {"GIF89a......", ErrorCode::bad_input, "this is a GIF picture; convert it to PNG or JPEG"},
      {"RIFF\x24\1\1\1WEBPVP8 ", ErrorCode::bad_input, "a WebP picture"},
      {std::string("II*\0\x08\0\0\0", 8), ErrorCode::bad_input, "a TIFF picture"},
      {std::string("MM\0*\0\0\0\x08", 8), ErrorCode::bad_input, "a TIFF picture"},
      {std::string("\0\0\0\x18", 4) + "ftypheic....", ErrorCode::bad_input, "a HEIC picture"},
      {std::string("\0\0\0\x18", 4) + "ftypavif....", ErrorCode::bad_input, "an AVIF picture"},
      {"<!DOCTYPE html><html>", ErrorCode::bad_input, "a web page; download the picture itself"},
      {"version https://git-lfs.github.com/spec/v1", ErrorCode::bad_input, "'git lfs pull'"},
      {vast, ErrorCode::bad_input, "damaged"},
      {vast_bmp, ErrorCode::bad_input, "cut short"},
      {bmp_bytes(0, 5, 24, ""), ErrorCode::bad_input, "no pixels"},
      {bmp_bytes(-5, 5, 24, ""), ErrorCode::bad_input, "no pixels"},
      {bmp_bytes(5, 5, 4, std::string(100, 'x')), ErrorCode::unsupported, "4 bits"},
      {bmp_bytes(5, 5, 24, std::string(79, 'x')), ErrorCode::bad_input, "cut short"},
  };

  for (const auto& c : cases) {
    expect_error([&] { decode_picture(bytes_of(c.bytes)); }, c.code, c.words);
  }
  expect_error([] { new_picture(kMaxSide + 1, 1); }, ErrorCode::limit, "make it smaller");
  expect_error([] { new_picture(1 << 15, 1 << 15); }, ErrorCode::limit, "make it smaller");
}

TEST(Png, PalettesHoldIndices) {
  const TestFolder folder;
  Picture picture{2, 1, 1, {0, 2}};
  const std::vector<Colour> palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  OutputFile file(folder.path("p.png"));
  write_png(file, picture, palette);
  file.commit();
  EXPECT_EQ(read_picture(folder.path("p.png")).pixels,
            (std::vector<std::uint8_t>{1, 2, 3, 7, 8, 9}));
}

TEST(Jpeg, IsRefusedWhereverARealOneIsCut) {
  const std::string data = STOWAGE_TEST_DATA;
  if (data.empty()) GTEST_SKIP() << "skipped: no test data";
  const TestFolder folder;
  for (const char* name : {"grace_hopper.jpg", "pexels_face1.jpg", "pexels_group.jpg"}) {
    const auto whole = read_file(data + "/models/images/" + name, kMaxPictureFile);
    for (std::size_t part = 1; part < 16; ++part) {
      const auto cut = std::span(whole).first(whole.size() * part / 16);
      expect_error([&] { decode_picture(cut); }, ErrorCode::bad_input, "the JPEG is");
    }
    expect_error([&] { decode_picture(std::span(whole).first(whole.size() - 64)); },
                 ErrorCode::bad_input, "the JPEG is cut short");
  }
}

TEST(Picture, RealFiles) {
  const std::string data = STOWAGE_TEST_DATA;
  if (data.empty()) GTEST_SKIP() << "skipped: no test data";

  const struct {
    const char* name;
    int width, height;
  } cases[] = {
      {"mnist_0.png", 28, 28}, {"tflm_person.bmp", 96, 96}, {"grace_hopper.jpg", 517, 606}};

  for (const auto& c : cases) {
    const Picture picture = read_picture(data + "/models/images/" + c.name);
    EXPECT_EQ(picture.width, c.width) << c.name;
    EXPECT_EQ(picture.height, c.height) << c.name;
  }
}

}  // namespace
}  // namespace stowage::cli
