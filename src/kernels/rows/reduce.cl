// SPDX-License-Identifier: Apache-2.0
// The elements of a row become one. Where those of neighbours become a texel, an item makes all of
// it, lane by lane; a lane behind the last element repeats that.
__kernel void reduce(ARGS, ITEMS) {
  ROW
  KEPT
  float4 made = (float4)(0);
  for (int lane = 0; lane < LANES; ++lane) {
    float4 all = (float4)(START);
    for (int j = FIRST; j < steps; j += STEP) {
      ALONG(j)
      const float4 read = X;
      const float4 term = TERM(read);
      const float4 v = (float4)(term.x, lanes > 1 ? term.y : START, lanes > 2 ? term.z : START,
                                lanes > 3 ? term.w : START);
      all = JOIN(all, v);
    }
    JOIN_ITEMS(all, JOIN);
    JOIN_LANES(all, JOIN);
    all = END(all);
    if (lane == 0) made = all;
    if (lane == 1) made.y = all.x;
    if (lane == 2) made.z = all.x;
    if (lane == 3) made.w = all.x;
  }
  if (FIRST == 0) RESULT(made);
}
