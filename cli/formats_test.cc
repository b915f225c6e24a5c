// SPDX-License-Identifier: Apache-2.0
// Data formats at the command line, in deployment files and in plans. The rows of the checklist of
// the sources that a test shows stand beside it as "checklist N.N".
#include "cli/formats.h"

#include <nlohmann/json.hpp>

#include "cli/test_cli.h"
#include "cli/test_models.h"
#include "cli/test_tflite.h"
#include "tests/suite/onnx_builder.h"

namespace stowage::cli {
namespace {

using Extents = std::vector<std::int64_t>;

bool holds(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

Extents shape_of(const std::string& path) {
  const Tensor tensor = read_npy(path);
  return {tensor.shape().extents().begin(), tensor.shape().extents().end()};
}

/// Numbers that tell every element from the others.
std::vector<float> counted(std::int64_t n) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(i * 37 % 101) - 50);
  return out;
}

/// [n, h, w, c] as [n, c, h, w], for n = 1.
std::vector<float> channels_first(const std::vector<float>& x, std::size_t c) {
  const std::size_t pixels = x.size() / c;
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i % c * pixels + i / c] = x[i];
  return out;
}

/// An ONNX file whose input lies as n h w c, as exports of TensorFlow's models are.
std::string nhwc_in_onnx(const std::vector<OnnxBuilder::Dim>& dims) {
  return OnnxBuilder()
      .input("x", dims)
      .output("y")
      .weights("w", {3, 4, 3, 3})
      .node("Transpose", {"x"}, {"t"}, {{"perm", OnnxInts{0, 3, 1, 2}}})
      .node("Conv", {"t", "w"}, {"y"}, {{"pads", OnnxInts{1, 1, 1, 1}}})
      .bytes();
}

/// No operator calls the axes of x and y n, c, h and w.
std::string no_image(const std::vector<OnnxBuilder::Dim>& dims, const OnnxInts& weights) {
  return OnnxBuilder()
      .input("x", dims)
      .output("y")
      .weights("w", weights)
      .node("MatMul", {"x", "w"}, {"y"})
      .bytes();
}

// checklist 5.8, 8.1: a value's own format counts, not the kind of its file.
TEST(Formats, FollowTheNamesOfTheAxesNotTheKindOfTheFile) {
  const std::vector<OnnxBuilder::Dim> models[] = {
      {1, 4, 4, 4}, {1, "h", "w", 4}, {"n", "h", "w", "c"}, {1, 5, 6, 4}, {"n", 5, "w", "c"}};

  for (const auto& dims : models) {
    const bool square = dims[1].index() == 0 && std::get<int>(dims[1]) == 4;
    const Extents last = square ? Extents{1, 4, 4, 4} : Extents{1, 5, 6, 4};
    const Extents first = {1, 4, last[1], last[2]};
    const TestFolder folder;
    const std::string m = folder.write("m.onnx", nhwc_in_onnx(dims)), y = folder.path("y.npy");
    const std::vector<float> pixels = counted(last[1] * last[2] * 4);
    write_floats(folder, "nhwc.npy", last, pixels);
    write_floats(folder, "nchw.npy", first, channels_first(pixels, 4));
    ASSERT_EQ(stowage({"run", m, "--input", folder.path("nhwc.npy"), "--output", y}).code, 0);
    const std::vector<float> want = floats(y);
    for (const auto& [format, file] :
         {std::pair{"NHWC", "nhwc.npy"}, {"x=NONE", "nhwc.npy"}, {"x=nchw", "nchw.npy"}}) {
      const Outcome run = stowage(
          {"run", m, "--input", folder.path(file), "--input-format", format, "--output", y});
      ASSERT_EQ(run.code, 0) << format << run.err;
      EXPECT_EQ(floats(y), want) << format;
    }
    for (const auto& [format, shape, file] :
         {std::tuple{"NHWC", last, "nhwc.npy"}, {"NCHW", first, "nchw.npy"}}) {
      std::string list;
      for (const std::int64_t e : shape) list += (list.empty() ? "" : ",") + std::to_string(e);
      const std::string deployment =
          folder.write("d.yml",
                       "models:\n  m:\n    model_file_path: m.onnx\n    input_tensors: x\n"
                       "    output_tensors: y\n    input_shapes: " +
                           list + "\n    input_data_formats: " + format +
                           "\n    validation_inputs_data: " + file + "\n");
      const Outcome run = stowage({"run", "--deploy", deployment, "--output", y});
      ASSERT_EQ(run.code, 0) << format << run.err;
      EXPECT_EQ(floats(y), want) << format;
      EXPECT_EQ(stowage({"check", "--deploy", deployment}).code, 0) << format;
    }
  }
}

