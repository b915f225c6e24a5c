// SPDX-License-Identifier: Apache-2.0
// Which formats a device can have.
#include "graph/op_def.h"
#include "kernels/accessors.h"

namespace stowage {

std::optional<Operand> DeviceTarget::operand(const Value& value, const Layout& layout) const {
  const bool byte = value.dtype == DType::u8 || value.dtype == DType::i8;
  if (value.dtype != DType::f32 && !byte) return std::nullopt;
  const DType stored = byte ? value.dtype : store;
  Operand operand = layout;
  operand.dtype = stored;
  LaunchView view{operand.format(value).mapping(value.shape), stored, Place::Memory::image};
  const auto lies_in = [&](Place::Memory where) {
    view.memory = where;
    operand.place = {1, where};
    return has_accessors(view);
  };
  const Mapping& m = view.mapping;
  if (m.cells() == 0 || m.bytes() > static_cast<std::size_t>(facts.allocation_bytes)) {
    return std::nullopt;
  }
  const bool fits = memory != DeviceOptions::Memory::buffer && facts.images &&
                    m.layout().is_image() && m.extent(Space::x) <= facts.image_width &&
                    m.extent(Space::y) <= facts.image_height;
  if (fits && lies_in(Place::Memory::image)) return operand;
  if (lies_in(Place::Memory::buffer)) return operand;
  return std::nullopt;
}

}  // namespace stowage
