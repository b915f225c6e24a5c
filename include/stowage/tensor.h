// SPDX-License-Identifier: Apache-2.0
// Tensor owns bytes, TensorView borrows them; both know shape and layout.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "stowage/layout.h"

namespace stowage {

/// Borrowed bytes that are read, with the mapping that gives them meaning. `data` points at cell 0.
struct TensorView {
  /// Throws Error(usage) when the mapping's elements are not of the dtype's size.
  TensorView(DType dtype, const Mapping& mapping, const void* data);
  /// Binds the layout to the shape; throws what Mapping throws.
  TensorView(DType dtype, const Shape& shape, const Layout& layout, const void* data);

  DType dtype;
  Mapping mapping;
  const std::byte* data;
};

/// Borrowed bytes that are written.
struct MutableTensorView {
  MutableTensorView(DType dtype, const Mapping& mapping, void* data);
  MutableTensorView(DType dtype, const Shape& shape, const Layout& layout, void* data);

  explicit operator TensorView() const { return {dtype, mapping, data}; }

  DType dtype;
  Mapping mapping;
  std::byte* data;
};

/// Owned bytes, 64-byte aligned, with room for one full vector behind the last cell.
class Tensor {
 public:
  /// An empty f32 tensor of no elements.
  Tensor();
  /// Zero-filled. Throws Error(limit) when the bytes cannot be allocated.
  Tensor(DType dtype, const Shape& shape, const Layout& layout);
  /// Row-major.
  Tensor(DType dtype, const Shape& shape);

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);

  DType dtype() const noexcept { return dtype_; }

  const Mapping& mapping() const noexcept { return mapping_; }

  const Shape& shape() const noexcept { return mapping_.shape(); }

  const Layout& layout() const noexcept { return mapping_.layout(); }

  std::size_t bytes() const noexcept { return mapping_.bytes(); }

  std::byte* data() noexcept { return data_.get(); }

  const std::byte* data() const noexcept { return data_.get(); }

  /// The cells as T. Throws Error(usage) unless T has the size of the dtype.
  template <class T>
  std::span<T> as() {
    expect_element_bytes(sizeof(T));
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(mapping_.cells())};
  }

  template <class T>
  std::span<const T> as() const {
    expect_element_bytes(sizeof(T));
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(mapping_.cells())};
  }

  TensorView view() const { return {dtype_, mapping_, data_.get()}; }

  MutableTensorView mutable_view() { return {dtype_, mapping_, data_.get()}; }

  /// The same bytes under another shape of as many elements, row-major on both sides.
  /// Throws Error(usage) otherwise.
  void reshape(const Shape& shape);

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };

  void expect_element_bytes(std::size_t bytes) const;

  DType dtype_ = DType::f32;
  Mapping mapping_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace stowage
