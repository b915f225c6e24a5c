// SPDX-License-Identifier: Apache-2.0
// Conversions of Python arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "layout.h"

namespace stowage::python {

/// What a caller asks for, apart from the arrays.
struct Request {
  std::string src, dst;  ///< layouts
  Dims dims = {};        ///< extents that do not follow from the array
  std::optional<DType> dtype = {};
  std::vector<float> mean = {}, scale = {};
  int threads = 1;
};

/// `out`, or a new array where that is None. Conversions are kept compiled. Throws what
/// stowage.convert does.
nanobind::object convert_array(const Memory& from, const Request& request, nanobind::handle out);

/// pack, unpack.
void bind_mat(nanobind::module_& m);

}  // namespace stowage::python
