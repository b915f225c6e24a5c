// SPDX-License-Identifier: Apache-2.0
// Reductions on a device: texels of the input may join or stay, those of the result lie along what
// stays.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const char* op, const Ints& extents, const Ints& axes, bool keep) {
  OpCase c;
  c.op = op;
  c.attrs = {{"axes", axes}, {"keepdims", std::int64_t{keep}}};
  c.inputs = {{.extents = extents}};
  return c;
}

TEST(DeviceReduce, AxesThatJoin) {
  const struct {
    Ints axes;
    bool keep;
  } cases[] = {{{3}, true},  {{2}, true},     {{1, 3}, true},  {{0, 2}, true},       {{3}, false},
               {{2}, false}, {{1, 2}, false}, {{1, 3}, false}, {{0, 1, 2, 3}, false}};

  for (const auto& c : cases) {
    SCOPED_TRACE(text("axes ", std::span(c.axes), c.keep ? " kept" : ""));
    check_device(op_case("reduce_mean", {2, 3, 5, 7}, c.axes, c.keep), "cl_reduce", false);
  }
}

TEST(DeviceReduce, EdgesOfTexels) {
  for (const std::int64_t c : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    SCOPED_TRACE(text("extent ", c));
    check_device(op_case("reduce_max", {2, 3, c}, {2}, true), "cl_reduce");
    check_device(op_case("reduce_sum", {2, c, 5}, {2}, false), "cl_reduce");
    check_device(op_case("reduce_sum", {2, 3, c}, {1}, false), "cl_reduce");
  }
}

TEST(DeviceReduce, Kinds) {
  for (const char* op :
       {"reduce_sum", "reduce_max", "reduce_min", "reduce_l1", "reduce_l2", "reduce_sum_square"}) {
    SCOPED_TRACE(op);
    OpCase c = op_case(op, {5, 6}, {1}, true);
    // Neither the largest nor the smallest element is a zero behind the last.
    for (const float lo : {-3.0f, 1.0f}) {
      c.inputs[0].lo = lo;
      c.inputs[0].hi = lo + 2;
      check_device(c, "cl_reduce", false);
    }
  }
}

TEST(DeviceReduce, LongRows) {
  check_device(op_case("reduce_mean", {2, 9, 13, 11}, {2, 3}, false), "cl_reduce", false);
  check_device(op_case("reduce_min", {6, 1001}, {1}, true), "cl_reduce", false);
  check_device(op_case("reduce_min", {6, 1001}, {1}, false), "cl_reduce", false);
  check_device(op_case("reduce_sum", {301, 5}, {0}, true), "cl_reduce", false);
  check_device(op_case("reduce_sum", {1501}, {0}, false), "cl_reduce", false);
}

TEST(DeviceReduce, KeepsNaNInItsRow) {
  std::vector<float> x(5 * 6, 1.0f);
  x[6 + 1] = NAN;
  x[12] = NAN;
  x[18] = INFINITY;
  x[29] = -INFINITY;
  for (const std::int64_t axis : {1, 0}) {
    for (const char* op : {"reduce_max", "reduce_min", "reduce_sum"}) {
      if (axis == 0 && std::string_view(op) != "reduce_max") continue;
      OpCase c = op_case(op, {5, 6}, {axis}, true);
      c.inputs = {In::of(op_test::floats_tensor({5, 6}, x), false)};
      check_device(c, "cl_reduce", false);
    }
  }
}

}  // namespace
}  // namespace stowage
