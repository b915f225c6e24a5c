// SPDX-License-Identifier: Apache-2.0
#include "stowage/error.h"

#include <nanobind/stl/string.h>

#include "module.h"

namespace stowage::python {

namespace nb = nanobind;

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      const nb::object type =
          nb::module_::import_("stowage._errors").attr("class_of")(static_cast<int>(e.code()));
      const nb::object error = type(e.sentence(), e.trail());
      PyErr_SetObject(type.ptr(), error.ptr());
    }
  });
}

}  // namespace stowage::python
