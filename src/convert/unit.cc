// SPDX-License-Identifier: Apache-2.0
#include "convert/unit.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "convert/shuffle.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

template <int E>
void gather(const Byte* src, std::int64_t stride, Byte* dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(dst + i * E, src + i * stride, E);
}

template <int E>
void scatter(const Byte* src, Byte* const* to, std::int64_t offset, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to[i] + offset, src + i * E, E);
}

using Gather = void (*)(const Byte*, std::int64_t, Byte*, std::int64_t);
using Scatter = void (*)(const Byte*, Byte* const*, std::int64_t, std::int64_t);
constexpr Gather kGather[] = {gather<1>, gather<2>, gather<4>, gather<8>, gather<16>};
constexpr Scatter kScatter[] = {scatter<1>, scatter<2>, scatter<4>, scatter<8>, scatter<16>};

}  // namespace

UnitRunner::UnitRunner(const Job& job, const RowCast& cast, bool is_cast, bool is_mapped,
                       std::span<const float> mean, std::span<const float> norm,
                       const Byte* src_end, Size size, const Tuning& tuning) noexcept
    : job_(job),
      cast_(cast),
      is_cast_(is_cast),
      is_mapped_(is_mapped),
      mean_(mean),
      norm_(norm),
      src_end_(src_end),
      kernels_(kernels()) {
  block_.rows = rows_;
  block_.cols = columns_;
  block_.size = job.parts == Parts::columns ? Size::small : size;
  block_.tuning = inner_.tuning = &tuning;
  block_.walk = job.walk;
  block_.non_temporal = job.non_temporal;
  block_.one_piece = job.one_piece;
  inner_.size = Size::small;
  even_ = !is_cast && job.move == UnitMove::none && job.kind == Kind::transpose &&
          job.parts == Parts::none && job.columns == job.a.block && job.across.n == 1 &&
          job.row_stride != 0 && job.col_stride != 0 && job.a.valid == job.a.n &&
          job.b.valid == job.b.n;
  if (job.kind == Kind::shuffle) make_shuffle(job.chunk, job.dst_bytes, shuffle_);
  if (!even_) return;
  describe_whole_block();
  even_ = !rows_crowd();
}

void UnitRunner::run(const Unit& unit) noexcept {
  const std::int64_t na = std::min(job_.a.block, job_.a.n - unit.a);
  const std::int64_t nb = std::min(job_.b.block, job_.b.n - unit.b);
  if (even_ && !unit.zero && na == job_.a.block && nb == job_.b.block) {
    rows_[0] = unit.src + unit.a * job_.src_bytes + unit.b * job_.row_stride;
    columns_[0] = unit.dst + unit.a * job_.col_stride + unit.b * job_.dst_bytes;
    describe_whole_block();
    job_.transpose->run(block_);
  } else if (job_.kind == Kind::copy) {
    copy(unit, na, nb);
  } else if (job_.kind == Kind::shuffle) {
    shuffle(unit, na, nb);
  } else if (unit.zero || unit.a >= job_.a.valid) {
    zero(unit, na, nb);
  } else if (job_.kind == Kind::transpose) {
    transpose(unit, na, nb);
  } else {
    strided(unit, na, nb);
  }
}

void UnitRunner::copy(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const std::int64_t is = stride_of(job_.b, &Loop::is), os = stride_of(job_.b, &Loop::os);
  const Byte* src = unit.src + unit.a * job_.src_bytes;
  Byte* dst = unit.dst + unit.a * job_.dst_bytes + unit.b * os;
  const std::int64_t run = na * job_.dst_bytes;
  const std::int64_t rows = unit.zero ? 0 : std::clamp<std::int64_t>(job_.b.valid - unit.b, 0, nb);
  const std::int64_t valid = std::clamp<std::int64_t>(job_.a.valid - unit.a, 0, na);
  if (rows > 0) src += unit.b * is;
  if (is_cast_ && rows > 0) cast_copy(unit, src, dst, rows, na, valid);
  if (!is_cast_ && rows > 0)
    copy_rows({src, dst, rows, is, os, run, valid * job_.dst_bytes, src_end_, block_.tuning,
               job_.across.valid, job_.across.is, job_.across.os, job_.last_run, job_.last_valid});
  const std::int64_t zeros = (job_.across.n - job_.across.valid) * run;
  if (zeros > 0 && rows > 0)
    copy_rows({zero_bytes(), dst + job_.across.valid * run, rows, 0, os, zeros, 0, zero_bytes(),
               block_.tuning});
  if (rows < nb)
    copy_rows({zero_bytes(), dst + rows * os, nb - rows, 0, os, run, 0, zero_bytes(), block_.tuning,
               job_.across.n, 0, job_.across.os});
}

