// SPDX-License-Identifier: Apache-2.0
// What a Mat's header says in terms of layouts.
#pragma once

#include "stowage/mat.h"

namespace stowage {

/// The mapping of a Mat whose scalars are of `unit` bytes. Where a lane has several units they are
/// an axis b, innermost. `scalars` along the packed axis count; 0: all.
Mapping mat_mapping(const MatShape& shape, int unit, std::int64_t scalars);

/// "w 10, h 1, d 1, c 1, elemsize 16, elempack 4"
std::string mat_text(const MatShape& shape);

/// Like Mat(shape), but only gaps are zero.
Mat new_mat(const MatShape& shape);

/// The Mat has the shape, in memory that nobody else sees, or the caller's. Its cstep and nstep
/// may be any where the shape has none or ncnn's.
bool can_reuse(const Mat& mat, const MatShape& shape);

/// `dst` where it can be reused and does not overlap `src`, else a new Mat.
Mat target_mat(const Mat& dst, const Mat& src, const MatShape& shape);

/// Some byte lies between the beginning and the end of both.
bool overlap(const Mat& a, const Mat& b);

}  // namespace stowage
