// SPDX-License-Identifier: Apache-2.0
// What run writes and says of outputs: pictures of channels and classes, JSON, comparisons; and how
// pictures get in by name.
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/outputs.h"
#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "cli/test_models.h"
#include "cli/test_tflite.h"

namespace stowage::cli {
namespace {

using test::image_model;
using test::model;

/// A picture of one colour.
std::string write_picture(const TestFolder& folder, std::string_view name, int width, int height,
                          const Colour& colour) {
  Picture picture = new_picture(width, height);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = colour[i % 3];
  OutputFile file(folder.path(name));
  write_png(file, picture);
  file.commit();
  return file.path();
}

/// The class whose colour a pixel has.
std::vector<int> classes_of(const Picture& picture) {
  std::vector<int> out;
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    const Colour colour = {picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2]};
    const auto& palette = class_palette();
    out.push_back(
        static_cast<int>(std::find(palette.begin(), palette.end(), colour) - palette.begin()));
  }
  return out;
}

TEST(ClassPalette, ColoursDiffer) {
  const std::vector<Colour>& palette = class_palette();
  ASSERT_EQ(palette.size(), 256u);
  for (std::size_t i = 0; i < palette.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(palette[i], palette[k]) << i << " and " << k;
  }
}

// Three classes, a row of two pixels: 2 wins in the first, 1 in the second.
const std::vector<float> kPlanes = {0.1f, 0.2f, 0.3f, 0.9f, 0.6f, 0.4f};
const std::vector<float> kPixels = {0.1f, 0.3f, 0.6f, 0.2f, 0.9f, 0.4f};

