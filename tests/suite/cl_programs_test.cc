// SPDX-License-Identifier: Apache-2.0
// Programs of devices through a compiler of OpenCL C, without a device: the sources with what
// launches put before them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/accessors.h"
#include "kernels/elementwise/map.h"
#include "kernels/window/conv_device.h"
#include "opencl/step_launch.h"
#include "opencl/test_folder.h"
#include "ops/op_test_util.h"
#include "plan/plan.h"
#include "runtime/selftest.h"
#include "stowage/plan.h"
#include "test_paths.h"
#include "tests/suite/opencl_device.h"

namespace stowage {
namespace {

using op_test::In;
using op_test::OpCase;
using op_test::OpGraph;

/// Arguments that a kernel does not read are no mistake: every operand brings the same ones.
constexpr const char* kCompiler =
    "clang -x cl -cl-std=CL1.2 -fsyntax-only -Wall -Wextra -Werror -Wno-unused-parameter "
    "-Xclang -finclude-default-header";

/// Texts by what they are called in messages: each once.
class Programs {
 public:
  void add(const std::string& stem, const std::string& text) {
    stems_.insert(stem);
    texts_.emplace(text, stem);
  }

  void add(const Launch& launch, const LaunchArgs& args) {
    for (const bool check : {false, true}) add(launch.source, program_text(launch, args, check));
  }

  void add(const Plan& plan) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      if (!plan.on_device(plan.steps[i])) continue;
      for (const bool check : {false, true}) {
        const StepLaunch made = step_launch(plan, static_cast<int>(i), check);
        add(made.launch.source, made.text);
      }
    }
  }

  const std::set<std::string>& stems() const { return stems_; }

  std::size_t size() const { return texts_.size(); }

  /// What the compiler says; empty where it finds nothing.
  std::string problems() const {
    const TestFolder folder;
    int number = 0;
    for (const auto& [text, stem] : texts_) {
      std::ofstream(folder.path() + "/" + std::to_string(number++) + "_" + stem + ".cl") << text;
    }
    const std::string command = "cd '" + folder.path() + "' && ls | grep '[.]cl$' | xargs -n 16 " +
                                kCompiler + " >log 2>&1";
    const int status = std::system(command.c_str());
    std::ostringstream log;
    log << std::ifstream(folder.path() + "/log").rdbuf();
    if (status == 0 && log.str().empty()) return "";
    return "status " + std::to_string(status) + ": " + log.str().substr(0, 8000);
  }

 private:
  std::map<std::string, std::string> texts_;
  std::set<std::string> stems_;
};

/// Empty, or why there is no compiler. Where STOWAGE_TEST_OPENCL=require, as in ./dev test, that is
/// a failure.
std::string no_compiler() {
  if (std::system("clang --version >/dev/null 2>&1") == 0) return "";
  const char* wanted = std::getenv("STOWAGE_TEST_OPENCL");
  if (wanted != nullptr && std::string(wanted) == "require") ADD_FAILURE() << "there is no clang";
  return "skipped: there is no clang";
}

LaunchView view(const char* layout, const Shape& shape, Place::Memory memory,
                DType dtype = DType::f32) {
  return {Mapping(Layout::parse(layout), shape, dtype_bytes(dtype)), dtype, memory};
}

/// What plans make of a node in images and buffers, f32 and f16.
void add_node(Programs& programs, const OpCase& c) {
  const OpGraph g(c);
  for (const bool images : {true, false}) {
    for (const bool half : {false, true}) {
      PlanOptions options;
      options.simplify = false;
      options.rates.call_us = 1e6;  // of the CPU
      options.device = DeviceOptions{{}, memory_of(images), half};
      options.device->facts.rates = {1e9, 1e9, 1e-6, 1e9, 1e9, 1e-6};
      programs.add(*make_plan(std::make_shared<Graph>(g.graph), options));
    }
  }
}

void add_nodes(Programs& programs) {
  for (const SelftestCase& s : selftest_cases()) {
    OpCase c{.op = std::string(s.op), .attrs = s.attrs, .outputs = s.outputs};
    for (const Ints& extents : s.inputs) c.inputs.push_back({.extents = extents});
    for (const Ints& extents : s.constants) {
      c.inputs.push_back({.extents = extents, .constant = true, .lo = 0.25f});
    }
    if (s.post) add_post(c, op_test::activation_post({Activation::Kind::clip, -1, 9}));
    add_node(programs, c);
  }
  // Sums that several items share, and wide results.
  OpCase conv{.op = "conv"};
  conv.inputs = {{.extents = {1, 128, 3, 3}}, {.extents = {8, 128, 1, 1}, .constant = true}};
  add_node(programs, conv);
  conv.inputs = {{.extents = {1, 8, 40, 45}}, {.extents = {16, 8, 3, 3}, .constant = true}};
  add_node(programs, conv);
  for (const DType dtype : {DType::u8, DType::i8}) {
    OpCase cast{.op = "cast", .attrs = {{"to", std::string("f32")}}};
    cast.inputs = {{.dtype = dtype, .extents = {2, 5, 3, 6}}};
    add_node(programs, cast);
    cast = {.op = "cast", .attrs = {{"to", std::string(dtype_name(dtype))}}};
    cast.inputs = {{.extents = {2, 5, 3, 6}}};
    add_node(programs, cast);
  }
  OpCase softmax{.op = "softmax", .attrs = {{"axis", std::int64_t{-1}}}};
  softmax.inputs = {{.extents = {3, 700}}};
  add_node(programs, softmax);
  OpCase gemm{.op = "gemm"};
  gemm.inputs = {{.extents = {65, 34}}, {.extents = {34, 65}, .constant = true}};
  add_node(programs, gemm);
}

