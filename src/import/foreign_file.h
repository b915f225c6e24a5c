// SPDX-License-Identifier: Apache-2.0
// Files that are no model which is read, but that one knows by their first bytes.
#pragma once

#include "base/file.h"

namespace stowage {

/// Throws Error(unsupported) for a model of another framework, Error(bad_input) for a web page, a
/// pointer of Git LFS, an archive, a picture and the like, and says what to do about it. Returns
/// where the bytes say nothing of the kind.
void refuse_foreign(const InputFile& file);

}  // namespace stowage
