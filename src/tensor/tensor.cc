// SPDX-License-Identifier: Apache-2.0
#include "stowage/tensor.h"

#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/text.h"

namespace stowage {

namespace {

void expect_size(DType dtype, const Mapping& mapping) {
  if (mapping.element_bytes() != dtype_bytes(dtype)) {
    fail(ErrorCode::usage, "a view of ", dtype_name(dtype), " over elements of ",
         mapping.element_bytes(), " bytes");
  }
}

}  // namespace

TensorView::TensorView(DType type, const Mapping& bound, const void* bytes)
    : dtype(type), mapping(bound), data(static_cast<const std::byte*>(bytes)) {
  expect_size(dtype, mapping);
}

TensorView::TensorView(DType type, const Shape& shape, const Layout& layout, const void* bytes)
    : TensorView(type, Mapping(layout, shape, dtype_bytes(type)), bytes) {}

MutableTensorView::MutableTensorView(DType type, const Mapping& bound, void* bytes)
    : dtype(type), mapping(bound), data(static_cast<std::byte*>(bytes)) {
  expect_size(dtype, mapping);
}

MutableTensorView::MutableTensorView(DType type, const Shape& shape, const Layout& layout,
                                     void* bytes)
    : MutableTensorView(type, Mapping(layout, shape, dtype_bytes(type)), bytes) {}

void Tensor::expect_element_bytes(std::size_t bytes) const {
  if (bytes != static_cast<std::size_t>(dtype_bytes(dtype_))) {
    fail(ErrorCode::usage, "elements of ", bytes, " bytes asked of a tensor of ",
         dtype_name(dtype_));
  }
}

void Tensor::Free::operator()(std::byte* p) const noexcept { std::free(p); }

Tensor::Tensor() : Tensor(DType::f32, Shape("a", {0})) {}

Tensor::Tensor(DType dtype, const Shape& shape) : Tensor(dtype, shape, Layout::row_major(shape)) {}

Tensor::Tensor(DType dtype, const Shape& shape, const Layout& layout)
    : dtype_(dtype),
      mapping_(layout, shape, dtype_bytes(dtype)),
      data_(allocate_zeroed(mapping_.bytes() + kVectorSlack)) {}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_),
      mapping_(other.mapping_),
      data_(allocate_zeroed(other.bytes() + kVectorSlack)) {
  std::memcpy(data_.get(), other.data_.get(), bytes());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

void Tensor::reshape(const Shape& shape) {
  const bool row_major = mapping_.bijective() && layout() == Layout::row_major(this->shape());
  if (!row_major || shape.elements() != this->shape().elements()) {
    fail(ErrorCode::usage, "cannot view ", this->shape().text(), " in layout ", layout().text(),
         " as ", shape.text());
  }
  mapping_ = Mapping(Layout::row_major(shape), shape, dtype_bytes(dtype_));
}

}  // namespace stowage
