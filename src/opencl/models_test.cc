// SPDX-License-Identifier: Apache-2.0
// Small models on a device in two ways whose results must be the same to the bit: in groups of
// other sizes, and with inputs and outputs copied or mapped.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/index.h"
#include "opencl/device.h"
#include "opencl/session.h"
#include "opencl/test_folder.h"
#include "plan/test_net.h"
#include "stowage/convert.h"
#include "stowage/plan.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

using Values = std::vector<std::vector<float>>;

PlanOptions everything_on(const Device& device, bool images, bool half) {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;
  options.device = DeviceOptions{device.facts(), memory_of(images), half};
  options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
  return options;
}

Tensor numbers(const Shape& shape, int seed) {
  Tensor t(DType::f32, shape);
  std::uint32_t state = static_cast<std::uint32_t>(seed);
  for (float& v : t.as<float>()) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return t;
}

/// Fills the weights, which a Net leaves zero.
void fill_weights(Graph& graph) {
  for (int i = 0; i < graph.value_count(); ++i) {
    Value& v = graph.value(ValueId(i));
    if (v.constant == nullptr || v.dtype != DType::f32) continue;
    v.constant = std::make_shared<const Tensor>(numbers(v.shape, i + 1));
  }
}

/// Outputs of two runs with different inputs.
Values two_runs(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<Device>& device) {
  Session session(plan, device);
  Values values;
  for (int run = 0; run < 2; ++run) {
    for (std::size_t i = 0; i < session.inputs().size(); ++i) {
      const int input = static_cast<int>(i);
      session.set_input(input, numbers(session.inputs()[i].shape, 10 * run + input).view());
    }
    session.run();
    for (std::size_t i = 0; i < session.outputs().size(); ++i) {
      const Tensor out = session.output(static_cast<int>(i));
      const auto got = out.as<float>();
      values.emplace_back(got.begin(), got.end());
      // Into rows with gaps, which are the caller's.
      const Shape& shape = out.mapping().shape();
      if (shape.rank() != 4) continue;
      const Mapping rows(
          Layout::parse("n c (h w)~32").renamed(Shape("nchw", {1, 1, 1, 1}).axes(), shape.axes()),
          shape, sizeof(float));
      std::vector<float> wide(idx(rows.cells()), 7.0f);
      session.read_output(static_cast<int>(i), MutableTensorView(DType::f32, rows, wide.data()));
      values.push_back(wide);
    }
  }
  return values;
}

class OpenClModels : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  }
};

/// Not all values are numbers, or all the same: a comparison would say little.
void expect_values(const Values& values) {
  for (const std::vector<float>& v : values) {
    EXPECT_TRUE(std::ranges::all_of(v, [](float x) { return std::isfinite(x); }));
    EXPECT_GT(std::set<float>(v.begin(), v.end()).size(), v.size() / 4);
  }
}

/// A convolution and what comes before it, and after it.
std::shared_ptr<Graph> small_model() {
  Net net;
  // One texel of channels: nobody shares a sum, for which a group would be fixed.
  const ValueId x = net.add("sigmoid", {net.input({1, 3, 17, 19})});
  auto graph = net.finish({net.conv(x, 3, 6)});
  fill_weights(*graph);
  return graph;
}

TEST_F(OpenClModels, GroupsChangeNoResult) {
  const auto usual = open_opencl_device(0, {.fill_nan = true});
  const auto plan = make_plan(small_model(), everything_on(*usual, true, false));
  const Values want = two_runs(plan, usual);
  expect_values(want);
  for (const Group group : {Group{64, 1, 1}, Group{4, 16, 1}, Group{3, 5, 1}}) {
    const auto device = open_opencl_device(0, {.fill_nan = true});
    int steps = 0;
    for (std::size_t i = 0; i < plan->steps.size(); ++i) {
      if (!plan->on_device(plan->steps[i])) continue;
      const StepLaunch launch = step_launch(*plan, static_cast<int>(i));
      EXPECT_FALSE(launch.launch.fixed_group);
      device->groups().put(device->programs().key(launch.text), launch.launch.items, group);
      ++steps;
    }
    EXPECT_GE(steps, 2);
    EXPECT_EQ(two_runs(plan, device), want) << group[0] << "x" << group[1];
  }
}