/// A block whose rows and columns are at equal distances, all but where it begins.
void UnitRunner::describe_whole_block() noexcept {
  block_.na = job_.a.block;
  block_.nb = job_.b.block;
  block_.row_stride = job_.row_stride;
  block_.col_stride = job_.col_stride;
  block_.src_end = src_end_;
  block_.copied = false;
}

/// Where the rows and columns of the block are; tables of them only where they are irregular or
/// `full` tables are wanted. Rows without a source are zero_bytes().
void UnitRunner::locate(const Unit& unit, std::int64_t na, std::int64_t nb, bool full) noexcept {
  begin_block(unit, na);
  locate_rows(unit, nb, full);
  locate_columns(unit, na, full);
}

// Written here field by field and read so by the kernels: words that are read back in vectors wait
// until every store before them, those of the last kernel too, has left for the cache.
void UnitRunner::begin_block(const Unit& unit, std::int64_t na) noexcept {
  block_.src_end = src_end_;
  block_.copied = false;
  block_.na = std::clamp<std::int64_t>(job_.a.valid - unit.a, 0, na);
}

void UnitRunner::locate_rows(const Unit& unit, std::int64_t nb, bool full) noexcept {
  const Byte* const src = unit.src + unit.a * stride_of(job_.a, &Loop::is);
  any_zero_row_ = false;
  block_.row_stride = block_.row_offset = 0;
  if (!full && job_.b.count == 1 && unit.b + nb <= job_.b.valid) {
    block_.row_stride = job_.b.loops[0].is;
    rows_[0] = src + unit.b * block_.row_stride;
    row_table_ = {};
  } else if (row_table_.is_for(unit.b, nb)) {
    block_.row_offset = src - row_table_.base;
  } else {
    row_table_ = {unit.b, nb, src};
    locate_iterations(job_.b, &Loop::is, unit.b, nb, src, rows_);
    each_without_source(job_.b, unit.b, nb, [&](std::int64_t begin, std::int64_t end) {
      std::fill(rows_ + begin, rows_ + end, zero_bytes());
      any_zero_row_ = true;
    });
    if (any_zero_row_) row_table_ = {};
  }
}

void UnitRunner::locate_columns(const Unit& unit, std::int64_t na, bool full) noexcept {
  Byte* const dst = unit.dst + unit.b * stride_of(job_.b, &Loop::os);
  block_.col_stride = block_.col_offset = 0;
  if (!full && job_.a.count == 1) {
    block_.col_stride = job_.a.loops[0].os;
    columns_[0] = dst + unit.a * block_.col_stride;
    column_table_ = {};
  } else if (column_table_.is_for(unit.a, na)) {
    block_.col_offset = dst - column_table_.base;
  } else {
    column_table_ = {unit.a, na, dst};
    locate_iterations(job_.a, &Loop::os, unit.a, na, dst, columns_);
  }
}

/// Whether what lies behind the last row of a unit may be read.
bool UnitRunner::room_for_gaps(const Unit& unit, std::int64_t nb) const noexcept {
  const Loop& rows = job_.b.loops[0];
  std::int64_t end = (unit.b + nb) * rows.is + (job_.across.n - 1) * job_.across.is;
  if (job_.b.count == 2) end = rows.n * rows.is + ((unit.b + nb) / rows.n - 1) * job_.b.loops[1].is;
  return src_end_ - unit.src >= end;
}

/// Rows that follow each other in parts only are put next to each other in scratch memory, those of
/// one block after those of the other.
void UnitRunner::gather_parts_of_rows(const Unit& unit, std::int64_t nb, Byte* to) noexcept {
  const Loop &inner = job_.b.loops[0], &outer = job_.b.loops[1];
  const std::int64_t part = inner.n * inner.is;
  copy_rows({unit.src + unit.b / inner.n * outer.is, to, nb / inner.n, outer.is, part, part, part,
             src_end_, block_.tuning, job_.across.n, job_.across.is, nb * inner.is});
  any_zero_row_ = false;
  block_.row_stride = inner.is;
  block_.src_end = scratch_ + kScratchBytes;
  block_.copied = true;
  rows_[0] = to;
  row_table_ = {};
}

