// SPDX-License-Identifier: Apache-2.0
// Each element over a power of the squares in a window of channels, axis 1. TEXEL(c): the texel c
// of channels of x at the place of this work item.
__kernel void lrn(ARGS, ITEMS) {
  GUARD
  DECODE_y
  const int4 channel = 4 * y_1 + (int4)(0, 1, 2, 3);
  const int last = min(x_e.s1 - 1, 4 * y_1 + 3 + after) / 4;
  float4 squares = (float4)(0);
  // Channels behind the last are zero.
  for (int c = max(0, 4 * y_1 - before) / 4; c <= last; ++c) {
    const float4 v = TEXEL(c);
    const float4 square = v * v;
    for (int lane = 0; lane < 4; ++lane) {
      const int4 at = (int4)(4 * c + lane);
      squares += choose_(at >= channel - before && at <= channel + after,
                         (float4)(lane_of(square, lane)), (float4)(0));
    }
  }
  const float4 v = TEXEL(y_1) / pow(bias + alpha * squares, (float4)(beta));
  STORE_y(v);
}
