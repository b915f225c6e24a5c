// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel.h"

#include "base/text.h"
#include "kernels/launch.h"

namespace stowage {

KernelCall KernelCall::read(const KernelDef& def, Archive& in) {
  std::shared_ptr<void> params = def.make();
  def.fields(in, params.get());
  KernelCall call;
  call.def_ = &def;
  call.params_ = std::move(params);
  return call;
}

void KernelCall::write(Archive& out) const {
  // A writer changes nothing.
  if (params_ != nullptr) def_->fields(out, const_cast<void*>(params_.get()));
}

Launch KernelCall::launch(const LaunchArgs& args) const {
  return def_->launch(params_.get(), args);
}

std::vector<std::byte> KernelCall::bytes() const {
  std::vector<std::byte> out;
  ByteWriter writer(out);
  write(writer);
  return out;
}

std::string KernelCall::text() const {
  TextWriter writer;
  write(writer);
  return stowage::text(name(), " {", writer.result(), "}");
}

void archive(Archive& a, Layout& layout) {
  std::string text = layout.text();
  a("layout", text);
  if (a.reading()) layout = Layout::parse(text);
}

void archive(Archive& a, Shape& shape) {
  std::vector<std::string> names;
  for (const Axis axis : shape.axes()) names.emplace_back(axis.name());
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  a("axes", names)("extents", extents);
  if (!a.reading()) return;
  std::vector<Axis> axes;
  for (const std::string& name : names) axes.emplace_back(name);
  shape = Shape(axes, extents);
}

void archive(Archive& a, Mapping& mapping) {
  Layout layout = mapping.layout();
  Shape shape = mapping.shape();
  int element_bytes = mapping.element_bytes();
  std::int64_t row_pitch = mapping.row_pitch();
  a("layout", layout)("shape", shape)("element_bytes", element_bytes)("row_pitch", row_pitch);
  if (a.reading()) mapping = Mapping(layout, shape, element_bytes, row_pitch);
}

void archive(Archive& a, std::shared_ptr<const Tensor>& tensor) {
  if (a.begin_list(tensor == nullptr ? 0 : 1) != 0) {
    DType dtype = tensor == nullptr ? DType::f32 : tensor->dtype();
    Mapping mapping = tensor == nullptr ? Mapping() : tensor->mapping();
    a("dtype", dtype)("mapping", mapping);
    const std::size_t bytes = a.begin_list(mapping.bytes());
    if (!a.reading()) {
      // A writer changes nothing.
      a.raw({const_cast<std::byte*>(tensor->data()), bytes});
    } else {
      if (bytes != mapping.bytes()) {
        fail(ErrorCode::bad_input, "a tensor of ", mapping.bytes(), " bytes has ", bytes);
      }
      auto made = std::make_shared<Tensor>(dtype, mapping.shape(), mapping.layout());
      a.raw({made->data(), bytes});
      tensor = std::move(made);
    }
    a.end_list();
  } else if (a.reading()) {
    tensor = nullptr;
  }
  a.end_list();
}

}  // namespace stowage
