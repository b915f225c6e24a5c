// SPDX-License-Identifier: Apache-2.0
// Winograd's F(2 x 2, 3 x 3), see winograd_device.h: Y = At ((U) . (Bt d B)) A. A work item makes
// 2 x 2 results of four output channels, of SPLIT items each a part of the input channels. The
// items of a group read neighbours of `filters` along the output channels, and neighbours of x.
#define U(i, j, lane) weights[((4 * (i) + (j)) * 4 + (lane)) * OUT_BLOCK]

__kernel void winograd(ARGS, ITEMS) {
#if SPLIT > 1
  // Items that stick out take part in the barrier.
  const bool outside = (int)get_global_id(0) >= items.x || (int)get_global_id(1) >= items.y;
  const int o = min((int)get_global_id(0), items.x - 1);
  const int tile = min((int)get_global_id(1), items.y - 1);
  // A device may have smaller groups than were asked for, and more of them: those that are too many
  // make the same results once more.
  const int part = get_local_id(2);
  const int parts = get_local_size(2);
  __local float4 sums[SPLIT * GROUP * 4];
#else
  GUARD
  const int o = get_global_id(0);
  const int tile = get_global_id(1);
  const int part = 0;
  const int parts = 1;
#endif
  const int row = tile / tiles_w;
  const int n = row / tiles_h;
  const int first_h = row % tiles_h * 2;
  const int first_w = tile % tiles_w * 2;
  const int ih = first_h - pad_h;
  const int iw = first_w - pad_w;
  float4 m[4][4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) m[i][j] = (float4)(0);
  }
  for (int c = part; c < in_texels; c += parts) {
    __global const float4* const weights = (__global const float4*)filters +
                                           (o / OUT_BLOCK * in_texels + c) * (64 * OUT_BLOCK) +
                                           o % OUT_BLOCK;
    float4 d[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool in_row = ih + i >= 0 && ih + i < x_e.s2;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        d[i][j] = READ_IF_x(in_row && iw + j >= 0 && iw + j < x_e.s3, n, c, ih + i, iw + j);
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float4 d1 = d[1][j], d2 = d[2][j];
      d[0][j] -= d2;
      d[3][j] = d1 - d[3][j];
      d[1][j] = d1 + d2;
      d[2][j] = d2 - d1;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 v[4] = {d[i][0] - d[i][2], d[i][1] + d[i][2], d[i][2] - d[i][1],
                           d[i][1] - d[i][3]};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        m[i][j] += v[j].x * U(i, j, 0);
        m[i][j] += v[j].y * U(i, j, 1);
        m[i][j] += v[j].z * U(i, j, 2);
        m[i][j] += v[j].w * U(i, j, 3);
      }
    }
  }
  float4 sum[4];
  {
    float4 a[2][4];
    for (int j = 0; j < 4; ++j) {
      a[0][j] = m[0][j] + m[1][j] + m[2][j];
      a[1][j] = m[1][j] - m[2][j] - m[3][j];
    }
    for (int i = 0; i < 2; ++i) {
      sum[2 * i] = a[i][0] + a[i][1] + a[i][2];
      sum[2 * i + 1] = a[i][1] - a[i][2] - a[i][3];
    }
  }
#if SPLIT > 1
  // Pixel p of part s at (4 s + p) * of_part, so that neighbours write neighbours.
  const int of_part = get_local_size(0) * get_local_size(1);
  const int mine = get_local_id(1) * get_local_size(0) + get_local_id(0);
  for (int p = 0; p < 4; ++p) sums[(4 * part + p) * of_part + mine] = sum[p];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (outside) return;
  for (int p = part; p < 4; p += parts) {
    float4 v = sums[p * of_part + mine];
    for (int s = 1; s < parts; ++s) v += sums[(4 * s + p) * of_part + mine];
#else
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    float4 v = sum[p];
#endif
    const int h = first_h + p / 2;
    const int w = first_w + p % 2;
    if (h >= y_e.s2 || w >= y_e.s3) continue;
    v += BIAS(o);
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