/// Kernels that tell in which group they run.
TEST_F(OpenClModels, KernelsRunInTheGroupThatIsKnown) {
  const auto device = open_opencl_device(0, {});
  Net net;
  const ValueId x = net.add("relu", {net.input({2, 5, 17, 19})});
  const auto plan =
      make_plan(net.finish({net.add("relu", {x})}), everything_on(*device, true, false));
  const auto launcher = [](const Plan& p, int step) {
    StepLaunch launch = step_launch(p, step);
    EXPECT_EQ(launch.launch.source, "map");
    launch.text.erase(launch.text.find("#line 1"));
    launch.text +=
        "__kernel void map(ARGS, ITEMS) {\n  GUARD\n  DECODE_y\n"
        "  STORE_y((VECTOR_y)(100 * (int)get_local_size(0) + (int)get_local_size(1)));\n}\n";
    return launch;
  };
  const int step = static_cast<int>(
      std::ranges::find_if(plan->steps, [&](const Step& s) { return plan->on_device(s); }) -
      plan->steps.begin());
  const StepLaunch launch = launcher(*plan, step);
  const int out = plan->steps[idx(step)].out[0];
  const auto group_of_a_run = [&] {
    const auto session = device->open_with(plan, launcher);
    session->run(step);
    std::vector<float> found(plan->slot(out).mapping.bytes() / sizeof(float));
    session->download(out, reinterpret_cast<std::byte*>(found.data()));
    return *std::ranges::max_element(found);
  };
  const auto put = [&](const Group& group) {
    device->groups().put(device->programs().key(launch.text), launch.launch.items, group);
  };
  const Group usual = usual_group(launch.launch, {4096, {}});
  EXPECT_EQ(group_of_a_run(), static_cast<float>(100 * usual[0] + usual[1]));
  put({8, 2, 1});
  EXPECT_EQ(group_of_a_run(), 802);
  // More than the device has room for.
  const auto most = static_cast<std::size_t>(device->facts().group_items);
  put({2 * most, 1, 1});
  EXPECT_LE(group_of_a_run(), static_cast<float>(100 * most + 1));
}

TEST_F(OpenClModels, GroupsAreMeasuredOnceAndKept) {
  const TestFolder folder;
  const auto plan =
      make_plan(small_model(), everything_on(*open_opencl_device(0, {}), true, false));
  const Values want = two_runs(plan, open_opencl_device(0, {}));
  const auto expect = [&](bool tune, int measured, int read, const char* when) {
    const auto device =
        open_opencl_device(0, {.cache = folder.path(), .tune = tune, .fill_nan = true});
    EXPECT_EQ(two_runs(plan, device), want) << when;
    EXPECT_EQ(two_runs(plan, device), want) << when;
    EXPECT_EQ(device->groups().counts().measured, measured) << when;
    EXPECT_EQ(device->groups().counts().read, read) << when;
  };
  expect(false, 0, 0, "nobody has measured");
  int kernels = 0;
  for (const Step& step : plan->steps) kernels += plan->on_device(step) ? 1 : 0;
  expect(true, kernels, 0, "measured");
  expect(false, 0, kernels, "known");
  expect(true, 0, kernels, "nothing is left to measure");
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::filesystem::resize_file(file, file.file_size() - 1);
  }
  expect(false, 0, 0, "damaged");
}

