// SPDX-License-Identifier: Apache-2.0
// Memory of Python objects: numpy arrays, buffers, DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stowage/tensor.h"

namespace stowage::python {

/// A Python object seen as memory: numpy array, buffer, DLPack. `owner` keeps it alive.
struct ArrayView {
  TensorView view;
  nanobind::object owner;
  bool writable;

  MutableTensorView mutable_view() const {
    return {view.dtype, view.mapping, const_cast<std::byte*>(view.data)};
  }
};

/// The array that the object holds, in place. `axes` names its axes by one letter each, such as
/// "nhwc", or is empty: then they are a, b, c, ... An array whose elements the layout algebra
/// cannot place (negative strides, repeated, overlapping or interleaved elements, strides that are
/// no multiple of an element) is copied once. `as` bf16 reads numpy's uint16. Throws Error(usage)
/// for an object without memory, Error(bad_input) for axes that do not fit, Error(unsupported) for
/// another byte order, dtype or device, Error(limit) for a copy of more than kMostCopiedBytes.
ArrayView read_array(nanobind::handle object, std::string_view axes = {},
                     std::optional<DType> as = {});

/// The same for an array that is to be written, which is never copied. Throws as read_array and
/// Error(usage) where it is read-only or would have to be copied.
ArrayView write_array(nanobind::handle object, std::string_view axes = {},
                      std::optional<DType> as = {});

/// A numpy array that owns its memory, of unspecified contents. bf16 is ml_dtypes.bfloat16 where
/// that can be imported, else uint16. Throws Error(limit) when there is no memory.
nanobind::object new_array(DType dtype, const Shape& shape);

/// What a copy may take.
inline constexpr std::size_t kMostCopiedBytes = std::size_t{1} << 30;

/// From "f32", "float32", numpy.float32 or numpy.dtype. Throws Error(usage) for other names.
DType dtype_of(nanobind::handle object);

/// Extents and strides of an array, row-major in the order of its axes; strides in bytes.
struct Extent {
  std::int64_t n = 1;
  std::int64_t stride = 0;
};

/// What read_array and write_array are made of: memory as its owner describes it.
class Memory {
 public:
  /// Throws as read_array, but copies nothing.
  explicit Memory(nanobind::handle object, std::optional<DType> as = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  DType dtype() const noexcept { return dtype_; }

  std::byte* data() const noexcept { return data_; }

  bool writable() const noexcept { return writable_; }

  std::span<const Extent> extents() const noexcept { return {extents_.data(), rank_}; }

  std::int64_t elements() const noexcept;

  /// Several indices are the same element.
  bool repeats() const noexcept;

  /// Row-major without gaps.
  bool dense() const noexcept;

  /// First and one past the last byte that elements take.
  std::array<const std::byte*, 2> range() const noexcept;

  /// The elements in row-major order, `elements() * dtype_bytes(dtype())` bytes.
  void gather(std::byte* to) const;

  /// The opposite: `from` is read, the elements are written.
  void scatter(std::byte* from) const;

  /// An object that keeps the memory alive; this one then borrows it.
  nanobind::object give_owner();

 private:
  static constexpr std::size_t kMostAxes = 64;

  struct Owner;

  bool read_buffer(nanobind::handle object);
  void read_numpy_bfloat16(nanobind::handle object);
  void read_dlpack(nanobind::handle object);

  DType dtype_ = DType::f32;
  std::byte* data_ = nullptr;
  bool writable_ = false;
  std::size_t rank_ = 0;
  std::array<Extent, kMostAxes> extents_{};
  Owner* owner_ = nullptr;
};

/// A factor of a layout, as it is written, and where its indices lie: `stride` in elements.
struct Placed {
  std::string_view factor;
  std::int64_t n;
  std::int64_t stride;
};

/// The layout in linear memory whose digits lie so, with gaps where the strides leave some; none
/// where no layout does. The factors are those of complete axes.
std::optional<Layout> placed_layout(std::span<const Placed> factors);

/// Throws Error(limit) for more than kMostCopiedBytes.
void expect_copy(const Memory& memory);

/// Imports numpy; called once, before anything else here.
void find_numpy();

/// numpy's type for it: see new_array.
nanobind::object numpy_dtype(DType dtype);

/// As above, of any extents; `zero`: zeros.
nanobind::object new_array(DType dtype, std::span<const std::int64_t> extents, bool zero);

}  // namespace stowage::python