TEST(Formats, TheModelsOwnIsNoConversionAndIsShown) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", nhwc_in_onnx({1, 128, 128, 4}));
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", m, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json plain = plan({}), own = plan({"--input-format", "x=NHWC"});
  EXPECT_EQ(plain["inputs"][0]["data_format"], "NHWC");
  EXPECT_EQ(plain["outputs"][0]["data_format"], "NCHW");
  EXPECT_EQ(own["inputs"], plain["inputs"]);
  EXPECT_EQ(own["conversions"], plain["conversions"]);
  const Json turned = plan({"--input-format", "x=NCHW"});
  EXPECT_EQ(turned["inputs"][0]["layout"], "NCHW");
  EXPECT_EQ(plan({"--input-format", "x=NONE"})["inputs"][0]["data_format"], "NONE");
}

// checklist 5.2, 6.17, 6.20, 8.2: a value without the four names takes NONE only.
TEST(Formats, WithoutADataFormatOnlyNone) {
  const struct {
    std::vector<OnnxBuilder::Dim> dims;
    OnnxInts weights;
    Extents shape;
    const char* words;
  } cases[] = {
      {{2, 3, 4, 8}, {8, 5}, {2, 3, 4, 8}, "of shape [2, 3, 4, 8] has no data format"},
      {{"a", "b", "c", 8}, {8, 5}, {2, 3, 4, 8}, "of shape [2, 3, 4, 8] has no data format"},
      {{2, 4, 4, 4}, {4, 5}, {2, 4, 4, 4}, "has no data format"},
      {{2, 3, 8}, {8, 5}, {2, 3, 8}, "'x' has 3 axes; NCHW and NHWC are orders of four"},
      {{2, 8}, {8, 5}, {2, 8}, "'x' has 2 axes; NCHW and NHWC are orders of four"},
  };

  for (const auto& c : cases) {
    const TestFolder folder;
    const std::string m = folder.write("m.onnx", no_image(c.dims, c.weights));
    std::int64_t elements = 1;
    for (const std::int64_t e : c.shape) elements *= e;
    const std::string x = write_floats(folder, "x.npy", c.shape, counted(elements));
    for (const std::string format : {"NHWC", "NCHW", "nhwc"}) {
      const Outcome in = stowage({"run", m, "--input", x, "--input-format", format});
      EXPECT_EQ(in.code, 2) << in.out;
      EXPECT_TRUE(holds(in.err, c.words) && holds(in.err, "use NONE")) << in.err;
      const Outcome out = stowage({"run", m, "--input", x, "--output-format", format});
      EXPECT_EQ(out.code, 2) << out.out;
      EXPECT_TRUE(holds(out.err, "'y' ") && holds(out.err, "use NONE")) << out.err;
      for (const std::string side : {"input", "output"}) {
        const std::string deployment =
            folder.write("d.yml",
                         "models:\n  m:\n    model_file_path: m.onnx\n    input_tensors: x\n"
                         "    output_tensors: y\n    validation_inputs_data: x.npy\n    " +
                             side + "_data_formats: " + format + "\n");
        const Outcome deployed = stowage({"run", "--deploy", deployment});
        EXPECT_EQ(deployed.code, 3) << deployed.out;
        EXPECT_TRUE(holds(deployed.err, "d.yml:7: ") && holds(deployed.err, "write NONE"))
            << deployed.err;
      }
    }
    for (const std::string format : {"NONE", "none"}) {
      EXPECT_EQ(stowage({"run", m, "--input", x, "--input-format", format}).code, 0);
    }
  }
}

