// SPDX-License-Identifier: Apache-2.0
#include "convert/unit.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stowage::conversion {
namespace {

/// f(i, source offset, destination offset, parameter, has a source) for iterations
/// [start, start + n) of the chain.
template <class F>
void walk(const Chain& chain, std::int64_t start, std::int64_t n, F f) {
  if (chain.count == 0) {
    f(std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, true);
    return;
  }
  if (chain.count == 1) {
    const Loop& l = chain.loops[0];
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t v = start + i;
      f(i, v * l.is, v * l.os, v * l.ps, v < l.valid);
    }
    return;
  }
  std::array<std::int64_t, 6> index{};
  std::int64_t is = 0, os = 0, ps = 0;
  for (int k = 0; k < chain.count; ++k) {
    const Loop& l = chain.loops[static_cast<std::size_t>(k)];
    const std::int64_t v = start % l.n;
    index[static_cast<std::size_t>(k)] = v;
    start /= l.n;
    is += v * l.is;
    os += v * l.os;
    ps += v * l.ps;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    bool valid = true;
    for (int k = 0; k < chain.count; ++k) {
      valid &= index[static_cast<std::size_t>(k)] < chain.loops[static_cast<std::size_t>(k)].valid;
    }
    f(i, is, os, ps, valid);
    for (int k = 0; k < chain.count; ++k) {
      const Loop& l = chain.loops[static_cast<std::size_t>(k)];
      is += l.is;
      os += l.os;
      ps += l.ps;
      if (++index[static_cast<std::size_t>(k)] < l.n) break;
      index[static_cast<std::size_t>(k)] = 0;
      is -= l.n * l.is;
      os -= l.n * l.os;
      ps -= l.n * l.ps;
    }
  }
}

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

int log2_of(int bytes) { return std::countr_zero(static_cast<unsigned>(bytes)); }

std::int64_t stride_of(const Chain& chain, std::int64_t Loop::*stride) {
  return chain.count > 0 ? chain.loops[0].*stride : 0;
}

}  // namespace

UnitRunner::UnitRunner(const Job& job, const RowCast& cast, bool is_cast, bool is_mapped,
                       std::span<const float> mean, std::span<const float> norm,
                       const Byte* src_end) noexcept
    : job_(job),
      cast_(cast),
      is_cast_(is_cast),
      is_mapped_(is_mapped),
      mean_(mean),
      norm_(norm),
      src_end_(src_end),
      kernels_(kernels()) {}

