// SPDX-License-Identifier: Apache-2.0
// What the bytes of a value are: Format = {Layout, DType, Place}.
#pragma once

#include <cstdint>
#include <deque>

#include "base/archive.h"
#include "stowage/tensor.h"

namespace stowage {

/// Where bytes are: on which device, and in which kind of its memory.
struct Place {
  enum class Memory : std::uint8_t {
    host,    ///< what the CPU addresses
    buffer,  ///< cl_mem, linear
    image,   ///< cl_mem, a 2-D image: the layout has y, x and lane
  };

  int device = 0;  ///< 0: the CPU
  Memory memory = Memory::host;

  friend bool operator==(const Place&, const Place&) = default;

  void fields(Archive& a) { a("device", device)("memory", memory); }
};

/// The type is that of the stored elements. What they mean, a quantised value's scale say, belongs
/// to the value.
struct Format {
  Layout layout;
  DType dtype = DType::f32;
  Place place = {};

  friend bool operator==(const Format&, const Format&) = default;

  Mapping mapping(const Shape& shape) const { return Mapping(layout, shape, dtype_bytes(dtype)); }
};

/// Formats by number, each of them once.
class FormatTable {
 public:
  int intern(const Format& format);

  const Format& operator[](int id) const { return formats_[static_cast<std::size_t>(id)]; }

  int size() const { return static_cast<int>(formats_.size()); }

 private:
  std::deque<Format> formats_;  // references stay valid
};

}  // namespace stowage
