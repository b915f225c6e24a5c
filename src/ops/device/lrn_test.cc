// SPDX-License-Identifier: Apache-2.0
// Local response normalisation on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& x, std::int64_t size) {
  return {.op = "lrn",
          .attrs = {{"size", size}, {"alpha", 0.5f}, {"beta", 0.6f}, {"bias", 1.5f}},
          .inputs = {{.extents = x}}};
}

TEST(DeviceLrn, MatchesTheReference) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    for (const std::int64_t size : {1, 2, 5, 8, 41}) {
      check_device(op_case({2, channels, 3, 5}, size), "cl_lrn", size == 5);
    }
  }
  check_device(op_case({2, 7, 5}, 3), "cl_lrn", false);
  check_device(op_case({3, 9}, 4), "cl_lrn", false);
}

TEST(DeviceLrn, NanReachesItsWindowAlone) {
  OpCase c = op_case({1, 11, 2, 3}, 3);
  std::vector<float> x(11 * 2 * 3, 1.0f);
  x[4 * 6 + 1] = NAN;
  c.inputs[0] = In::of(op_test::floats_tensor({1, 11, 2, 3}, x), false);
  check_device(c, "cl_lrn");
}

}  // namespace
}  // namespace stowage
