// SPDX-License-Identifier: Apache-2.0
// stowage.pack and stowage.unpack: arrays as ncnn's Mats.
#include "stowage/mat.h"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "convert.h"
#include "stowage/error.h"

namespace stowage::python {
namespace {

namespace nb = nanobind;

/// A Mat of these extents, outermost first, the first counted in scalars: its axes, and how it
/// lies.
Mapping mat_mapping(const Memory& from, std::span<const Extent> extents, std::int64_t scalars,
                    std::int64_t elempack) {
  if (extents.empty() || extents.size() > 4) {
    throw Error(ErrorCode::bad_input,
                "a Mat has 1 to 4 axes, w, (h, w), (c, h, w) or (c, d, h, w), and packed one more "
                "of elempack");
  }
  if (elempack < 1 || elempack > kMaxElempack) {
    throw Error(ErrorCode::usage, "an elempack of " + std::to_string(elempack) +
                                      " is not possible; it is 1 to " +
                                      std::to_string(kMaxElempack));
  }
  MatShape shape;
  shape.dims = static_cast<int>(extents.size());
  shape.elempack = static_cast<int>(elempack);
  const int lane_bytes = dtype_bytes(from.dtype());
  shape.elemsize = static_cast<std::size_t>(lane_bytes) * static_cast<std::size_t>(elempack);
  int* const of_4[] = {&shape.c, &shape.d, &shape.h, &shape.w};
  int* const of_3[] = {&shape.c, &shape.h, &shape.w};
  int* const* const into = extents.size() == 4 ? of_4 : of_3 + (3 - extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t n = i == 0 ? (scalars + elempack - 1) / elempack : extents[i].n;
    if (n > std::numeric_limits<int>::max()) {
      throw Error(ErrorCode::limit,
                  "an extent of " + std::to_string(n) + " is too large for a Mat");
    }
    *into[i] = static_cast<int>(n);
  }
  // Only the header counts; nobody reads the memory.
  std::byte nothing{};
  return Mat::wrap(shape.complete(), &nothing).view(from.dtype(), scalars).mapping;
}

Dims dims_of_shape(const Shape& shape) {
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) dims.emplace_back(shape.axis(i), shape[i]);
  return dims;
}

nb::object pack(nb::handle array, int elempack, bool padding, nb::handle out, int threads) {
  const Memory from(array);
  const std::int64_t scalars = from.extents().empty() ? 1 : from.extents()[0].n;
  const Mapping mat = mat_mapping(from, from.extents(), scalars, elempack);
  if (scalars % elempack != 0 && !padding) {
    throw Error(ErrorCode::usage, "elempack " + std::to_string(elempack) + " does not divide the " +
                                      std::to_string(scalars) +
                                      " scalars of the first axis; padding=True fills the last "
                                      "pack with zeros");
  }
  return convert_array(from,
                       {.src = Layout::row_major(mat.shape()).text(),
                        .dst = mat.layout().text(),
                        .dims = dims_of_shape(mat.shape()),
                        .threads = threads},
                       out);
}

nb::object unpack(nb::handle array, std::optional<std::int64_t> count, nb::handle out,
                  int threads) {
  const Memory from(array);
  if (from.extents().size() < 2) {
    throw Error(ErrorCode::bad_input, "a packed array has 2 axes or more, the last of elempack");
  }
  const std::span<const Extent> extents = from.extents().first(from.extents().size() - 1);
  const std::int64_t elempack = from.extents().back().n;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(extents[0].n, elempack, &all)) {
    throw Error(ErrorCode::limit, "the scalars of the first axis overflow");
  }
  const std::int64_t scalars = count.value_or(all);
  if (scalars > all || scalars <= all - elempack) {
    throw Error(ErrorCode::usage, std::to_string(scalars) + " scalars do not take " +
                                      std::to_string(extents[0].n) + " packs of " +
                                      std::to_string(elempack));
  }
  const Mapping mat = mat_mapping(from, extents, scalars, elempack);
  std::string src = mat.layout().text();
  Dims dims = dims_of_shape(mat.shape());
  if (elempack == 1) {  // the axis of lanes is no digit
    std::vector<Axis> axes(mat.shape().axes().begin(), mat.shape().axes().end());
    axes.emplace_back("lane");
    src = Layout::row_major(axes).text();
  }
  return convert_array(
      from,
      {.src = src, .dst = Layout::row_major(mat.shape()).text(), .dims = dims, .threads = threads},
      out);
}

constexpr const char* kPackDoc = R"(Packs an array as ncnn's convert_packing does.

Parameters
----------
array
    (w,), (h, w), (c, h, w) or (c, d, h, w); the first axis is packed.
elempack : int
    Scalars that lie together, 1 to 64.
padding : bool
    Fills the last pack with zeros where `elempack` does not divide the first axis.
out, threads
    As in `convert`.

Returns
-------
numpy.ndarray
    The first axis counts packs and an axis of `elempack` comes last, but for elempack 1. Planes
    begin where ncnn has them (`cstep`), each 16-byte aligned, so that there may be gaps between.

Raises
------
UsageError
    For an elempack out of range, or one that does not divide the first axis without `padding`.

Examples
--------
>>> import numpy as np, stowage
>>> packed = stowage.pack(np.zeros((8, 5, 5), np.float32), 4)
>>> packed.shape
(2, 5, 5, 4)
>>> stowage.unpack(packed).shape
(8, 5, 5)
)";

constexpr const char* kUnpackDoc = R"(The inverse of `pack`.

Parameters
----------
array
    A packed array, its last axis elempack.
scalars : int, optional
    How many along the packed axis count; without it all of them.
out, threads
    As in `convert`.

Returns
-------
numpy.ndarray
    (w,), (h, w), (c, h, w) or (c, d, h, w).
)";

}  // namespace

void bind_mat(nb::module_& m) {
  m.def("pack", &pack, nb::arg("array").none(), nb::arg("elempack"), nb::kw_only(),
        nb::arg("padding") = false, nb::arg("out").none() = nb::none(), nb::arg("threads") = 1,
        kPackDoc,
        nb::sig("def pack(array: typing.Any, elempack: int, *, padding: bool = False, "
                "out: typing.Any = None, threads: int = 1) -> numpy.typing.NDArray[typing.Any]"));
  m.def("unpack", &unpack, nb::arg("array").none(), nb::arg("scalars").none() = nb::none(),
        nb::kw_only(), nb::arg("out").none() = nb::none(), nb::arg("threads") = 1, kUnpackDoc,
        nb::sig("def unpack(array: typing.Any, scalars: int | None = None, *, "
                "out: typing.Any = None, threads: int = 1) -> numpy.typing.NDArray[typing.Any]"));
}

}  // namespace stowage::python
