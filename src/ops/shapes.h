// SPDX-License-Identifier: Apache-2.0
// Extents, strides and axes as the shape rules and references of operators use them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "base/numbers.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"

namespace stowage {

/// Text as a template argument.
template <std::size_t N>
struct FixedString {
  constexpr FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }

  char text[N]{};
};

template <FixedString Format, FixedString Type, void (*Import)(ImportNode&)>
struct Foreign {
  static constexpr ForeignName name = {std::string_view(Format.text), std::string_view(Type.text),
                                       Import};
};

template <FixedString Type, void (*Import)(ImportNode&) = nullptr>
using Onnx = Foreign<"onnx", Type, Import>;
template <FixedString Type, void (*Import)(ImportNode&) = nullptr>
using Tflite = Foreign<"tflite", Type, Import>;
template <FixedString Type, void (*Import)(ImportNode&) = nullptr>
using Ncnn = Foreign<"ncnn", Type, Import>;

/// named<Onnx<"Relu">, Tflite<"RELU">>: the aliases of an operator.
template <class... Names>
inline constexpr ForeignName named[] = {Names::name...};

/// onnx<"Relu">: the aliases of an operator that only ONNX knows, by one name.
template <FixedString Type, void (*Import)(ImportNode&) = nullptr>
inline constexpr const auto& onnx = named<Onnx<Type, Import>>;

inline Ints extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

/// first, first + 1, ..., rank - 1
inline Ints axes_from(int first, int rank) {
  Ints axes;
  for (int i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

inline bool same_extents(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.extents(), b.extents());
}

/// Strides of a row-major tensor, in elements.
inline Ints row_major_strides(std::span<const std::int64_t> extents) {
  // A shape without elements may have extents whose product wraps; nobody uses its strides.
  Ints strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) {
    strides[i - 1] = static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) *
                                               static_cast<std::uint64_t>(extents[i]));
  }
  return strides;
}

/// Product of extents [from, to).
inline std::int64_t product(std::span<const std::int64_t> extents, int from, int to) {
  std::int64_t out = 1;
  for (int i = from; i < to; ++i) out = checked_mul(out, extents[at(i)]);
  return out;
}

/// numpy's rule: aligned on the right, an extent of 1 stretches. Throws Error(bad_input).
inline Ints broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Ints out(std::max(a.size(), b.size()));
  for (std::size_t k = 1; k <= out.size(); ++k) {
    const std::int64_t x = k <= a.size() ? a[a.size() - k] : 1;
    const std::int64_t y = k <= b.size() ? b[b.size() - k] : 1;
    if (x != y && x != 1 && y != 1) {
      fail(ErrorCode::bad_input, "shapes ", a, " and ", b, " do not broadcast");
    }
    out[out.size() - k] = x == 1 ? y : x;
  }
  return out;
}

/// Strides of a row-major tensor seen under a shape that it broadcasts to: 0 where it stretches.
inline Ints broadcast_strides(const Shape& in, const Shape& out) {
  const Ints own = row_major_strides(in.extents());
  Ints strides(at(out.rank()), 0);
  const int shift = out.rank() - in.rank();
  for (int i = 0; i < in.rank(); ++i) {
    if (in[i] != 1) strides[at(i + shift)] = own[at(i)];
  }
  return strides;
}

/// Walks a row-major index space and keeps N linear offsets with strides of their own.
template <std::size_t N>
class Walk {
 public:
  Walk(std::span<const std::int64_t> extents, const std::array<Ints, N>& strides)
      : extents_(extents.begin(), extents.end()), strides_(strides), index_(extents.size(), 0) {}

  std::int64_t offset(std::size_t k) const { return offset_[k]; }

  const Ints& index() const { return index_; }

  void next() {
    for (std::size_t i = extents_.size(); i-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offset_[k] += strides_[k][i];
      if (++index_[i] < extents_[i]) return;
      for (std::size_t k = 0; k < N; ++k) offset_[k] -= strides_[k][i] * extents_[i];
      index_[i] = 0;
    }
  }

 private:
  Ints extents_;
  std::array<Ints, N> strides_;
  Ints index_;
  std::array<std::int64_t, N> offset_{};
};

/// Each into [0, rank), sorted. Throws Error(bad_input) when one is out of range or repeated.
inline Ints normal_axes(const Ints& axes, int rank) {
  Ints out;
  for (std::int64_t a : axes) out.push_back(normal_axis(a, rank));
  std::ranges::sort(out);
  if (const auto twice = std::ranges::adjacent_find(out); twice != out.end()) {
    fail(ErrorCode::bad_input, "axis ", *twice, " is named twice");
  }
  return out;
}

/// OpDef::parameters of an operator with one.
template <int Input, FixedString Attribute>
inline constexpr Parameter parameter[] = {{Input, Attribute.text}};

/// Output 0 has no elements. Extents beside the 0 may be absurd: do not loop over them.
inline bool no_elements(const ReferenceArgs& args) {
  return args.out[0].mapping.shape().elements() == 0;
}

inline void expect_rank(const NodeRef& node, int input, int lo, int hi = kMaxRank) {
  const int rank = node.rank(input);
  if (rank < lo || rank > hi) {
    fail(ErrorCode::bad_input, "input ", input, " has rank ", rank, ", expected ", lo,
         lo == hi ? text() : text(" to ", hi));
  }
}

/// A layout may leave out axes of extent 1; the same layout of another shape may not.
inline bool places(const Layout& layout, const Shape& shape) {
  const std::vector<Axis> axes = layout.axes();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && std::ranges::find(axes, shape.axis(i)) == axes.end()) return false;
  }
  return true;
}

/// Axes hook: every input axis is the output axis of the same position.
inline void link_positions(const NodeRef& node, AxisLinks& links) {
  for (ValueId in : node.node().inputs) {
    for (ValueId out : node.node().outputs) {
      if (in == kNoValue || out == kNoValue) continue;
      const int rank = node.graph().value(out).shape.rank();
      if (node.graph().value(in).shape.rank() != rank) continue;
      for (int k = 0; k < rank; ++k) links.link(in, k, out, k);
    }
  }
}

/// Axes hook: no axis of an output is one of an input.
inline void link_nothing(const NodeRef&, AxisLinks&) {}

/// Names n, c, spatial... of values of rank 4 (n c h w), 3 (n c w) and 5 (n c d h w).
inline void name_image_axes(const NodeRef& node, ValueId value, AxisLinks& links) {
  const int rank = node.graph().value(value).shape.rank();
  const std::string_view names = rank == 4 ? "nchw" : rank == 3 ? "ncw" : rank == 5 ? "ncdhw" : "";
  for (std::size_t k = 0; k < names.size(); ++k) {
    links.name(value, static_cast<int>(k), names.substr(k, 1));
  }
}

/// Axes hook: input 0 and output 0 are images.
inline void link_images(const NodeRef& node, AxisLinks& links) {
  const ValueId in = node.node().inputs[0], out = node.node().outputs[0];
  name_image_axes(node, in, links);
  name_image_axes(node, out, links);
  const int rank = node.rank(0);
  if (rank != node.output().shape.rank()) return;
  for (int k = 0; k < rank; ++k) links.link(in, k, out, k);
}

}  // namespace stowage
