// SPDX-License-Identifier: Apache-2.0
#include "cli/io/npy.h"

#include <cstring>

#include "base/text.h"
#include "cli/test_files.h"

namespace stowage::cli {
namespace {

std::string npy(std::string_view dictionary, std::string_view data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  out += static_cast<char>(dictionary.size() & 255);
  out += static_cast<char>(dictionary.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out.append(dictionary).append(data);
}

std::string dictionary(std::string_view descr, std::string_view shape, bool fortran = false) {
  return text("{'descr': '", descr, "', 'fortran_order': ", fortran ? "True" : "False",
              ", 'shape': ", shape, ", }\n");
}

TEST(Npy, ReadsEveryScalarType) {
  const struct {
    const char* descr;
    DType dtype;
  } cases[] = {{"<f4", DType::f32}, {"<f2", DType::f16},    {"<f8", DType::f64},
               {"|u1", DType::u8},  {"|i1", DType::i8},     {"<u2", DType::u16},
               {"<i2", DType::i16}, {"<u4", DType::u32},    {"<i4", DType::i32},
               {"<u8", DType::u64}, {"<i8", DType::i64},    {"|b1", DType::boolean},
               {"=f4", DType::f32}, {"<b1", DType::boolean}};

  const TestFolder folder;
  for (const auto& c : cases) {
    for (int version = 1; version <= 3; ++version) {
      std::string data;
      for (int i = 0; i < 6 * dtype_bytes(c.dtype); ++i) data += static_cast<char>(i % 2);
      const std::string path =
          folder.write("a.npy", npy(dictionary(c.descr, "(2, 3)"), data, version));
      const Tensor tensor = read_npy(path);
      EXPECT_EQ(tensor.dtype(), c.dtype) << c.descr;
      EXPECT_EQ(tensor.shape().text(), "a=2,b=3");
      EXPECT_EQ(std::memcmp(tensor.data(), data.data(), data.size()), 0);
    }
  }
}

TEST(Npy, SwapsBigEndian) {
  const TestFolder folder;
  const std::string path =
      folder.write("a.npy", npy(dictionary(">i4", "(2,)"), std::string("\0\0\0\1\0\0\1\0", 8)));
  const Tensor tensor = read_npy(path);
  EXPECT_EQ(tensor.as<std::int32_t>()[0], 1);
  EXPECT_EQ(tensor.as<std::int32_t>()[1], 256);
}

TEST(Npy, FortranOrderIsALayout) {
  const TestFolder folder;
  const std::string path = folder.write("a.npy", npy(dictionary("|u1", "(2, 3)", true), "abcdef"));
  const Tensor tensor = read_npy(path);
  const std::int64_t at[] = {1, 2};  // column 2, row 1: the last byte
  EXPECT_EQ(tensor.as<char>()[static_cast<std::size_t>(tensor.mapping().offset(at))], 'f');
  const std::int64_t second[] = {1, 0};
  EXPECT_EQ(tensor.as<char>()[static_cast<std::size_t>(tensor.mapping().offset(second))], 'b');
}

TEST(Npy, ScalarsAndEmptyArrays) {
  const TestFolder folder;
  EXPECT_EQ(read_npy(folder.write("a.npy", npy(dictionary("|u1", "()"), "x"))).shape().rank(), 0);
  EXPECT_EQ(read_npy(folder.write("a.npy", npy(dictionary("<f4", "(3, 0)"), ""))).bytes(), 0u);
  EXPECT_EQ(read_npy(folder.write("a.npy", npy(dictionary("<f4", "(1000000, 0, 5L)"), ""))).bytes(),
            0u);
}

TEST(Npy, SixteenBitsAsBf16) {
  const TestFolder folder;
  const std::string data("\x80\x3f", 2);  // 1.0
  for (const char* descr : {"<u2", "|V2"}) {
    const std::string path = folder.write("a.npy", npy(dictionary(descr, "(1,)"), data));
    EXPECT_EQ(read_npy(path, DType::bf16).dtype(), DType::bf16);
  }
  expect_error([&] { read_npy(folder.path("a.npy")); }, ErrorCode::unsupported, "--from-dtype");
  expect_error([&] { read_npy(folder.path("a.npy"), DType::f32); }, ErrorCode::usage, "2 bytes");
}

TEST(Npy, RefusesBadHeaders) {
  const std::string good = dictionary("<f4", "(2, 3)");
  const std::string data(24, 'x');

  const struct {
    std::string bytes;
    ErrorCode code;
    const char* words;
  } cases[] = {
      {"", ErrorCode::bad_input, "no .npy file"},
      {"hello, world", ErrorCode::bad_input, "no .npy file"},
      {std::string("\x93NUMPY\x01\0\xff\xff", 10), ErrorCode::bad_input, "cut short"},
      {std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), ErrorCode::bad_input, "cut short"},
      {npy(good, data, 4), ErrorCode::unsupported, "version 4"},
      {npy(good, data.substr(1)), ErrorCode::bad_input, "cut short"},
      {npy(dictionary("<c8", "(2, 3)"), data), ErrorCode::unsupported, "<c8"},
      {npy(dictionary("|O", "(2, 3)"), data), ErrorCode::unsupported, "|O"},
      {npy(dictionary("<U5", "(2, 3)"), data), ErrorCode::unsupported, "astype"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", data),
       ErrorCode::unsupported, "records"},
      {npy(dictionary("<f4", "(-2, 3)"), data), ErrorCode::bad_input, "tuple"},
      {npy(dictionary("<f4", "(2 3)"), data), ErrorCode::bad_input, "tuple"},
      {npy(dictionary("<f4", "6"), data), ErrorCode::bad_input, "lacks a '('"},
      {npy(dictionary("<f4", "(99999999999999999999,)"), data), ErrorCode::bad_input, "tuple"},
      {npy(dictionary("<f4", "(9223372036854775807,)"), data), ErrorCode::bad_input, "promises"},
      {npy(dictionary("<f4", "(4294967296, 4294967296, 4294967296)"), data), ErrorCode::bad_input,
       "promises"},
      {npy(dictionary("<f8", "(2, 3)"), data), ErrorCode::bad_input, "promises"},
      {npy(dictionary("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), data), ErrorCode::limit, "8 axes"},
      {npy("{'descr': '<f4', 'shape': (2, 3)}", data), ErrorCode::bad_input, "lacks"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data),
       ErrorCode::bad_input, "twice"},
      {npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", data), ErrorCode::bad_input,
       "neither"},
      {npy("{'descr': '<f4", data), ErrorCode::bad_input, "quote"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", data), ErrorCode::bad_input,
       "behind"},
      {npy("{'name': 1}", data), ErrorCode::bad_input, "unknown key"},
      {npy("", data), ErrorCode::bad_input, "lacks a '{'"},
  };

  for (const auto& c : cases) {
    expect_error(
        [&] { parse_npy_header(bytes_of(c.bytes), static_cast<std::int64_t>(c.bytes.size())); },
        c.code, c.words);
  }
}

TEST(Npy, EveryPrefixIsRefused) {
  const std::string whole = npy(dictionary("<f4", "(2, 3)"), std::string(24, 'x'));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string part = whole.substr(0, n);
    EXPECT_THROW(parse_npy_header(bytes_of(part), static_cast<std::int64_t>(n)), Error) << n;
  }
}

TEST(Npy, WritesWhatItReads) {
  const TestFolder folder;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {5}, {2, 3, 4}, {1, 0, 2}, {1, 1, 1, 1, 1, 1, 1, 7}}) {
    for (const DType dtype : {DType::f32, DType::u8, DType::i64, DType::boolean, DType::bf16}) {
      std::int64_t elements = 1;
      for (const std::int64_t e : shape) elements *= e;
      const std::vector<std::byte> data(static_cast<std::size_t>(elements * dtype_bytes(dtype)),
                                        std::byte{1});
      OutputFile file(folder.path("a.npy"));
      write_npy(file, dtype, shape, data);
      file.commit();
      EXPECT_EQ(folder.read("a.npy").size(), npy_header(dtype, shape).size() + data.size());
      EXPECT_EQ(npy_header(dtype, shape).size() % 64, 0u);
      const Tensor back = read_npy(folder.path("a.npy"), dtype);
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_TRUE(std::equal(shape.begin(), shape.end(), back.shape().extents().begin(),
                             back.shape().extents().end()));
      EXPECT_TRUE(std::equal(data.begin(), data.end(), back.data()));
    }
  }
}

}  // namespace
}  // namespace stowage::cli
