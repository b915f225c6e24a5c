// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include "stowage/stowage.h"

NB_MODULE(_native, m) {
  using namespace stowage::python;
  m.doc() = "The compiled half of stowage.";
  m.attr("version") = STOWAGE_VERSION;
  bind_errors(m);
  bind_layout(m);
  bind_convert(m);
  bind_model(m);
}
