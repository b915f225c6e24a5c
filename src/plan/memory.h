// SPDX-License-Identifier: Apache-2.0
// Where everything lies that is not constant: the arena of the host, the buffers and the images of
// the device.
#pragma once

#include "plan/plan.h"

namespace stowage::plan {

/// Gives every slot its offset or image, and every step its scratch; lets parts and in-place
/// results lie where they belong, and drops the views that cannot.
void lay_out(Plan& plan);

}  // namespace stowage::plan
