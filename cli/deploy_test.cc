// SPDX-License-Identifier: Apache-2.0
// Deployment files: good ones, bad ones, and run and check on them.
#include "cli/deploy.h"

#include <cmath>

#include "cli/compare.h"
#include "cli/io/sha256.h"
#include "cli/io/yaml.h"
#include "cli/test_cli.h"
#include "cli/test_models.h"
#include "cli/test_tflite.h"
#include "test_paths.h"

namespace stowage::cli {
namespace {

using test::image_model;
using test::model;

std::string source_file(const std::string& name) {
  std::ifstream in(std::string(STOWAGE_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool holds(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// A model of one subgraph; `more` are lines of the subgraph.
std::string deployment(std::string_view more = "", std::string_view model_lines = "") {
  return "models:\n  m:\n    model_file_path: m.onnx\n" + std::string(model_lines) +
         "    subgraphs:\n      - input_tensors: x\n        output_tensors: y\n" +
         std::string(more);
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
    if (key.find('_') == std::string::npos || key == "fp32_fp32") continue;
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
  EXPECT_EQ(one.ignored, (std::vector<std::string>{"target_abis", "winograd"}));
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

// checklist 1.9, 5.7, 6.25: what is not here is a sentence
TEST(Deploy, WhatCannotRunHere) {
  struct {
    std::string line;
    int code;
    std::string words;
  } const cases[] = {
      {"platform: caffe", 4, "models of caffe cannot be read"},
      {"weight_file_path: w.bin", 4, "a file of weights"},
      {"quantize: 1", 4, "quantised"},
      {"runtime: gpu", 5, "no OpenCL runtime"},
      {"runtime: hexagon", 4, "no runtime 'hexagon'"},
      {"data_type: fp16_fp32", 4, "the data type 'fp16_fp32'"},
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

std::string floats_text(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(Deploy, RunTakesDataFromTheFileAndTheCommandLineWins) {
  const TestFolder folder;
  folder.write("m.onnx", image_model({"x", {1, 2, 1, 2}}, {"y", {1, 2, 1, 2}}));
  folder.write("x.raw", floats_text({-1, 2, 3, -4}));
  const std::string file = folder.write(
      "d.yml", deployment("        input_shapes: 1,1,2,2\n        input_data_formats: NHWC\n"
                          "        output_data_formats: NHWC\n        winograd: 0\n"
                          "        validation_inputs_data: x.raw\n"));
  const std::string y = folder.path("y.npy");
  const Outcome outcome = stowage({"run", "--deploy", file, "--output", y});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(holds(outcome.out, "nothing here depends on winograd")) << outcome.out;
  const Tensor tensor = read_npy(y);
  EXPECT_EQ(tensor.shape()[3], 2);
  EXPECT_EQ(values_of(tensor), (std::vector<double>{0, 2, 3, 0}));
  // In the model's order: c 0 has -1 and 3.
  ASSERT_EQ(stowage({"run", "--deploy", file, "--output-format", "NCHW", "--output", y}).code, 0);
  EXPECT_EQ(values_of(read_npy(y)), (std::vector<double>{0, 3, 2, 0}));
  write_floats(folder, "other.npy", {1, 2, 1, 2}, {5, 6, -7, 8});
  const Outcome other =
      stowage({"run", "--deploy", file, "--input", folder.path("other.npy"), "--input-format",
               "NCHW", "--output-format", "NCHW", "--output", y});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(values_of(read_npy(y)), (std::vector<double>{5, 6, 0, 8}));
}

TEST(Deploy, RandomDataStaysInItsRangeAndTheSame) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {-1, 1000}}}, {"y", {-1, 1000}}));
  const std::string file = folder.write("d.yml", deployment("        input_ranges: 2,3\n"));
  std::vector<double> first;
  for (const std::string name : {"a.npy", "b.npy"}) {
    ASSERT_EQ(stowage({"run", "--deploy", file, "--output", folder.path(name)}).code, 0);
    const std::vector<double> values = values_of(read_npy(folder.path(name)));
    ASSERT_EQ(values.size(), 1000u);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_TRUE(*least >= 2 && *least < 2.1 && *most <= 3 && *most > 2.9) << *least << " " << *most;
    if (first.empty()) first = values;
    EXPECT_EQ(values, first);
  }
}

TEST(Deploy, CheckComparesBySimilarity) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {4}}}, {"y", {4}}));
  folder.write("x.raw", floats_text({1, -2, 3, 4}));
  write_floats(folder, "right.npy", {4}, {1, 0, 3, 4});
  write_floats(folder, "wrong.npy", {4}, {1, 3, 0, 4});
  write_floats(folder, "nan.npy", {4}, {1, NAN, 3, 4});
  write_floats(folder, "short.npy", {3}, {1, 0, 3});
  folder.write("right.raw", floats_text({1, 0, 3, 4}));
  folder.write("short.raw", floats_text({1, 0, 3}));