/// A table of the columns with those that nobody reads behind them.
void UnitRunner::add_spare_columns() noexcept {
  for (std::int64_t a = 1; a < job_.columns; ++a)
    columns_[a] = a < job_.a.n ? columns_[0] + a * block_.col_stride : scratch_ + kPartsBytes;
  block_.na = job_.columns;
  block_.col_stride = 0;
  column_table_ = {};
}

/// Columns that follow each other in parts only are in scratch memory: each part to where it
/// belongs.
void UnitRunner::copy_parts_of_columns(const Unit& unit, std::int64_t na,
                                       const Byte* from) noexcept {
  const Loop &inner = job_.a.loops[0], &outer = job_.a.loops[1];
  const std::int64_t part = inner.n * block_.col_stride;
  copy_rows({from, unit.dst + unit.a / inner.n * outer.os, na / inner.n, part, outer.os, part, part,
             scratch_ + kScratchBytes, block_.tuning, job_.across.n, na * block_.col_stride,
             job_.across.os});
}

void UnitRunner::transpose_bytes(const TransposeBlock& block, int element) noexcept {
  if (block.na <= 0 || block.nb <= 0) return;
  const ChosenTranspose whole{job_.transpose, job_.columns, job_.b.block, job_.row_stride,
                              job_.col_stride};
  if (whole.is_for(block)) return whole.kernel->run(block);
  if (!other_.is_for(block))
    other_ = {&choose(kernels_, element, block), block.na, block.nb, block.row_stride,
              block.col_stride};
  other_.kernel->run(block);
}

// By reference: a copy would be made in vectors, each of two words that have just been written,
// which wait as in begin_block.
void UnitRunner::copy_rows(const CopyBlock& block) noexcept {
  const bool whole = block.run == job_.copy_run && block.valid == job_.copy_valid &&
                     block.across == job_.copy_across;
  (whole ? *job_.copy : choose(kernels_, block)).run(block);
}

/// How far apart rows are in scratch memory.
std::int64_t UnitRunner::scratch_pitch() const noexcept {
  return round_up(block_.na * job_.src_bytes, 64) + 64;
}

/// Whether rows at such a distance that they crowd the same few sets of the cache would be fetched
/// again for each 16 bytes of a line, and scratch memory holds them.
bool UnitRunner::rows_crowd() const noexcept {
  // The rows of a tile, or all where the kernel walks columns first.
  const std::int64_t at_once = block_.col_stride % 2048 == 0 ? block_.nb : 64 / job_.src_bytes;
  return block_.row_stride != 0 && !job_.whole_lines && !goes_by_buffer(job_.walk) &&
         crowded(block_.row_stride, std::min(at_once, block_.nb)) &&
         scratch_pitch() * block_.nb <= static_cast<std::int64_t>(kScratchBytes);
}

/// Rows that crowd are copied next to each other first.
void UnitRunner::gather_crowded_rows() noexcept {
  if (!rows_crowd()) return;
  const std::int64_t run = block_.na * job_.src_bytes, pitch = scratch_pitch();
  copy_rows(
      {rows_[0], scratch_, block_.nb, block_.row_stride, pitch, run, run, src_end_, block_.tuning});
  rows_[0] = scratch_;
  block_.row_stride = pitch;
  block_.src_end = scratch_ + kScratchBytes;
  block_.copied = true;
}

/// A block that is not cast or cast by what moves it.
void UnitRunner::transpose_block() noexcept {
  if (job_.move == UnitMove::transpose) {
    cast_.moves().transpose(block_);
  } else {
    transpose_bytes(block_, job_.dst_bytes);
  }
}

