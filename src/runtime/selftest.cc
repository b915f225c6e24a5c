// SPDX-License-Identifier: Apache-2.0
// Every kernel of a device on small tensors, compared with a plan for the CPU.
#include "runtime/selftest.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "runtime/measure.h"
#include "stowage/machine.h"
#include "stowage/plan.h"

namespace stowage {

std::vector<SelftestCase> selftest_cases() {
  using Words = std::string;
  const auto one = [](std::int64_t i) { return Attribute(i); };
  const Ints around{1, 1, 1, 1};
  // Several batches, and channels that leave a part of the last texel empty. Large are those whose
  // work items make several results, in rows that these do not divide.
  return {
      {"cl_conv", "conv", {{"pads", around}}, {{2, 5, 7, 6}}, {{7, 5, 3, 3}, {7}}, 1, true},
      {"cl_conv", "conv", {{"strides", Ints{2, 2}}}, {{2, 5, 4, 6}}, {{9, 5, 1, 1}}},
      {"cl_conv", "conv", {{"group", one(2)}}, {{2, 8, 5, 4}}, {{16, 4, 3, 3}}},
      {"cl_winograd", "conv", {{"pads", around}}, {{2, 5, 7, 6}}, {{7, 5, 3, 3}, {7}}, 1, true},
      {"cl_winograd", "conv", {{"pads", Ints{0, 2, 1, 0}}}, {{1, 3, 37, 40}}, {{33, 3, 3, 3}}},
      {"cl_depthwise",
       "conv",
       {{"group", one(5)}, {"pads", around}},
       {{2, 5, 7, 6}},
       {{5, 1, 3, 3}, {5}},
       1,
       true},
      {"cl_conv", "conv", {{"pads", around}}, {{2, 33, 4, 5}}, {{7, 33, 3, 3}}},
      {"cl_conv", "conv", {}, {{1, 2, 513, 515}}, {{4, 2, 1, 1}}},
      {"cl_conv", "conv", {{"pads", around}}, {{1, 3, 150, 151}}, {{43, 3, 3, 3}}},
      {"cl_depthwise", "conv", {{"group", one(5)}}, {{2, 5, 4, 5}}, {{10, 1, 3, 2}}},
      {"cl_depthwise", "conv", {{"group", one(4)}}, {{1, 4, 361, 365}}, {{4, 1, 1, 1}}},
      {"cl_conv_transpose",
       "conv_transpose",
       {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}},
       {{2, 5, 3, 4}},
       {{5, 6, 3, 2}, {6}}},
      {"cl_conv_transpose",
       "conv_transpose",
       {{"strides", Ints{2, 2}}},
       {{1, 2, 181, 183}},
       {{2, 4, 1, 3}}},
      {"cl_gemm", "gemm", {{"alpha", 0.5f}}, {{3, 7}}, {{7, 5}, {5}}},
      {"cl_gemm", "gemm", {}, {{515, 5}}, {{5, 517}, {517}}},
      {"cl_gemm", "gemm", {{"transB", one(1)}}, {{2, 259}}, {{33, 259}, {33}}},
      {"cl_gemm", "gemm", {}, {{1, 261}}, {{261, 34}, {34}}},
      {"cl_gemm", "gemm", {}, {{7, 1023}}, {{1023, 515}, {515}}},
      {"cl_gemm", "matmul", {}, {{2, 3, 5, 6}, {2, 3, 6, 7}}, {}},
      {"cl_pool",
       "max_pool",
       {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 2, 1}}},
       {{2, 5, 5, 7}},
       {}},
      {"cl_pool",
       "average_pool",
       {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 2, 1}}},
       {{2, 5, 5, 7}},
       {}},
      {"cl_pool", "average_pool", {{"global", one(1)}}, {{2, 5, 5, 7}}, {}},
      {"cl_resize", "resize", {{"sizes", Ints{2, 5, 7, 9}}}, {{2, 5, 4, 5}}, {}},
      {"cl_resize",
       "resize",
       {{"sizes", Ints{2, 5, 7, 9}}, {"mode", Words("linear")}},
       {{2, 5, 4, 5}},
       {}},
      {"cl_reduce",
       "reduce_mean",
       {{"axes", Ints{2, 3}}, {"keepdims", one(1)}},
       {{2, 5, 3, 7}},
       {}},
      {"cl_reduce", "reduce_max", {{"axes", Ints{2}}, {"keepdims", one(0)}}, {{2, 3, 5}}, {}},
      {"cl_reduce",
       "reduce_mean",
       {{"axes", Ints{2, 3}}, {"keepdims", one(1)}},
       {{2, 5, 13, 43}},
       {}},
      {"cl_softmax", "softmax", {{"axis", one(-1)}}, {{2, 3, 5}}, {}},
      {"cl_softmax", "softmax", {{"axis", one(-1)}}, {{2, 3, 515}}, {}},
      {"cl_softmax", "log_softmax", {{"axis", one(1)}}, {{2, 5, 3, 2}}, {}},
      {"cl_norm", "instance_norm", {}, {{2, 5, 3, 5}}, {{5}, {5}}},
      {"cl_norm", "layer_norm", {{"axis", one(-1)}}, {{2, 3, 5}}, {{5}, {5}}},
      {"cl_norm", "layer_norm", {{"axis", one(-1)}}, {{2, 3, 515}}, {{515}, {515}}},
      {"cl_batch_norm", "batch_norm", {}, {{2, 5, 3, 4}}, {{5}, {5}, {5}, {5}}},
      {"cl_lrn", "lrn", {{"size", one(3)}, {"alpha", 0.5f}}, {{2, 5, 3, 5}}, {}},
      {"cl_move", "transpose", {{"perm", Ints{0, 2, 3, 1}}}, {{2, 5, 3, 6}}, {}},
      {"cl_move", "depth_to_space", {{"blocksize", one(2)}}, {{2, 12, 3, 5}}, {}},
      {"cl_concat", "concat", {{"axis", one(1)}}, {{2, 1, 3, 5}, {2, 4, 3, 5}}, {}},
      {"cl_split", "split", {{"axis", one(1)}, {"split", Ints{3, 6, 1}}}, {{2, 10, 3, 5}}, {}, 3},
      {"cl_map", "sigmoid", {}, {{2, 5, 3, 6}}, {}},
      {"cl_map", "sub", {}, {{2, 5, 3, 6}, {2, 5, 1, 1}}, {}},
  };
}

