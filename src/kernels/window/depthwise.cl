// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: texel o of the result sees SOURCE, four channels of x. A work item makes
// four channels of PIXELS neighbours.
__kernel void depthwise(ARGS, ITEMS) {
  GUARD
  const int o = (int)get_global_id(0) / columns;
  const int first = (int)get_global_id(0) % columns * PIXELS;
  const int n = (int)get_global_id(1) / y_e.s2;
  const int h = (int)get_global_id(1) % y_e.s2;
  float4 sum[PIXELS];
  for (int p = 0; p < PIXELS; ++p) sum[p] = BIAS(o);
  for (int kh = 0; kh < kernel_h; ++kh) {
    const int ih = h * stride_h + kh * dilation_h - pad_h;
    if (ih < 0 || ih >= x_e.s2) continue;
    for (int kw = 0; kw < kernel_w; ++kw) {
      const float4 weight = READ_k(o, 0, kh, kw);
      for (int p = 0; p < PIXELS; ++p) {
        const int iw = (first + p) * stride_w + kw * dilation_w - pad_w;
        sum[p] += weight * SOURCE(iw >= 0 && iw < x_e.s3, n, o, ih, iw);
      }
    }
  }
  for (int p = 0; p < PIXELS; ++p) {
    const int w = first + p;
    if (w >= y_e.s3) break;
    float4 v = sum[p];
    POSTS(v);
    WRITE_y(v, n, o, h, w);
  }
}
