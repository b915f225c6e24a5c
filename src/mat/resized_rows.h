// SPDX-License-Identifier: Apache-2.0
// The rows of one plane of samples, resized; each class keeps the source rows that the next row may
// need.
#pragma once

#include <array>
#include <variant>
#include <vector>

#include "mat/pixel_rows.h"

namespace stowage {

/// Keys' cubic with a = -0.75, as OpenCV has it.
float keys_cubic(float x) noexcept;

class NearestRows {
 public:
  NearestRows(const SamplePlane& src, int width, int height);

  void row(int y, Sample* out) noexcept;

 private:
  SamplePlane src_;
  std::vector<int> columns_, rows_;
};

class BilinearRows {
 public:
  BilinearRows(const SamplePlane& src, int width, int height);

  void row(int y, Sample* out) noexcept;

 private:
  /// Source positions and weights of an output position; weights are of 2048.
  struct Tap {
    int first, second;
    std::int16_t a, b;
  };

  static std::vector<Tap> taps_of(int from, int to);
  const std::int16_t* narrowed(int y) noexcept;

  SamplePlane src_;
  std::vector<Tap> columns_, rows_;
  std::vector<std::int16_t> lines_[2];
  int line_of_[2] = {-1, -1};
};

class BicubicRows {
 public:
  BicubicRows(const SamplePlane& src, int width, int height);

  void row(int y, Sample* out) noexcept;

 private:
  static constexpr std::size_t kTaps = 4;

  struct Taps {
    std::array<int, kTaps> at;
    std::array<float, kTaps> weight;
  };

  static std::vector<Taps> taps_of(int from, int to);
  const float* narrowed(int y) noexcept;

  SamplePlane src_;
  std::vector<Taps> columns_, rows_;
  std::array<std::vector<float>, kTaps> lines_;
  std::array<int, kTaps> line_of_;
};

class ResizedRows {
 public:
  ResizedRows(const SamplePlane& src, int width, int height, ResizeMode mode);

  void row(int y, Sample* out) noexcept {
    std::visit([&](auto& rows) { rows.row(y, out); }, rows_);
  }

 private:
  std::variant<BilinearRows, NearestRows, BicubicRows> rows_;
};

}  // namespace stowage
