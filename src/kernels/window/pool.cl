// SPDX-License-Identifier: Apache-2.0
// Max or average pooling. A work item makes a texel of channels: TAKE adds a texel of x to what the
// window holds so far.

// So many taps of a window that begins at `first` lie before `limit`.
int taps_before(int first, int limit, int dilation, int kernel_extent) {
  return first < limit ? min((limit - first + dilation - 1) / dilation, kernel_extent) : 0;
}

__kernel void pool(ARGS, ITEMS) {
  GUARD
  const int c = (int)get_global_id(0) / y_e.s3;
  const int n = (int)get_global_id(1) / y_e.s2;
  const int top = (int)get_global_id(1) % y_e.s2 * stride_h - pad_h;
  const int left = (int)get_global_id(0) % y_e.s3 * stride_w - pad_w;
  const int kh_begin = taps_before(top, 0, dilation_h, kernel_h);
  const int kw_begin = taps_before(left, 0, dilation_w, kernel_w);
  const int kh_end = taps_before(top, x_e.s2, dilation_h, kernel_h);
  const int kw_end = taps_before(left, x_e.s3, dilation_w, kernel_w);
  float4 v = (float4)(INITIAL);
  for (int kh = kh_begin; kh < kh_end; ++kh) {
    // Row by row: a sum of many elements stays exact longer.
    float4 row = (float4)(INITIAL);
    for (int kw = kw_begin; kw < kw_end; ++kw) {
      const float4 a = READ_x(n, c, top + kh * dilation_h, left + kw * dilation_w);
      row = TAKE(row, a);
    }
    v = TAKE(v, row);
  }
  const int rows = count_padding ? taps_before(top, padded_h, dilation_h, kernel_h)
                                 : kh_end - kh_begin;
  const int columns = count_padding ? taps_before(left, padded_w, dilation_w, kernel_w)
                                    : kw_end - kw_begin;
  v = FINISH(v, max((float)rows * (float)columns, 1.0f));
  WRITE_y(v, n, c, (int)get_global_id(1) % y_e.s2, (int)get_global_id(0) % y_e.s3);
}
