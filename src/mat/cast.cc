// SPDX-License-Identifier: Apache-2.0
// Mats of other types, and of one dim.
#include "base/index.h"
#include "base/text.h"
#include "mat/shape.h"
#include "stowage/convert.h"

namespace stowage {

namespace {

Mat from_16_bits(const unsigned short* data, int size, DType dtype) {
  // Read only.
  void* const memory = const_cast<unsigned short*>(data);
  const Mat given = Mat::wrap(MatShape::of(size, sizeof(*data)), memory);
  Mat out;
  if (!given.empty()) cast(given, out, dtype, DType::f32);
  return out;
}

}  // namespace

void cast(const Mat& src, Mat& dst, DType from, DType to) {
  const Mat source = src;  // dst may be src
  if (source.empty()) {
    dst = source;
    return;
  }
  const TensorView seen = source.view(from);
  if (from == to) {
    dst = source;
    return;
  }
  MatShape shape = source;
  shape.elemsize = idx(dtype_bytes(to)) * idx(shape.elempack);
  shape.cstep = shape.nstep = 0;
  shape = shape.complete();
  Mat out = target_mat(dst, source, shape);
  const MutableTensorView made = out.mutable_view(to);
  Conversion(from, seen.mapping, to, made.mapping).run(seen.data, made.data);
  dst = std::move(out);
}

void flatten(const Mat& src, Mat& dst) {
  Mat planar;
  convert_packing(src, planar, 1);
  const std::size_t count = planar.empty() ? 0 : planar.plane() * idx(planar.c);
  if (count > INT32_MAX) {
    fail(ErrorCode::limit, "an extent of ", count, " is more than a Mat can have");
  }
  dst = count == 0 ? Mat() : planar.reshape(static_cast<int>(count));
}

Mat Mat::from_float16(const unsigned short* data, int size) {
  return from_16_bits(data, size, DType::f16);
}

Mat Mat::from_bfloat16(const unsigned short* data, int size) {
  return from_16_bits(data, size, DType::bf16);
}

}  // namespace stowage
