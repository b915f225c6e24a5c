// SPDX-License-Identifier: Apache-2.0
int reflected(int i, int extent) {
  return i < 0 ? -i : i >= extent ? 2 * (extent - 1) - i : i;
}

// y[i] = SOURCE(i): elements of x that change places, or a constant. One work item a texel of y.
__kernel void move(ARGS, ITEMS) {
  GUARD
  DECODE_y
  STORE_y(EACH_y(SOURCE));
}
