// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: an output pixel sums the taps that reach it from an input pixel. A work
// item makes four output channels of PIXELS pixels that see the same taps: they lie a stride apart,
// and their input pixels are neighbours.
__kernel void conv_transpose(ARGS, ITEMS) {
  GUARD
  const int o = (int)get_global_id(0) / columns;
  const int column = (int)get_global_id(0) % columns;
  const int first = column / stride_w * (stride_w * PIXELS) + column % stride_w;
  const int n = (int)get_global_id(1) / y_e.s2;
  const int h = (int)get_global_id(1) % y_e.s2;
  float4 sum[PIXELS];
  for (int p = 0; p < PIXELS; ++p) sum[p] = BIAS(o);
  for (int kh = 0; kh < kernel_h; ++kh) {
    const int top = h + pad_h - kh * dilation_h;
    const int ih = top / stride_h;
    if (top < 0 || top % stride_h != 0 || ih >= x_e.s2) continue;
    for (int kw = 0; kw < kernel_w; ++kw) {
      // May lie before the input, where a later pixel does not.
      const int left = first + pad_w - kw * dilation_w;
      if (left % stride_w != 0) continue;
      const int iw = left / stride_w;
      if (iw + PIXELS <= 0 || iw >= x_e.s3) continue;
#ifdef DEPTHWISE
      const float4 weight = READ_k(o, 0, kh, kw);
      for (int p = 0; p < PIXELS; ++p) {
        sum[p] += weight * READ_IF_x(iw + p >= 0 && iw + p < x_e.s3, n, o, ih, iw + p);
      }
#else
      const int from = o / group_out * group_in;
      for (int c = from; c < from + group_in; ++c) {
        const float4 k0 = READ_k(4 * c, o % group_out, kh, kw);
        const float4 k1 = READ_k(4 * c + 1, o % group_out, kh, kw);
        const float4 k2 = READ_k(4 * c + 2, o % group_out, kh, kw);
        const float4 k3 = READ_k(4 * c + 3, o % group_out, kh, kw);
        for (int p = 0; p < PIXELS; ++p) {
          const float4 v = READ_IF_x(iw + p >= 0 && iw + p < x_e.s3, n, c, ih, iw + p);
          sum[p] += v.x * k0 + v.y * k1 + v.z * k2 + v.w * k3;
        }
      }
#endif
    }
  }
  for (int p = 0; p < PIXELS; ++p) {
    const int w = first + p * stride_w;
    if (w >= y_e.s3) break;
    float4 v = sum[p];
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
