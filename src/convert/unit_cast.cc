// SPDX-License-Identifier: Apache-2.0
// Units whose elements are cast or scaled, by rows.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "convert/unit.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// The first `period` values again and again, up to n.
void repeat(float* row, std::int64_t period, std::int64_t n) {
  for (std::int64_t done = period; done < n; done += std::min(done, n - done))
    std::copy_n(row, std::min(done, n - done), row + done);
}

/// Whether the iterations of the chain lie `bytes` apart in the way that `stride` says, and have
/// the same parameters.
bool follows(const Chain& chain, std::int64_t Loop::*stride, std::int64_t bytes) {
  return chain.count == 1 && chain.loops[0].*stride == bytes && chain.loops[0].ps == 0;
}

}  // namespace

/// `from.rows` runs are put next to each other in a buffer of so many bytes, zeros behind each, and
/// cast together. The map is one of map_of_runs.
void UnitRunner::gather_and_cast(CopyBlock&& from, std::span<Byte> buffer, Byte* dst,
                                 const RowMap& map) noexcept {
  const std::int64_t rows = from.rows, run = from.run / job_.src_bytes,
                     most = static_cast<std::int64_t>(buffer.size()) / from.run;
  from.dst = buffer.data();
  from.os = from.run;
  for (std::int64_t r = 0; r < rows; r += most, from.src += most * from.is) {
    from.rows = std::min(most, rows - r);
    copy_rows(from);
    cast_dense(buffer.data(), dst + r * run * job_.dst_bytes, from.rows * run, run, map);
  }
}

/// Runs of `run` elements, of which the first `valid` have a source, `os` bytes apart in the
/// destination. They are cast together and then, where there are gaps, put in their places.
void UnitRunner::cast_short_runs(const Byte* src, Byte* dst, std::int64_t rows, std::int64_t run,
                                 std::int64_t valid, std::int64_t os, const RowMap& map) noexcept {
  const std::int64_t is = stride_of(job_.b, &Loop::is), bytes = run * job_.src_bytes,
                     dense = run * job_.dst_bytes;
  const std::span<Byte> buffer(scratch_, kPartsBytes);
  Byte* const results = scratch_ + kPartsBytes;
  const std::int64_t most = os == dense ? rows : kPartsBytes / dense;
  for (std::int64_t r = 0; r < rows; r += most) {
    const std::int64_t n = std::min(most, rows - r);
    gather_and_cast(
        {src + r * is, nullptr, n, is, 0, bytes, valid * job_.src_bytes, src_end_, block_.tuning},
        buffer, os == dense ? dst : results, map);
    if (os != dense)
      copy_rows({results, dst + r * os, n, dense, os, dense, dense, scratch_ + kScratchBytes,
                 block_.tuning});
  }
}

/// Runs of `run` elements, `pitch` apart in the source and next to each other in the destination,
/// where elements are narrower: cast with what is between them, then put together.
void UnitRunner::cast_with_gaps(const Byte* src, Byte* dst, std::int64_t rows, std::int64_t run,
                                std::int64_t pitch, const RowMap& map) noexcept {
  const std::int64_t is = pitch * job_.dst_bytes, os = run * job_.dst_bytes;
  constexpr std::int64_t kPieceBytes = 8192;  // in L1 beside what is read and written
  const std::int64_t most = kPieceBytes / is;
  for (std::int64_t r = 0; r < rows; r += most) {
    const std::int64_t n = std::min(most, rows - r), elements = (n - 1) * pitch + run;
    cast_dense(src + r * pitch * job_.src_bytes, scratch_, elements, pitch, map);
    copy_rows({scratch_, dst + r * os, n, is, os, os, os, scratch_ + kScratchBytes, block_.tuning});
  }
}

/// Elements that follow each other without a gap on both sides; the map is one of map_of_runs, made
/// for runs of `run`.
void UnitRunner::cast_dense(const Byte* src, Byte* dst, std::int64_t n, std::int64_t run,
                            const RowMap& map) noexcept {
  const std::int64_t step = whole_runs(run);
  for (std::int64_t i = 0; i < n; i += step)
    cast_(src + i * job_.src_bytes, dst + i * job_.dst_bytes, std::min(step, n - i), map);
}

