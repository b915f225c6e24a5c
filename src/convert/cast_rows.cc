// SPDX-License-Identifier: Apache-2.0
#include "convert/cast_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "tensor/stored_type.h"

namespace stowage::conversion {
namespace {

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

template <std::size_t kFrom, std::size_t kTo>
constexpr CastRow kRow =
    plain_row<std::tuple_element_t<kFrom, StoredTypes>, std::tuple_element_t<kTo, StoredTypes>>;

template <std::size_t... kPair>
constexpr std::array<CastRow, kDTypes * kDTypes> make_table(std::index_sequence<kPair...>) {
  return {kRow<kPair / kDTypes, kPair % kDTypes>...};
}

constexpr auto kPlain = make_table(std::make_index_sequence<kDTypes * kDTypes>{});

int fast_index(DType dtype) noexcept {
  const auto* const at = std::find(std::begin(kFastDTypes), std::end(kFastDTypes), dtype);
  return at == std::end(kFastDTypes) ? -1 : static_cast<int>(at - std::begin(kFastDTypes));
}

}  // namespace

RowCast::RowCast(DType src, DType dst, bool mapped, bool plain) noexcept
    : src_bytes_(dtype_bytes(src)), dst_bytes_(dtype_bytes(dst)) {
  const int from = fast_index(src), to = fast_index(dst);
  // Through f32 every pair of these gives the bits of cast_scalar, except i32 onto itself.
  if (plain || from < 0 || to < 0 || (!mapped && src == dst)) {
    cast_ = kPlain[static_cast<std::size_t>(src) * kDTypes + static_cast<std::size_t>(dst)];
    return;
  }
  constexpr auto kFloat = static_cast<std::size_t>(Fast::f32);
  const auto i = static_cast<std::size_t>(from), j = static_cast<std::size_t>(to);
  cast_ = kernels().casts[i][j];
  widen_ = kernels().casts[i][kFloat];
  narrow_ = kernels().casts[kFloat][j];
  moves_ = kernels().moves[i][j];
  if (mapped) moves_ = {.split = moves_.split, .spread = moves_.spread};
}

void RowCast::operator()(const Byte* src, Byte* dst, std::int64_t n,
                         const RowMap& map) const noexcept {
  if (cast_ != nullptr) return cast_(src, dst, n, map);
  constexpr std::int64_t kChunk = 512;
  alignas(64) Byte buffer[kChunk * sizeof(float)];
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
