// SPDX-License-Identifier: Apache-2.0
// Deployment files: good ones and bad ones.
#include "cli/deploy.h"

#include "cli/io/sha256.h"
#include "cli/io/yaml.h"
#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "cli/test_models.h"
#include "test_paths.h"

namespace stowage::cli {
namespace {

using test::model;

std::string source_file(const std::string& name) {
  std::ifstream in(std::string(STOWAGE_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Deploy, TheExampleOfTheDocumentation) {
  const std::string page = source_file("docs/deployment.md");
  const std::string fence = "```yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  ASSERT_NE(begin, std::string::npos + fence.size());
  EXPECT_EQ(page.substr(begin, page.find("```", begin) - begin),
            source_file("models/upscale_x2.yml"));
  const std::string file = std::string(STOWAGE_SOURCE_DIR) + "/models/upscale_x2.yml";
  const std::vector<Deployment> list = read_deployments(file);
  ASSERT_EQ(list.size(), 1u);
  const Deployment& d = list[0];
  EXPECT_EQ(d.name, "upscale_x2");
  EXPECT_EQ(d.threads, 2);
  EXPECT_EQ(d.threshold, 0.999);
  ASSERT_EQ(d.inputs.size(), 1u);
  EXPECT_EQ(d.inputs[0].name, "image");
  EXPECT_EQ(d.inputs[0].shape, (std::vector<std::int64_t>{1, 24, 32, 3}));
  ASSERT_TRUE(d.inputs[0].format.has_value());
  EXPECT_EQ(d.inputs[0].format->format, DataFormat::nhwc);
  EXPECT_EQ(d.inputs[0].least, 0);
  EXPECT_NO_THROW(verify_deployment(d));
  const Outcome outcome = stowage({"check", "--deploy", file});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(holds(outcome.out, "PASS upscale_x2\n     output upscaled  similarity "))
      << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "against --planner source\n1 passed, 0 failed, 0 skipped"))
      << outcome.out;
}

TEST(Deploy, EveryKeyOfTheTableIsUnderstood) {
  // The first column of the table, and the list of keys without a meaning.
  const std::string page = source_file("docs/deployment.md");
  const TestFolder folder;
  int keys = 0;
  for (std::size_t at = page.find("| key |"); (at = page.find('`', at)) != std::string::npos;) {
    const std::size_t end = page.find('`', at + 1);
    const std::string key = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (key == "library_name") break;
    if (key.find('_') == std::string::npos || key.starts_with("fp")) continue;
    ++keys;
    int refusals = 0;
    for (const std::string& before : {std::string(), std::string("models:\n  m:\n    ")}) {
      try {
        read_deployments(folder.write("d.yml", before + key + ": [[{}]]\n"));
      } catch (const Error& error) {
        refusals += holds(error.sentence(), "is no key");
      }
    }
    EXPECT_LT(refusals, 2) << key;
  }
  EXPECT_GT(keys, 30);
}

TEST(Deploy, ValuesInEveryNotation) {
  const TestFolder folder;
  folder.write("d.yml", R"(library_name: lib
target_abis: [arm64-v8a]
models:
  one:
    platform: ONNX
    model_file_path: sub/one.onnx
    weight_file_path:
    runtime: cpu+gpu
    winograd: 0
    obfuscate: 1
    data_type: FP16_FP32
    cl_mem_type: buffer
    limit_opencl_kernel_time: 0
    opencl_queue_window_size: 0
    subgraphs:
      - input_tensors: [a, b]
        input_shapes:
          - 1,2,3,4
          - [5, 6]
        input_data_formats: NHWC
        input_data_types: [float32, int32]
        input_ranges: ["-2.5,+2.5", "0,9"]
        output_tensors: c
        output_shapes: [1, 2, 3, 4]
        output_data_format: NONE
        validation_inputs_data: [a.npy, /abs/b.raw]
        validation_threshold: {CPU: 0.9, GPU: 0.8}
  two:
    model_file_path: /two.onnx
    input_tensors: x
    input_shapes: 7
    input_ranges: [0, 1]
    output_tensors: y
    validation_threshold: 0.5
)");
  const std::vector<Deployment> list = read_deployments(folder.path("d.yml"));
  ASSERT_EQ(list.size(), 2u);
  const Deployment& one = list[0];
  EXPECT_EQ(one.model, folder.path("sub/one.onnx"));
  EXPECT_EQ(one.threshold, 0.9);
  EXPECT_EQ(one.ignored, (std::vector<std::string>{"target_abis", "obfuscate"}));
  EXPECT_TRUE(one.notes.empty());
  EXPECT_EQ(one.device_threshold, 0.8);
  EXPECT_EQ(one.device, "opencl");
  EXPECT_TRUE(one.or_cpu);
  EXPECT_EQ(one.memory, "buffer");
  EXPECT_EQ(one.data_type, "fp16_fp32");
  EXPECT_FALSE(one.refusal.has_value());
  ASSERT_EQ(one.inputs.size(), 2u);
  EXPECT_EQ(one.inputs[0].shape, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(one.inputs[1].shape, (std::vector<std::int64_t>{5, 6}));
  ASSERT_TRUE(one.inputs[0].format.has_value() && one.inputs[1].format.has_value());
  EXPECT_EQ(one.inputs[0].format->format, DataFormat::nhwc);
  EXPECT_TRUE(one.inputs[1].format->for_all);  // two axes have no such order
  ASSERT_TRUE(one.outputs[0].format.has_value());
  EXPECT_EQ(one.outputs[0].format->format, DataFormat::none);
  EXPECT_FALSE(one.outputs[0].format->for_all);
  EXPECT_FALSE(list[1].inputs[0].format.has_value());
  EXPECT_EQ(one.inputs[1].dtype, DType::i32);
  EXPECT_EQ(one.inputs[0].least, -2.5);
  EXPECT_EQ(one.inputs[0].most, 2.5);
  EXPECT_EQ(one.inputs[0].data, folder.path("a.npy"));
  EXPECT_EQ(one.inputs[1].data, "/abs/b.raw");
  ASSERT_EQ(one.outputs.size(), 1u);
  EXPECT_EQ(one.outputs[0].shape, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(list[1].model, "/two.onnx");
  EXPECT_EQ(list[1].inputs[0].shape, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(list[1].inputs[0].most, 1);
  EXPECT_EQ(list[1].threshold, 0.5);
  EXPECT_EQ(list[1].device_threshold, 0.5);
  EXPECT_FALSE(list[1].device.has_value() || list[1].memory.has_value());
  EXPECT_EQ(choose_deployment(list, "two").name, "two");
  expect_error([&] { choose_deployment(list, ""); }, ErrorCode::usage, "--model: one, two");
  expect_error([&] { choose_deployment(list, "six"); }, ErrorCode::usage, "no model 'six'");
}

// checklist 6.22
TEST(Deploy, BadFilesAreToldByLine) {
  struct {
    std::string yaml, words;
  } const cases[] = {
      {"", "d.yml:1: this is no deployment file"},
      {"[a]", "d.yml:1: this is no deployment file"},
      {"library_name: a\n", "d.yml:1: there is no model"},
      {"models: [a]\n", "d.yml:1: there is no model"},
      {"models:\n  m:\n", "d.yml:2: the model 'm' has no keys"},
      {"models:\n  m:\n    runtime: cpu\n", "the model 'm' has no model_file_path"},
      {"model: 1\n", "d.yml:1: 'model' is no key of a deployment file"},
      {"models: {m: {modle: 1}}\n", "d.yml:1: 'modle' is no key of a model"},
      {deployment("        input_shape: 1\n"), "d.yml:7: 'input_shape' is no key of a subgraph"},
      {deployment("        input_tensors: z\n"),
       "d.yml:7: the key 'input_tensors' stands there twice"},
      {deployment("", "    input_tensors: z\n"),
       "d.yml:6: 'input_tensors' is said by the model and"},
      {deployment("      - input_tensors: z\n"), "d.yml:4: a model has one subgraph"},
      {deployment("        input_shapes: 1,a\n"), "d.yml:7: 'a' is no extent"},
      {deployment("        input_shapes: 1,-2\n"), "d.yml:7: '-2' is no extent"},
      {deployment("        input_shapes: 1,\n"), "d.yml:7: '' is no extent"},
      {deployment("        input_shapes: ['1,2', '3,4']\n"), "has 2 values for 1 tensor"},
      {deployment("        input_shapes: {a: 1}\n"), "d.yml:7: 'input_shapes' must be a value or"},
      {deployment("        input_shapes: 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n"), "d.yml:7: "},
      {deployment("        input_shapes: 9999999999,9999999999\n"), "d.yml:7: "},
      {deployment("        input_ranges: 1\n"), "d.yml:7: a range is two numbers"},
      {deployment("        input_ranges: 0,inf\n"), "d.yml:7: a range is two numbers"},
      {deployment("        input_ranges: 2,1\n"), "the range of 'x' is empty"},
      {deployment("        input_data_formats: NCWH\n"), "d.yml:7: the format 'NCWH' is unknown"},
      {deployment("        input_data_format: NCHW\n        input_data_formats: NCHW\n"),
       "d.yml:7: 'input_data_format' and 'input_data_formats' say the same"},
      {deployment("        input_data_types: f32\n"), "d.yml:7: the data type 'f32' is unknown"},
      {deployment("        validation_inputs_data: https://a/b.npy\n"),
       "d.yml:7: 'https://a/b.npy'"},
      {deployment("        validation_outputs_data: [a, b]\n"), "has 2 values for 1 tensor"},
      {deployment("        validation_threshold: 1.5\n"), "d.yml:7: the threshold '1.5'"},
      {deployment("        validation_threshold: nan\n"), "d.yml:7: the threshold 'nan'"},
      {deployment("        validation_threshold: {tpu: 1}\n"), "d.yml:7: 'tpu' is no runtime"},
      {deployment("", "    num_threads: 0\n"), "d.yml:4: num_threads '0'"},
      {deployment("", "    cl_mem_type: texture\n"),
       "d.yml:4: cl_mem_type 'texture' is none of image, buffer, any"},
      {deployment("", "    winograd: 3\n"), "d.yml:4: winograd '3' is not possible; write 0, 2 or"},
      {deployment("", "    limit_opencl_kernel_time: 2\n"), "is not possible; write 0 or 1"},
      {deployment("", "    opencl_queue_window_size: -1\n"), "is not possible; write 0 or more"},
      {deployment("", "    num_threads: [1]\n"), "d.yml:4: 'num_threads' must be one value"},
      {deployment("", "    model_sha256_checksum: abc\n"), "d.yml:4: a SHA-256 has 64"},
      {"models: {m: {model_file_path: m, input_tensors: [x, x], output_tensors: y}}",
       "input 'x' is named twice"},
      {"models: {m: {model_file_path: m, input_tensors: [], output_tensors: y}}", "is empty"},
      {"models: {m: {model_file_path: m, input_tensors: [[]], output_tensors: y}}",
       "list of words"},
      {"models: &a {m: 1}\n", "d.yml:1: anchors are not understood"},
      {"a: &x 1\nb: *x\n", "anchors are not understood"},
      {"a: *x\n", "d.yml:1: "},
      {"a: 1\n--- \nb: 1\n", "d.yml:2: a second document"},
      {"a: 1\n b: 1\n", "d.yml:2: "},
      {"a: [1\n", "d.yml:"},
      {"a: \"\\0\"\n", "d.yml:1: a value holds a zero byte"},
      {"? [a]\n: 1\n", "d.yml:1: a key must be a word"},
      {"\ta: 1\n", "d.yml:1: "},
      {std::string(100000, '['), "d.yml:1: "},
      {std::string(20, '[') + std::string(20, ']'),
       "d.yml:1: lists and maps are nested deeper than 16"},
      {"a: " + std::string(1000, '{'), "d.yml:1: "},
  };

  const TestFolder folder;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.yaml.substr(0, 200));
    const std::string file = folder.write("d.yml", c.yaml);
    expect_error([&] { read_deployments(file); }, ErrorCode::bad_input, c.words);
    const Outcome outcome = stowage({"run", "--deploy", file});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
  }
  std::string many = "a: [";
  for (int i = 0; i <= kMaxYamlNodes; ++i) many += "1,";
  expect_error([&] { read_deployments(folder.write("d.yml", many + "]")); }, ErrorCode::bad_input,
               "more than 16384 values");
  expect_error([&] { read_deployments(folder.write("d.yml", std::string((1 << 20) + 1, ' '))); },
               ErrorCode::limit, "");
  expect_error([&] { read_deployments(folder.path("none.yml")); }, ErrorCode::bad_input,
               "none.yml");
}

TEST(Deploy, NoCutCrashes) {
  const TestFolder folder;
  const std::string whole = source_file("models/upscale_x2.yml");
  for (std::size_t n = 0; n < whole.size(); n += 7) {
    for (const char c : {'\0', ':', '-', '\t', '\xff', '['}) {
      std::string cut = whole.substr(0, n) + c + (n % 2 == 0 ? whole.substr(n) : "");
      try {
        read_deployments(folder.write("d.yml", cut));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
      }
    }
  }
}

// checklist 6.25: the keys of a device, and that the command line wins
TEST(Deploy, KeysOfADevice) {
  using Word = std::optional<std::string>;

  struct {
    std::string lines;
    Word said;  ///< of the command line: the device
    Word device, memory, data_type;
    std::string notes;
  } const cases[] = {
      {"", {}, {}, {}, {}, ""},
      {"runtime: gpu", {}, "opencl", {}, {}, ""},
      {"runtime: gpu", "cpu", "cpu", {}, {}, ""},
      {"runtime: cpu", "opencl:1", "opencl:1", {}, {}, ""},
      {"runtime: cpu+gpu", {}, "opencl", {}, {}, ""},
      {"cl_mem_type: Buffer", "opencl", "opencl", "buffer", {}, ""},
      {"cl_mem_type: image", {}, {}, {}, {}, ""},
      {"data_type: fp32_fp32", {}, {}, {}, {}, ""},
      {"data_type: fp16_fp32", "opencl", "opencl", {}, "fp16_fp32", ""},
      {"data_type: fp16_fp32", {}, {}, {}, {}, "d.yml:4: the CPU keeps fp32"},
      {"winograd: 4", {}, {}, {}, {}, "d.yml:4: winograd 4 has no effect: tiles have"},
      {"winograd: 2", {}, {}, {}, {}, ""},
      {"winograd: 0", {}, {}, {}, {}, ""},
      {"limit_opencl_kernel_time: 1", {}, {}, {}, {}, "d.yml:4: limit_opencl_kernel_time 1 has no"},
      {"opencl_queue_window_size: 8", {}, {}, {}, {}, "d.yml:4: opencl_queue_window_size 8 has no"},
  };

  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {2}}}, {"y", {2}}));
  for (const auto& c : cases) {
    SCOPED_TRACE(c.lines);
    const std::string file =
        folder.write("d.yml", deployment("", c.lines.empty() ? "" : "    " + c.lines + "\n"));
    const Deployment d = read_deployments(file).at(0);
    ModelOptions options;
    options.device = c.said;
    apply_deployment(d, model_ports(d.model), options);
    EXPECT_EQ(options.device, c.device);
    EXPECT_EQ(options.memory, c.memory);
    EXPECT_EQ(options.data_type, c.data_type);
    const std::string notes = deployment_notes(d, options);
    EXPECT_TRUE(holds(notes, c.notes)) << notes;
    EXPECT_EQ(notes.empty(), c.notes.empty()) << notes;
    EXPECT_EQ(options.winograd, c.lines != "winograd: 0");
    EXPECT_EQ(options.exact, !options.winograd);
    // All that the command line says stays.
    options.memory = "image";
    options.data_type = "fp32";
    apply_deployment(d, model_ports(d.model), options);
    EXPECT_EQ(options.memory, "image");
    EXPECT_EQ(options.data_type, "fp32");
  }
}

