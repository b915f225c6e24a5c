// SPDX-License-Identifier: Apache-2.0
// Conversions on the device against those of the CPU, byte by byte.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "convert/conversion.h"
#include "opencl/device.h"
#include "opencl/session.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

/// A value that is converted from format to format, each in memory of its own.
Plan plan_along(const std::vector<Format>& chain, const Shape& shape) {
  Plan plan;
  for (const Format& f : chain) {
    Slot s;
    s.name = text("slot", plan.slots.size());
    s.dtype = f.dtype;
    s.mapping = f.mapping(shape);
    s.place = f.place;
    if (f.place.memory == Place::Memory::image) {
      s.image = static_cast<int>(plan.images.size());
      plan.images.push_back({s.mapping.extent(Space::x), s.mapping.extent(Space::y), f.dtype});
    } else {
      s.buffer = static_cast<int>(plan.buffers.size());
      plan.buffers.push_back(s.mapping.bytes());
    }
    plan.slots.push_back(std::move(s));
  }
  for (int i = 1; i < static_cast<int>(chain.size()); ++i) {
    Step s;
    s.kind = Step::Kind::convert;
    s.src = i - 1;
    s.dst = i;
    plan.steps.push_back(s);
  }
  return plan;
}

/// Row-major elements through the device's conversions, against the CPU's.
void convert_along(const std::vector<Format>& chain, const Tensor& in) {
  static const std::shared_ptr<OpenClDevice> device = open_opencl_device(0, {});
  const Shape& shape = in.shape();
  const auto session =
      device->open_with(std::make_shared<const Plan>(plan_along(chain, shape)),
                        [](const Plan& plan, int step) { return step_launch(plan, step); });
  session->upload(0, in.data());
  for (int i = 1; i < static_cast<int>(chain.size()); ++i) {
    session->run(i - 1);
    const Format& f = chain[idx(i)];
    Tensor found(f.dtype, shape, f.layout), expected(f.dtype, shape, f.layout);
    session->download(i, found.data());
    Conversion(in.dtype(), in.mapping(), f.dtype, expected.mapping(), {})
        .run(in.data(), expected.data(), nullptr);
    // No layout of these has gaps, and tails are zero.
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.bytes()), 0)
        << shape.text() << ", to " << f.layout.text() << " " << dtype_name(f.dtype);
  }
}

TEST(OpenClConversions, AreThoseOfTheCpu) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const auto format = [](std::string_view layout, Place::Memory memory, DType dtype = DType::f32) {
    return Format{Layout::parse(layout), dtype, {1, memory}};
  };
  using enum Place::Memory;
  const std::vector<Format> chain{
      format("NCHW", buffer),          format("image-channel", image),
      format("NHWC", buffer),          format("image-height", image, DType::f16),
      format("image-width", image),    format("NC4HW4", buffer),
      format("image-channel", buffer), format("nChw16c", buffer, DType::f16),
      format("NCHW", buffer)};
  for (const std::int64_t c : {1, 3, 4, 33}) {
    Tensor in(DType::f32, Shape("nchw", {2, c, 3, 5}));
    std::iota(in.as<float>().begin(), in.as<float>().end(), 1.0f);
    convert_along(chain, in);
  }
}

/// Every pair of a row-major buffer, an image and its texels in a buffer.
TEST(OpenClConversions, OfBytesAreThoseOfTheCpu) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  for (const DType dtype : {DType::u8, DType::i8}) {
    const Layout texels = Layout::parse("image-channel");
    const Format plain{Layout::parse("NCHW"), dtype, {1, Place::Memory::buffer}};
    const Format image{texels, dtype, {1, Place::Memory::image}};
    const Format buffer{texels, dtype, {1, Place::Memory::buffer}};
    const std::vector<Format> chain{plain,  image,  image, plain,  plain,
                                    buffer, buffer, image, buffer, plain};
    for (std::int64_t c = 1; c <= 9; ++c) {
      Tensor in(dtype, Shape("nchw", {2, c, 3, 5}));
      for (std::size_t i = 0; i < in.bytes(); ++i)
        in.data()[i] = static_cast<std::byte>(i * 37 + 1);
      convert_along(chain, in);
    }
  }
}

}  // namespace
}  // namespace stowage
