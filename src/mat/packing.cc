// SPDX-License-Identifier: Apache-2.0
// convert_packing: the rules of ncnn over the conversion engine.
#include "base/checked.h"
#include "base/text.h"
#include "mat/kept_conversion.h"
#include "mat/shape.h"
#include "mat/threads.h"

namespace stowage {

namespace {

/// The widest dtype by which scalars of so many bytes can be moved; a scalar may take several.
DType mover_of(std::size_t lane_bytes) {
  if (lane_bytes % 8 == 0) return DType::u64;
  if (lane_bytes % 4 == 0) return DType::u32;
  return lane_bytes % 2 == 0 ? DType::u16 : DType::u8;
}

/// 1-D: the same bytes under another header, where its steps come out whole.
bool rewrite_header(const Mat& from, MatShape& to) {
  if (from.dims != 1) return false;
  if (from.n > 1 && from.nstep * from.elemsize % to.elemsize != 0) return false;
  to.cstep = from.cstep * from.elemsize / to.elemsize;
  to.nstep = from.n > 1 ? from.nstep * from.elemsize / to.elemsize : to.cstep;
  return true;
}

struct Packing {
  MatShape from, to;

  friend bool operator==(const Packing&, const Packing&) = default;
};

Conversion conversion_of(const Packing& packing) {
  const auto& [from, to] = packing;
  const std::int64_t scalars = std::int64_t{from.packed_extent()} * from.elempack;
  const DType mover = mover_of(from.lane_bytes());
  const int unit = dtype_bytes(mover);
  return {mover, mat_mapping(from, unit, scalars), mover, mat_mapping(to, unit, scalars)};
}

}  // namespace

void convert_packing(const Mat& src, Mat& dst, int elempack, const PackingOptions& options) {
  if (elempack < 1 || elempack > kMaxElempack) {
    fail(ErrorCode::usage, "elempack ", elempack, " is not between 1 and ", kMaxElempack);
  }
  ThreadPool* const pool = pool_of(options.threads);
  const Mat from = src;  // dst may be src
  if (from.empty() || from.elempack == elempack) {
    dst = from;
    return;
  }
  const std::int64_t scalars = std::int64_t{from.packed_extent()} * from.elempack;
  const bool divides = scalars % elempack == 0;
  if (!divides && !options.padding) {
    dst = from;
    return;
  }
  MatShape to = from;
  const std::int64_t packs = ceil_div(scalars, elempack);
  if (packs > INT32_MAX) {
    fail(ErrorCode::limit, "an extent of ", packs, " packs is more than a Mat can have");
  }
  to.packed_extent() = static_cast<int>(packs);
  to.elempack = elempack;
  to.elemsize = from.lane_bytes() * static_cast<std::size_t>(elempack);
  to.cstep = to.nstep = 0;
  if (divides && rewrite_header(from, to)) {
    dst = from.with(to);
    return;
  }
  to = to.complete();
  Mat out = target_mat(dst, from, to);
  const Packing packing{from, out};
  kept_conversion(packing, [&] { return conversion_of(packing); }).run(from.data, out.data, pool);
  dst = std::move(out);
}

}  // namespace stowage