  const struct {
    std::string expected, threshold;
    bool pass;
    std::string words;
  } cases[] = {
      {"right.npy", "0.999", true, "similarity 1  sqnr exact  against right.npy"},
      {"right.raw", "1", true, "against right.raw"},
      {"wrong.npy", "0.999", false, "output 'y' has a similarity of 0.65"},
      {"wrong.npy", "0.6", true, "similarity 0.65"},
      {"nan.npy", "0.6", false, "similarity of nan"},
      {"short.npy", "0.6", false, "'y' has [4]"},
      {"short.raw", "0.6", false, "has 12 bytes"},
      {"none.npy", "0.6", false, "none.npy"},
  };

  for (const auto& c : cases) {
    const std::string file = folder.write(
        "d.yml", deployment("        validation_inputs_data: x.raw\n        input_shapes: 4\n"
                            "        validation_outputs_data: " +
                            c.expected + "\n        validation_threshold: " + c.threshold + "\n"));
    const Outcome outcome = stowage({"check", "--deploy", file});
    EXPECT_EQ(outcome.code, c.pass ? 0 : 1) << c.expected << outcome.err;
    EXPECT_TRUE(holds(outcome.out, c.pass ? "PASS m\n" : "FAIL m: ")) << outcome.out;
    EXPECT_TRUE(holds(outcome.out, c.words)) << outcome.out;
    EXPECT_TRUE(holds(outcome.out, c.pass ? "1 passed, 0 failed" : "0 passed, 1 failed"));
  }
}

// checklist 6.24
TEST(Deploy, NamesAndShapesAreThoseOfTheModel) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {1, 3, 5, 7}}}, {"y", {1, 3, 5, 7}}));

  const struct {
    std::string more, words;
  } cases[] = {
      {"        input_shapes: 1,5,7,3\n", "write input_data_formats: NHWC"},
      {"        output_shapes: 1,5,7,3\n", "d.yml:6: output 'y' has shape [1, 3, 5, 7]"},
      {"        validation_inputs_data: x.bin\n", "x.bin"},
  };

  for (const auto& c : cases) {
    const std::string file = folder.write("d.yml", deployment(c.more));
    const Outcome outcome = stowage({"run", "--deploy", file});
    EXPECT_EQ(outcome.code, 3) << outcome.out;
    EXPECT_TRUE(holds(outcome.err, c.words)) << outcome.err;
  }
  std::string other = deployment();
  other.replace(other.find("tensors: x"), 10, "tensors: q");
  const Outcome input = stowage({"run", "--deploy", folder.write("d.yml", other)});
  EXPECT_EQ(input.code, 3);
  EXPECT_TRUE(holds(input.err, "d.yml:5: the model has no input 'q'; it has 'x'")) << input.err;
  other = deployment();
  other.replace(other.find("tensors: y"), 10, "tensors: q");
  const Outcome output = stowage({"check", "--deploy", folder.write("d.yml", other)});
  EXPECT_TRUE(holds(output.out, "d.yml:6: the model has no output 'q'; it has 'y'")) << output.out;
}

std::string tflite_deployment(std::string_view more = "", std::string_view model_lines = "") {
  std::string file = deployment(more, model_lines);
  file.replace(file.find("m.onnx"), 6, "m.tflite");
  return file;
}