/// By way of scratch memory beside that of the cast.
void UnitRunner::cast_parts(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  Byte *const rows = scratch_ + kPartsBytes, *const columns = rows + kCastBytes;
  locate_parts(unit, na, nb, job_.parts == Parts::rows, rows, columns);
  job_.src_bytes <= job_.dst_bytes ? transpose_then_cast(unit) : cast_then_transpose(unit);
  if (job_.parts == Parts::columns) copy_parts_of_columns(unit, na, columns);
}

/// Pixels of bytes that are not scaled so far.
PixelRun UnitRunner::pixel_run(const Byte* src, std::int64_t n,
                               std::int64_t channels) const noexcept {
  return {.src = src,
          .src_end = src_end_,
          .n = n,
          .channels = static_cast<int>(channels),
          .to = {},
          .mean = {},
          .norm = {1, 1, 1, 1},
          .prefetch_for_write = block_.tuning->prefetch_for_write};
}

/// Pixels of interleaved bytes into planes of f32.
void UnitRunner::split(const Unit& unit) noexcept {
  PixelRun run = pixel_run(block_.row(0), block_.nb, block_.na);
  for (int c = 0; c < run.channels; ++c) {
    run.to[c] = reinterpret_cast<float*>(block_.column(c));
    const RowMap map = row_map(job_.b, unit.b, block_.nb, unit.param + c * job_.a.loops[0].ps);
    if (map.mode == RowMap::Mode::none) continue;
    run.mean[c] = *map.mean;
    run.norm[c] = *map.norm;
  }
  cast_.moves().split(run);
}

/// The same into four floats each.
void UnitRunner::spread(const Unit& unit, const Byte* src, Byte* dst,
                        std::int64_t pixels) noexcept {
  PixelRun run = pixel_run(src, pixels, job_.a.valid);
  run.to[0] = reinterpret_cast<float*>(dst);
  const RowMap map = row_map(job_.a, 0, job_.a.valid, unit.param);
  const bool each = map.mode == RowMap::Mode::each;
  for (int c = 0; c < run.channels && map.mode != RowMap::Mode::none; ++c) {
    run.mean[c] = map.mean[each ? c : 0];
    run.norm[c] = map.norm[each ? c : 0];
  }
  cast_.moves().spread(run);
}

/// And back. Behind the last pixel's channels the source may end.
void UnitRunner::press(const Byte* src, Byte* dst, std::int64_t pixels,
                       std::int64_t channels) noexcept {
  constexpr std::int64_t kQuad = 4 * sizeof(float);
  const std::int64_t quads = std::min(pixels, (src_end_ - src) / kQuad);
  cast_.moves().press(reinterpret_cast<const float*>(src), dst, quads, static_cast<int>(channels));
  if (quads < pixels)
    cast_(src + quads * kQuad, dst + quads * channels * job_.dst_bytes, channels, {});
}

/// `rows` runs of na elements, of which the first `valid` have a source and the others become zero.
void UnitRunner::cast_copy(const Unit& unit, const Byte* src, Byte* dst, std::int64_t rows,
                           std::int64_t na, std::int64_t valid) noexcept {
  if (job_.move == UnitMove::spread) return spread(unit, src, dst, rows);
  if (job_.move == UnitMove::press) return press(src, dst, rows, na);
  if (job_.move == UnitMove::runs || job_.move == UnitMove::transpose_runs) {
    const CastRuns runs{src,
                        dst,
                        rows,
                        stride_of(job_.b, &Loop::is),
                        stride_of(job_.b, &Loop::os),
                        na,
                        job_.across.valid,
                        job_.across.is,
                        job_.across.os,
                        block_.tuning->prefetch_for_write};
    return (job_.move == UnitMove::runs ? cast_.moves().runs : cast_.moves().transpose_runs)(runs);
  }
  const std::int64_t is = stride_of(job_.b, &Loop::is), os = stride_of(job_.b, &Loop::os),
                     run = na * job_.dst_bytes, pitch = is / job_.src_bytes,
                     longest =
                         os == run ? kShortRun : kShortRun / 4;  // put in their places as well
  if (rows > 1 && na <= longest && job_.b.count == 1 && job_.b.loops[0].ps == 0) {
    const bool with_gaps = os == run && job_.dst_bytes < job_.src_bytes && valid == na &&
                           is % job_.src_bytes == 0 && pitch > na && pitch <= 2 * na;
    if (with_gaps)
      return cast_with_gaps(src, dst, rows, na, pitch,
                            map_of_runs(job_.a, unit.a, na, unit.param, pitch));
    return cast_short_runs(src, dst, rows, na, valid, os,
                           map_of_runs(job_.a, unit.a, valid, unit.param, na));
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t base = unit.param + (unit.b + r) * stride_of(job_.b, &Loop::ps);
    cast_(src + r * is, dst + r * os, valid, row_map(job_.a, unit.a, valid, base));
    if (valid < na)
      std::memset(dst + r * os + valid * job_.dst_bytes, 0,
                  static_cast<std::size_t>((na - valid) * job_.dst_bytes));
  }
}