namespace {

constexpr unsigned kSeed = 7;

/// A case with its operands, and what the CPU makes of them.
struct Expected {
  std::shared_ptr<Graph> graph;
  std::vector<Tensor> inputs, outputs;
};

Tensor random_tensor(const Ints& extents, std::mt19937& random, float low) {
  Tensor tensor = plain_tensor(extents);
  // Not std::uniform_real_distribution: its numbers differ between standard libraries.
  for (float& x : tensor.as<float>()) {
    x = low + (2 - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  }
  return tensor;
}

}  // namespace

PlanOptions selftest_options(const SelftestCase& c, const DeviceOptions& device) {
  PlanOptions options;
  options.simplify = false;
  options.rates.call_us = 1e6;  // of the CPU: whatever the device can do is done there
  options.device = device;
  // By its bandwidth, some ten thousand items keep the device busy.
  options.device->facts.rates = {1e9, 1500, 1e-6, 1e9, 1e9, 1e-6};
  for (const KernelDef* other : find_op(c.op)->device_kernels) {
    if (other->name != c.kernel) options.device->avoid.emplace_back(other->name);
  }
  return options;
}

std::shared_ptr<Graph> selftest_graph(const SelftestCase& c) {
  std::mt19937 random(kSeed);
  SmallGraph graph;
  std::vector<ValueId> operands;
  for (const Ints& extents : c.inputs) operands.push_back(graph.input(extents));
  // Positive: one of them may be a variance.
  for (const Ints& extents : c.constants) {
    operands.push_back(graph.constant(random_tensor(extents, random, 0.25f)));
  }
  Posts posts;
  if (c.post) posts.push_back({.activation = {Activation::Kind::clip, -1, 9}});
  return graph.finish(graph.node(c.op, c.attrs, operands, c.outputs, posts));
}

namespace {

std::vector<Tensor> run_plan(const std::shared_ptr<const Plan>& plan,
                             const std::shared_ptr<Device>& device,
                             const std::vector<Tensor>& inputs) {
  Session session(plan, device);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    session.set_input(static_cast<int>(i), inputs[i].view());
  }
  session.run();
  session.run();  // finds what the first left behind
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < session.outputs().size(); ++i) {
    outputs.push_back(session.output(static_cast<int>(i)));
  }
  return outputs;
}