void UnitRunner::run(const Unit& unit) noexcept {
  const std::int64_t na = std::min(job_.a.block, job_.a.n - unit.a);
  const std::int64_t nb = std::min(job_.b.block, job_.b.n - unit.b);
  if (job_.kind == Kind::copy) {
    copy(unit, na, nb);
  } else if (unit.zero) {
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
  if (!is_cast_ && rows > 0) kernels_.copy({src, dst, rows, is, os, run, valid * job_.dst_bytes});
  for (std::int64_t r = 0; is_cast_ && r < rows; ++r) {
    const std::int64_t base = unit.param + (unit.b + r) * stride_of(job_.b, &Loop::ps);
    cast_(src + r * is, dst + r * os, valid, row_map(job_.a, unit.a, valid, base));
    if (valid < na)
      std::memset(dst + r * os + valid * job_.dst_bytes, 0,
                  static_cast<std::size_t>((na - valid) * job_.dst_bytes));
  }
  if (rows < nb) kernels_.copy({nullptr, dst + rows * os, nb - rows, 0, os, run, 0});
}

void UnitRunner::tables(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  const Byte* const src = unit.src + unit.a * stride_of(job_.a, &Loop::is);
  Byte* const dst = unit.dst + unit.b * stride_of(job_.b, &Loop::os);
  any_zero_row_ = false;
  valid_columns_ = std::clamp<std::int64_t>(job_.a.valid - unit.a, 0, na);
  walk(job_.b, unit.b, nb,
       [&](std::int64_t i, std::int64_t is, std::int64_t, std::int64_t, bool valid) {
         rows_[i] = valid ? src + is : nullptr;
         any_zero_row_ |= !valid;
       });
  walk(job_.a, unit.a, na, [&](std::int64_t i, std::int64_t, std::int64_t os, std::int64_t, bool) {
    columns_[i] = dst + os;
  });
}

void UnitRunner::transpose_bytes(const TransposeBlock& block, int element) noexcept {
  if (block.na > 0 && block.nb > 0) kernels_.transpose[log2_of(element)](block);
}

void UnitRunner::transpose(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  tables(unit, na, nb);
  if (is_cast_) {
    cast_block(unit, valid_columns_, nb);
  } else {
    TransposeBlock block{rows_, columns_, valid_columns_, nb, src_end_, 0, 0, unit.next};
    if (!any_zero_row_ && job_.b.count == 1) block.row_stride = job_.b.loops[0].is;
    if (job_.a.count == 1) block.col_stride = job_.a.loops[0].os;
    for (std::int64_t b = 0; any_zero_row_ && b < nb; ++b) {
      if (rows_[b] == nullptr) rows_[b] = zero_bytes();
    }
    transpose_bytes(block, job_.dst_bytes);
  }
  for (std::int64_t a = valid_columns_; a < na; ++a) {
    std::memset(columns_[a], 0, static_cast<std::size_t>(nb * job_.dst_bytes));
  }
}

/// The transposition happens in the narrower of the two types, in scratch memory.
void UnitRunner::cast_block(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  if (na == 0) return;
  const std::int64_t es = job_.src_bytes, ed = job_.dst_bytes;
  if (es <= ed) {
    Byte* columns[kMaxBlock];
    for (std::int64_t a = 0; a < na; ++a) columns[a] = scratch_ + a * nb * es;
    const Byte* rows[kMaxBlock];
    for (std::int64_t b = 0; b < nb; ++b) rows[b] = rows_[b] != nullptr ? rows_[b] : zero_bytes();
    TransposeBlock block{rows, columns, na, nb, src_end_, 0, nb * es, unit.next};
    if (!any_zero_row_ && job_.b.count == 1) block.row_stride = job_.b.loops[0].is;
    transpose_bytes(block, job_.src_bytes);
    walk(job_.a, unit.a, na,
         [&](std::int64_t a, std::int64_t, std::int64_t, std::int64_t ps, bool) {
           cast_(columns[a], columns_[a], nb, row_map(job_.b, unit.b, nb, unit.param + ps));
         });
    if (any_zero_row_) clear_rows_without_source(na, nb);
    return;
  }
  const Byte* rows[kMaxBlock];
  walk(job_.b, unit.b, nb,
       [&](std::int64_t b, std::int64_t, std::int64_t, std::int64_t ps, bool valid) {
         rows[b] = zero_bytes();
         if (!valid) return;
         Byte* const row = scratch_ + b * na * ed;
         cast_(rows_[b], row, na, row_map(job_.a, unit.a, na, unit.param + ps));
         rows[b] = row;
       });
  TransposeBlock block{
      rows, columns_, na, nb, scratch_ + kScratchBytes, any_zero_row_ ? 0 : na * ed, 0, 0};
  if (job_.a.count == 1) block.col_stride = job_.a.loops[0].os;
  transpose_bytes(block, job_.dst_bytes);
}

void UnitRunner::clear_rows_without_source(std::int64_t na, std::int64_t nb) noexcept {
  const std::int64_t e = job_.dst_bytes;
  for (std::int64_t b = 0; b < nb; ++b) {
    if (rows_[b] != nullptr) continue;
    std::int64_t end = b + 1;
    while (end < nb && rows_[end] == nullptr) ++end;
    for (std::int64_t a = 0; a < na; ++a)
      std::memset(columns_[a] + b * e, 0, static_cast<std::size_t>((end - b) * e));
    b = end;
  }
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
    walk(chain, start, n, [&](std::int64_t i, std::int64_t, std::int64_t, std::int64_t ps, bool) {
      const auto k = static_cast<std::size_t>(std::min(base + ps, last));
      mean_row_[i] = mean_[k];
      norm_row_[i] = norm_[k];
    });
  }
  return {RowMap::Mode::each, mean_row_, norm_row_};
}

/// Elements apart on one side or both.
void UnitRunner::strided(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  tables(unit, na, nb);
  const std::int64_t is = stride_of(job_.a, &Loop::is), os = stride_of(job_.b, &Loop::os);
  Byte* const gathered = scratch_;
  Byte* const changed = scratch_ + kScratchBytes / 2;
  walk(job_.b, unit.b, nb, [&](std::int64_t b, std::int64_t, std::int64_t, std::int64_t ps, bool) {
    std::int64_t done = 0;
    const std::int64_t step = static_cast<std::int64_t>(kScratchBytes / 2) / 16;
    for (; rows_[b] != nullptr && done < valid_columns_;
         done += std::min(step, valid_columns_ - done)) {
      const std::int64_t n = std::min(step, valid_columns_ - done);
      kGather[log2_of(job_.src_bytes)](rows_[b] + done * is, is, gathered, n);
      const Byte* out = gathered;
      if (is_cast_) {
        cast_(gathered, changed, n, row_map(job_.a, unit.a + done, n, unit.param + ps));
        out = changed;
      }
      kScatter[log2_of(job_.dst_bytes)](out, columns_ + done, b * os, n);
    }
    kScatter[log2_of(job_.dst_bytes)](zero_bytes(), columns_ + done, b * os, na - done);
  });
}

/// Zeros in the place of a block that is contiguous in the destination along b.
void UnitRunner::zero(const Unit& unit, std::int64_t na, std::int64_t nb) noexcept {
  tables({zero_bytes(), unit.dst, 0, unit.a, unit.b, 0, true}, na, nb);
  const std::int64_t os = stride_of(job_.b, &Loop::os);
  for (std::int64_t a = 0; a < na; ++a) {
    if (job_.kind == Kind::transpose) {
      std::memset(columns_[a], 0, static_cast<std::size_t>(nb * job_.dst_bytes));
    } else {
      for (std::int64_t b = 0; b < nb; ++b)
        std::memset(columns_[a] + b * os, 0, static_cast<std::size_t>(job_.dst_bytes));
    }
  }
}

}  // namespace stowage::conversion
