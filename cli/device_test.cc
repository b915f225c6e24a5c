// SPDX-License-Identifier: Apache-2.0
// The options of devices: files of limits, plans for a device that is not here, and a deployment on
// one that is.
#include "cli/device.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/opencl.h"
#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "cli/test_models.h"
#include "test_paths.h"

namespace stowage::cli {
namespace {

using test::image_model;

/// A device on which everything is cheap, so that small models run there.
constexpr const char* kCheap =
    "rates: {gflops: 1e8, gb_per_s: 1e8, launch_us: 1e-3, upload_gb_per_s: 1e8,\n"
    "        download_gb_per_s: 1e8, crossing_us: 1e-3}\n";

std::vector<std::string> device_files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STOWAGE_SOURCE_DIR) + "/devices")) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

/// As no_opencl() of the suite, for a build without OpenCL, too.
std::string no_device() {
  try {
    list_opencl();
    return "";
  } catch (const Error& e) {
    const char* wanted = std::getenv("STOWAGE_TEST_OPENCL");
    if (wanted != nullptr && std::string_view(wanted) == "require") ADD_FAILURE() << e.what();
    return "skipped: " + e.sentence();
  }
}

bool in_image(const Json& operand) {
  return operand["layout"].get<std::string>().find("in an image") != std::string::npos;
}