void add_functions(Programs& programs) {
  const Shape shape("nchw", {2, 5, 3, 6});
  const LaunchView texel = view("image-channel", shape, Place::Memory::image);
  const LaunchView plain = view("n c h w", shape, Place::Memory::buffer);
  for (const LaunchView& v : {texel, plain}) {
    const LaunchView in[] = {v, v}, out[] = {v};
    for (int fn = 0; fn <= static_cast<int>(Fn::prelu); ++fn) {
      MapParams params{.function = {static_cast<Fn>(fn), 0.5f, 2}};
      params.operands = params.function.fn < Fn::add ? 1 : 2;
      if (!has_map(params.function.fn)) continue;
      Launch launch;
      launch_map(params, {in, out}, launch);
      programs.add(launch, {in, out});
    }
  }
  // Every activation, one after the other.
  const LaunchView weights =
      view("y:(i h w) x:o/4 lane:o%4", Shape("oihw", {5, 5, 1, 1}), Place::Memory::image);
  const LaunchView slopes = view("y:() x:o/4 lane:o%4", Shape("o", {5}), Place::Memory::image);
  const LaunchView operands[] = {texel, weights, slopes}, out[] = {texel};
  ConvDeviceParams params;
  for (int kind = 0; kind <= static_cast<int>(Activation::Kind::softplus); ++kind) {
    Post post = op_test::activation_post({static_cast<Activation::Kind>(kind), 0.5f, 2});
    if (post.activation.kind == Activation::Kind::prelu) {
      post.input = 2;
      post.broadcast = Post::Broadcast::channel;
    }
    params.posts.push_back(post);
  }
  Launch launch;
  launch_conv(params, {operands, out}, launch);
  programs.add(launch, {operands, out});
}

void add_conversions(Programs& programs) {
  const Shape shape("nchw", {2, 5, 3, 6});
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i8}) {
    std::vector<LaunchView> views;
    for (const char* layout : {"image-channel", "image-height"}) {
      views.push_back(view(layout, shape, Place::Memory::image, dtype));
    }
    for (const char* layout : {"n c h w", "NC4HW4", "image-channel"}) {
      views.push_back(view(layout, shape, Place::Memory::buffer, dtype));
    }
    for (const LaunchView& from : views) {
      for (const LaunchView& to : views) {
        const LaunchView in[] = {from}, out[] = {to};
        programs.add(conversion_launch({in, out}), {in, out});
      }
    }
  }
}

TEST(ClPrograms, CompileWithoutAWarning) {
  if (const std::string none = no_compiler(); !none.empty()) GTEST_SKIP() << none;
  Programs programs;
  add_nodes(programs);
  add_functions(programs);
  add_conversions(programs);
  std::set<std::string> stems;
  const std::string folder = std::string(STOWAGE_SOURCE_DIR) + "/src/kernels";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".cl") stems.insert(entry.path().stem());
  }
  EXPECT_EQ(programs.stems(), stems) << "a source without a launch here";
  EXPECT_EQ(programs.problems(), "") << "of " << programs.size() << " programs";
}

TEST(ClPrograms, MistakesAreFound) {
  if (const std::string none = no_compiler(); !none.empty()) GTEST_SKIP() << none;
  const Shape shape("a", {5});
  const LaunchView in[] = {view("a", shape, Place::Memory::buffer)};
  const LaunchView out[] = {view("a", shape, Place::Memory::buffer)};
  const Launch right = conversion_launch({in, out});
  Programs none;
  none.add(right, {in, out});
  EXPECT_EQ(none.problems(), "");
  Launch undeclared = right;
  undeclared.defines = {{"SOURCE(i0)", "AT_x(no_such_name)"}};
  Programs wrong;
  wrong.add(undeclared, {in, out});
  EXPECT_NE(wrong.problems().find("'no_such_name'"), std::string::npos) << wrong.problems();
  // A warning is enough.
  Launch unused = right;
  unused.defines = {{"SOURCE(i0)", "AT_x(({ int unused; i0; }))"}};
  Programs careless;
  careless.add(unused, {in, out});
  EXPECT_NE(careless.problems().find("'unused'"), std::string::npos) << careless.problems();
}

}  // namespace
}  // namespace stowage
