// SPDX-License-Identifier: Apache-2.0
// One unit of a job: a block of chain a by chain b, moved by one kernel call or a few.
#pragma once

#include <span>

#include "convert/cast_rows.h"
#include "convert/job.h"

namespace stowage::conversion {

struct Unit {
  const Byte* src;
  Byte* dst;
  std::int64_t param;
  std::int64_t a, b;  ///< where the block begins in either chain
  bool zero;          ///< nothing but zeros
};

/// What a table of addresses was made for: for the same part of a chain elsewhere it is the same,
/// at an offset.
struct TableKey {
  std::int64_t start = -1, n = 0;
  const Byte* base = nullptr;

  bool is_for(std::int64_t other_start, std::int64_t other_n) const noexcept {
    return start == other_start && n == other_n;
  }
};

/// The kernel of blocks of such extents and distances; choosing one takes as long as a few lines.
struct ChosenTranspose {
  const TransposeKernel* kernel = nullptr;
  std::int64_t na = 0, nb = 0, row_stride = 0, col_stride = 0;

  bool is_for(const TransposeBlock& block) const noexcept {
    return kernel != nullptr && block.na == na && block.nb == nb &&
           block.row_stride == row_stride && block.col_stride == col_stride;
  }
};

/// Scratch memory and tables that units of one job on one thread share.
class UnitRunner {
 public:
  UnitRunner(const Job& job, const RowCast& cast, bool is_cast, bool is_mapped,
             std::span<const float> mean, std::span<const float> norm, const Byte* src_end,
             Size size, const Tuning& tuning) noexcept;

  void run(const Unit& unit) noexcept;

 private:
  void copy(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void transpose(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void transpose_block() noexcept;
  void move_pixels(std::int64_t next_is, std::int64_t next_os) noexcept;
  void transpose_blocks(std::int64_t next_is, std::int64_t next_os) noexcept;
  void transpose_parts(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void shuffle(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void shuffle_rows(const Byte* src, Byte* dst, std::int64_t n, std::int64_t rows) noexcept;
  void strided(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void cast_strided_columns(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void zero(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;

  void locate(const Unit& unit, std::int64_t na, std::int64_t nb, bool full) noexcept;
  void locate_rows(const Unit& unit, std::int64_t nb, bool full) noexcept;
  void locate_columns(const Unit& unit, std::int64_t na, bool full) noexcept;
  void begin_block(const Unit& unit, std::int64_t na) noexcept;
  void describe_whole_block() noexcept;
  std::int64_t scratch_pitch() const noexcept;
  bool rows_crowd() const noexcept;
  void gather_crowded_rows() noexcept;
  void locate_parts(const Unit& unit, std::int64_t na, std::int64_t nb, bool gather, Byte* rows,
                    Byte* columns) noexcept;
  bool room_for_gaps(const Unit& unit, std::int64_t nb) const noexcept;
  void gather_parts_of_rows(const Unit& unit, std::int64_t nb, Byte* to) noexcept;
  void add_spare_columns() noexcept;
  void copy_parts_of_columns(const Unit& unit, std::int64_t na, const Byte* from) noexcept;
  void cast_parts(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept;
  void transpose_bytes(const TransposeBlock& block, int element) noexcept;
  void copy_rows(const CopyBlock& block) noexcept;
  void transpose_then_cast(const Unit& unit) noexcept;
  void cast_then_transpose(const Unit& unit) noexcept;
  void split(const Unit& unit) noexcept;
  void spread(const Unit& unit, const Byte* src, Byte* dst, std::int64_t pixels) noexcept;
  void press(const Byte* src, Byte* dst, std::int64_t pixels, std::int64_t channels) noexcept;
  PixelRun pixel_run(const Byte* src, std::int64_t n, std::int64_t channels) const noexcept;
  void cast_copy(const Unit& unit, const Byte* src, Byte* dst, std::int64_t rows, std::int64_t na,
                 std::int64_t valid) noexcept;
  void gather_and_cast(CopyBlock&& from, std::span<Byte> buffer, Byte* dst,
                       const RowMap& map) noexcept;
  void cast_short_runs(const Byte* src, Byte* dst, std::int64_t rows, std::int64_t run,
                       std::int64_t valid, std::int64_t os, const RowMap& map) noexcept;
  void cast_with_gaps(const Byte* src, Byte* dst, std::int64_t rows, std::int64_t run,
                      std::int64_t pitch, const RowMap& map) noexcept;
  void cast_dense(const Byte* src, Byte* dst, std::int64_t n, std::int64_t run,
                  const RowMap& map) noexcept;
  RowMap row_map(const Chain& chain, std::int64_t start, std::int64_t n,
                 std::int64_t base) noexcept;
  RowMap map_of_runs(const Chain& chain, std::int64_t start, std::int64_t n, std::int64_t base,
                     std::int64_t run) noexcept;

  static constexpr std::size_t kScratchBytes = 40 * 1024 + 64;
  static_assert(2 * kPartsBytes < kScratchBytes && kPartsBytes + 3 * kCastBytes < kScratchBytes);

  const Job& job_;
  const RowCast& cast_;
  const bool is_cast_, is_mapped_;
  const std::span<const float> mean_, norm_;
  const Byte* const src_end_;
  const Kernels& kernels_;
  std::int64_t map_key_[3] = {-1, -1, -1};
  std::int64_t repeated_ = 0;  ///< the run that fills the whole of the maps below
  bool any_zero_row_ = false;
  bool even_;  ///< whole units need no more than where they begin
  TransposeBlock block_, inner_;
  ShuffleTable shuffle_;
  TableKey row_table_, column_table_;
  ChosenTranspose other_;  ///< of the last block that was not a whole one
  const Byte *rows_[kMaxBlock], *inner_rows_[kMaxBlock];
  Byte* columns_[kMaxBlock];
  alignas(64) float mean_row_[kMaxBlock];
  alignas(64) float norm_row_[kMaxBlock];
  alignas(64) Byte scratch_[kScratchBytes];
};

}  // namespace stowage::conversion