TEST(DeviceOptions, WordsThatMeanNothing) {
  struct {
    std::vector<std::string> arguments;
    std::string words;
  } const cases[] = {
      {{"run", "m.onnx", "--memory", "texture"}, "choose any, image or buffer"},
      {{"plan", "m.onnx", "--data-type", "fp16"}, "choose fp32 or fp16_fp32"},
      {{"bench", "m.onnx", "--device", "opencl:-1"}, "choose cpu or opencl[:N]"},
      {{"check", "folder", "--device-limits", "x.yaml"}, "needs --device opencl"},
      {{"bench", "m.onnx", "--tune"}, "--tune needs --device opencl"},
      {{"run", "m.onnx", "--device", "cpu", "--tune"}, "--tune needs --device opencl"},
      {{"run", "m.onnx", "--data-type", "fp16_fp32"}, "--data-type fp16_fp32 needs --device"},
      {{"plan", "m.onnx", "--device", "cpu", "--memory", "image"}, "--memory image needs"},
      {{"check", "folder", "--cosine", "1.1"}, "--cosine"},
      {{"check", "folder", "--cosine", "nan"}, "--cosine"},
      {{"check", "folder", "--cosine", "0"}, "--cosine"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = stowage(c.arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(holds(outcome.err, c.words)) << outcome.err;
  }
}

TEST(DeviceFiles, PlansForDevicesThatAreNotHere) {
  const std::vector<std::string> files = device_files();
  EXPECT_GE(files.size(), 3u);
  const std::string m = std::string(STOWAGE_SOURCE_DIR) + "/models/upscale_x2.onnx";
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    DeviceArguments arguments;
    arguments.device = "opencl";
    arguments.device_limits = file;
    const std::optional<DeviceOptions> options = device_options(arguments, "default");
    ASSERT_TRUE(options.has_value());
    EXPECT_NE(options->facts.name, "");
    EXPECT_TRUE(options->facts.images && options->facts.unified);
    // Where this processor has wide vectors, its convolutions by Winograd's method would win.
    const auto images = [&](const std::string& shape, const std::string& memory) {
      const Outcome plan = stowage({"plan", m, "--shape", shape, "--device", "opencl", "--memory",
                                    memory, "--device-limits", file, "--threads", "1", "--rates",
                                    "default", "--exact", "--json"});
      EXPECT_EQ(plan.code, 0) << plan.err;
      const Json json = Json::parse(plan.out);
      return std::ranges::count_if(json["nodes"], [](const Json& node) {
        return std::ranges::any_of(node["outputs"], in_image);
      });
    };
    EXPECT_GT(images("1,3,192,256", "image"), 5);
    EXPECT_EQ(images("1,3,192,256", "buffer"), 0);
  }
}

TEST(DeviceFiles, LimitsKeepImagesSmall) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", image_model({"x", {1, 8, 40, 50}}, {"y", {1, 8, 40, 50}}));
  const auto plan = [&](const std::string& limits) {
    const Outcome outcome = stowage({"plan", m, "--device", "opencl", "--device-limits",
                                     folder.write("l.yaml", kCheap + limits)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  // 8 channels are two blocks of 50 columns.
  EXPECT_TRUE(holds(plan("image_width: 100\nimage_height: 40\n"), "in an image"));
  EXPECT_FALSE(holds(plan("image_width: 99\nimage_height: 40\n"), "in an image"));
  EXPECT_FALSE(holds(plan("image_width: 100\nimage_height: 39\n"), "in an image"));
  EXPECT_FALSE(holds(plan("images: false\n"), "in an image"));
  EXPECT_TRUE(holds(plan("images: false\n"), "in a buffer"));
}

TEST(DeviceFiles, KernelsAreLeftOut) {
  const TestFolder folder;
  DeviceArguments arguments;
  arguments.device = "opencl";
  arguments.device_limits = folder.write("l.yaml", "avoid: [cl_conv, cl_pool]\n");
  EXPECT_EQ(device_options(arguments, "default")->avoid,
            (std::vector<std::string>{"cl_conv", "cl_pool"}));
  arguments.winograd = false;
  EXPECT_EQ(device_options(arguments, "default")->avoid.front(), "cl_winograd");
}

TEST(DeviceFiles, BadOnesAreToldByLine) {
  struct {
    std::string yaml, words;
  } const cases[] = {
      {"", "l.yaml:1: limits of a device are keys with values"},
      {"4096", "l.yaml:1: limits of a device are keys"},
      {"[image_width]", "l.yaml:1: limits of a device are keys"},
      {"images: true\nwidth: 3\n", "l.yaml:2: there is no limit 'width'"},
      {"rates: {tflops: 1}", "l.yaml:1: there is no rate 'tflops'"},
      {"rates: 3", "l.yaml:1: 'rates' are keys with values"},
      {"rates: {gflops: nan}", "'gflops' is no number from"},
      {"rates: {gflops: .nan}", "'gflops' is no number from"},
      {"rates: {gflops: 0}", "'gflops' is no number from"},
      {"rates: {gflops: inf}", "'gflops' is no number from"},
      {"rates: {gflops: [1]}", "'gflops' is no number from"},
      {"image_width: -4096", "'image_width' is no number from 1 to"},
      {"image_width: 0", "'image_width' is no number from 1 to"},
      {"image_width: 4096.5", "'image_width' is no number"},
      {"image_width: 99999999999999999999", "'image_width' is no number"},
      {"image_width:", "'image_width' is no number"},
      {"image_width: 1\nimage_width: 2", "l.yaml:2: the key 'image_width' stands there twice"},
      {"images: 3", "'images' is true or false"},
      {"avoid: cl_conv", "l.yaml:1: 'avoid' is a list of kernels"},
      {"avoid:\n  - cl_conv\n  - conv", "l.yaml:3: 'conv' is no kernel of devices"},
      {"name: [a]", "'name' must be one value"},
      {"image_width: &a 1", "anchors are not understood"},
      {std::string(100000, '['), "l.yaml:1: "},
      {std::string("\0\xff\xfe", 3), "l.yaml:"},
  };

  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", image_model({"x", {1, 2, 3, 4}}, {"y", {1, 2, 3, 4}}));
  const auto plan = [&](const std::string& file) {
    return stowage({"plan", m, "--device", "opencl", "--device-limits", file});
  };
  for (const auto& c : cases) {
    const Outcome outcome = plan(folder.write("l.yaml", c.yaml));
    EXPECT_EQ(outcome.code, 3) << c.yaml.substr(0, 99);
    EXPECT_TRUE(holds(outcome.err, c.words)) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  EXPECT_EQ(plan(folder.path("none.yaml")).code, 3);
  EXPECT_EQ(plan(folder.write("l.yaml", std::string((1 << 20) + 1, ' '))).code, 6);
  EXPECT_EQ(stowage({"plan", m, "--device-limits", folder.path("l.yaml")}).code, 2);
}

/// Programs are kept where that is possible.
TEST(OpenDevice, NeedsNoFolderForPrograms) {
  if (const std::string none = no_device(); !none.empty()) GTEST_SKIP() << none;
  const TestFolder folder;
  const char* usual = std::getenv("XDG_CACHE_HOME");
  const std::string before = usual == nullptr ? "" : usual;
  setenv("XDG_CACHE_HOME", folder.write("file", "no folder").c_str(), 1);
  DeviceArguments arguments;
  arguments.device = "opencl";
  arguments.or_cpu = true;
  open_device(arguments);
  EXPECT_NE(arguments.opened, nullptr) << arguments.missing;
  setenv("XDG_CACHE_HOME", folder.path("made").c_str(), 1);
  arguments.opened = nullptr;
  open_device(arguments);
  EXPECT_NE(arguments.opened, nullptr) << arguments.missing;
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("made/stowage/programs")));
  if (usual == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
}

// checklist 6.25
TEST(DeployOnADevice, FromTheFileToTheDevice) {
  if (const std::string none = no_device(); !none.empty()) GTEST_SKIP() << none;
  const TestFolder folder;
  folder.write("m.onnx", image_model({"x", {1, 6, 5, 7}}, {"y", {1, 6, 5, 7}}));
  const std::string limits = folder.write("cheap.yaml", kCheap);
  const auto stowage_on = [&](const std::string& command, const std::string& lines,
                              const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {command, "--deploy",
                                          folder.write("d.yml", deployment("", lines)),
                                          "--device-limits", limits};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return stowage(arguments);
  };
  const std::string gpu = "    runtime: gpu\n", half = gpu + "    data_type: fp16_fp32\n";

  const struct {
    std::string lines;
    std::vector<std::string> more;
    std::string where;
  } plans[] = {{gpu, {}, "in an image"},
               {"    runtime: cpu+gpu\n", {}, "in an image"},
               {gpu + "    cl_mem_type: buffer\n", {}, "in a buffer"},
               {gpu + "    cl_mem_type: buffer\n", {"--memory", "image"}, "in an image"},
               {half, {}, "f16"}};

  for (const auto& c : plans) {
    const Outcome plan = stowage_on("plan", c.lines, c.more);
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_TRUE(holds(plan.out, c.where)) << plan.out;
  }

  const struct {
    std::string lines, threshold;
    std::vector<std::string> more;
    bool pass;
  } checks[] = {
      {gpu, "{gpu: 1}", {}, true},
      {half, "{gpu: 0.9999}", {}, true},
      {half, "{cpu: 1}", {}, true},  // that of the CPU does not count there
      {half, "{gpu: 0.999999999999}", {}, false},
      {half, "{gpu: 0.999999999999}", {"--cosine", "0.995"}, true},
      {half, "{gpu: 0.999999999999}", {"--data-type", "fp32"}, true},
      {half, "0.5", {"--cosine", "0.999999999999"}, false},
  };

  for (const auto& c : checks) {
    const Outcome check =
        stowage_on("check", c.lines + "    validation_threshold: " + c.threshold + "\n", c.more);
    EXPECT_EQ(check.code, c.pass ? 0 : 1) << check.out << check.err;
    EXPECT_TRUE(holds(check.out, "against --device cpu --planner source")) << check.out;
  }
  const Outcome run = stowage_on("run", half, {});
  EXPECT_EQ(run.code, 0) << run.err;
  const Outcome bench = stowage_on("bench", gpu, {"--runs", "1", "--layers", "--json"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(Json::parse(bench.out)["device"], "opencl");
}

}  // namespace
}  // namespace stowage::cli
