// SPDX-License-Identifier: Apache-2.0
// Products of few rows with a long sum, which the items of a group share: a group makes one row of
// as many texels as it is wide. Columns behind the last are made again, not left out: everybody
// must come to the barriers.
__kernel void gemm_split(ARGS, ITEMS) {
  __local float4 parts[ITEMS_OF_GROUP];
  const int n = min((int)get_global_id(0), items.x - 1);
  // A device may have smaller groups, hence more.
  const int at = min((int)get_group_id(1), blocks * batches - 1);
  const int row = at % height;
  BATCH(at / height)
  const int part = (int)get_local_id(1);
  const int step = (int)get_local_size(1);
  const int width = (int)get_local_size(0);
  float4 v = (float4)(0);
  for (int k = part; 4 * k < sum; k += step) {
    const float4 u = A(row, k);
    v += u.x * B(4 * k, n);
    v += u.y * B_IF(4 * k + 1 < sum, 4 * k + 1, n);
    v += u.z * B_IF(4 * k + 2 < sum, 4 * k + 2, n);
    v += u.w * B_IF(4 * k + 3 < sum, 4 * k + 3, n);
  }
  const int mine = part * width + (int)get_local_id(0);
  parts[mine] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_of = step / 2; half_of > 0; half_of /= 2) {
    if (part < half_of) parts[mine] += parts[mine + half_of * width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (part == 0 && (int)get_global_id(0) < items.x) {
    v = alpha * parts[mine] + beta * C;
    POSTS(v);
    Y(v);
  }
}