// checklist 6.14, 6.15, 6.19
TEST(Deploy, ATfliteModelIsInNhwc) {
  const TestFolder folder;
  folder.write("m.tflite", test::tflite_image_model("x", {1, 1, 2, 3}, "y"));
  folder.write("x.raw", floats_text({1, 2, -3, 4, -5, 6}));
  const std::string y = folder.path("y.npy");

  const struct {
    std::string more;
    std::vector<double> values;  // as the file is wanted
    std::vector<std::int64_t> shape;
  } cases[] = {
      {"", {1, 2, 0, 4, 0, 6}, {1, 1, 2, 3}},
      {"        input_data_formats: NHWC\n        input_shapes: 1,1,2,3\n",
       {1, 2, 0, 4, 0, 6},
       {1, 1, 2, 3}},
      // Rows of channels: pixel 0 has 1, -3, -5.
      {"        input_data_formats: NCHW\n        input_shapes: 1,3,1,2\n",
       {1, 0, 0, 2, 4, 6},
       {1, 1, 2, 3}},
      {"        input_data_formats: NCHW\n", {1, 0, 0, 2, 4, 6}, {1, 1, 2, 3}},
      {"        input_data_formats: NCHW\n        output_data_formats: NCHW\n"
       "        output_shapes: 1,3,1,2\n",
       {1, 2, 0, 4, 0, 6},
       {1, 3, 1, 2}},
      {"        output_data_formats: NCHW\n", {1, 4, 2, 0, 0, 6}, {1, 3, 1, 2}},
      {"        input_data_formats: NONE\n", {1, 2, 0, 4, 0, 6}, {1, 1, 2, 3}},
  };

  for (const auto& c : cases) {
    const std::string file =
        folder.write("d.yml", tflite_deployment(c.more + "        validation_inputs_data: x.raw\n",
                                                "    platform: tflite\n"));
    const Outcome run = stowage({"run", "--deploy", file, "--output", y});
    ASSERT_EQ(run.code, 0) << run.err << c.more;
    const Tensor tensor = read_npy(y);
    EXPECT_EQ(values_of(tensor), c.values) << c.more;
    EXPECT_TRUE(std::equal(c.shape.begin(), c.shape.end(), tensor.shape().extents().begin(),
                           tensor.shape().extents().end()))
        << c.more;
    const Outcome check = stowage({"check", "--deploy", file});
    EXPECT_EQ(check.code, 0) << check.out;
  }

  const struct {
    std::string more, model_lines, words;
  } refused[] = {
      {"        input_shapes: 1,3,1,2\n", "", "write input_data_formats: NCHW"},
      {"        output_shapes: 1,3,1,2\n", "", "output 'y' has shape [1, 1, 2, 3]"},
      {"", "    platform: onnx\n", "is a model of TFLite; write platform: tflite"},
  };

  for (const auto& c : refused) {
    const std::string file = folder.write("d.yml", tflite_deployment(c.more, c.model_lines));
    for (const char* command : {"run", "plan", "bench"}) {
      const Outcome outcome = stowage({command, "--deploy", file});
      EXPECT_EQ(outcome.code, 3) << command << outcome.out;
      EXPECT_TRUE(holds(outcome.err, c.words) && holds(outcome.err, "d.yml:")) << outcome.err;
    }
  }
}

