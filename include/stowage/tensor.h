// SPDX-License-Identifier: Apache-2.0
// Tensor owns bytes, TensorView borrows them; both know shape and layout.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "stowage/layout.h"

namespace stowage {

/// Borrowed bytes with the mapping that gives them meaning. `data` may be const in spirit:
/// functions that only read take `const TensorView&`.
struct TensorView {
  DType dtype = DType::f32;
  Mapping mapping;
  std::byte* data = nullptr;
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

  /// The cells as T; T must have the size of the dtype.
  template <class T>
  std::span<T> as() noexcept {
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(mapping_.cells())};
  }

  template <class T>
  std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(mapping_.cells())};
  }

  TensorView view() const noexcept {
    return {dtype_, mapping_, const_cast<std::byte*>(data_.get())};
  }

  /// The same bytes under another shape of as many elements, row-major on both sides.
  /// Throws Error(usage) otherwise.
  void reshape(const Shape& shape);

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };

  DType dtype_ = DType::f32;
  Mapping mapping_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace stowage