TEST(Deploy, OptionsOfDevicesNeedOne) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {2}}}, {"y", {2}}));
  for (const std::string line : {"", "    runtime: cpu\n", "    cl_mem_type: image\n"}) {
    const std::string file = folder.write("d.yml", deployment("", line));
    for (const std::string command : {"run", "plan", "bench", "check"}) {
      SCOPED_TRACE(command + line);
      // Of several deployments one fails, the others go on.
      const int code = command == "check" ? 1 : 2;
      const auto expect_refused = [&](const std::string& option, const std::string& value) {
        const Outcome outcome = stowage({command, "--deploy", file, option, value});
        EXPECT_EQ(outcome.code, code);
        EXPECT_TRUE(
            holds(outcome.out + outcome.err, option + " " + value + " needs --device opencl"))
            << outcome.out << outcome.err;
      };
      expect_refused("--memory", "image");
      expect_refused("--data-type", "fp16_fp32");
      EXPECT_EQ(stowage({command, "--deploy", file, "--memory", "any"}).code, 0);
    }
  }
}

TEST(Deploy, WhereTheDeviceIsMissingTheCpuMayDo) {
  DeviceArguments arguments;
  arguments.device = "opencl:999";
  expect_error([&] { open_device(arguments); }, ErrorCode::device, "");
  arguments.or_cpu = true;
  open_device(arguments);
  EXPECT_FALSE(on_device(arguments));
  EXPECT_FALSE(device_options(arguments, "default").has_value());
  EXPECT_TRUE(holds(deployment_notes(Deployment{}, arguments), "note    the CPU computes: "));
}

