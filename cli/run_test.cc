// SPDX-License-Identifier: Apache-2.0
// run, plan, bench and check on models of one node.
#include <nlohmann/json.hpp>

#include "cli/test_cli.h"
#include "cli/test_models.h"
#include "cli/test_tflite.h"

namespace stowage::cli {
namespace {

using test::image_model;
using test::model;

std::vector<std::int64_t> shape_of(const std::string& path) {
  const Tensor tensor = read_npy(path);
  const auto extents = tensor.shape().extents();
  return {extents.begin(), extents.end()};
}

std::string write_picture(const TestFolder& folder, std::string_view name, int width, int height,
                          const std::vector<int>& samples) {
  Picture picture{width, height, 3, {}};
  for (const int v : samples) picture.pixels.push_back(static_cast<std::uint8_t>(v));
  OutputFile file(folder.path(name));
  write_png(file, picture);
  file.commit();
  return file.path();
}

TEST(CliRun, ArraysInAndOut) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {2, 3}}}, {"y/z:0", {2, 3}}));
  write_floats(folder, "x.npy", {2, 3}, {-1, 2, -3, 4, -5, 6});
  for (const std::string input : {"x=", ""}) {
    const Outcome outcome =
        stowage({"run", folder.path("m.onnx"), "--input", input + folder.path("x.npy"),
                 "--output-dir", folder.path("out")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(floats(folder.path("out/y_z_0.npy")), (std::vector<float>{0, 2, 0, 4, 0, 6}));
    EXPECT_EQ(shape_of(folder.path("out/y_z_0.npy")), (std::vector<std::int64_t>{2, 3}));
    EXPECT_NE(outcome.out.find("output  y/z:0  f32 [2, 3]  min 0  max 6  mean 2"),
              std::string::npos)
        << outcome.out;
  }
  const Outcome one = stowage({"run", folder.path("m.onnx"), "--input", folder.path("x.npy"),
                               "--output", "y/z:0=" + folder.path("y.npy")});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(floats(folder.path("y.npy")).size(), 6u);
}

TEST(CliRun, FreeExtentsComeFromTheData) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {-1, 3}}}, {"y", {-1, 3}}));
  write_floats(folder, "batch.npy", {2, 3}, {-1, 2, -3, 4, -5, 6});
  write_floats(folder, "one.npy", {3}, {-1, 2, -3});
  write_floats(folder, "wrong.npy", {2, 4}, std::vector<float>(8));
  const std::string m = folder.path("m.onnx"), y = folder.path("y.npy");
  ASSERT_EQ(stowage({"run", m, "--input", folder.path("batch.npy"), "--output", y}).code, 0);
  EXPECT_EQ(shape_of(y), (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(stowage({"run", m, "--input", folder.path("one.npy"), "--output", y}).code, 0);
  EXPECT_EQ(shape_of(y), (std::vector<std::int64_t>{1, 3}));
  const Outcome wrong = stowage({"run", m, "--input", folder.path("wrong.npy"), "--output", y});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_NE(wrong.err.find("[2, 4] but input 'x' wants [?, 3]"), std::string::npos) << wrong.err;
  const Outcome given =
      stowage({"run", m, "--input", folder.path("batch.npy"), "--shape", "x=4x3"});
  EXPECT_EQ(given.code, 3) << given.err;
}

TEST(CliRun, PicturesAreNormalised) {
  const TestFolder folder;
  const std::string picture = write_picture(folder, "p.png", 2, 1, {10, 20, 30, 40, 50, 60});

  const struct {
    std::vector<std::int64_t> extents;
    std::vector<std::string> more;
    std::vector<float> want;
  } cases[] = {
      {{1, 3, -1, -1}, {"--norm", "1"}, {10, 40, 20, 50, 30, 60}},
      {{1, 3, 1, 2}, {"--norm", "1"}, {10, 40, 20, 50, 30, 60}},
      {{1, 1, 2, 3}, {"--norm", "1", "--pixel", "bgr"}, {30, 20, 10, 60, 50, 40}},
      {{1, 3, 1, 2}, {"--norm", "1", "--pixel", "bgr"}, {30, 60, 20, 50, 10, 40}},
      {{1, 3, 1, 2}, {"--norm", "1", "--mean", "1,2,3"}, {9, 39, 18, 48, 27, 57}},
      {{1, 3, 1, 2}, {"--norm", "1,2,4", "--mean", "1,2,3"}, {9, 39, 36, 96, 108, 228}},
      {{1, 1, 2, 3}, {"--norm", "1,2,3"}, {10, 40, 90, 40, 100, 180}},
      {{3, 1, 2}, {"--norm", "1,2,4"}, {10, 40, 40, 100, 120, 240}},
      {{1, 1, 1, 2}, {"--norm", "1"}, {18, 48}},
  };

  for (const auto& c : cases) {
    folder.write("m.onnx", model("Relu", {{"x", c.extents}}, {"y", c.extents}));
    std::vector<std::string> arguments = {"run",      folder.path("m.onnx"), "--image", picture,
                                          "--output", folder.path("y.npy")};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const Outcome outcome = stowage(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(floats(folder.path("y.npy")), c.want) << outcome.out;
  }
}

TEST(CliRun, PicturesOut) {
  const TestFolder folder;
  const std::vector<int> samples = {0, 51, 102, 153, 204, 255};
  const std::string picture = write_picture(folder, "p.png", 2, 1, samples);
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{1, 3, -1, -1}, {1, -1, -1, 3}, {3, 1, 2}}) {
    folder.write("m.onnx", model("Relu", {{"x", extents}}, {"y", extents}));
    for (const char* norm : {"1/255", "1"}) {
      for (const char* pixel : {"rgb", "bgr"}) {
        const Outcome outcome = stowage({"run", folder.path("m.onnx"), "--image", picture, "--norm",
                                         norm, "--pixel", pixel, "--output", folder.path("y.png")});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Picture back = read_picture(folder.path("y.png"));
        EXPECT_EQ(std::vector<int>(back.pixels.begin(), back.pixels.end()), samples);
      }
    }
  }
}

