// SPDX-License-Identifier: Apache-2.0
// Inner loops over contiguous floats for every instruction set: blends, reductions, moments,
// softmax, lrn.
#pragma once

#include <cstdint>

namespace stowage {

/// y[i] = sum of weight[t] * rows[t][i] over the taps, for i < n.
void blend_rows(const float* const* rows, const float* weights, int taps, float* y,
                std::int64_t n) noexcept;

/// Output pixel p, of n floats, is the sum of weight[p][t] * x[index[p][t]] over its taps.
void blend_pixels(const float* x, const std::int64_t* index, const float* weights, int taps,
                  float* y, std::int64_t pixels, std::int64_t n) noexcept;

enum class Reduction : std::uint8_t { sum, max, min, sum_square, sum_abs };

/// acc[v] = join(acc[v], x[r * stride + v]) for r < rows, v < n.
void reduce_columns(Reduction kind, const float* x, std::int64_t stride, std::int64_t rows,
                    std::int64_t n, float* acc) noexcept;

/// join(acc, x[0], ..., x[n - 1])
float reduce_row(Reduction kind, const float* x, std::int64_t n, float acc) noexcept;

/// acc[v] += (x[r * stride + v] - mean[v])^2 for r < rows, v < n.
void deviation_columns(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                       const float* mean, float* acc) noexcept;

/// acc + (x[0] - mean)^2 + ... + (x[n - 1] - mean)^2
float deviation_row(const float* x, std::int64_t n, float mean, float acc) noexcept;

/// y[r * stride + v] = (x[r * stride + v] - mean[v]) * scale[v] + bias[v] for r < rows, v < n.
void normalise_columns(const float* x, float* y, std::int64_t stride, std::int64_t rows,
                       std::int64_t n, const float* mean, const float* scale,
                       const float* bias) noexcept;

/// y[i] = (x[i] - mean) * scale + bias for i < n.
void normalise_row(const float* x, float* y, std::int64_t n, float mean, float scale,
                   float bias) noexcept;

/// y[i] = (x[i] - mean) * factor * scale[i] + bias[i] for i < n; `bias` may be null. y may be x.
void normalise_row_by_element(const float* x, float* y, std::int64_t n, float mean, float factor,
                              const float* scale, const float* bias) noexcept;

/// softmax or its logarithm of each of `rows` rows of n elements, one behind the other; y may be x.
void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log) noexcept;

/// Likewise for n columns of `rows` elements, `stride` apart.
void softmax_columns(const float* x, float* y, std::int64_t rows, std::int64_t stride,
                     std::int64_t n, bool log) noexcept;

/// Local response normalisation across `channels` planes, `stride` apart, of n elements each.
struct LrnCall {
  std::int64_t channels = 1, stride = 1, before = 0, after = 0;
  float alpha = 0, beta = 0, bias = 0;  ///< alpha is divided by the size already
};

void lrn_columns(const LrnCall& call, const float* x, float* y, std::int64_t n) noexcept;

}  // namespace stowage