// The transposition happens in the narrower of the two types, in scratch memory.

void UnitRunner::transpose_then_cast(const Unit& unit) noexcept {
  const std::int64_t pitch = block_.nb * job_.src_bytes, nb = block_.nb;
  Byte* scratch = scratch_;
  inner_.rows = rows_;
  inner_.row_offset = block_.row_offset;
  inner_.cols = &scratch;
  inner_.col_offset = 0;
  inner_.na = block_.na;
  inner_.nb = nb;
  inner_.src_end = block_.src_end;
  inner_.row_stride = block_.row_stride;
  inner_.col_stride = pitch;
  transpose_bytes(inner_, job_.src_bytes);
  const bool dense =
      job_.parts == Parts::columns || follows(job_.a, &Loop::os, nb * job_.dst_bytes);
  if (nb <= kShortRun && dense && (job_.b.count == 1 || !is_mapped_)) {
    const std::int64_t valid = std::clamp<std::int64_t>(job_.b.valid - unit.b, 0, nb);
    cast_dense(scratch, block_.column(0), block_.na * nb, nb,
               map_of_runs(job_.b, unit.b, valid, unit.param, nb));
    return;
  }
  walk(job_.a, unit.a, block_.na,
       [&](std::int64_t a, std::int64_t, std::int64_t, std::int64_t ps, bool) {
         cast_(scratch + a * pitch, block_.column(a), nb,
               row_map(job_.b, unit.b, nb, unit.param + ps));
       });
  if (!any_zero_row_ || !is_mapped_) return;
  each_without_source(job_.b, unit.b, nb, [&](std::int64_t begin, std::int64_t end) {
    const auto bytes = static_cast<std::size_t>((end - begin) * job_.dst_bytes);
    for (std::int64_t a = 0; a < block_.na; ++a)
      std::memset(block_.column(a) + begin * job_.dst_bytes, 0, bytes);
  });
}

void UnitRunner::cast_then_transpose(const Unit& unit) noexcept {
  const std::int64_t pitch = block_.na * job_.dst_bytes, na = block_.na;
  inner_rows_[0] = scratch_;
  const bool dense = job_.parts == Parts::rows || follows(job_.b, &Loop::is, na * job_.src_bytes);
  if (!any_zero_row_ && na <= kShortRun && dense) {
    cast_dense(block_.row(0), scratch_, block_.nb * na, na,
               map_of_runs(job_.a, unit.a, na, unit.param, na));
  } else if (!any_zero_row_ && na <= kShortRun && same_parameters(job_.b)) {
    const Loop& even = job_.b.loops[0];
    const RowMap map = map_of_runs(job_.a, unit.a, na, unit.param, na);
    const std::int64_t row = na * job_.src_bytes;
    for (std::int64_t b = 0, n = 0; b < block_.nb; b += n) {
      n = std::min(block_.nb - b, even.n - (unit.b + b) % even.n);
      gather_and_cast(
          {block_.row(b), nullptr, n, even.is, 0, row, row, block_.src_end, block_.tuning},
          {scratch_ + kScratchBytes - kCastBytes, kCastBytes}, scratch_ + b * pitch, map);
    }
  } else {
    walk(job_.b, unit.b, block_.nb,
         [&](std::int64_t b, std::int64_t, std::int64_t, std::int64_t ps, bool valid) {
           Byte* const row = scratch_ + b * pitch;
           if (any_zero_row_) inner_rows_[b] = valid ? row : zero_bytes();
           if (valid) cast_(block_.row(b), row, na, row_map(job_.a, unit.a, na, unit.param + ps));
         });
  }
  inner_.rows = inner_rows_;
  inner_.row_offset = 0;
  inner_.cols = columns_;
  inner_.col_offset = block_.col_offset;
  inner_.na = na;
  inner_.nb = block_.nb;
  inner_.src_end = scratch_ + kScratchBytes;
  inner_.row_stride = any_zero_row_ ? 0 : pitch;
  inner_.col_stride = block_.col_stride;
  inner_.size = block_.size;
  inner_.non_temporal = block_.non_temporal;
  transpose_bytes(inner_, job_.dst_bytes);
}

