// SPDX-License-Identifier: Apache-2.0
// exp(x - max) / sum of these along a row, or its logarithm. fmax drops a NaN, which the sum keeps.
#define MORE(a, b) fmax(a, b)
#define SUM(a, b) ((a) + (b))
__kernel void softmax(ARGS, ITEMS) {
  ROW
  KEPT
  float4 most = (float4)(-INFINITY);
  for (int j = FIRST; j < steps; j += STEP) {
    ALONG(j)
    const float4 v = X;
    most.x = fmax(most.x, v.x);
    if (lanes > 1) most.y = fmax(most.y, v.y);
    if (lanes > 2) most.z = fmax(most.z, v.z);
    if (lanes > 3) most.w = fmax(most.w, v.w);
  }
  JOIN_ITEMS(most, MORE);
  JOIN_LANES(most, MORE);
  float4 total = (float4)(0);
  for (int j = FIRST; j < steps; j += STEP) {
    ALONG(j)
    total += first_lanes(exp(X - most), lanes);
  }
  JOIN_ITEMS(total, SUM);
  JOIN_LANES(total, SUM);
  for (int j = FIRST; j < steps; j += STEP) {
    PLACE(j)
    const float4 v = X;
    Y(RESULT(v));
  }
}