Expected expected(const SelftestCase& c) {
  std::mt19937 random(kSeed + 1);
  Expected e;
  for (const Ints& extents : c.inputs) e.inputs.push_back(random_tensor(extents, random, -2));
  e.graph = selftest_graph(c);
  PlanOptions options;
  options.simplify = false;
  options.exact = true;
  e.outputs = run_plan(make_plan(e.graph, options), nullptr, e.inputs);
  return e;
}

/// Empty, or where they differ. Half precision rounds operands and results.
std::string difference(const std::vector<Tensor>& have, const std::vector<Tensor>& want,
                       bool half) {
  const float tolerance = half ? 4e-3f : 1e-4f;
  for (std::size_t o = 0; o < want.size(); ++o) {
    const auto a = have[o].as<float>(), b = want[o].as<float>();
    float largest = 1;
    for (const float x : b) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= tolerance * largest) continue;
      return text("element ", i, " of output ", o, " is ", a[i], ", not ", b[i]);
    }
  }
  return "";
}

std::string run_case(const std::shared_ptr<Device>& device, const SelftestCase& c,
                     const Expected& e, bool images, bool half) {
  const auto memory = images ? DeviceOptions::Memory::image : DeviceOptions::Memory::buffer;
  const auto plan = make_plan(e.graph, selftest_options(c, {device->facts(), memory, half}));
  const std::string kernel = report(*plan).nodes.at(0).kernel;
  if (kernel != c.kernel) return text("the planner does not use it for '", c.op, "'");
  return difference(run_plan(plan, device, e.inputs), e.outputs, half);
}

/// Empty when every case passes in every way in which the device stores tensors.
std::string problem_of(const std::shared_ptr<Device>& device, std::string_view kernel,
                       const std::vector<SelftestCase>& cases) {
  bool any = false;
  for (const SelftestCase& c : cases) {
    if (c.kernel != kernel) continue;
    any = true;
    const Expected e = expected(c);
    for (const bool images : {true, false}) {
      if (images && !device->facts().images) continue;
      for (const bool half : {false, true}) {
        std::string problem;
        try {
          problem = run_case(device, c, e, images, half);
        } catch (const Error& error) {
          problem = error.sentence();
        }
        if (problem.empty()) continue;
        return text(c.op, images ? " in images, " : " in buffers, ",
                    half ? "f16: " : "f32: ", problem);
      }
    }
  }
  return any ? "" : "there is no case for it";
}

}  // namespace

std::vector<KernelCheck> selftest(const std::shared_ptr<Device>& device) {
  if (device == nullptr) fail(ErrorCode::usage, "there is no device to test");
  const std::vector<SelftestCase> cases = selftest_cases();
  std::vector<KernelCheck> checks;
  for (const KernelDef* def : all_kernels()) {
    if (def->launch == nullptr) continue;
    checks.push_back({std::string(def->name), problem_of(device, def->name, cases)});
  }
  return checks;
}

}  // namespace stowage