TEST(Deploy, PlanAndBenchTakeTheShapesFormatsAndThreads) {
  const TestFolder folder;
  folder.write("m.onnx", image_model({"x", {-1, 3, -1, -1}}, {"y", {-1, 3, -1, -1}}));
  const std::string file = folder.write(
      "d.yml", deployment("        input_shapes: 2,4,5,3\n        input_data_formats: NHWC\n"
                          "        output_data_formats: NHWC\n",
                          "    num_threads: 1\n"));
  const Outcome plan = stowage({"plan", "--deploy", file, "--json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const Json p = Json::parse(plan.out);
  EXPECT_EQ(p["inputs"][0]["shape"], "[2, 3, 4, 5]");
  EXPECT_EQ(p["conversions"].size(), 0u) << plan.out;  // Relu runs in the caller's order
  const Outcome bench = stowage({"bench", "--deploy", file, "--json", "--runs", "1"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(Json::parse(bench.out)["threads"], 1);
  // The command line wins.
  const Outcome other = stowage({"plan", "--deploy", file, "--json", "--shape", "1,3,2,2"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(Json::parse(other.out)["inputs"][0]["shape"], "[1, 3, 2, 2]");
}

// The same network was published twice; one file's deployment is checked with what the other
// computes, through every order of the data.
TEST(Deploy, TfliteAgainstOnnxOfTheSameNetwork) {
  const std::string onnx = data_path("models/onnx/ultraface_slim320/model.onnx");
  const std::string tflite = data_path("models/tflite/ultraface_slim320_nopost.tflite");
  if (onnx.empty() || !std::filesystem::exists(tflite)) GTEST_SKIP() << "skipped: no test data";
  const TestFolder folder;
  std::vector<float> pixels(3 * 240 * 320), turned(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
    turned[i % 3 * (240 * 320) + i / 3] = pixels[i];
  }
  const std::string last = write_floats(folder, "last.npy", {1, 240, 320, 3}, pixels);
  write_floats(folder, "first.npy", {1, 3, 240, 320}, turned);
  ASSERT_EQ(stowage({"run", onnx, "--input", last, "--input-format", "NHWC", "--output",
                     "scores=" + folder.path("scores.npy")})
                .code,
            0);
  for (const auto& [format, data] : {std::pair{"NHWC", "last.npy"}, {"NCHW", "first.npy"}}) {
    const std::string file = folder.write(
        "d.yml", "models:\n  same:\n    platform: tflite\n    model_file_path: " + tflite +
                     "\n    input_tensors: input_1\n    output_tensors: Identity_1\n"
                     "    input_data_formats: " +
                     format +
                     "\n    output_data_formats: NONE\n"
                     "    validation_inputs_data: " +
                     data +
                     "\n    validation_outputs_data: scores.npy\n    validation_threshold: {cpu: "
                     "0.99999}\n");
    const Outcome check = stowage({"check", "--deploy", file});
    EXPECT_EQ(check.code, 0) << check.out << check.err;
  }
}

TEST(Deploy, TheCommandLine) {
  const struct {
    std::vector<std::string> arguments;
    std::string words;
  } cases[] = {
      {{"run"}, "give MODEL or --deploy FILE"},
      {{"plan"}, "give MODEL or --deploy FILE"},
      {{"bench"}, "give MODEL or --deploy FILE"},
      {{"check"}, "give DIR or --deploy FILE"},
      {{"run", "m.onnx", "--deploy", "d.yml"}, "exclude each other"},
      {{"run", "m.onnx", "--model", "m"}, "--model needs --deploy"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = stowage(c.arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(holds(outcome.err, c.words)) << outcome.err;
  }
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {4}}}, {"y", {4}}));
  const Outcome same =
      stowage({"check", "--planner", "source", "--deploy", folder.write("d.yml", deployment())});
  EXPECT_EQ(same.code, 1);
  EXPECT_TRUE(holds(same.out, "choose another planner")) << same.out;
}

Tensor vector_of(const std::vector<float>& values) {
  const std::int64_t extents[] = {static_cast<std::int64_t>(values.size())};
  Tensor tensor(DType::f32, unnamed_shape(extents));
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

TEST(Deploy, Closeness) {
  const float inf = INFINITY;

  const struct {
    std::vector<float> a, b;
    double similarity, sqnr_db;
  } cases[] = {
      {{}, {}, 1, INFINITY},
      {{0, 0}, {0, 0}, 1, INFINITY},
      {{0, 0}, {0, 1}, 0, 0},
      {{1, 0}, {0, 0}, 0, -INFINITY},
      {{3, 4}, {3, 4}, 1, INFINITY},
      {{2, 0}, {1, 0}, 1, 0},  // a factor is not seen, but its noise is
      {{-1, 0}, {1, 0}, -1, 10 * std::log10(0.25)},
      {{1, 1}, {1, 0}, std::sqrt(0.5), 0},
      {{3e38f, 3e38f}, {3e38f, 3e38f}, 1, INFINITY},
      {{inf, NAN, 2}, {inf, NAN, 2}, 1, INFINITY},
      {{1.1f, 0}, {1, 0}, 1, 20},
  };

  for (const auto& c : cases) {
    const Closeness close = closeness(vector_of(c.a), vector_of(c.b));
    EXPECT_NEAR(close.similarity, c.similarity, 1e-12);
    if (std::isinf(c.sqnr_db)) {
      EXPECT_EQ(close.sqnr_db, c.sqnr_db);
    } else {
      EXPECT_NEAR(close.sqnr_db, c.sqnr_db, 1e-5);
    }
  }
  for (const auto& [a, b] : {std::pair{inf, -inf}, std::pair{NAN, 1.0f}, std::pair{1.0f, inf}}) {
    EXPECT_TRUE(std::isnan(closeness(vector_of({a, 1}), vector_of({b, 1})).similarity));
  }
}

}  // namespace
}  // namespace stowage::cli
