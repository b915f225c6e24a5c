// SPDX-License-Identifier: Apache-2.0
// The tables of transpositions and copies: what each fits, best first.
#if defined(STOWAGE_CONVERT_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_ROWS_INL_H
#undef STOWAGE_CONVERT_ROWS_INL_H
#else
#define STOWAGE_CONVERT_ROWS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "convert/kernels.h"
#include "convert/kernels_bytes-inl.h"
#include "convert/kernels_copy-inl.h"
#include "convert/kernels_few-inl.h"
#include "convert/kernels_join-inl.h"
#include "convert/kernels_pack-inl.h"
#include "convert/kernels_ragged-inl.h"
#include "convert/kernels_transpose-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

/// The rows for elements of E bytes.
template <int E>
class Transposes {
 public:
  constexpr Transposes();

  constexpr std::span<const TransposeKernel> span() const { return {rows_.data(), count_}; }

 private:
  using Number = TransposeKernel::Number;

  constexpr void add(std::string_view name, Number number, bool (*fits)(const TransposeBlock&),
                     void (*run)(const TransposeBlock&)) {
    rows_[count_++] = {name, number, fits, run};
  }

  std::array<TransposeKernel, 24> rows_{};
  std::size_t count_ = 0;
};

#if HWY_TARGET == HWY_SCALAR

template <int E>
void transpose_elements(const TransposeBlock& t) {
  for (std::int64_t a = 0; a < t.na; ++a) {
    for (std::int64_t b = 0; b < t.nb; ++b) std::memcpy(t.column(a) + b * E, t.row(b) + a * E, E);
  }
}

template <int E>
constexpr Transposes<E>::Transposes() {
  add(
      "transpose", Number::element, [](const TransposeBlock&) { return true; },
      transpose_elements<E>);
}

#else

/// Columns follow each other without a gap, and a vector of them is there.
template <int E>
constexpr bool dense_columns(const TransposeBlock& t) {
  return t.col_stride == t.nb * E && t.na >= kVector<E>;
}

/// Rows follow each other without a gap, and a vector of them is there. Not of columns that crowd
/// the L1, which are filled by runs.
template <int E>
constexpr bool dense_rows(const TransposeBlock& t) {
  return t.row_stride == t.na * E && t.nb >= kVector<E> && t.walk != Walk::runs;
}

template <int E, int kRows>
bool fits_rows(const TransposeBlock& t) {
  return dense_columns<E>(t) && t.nb == kRows;
}

template <int kMost>
bool fits_few_columns(const TransposeBlock& t) {
  return dense_rows<1>(t) && t.na >= 2 && t.na <= kMost;
}

template <int E, int kColumns>
bool fits_columns(const TransposeBlock& t) {
  return dense_rows<E>(t) && t.na == kColumns;
}

/// As many rows as a square has, at equal distances; their lines and the one that is written do not
/// crowd the same sets of the cache. Or rows of a table, which along_columns() does not know.
template <int E>
bool fits_square_rows(const TransposeBlock& t) {
  return dense_columns<E>(t) && t.nb == kVector<E> &&
         (t.row_stride != 0 ? !crowded(t.row_stride, t.nb + 1) : t.tuning->streams == 0);
}

/// As many columns as a square has, at equal distances.
template <int E>
bool fits_square_columns(const TransposeBlock& t) {
  return dense_rows<E>(t) && t.na == kVector<E> && t.col_stride != 0;
}

template <int E, int kMost>
bool fits_few_rows(const TransposeBlock& t) {
  return dense_columns<E>(t) && t.nb > 4 && t.nb <= kMost && t.nb * E <= 16;
}

/// One band holds all rows, and its columns fill no vector of 16 bytes.
template <int E, int kMost>
bool fits_one_band(const TransposeBlock& t) {
  const std::int64_t column = t.nb * E;
  return dense_columns<E>(t) && column > 16 && column % 16 != 0 && column <= kMost;
}

#if HWY_TARGET <= HWY_AVX3
/// So few runs of E bytes that squares, of which some have to overlap, are slower.
template <int E>
bool few_short_runs(std::int64_t n) {
  constexpr std::int64_t kMost = 15, kMostBytes = 160;
  return n > 1 && n <= kMost && n * E <= kMostBytes;
}

template <int E>
bool fits_part_runs(const TransposeBlock& t) {
  return dense_rows<E>(t) && t.col_stride != 0 && few_short_runs<E>(t.na) &&
         !goes_by_buffer(t.walk);
}