/// mean and norm for iterations [start, start + n) of the chain.
RowMap UnitRunner::row_map(const Chain& chain, std::int64_t start, std::int64_t n,
                           std::int64_t base) noexcept {
  if (!is_mapped_) return {};
  if (mean_.size() == 1) return {RowMap::Mode::scalar, mean_.data(), norm_.data()};
  bool varies = false;
  std::int64_t period = 1, until = 1;
  for (int k = 0; k < chain.count; ++k) {
    const Loop& l = chain.loops[static_cast<std::size_t>(k)];
    until *= l.n;
    if (l.ps != 0) {
      varies = true;
      period = until;
    }
  }
  if (!varies) return {RowMap::Mode::scalar, mean_.data() + base, norm_.data() + base};
  // A row without a source has no parameters either; its values are overwritten with zero.
  const auto last = static_cast<std::int64_t>(mean_.size()) - 1;
  const std::int64_t key[3] = {base, start % period, n};
  if (!std::equal(key, key + 3, map_key_)) {
    std::copy(key, key + 3, map_key_);
    repeated_ = 0;
    const std::int64_t once = std::min(n, period);
    walk(chain, start, once,
         [&](std::int64_t i, std::int64_t, std::int64_t, std::int64_t ps, bool) {
           const auto k = static_cast<std::size_t>(std::min(base + ps, last));
           mean_row_[i] = mean_[k];
           norm_row_[i] = norm_[k];
         });
    repeat(mean_row_, once, n);
    repeat(norm_row_, once, n);
  }
  return {RowMap::Mode::each, mean_row_, norm_row_};
}

/// As row_map, for any number of runs of `run` elements one after the other; behind the first n of
/// each the map makes zero of zero.
RowMap UnitRunner::map_of_runs(const Chain& chain, std::int64_t start, std::int64_t n,
                               std::int64_t base, std::int64_t run) noexcept {
  const RowMap one = row_map(chain, start, n, base);
  if (one.mode == RowMap::Mode::none || (one.mode == RowMap::Mode::scalar && n == run)) return one;
  if (one.mode == RowMap::Mode::scalar) {
    map_key_[0] = -1;
    repeated_ = 0;
    std::fill_n(mean_row_, n, *one.mean);
    std::fill_n(norm_row_, n, *one.norm);
  }
  if (repeated_ != run) {
    for (float* const row : {mean_row_, norm_row_}) {
      std::fill(row + n, row + run, 0.f);
      repeat(row, run, kMaxBlock / run * run);
    }
    repeated_ = run;
  }
  return {RowMap::Mode::each, mean_row_, norm_row_};
}

/// Few columns of a block without a contiguous loop, each by itself.
void UnitRunner::cast_strided_columns(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const std::int64_t is = stride_of(job_.a, &Loop::is), os = stride_of(job_.b, &Loop::os),
                     src = job_.src_bytes, dst = job_.dst_bytes;
  Byte *const gathered = scratch_, *const changed = scratch_ + kScratchBytes / 2;
  walk(job_.a, unit.a, na, [&](std::int64_t a, std::int64_t, std::int64_t, std::int64_t ps, bool) {
    copy_rows({block_.row(0) + a * is, gathered, nb, block_.row_stride, src, src, src, src_end_,
               block_.tuning});
    cast_(gathered, changed, nb, row_map(job_.b, unit.b, nb, unit.param + ps));
    copy_rows({changed, block_.column(a), nb, dst, os, dst, dst, scratch_ + kScratchBytes,
               block_.tuning});
  });
}

}  // namespace stowage::conversion