TEST(CliRun, ArgmaxInEveryOrder) {
  const TestFolder folder;

  const struct {
    std::string model;
    std::vector<std::int64_t> shape;
    const std::vector<float>& values;
  } cases[] = {
      {model("Relu", {{"x", {1, 3, 1, 2}}}, {"y", {1, 3, 1, 2}}), {1, 3, 1, 2}, kPlanes},
      {image_model({"x", {1, 3, 1, 2}}, {"y", {1, 3, 1, 2}}), {1, 3, 1, 2}, kPlanes},
      {model("Relu", {{"x", {3, 1, 2}}}, {"y", {3, 1, 2}}), {3, 1, 2}, kPlanes},
      {test::tflite_image_model("x", {1, 1, 2, 3}, "y"), {1, 1, 2, 3}, kPixels},
  };

  for (const auto& c : cases) {
    const bool tflite = c.shape.back() == 3;
    const std::string m = folder.write(tflite ? "m.tflite" : "m.onnx", c.model);
    write_floats(folder, "x.npy", c.shape, c.values);
    folder.write("labels.txt", "back\none\ntwo");
    const Outcome outcome =
        stowage({"run", m, "--input", folder.path("x.npy"), "--output", folder.path("y.png"),
                 "--argmax", "--labels", folder.path("labels.txt")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(classes_of(read_picture(folder.path("y.png"))), (std::vector<int>{2, 1}));
    EXPECT_TRUE(holds(outcome.out, "class 1    #e69f00   50.00 %  one\n")) << outcome.out;
    const Outcome channel = stowage({"run", m, "--input", folder.path("x.npy"), "--output",
                                     folder.path("y.png"), "--channel", "1"});
    ASSERT_EQ(channel.code, 0) << channel.err;
    EXPECT_EQ(read_picture(folder.path("y.png")).pixels,
              (std::vector<std::uint8_t>{77, 77, 77, 229, 229, 229}));
  }
}

TEST(ClassMap, TakesIntegersAsTheyAreAndNoNumbersLast) {
  Tensor ids(DType::i64, Shape("nhw", {1, 1, 3}));
  const std::int64_t values[] = {255, 0, 255};
  std::copy(std::begin(values), std::end(values), ids.as<std::int64_t>().begin());
  const Port port{"y", DType::i64, ids.shape()};
  const ImageAxes axes = image_axes(port, DataFormat::nchw).value();
  const ClassMap map = class_map(ids, axes, "y");
  EXPECT_EQ(map.classes.pixels, (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ(map.shares[0].first, 255);
  ids.as<std::int64_t>()[1] = 256;
  expect_error([&] { class_map(ids, axes, "y"); }, ErrorCode::usage,
               "class 256; a palette has 256");
  ids.as<std::int64_t>()[1] = -1;
  expect_error([&] { class_map(ids, axes, "y"); }, ErrorCode::usage, "class -1");
  Tensor scores(DType::f32, Shape("nchw", {1, 3, 1, 1}));
  const float odd[] = {NAN, -2, -1};
  std::copy(std::begin(odd), std::end(odd), scores.as<float>().begin());
  EXPECT_EQ(class_map(scores, {1, 2, 3}, "y").classes.pixels[0], 2);
}

TEST(CliRun, JsonIsOneObject) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", model("Relu", {{"x", {1, 3, 2, 2}}}, {"y", {1, 3, 2, 2}}));
  const std::string picture = write_picture(folder, "p.png", 2, 2, {255, 51, 0});
  const Outcome outcome =
      stowage({"run", m, "--image", picture, "--json", "--output", folder.path("y.npy"), "--output",
               folder.path("y.png"), "--expect", folder.path("y.npy"), "--mean", "0.5"});
  // There is nothing to compare with yet.
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  const std::vector<float> want = {1, 1, 1, 1, 0.2f, 0.2f, 0.2f, 0.2f, 0, 0, 0, 0};
  write_floats(folder, "want.npy", {1, 3, 2, 2}, want);
  const Outcome good =
      stowage({"run", m, "--image", picture, "--json", "--output", folder.path("y.npy"), "--output",
               folder.path("y.png"), "--expect", folder.path("want.npy"), "--mean", "0.05"});
  EXPECT_EQ(good.code, 0) << good.out;
  const Json json = Json::parse(good.out);
  EXPECT_EQ(json["model"], m);
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_TRUE(json["ms"].is_number());
  EXPECT_EQ(json["inputs"][0]["name"], "x");
  EXPECT_EQ(json["inputs"][0]["dtype"], "f32");
  EXPECT_EQ(json["inputs"][0]["shape"], (std::vector<int>{1, 3, 2, 2}));
  EXPECT_EQ(json["inputs"][0]["what"], "2 x 2, rgb, (x - 0.05) * 0.00392157");
  const Json& output = json["outputs"][0];
  EXPECT_EQ(output["name"], "y");
  EXPECT_NEAR(output["max"], 1, 1e-3);
  EXPECT_EQ(output["min"], 0);
  EXPECT_NEAR(output["mean"], 0.4, 1e-3);
  EXPECT_EQ(output["files"].size(), 2u);
  EXPECT_EQ(json["expected"][0]["passed"], true);
  ASSERT_EQ(json["warnings"].size(), 1u);
  EXPECT_TRUE(holds(json["warnings"][0], "--mean 12.75 is meant"));
  EXPECT_EQ(json["notes"].size(), 0u);
}

TEST(CliRun, JsonHasScoresAndClasses) {
  const TestFolder folder;
  const std::string flat = folder.write("f.onnx", model("Relu", {{"x", {1, 3}}}, {"y", {1, 3}}));
  write_floats(folder, "x.npy", {1, 3}, {0.25f, 3, NAN});
  folder.write("labels.txt", "cat\ndog\nfish");
  const Outcome outcome = stowage({"run", flat, "--input", folder.path("x.npy"), "--json", "--top",
                                   "3", "--labels", folder.path("labels.txt")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["top"][0]["index"], 1);
  EXPECT_EQ(json["top"][0]["score"], 3);
  EXPECT_EQ(json["top"][0]["label"], "dog");
  EXPECT_TRUE(json["top"][2]["score"].is_null());
  EXPECT_EQ(json["outputs"][0]["not_finite"], 1);
  EXPECT_EQ(json["warnings"].size(), 1u);
}

TEST(CliRun, ExpectComparesAsCheckDoes) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", model("Relu", {{"x", {2, 2}}}, {"y", {2, 2}}));
  const std::string x = write_floats(folder, "x.npy", {2, 2}, {-1, 0, 1, 100});
  write_floats(folder, "good.npy", {2, 2}, {0.05f, 0, 1, 100});
  write_floats(folder, "bad.npy", {2, 2}, {0, 0.5f, 3, 100});
  write_floats(folder, "flat.npy", {4}, {0, 0, 1, 100});
  const auto run = [&](const char* file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", m, "--input", x, "--expect", folder.path(file)};
    words.insert(words.end(), more.begin(), more.end());
    return stowage(words);
  };

  const struct {
    const char* file;
    std::vector<std::string> more;
    int code;
    const char* words;
  } cases[] = {
      {"good.npy", {}, 0, "PASS output 'y' against "},
      {"good.npy", {"--rtol", "1e-6"}, 1, "FAIL output 'y' against "},
      {"good.npy", {"--rtol", "1e-6", "--atol", "0.1"}, 0, "PASS"},
      {"bad.npy",
       {},
       1,
       ": at [1, 0] is 1, expected 3; largest error 2, allowed 0.10001, 2 of 4 elements differ"},
      {"bad.npy", {"--cosine", "0.999"}, 0, "PASS"},
      {"bad.npy", {"--cosine", "0.9999"}, 1, "has a similarity of 0.9997"},
      {"flat.npy", {}, 1, "has shape [2, 2], expected [4]"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = run(c.file, c.more);
    EXPECT_EQ(outcome.code, c.code) << outcome.err;
    EXPECT_TRUE(holds(outcome.out, c.words)) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
  // What numpy makes of Python's numbers.
  OutputFile file(folder.path("f64.npy"));
  const std::vector<double> wide = {0, 0, 1, 100};
  write_npy(file, DType::f64, std::vector<std::int64_t>{2, 2}, std::as_bytes(std::span(wide)));
  file.commit();
  EXPECT_EQ(run("f64.npy", {}).code, 0);
}

TEST(CliRun, PreprocessByName) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", model("Identity", {{"x", {1, 3, 2, 2}}}, {"y", {1, 3, 2, 2}}));
  const std::string picture = write_picture(folder, "p.png", 7, 5, {200, 100, 50});
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run",   m,          "--image",
                                      picture, "--output", folder.path("y.npy")};
    words.insert(words.end(), more.begin(), more.end());
    return stowage(words);
  };

  const struct {
    std::vector<std::string> more;
    std::vector<float> want;  ///< a channel
    const char* words;
  } cases[] = {
      {{"--preprocess", "imagenet"},
       {(200 / 255.f - 0.485f) / 0.229f, (100 / 255.f - 0.456f) / 0.224f,
        (50 / 255.f - 0.406f) / 0.225f},
       "7 x 5 resized to 2 x 2, rgb, (x - [123.675, 116.28, 103.53])"},
      {{"--preprocess", "keras-tf"},
       {200 / 127.5f - 1, 100 / 127.5f - 1, 50 / 127.5f - 1},
       "7 x 5 stretched to 2 x 2, rgb, (x - 127.5) * 0.00784314"},
      {{"--preprocess", "keras-caffe"},
       {50 - 103.939f, 100 - 116.779f, 200 - 123.68f},
       "7 x 5 stretched to 2 x 2, bgr, (x - [103.939, 116.779, 123.68]) * 1"},
      {{"--preprocess", "keras-caffe", "--mean", "0", "--pixel", "rgb"}, {200, 100, 50}, "rgb"},
      {{"--preprocess", "imagenet", "--resize", "shorter=4", "--crop", "2", "--norm", "1", "--mean",
        "0"},
       {200, 100, 50},
       "7 x 5 resized to 5 x 4, centre 2 x 2, rgb"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = run(c.more);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(holds(outcome.out, c.words)) << outcome.out;
    const std::vector<float> y = floats(folder.path("y.npy"));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], c.want[i / 4], 1e-4) << c.words;
  }
}

TEST(CliRun, PreprocessOfADeployment) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {1, 3, 2, 2}}}, {"y", {1, 3, 2, 2}}));
  const std::string picture = write_picture(folder, "p.png", 2, 2, {200, 100, 50});
  const std::string yml =
      folder.write("app.yml", deployment("        validation_inputs_data: p.png\n"
                                         "        validation_outputs_data: y.npy\n",
                                         "    preprocess: keras-caffe\n"));
  const std::vector<float> want = {0, 0, 0, 0, 0, 0, 0, 0, 76.32f, 76.32f, 76.32f, 76.32f};
  write_floats(folder, "y.npy", {1, 3, 2, 2}, want);
  for (const auto& words :
       {std::vector<std::string>{"run", "--deploy", yml, "--expect", folder.path("y.npy")},
        {"check", "--deploy", yml, "--cosine", "0.99999"}}) {
    const Outcome outcome = stowage(words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }
  const Outcome other = stowage({"run", "--deploy", yml, "--preprocess", "keras-tf"});
  EXPECT_TRUE(holds(other.out, "(x - 127.5)")) << other.out;
  // An array is what the model wants already.
  write_floats(folder, "x.npy", {1, 3, 2, 2}, want);
  const Outcome array = stowage(
      {"run", "--deploy", yml, "--input", folder.path("x.npy"), "--expect", folder.path("y.npy")});
  EXPECT_EQ(array.code, 0) << array.out << array.err;
  folder.write("app.yml", deployment("", "    preprocess: caffe\n"));
  const Outcome unknown = stowage({"run", "--deploy", yml});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(
      holds(unknown.err, "app.yml:4: preprocess 'caffe' is unknown; choose one of imagenet"))
      << unknown.err;
}

