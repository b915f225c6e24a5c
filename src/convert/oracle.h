// SPDX-License-Identifier: Apache-2.0
// What a Conversion is compared with: one element at a time, in logical coordinates.
#pragma once

#include "stowage/convert.h"

namespace stowage {

/// What Conversion(src_dtype, src, dst_dtype, dst, map).run(from, to) must do.
void convert_by_oracle(DType src_dtype, const Mapping& src, const void* from, DType dst_dtype,
                       const Mapping& dst, void* to, const ScalarMap& map = {});

/// One scalar, cast; unscaled casts between equal dtypes move the bytes.
void cast_by_oracle(DType src_dtype, const void* from, DType dst_dtype, void* to);

}  // namespace stowage
