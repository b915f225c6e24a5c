// SPDX-License-Identifier: Apache-2.0
// Softmax on a device: rows along texels and across them, made by an item and by a group.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& extents, std::int64_t axis, bool log = false) {
  OpCase c;
  c.op = log ? "log_softmax" : "softmax";
  c.attrs = {{"axis", axis}};
  c.inputs = {{.extents = extents}};
  return c;
}

TEST(DeviceSoftmax, AlongTexels) {
  for (const std::int64_t c : {1, 2, 3, 4, 5, 7, 9, 17, 33}) {
    SCOPED_TRACE(text("channels ", c));
    check_device(op_case({2, 3, c}, -1), "cl_softmax");
  }
  check_device(op_case({2, 5, 3, 2}, 1, true), "cl_softmax", false);
  check_device(op_case({3, 701}, 1), "cl_softmax");
  check_device(op_case({6}, 0), "cl_softmax", false);
}

TEST(DeviceSoftmax, AcrossTexels) {
  check_device(op_case({2, 3, 5}, 1), "cl_softmax");
  check_device(op_case({3, 2, 5}, 0, true), "cl_softmax", false);
  check_device(op_case({2, 131, 5}, 1), "cl_softmax", false);
  check_device(op_case({2, 3, 2, 2, 5}, 2), "cl_softmax", false);
}

TEST(DeviceSoftmax, Flattened) {
  for (const std::int64_t axis : {0, 1, 3}) {
    SCOPED_TRACE(text("axis ", axis));
    OpCase c = op_case({2, 3, 5}, axis, axis == 0);
    c.attrs["flatten"] = std::int64_t{1};
    check_device(c, "cl_softmax", false);
  }
}

/// Also of elements so large that only the difference to the largest has an exponential.
TEST(DeviceSoftmax, ExtremesStayInTheirRow) {
  std::vector<float> x(4 * 6, 90.0f);
  x[3] = NAN;
  x[6] = INFINITY;
  for (std::size_t i = 12; i < 18; ++i) x[i] = -INFINITY;
  x[18] = -INFINITY;
  for (const std::int64_t axis : {1, 0}) {
    OpCase c = op_case({4, 6}, axis);
    c.inputs = {In::of(op_test::floats_tensor({4, 6}, x), false)};
    check_device(c, "cl_softmax", axis == 1);
  }
}

}  // namespace
}  // namespace stowage
