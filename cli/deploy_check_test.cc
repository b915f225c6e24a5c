// SPDX-License-Identifier: Apache-2.0
// Commands on deployment files: which data they take, and in which order of axes.
#include <nlohmann/json.hpp>

#include "cli/data.h"
#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "cli/test_models.h"
#include "cli/test_tflite.h"

namespace stowage::cli {
namespace {

using test::image_model;
using test::model;

std::string floats_text(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(Deploy, RunTakesDataFromTheFileAndTheCommandLineWins) {
  const TestFolder folder;
  folder.write("m.onnx", image_model({"x", {1, 2, 1, 2}}, {"y", {1, 2, 1, 2}}));
  folder.write("x.raw", floats_text({-1, 2, 3, -4}));
  const std::string file = folder.write(
      "d.yml", deployment("        input_shapes: 1,1,2,2\n        input_data_formats: NHWC\n"
                          "        output_data_formats: NHWC\n        obfuscate: 0\n"
                          "        validation_inputs_data: x.raw\n"));
  const std::string y = folder.path("y.npy");
  const Outcome outcome = stowage({"run", "--deploy", file, "--output", y});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(holds(outcome.out, "nothing here depends on obfuscate")) << outcome.out;
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
      {"        output_shapes: 1,5,7,3\n", "d.yml:7: output 'y' has shape [1, 3, 5, 7]"},
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
  EXPECT_EQ(p["inputs"][0]["shape"], Json::parse("[2, 3, 4, 5]"));
  EXPECT_EQ(p["conversions"].size(), 0u) << plan.out;  // Relu runs in the caller's order
  const Outcome bench = stowage({"bench", "--deploy", file, "--json", "--runs", "1"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(Json::parse(bench.out)["threads"], 1);
  // The command line wins.
  const Outcome other = stowage({"plan", "--deploy", file, "--json", "--shape", "1,3,2,2"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(Json::parse(other.out)["inputs"][0]["shape"], Json::parse("[1, 3, 2, 2]"));
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

}  // namespace
}  // namespace stowage::cli
