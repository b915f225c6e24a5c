// SPDX-License-Identifier: Apache-2.0
// Resizing: BLEND sums the taps of a texel of y.
__kernel void resize(ARGS, ITEMS) {
  GUARD
  DECODE_y
  float4 v = (float4)(0);
  BLEND(v);
  STORE_y(v);
}