// checklist 6.12, 6.13, 6.14, 6.16
TEST(CliRun, FormatsOfFiles) {
  const TestFolder folder;
  folder.write("m.onnx", image_model({"x", {1, 3, 1, 2}}, {"y", {1, 3, 1, 2}}));
  write_floats(folder, "nhwc.npy", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string m = folder.path("m.onnx"), x = "x=" + folder.path("nhwc.npy");
  ASSERT_EQ(stowage({"run", m, "--input", x, "--input-format", "x=NHWC", "--output",
                     folder.path("y.npy")})
                .code,
            0);
  EXPECT_EQ(floats(folder.path("y.npy")), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  ASSERT_EQ(stowage({"run", m, "--input", x, "--input-format", "NHWC", "--output-format", "y=NHWC",
                     "--output", folder.path("y.npy")})
                .code,
            0);
  EXPECT_EQ(floats(folder.path("y.npy")), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape_of(folder.path("y.npy")), (std::vector<std::int64_t>{1, 1, 2, 3}));
  // A TFLite model is in NHWC.
  const std::string t = folder.write("m.tflite", test::tflite_image_model("x", {1, 1, 2, 3}, "y"));
  write_floats(folder, "nchw.npy", {1, 3, 1, 2}, {1, 4, 2, 5, 3, 6});
  const std::string y = folder.path("y.npy");
  ASSERT_EQ(stowage({"run", t, "--input", folder.path("nchw.npy"), "--input-format", "NCHW",
                     "--output", y})
                .code,
            0);
  EXPECT_EQ(floats(y), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(stowage({"run", t, "--input", x, "--input-format", "NHWC", "--output-format", "NCHW",
                     "--output", y})
                .code,
            0);
  EXPECT_EQ(floats(y), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(shape_of(y), (std::vector<std::int64_t>{1, 3, 1, 2}));
  EXPECT_EQ(stowage({"run", m, "--input", x, "--input-format", "x=HWC"}).code, 2);
  EXPECT_EQ(stowage({"run", m, "--input", x, "--input-format", "z=NHWC"}).code, 2);
}

TEST(CliRun, BestScoresFirst) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {1, 4}}}, {"y", {1, 4}}));
  write_floats(folder, "x.npy", {1, 4}, {0.25f, 3, 0, 1});
  folder.write("labels.txt", "cat\ndog\r\n\nfish");
  const Outcome outcome = stowage({"run", folder.path("m.onnx"), "--input", folder.path("x.npy"),
                                   "--top", "3", "--labels", folder.path("labels.txt")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 = 3.000000  dog\n3 = 1.000000  fish\n0 = 0.250000  cat\n"),
            std::string::npos)
      << outcome.out;
}

