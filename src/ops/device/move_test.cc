// SPDX-License-Identifier: Apache-2.0
// What only moves, on a device, against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::ints_tensor;
using op_test::OpCase;

OpCase op_case(const std::string& op, const Ints& x, std::map<std::string, Attribute> attrs = {}) {
  OpCase c{.op = op, .attrs = std::move(attrs)};
  c.inputs = {{.extents = x}};
  return c;
}

TEST(DeviceMove, Transpose) {
  for (const Ints& perm : std::vector<Ints>{{0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 2, 3}}) {
    check_device(op_case("transpose", {2, 5, 3, 6}, {{"perm", perm}}), "cl_move");
  }
  check_device(op_case("transpose", {3, 9}, {{"perm", Ints{1, 0}}}), "cl_move");
  check_device(op_case("transpose", {2, 3, 2, 3, 2}, {{"perm", Ints{0, 2, 1, 4, 3}}}), "cl_move");
}

TEST(DeviceMove, Slice) {
  OpCase c = op_case("slice", {2, 9, 5, 6});
  c.inputs.push_back(In::of(ints_tensor({1, 4, 0})));
  c.inputs.push_back(In::of(ints_tensor({8, -100, 5})));
  c.inputs.push_back(In::of(ints_tensor({1, 2, 3})));
  c.inputs.push_back(In::of(ints_tensor({2, -1, 3})));
  check_device(c, "cl_move");
}

TEST(DeviceMove, Pad) {
  for (const std::string mode : {"constant", "edge", "reflect"}) {
    OpCase c = op_case("pad", {2, 5, 4, 6}, {{"mode", mode}});
    c.inputs.push_back(In::of(ints_tensor({0, 1, 3, 2, 1, 2, 0, 5})));
    check_device(c, "cl_move");
  }
  OpCase c = op_case("pad", {3, 7});
  c.inputs.push_back(In::of(ints_tensor({-1, 2, 1, -3})));
  c.inputs.push_back(In::of(op_test::floats_tensor({}, {2.5f})));
  check_device(c, "cl_move");
}

TEST(DeviceMove, BlocksOfPixels) {
  for (const std::string mode : {"DCR", "CRD"}) {
    for (const std::int64_t b : {2, 3}) {
      check_device(
          op_case("depth_to_space", {2, 3 * b * b, 2, 5}, {{"blocksize", b}, {"mode", mode}}),
          "cl_move");
    }
  }
  check_device(op_case("space_to_depth", {2, 5, 4, 6}, {{"blocksize", std::int64_t{2}}}),
               "cl_move");
}

TEST(DeviceMove, Gather) {
  for (const std::int64_t axis : {0, 1, 3}) {
    OpCase c = op_case("gather", {3, 6, 4, 5}, {{"axis", axis}});
    c.inputs.push_back(In::of(ints_tensor({2, -1, 0, 0})));
    check_device(c, "cl_move");
  }
}

TEST(DeviceMove, Concat) {
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    for (const int parts : {1, 2, 5}) {
      OpCase c{.op = "concat", .attrs = {{"axis", axis}}};
      for (int i = 0; i < parts; ++i) {
        Ints extents = {2, 6, 3, 5};
        extents[static_cast<std::size_t>(axis)] = 1 + 3 * i;
        c.inputs.push_back({.extents = extents});
      }
      check_device(c, "cl_concat", axis == 1);
    }
  }
}

TEST(DeviceMove, Split) {
  for (const std::int64_t axis : {1, 3}) {
    OpCase c = op_case("split", axis == 1 ? Ints{2, 10, 3, 5} : Ints{2, 5, 3, 10},
                       {{"axis", axis}, {"split", Ints{3, 6, 1}}});
    c.outputs = 3;
    check_device(c, "cl_split");
  }
}

TEST(DeviceMove, Tile) {
  OpCase c = op_case("tile", {2, 3, 2, 5});
  c.inputs.push_back(In::of(ints_tensor({1, 3, 2, 2})));
  check_device(c, "cl_move");
}

}  // namespace
}  // namespace stowage
