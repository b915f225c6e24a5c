// SPDX-License-Identifier: Apache-2.0
// concat and split: the same cuts of one axis, in either direction.
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer_concat(const NodeRef& node) {
  node.expect_inputs(1, 1 << 20);
  Ints out = extents_of(node.shape(0));
  if (out.empty()) fail(ErrorCode::bad_input, "scalars cannot be concatenated");
  const int axis = normal_axis(node.attrs().integer("axis", 1), node.rank(0));
  node.attrs().set("axis", std::int64_t{axis});
  for (int i = 1; i < node.input_count(); ++i) {
    const Shape& shape = node.shape(i);
    bool fits = shape.rank() == node.rank(0) && node.dtype(i) == node.dtype(0);
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == axis || shape[k] == out[at(k)];
    if (!fits) {
      fail(ErrorCode::bad_input, "input ", i, " (", dtype_name(node.dtype(i)), " ", shape.extents(),
           ") does not fit to input 0 (", dtype_name(node.dtype(0)), " ", node.shape(0).extents(),
           ") along axis ", axis);
    }
    out[at(axis)] = checked_add(out[at(axis)], shape[axis]);
  }
  node.set_output(0, node.dtype(0), out);
}

/// Equal parts unless `split` or input 1 says otherwise; the last part may be smaller only when
/// `num_outputs` asks for it.
void infer_split(const NodeRef& node) {
  node.expect_inputs(1, 2);
  expect_rank(node, 0, 1);
  const int axis = normal_axis(node.attrs().integer("axis", 0), node.rank(0));
  node.attrs().set("axis", std::int64_t{axis});
  const std::int64_t extent = node.shape(0)[axis];
  const auto parts = static_cast<std::int64_t>(node.output_count());
  std::optional<Ints> split = take_ints(node, "split", 1);
  if (!split) {
    const std::int64_t wanted = node.attrs().integer("num_outputs", parts);
    if (wanted != parts) {
      fail(ErrorCode::bad_input, "num_outputs is ", wanted, ", but it has ", parts, " outputs");
    }
    if (extent % parts != 0 && !node.attrs().has("num_outputs")) {
      fail(ErrorCode::bad_input, extent, " elements do not split into ", parts, " equal parts");
    }
    const std::int64_t part = ceil_div(extent, parts);
    split.emplace();
    for (std::int64_t i = 0; i < parts; ++i) {
      split->push_back(std::clamp<std::int64_t>(extent - i * part, 0, part));
    }
    node.attrs().set("split", *split);
  }
  keep_inputs(node, 1);
  std::int64_t sum = 0;
  for (std::int64_t s : *split) {
    if (s < 0) fail(ErrorCode::bad_input, "a part has ", s, " elements");
    sum = checked_add(sum, s);
  }
  if (static_cast<std::int64_t>(split->size()) != parts || sum != extent) {
    fail(ErrorCode::bad_input, "parts ", std::span<const std::int64_t>(*split), " do not fill ",
         parts, " outputs with ", extent, " elements");
  }
  Ints out = extents_of(node.shape(0));
  for (std::int64_t i = 0; i < parts; ++i) {
    out[at(axis)] = (*split)[at(i)];
    node.set_output(static_cast<int>(i), node.dtype(0), out);
  }
}

/// Copies between the whole and its parts, all row-major.
template <bool Split>
void reference(const ReferenceArgs& args) {
  const auto& parts = Split ? args.out : args.in;
  const TensorView& whole = Split ? args.in[0] : args.out[0];
  const Shape& shape = whole.mapping.shape();
  if (shape.elements() == 0) return;
  const auto axis = static_cast<int>(args.node.attrs().integer("axis", 0));
  const std::int64_t outer = product(shape.extents(), 0, axis);
  const std::int64_t inner =
      product(shape.extents(), axis + 1, shape.rank()) * dtype_bytes(whole.dtype);
  std::int64_t begin = 0;
  const Ints split = args.node.attrs().integers("split");
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::int64_t count = Split ? split[p] : parts[p].mapping.shape()[axis];
    for (std::int64_t o = 0; o < outer && parts[p].data != nullptr; ++o) {
      std::byte* piece = parts[p].data + o * count * inner;
      std::byte* place = whole.data + (o * shape[axis] + begin) * inner;
      if (Split) {
        std::copy_n(place, count * inner, piece);
      } else {
        std::copy_n(piece, count * inner, place);
      }
    }
    begin += count;
  }
}

constexpr OpDef kConcat[] = {
    {.name = "concat",
     .aliases = onnx<"Concat">,
     .category = Category::transposable,
     .infer = infer_concat,
     .reference = reference<false>,
     .axes = link_positions},
    {.name = "split",
     .aliases = onnx<"Split">,
     .category = Category::transposable,
     .infer = infer_split,
     .reference = reference<true>,
     .axes = link_positions},
};

}  // namespace

extern const std::span<const OpDef> ops_concat;
const std::span<const OpDef> ops_concat = kConcat;

}  // namespace stowage