/// Rows and pixels.
void UnitRunner::move_pixels(std::int64_t next_is, std::int64_t next_os) noexcept {
  const std::int64_t times = job_.across.n;
  const bool ahead = block_.tuning->prefetch_for_write;
  const StepOrder order = block_.order_of_steps();
  if (job_.move == UnitMove::join) {
    JoinRun run{{}, block_.column(0), block_.na, times, next_is, next_os, ahead, order};
    for (std::int64_t b = 0; b < job_.b.n; ++b) run.rows[b] = block_.row(b);
    job_.joins.join(run);
  } else {
    PartRun run{{}, block_.row(0), block_.nb, times, next_os, next_is, ahead, order};
    for (std::int64_t a = 0; a < job_.a.n; ++a) run.rows[a] = block_.column(a);
    job_.joins.part(run);
  }
}

/// One block after the other, by rows and columns that are located.
void UnitRunner::transpose_blocks(std::int64_t next_is, std::int64_t next_os) noexcept {
  if (moves_pixels(job_.move)) return move_pixels(next_is, next_os);
  const std::int64_t located = block_.col_stride == 0 ? job_.a.n : 1;
  transpose_block();
  for (std::int64_t k = 1; k < job_.across.n; ++k) {
    rows_[0] += next_is;
    for (std::int64_t a = 0; a < located; ++a) columns_[a] += next_os;
    transpose_block();
  }
}

/// As locate, with the rows, if they are to be gathered, or the columns, if they have parts, in
/// scratch memory.
void UnitRunner::locate_parts(const Unit& unit, std::int64_t na, std::int64_t nb, bool gather,
                              Byte* rows, Byte* columns) noexcept {
  begin_block(unit, na);
  gather ? gather_parts_of_rows(unit, nb, rows) : locate_rows(unit, nb, false);
  if (job_.parts == Parts::columns) {
    block_.col_stride = nb * job_.dst_bytes;
    columns_[0] = columns;
  } else {
    locate_columns(unit, na, false);
  }
  block_.nb = nb;
}

/// By way of scratch memory, or with columns that nobody reads.
void UnitRunner::transpose_parts(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const bool spare = job_.columns > job_.a.n, wide = spare && room_for_gaps(unit, nb),
             gather = job_.parts == Parts::rows && (wide || !spare),
             to_scratch = job_.parts == Parts::columns;
  const std::int64_t block = job_.a.block * nb;
  locate_parts(unit, na, nb, gather, scratch_, scratch_);
  if (wide) add_spare_columns();
  transpose_blocks(gather ? block * job_.src_bytes : job_.across.is,
                   to_scratch ? block * job_.dst_bytes : job_.across.os);
  if (to_scratch) copy_parts_of_columns(unit, na, scratch_);
}

void UnitRunner::transpose(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const bool separate = is_cast_ && !moves_blocks(job_.move);
  if (separate && job_.parts != Parts::none) return cast_parts(unit, na, nb);
  if (job_.parts != Parts::none || job_.columns > job_.a.n) return transpose_parts(unit, na, nb);
  locate(unit, na, nb, false);
  block_.nb = nb;
  if (job_.move == UnitMove::split) {
    split(unit);
  } else if (separate) {
    job_.src_bytes <= job_.dst_bytes ? transpose_then_cast(unit) : cast_then_transpose(unit);
  } else {
    if (job_.across.n == 1 && !is_cast_ && job_.move == UnitMove::none) gather_crowded_rows();
    transpose_blocks(job_.across.is, job_.across.os);
  }
  for (std::int64_t a = block_.na; a < na; ++a) {
    std::memset(block_.column(a), 0, static_cast<std::size_t>(nb * job_.dst_bytes));
  }
}

/// Rows of n chunks, at the distances of chains a and b. Those whose windows reach beyond the
/// source are moved by elements.
void UnitRunner::shuffle_rows(const Byte* src, Byte* dst, std::int64_t n,
                              std::int64_t rows) noexcept {
  const Loop &a = job_.a.loops[0], &b = job_.b.loops[0];
  const auto beyond = [&](std::int64_t chunks, std::int64_t at) {
    return src + (chunks - 1) * a.is + at * b.is + shuffle_.reach > src_end_;
  };
  std::int64_t whole = rows;  // rows none of whose windows do
  while (whole > 0 && beyond(n, whole - 1)) --whole;
  job_.shuffle({src, dst, n, a.is, a.os, whole, b.is, b.os, &shuffle_});
  for (std::int64_t k = whole; k < rows; ++k) {
    std::int64_t i = n;
    while (i > 0 && beyond(i, k)) --i;
    job_.shuffle({src + k * b.is, dst + k * b.os, i, a.is, a.os, 1, 0, 0, &shuffle_});
    for (; i < n; ++i)
      move_chunk(job_.chunk, job_.dst_bytes, src + i * a.is + k * b.is, dst + i * a.os + k * b.os);
  }
}

