// SPDX-License-Identifier: Apache-2.0
// Denormals are zero inside Session::run, in every thread, whatever the caller's mode is.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "plan/test_net.h"
#include "stowage/model.h"

namespace stowage {
namespace {

constexpr std::int64_t kChannels = 16, kSide = 64;

/// Normal numbers around the smallest one, denormals, and zeros, of both signs.
float element(std::size_t i) {
  const std::uint32_t exponent = i % 5 < 2 ? 0 : static_cast<std::uint32_t>(i % 5) - 1;
  const std::uint32_t fraction = static_cast<std::uint32_t>(i * 2654435761u) & 0x7fffff;
  const std::uint32_t sign = i % 3 == 0 ? 0x80000000u : 0;
  return std::bit_cast<float>(sign | exponent << 23 | (i % 7 == 0 ? 0 : fraction));
}

using Bits = std::vector<std::uint32_t>;

struct Outcome {
  Bits bits;
  bool mode_kept;
};

Outcome outcome(const std::function<ValueId(Net&, ValueId)>& build, int threads,
                bool caller_flushes) {
  Net net;
  const ValueId x = net.input({1, kChannels, kSide, kSide});
  const auto graph = net.finish({build(net, x)});
  PlanOptions options;
  options.threads = threads;
  Session session(make_plan(graph, options));
  Tensor input(DType::f32, session.inputs()[0].shape);
  for (std::size_t i = 0; i < input.as<float>().size(); ++i) input.as<float>()[i] = element(i);
  session.set_input(0, input.view());
  const auto guard = caller_flushes ? std::make_unique<FlushDenormals>() : nullptr;
  const std::uint64_t before = float_mode();
  session.run();
  const bool kept = float_mode() == before;
  const Tensor output = session.output(0);
  Outcome out{{}, kept};
  for (float y : output.as<float>()) out.bits.push_back(std::bit_cast<std::uint32_t>(y));
  return out;
}

TEST(Denormals, AreZeroInsideRunInEveryThread) {
  const std::vector<std::pair<std::string, std::function<ValueId(Net&, ValueId)>>> cases = {
      {"sum",
       [](Net& net, ValueId x) {
         return net.add("add", {x, x});
       }},
      {"difference of neighbours",
       [](Net& net, ValueId x) {
         return net.add("sub", {x, net.transpose(x, {0, 1, 3, 2})});
       }},
      {"average",
       [](Net& net, ValueId x) {
         Attributes attrs;
         attrs.set("kernel_shape", Ints{2, 2});
         return net.add("average_pool", {x}, attrs);
       }},
      {"mean over all",
       [](Net& net, ValueId x) {
         Attributes attrs;
         attrs.set("global", std::int64_t{1});
         return net.add("average_pool", {x}, attrs);
       }},
  };
  for (const auto& [name, build] : cases) {
    const Bits expected = outcome(build, 1, false).bits;
    for (std::uint32_t bits : expected) {
      const bool denormal = (bits & 0x7f800000) == 0 && (bits & 0x7fffff) != 0;
      ASSERT_FALSE(denormal) << name;
    }
    for (int threads : {1, 2, 3}) {
      for (bool caller_flushes : {false, true}) {
        const Outcome got = outcome(build, threads, caller_flushes);
        EXPECT_EQ(got.bits, expected)
            << name << ", " << threads << " threads" << (caller_flushes ? ", caller flushes" : "");
        EXPECT_TRUE(got.mode_kept) << name;
      }
    }
  }
}

TEST(Denormals, PassThroughConversionsOutsideRun) {
  Net net;
  const ValueId x = net.input({1, kChannels, kSide, kSide});
  PlanOptions options;
  options.threads = 2;
  Session session(make_plan(net.finish({net.transpose(x, {0, 2, 3, 1})}), options));
  Tensor input(DType::f32, session.inputs()[0].shape);
  for (std::size_t i = 0; i < input.as<float>().size(); ++i) input.as<float>()[i] = element(i);
  session.set_input(0, input.view());
  session.run();
  const Tensor output = session.output(0);
  // Moving computes nothing, so it flushes nothing, inside run or outside.
  for (std::int64_t c = 0; c < kChannels; ++c) {
    for (std::int64_t p = 0; p < kSide * kSide; ++p) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(
                    output.as<float>()[static_cast<std::size_t>(p * kChannels + c)]),
                std::bit_cast<std::uint32_t>(
                    input.as<float>()[static_cast<std::size_t>(c * kSide * kSide + p)]));
    }
  }
}

}  // namespace
}  // namespace stowage
