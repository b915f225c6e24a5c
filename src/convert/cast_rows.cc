// SPDX-License-Identifier: Apache-2.0
#include "convert/cast_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/scalar.h"

namespace stowage::conversion {
namespace {

template <int kIndex>
struct TypeAt;

template <>
struct TypeAt<0> {
  using Type = float;
};

template <>
struct TypeAt<1> {
  using Type = Half;
};

template <>
struct TypeAt<2> {
  using Type = Bfloat;
};

template <>
struct TypeAt<3> {
  using Type = double;
};

template <>
struct TypeAt<4> {
  using Type = std::uint8_t;
};

template <>
struct TypeAt<5> {
  using Type = std::int8_t;
};

template <>
struct TypeAt<6> {
  using Type = std::uint16_t;
};

template <>
struct TypeAt<7> {
  using Type = std::int16_t;
};

template <>
struct TypeAt<8> {
  using Type = std::uint32_t;
};

template <>
struct TypeAt<9> {
  using Type = std::int32_t;
};

template <>
struct TypeAt<10> {
  using Type = std::uint64_t;
};

template <>
struct TypeAt<11> {
  using Type = std::int64_t;
};

template <>
struct TypeAt<12> {
  using Type = Bool;
};

constexpr int kTypes = 13;
static_assert(static_cast<int>(DType::f32) == 0 && static_cast<int>(DType::f64) == 3 &&
              static_cast<int>(DType::u8) == 4 && static_cast<int>(DType::boolean) == kTypes - 1);

template <class S, class D>
void plain_row(const Byte* src, Byte* dst, std::int64_t n, const RowMap& map) {
  const bool each = map.mode == RowMap::Mode::each;
  for (std::int64_t i = 0; i < n; ++i) {
    S s;
    std::memcpy(&s, src + i * static_cast<std::int64_t>(sizeof(S)), sizeof(S));
    D d;
    if (map.mode == RowMap::Mode::none) {
      d = cast_scalar<D>(s);
    } else {
      const std::int64_t k = each ? i : 0;
      d = cast_scalar<D>((cast_scalar<float>(s) - map.mean[k]) * map.norm[k]);
    }
    std::memcpy(dst + i * static_cast<std::int64_t>(sizeof(D)), &d, sizeof(D));
  }
}

using Plain = void (*)(const Byte*, Byte*, std::int64_t, const RowMap&);

template <int... kPair>
constexpr std::array<Plain, kTypes * kTypes> make_table(std::integer_sequence<int, kPair...>) {
  return {
      plain_row<typename TypeAt<kPair / kTypes>::Type, typename TypeAt<kPair % kTypes>::Type>...};
}

constexpr auto kPlain = make_table(std::make_integer_sequence<int, kTypes * kTypes>{});

int fast_index(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return static_cast<int>(Fast::f32);
    case DType::f16:
      return static_cast<int>(Fast::f16);
    case DType::bf16:
      return static_cast<int>(Fast::bf16);
    case DType::u8:
      return static_cast<int>(Fast::u8);
    case DType::i8:
      return static_cast<int>(Fast::i8);
    case DType::u16:
      return static_cast<int>(Fast::u16);
    case DType::i16:
      return static_cast<int>(Fast::i16);
    case DType::i32:
      return static_cast<int>(Fast::i32);
    default:
      return -1;
  }
}

}  // namespace

RowCast::RowCast(DType src, DType dst, bool mapped, bool plain) noexcept
    : src_bytes_(dtype_bytes(src)), dst_bytes_(dtype_bytes(dst)) {
  const int from = fast_index(src), to = fast_index(dst);
  // Through f32 every pair of these gives the bits of cast_scalar, except i32 onto itself.
  if (plain || from < 0 || to < 0 || (!mapped && src == dst)) {
    plain_ =
        kPlain[static_cast<std::size_t>(static_cast<int>(src) * kTypes + static_cast<int>(dst))];
    return;
  }
  if (src != DType::f32 || dst == DType::f32) widen_ = kernels().widen[from];
  if (dst != DType::f32) narrow_ = kernels().narrow[to];
}

void RowCast::operator()(const Byte* src, Byte* dst, std::int64_t n,
                         const RowMap& map) const noexcept {
  if (plain_ != nullptr) return plain_(src, dst, n, map);
  if (narrow_ == nullptr) return widen_(src, reinterpret_cast<float*>(dst), n, map);
  if (widen_ == nullptr) return narrow_(reinterpret_cast<const float*>(src), dst, n, map);
  constexpr std::int64_t kChunk = 512;
  float buffer[kChunk];
  RowMap rest = map;
  for (std::int64_t i = 0; i < n; i += kChunk) {
    const std::int64_t m = std::min(kChunk, n - i);
    widen_(src + i * src_bytes_, buffer, m, {});
    narrow_(buffer, dst + i * dst_bytes_, m, rest);
    if (map.mode == RowMap::Mode::each) {
      rest.mean += m;
      rest.norm += m;
    }
  }
}

}  // namespace stowage::conversion