TEST(CliRun, Refusals) {
  const TestFolder folder;
  folder.write("m.onnx", model("Add", {{"a", {1, 3}}, {"b", {1, 3}}}, {"y", {1, 3}}));
  folder.write("odd.onnx", model("Sorcery", {{"a", {1, 3}}}, {"y", {1, 3}}));
  folder.write("free.onnx", model("Relu", {{"a", {1, -1, -1}}}, {"y", {1, -1, -1}}));
  folder.write("flat.onnx", model("Relu", {{"a", {3}}}, {"y", {3}}));
  write_floats(folder, "flat.npy", {3}, {1, 2, 3});
  write_floats(folder, "x.npy", {1, 3}, {1, 2, 3});
  const std::string m = folder.path("m.onnx"), x = folder.path("x.npy");
  const std::string picture = write_picture(folder, "p.png", 1, 1, {1, 2, 3});
  const std::size_t files = folder.list().size();

  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  } cases[] = {
      {{"run", m}, 2, "nothing is given for input 'a' [1, 3], 'b' [1, 3]"},
      {{"run", m, "--input", "a=" + x}, 2, "nothing is given for input 'b'"},
      {{"run", m, "--input", x}, 2, "NAME=FILE"},
      {{"run", m, "--input", "c=" + x}, 2, "it has 'a', 'b'"},
      {{"run", m, "--input", "a=" + x, "--input", "a=" + x}, 2, "twice"},
      {{"run", m, "--image", picture}, 2, "no input takes a picture"},
      {{"run", m, "--input", "a=" + picture, "--input", "b=" + x}, 2, "takes no picture"},
      {{"run", m, "--input", "a=" + x, "--input", "b=" + x, "--output", folder.path("no/y.npy")},
       3,
       "cannot write"},
      {{"run", m, "--input", "a=" + x, "--input", "b=" + x, "--output-dir", x},
       3,
       "cannot make the folder"},
      {{"run", folder.path("flat.onnx"), "--input", folder.path("flat.npy"), "--output",
        folder.path("y.png")},
       2,
       "output 'y' of shape [3] is no picture"},
      {{"run", m, "--input", "a=" + x, "--input", "b=" + x, "--shape", "c=1,3"}, 2, "'c'"},
      {{"run", m, "--input", "a=" + x, "--input", "b=" + x, "--shape", "1,3"}, 2, "NAME=VALUE"},
      {{"run", m, "--input", "a=" + x, "--input", "b=" + x, "--shape", "a=1,,3"}, 2, "no shape"},
      {{"run", folder.path("odd.onnx"), "--input", x}, 4, "unsupported operator Sorcery"},
      {{"plan", folder.path("odd.onnx")}, 4, "Sorcery"},
      {{"bench", folder.path("free.onnx")}, 2, "--shape a=1,"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = stowage(c.arguments);
    EXPECT_EQ(outcome.code, c.code) << outcome.err;
    EXPECT_NE(outcome.err.find(c.words), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_EQ(folder.list().size(), files) << "something was left behind";
  }
}

TEST(CliPlan, JsonHasItsKeys) {
  const TestFolder folder;
  folder.write("m.onnx", model("Relu", {{"x", {1, 3, 4, 5}}}, {"y", {1, 3, 4, 5}}));
  const Outcome outcome = stowage({"plan", folder.path("m.onnx"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  for (const char* key : {"nodes", "conversions", "arena_bytes", "peak_bytes", "planner", "cost_us",
                          "rule_cost_us", "source_cost_us"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  ASSERT_EQ(json["nodes"].size(), 1u);
  for (const char* key : {"name", "op", "category", "inputs", "outputs", "kernel", "cost_us"}) {
    EXPECT_TRUE(json["nodes"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["nodes"][0]["inputs"][0]["name"], "x");
  EXPECT_TRUE(json["nodes"][0]["inputs"][0].contains("layout"));
  const Outcome text = stowage({"plan", folder.path("m.onnx"), "--planner", "source"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("the_node"), std::string::npos) << text.out;
}

TEST(CliBench, JsonAndTheLine) {
  const TestFolder folder;
  folder.write("tiny.onnx", model("Relu", {{"x", {1, 3, -1, 5}}}, {"y", {1, 3, -1, 5}}));
  const std::vector<std::string> common = {"bench",     folder.path("tiny.onnx"),
                                           "--shape",   "1,3,4,5",
                                           "--runs",    "4",
                                           "--warmup",  "0",
                                           "--threads", "1"};
  std::vector<std::string> with_json = common;
  with_json.push_back("--json");
  const Outcome outcome = stowage(with_json);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["model"], "tiny");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["runs"], 4);
  EXPECT_EQ(json["warmup"], 1) << "the first run never counts";
  for (const char* key :
       {"min_ms", "median_ms", "max_ms", "p90_ms", "first_ms", "convert_ms", "peak_bytes"}) {
    EXPECT_TRUE(json[key].is_number()) << key;
  }
  EXPECT_LE(json["min_ms"], json["median_ms"]);
  EXPECT_LE(json["median_ms"], json["p90_ms"]);
  EXPECT_LE(json["p90_ms"], json["max_ms"]);
  const std::string line = stowage(common).out;
  EXPECT_EQ(line.rfind("                tiny  min = ", 0), 0u) << line;
  EXPECT_NE(line.find("  median = "), std::string::npos) << line;
}

TEST(CliBench, RunsBeforeThoseThatCountWithoutAnOption) {
  const TestFolder folder;
  folder.write("tiny.onnx", model("Relu", {{"x", {1, 3, 4, 5}}}, {"y", {1, 3, 4, 5}}));
  const Outcome outcome = stowage({"bench", folder.path("tiny.onnx"), "--runs", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GE(Json::parse(outcome.out)["warmup"], 3);
}

TEST(CliCheck, OneLineAFolder) {
  const TestFolder folder;
  const auto add = [&](const std::string& name, std::string_view op, const std::string& output) {
    std::filesystem::create_directories(folder.path("all/" + name + "/test_data_set_0"));
    folder.write("all/" + name + "/model.onnx", model(op, {{"x", {2, 2}}}, {"y", {2, 2}}));
    if (output.empty()) return;
    folder.write("all/" + name + "/test_data_set_0/input_0.pb",
                 test::tensor("x", {2, 2}, {-1, 0, 1, 100}));
    folder.write("all/" + name + "/test_data_set_0/output_0.pb", output);
  };
  add("a_good", "Relu", test::tensor("y", {2, 2}, {0, 0, 1, 100}));
  add("b_close", "Relu", test::tensor("y", {2, 2}, {0.05f, 0, 1, 100}));
  add("c_wrong", "Relu", test::tensor("y", {2, 2}, {0, 0.5f, 3, 100}));
  add("d_shape", "Relu", test::tensor("y", {4}, {0, 0, 1, 100}));
  add("e_odd", "Sorcery", test::tensor("y", {2, 2}, {0, 0, 1, 100}));
  add("f_cut", "Relu", test::tensor("y", {2, 2}, {0, 0, 1, 100}).substr(0, 20));
  add("g_none", "Relu", "");
  const Outcome outcome = stowage({"check", folder.path("all/"), "--threads", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> lines;
  std::istringstream in(outcome.out);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 8u) << outcome.out;
  EXPECT_EQ(lines[0], "PASS a_good");
  EXPECT_EQ(lines[1], "PASS b_close");
  EXPECT_EQ(lines[2],
            "FAIL c_wrong: output 'y' at [1, 0] is 1, expected 3; largest error 2, allowed "
            "0.10001, 2 of 4 elements differ");
  EXPECT_EQ(lines[3], "FAIL d_shape: output 'y' has shape [2, 2], expected [4]");
  EXPECT_EQ(lines[4], "SKIP e_odd: unsupported operator Sorcery");
  EXPECT_EQ(lines[5].rfind("FAIL f_cut: ", 0), 0u) << lines[5];
  EXPECT_EQ(lines[6].rfind("FAIL g_none: ", 0), 0u) << lines[6];
  EXPECT_EQ(lines[7], "2 passed, 4 failed, 1 skipped");
  const Outcome strict = stowage({"check", folder.path("all/b_close"), "--rtol", "1e-6"});
  EXPECT_EQ(strict.code, 1);
  // c_wrong is alike to 0.99979.
  EXPECT_EQ(stowage({"check", folder.path("all/c_wrong"), "--cosine", "0.999"}).code, 0);
  const Outcome unlike = stowage({"check", folder.path("all/c_wrong"), "--cosine", "0.9999"});
  EXPECT_EQ(unlike.code, 1);
  EXPECT_NE(unlike.out.find("output 'y' has a similarity of 0.9997"), std::string::npos)
      << unlike.out;
  const Outcome shape = stowage({"check", folder.path("all/d_shape"), "--cosine", "0.1"});
  EXPECT_NE(shape.out.find("has shape [2, 2], expected [4]"), std::string::npos) << shape.out;
  const Outcome good = stowage({"check", folder.path("all/a_good")});
  EXPECT_EQ(good.out, "PASS a_good\n1 passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(good.code, 0);
}

TEST(CliCheck, BindsWhatMustBeKnownToTheDataOfEachSet) {
  const TestFolder folder;
  folder.write("model.onnx", model("Reshape", {{"x", {2, 3}}, {"shape", {2}, 7}}, {"y", {-1, -1}}));
  const auto add = [&](int set, const std::vector<std::int64_t>& shape, float last) {
    const std::string name = "test_data_set_" + std::to_string(set);
    std::filesystem::create_directories(folder.path(name));
    folder.write(name + "/input_0.pb", test::tensor("x", {2, 3}, {1, 2, 3, 4, 5, 6}));
    folder.write(name + "/input_1.pb", test::tensor<std::int64_t>("shape", {2}, shape, 7));
    folder.write(name + "/output_0.pb", test::tensor("y", shape, {1, 2, 3, 4, 5, last}));
  };
  add(0, {3, 2}, 6);
  add(1, {1, 6}, 6);
  EXPECT_EQ(stowage({"check", folder.root()}).code, 0);
  add(1, {6, 1}, 7);
  const Outcome wrong = stowage({"check", folder.root()});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.out.find("set 1: output 'y' at [5, 0] is 6, expected 7"), std::string::npos)
      << wrong.out;
}

}  // namespace
}  // namespace stowage::cli
