// SPDX-License-Identifier: Apache-2.0
// Convolutions of stride 1 by Winograd's method: for strips of tiles, the transform of the input, a
// pixel_gemm for each place of a tile, and the transform of the products with bias and posts. A
// tile of F(m, r) along an axis has m results of r taps over m + r - 1 places: of F(4 x 4, 3 x 3)
// 36 products make 16 results instead of 144. Where taps are d pixels apart, so are the pixels of a
// tile, and d x d of them lie inside one another. Taps along the first of three axes are summed up
// in the products, whatever their stride.
// The filters are computed when the kernel is bound.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "kernels/kernel.h"
#include "kernels/window/conv.h"

namespace stowage {

/// Weights, input 1, are a constant in winograd_weights_layout.
struct WinogradParams {
  ConvFacts facts;  ///< for which winograd_fits
  ConvEnds variant;
  int bias = -1;  ///< the input
  Posts posts;
  int threads = 1;

  void fields(Archive& a) {
    a("facts", facts)("variant", variant)("bias", bias)("posts", posts)("threads", threads);
  }
};

struct WinogradAxis {
  int results = 1, taps = 1;

  constexpr int size() const { return results + taps - 1; }

  bool operator==(const WinogradAxis&) const = default;
};

/// F(y.results x x.results, y.taps x x.taps), of the two last spatial axes.
struct WinogradForm {
  WinogradAxis y, x;

  constexpr int places() const { return y.size() * x.size(); }

  bool operator==(const WinogradForm&) const = default;
};

inline constexpr WinogradForm kWinogradForms[] = {
    {{2, 3}, {2, 3}}, {{4, 3}, {4, 3}}, {{6, 3}, {6, 3}}, {{2, 5}, {2, 5}}, {{4, 5}, {4, 5}},
    {{2, 7}, {2, 7}}, {{1, 1}, {4, 3}}, {{1, 1}, {6, 3}}, {{1, 1}, {4, 5}}, {{1, 1}, {2, 7}},
    {{4, 3}, {1, 1}}, {{6, 3}, {1, 1}}, {{4, 5}, {1, 1}}, {{2, 7}, {1, 1}}};

/// Calls f with the index of the form, as a type.
template <class F, std::size_t... I>
void with_form(const WinogradForm& form, F f, std::index_sequence<I...>) {
  ((form == kWinogradForms[I] ? f(std::integral_constant<std::size_t, I>()) : void()), ...);
}

template <class F>
void with_form(const WinogradForm& form, F f) {
  with_form(form, f, std::make_index_sequence<std::size(kWinogradForms)>());
}

inline constexpr int kWinogradMostTaps = 7;  ///< along an axis, the first too

/// How far a result is off at most, relative to the largest of its layer, for data without a
/// direction. Three times what was measured (docs/performance.md), for as many input channels as
/// winograd_fits takes.
inline constexpr double kWinogradError = 1e-4;

/// A row for each form.
extern const std::array<KernelDef, std::size(kWinogradForms)> kWinogradKernels;

/// Taps of that form that touch or are not so far apart that a tile has one result, one group, and
/// no more input channels than the error allows, which grows with the places and with the square
/// root of their number.
bool winograd_fits(const ConvFacts& facts, const WinogradForm& form) noexcept;

Layout winograd_weights_layout(const Shape& shape);

/// What an offer says of it, see Offer.
struct WinogradWork {
  double flops = 0, efficiency = 1, extra_bytes = 0;
  std::size_t scratch_bytes = 0;
};

WinogradWork winograd_work(const WinogradParams& params, const WinogradForm& form);

}  // namespace stowage
