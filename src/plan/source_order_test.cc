// SPDX-License-Identifier: Apache-2.0
// The order of the file, for models in NCHW and in NHWC.
#include "plan/source_order.h"

#include "plan/plan.h"
#include "plan/test_net.h"

namespace stowage {
namespace {

/// A convolution as an importer of NHWC models writes it.
std::shared_ptr<const Plan> between_transposes(DataFormat format) {
  Net net;
  const ValueId x = net.transpose(net.input({1, 8, 8, 16}), {0, 3, 1, 2});
  const ValueId y = net.transpose(net.conv(x, 16, 32), {0, 2, 3, 1});
  PlanOptions options;
  options.planner = PlanOptions::Planner::source;
  options.exact = true;
  return make_plan(net.finish({net.add("relu", {y})}, format), options);
}

// checklist 5.5
TEST(SourceOrder, OfAnNhwcModelIsChannelsLastWhateverOrderTheOperatorNames) {
  const auto plan = between_transposes(DataFormat::nhwc);
  EXPECT_EQ(plan->conversions.size(), 0u) << explain(*plan);
  EXPECT_EQ(plan->nodes[1].kernel, "conv_channels_last");
}

// checklist 1.2, 5.5
TEST(SourceOrder, OfAnNchwModelMovesWhatATransposeMoves) {
  const auto plan = between_transposes(DataFormat::nchw);
  EXPECT_GE(plan->conversions.size(), 4u) << explain(*plan);
  for (const ConversionReport& c : plan->conversions) EXPECT_NE(c.node, kNoNode);
}

TEST(SourceOrder, LayoutsAreRowMajorWhereAValueHasNoDataFormat) {
  Net net;
  const ValueId x = net.transpose(net.input({1, 8, 8, 16}), {0, 3, 1, 2});
  const ValueId y = net.conv(x, 16, 24);
  const ValueId z = net.reshape(y, {24, 64});
  const auto graph = net.finish({z}, DataFormat::nhwc);
  const plan::OfferTable table = plan::collect_offers(*graph, host_target(1), {});
  const std::vector<int> layouts = plan::source_layouts(*graph, table);
  const auto of = [&](ValueId v) {
    const auto at = static_cast<std::size_t>(v);
    return table.format(static_cast<ValueId>(at), layouts[at]).layout.spelling();
  };
  EXPECT_EQ(of(y), "NHWC");
  EXPECT_EQ(layouts[static_cast<std::size_t>(z)], 0);
}

}  // namespace
}  // namespace stowage
