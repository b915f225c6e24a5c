// SPDX-License-Identifier: Apache-2.0
// Convolution, any window, stride, dilation and padding. A work item makes four output channels OUT
// times of PIXELS results below one another, of SPLIT items each a part of the input channels. Items
// side by side read neighbours along w.
__kernel void conv(ARGS, ITEMS) {
#if SPLIT > 1
  // Items that stick out take part in the barrier.
  const bool outside = (int)get_global_id(0) >= items.x;
  const int column = min((int)get_global_id(0), items.x - 1);
  // A device may have smaller groups than were asked for, and more of them: those that are too many
  // make the same results once more.
  const int part = get_local_id(2);
  const int parts = get_local_size(2);
  __local float4 sums[SPLIT * GROUP * PIXELS * OUT];
#else
  GUARD
  const int column = get_global_id(0);
  const int part = 0;
  const int parts = 1;
#endif
  const int first_o = column / y_e.s3 * OUT;
  const int w = column % y_e.s3;
  const int n = (int)get_global_id(1) / rows;
  const int first = (int)get_global_id(1) % rows * PIXELS;
  const int from = first_o / group_out * group_in;
  // Texels of output channels behind the last are made, not stored.
  const int last_o = (y_e.s1 + 3) / 4 - 1;
  float4 sum[OUT * PIXELS];
#pragma unroll
  for (int i = 0; i < OUT * PIXELS; ++i) sum[i] = (float4)(0);
  for (int c = part; c < group_in; c += parts) {
#pragma unroll
    for (int kw = 0; kw < kernel_w; ++kw) {
      const int iw = w * stride_w + kw * dilation_w - pad_w;
      const bool in_row = IN_ROW(iw >= 0 && iw < x_e.s3);
#if SPAN > 0
      // Each row that the windows share is read once.
      float4 line[SPAN];
#pragma unroll
      for (int i = 0; i < SPAN; ++i) {
        const int ih = first * stride_h - pad_h + i;
        line[i] = READ_IF_x(in_row && IN_COLUMN(ih >= 0 && ih < x_e.s2), n, from + c, ih, iw);
      }
#define LINE(p, kh) line[(p) * stride_h + (kh)]
#pragma unroll
      for (int kh = 0; kh < kernel_h; ++kh) {
#else
      for (int kh = 0; kh < kernel_h; ++kh) {
        float4 line[PIXELS];
        for (int p = 0; p < PIXELS; ++p) {
          const int ih = (first + p) * stride_h + kh * dilation_h - pad_h;
          line[p] = READ_IF_x(in_row && ih >= 0 && ih < x_e.s2, n, from + c, ih, iw);
        }
#define LINE(p, kh) line[p]
#endif
#pragma unroll
        for (int q = 0; q < OUT; ++q) {
          const int o = min(first_o + q, last_o);
          const float4 k0 = READ_k(o, 4 * c, kh, kw);
          const float4 k1 = READ_k(o, 4 * c + 1, kh, kw);
          const float4 k2 = READ_k(o, 4 * c + 2, kh, kw);
          const float4 k3 = READ_k(o, 4 * c + 3, kh, kw);
#pragma unroll
          for (int p = 0; p < PIXELS; ++p) {
            const float4 v = LINE(p, kh);
            float4 s = sum[q * PIXELS + p];
            s += v.x * k0;
            s += v.y * k1;
            s += v.z * k2;
            s += v.w * k3;
            sum[q * PIXELS + p] = s;
          }
        }
      }
    }
  }
#if SPLIT > 1
  // Result i of part s at (OUT PIXELS s + i) * of_part, so that neighbours write neighbours.
  const int of_part = get_local_size(0) * get_local_size(1);
  const int mine = get_local_id(1) * get_local_size(0) + get_local_id(0);
  for (int i = 0; i < OUT * PIXELS; ++i) {
    sums[(part * OUT * PIXELS + i) * of_part + mine] = sum[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (outside) return;
  for (int i = part; i < OUT * PIXELS; i += parts) {
    float4 v = sums[i * of_part + mine];
    for (int s = 1; s < parts; ++s) v += sums[(s * OUT * PIXELS + i) * of_part + mine];
#else
#pragma unroll
  for (int i = 0; i < OUT * PIXELS; ++i) {
    float4 v = sum[i];
#endif
    const int o = first_o + i / PIXELS;
    const int h = first + i % PIXELS;
    if (o > last_o || h >= y_e.s2) continue;
    v += BIAS(o);
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
