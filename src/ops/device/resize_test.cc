// SPDX-License-Identifier: Apache-2.0
// Resizing on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

using Attrs = std::map<std::string, Attribute>;

void check(const Ints& x, const Ints& sizes, Attrs attrs, bool half = true) {
  attrs["sizes"] = sizes;
  check_device({.op = "resize", .attrs = attrs, .inputs = {{.extents = x}}}, "cl_resize", half);
}

TEST(DeviceResize, Channels) {
  for (const std::string mode : {"nearest", "linear"}) {
    for (const std::int64_t c : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
      check({2, c, 4, 5}, {2, c, 7, 9}, {{"mode", mode}});
    }
  }
}

TEST(DeviceResize, EveryRule) {
  for (const std::string place : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                  "align_corners", "asymmetric", "tf_half_pixel_for_nn"}) {
    for (const Ints& sizes : {Ints{1, 5, 7, 3}, Ints{1, 5, 2, 13}}) {
      const Attribute where = place;
      for (const std::string rounding :
           {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        check({1, 5, 4, 6}, sizes,
              {{"coordinate_transformation_mode", where}, {"nearest_mode", rounding}}, false);
      }
      for (const std::string mode : {"linear", "cubic"}) {
        for (const std::int64_t exclude : {0, 1}) {
          check({1, 5, 4, 6}, sizes,
                {{"coordinate_transformation_mode", where},
                 {"mode", mode},
                 {"exclude_outside", exclude}},
                false);
        }
      }
      check({1, 5, 4, 6}, sizes,
            {{"coordinate_transformation_mode", where},
             {"mode", std::string("linear")},
             {"antialias", std::int64_t{1}}},
            false);
    }
  }
}

TEST(DeviceResize, OtherAxes) {
  const Attrs linear = {{"mode", std::string("linear")}}, nearest;
  check({2, 5, 7}, {2, 5, 4}, linear, false);
  check({3, 4}, {3, 9}, nearest, false);
  check({2, 3, 3, 4, 2}, {2, 3, 5, 2, 4}, linear, false);
  check({2, 3, 4, 3}, {1, 5, 4, 3}, nearest, false);
}

TEST(DeviceResize, NanStays) {
  std::vector<float> x(2 * 3 * 4 * 5, 1.0f);
  for (std::size_t i = 0; i < x.size(); i += 7) x[i] = i % 2 == 0 ? NAN : INFINITY;
  for (const std::string mode : {"nearest", "linear"}) {
    check_device({.op = "resize",
                  .attrs = {{"mode", mode}, {"sizes", Ints{2, 3, 7, 11}}},
                  .inputs = {In::of(op_test::floats_tensor({2, 3, 4, 5}, x), false)}},
                 "cl_resize");
  }
}

}  // namespace
}  // namespace stowage
