// SPDX-License-Identifier: Apache-2.0
#include "base/archive.h"

#include <gtest/gtest.h>

#include <span>

#include "stowage/error.h"

namespace stowage {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Inner {
  std::int64_t n = 0;
  std::optional<std::string> name;

  void fields(Archive& a) { a("n", n)("name", name); }

  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  bool flag = false;
  Colour colour = Colour::red;
  float real = 0;
  std::array<std::int64_t, 3> three{};
  std::vector<Inner> list;

  void fields(Archive& a) {
    a("flag", flag)("colour", colour)("real", real)("three", three)("list", list);
  }

  friend bool operator==(const Outer&, const Outer&) = default;
};

const Outer kOuter{
    true, Colour::green, -0.1f, {-1, 0, std::int64_t{1} << 62}, {{5, "five"}, {-6, std::nullopt}}};

TEST(Archive, BytesComeBack) {
  const std::vector<std::byte> bytes = bytes_of(kOuter);
  Outer read{.list = {{1, "old"}, {2, {}}, {3, {}}}};
  ByteReader reader(bytes);
  reader("", read);
  EXPECT_EQ(read, kOuter);
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_EQ(bytes_of(read), bytes);
}

TEST(Archive, BytesThatEndEarly) {
  const std::vector<std::byte> bytes = bytes_of(kOuter);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Outer read;
    ByteReader reader{std::span(bytes).first(cut)};
    EXPECT_THROW(reader("", read), Error) << cut;
  }
}

TEST(Archive, AListLongerThanTheBytes) {
  std::vector<std::byte> bytes(8, std::byte{0x7f});
  std::vector<Inner> list;
  ByteReader reader(bytes);
  EXPECT_THROW(reader("", list), Error);
}

TEST(Archive, Text) {
  EXPECT_EQ(text_of(kOuter),
            "{flag=1 colour=1 real=-0.1 three=[-1 0 4611686018427387904] "
            "list=[{n=5 name=['five']} {n=-6 name=[]}]}");
}

}  // namespace
}  // namespace stowage
