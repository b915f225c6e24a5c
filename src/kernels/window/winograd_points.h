// SPDX-License-Identifier: Apache-2.0
// Winograd's F(M, R), from the points at which it evaluates polynomials: 0, infinity and pairs
// a, -a (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4).
// M results y of R taps g over M + R - 1 elements d are
//   y = At ((G g) . (Bt d))
// Every matrix follows from the polynomials of the other points, which are even but for one factor:
// a row of Bt for a pair is the sum or the difference of an even and an odd part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace stowage {

/// The positive point of each pair, for so many elements. Well spread around 1, so that neither
/// high powers of a large point nor small differences of near ones lose bits.
template <int Size>
inline constexpr std::array<double, Size / 2 - 1> kWinogradPoints = {};
template <>
inline constexpr std::array<double, 1> kWinogradPoints<4> = {1};
template <>
inline constexpr std::array<double, 2> kWinogradPoints<6> = {1, 2};
template <>
inline constexpr std::array<double, 3> kWinogradPoints<8> = {1, 2, 0.5};

/// Bt, of so many elements: how many of them are results makes no difference.
template <int Size>
struct WinogradPolynomials {
  static constexpr std::size_t kPairs = Size / 2 - 1;

  /// Of x^(2k) in the product over all pairs of x^2 - a^2: row 0 of Bt over d[2k], the last row
  /// over d[2k + 1]; the highest is 1.
  std::array<double, kPairs + 1> all = {};
  /// Likewise without pair i. Rows 1 + 2i and 2 + 2i of Bt are even + odd and even - odd, with
  /// others[i][k] over d[2k + 2] and a others[i][k] over d[2k + 1].
  std::array<std::array<double, kPairs>, kPairs> others = {};
  /// The derivative of the product over all points, 0 too, at a and at -a of pair i.
  std::array<double, kPairs> slopes = {};

  constexpr WinogradPolynomials() {
    constexpr auto& points = kWinogradPoints<Size>;
    all[0] = 1;
    for (std::size_t i = 0; i < kPairs; ++i) {
      for (std::size_t k = i + 2; k-- > 0;) {
        all[k] = (k > 0 ? all[k - 1] : 0) - points[i] * points[i] * all[k];
      }
    }
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double a = points[i];
      slopes[i] = 2 * a * a;
      others[i][0] = 1;
      std::size_t degree = 0;
      for (std::size_t j = 0; j < kPairs; ++j) {
        if (j == i) continue;
        const double square = points[j] * points[j];
        slopes[i] *= a * a - square;
        ++degree;
        for (std::size_t k = degree + 1; k-- > 0;) {
          others[i][k] = (k > 0 ? others[i][k - 1] : 0) - square * others[i][k];
        }
      }
    }
  }
};

template <int Size>
inline constexpr WinogradPolynomials<Size> kWinogradInput;

/// At and G.
template <int M, int R>
struct WinogradMatrices {
  static constexpr std::size_t kSize = M + R - 1, kPairs = kSize / 2 - 1, kMost = std::max(M, R);

  /// Columns 1 + 2i and 2 + 2i of At are the powers of a and -a; the first column takes part in
  /// result 0 alone, the last in result M - 1.
  std::array<std::array<double, M>, kPairs> powers = {};
  std::array<std::array<double, R>, kSize> taps = {};  ///< G

  constexpr WinogradMatrices() {
    constexpr auto& input = kWinogradInput<kSize>;
    taps[0][0] = 1 / input.all[0];
    taps[kSize - 1][R - 1] = 1;
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double a = kWinogradPoints<kSize>[i];
      double power = 1;
      for (std::size_t k = 0; k < kMost; ++k, power *= a) {
        if (k < M) powers[i][k] = power;
        if (k >= R) continue;
        taps[1 + 2 * i][k] = power / input.slopes[i];
        taps[2 + 2 * i][k] = (k % 2 == 0 ? power : -power) / input.slopes[i];
      }
    }
  }
};

template <int M, int R>
inline constexpr WinogradMatrices<M, R> kWinograd;

}  // namespace stowage