TEST(CliCheck, JsonIsOneObject) {
  const TestFolder folder;
  for (const char* name : {"good", "odd"}) {
    std::filesystem::create_directories(folder.path(std::string(name) + "/test_data_set_0"));
  }
  folder.write("good/model.onnx", model("Relu", {{"x", {2}}}, {"y", {2}}));
  folder.write("odd/model.onnx", model("Sorcery", {{"x", {2}}}, {"y", {2}}));
  for (const std::string name : {"good", "odd"}) {
    folder.write(name + "/test_data_set_0/input_0.pb", test::tensor("x", {2}, {-1, 2}));
    folder.write(name + "/test_data_set_0/output_0.pb", test::tensor("y", {2}, {0, 3}));
  }
  const Outcome outcome = stowage({"check", folder.root(), "--json"});
  EXPECT_EQ(outcome.code, 1);
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json["models"].size(), 2u);
  EXPECT_EQ(json["models"][0]["name"], "good");
  EXPECT_EQ(json["models"][0]["result"], "fail");
  EXPECT_TRUE(holds(json["models"][0]["why"], "at [1] is 2, expected 3"));
  EXPECT_EQ(json["models"][1]["result"], "skip");
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["skipped"], 1);
  folder.write("m.onnx", model("Relu", {{"x", {2}}}, {"y", {2}}));
  const std::string yml = folder.write("app.yml", deployment());
  const Outcome deployed = stowage({"check", "--deploy", yml, "--json"});
  EXPECT_EQ(deployed.code, 0) << deployed.out;
  const Json check = Json::parse(deployed.out);
  EXPECT_EQ(check["models"][0]["outputs"][0]["similarity"], 1);
  EXPECT_EQ(check["models"][0]["outputs"][0]["against"], "--planner source");
}

}  // namespace
}  // namespace stowage::cli