// checklist 1.9, 5.7: what is not here is a sentence
TEST(Deploy, WhatCannotRunHere) {
  struct {
    std::string line;
    int code;
    std::string words;
  } const cases[] = {
      {"platform: caffe", 4, "models of caffe cannot be read"},
      {"weight_file_path: w.bin", 4, "a file of weights"},
      {"quantize: 1", 4, "quantised"},
      {"runtime: hexagon", 4, "no runtime 'hexagon'; write cpu, gpu or cpu+gpu"},
      {"data_type: bf16_fp32", 4, "the data type 'bf16_fp32'"},
  };

  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {2}}}, {"y", {2}}));
  for (const auto& c : cases) {
    const std::string file = folder.write("d.yml", deployment("", "    " + c.line + "\n"));
    const Outcome run = stowage({"run", "--deploy", file});
    EXPECT_EQ(run.code, c.code) << c.line;
    EXPECT_TRUE(holds(run.err, "d.yml:4: ") && holds(run.err, c.words)) << run.err;
    const Outcome check = stowage({"check", "--deploy", file});
    EXPECT_EQ(check.code, c.code == 4 ? 0 : 1) << check.out;
    EXPECT_TRUE(holds(check.out, c.code == 4 ? "SKIP m: " : "FAIL m: ")) << check.out;
  }
}

TEST(Deploy, Sha256) {
  const TestFolder folder;

  const struct {
    std::string bytes, sum;
  } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };

  for (const auto& c : cases) EXPECT_EQ(sha256_of_file(folder.write("f", c.bytes)), c.sum);
  // The model is not looked at before its sum is right.
  folder.write("m.onnx", "no model");
  const std::string wrong =
      folder.write("d.yml", deployment("", "    model_sha256_checksum: " + cases[1].sum + "\n"));
  const Outcome outcome = stowage({"run", "--deploy", wrong});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(holds(outcome.err, "d.yml:4: ") && holds(outcome.err, "has the SHA-256"))
      << outcome.err;
}

}  // namespace
}  // namespace stowage::cli
