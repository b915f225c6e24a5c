// SPDX-License-Identifier: Apache-2.0
// Products with a long sum, which the items of a group share: a group makes ROWS rows of as many
// texels as it is wide, so that each element of b is read once for them. Columns behind the last are
// made again, not left out: everybody must come to the barriers.
__kernel void gemm_split(ARGS, ITEMS) {
  __local float4 parts[ITEMS_OF_GROUP * ROWS];
  const int n = min((int)get_global_id(0), items.x - 1);
  // A device may have smaller groups, hence more.
  const int at = min((int)get_group_id(1), blocks * batches - 1);
  const int first = at % blocks * ROWS;
  BATCH(at / blocks)
  const int part = (int)get_local_id(1);
  const int step = (int)get_local_size(1);
  const int width = (int)get_local_size(0);
  const int whole = sum / 4;
  float4 total[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) total[r] = (float4)(0);
  for (int k = part; k < whole; k += step) {
    const float4 b0 = B(4 * k, n);
    const float4 b1 = B(4 * k + 1, n);
    const float4 b2 = B(4 * k + 2, n);
    const float4 b3 = B(4 * k + 3, n);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float4 u = A(min(first + r, height - 1), k);
      total[r] += u.x * b0;
      total[r] += u.y * b1;
      total[r] += u.z * b2;
      total[r] += u.w * b3;
    }
  }
  if (4 * whole < sum && part == whole % step) {
    const float4 b0 = B(4 * whole, n);
    const float4 b1 = B_IF(4 * whole + 1 < sum, 4 * whole + 1, n);
    const float4 b2 = B_IF(4 * whole + 2 < sum, 4 * whole + 2, n);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float4 u = A(min(first + r, height - 1), whole);
      total[r] += u.x * b0;
      total[r] += u.y * b1;
      total[r] += u.z * b2;
    }
  }
  const int mine = part * width + (int)get_local_id(0);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) parts[r * step * width + mine] = total[r];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_of = step / 2; half_of > 0; half_of /= 2) {
    if (part < half_of) {
      for (int r = 0; r < ROWS; ++r) {
        parts[r * step * width + mine] += parts[r * step * width + mine + half_of * width];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if ((int)get_global_id(0) >= items.x) return;
  for (int r = part; r < ROWS; r += step) {
    const int row = first + r;
    if (row >= height) break;
    float4 v = alpha * parts[r * step * width + (int)get_local_id(0)] + beta * C;
    POSTS(v);
    Y(v);
  }
}