/// Every step has a time, copies as well, whether the device measures or the host.
TEST_F(OpenClModels, StepsAreMeasured) {
  for (const bool profile : {false, true}) {
    const auto device = open_opencl_device(0, {.profile = profile});
    Net net;
    // Of a single node, each baseline of the planner is as good as its optimum: steps copy.
    const auto plan = make_plan(net.finish({net.add("relu", {net.input({2, 5, 17, 19})})}),
                                everything_on(*device, true, false));
    Session session(plan, device);
    session.set_input(0, Tensor(DType::f32, session.inputs()[0].shape).view());
    session.profile(true);
    session.run();
    ASSERT_EQ(session.step_us().size(), plan->steps.size());
    int copies = 0;
    for (std::size_t i = 0; i < plan->steps.size(); ++i) {
      const Step& step = plan->steps[i];
      copies += plan->brings_up(step) || plan->brings_down(step) ? 1 : 0;
      EXPECT_GT(session.step_us()[i], 0) << profile << " " << i;
    }
    EXPECT_EQ(copies, 2) << explain(*plan);
  }
}

/// Two inputs, and outputs that are a part, another view and a neighbour of others.
std::shared_ptr<Graph> model_of_views() {
  Net net;
  const ValueId a = net.input({2, 5, 3, 6}, "a"), b = net.input({2, 5, 3, 6}, "b");
  const ValueId x = net.add("sigmoid", {a});
  const ValueId y = net.add("add", {x, b});
  const ValueId z = net.reshape(y, {10, 18});
  Attributes axis;
  axis.set("axis", std::int64_t{1});
  const ValueId both = net.add("concat", {x, y}, axis);
  auto graph = net.finish({x, y, z, both});
  fill_weights(*graph);
  return graph;
}

/// Bound memory holds what set_input would have taken and read_output given, halves and images too.
TEST_F(OpenClModels, BoundPortsAreThoseThatAreCopied) {
  const auto device = open_opencl_device(0, {.fill_nan = true});
  for (const auto& [images, half] : {std::pair{true, true}, {true, false}, {false, false}}) {
    for (const auto& graph : {small_model(), model_of_views()}) {
      const auto plan = make_plan(graph, everything_on(*device, images, half));
      Session set(plan, device), bound(plan, device);
      std::vector<Tensor> in, out;
      for (int i = 0; i < static_cast<int>(set.inputs().size()); ++i) {
        const PortFormat format = bound.input_format(i);
        const Tensor given = numbers(set.inputs()[idx(i)].shape, i);
        in.push_back(convert(given, format.dtype, format.mapping.layout()));
        set.set_input(i, given.view());
        bound.bind_input(i, in.back());
      }
      for (int o = 0; o < static_cast<int>(set.outputs().size()); ++o) {
        const PortFormat format = bound.output_format(o);
        out.emplace_back(format.dtype, format.mapping.shape(), format.mapping.layout());
        bound.bind_output(o, out.back());
      }
      for (int runs = 0; runs < 2; ++runs) {
        set.run();
        bound.run();
        for (int o = 0; o < static_cast<int>(out.size()); ++o) {
          const Tensor want = set.output(o);
          const Tensor got = convert(out[idx(o)], want.dtype(), want.layout());
          EXPECT_TRUE(std::ranges::equal(got.as<float>(), want.as<float>())) << images << half << o;
        }
      }
    }
  }
}

TEST_F(OpenClModels, MappedPortsAreThoseThatAreCopied) {
  const auto mapping = open_opencl_device(0, {.fill_nan = true});
  if (!mapping->maps()) GTEST_SKIP() << "skipped: the device has memory of its own";
  const auto copying = open_opencl_device(0, {.fill_nan = true});
  copying->never_map();
  for (const bool images : {true, false}) {
    for (const bool half : {false, true}) {
      SCOPED_TRACE(testing::Message() << "images " << images << ", half " << half);
      const auto plan = make_plan(model_of_views(), everything_on(*mapping, images, half));
      for (const auto* ports : {&plan->inputs, &plan->outputs}) {
        EXPECT_GE(std::ranges::count_if(*ports,
                                        [&](const PlanPort& port) {
                                          return plan->slot(port.slots[0]).place.device == 1;
                                        }),
                  2)
            << explain(*plan);
      }
      const Values want = two_runs(plan, copying);
      expect_values(want);
      EXPECT_EQ(two_runs(plan, mapping), want);
    }
  }
}

}  // namespace
}  // namespace stowage