template <int E>
bool fits_join_runs(const TransposeBlock& t) {
  const bool one_vector = t.nb * E <= 64;  // of others all stores are masked
  return dense_columns<E>(t) && t.row_stride != 0 && few_short_runs<E>(t.nb) &&
         !goes_by_buffer(t.walk) && (one_vector || t.tuning->cheap_two_sources());
}
#endif

template <int E>
constexpr Transposes<E>::Transposes() {
  if constexpr (E <= 8) {
    add("interleave", Number::rows, fits_rows<E, 2>, interleave<E, 2>);
    add("interleave", Number::rows, fits_rows<E, 3>, interleave<E, 3>);
    add("interleave", Number::rows, fits_rows<E, 4>, interleave<E, 4>);
  }
  // Vectors of 64 bytes take more steps than whole columns do.
  constexpr bool parted = kBlocks <= 2;
  if constexpr (parted && E <= 8)
    add("deinterleave", Number::columns, fits_columns<E, 2>, deinterleave<E, 2>);
  if constexpr (parted && E <= 2) {
    add("deinterleave", Number::columns, fits_columns<E, 3>, deinterleave<E, 3>);
    add("deinterleave", Number::columns, fits_columns<E, 4>, deinterleave<E, 4>);
  }
#if HWY_TARGET == HWY_AVX2
  if constexpr (E <= 2) add("join", Number::rows, fits_rows<E, 8>, join_words<E, 8>);
  if constexpr (E == 1) add("join", Number::rows, fits_rows<E, 16>, join_words<E, 16>);
  if constexpr (E == 1) add("part", Number::columns, fits_columns<E, 8>, part_bytes);
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (E == 2 || E == 4) {
    add("join", Number::rows, fits_rows<E, 8>, join_lanes<E, 8>);
    add("part", Number::columns, fits_columns<E, 8>, part_lanes<E, 8>);
    add("part", Number::columns, fits_columns<E, 2>, part_lanes<E, 2>);
    add("part", Number::columns, fits_columns<E, 5>, part_columns<E, 5>);
    add("part", Number::columns, fits_columns<E, 6>, part_columns<E, 6>);
    add("part", Number::columns, fits_columns<E, 7>, part_columns<E, 7>);
    add("join", Number::rows, fits_rows<E, 5>, join_rows<E, 5>);
    add("join", Number::rows, fits_rows<E, 6>, join_rows<E, 6>);
  }
  if constexpr (E == 2) {
    add("part", Number::columns, fits_columns<E, 3>, part_columns<E, 3>);
    add("part", Number::columns, fits_columns<E, 4>, part_lanes<E, 4>);
    add("part", Number::columns, fits_columns<E, 16>, part_lanes<E, 16>);
  }
  if constexpr (E == 4) {
    add("part", Number::columns, fits_columns<E, 4>, part_few<E, 4>);
    add("join", Number::rows, fits_rows<E, 7>, join_rows<E, 7>);
  }
  if constexpr (E == 8) {
    add("part", Number::columns, fits_columns<E, 2>, part_few<E, 2>);
    add("part", Number::columns, fits_columns<E, 4>, part_lanes<E, 4>);
  }
#endif
  if constexpr (!parted && E == 1) {
    add("spread", Number::columns, fits_few_columns<2>, few_columns<8>);
    add("spread", Number::columns, fits_few_columns<4>, few_columns<4>);
  }
  if constexpr (E == 1) add("spread", Number::columns, fits_few_columns<8>, few_columns<2>);
  if constexpr (E == 4 || E == 8)
    add("deinterleave", Number::columns, fits_columns<E, 3>, deinterleave<E, 3>);
  if constexpr (E <= 2) add("press", Number::rows, fits_few_rows<E, 8>, few_rows<E, 8>);
  if constexpr (E == 1) add("press", Number::rows, fits_few_rows<E, 16>, few_rows<E, 16>);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (E == 16) {
    add("join", Number::rows, fits_rows<E, 2>, join_blocks<2>);
    add("join", Number::rows, fits_rows<E, 4>, join_blocks<4>);
    add("part", Number::columns, fits_columns<E, 2>, part_blocks);
  }
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (E == 16) {
    add("join", Number::rows, fits_rows<E, 2>, join_blocks<2>);
    add("join", Number::rows, fits_rows<E, 4>, join_blocks<4>);
    add("part", Number::columns, fits_columns<E, 2>, part_blocks<2>);
    add("part", Number::columns, fits_columns<E, 4>, part_blocks<4>);
  }
#endif
#if HWY_TARGET <= HWY_AVX2
  constexpr bool squares = kBlocks == 2 ? E == 4 : E >= 4;
  constexpr bool blocks = HWY_TARGET <= HWY_AVX3 && E == 16;
  if constexpr (squares && !blocks) add("join", Number::rows, fits_square_rows<E>, join_squares<E>);
  if constexpr (squares || E == 8)
    add("part", Number::columns, fits_square_columns<E>, part_squares<E>);
#endif
  constexpr bool joined = HWY_TARGET <= HWY_AVX3 && E == 4;
  if constexpr (E <= 4 && kBlocks > 1 && !joined) {
    constexpr int kMost = E == 1 || (E == 2 && kBlocks == 4) ? kBlocks * 16 : 32;
    add("band", Number::element, fits_one_band<E, std::min(32 + E, kMost)>, one_band<E, 2>);
    if constexpr (kMost > 32 + E)
      add("band", Number::element, fits_one_band<E, kMost>, one_band<E, kBlocks>);
  }
#if HWY_TARGET <= HWY_AVX3
  if constexpr (E >= 4) {
    add("runs", Number::element, fits_part_runs<E>, part_runs<E>);
    add("runs", Number::element, fits_join_runs<E>, join_runs<E>);
  }
#endif
  add(
      "transpose", Number::element, [](const TransposeBlock&) { return true; }, bands<E, kBlocks>);
}