void UnitRunner::shuffle(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const Loop &a = job_.a.loops[0], &b = job_.b.loops[0];
  const std::int64_t back = job_.back_os > 0 && unit.a + na == job_.a.n ? 1 : 0, n = na - back;
  const Byte* const src = unit.src + unit.a * a.is + unit.b * b.is;
  Byte* const dst = unit.dst + unit.a * a.os + unit.b * b.os;
  if (unit.zero) {
    for (std::int64_t k = 0; k < nb; ++k) {
      for (std::int64_t i = 0; i < na; ++i) {
        const std::int64_t before = i < n ? 0 : job_.back_os;
        std::memset(dst + i * a.os + k * b.os - before, 0,
                    static_cast<std::size_t>(shuffle_.bytes));
      }
    }
    return;
  }
  shuffle_rows(src, dst, n, nb);
  if (back > 0) shuffle_rows(src + n * a.is - job_.back_is, dst + n * a.os - job_.back_os, 1, nb);
}

/// Elements apart on one side or both.
void UnitRunner::strided(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const std::int64_t is = stride_of(job_.a, &Loop::is), os = stride_of(job_.b, &Loop::os);
  locate(unit, na, nb, false);
  if (!is_cast_ && !any_zero_row_ && block_.na == na) {  // as runs of one element, the longer way
    const std::int64_t e = job_.dst_bytes;
    for (std::int64_t b = 0; na >= nb && b < nb; ++b) {
      copy_rows({block_.row(b), block_.column(0) + b * os, na, is, block_.col_stride, e, e,
                 src_end_, block_.tuning});
    }
    for (std::int64_t a = 0; na < nb && a < na; ++a) {
      copy_rows({block_.row(0) + a * is, block_.column(a), nb, block_.row_stride, os, e, e,
                 src_end_, block_.tuning});
    }
    return;
  }
  if (is_cast_ && na < nb && block_.na == na && block_.row_stride != 0)
    return cast_strided_columns(unit, na, nb);
  locate(unit, na, nb, true);
  Byte* const gathered = scratch_;
  Byte* const changed = scratch_ + kScratchBytes / 2;
  walk(job_.b, unit.b, nb, [&](std::int64_t b, std::int64_t, std::int64_t, std::int64_t ps, bool) {
    std::int64_t done = 0;
    const std::int64_t step = static_cast<std::int64_t>(kScratchBytes / 2) / 16;
    for (; rows_[b] != zero_bytes() && done < block_.na; done += std::min(step, block_.na - done)) {
      const std::int64_t n = std::min(step, block_.na - done);
      kGather[log2_of(job_.src_bytes)](block_.row(b) + done * is, is, gathered, n);
      const Byte* out = gathered;
      if (is_cast_) {
        cast_(gathered, changed, n, row_map(job_.a, unit.a + done, n, unit.param + ps));
        out = changed;
      }
      kScatter[log2_of(job_.dst_bytes)](out, columns_ + done, block_.col_offset + b * os, n);
    }
    kScatter[log2_of(job_.dst_bytes)](zero_bytes(), columns_ + done, block_.col_offset + b * os,
                                      na - done);
  });
}

/// Zeros in the place of a block that is contiguous in the destination along b.
void UnitRunner::zero(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const std::int64_t os = stride_of(job_.b, &Loop::os);
  const bool runs = job_.kind == Kind::transpose;
  const std::int64_t bytes = (runs ? nb : 1) * job_.dst_bytes, copies = runs ? job_.across.n : nb,
                     distance = runs ? job_.across.os : os;
  Byte* const dst = unit.dst + unit.b * os;
  walk(job_.a, unit.a, na, [&](std::int64_t, std::int64_t, std::int64_t at, std::int64_t, bool) {
    for (std::int64_t k = 0; k < copies; ++k)
      std::memset(dst + at + k * distance, 0, static_cast<std::size_t>(bytes));
  });
}

}  // namespace stowage::conversion
