// SPDX-License-Identifier: Apache-2.0
// Instance and layer normalisation on a device.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::OpCase;

OpCase instance(const Ints& extents) {
  OpCase c;
  c.op = "instance_norm";
  const Ints channels{extents[1]};
  c.inputs = {{.extents = extents},
              {.extents = channels, .constant = true},
              {.extents = channels, .constant = true}};
  c.rtol = c.atol = 1e-4;
  return c;
}

OpCase layer(const Ints& extents, std::int64_t axis, const Ints& scale, const Ints& bias) {
  OpCase c;
  c.op = "layer_norm";
  c.attrs = {{"axis", axis}};
  c.inputs = {{.extents = extents}, {.extents = scale, .constant = true}};
  if (!bias.empty()) c.inputs.push_back({.extents = bias, .constant = true});
  c.rtol = c.atol = 1e-4;
  return c;
}

TEST(DeviceNorm, Instances) {
  for (const std::int64_t c : {1, 2, 3, 4, 5, 9, 17}) {
    SCOPED_TRACE(text("channels ", c));
    check_device(instance({2, c, 3, 5}), "cl_norm", c != 4);
  }
  check_device(instance({2, 5, 13, 11}), "cl_norm", false);
  check_device(instance({2, 3, 7}), "cl_norm", false);
  check_device(instance({2, 3, 601}), "cl_norm", false);
}

TEST(DeviceNorm, Layers) {
  for (const std::int64_t c : {2, 3, 4, 5, 7, 9, 33}) {
    SCOPED_TRACE(text("channels ", c));
    check_device(layer({2, 3, c}, -1, {c}, {c}), "cl_norm");
  }
  check_device(layer({3, 770}, 1, {770}, {}), "cl_norm", false);
  check_device(layer({2, 3, 2, 5}, 2, {5}, {2, 1}), "cl_norm", false);
}

/// The instances and rows beside it are what they are without.
TEST(DeviceNorm, KeepsNaNInItsRow) {
  std::vector<float> x(2 * 5 * 15);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  x[20] = NAN;
  x[80] = INFINITY;
  OpCase c = instance({2, 5, 3, 5});
  c.inputs[0] = op_test::In::of(op_test::floats_tensor({2, 5, 3, 5}, x), false);
  check_device(c, "cl_norm", false);
  c = layer({30, 5}, 1, {5}, {5});
  c.inputs[0] = op_test::In::of(op_test::floats_tensor({30, 5}, x), false);
  check_device(c, "cl_norm", false);
}

TEST(DeviceNorm, Batches) {
  for (const Ints& extents : {Ints{2, 5, 3, 4}, Ints{3, 9}}) {
    SCOPED_TRACE(text("extents ", std::span(extents)));
    OpCase c;
    c.op = "batch_norm";
    c.inputs = {{.extents = extents}};
    for (int i = 0; i < 4; ++i) {
      c.inputs.push_back({.extents = {extents[1]}, .constant = true, .lo = 0.5f});
    }
    if (extents.size() == 4) {
      op_test::add_post(c, op_test::activation_post({Activation::Kind::clip, -1, 1.5f}));
    }
    check_device(c, "cl_batch_norm", extents.size() == 4);
  }
}

}  // namespace
}  // namespace stowage
