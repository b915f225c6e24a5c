// SPDX-License-Identifier: Apache-2.0
// Batches of matrix products. A work item makes four columns of ROWS rows. Lanes of a behind the
// last element are zero; rows of b behind the last do not exist.
__kernel void gemm(ARGS, ITEMS) {
  GUARD
  const int n = (int)get_global_id(0);
  const int first = (int)get_global_id(1) % blocks * ROWS;
  BATCH((int)get_global_id(1) / blocks)
  float4 total[ROWS];
  for (int r = 0; r < ROWS; ++r) total[r] = (float4)(0);
  const int whole = sum / 4;
  for (int k = 0; k < whole; ++k) {
    const float4 b0 = B(4 * k, n);
    const float4 b1 = B(4 * k + 1, n);
    const float4 b2 = B(4 * k + 2, n);
    const float4 b3 = B(4 * k + 3, n);
    for (int r = 0; r < ROWS; ++r) {
      const float4 v = A(min(first + r, height - 1), k);
      total[r] += v.x * b0;
      total[r] += v.y * b1;
      total[r] += v.z * b2;
      total[r] += v.w * b3;
    }
  }
  if (4 * whole < sum) {
    const float4 b0 = B(4 * whole, n);
    const float4 b1 = B_IF(4 * whole + 1 < sum, 4 * whole + 1, n);
    const float4 b2 = B_IF(4 * whole + 2 < sum, 4 * whole + 2, n);
    for (int r = 0; r < ROWS; ++r) {
      const float4 v = A(min(first + r, height - 1), whole);
      total[r] += v.x * b0;
      total[r] += v.y * b1;
      total[r] += v.z * b2;
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r;
    if (row >= height) break;
    float4 v = alpha * total[r] + beta * C;
    POSTS(v);
    Y(v);
  }
}
