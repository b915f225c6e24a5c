// SPDX-License-Identifier: Apache-2.0
// The method of HPTT (search.h), whose library is not packaged: micro-tiles of 8 x 8 floats
// transposed in registers, plain loops for elements of other sizes.
#include "bench/convert/search.h"

namespace stowage::bench {
namespace {

constexpr std::int64_t kMicro = 8;

/// Transposes n x m elements: is and os between the rows of either side, whose elements adjoin.
template <class T>
void scalar_tile(const T* src, std::int64_t is, T* dst, std::int64_t os, std::int64_t n,
                 std::int64_t m) {
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) dst[j * os + i] = src[i * is + j];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void avx2_tile(const float* src, std::int64_t is, float* dst,
                                               std::int64_t os) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(src + i * is);
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(dst + i * os, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(dst + (i + 4) * os, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

#else
void avx2_tile(const float*, std::int64_t, float*, std::int64_t) {}
#endif

struct MicroTiles {
  template <class T>
  static constexpr std::int64_t side() {
    return 1;  // it has loops for what fills no tile
  }

  template <class T>
  static void run(const T* src, std::int64_t is, T* dst, std::int64_t os, std::int64_t n,
                  std::int64_t m) {
    static const bool avx2 = has_avx2();
    for (std::int64_t i = 0; i < n; i += kMicro) {
      for (std::int64_t j = 0; j < m; j += kMicro) {
        const std::int64_t rows = std::min(kMicro, n - i), columns = std::min(kMicro, m - j);
        const T* from = src + i * is + j;
        T* to = dst + j * os + i;
        if (sizeof(T) == 4 && avx2 && rows == kMicro && columns == kMicro) {
          avx2_tile(reinterpret_cast<const float*>(from), is, reinterpret_cast<float*>(to), os);
        } else {
          scalar_tile(from, is, to, os, rows, columns);
        }
      }
    }
  }
};

}  // namespace

Move make_hptt(const Case& c, ThreadPool& pool) {
  return permuted<MicroTiles>(c, pool, Stores::plain);
}

Move make_hptt_later(const Case& c, ThreadPool& pool) {
  return permuted<MicroTiles>(c, pool, Stores::non_temporal);
}

}  // namespace stowage::bench
