// SPDX-License-Identifier: Apache-2.0
// A conversion against its oracle, cell by cell, between guard pages. For tests only.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "convert/conversion.h"
#include "convert/oracle.h"
#include "stowage/convert.h"
#include "tests/suite/guarded.h"

namespace stowage::conversion_test {

using conversion::Options;
using conversion::Program;

using Random = std::mt19937;

inline std::int64_t pick(Random& random, std::initializer_list<std::int64_t> list) {
  return *(list.begin() + std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(random));
}

/// A layout of these digits, in any order.
inline std::string layout_of(std::vector<std::string> digits, Random& random) {
  std::shuffle(digits.begin(), digits.end(), random);
  std::string out;
  for (const std::string& digit : digits) out += (out.empty() ? "" : " ") + digit;
  return out;
}

/// Random scalars; for real dtypes also infinities, NaN, halves and subnormals.
inline void fill_random(DType dtype, std::span<unsigned char> bytes, Random& random) {
  for (auto& b : bytes) b = static_cast<unsigned char>(random());
  if (dtype == DType::f32) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      if (random() % 8 == 0) continue;  // any bits at all
      float v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 0.25f;
      if (random() % 32 == 0) v *= 1e7f;
      std::memcpy(bytes.data() + i, &v, 4);
    }
  }
  if (dtype == DType::boolean) {
    for (auto& b : bytes) b &= 1;
  }
}

inline bool is_real(DType d) {
  return d == DType::f32 || d == DType::f16 || d == DType::bf16 || d == DType::f64;
}

inline bool is_nan(DType dtype, const unsigned char* p) {
  double value;
  cast_by_oracle(dtype, p, DType::f64, &value);
  return value != value;
}

struct Case {
  std::string from, to;
  Shape shape;
  DType src = DType::f32, dst = DType::f32;
  std::vector<float> mean, norm;
  Axis axis;
  std::int64_t row_pitch = 1;  ///< texels; of images

  Mapping mapping(const std::string& layout, DType dtype) const {
    const bool image = layout.starts_with("y:");
    return Mapping(Layout::parse(layout), shape, dtype_bytes(dtype), image ? row_pitch : 1);
  }

  std::string text() const {
    return from + " -> " + to + " of " + shape.text() + " " + std::string(dtype_name(src)) + "->" +
           std::string(dtype_name(dst)) + " map " + std::to_string(mean.size()) + "," +
           std::to_string(norm.size());
  }
};

/// Up to the last cell of an element or tail: nothing behind it need be readable.
inline std::size_t reached_bytes(const Mapping& mapping) {
  std::int64_t last = mapping.cells() - 1;
  std::array<std::int64_t, kMaxRank> x{};
  const std::span<std::int64_t> index(x.data(), static_cast<std::size_t>(mapping.shape().rank()));
  while (last >= 0 && mapping.inverse(last, index) == Cell::gap) --last;
  return static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(mapping.element_bytes());
}

/// Empty when the conversion agrees with its oracle.
inline std::string difference_of(const Case& c, const Options& options, Random& random,
                                 ThreadPool* pool) {
  const Mapping src = c.mapping(c.from, c.src), dst = c.mapping(c.to, c.dst);
  const ScalarMap map{c.mean, c.norm, c.axis};
  const bool src_at_end = random() % 2, dst_at_end = random() % 2;
  Guarded in(reached_bytes(src), src_at_end), got(dst.bytes(), dst_at_end);
  fill_random(c.src, in.bytes(), random);
  for (auto& b : got.bytes()) b = static_cast<unsigned char>(random());
  std::vector<unsigned char> want(got.bytes().begin(), got.bytes().end());
  convert_by_oracle(c.src, src, in.data(), c.dst, dst, want.data(), map);
  const Program program(c.src, src, c.dst, dst, map, options);
  program.run(in.data(), got.data(), pool);
  if (std::equal(want.begin(), want.end(), got.data())) return {};
  const int e = dtype_bytes(c.dst);
  for (std::int64_t cell = 0; cell < dst.cells(); ++cell) {
    const unsigned char *w = want.data() + cell * e, *g = got.data() + cell * e;
    if (std::memcmp(w, g, static_cast<std::size_t>(e)) == 0) continue;
    // Which NaN comes out of arithmetic on NaN is nobody's business.
    if (is_real(c.dst) && (!c.mean.empty() || !c.norm.empty()) && is_nan(c.dst, w) &&
        is_nan(c.dst, g))
      continue;
    return c.text() + " differs at cell " + std::to_string(cell) + ", " +
           std::to_string(options.tuning.streams) + " streams, " + program.explain();
  }
  return {};
}

/// Likewise, walking memory in any of the ways there are.
inline std::string difference(const Case& c, Random& random, ThreadPool* pool,
                              Options options = {}) {
  options.tuning.prefetch_for_write = random() % 2 == 0;
  options.tuning.non_temporal = random() % 2 == 0;
  options.next_use = random() % 2 == 0 ? NextUse::soon : NextUse::later;
  if (random() % 2 == 0) options.tuning.caches.l2 = 4096;  // what is small bypasses it as well
  options.least_of_stage = pick(random, {2, 64, 2048});
  options.tuning.streams = static_cast<int>(pick(random, {0, 1, 8, 16, kMostStreams}));
  return difference_of(c, options, random, pool);
}

inline Shape shape_of(std::string_view text) { return Shape::parse(text); }

}  // namespace stowage::conversion_test
