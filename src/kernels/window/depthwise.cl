// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: texel o of the result sees SOURCE, four channels of x. A work item makes
// four channels of PIXELS results below one another. Items side by side read neighbours along w.
__kernel void depthwise(ARGS, ITEMS) {
  GUARD
  const int o = (int)get_global_id(0) / y_e.s3;
  const int w = (int)get_global_id(0) % y_e.s3;
  const int n = (int)get_global_id(1) / rows;
  const int first = (int)get_global_id(1) % rows * PIXELS;
  float4 sum[PIXELS];
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) sum[p] = BIAS(o);
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
      line[i] = SOURCE(in_row && IN_COLUMN(ih >= 0 && ih < x_e.s2), n, o, ih, iw);
    }
#pragma unroll
    for (int kh = 0; kh < kernel_h; ++kh) {
      const float4 weight = READ_k(o, 0, kh, kw);
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) sum[p] += weight * line[p * stride_h + kh];
    }
#else
    for (int kh = 0; kh < kernel_h; ++kh) {
      const float4 weight = READ_k(o, 0, kh, kw);
      for (int p = 0; p < PIXELS; ++p) {
        const int ih = (first + p) * stride_h + kh * dilation_h - pad_h;
        sum[p] += weight * SOURCE(in_row && ih >= 0 && ih < x_e.s2, n, o, ih, iw);
      }
    }
#endif
  }
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) {
    const int h = first + p;
    if (h >= y_e.s2) break;
    float4 v = sum[p];
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