// checklist 6.23: one format for tensors of several ranks means those that have one.
TEST(Formats, OneForAllMeansTheImages) {
  const TestFolder folder;
  folder.write("m.onnx", OnnxBuilder()
                             .input("x", {1, 3, 5, 6})
                             .input("a", {2, 8})
                             .input("b", {2, 3, 4, 8})
                             .output("y")
                             .output("c")
                             .output("d")
                             .node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", OnnxInts{1, 1}}})
                             .node("Neg", {"a"}, {"c"})
                             .node("Neg", {"b"}, {"d"})
                             .bytes());
  const std::vector<float> pixels = counted(90);
  write_floats(folder, "x.npy", {1, 5, 6, 3}, pixels);
  write_floats(folder, "a.npy", {2, 8}, counted(16));
  write_floats(folder, "b.npy", {2, 3, 4, 8}, counted(192));
  const std::string more = "    validation_inputs_data: [x.npy, a.npy, b.npy]\n";
  for (const std::string& shapes :
       {std::string(), std::string("    output_shapes: ['1,5,6,3', '2,8', '2,3,4,8']\n")}) {
    const std::string deployment =
        folder.write("d.yml",
                     "models:\n  m:\n    model_file_path: m.onnx\n"
                     "    input_tensors: [x, a, b]\n    output_tensors: [y, c, d]\n"
                     "    input_data_formats: nhwc\n    output_data_formats: NHWC\n" +
                         more + shapes);
    const Outcome run = stowage({"run", "--deploy", deployment, "--output-dir", folder.path("o")});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(shape_of(folder.path("o/y.npy")), (Extents{1, 5, 6, 3}));
    EXPECT_EQ(floats(folder.path("o/y.npy")), pixels);
    EXPECT_EQ(shape_of(folder.path("o/d.npy")), (Extents{2, 3, 4, 8}));
    EXPECT_EQ(stowage({"check", "--deploy", deployment}).code, 0);
  }
  const std::string each =
      folder.write("d.yml",
                   "models:\n  m:\n    model_file_path: m.onnx\n    input_tensors: [x, a, b]\n"
                   "    output_tensors: [y, c, d]\n    input_data_formats: [NHWC, NHWC, NONE]\n" +
                       more);
  const Outcome refused = stowage({"run", "--deploy", each});
  EXPECT_EQ(refused.code, 3);
  EXPECT_TRUE(holds(refused.err, "d.yml:6: 'a' has 2 axes")) << refused.err;
}

TEST(Formats, AnArrayInTheOtherOrderIsNotToBeReshaped) {
  const TestFolder folder;
  const std::string first =
      folder.write("first.onnx", test::image_model({"x", {1, 3, 5, 6}}, {"y", {1, 3, 5, 6}}));
  const std::string last =
      folder.write("last.tflite", test::tflite_image_model("x", {1, 5, 6, 3}, "y"));
  write_floats(folder, "nhwc.npy", {1, 5, 6, 3}, counted(90));
  write_floats(folder, "nchw.npy", {1, 3, 5, 6}, counted(90));
  const Outcome a = stowage({"run", first, "--input", folder.path("nhwc.npy")});
  EXPECT_EQ(a.code, 3);
  EXPECT_TRUE(holds(a.err, "if the file is in NHWC, give --input-format x=NHWC")) << a.err;
  const Outcome b = stowage({"run", last, "--input", folder.path("nchw.npy")});
  EXPECT_EQ(b.code, 3);
  EXPECT_TRUE(holds(b.err, "if the file is in NCHW, give --input-format x=NCHW")) << b.err;
  EXPECT_FALSE(holds(a.err + b.err, "reshape"));
  const std::string deployment =
      folder.write("d.yml",
                   "models:\n  m:\n    model_file_path: first.onnx\n    input_tensors: x\n"
                   "    output_tensors: y\n    validation_inputs_data: nhwc.npy\n");
  const Outcome c = stowage({"check", "--deploy", deployment});
  EXPECT_TRUE(holds(c.out, "write input_data_formats: NHWC")) << c.out;
  // The batch may be left out in either order.
  for (const auto& [name, format, shape] :
       {std::tuple{"hwc.npy", "NHWC", Extents{5, 6, 3}}, {"chw.npy", "NCHW", Extents{3, 5, 6}}}) {
    const std::string x = write_floats(folder, name, shape, counted(90));
    EXPECT_EQ(stowage({"run", first, "--input", x, "--input-format", format}).code, 0) << name;
  }
}

