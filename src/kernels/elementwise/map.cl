// SPDX-License-Identifier: Apache-2.0
// A function of operands that broadcast to y. One work item a texel of y.
__kernel void map(ARGS, ITEMS) {
  GUARD
  DECODE_y
  VECTOR_y v;
  COMPUTE(v);
  STORE_y(v);
}
