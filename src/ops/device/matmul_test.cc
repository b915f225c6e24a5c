// SPDX-License-Identifier: Apache-2.0
// Batches of matrix products on a device.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& a, const Ints& b, bool constant = false) {
  OpCase c;
  c.op = "matmul";
  c.inputs = {{.extents = a}, {.extents = b, .constant = constant}};
  c.rtol = c.atol = 1e-4;
  return c;
}

TEST(DeviceMatMul, Batches) {
  const struct {
    Ints a, b;
    bool half;
  } cases[] = {
      {{5, 7}, {7, 9}, true},
      {{1, 4}, {4, 1}, false},
      {{3, 5, 6}, {6, 10}, false},
      {{5, 6}, {3, 6, 10}, false},
      {{2, 3, 5, 6}, {2, 3, 6, 7}, true},
      {{2, 1, 5, 33}, {1, 3, 33, 7}, false},
      {{1, 3, 5, 17}, {2, 3, 17, 4}, false},
      {{2, 3, 2, 4, 3}, {1, 2, 3, 5}, false},
      {{2, 1, 3, 2, 4, 3}, {2, 2, 1, 1, 3, 5}, false},
  };

  for (const auto& c : cases) {
    SCOPED_TRACE(text(std::span(c.a), " times ", std::span(c.b)));
    check_device(op_case(c.a, c.b), "cl_gemm", c.half);
  }
}

TEST(DeviceMatMul, LongSumsAndManyRows) {
  check_device(op_case({2, 3, 259}, {2, 259, 13}), "cl_gemm", false);
  check_device(op_case({3, 90, 5}, {5, 3001}, true), "cl_gemm", false);
}

TEST(DeviceMatMul, BiasAndPosts) {
  OpCase c = op_case({2, 5, 9}, {9, 11}, true);
  c.inputs.push_back({.extents = {11}, .constant = true});
  const auto cases = op_test::with_post_lists(c, {2, 5, 11}, {1, 1, 11});
  for (const std::size_t i : {std::size_t{6}, std::size_t{8}, std::size_t{12}}) {
    SCOPED_TRACE(text_of(cases[i].posts));
    check_device(cases[i], "cl_gemm", false);
  }
}

}  // namespace
}  // namespace stowage