#endif

template <int E>
inline constexpr Transposes<E> kTransposes;

// Whether AVX3 is compiled before AVX3_DL: not where it is what the whole program is compiled for,
// which comes last.
#define STOWAGE_AVX3_IS_FIRST ((HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET != HWY_AVX3)

#if HWY_TARGET <= HWY_AVX3_DL
/// What narrow_rows has behind its own.
template <int E>
std::span<const TransposeKernel> other_rows() {
#if STOWAGE_AVX3_IS_FIRST
  return N_AVX3::kTransposes<E>.span();  // the same code
#else
  return kTransposes<E>.span();
#endif
}

/// By how many rows or columns. Two rows of the table of kernels and not one for each number, since
/// that is searched for every block that is not like the one before.
struct ByNumber {
  static constexpr std::int64_t kMost = 24;
  using Run = void (*)(const TransposeBlock&);

  /// Null where the others are as good. `cheap`: has so many two-source shuffles for each register
  /// that it pays only where they are cheap.
  struct Kernel {
    Run run = nullptr;
    bool cheap = false;
  };

  std::array<Kernel, kMost + 1> kernels{};

  constexpr void set(std::size_t n, Run run, bool cheap = false) { kernels[n] = {run, cheap}; }

  const Kernel& of(std::int64_t n) const { return kernels[static_cast<std::size_t>(n)]; }

  bool has(std::int64_t n, const Tuning& tuning) const {
    return n <= kMost && of(n).run != nullptr && (!of(n).cheap || tuning.cheap_two_sources());
  }
};

constexpr ByNumber joins() {
  constexpr bool kCheap = true;
  ByNumber run;
  run.set(3, join_bytes<3>);
  run.set(5, join_bytes<5>);
  run.set(6, join_bytes<6>);
  run.set(7, join_bytes<7>, kCheap);
  run.set(8, join_bytes<8>, kCheap);
  run.set(9, join_bytes<9>);
  run.set(10, join_bytes<10>, kCheap);
  run.set(11, join_bytes<11>, kCheap);
  run.set(12, join_bytes<12>, kCheap);
  run.set(14, join_bytes<14>, kCheap);
  run.set(15, join_bytes<15>, kCheap);
  run.set(16, join_bytes<16>, kCheap);
  return run;
}

constexpr ByNumber parts() {
  constexpr bool kCheap = true;
  ByNumber run;
  run.set(2, part_bytes<2>);
  run.set(3, part_bytes<3>);
  run.set(4, part_bytes<4>, kCheap);
  run.set(5, part_bytes<5>);
  run.set(6, part_bytes<6>);
  run.set(7, part_bytes<7>, kCheap);
  run.set(8, part_bytes<8>, kCheap);
  run.set(9, part_bytes<9>);
  run.set(10, part_bytes<10>, kCheap);
  run.set(12, part_bytes<12>, kCheap);
  run.set(14, part_bytes<14>, kCheap);
  run.set(15, part_bytes<15>, kCheap);
  run.set(20, part_bytes<20>, kCheap);
  run.set(24, part_bytes<24>, kCheap);
  return run;
}

inline constexpr ByNumber kJoins = joins(), kParts = parts();

template <int E>
bool fits_pack(const TransposeBlock& t) {
  constexpr std::int64_t kLeast = kLeastPacked + E - 1;  // 17 words are stored as fast in a band
  return dense_columns<E>(t) && t.row_stride != 0 && t.nb >= kLeast && t.nb <= kMostPacked &&
         t.nb != 32 && t.tuning->cheap_two_sources();
}

