// SPDX-License-Identifier: Apache-2.0
#include "convert/kernels.h"

#include <array>
#include <cstring>

// Bytes and words gain by the instructions that come after the first AVX-512 (Highway's AVX3_DL),
// nothing else does: this file alone is compiled for them, and of it what moves those.
#ifndef HWY_COMPILE_ONLY_STATIC
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (STOWAGE_LEFT_OUT)
#define HWY_WANT_AVX3_DL
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convert/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_copy-inl.h"
#include "convert/kernels_halves-inl.h"
#include "convert/kernels_narrow-inl.h"
#include "convert/kernels_pixels-inl.h"
#include "convert/kernels_rows-inl.h"
#include "convert/kernels_runs-inl.h"
#include "convert/kernels_shuffle-inl.h"
#include "convert/kernels_split-inl.h"
#include "convert/kernels_widen-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL && STOWAGE_AVX3_IS_FIRST  // nothing else differs

const Kernels* table() {
  static const Kernels kernels = [] {
    Kernels all = *N_AVX3::table();
    all.transpose[0] = narrow_rows<1>();
    all.transpose[1] = narrow_rows<2>();
    all.shuffle_bytes = shuffles_of_bytes();
    return all;
  }();
  return &kernels;
}

#else

template <class T>
constexpr T& at(OfCasts<T>& table, Fast from, Fast to) {
  return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

/// f(pair) for one type and each of the others, both ways.
template <Fast kOne, Fast... kOthers, class F>
constexpr void with_each(const F& f) {
  (f.template operator()<kOne, kOthers>(), ...);
  (f.template operator()<kOthers, kOne>(), ...);
}

/// What models and pictures are of: cast without f32 in memory between, and in short runs.
template <class F>
constexpr void each_common_cast(const F& f) {
  with_each<Fast::f32, Fast::f16, Fast::bf16, Fast::u8, Fast::i8>(f);
  with_each<Fast::f16, Fast::bf16, Fast::u8, Fast::i8>(f);
  with_each<Fast::bf16, Fast::u8, Fast::i8>(f);
}

constexpr OfCasts<CastRow> cast_rows() {
  OfCasts<CastRow> out{};
  const auto set = [&]<Fast kFrom, Fast kTo>() { at(out, kFrom, kTo) = cast_row<kFrom, kTo>; };
  each_common_cast(set);
  with_each<Fast::f32, Fast::u16, Fast::i16, Fast::i32>(set);
  set.operator()<Fast::f32, Fast::f32>();  // scaled
  return out;
}

#if HWY_TARGET <= HWY_AVX3
/// In registers, of elements that `Of` casts on their way.
template <Fast kFrom, Fast kTo, class Of>
constexpr void set_tiles(CastMoves& moves) {
  using Four = Units<Of, 4>;
  moves.joins.four = kJoin<Of, 4>;
  moves.joins_of_four = {kJoin<Four, 2>, kJoin<Four, 4>};
  moves.joins_of_eight.two = kJoin<Units<Of, 8>, 2>;
  moves.transpose_runs = transpose_runs<kFrom, kTo>;
}
#endif

constexpr OfCasts<CastMoves> cast_moves() {
  OfCasts<CastMoves> all{};
  const auto at = [&](Fast from, Fast to) -> CastMoves& {
    return HWY_NAMESPACE::at(all, from, to);
  };
#if HWY_TARGET != HWY_SCALAR
  each_common_cast([&]<Fast kFrom, Fast kTo>() { at(kFrom, kTo).runs = cast_runs<kFrom, kTo>; });
  with_each<Fast::f32, Fast::f16, Fast::bf16>(
      [&]<Fast kFrom, Fast kTo>() { at(kFrom, kTo).transpose = cast_transposed<kFrom, kTo>; });
#endif
  at(Fast::u8, Fast::f32).split = kSplitPixels;
#if STOWAGE_PACKS_FOUR
  at(Fast::f32, Fast::u8).transpose = narrow_transposed<Fast::u8>;
  at(Fast::f32, Fast::i8).transpose = narrow_transposed<Fast::i8>;
#endif
#if HWY_TARGET <= HWY_AVX2
  at(Fast::u8, Fast::f32).joins.four.join = widen_quads<Fast::u8>;
  at(Fast::i8, Fast::f32).joins.four.join = widen_quads<Fast::i8>;
  at(Fast::u16, Fast::f32).joins.four.join = widen_quads<Fast::u16>;
  at(Fast::i16, Fast::f32).joins.four.join = widen_quads<Fast::i16>;
#endif
#if HWY_TARGET == HWY_AVX2
  at(Fast::f16, Fast::f32).joins.four.join = widen_quads<Fast::f16>;
  at(Fast::bf16, Fast::f32).joins.four.join = widen_quads<Fast::bf16>;
#endif
#if HWY_TARGET <= HWY_AVX3
  at(Fast::u8, Fast::f32).spread = spread_pixels;
  at(Fast::f32, Fast::u8).press = press_quads<Fast::u8>;
  at(Fast::f32, Fast::i8).press = press_quads<Fast::i8>;
  at(Fast::u8, Fast::f32).transpose = widen_transposed<Fast::u8>;
  at(Fast::i8, Fast::f32).transpose = widen_transposed<Fast::i8>;
  with_each<Fast::f32, Fast::f16, Fast::bf16>([&]<Fast kFrom, Fast kTo>() {
    set_tiles<kFrom, kTo, CastHalves<kFrom, kTo> >(at(kFrom, kTo));
  });
  const auto set_bytes = [&]<Fast kFrom, Fast kTo>() {
    set_tiles<kFrom, kTo, CastBytes<kFrom, kTo> >(at(kFrom, kTo));
  };
  with_each<Fast::f32, Fast::u8, Fast::i8>(set_bytes);
  set_bytes.operator()<Fast::f16, Fast::u8>();
  set_bytes.operator()<Fast::f16, Fast::i8>();
#endif
  return all;
}

constexpr std::array<JoinKernelsByRows, 5> join_kernels() {
  std::array<JoinKernelsByRows, 5> all{};
#if HWY_TARGET <= HWY_AVX3
  all[0].four = kJoin<Uncast<1>, 4>;
  all[1].four = kJoin<Uncast<2>, 4>;
  all[2] = {kJoin<Uncast<4>, 2>, kJoin<Uncast<4>, 4>};
  all[3] = {kJoin<Uncast<8>, 2>, kJoin<Uncast<8>, 4>};
  all[4] = {kJoin<Uncast<16>, 2>, kJoin<Uncast<16>, 4>};
#endif
  return all;
}

const Kernels* table() {
  static const Kernels kernels = {
      {narrow_rows<1>(), narrow_rows<2>(), kTransposes<4>.span(), kTransposes<8>.span(),
       kTransposes<16>.span()},
      kCopies,
      kLeastOfSquares,
      kLeastOfLineSquares,
      kCopiesRagged,
      cast_rows(),
      cast_moves(),
      join_kernels(),
      shuffles_of_bytes(),
      shuffles_of_words(),
      HWY_TARGET,
  };
  return &kernels;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage::conversion {

HWY_EXPORT(table);

namespace {

std::span<const TransposeKernel> rows_of(const Kernels& kernels, int element) {
  return kernels.transpose[log2_of(element)];
}

/// The first row that fits but for the last one, also of narrower vectors where columns or rows
/// follow each other without a gap: they may be too few for a vector. Null: none.
const TransposeKernel* find(const Kernels& kernels, int element, const TransposeBlock& block) {
  const auto rows = rows_of(kernels, element);
  for (const TransposeKernel& row : rows.first(rows.size() - 1)) {
    if (row.fits(block)) return &row;
  }
  const bool dense =
      block.col_stride == block.nb * element || block.row_stride == block.na * element;
  const Kernels* const others = dense ? narrower(kernels) : nullptr;
  return others != nullptr ? find(*others, element, block) : nullptr;
}

}  // namespace

// Here, where every instruction set is known: that of the whole program is compiled last.
const Kernels* narrower([[maybe_unused]] const Kernels& kernels) noexcept {
#if HWY_TARGETS & HWY_AVX2
  if (kernels.target == HWY_AVX3 || kernels.target == HWY_AVX3_DL) return N_AVX2::table();
#endif
#if HWY_TARGETS & HWY_SSE4
  if (kernels.target == HWY_AVX2) return N_SSE4::table();
#endif
  return nullptr;
}

const TransposeKernel& choose(const Kernels& kernels, int element, const TransposeBlock& block) {
  const TransposeKernel* const found = find(kernels, element, block);
  return found != nullptr ? *found : rows_of(kernels, element).back();
}

const CopyKernel& choose(const Kernels& kernels, const CopyBlock& block) {
  std::size_t i = 0;
  while (i + 1 < kernels.copy.size() && !kernels.copy[i].fits(block)) ++i;
  return kernels.copy[i];
}

const Kernels& kernels() noexcept { return *HWY_DYNAMIC_DISPATCH(table)(); }

std::vector<std::int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

void use_instruction_set(std::int64_t target) {
  // What knows nothing of AVX3_DL takes AVX3.
  hwy::SetSupportedTargetsForTest(target == HWY_AVX3_DL ? HWY_AVX3_DL | HWY_AVX3 : target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

void finish_stores() noexcept { hwy::FlushStream(); }

const Byte* zero_bytes() noexcept {
  alignas(64) static const std::array<Byte, kZeroBytes> zeros{};
  return zeros.data();
}

}  // namespace stowage::conversion
#endif
