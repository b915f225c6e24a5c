// SPDX-License-Identifier: Apache-2.0
// (x - mean) / sqrt(variance + epsilon) * scale + bias along rows.
#define SUM(a, b) ((a) + (b))
__kernel void norm(ARGS, ITEMS) {
  ROW
  KEPT
  float4 mean = (float4)(0);
  for (int j = FIRST; j < steps; j += STEP) {
    ALONG(j)
    mean += first_lanes(X, lanes);
  }
  JOIN_ITEMS(mean, SUM);
  JOIN_LANES(mean, SUM);
  mean /= (float)count;
  float4 squares = (float4)(0);
  for (int j = FIRST; j < steps; j += STEP) {
    ALONG(j)
    const float4 v = first_lanes(X - mean, lanes);
    squares += v * v;
  }
  JOIN_ITEMS(squares, SUM);
  JOIN_LANES(squares, SUM);
  const float4 inverse = 1.0f / sqrt(squares / (float)count + epsilon);
  for (int j = FIRST; j < steps; j += STEP) {
    PLACE(j)
    Y((X - mean) * inverse * SCALE + BIAS);
  }
}