TEST(Formats, MeanAndNormAreOfArraysToo) {
  const TestFolder folder;
  const std::string m =
      folder.write("m.onnx", test::image_model({"x", {1, 3, 1, 2}}, {"y", {1, 3, 1, 2}}));
  const std::string flat = folder.write("flat.onnx", test::model("Relu", {{"x", {6}}}, {"y", {6}}));
  OutputFile file(folder.path("u8.npy"));
  const std::vector<std::uint8_t> bytes = {10, 20, 30, 40, 50, 60};
  write_npy(file, DType::u8, Extents{1, 1, 2, 3}, std::as_bytes(std::span(bytes)));
  file.commit();
  write_floats(folder, "f32.npy", {1, 3, 1, 2}, {10, 40, 20, 50, 30, 60});
  write_floats(folder, "six.npy", {6}, {1, 2, 3, 4, 5, 6});
  const std::string y = folder.path("y.npy");

  const struct {
    std::string model;
    std::vector<std::string> more;
    std::vector<float> want;
  } cases[] = {
      {m, {"u8.npy", "--input-format", "NHWC", "--norm", "1/10"}, {1, 4, 2, 5, 3, 6}},
      {m, {"u8.npy", "--input-format", "NHWC", "--mean", "10"}, {0, 30, 10, 40, 20, 50}},
      {m,
       {"u8.npy", "--input-format", "NHWC", "--mean", "1,2,3", "--norm", "2"},
       {18, 78, 36, 96, 54, 114}},
      {m, {"f32.npy", "--mean", "1,2,3", "--norm", "1,2,4"}, {9, 39, 36, 96, 108, 228}},
      {m, {"f32.npy"}, {10, 40, 20, 50, 30, 60}},
      {flat, {"six.npy", "--mean", "1", "--norm", "2"}, {0, 2, 4, 6, 8, 10}},
  };

  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"run", c.model, "--output", y, "--input"};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    arguments[5] = folder.path(arguments[5]);
    const Outcome outcome = stowage(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(floats(y), c.want) << outcome.out;
    EXPECT_EQ(holds(outcome.out, "(x - "), c.more.size() > 3 || c.model == flat) << outcome.out;
  }

  const std::string two =
      folder.write("two.onnx", test::model("Add", {{"a", {6}}, {"b", {6}}}, {"y", {6}}));
  const std::string six = folder.path("six.npy"), f32 = folder.path("f32.npy");

  const struct {
    std::vector<std::string> arguments;
    const char* words;
  } refused[] = {
      {{m, "--input", f32, "--mean", "1,2"}, "--mean has 2 numbers, but input 'x'"},
      {{m, "--input", f32, "--norm", "1,2,3,4"}, "has 3 channels"},
      {{flat, "--input", six, "--norm", "1,2"}, "has no channels; give one number"},
      {{two, "--input", "a=" + six, "--input", "b=" + six, "--norm", "2"}, "--mean and --norm"},
      {{flat, "--input", six, "--resize", "none"}, "--resize is about pictures"},
      {{flat, "--input", six, "--resize-mode", "nearest"}, "--resize-mode is about pictures"},
      {{flat, "--input", six, "--pixel", "bgr"}, "--pixel is about pictures"},
  };

  for (const auto& c : refused) {
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_TRUE(holds(outcome.err, c.words)) << outcome.err;
  }
}