template <int E>
void pack(const TransposeBlock& t) {
  t.nb > 32 ? pack_columns<E, 5>(t) : t.nb > 24 ? pack_columns<E, 4>(t) : pack_columns<E, 3>(t);
}

template <int E>
inline constexpr TransposeKernel kPack = {"pack", TransposeKernel::Number::rows, fits_pack<E>,
                                          pack<E>};

inline constexpr TransposeKernel kByteRows[] = {
    {"join", TransposeKernel::Number::rows,
     [](const TransposeBlock& t) { return kJoins.has(t.nb, *t.tuning) && dense_columns<1>(t); },
     [](const TransposeBlock& t) { kJoins.of(t.nb).run(t); }},
    {"part", TransposeKernel::Number::columns,
     [](const TransposeBlock& t) { return kParts.has(t.na, *t.tuning) && dense_rows<1>(t); },
     [](const TransposeBlock& t) { kParts.of(t.na).run(t); }},
    kPack<1>,
};
inline constexpr TransposeKernel kWordRows[] = {kPack<2>};

/// What bytes and words gain by these instructions, then the others.
template <int E>
std::span<const TransposeKernel> narrow_rows() {
  static const std::vector<TransposeKernel> rows = [] {
    std::span<const TransposeKernel> first = kWordRows;
    if constexpr (E == 1) first = kByteRows;
    const auto others = other_rows<E>();
    std::vector<TransposeKernel> all(first.begin(), first.end());
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }();
  return rows;
}
#else
template <int E>
std::span<const TransposeKernel> narrow_rows() {
  return kTransposes<E>.span();
}
#endif

inline bool whole_across(const CopyBlock& c) { return c.across > 1 && c.valid == c.run; }

void copy_each_across(const CopyBlock& c);
void copy_short_across(const CopyBlock& c);

inline constexpr bool kCopiesRagged = HWY_TARGET <= HWY_AVX3;

inline constexpr CopyKernel kCopies[] = {
#if HWY_TARGET <= HWY_AVX3
    {"copy ragged", [](const CopyBlock& c) { return c.last_run > 0; }, copy_ragged},
#endif
#if HWY_TARGET != HWY_SCALAR
    {"copy across",
     [](const CopyBlock& c) { return whole_across(c) && c.run == 32 && c.across == 2; },
     copy_across<32, 2>},
    {"copy across", [](const CopyBlock& c) { return whole_across(c) && c.run == 32; },
     copy_across<32, 0>},
    {"copy across", [](const CopyBlock& c) { return whole_across(c) && c.run == 64; },
     copy_across<64, 0>},
    {"copy across", [](const CopyBlock& c) { return whole_across(c) && c.run > 4 && c.run < 64; },
     copy_short_across},
    {"copy across",
     [](const CopyBlock& c) { return whole_across(c) && c.run > 64 && c.run <= kMostOfAcross; },
     copy_across<0, 0>},
#endif
    {"copy across", [](const CopyBlock& c) { return c.across > 1; }, copy_each_across},
    {"copy short", [](const CopyBlock& c) { return c.valid == c.run && c.run <= 32; }, copy_short},
#if HWY_TARGET != HWY_SCALAR
    {"copy", [](const CopyBlock& c) { return c.valid == c.run && c.run <= 1024; }, copy_vectors},
#if HWY_TARGET <= HWY_AVX3
    {"copy padded", [](const CopyBlock& c) { return c.run == 64; }, copy_masked},
#endif
    {"copy padded", [](const CopyBlock& c) { return c.run <= 64; }, copy_padded},
#endif
    {"copy", [](const CopyBlock&) { return true; }, copy_long},
};

/// One run of each row after the other.
void copy_each_across(const CopyBlock& c) {
  CopyBlock one = c;
  one.across = 1;
  const auto* const kernel =
      std::ranges::find_if(kCopies, [&](const CopyKernel& row) { return row.fits(one); });
  for (std::int64_t k = 0; k < c.across; ++k, one.src += c.across_is, one.dst += c.across_os)
    kernel->run(one);
}

#if HWY_TARGET != HWY_SCALAR
void copy_short_across(const CopyBlock& c) {
  if (c.across_os != c.run) return copy_each_across(c);
  if (c.run <= 8) return copy_over<8>(c);
  if (c.run <= 16) return copy_over<16>(c);
  c.run <= 32 ? copy_over<32>(c) : copy_over<64>(c);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
