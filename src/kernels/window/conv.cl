// SPDX-License-Identifier: Apache-2.0
// Convolution, any window, stride, dilation and padding. A work item makes four output channels of
// PIXELS neighbours, of SPLIT items each a part of the input channels. Lanes of x behind the last
// channel are zero, and so are those of k.
__kernel void conv(ARGS, ITEMS) {
#if SPLIT > 1
  // Items that stick out take part in the barrier.
  const bool outside = (int)get_global_id(0) >= items.x;
  const int column = min((int)get_global_id(0), items.x - 1);
  // A device may have smaller groups than were asked for, and more of them: those that are too many
  // make the same results once more.
  const int part = get_local_id(2);
  const int parts = get_local_size(2);
  const int width = get_local_size(0);
  __local float4 sums[SPLIT * GROUP * PIXELS];
#else
  GUARD
  const int column = get_global_id(0);
  const int part = 0;
  const int parts = 1;
#endif
  const int o = column / columns;
  const int first = column % columns * PIXELS;
  const int n = (int)get_global_id(1) / y_e.s2;
  const int h = (int)get_global_id(1) % y_e.s2;
  const int from = o / group_out * group_in;
  float4 sum[PIXELS];
  for (int p = 0; p < PIXELS; ++p) sum[p] = part == 0 ? BIAS(o) : (float4)(0);
  for (int c = part; c < group_in; c += parts) {
#pragma unroll
    for (int kh = 0; kh < kernel_h; ++kh) {
      const int ih = h * stride_h + kh * dilation_h - pad_h;
      if (ih < 0 || ih >= x_e.s2) continue;
#pragma unroll
      for (int kw = 0; kw < kernel_w; ++kw) {
        const float4 k0 = READ_k(o, 4 * c, kh, kw);
        const float4 k1 = READ_k(o, 4 * c + 1, kh, kw);
        const float4 k2 = READ_k(o, 4 * c + 2, kh, kw);
        const float4 k3 = READ_k(o, 4 * c + 3, kh, kw);
        for (int p = 0; p < PIXELS; ++p) {
          const int iw = (first + p) * stride_w + kw * dilation_w - pad_w;
          const float4 v = READ_IF_x(iw >= 0 && iw < x_e.s3, n, from + c, ih, iw);
          sum[p] += v.x * k0 + v.y * k1 + v.z * k2 + v.w * k3;
        }
      }
    }
  }
#if SPLIT > 1
  for (int p = 0; p < PIXELS; ++p) {
    if (part > 0) sums[((part - 1) * PIXELS + p) * width + get_local_id(0)] = sum[p];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part > 0 || outside) return;
  for (int s = 0; s < parts - 1; ++s) {
    for (int p = 0; p < PIXELS; ++p) sum[p] += sums[(s * PIXELS + p) * width + get_local_id(0)];
  }
#endif
  for (int p = 0; p < PIXELS; ++p) {
    const int w = first + p;
    if (w >= y_e.s3) break;
    float4 v = sum[p];
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