TEST(Formats, TheOnlyInputMayHaveAnEmptyName) {
  const TestFolder folder;
  const std::string m = folder.write("m.tflite", test::tflite_image_model("", {1, 1, 2, 3}, "y"));
  const std::string x = write_floats(folder, "x.npy", {1, 3, 1, 2}, {1, 4, 2, 5, 3, 6});
  const std::string y = folder.path("y.npy");
  for (const std::string name : {"", "="}) {
    const Outcome outcome = stowage({"run", m, "--input", name + x, "--shape", name + "1,1,2,3",
                                     "--input-format", name + "NCHW", "--output", y});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(floats(y), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(stowage({"plan", m, "--shape", "1,1,2,3"}).code, 0);
}

// checklist 5.1, 5.6, 6.6: shown in text and JSON.
TEST(Formats, PlansShowThem) {
  const TestFolder folder;
  const std::string bytes = OnnxBuilder()
                                .input("x", {1, 4, 6, 6})
                                .output("z")
                                .weights("w", {8, 4, 3, 3})
                                .ints("to", {1, 288})
                                .node("Conv", {"x", "w"}, {"c"}, {{"pads", OnnxInts{1, 1, 1, 1}}})
                                .node("Reshape", {"c", "to"}, {"r"})
                                .node("Relu", {"r"}, {"z"})
                                .bytes();
  const std::string m = folder.write("m.onnx", bytes);
  for (const std::string planner : {"optimal", "rule", "source"}) {
    const Outcome outcome = stowage({"plan", m, "--planner", planner, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["source_format"], "NCHW");
    EXPECT_EQ(json["inputs"][0]["data_format"], "NCHW");
    EXPECT_EQ(json["outputs"][0]["data_format"], "NONE");
    const Json& conv = json["nodes"][0];
    EXPECT_EQ(conv["inputs"][0]["data_format"], "NCHW");
    EXPECT_EQ(conv["inputs"][1]["data_format"], "NONE");
    EXPECT_EQ(conv["outputs"][0]["data_format"], "NCHW");
    EXPECT_EQ(conv["rule_category"], "fixed");
    EXPECT_EQ(conv["rule_format"], "AUTO");
    const Json& reshape = json["nodes"][1];
    EXPECT_EQ(reshape["outputs"][0]["data_format"], "NONE");
    EXPECT_EQ(reshape["rule_category"], "transposable");
    EXPECT_EQ(reshape["rule_format"], "NCHW");
    EXPECT_EQ(reshape["category"], planner == "rule" ? "transposable" : "source");
  }
  const Outcome text = stowage({"plan", m, "--planner", "rule"});
  for (const char* line :
       {"source format NCHW\n", "input  'x'  [1, 4, 6, 6] NCHW\n", "output 'z'  [1, 288] NONE\n",
        "[1, 4, 6, 6] NCHW -> [1, 8, 6, 6] NCHW  fixed, AUTO\n",
        "[1, 8, 6, 6] NCHW -> [1, 288] NONE  transposable, NCHW\n"}) {
    EXPECT_TRUE(holds(text.out, line)) << line << text.out;
  }
  const Outcome given = stowage({"plan", m, "--input-format", "nhwc"});
  EXPECT_TRUE(holds(given.out, "input  'x'  [1, 4, 6, 6] NCHW, given in NHWC\n")) << given.out;
  const std::string t = folder.write("m.tflite", test::tflite_image_model("x", {1, 5, 6, 3}, "y"));
  EXPECT_TRUE(holds(stowage({"plan", t}).out, "source format NHWC\n"));
}

// checklist 6.11: NONE says that an input is no image, so that nothing that follows it alone is
// AUTO.
TEST(Formats, NoneCountsForTheRule) {
  const TestFolder folder;
  const std::string m = folder.write("m.onnx", OnnxBuilder()
                                                   .input("x", {1, 4, 8, 8})
                                                   .output("y")
                                                   .weights("w", {3, 4, 1, 1})
                                                   .node("Sin", {"x"}, {"s"})
                                                   .node("Sigmoid", {"x"}, {"t"})
                                                   .node("Conv", {"t", "w"}, {"y"})
                                                   .output("s")
                                                   .bytes());
  const auto formats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", m, "--planner", "rule", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string out;
    const Json plan = Json::parse(stowage(arguments).out);
    for (const Json& node : plan["nodes"]) {
      out += node["op"].get<std::string>() + " " + node["rule_format"].get<std::string>() + "; ";
    }
    return out;
  };
  EXPECT_TRUE(holds(formats({}), "sigmoid AUTO; ")) << formats({});
  const std::string none = formats({"--input-format", "x=NONE"});
  EXPECT_TRUE(holds(none, "sigmoid NCHW; ") && holds(none, "conv AUTO; ")) << none;
}

}  // namespace
}  // namespace stowage::cli
