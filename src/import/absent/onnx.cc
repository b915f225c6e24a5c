// SPDX-License-Identifier: Apache-2.0
// Stands for the reader of ONNX in libraries that are built without it.
#include "base/text.h"
#include "import/readers.h"

namespace stowage {

namespace {

[[noreturn]] void fail_absent() {
  fail(ErrorCode::unsupported, "this build of the library does not read models of ONNX");
}

}  // namespace

std::shared_ptr<Model> open_onnx(const InputFile&, const Limits&) { fail_absent(); }

}  // namespace stowage
