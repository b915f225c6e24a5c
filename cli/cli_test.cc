// SPDX-License-Identifier: Apache-2.0
// The command line as a caller sees it: exit codes, sentences, files.
#include "cli/cli.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cli/test_cli.h"
#include "stowage/layout.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

/// `{F}` in an argument stands for the folder.
std::vector<std::string> placed(std::vector<std::string> arguments, const std::string& folder) {
  for (std::string& argument : arguments) {
    const std::size_t at = argument.find("{F}");
    if (at != std::string::npos) argument.replace(at, 3, folder);
  }
  return arguments;
}

TEST(Cli, RefusalsHaveACodeAndOneLine) {
  const TestFolder folder;
  folder.write("empty", "");
  folder.write("text.onnx", "this is no model");
  folder.write("text.npy", "this is no array");
  write_floats(folder, "a.npy", {60}, std::vector<float>(60, 1));
  const std::vector<std::string> convert = {"convert", "{F}/a.npy", "{F}/out.npy"};

  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  } cases[] = {
      // The command line.
      {{}, 2, "run, info, plan, bench"},
      {{"fly"}, 2, "no command 'fly'"},
      {{"--fly"}, 2, "--fly"},
      {{"layout"}, 2, "stowage layout --help"},
      {{"layout", "NCHW", "--fly"}, 2, "--fly"},
      {{"layout", "NCHW", "--elem-bytes", "many"}, 2, "many"},
      {{"run"}, 2, "stowage run --help"},
      {{"bench"}, 2, "MODEL"},
      {{"check"}, 2, "DIR"},
      // Layouts and shapes.
      {{"layout", "n c/ h w"}, 2, "column 5"},
      {{"layout", "n c/4 h w"}, 2, "c"},
      {{"layout", ""}, 2, "column 1"},
      {{"layout", "NCHW", "--shape", "n=1,c=3"}, 2, "dim"},
      {{"layout", "NCHW", "--shape", "n=1,c=x"}, 2, "column"},
      {{"layout", "NCHW", "--shape", "n=1,c=-3,h=1,w=1"}, 2, "extent"},
      {{"layout", "NCHW", "--shape", "n=99999999,c=99999999,h=9,w=9"}, 6, "2^47"},
      {{"layout", "NCHW", "--map", "--json"}, 2, "--shape"},
      {{"layout", "NCHW", "--map", "--shape", "n=1,c=1,h=1,w=1"}, 2, "--json"},
      {{"layout", "NCHW", "--json", "--map", "--shape", "n=1,c=3,h=4000,w=4000"}, 6, "positions"},
      {{"layout", "NCHW", "--elem-bytes", "0", "--shape", "n=1,c=3,h=4,w=4"}, 2, "--elem-bytes"},
      {{"layout", "NCHW", "--svg", "{F}/x.svg"}, 2, "--shape"},
      {{"layout", "NCHW", "--svg", "{F}/no/x.svg", "--shape", "n=1,c=3,h=4,w=4"},
       3,
       "cannot write"},
      // Arrays.
      {{"convert", "{F}/none.npy", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       3,
       "none.npy"},
      {{"convert", "{F}", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       3,
       "directory"},
      {{"convert", "{F}/empty", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       3,
       "no .npy"},
      {{"convert", "{F}/text.npy", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       3,
       "no .npy"},
      {{"convert", "{F}/a.npy", "{F}/no/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       3,
       "cannot write"},
      {{"convert", "{F}/a.npy", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=6"},
       3,
       "shape [60]"},
      {{"convert", "{F}/a.npy", "{F}/o.npy", "--from", "NCHW", "--to", "n o", "--shape",
        "n=1,c=3,h=4,w=5"},
       2,
       "dim"},
      {{"convert", "{F}/a.npy", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5", "--dtype", "f31"},
       2,
       "f31"},
      {{"convert", "{F}/a.npy", "{F}/o.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5", "--from-dtype", "bf16"},
       2,
       "bf16"},
      // Models.
      {{"run", "{F}/none.onnx"}, 3, "none.onnx"},
      {{"run", "{F}"}, 3, "importing"},
      {{"run", "{F}/empty"}, 3, "importing"},
      {{"run", "{F}/text.onnx"}, 3, "text.onnx"},
      {{"plan", "{F}/text.onnx"}, 3, "text.onnx"},
      {{"bench", "{F}/text.onnx"}, 3, "text.onnx"},
      {{"run", "{F}/m.mnn"}, 4, "ncnn"},
      {{"plan", "{F}/m.onnx", "--planner", "best"}, 2, "optimal"},
      {{"run", "{F}/m.onnx", "--device", "opencl:1"}, 5, "--device cpu"},
      {{"run", "{F}/m.onnx", "--device", "gpu"}, 2, "gpu"},
      {{"run", "{F}/m.onnx", "--device", "opencl:x"}, 2, "opencl:x"},
      {{"run", "{F}/m.onnx", "--threads", "0"}, 2, "--threads 0"},
      {{"run", "{F}/m.onnx", "--resize", "crop"}, 2, "letterbox"},
      {{"run", "{F}/m.onnx", "--pixel", "yuv"}, 2, "bgr"},
      {{"run", "{F}/m.onnx", "--mean", "x"}, 2, "--mean"},
      {{"run", "{F}/m.onnx", "--norm", "1,"}, 2, "--norm"},
      {{"run", "{F}/m.onnx", "--output", "x.jpg"}, 2, ".png"},
      {{"run", "{F}/m.onnx", "--top", "-1"}, 2, "--top"},
      {{"run", "{F}/m.onnx", "--labels", "x"}, 2, "--top"},
      {{"bench", "{F}/m.onnx", "--runs", "0"}, 2, "--runs 0"},
      {{"bench", "{F}/m.onnx", "--warmup", "-1"}, 2, "--warmup"},
      {{"check", "{F}/none"}, 3, "no folder"},
      {{"check", "{F}"}, 3, "model.onnx"},
      {{"check", "{F}", "--rtol", "-1"}, 2, "--rtol"},
  };

  for (const auto& c : cases) {
    const Outcome outcome = stowage(placed(c.arguments, folder.root()));
    std::string line;
    for (const std::string& argument : c.arguments) line += " " + argument;
    EXPECT_EQ(outcome.code, c.code) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(c.words), std::string::npos) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.err.rfind("stowage: ", 0), 0u) << line;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
  }
  EXPECT_EQ(folder.list().size(), 4u) << "something was left behind";
}

TEST(Cli, HelpAndVersion) {
  for (const char* command :
       {"run", "plan", "bench", "check", "convert", "layout", "devices", "calibrate"}) {
    const Outcome outcome = stowage({command, "--help"});
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.out.find(command), std::string::npos);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(stowage({"--help"}).out.find(command), std::string::npos);
  }
  EXPECT_EQ(stowage({"--version"}).out.rfind("stowage ", 0), 0u);
}

TEST(Cli, OneLineTellsACaretInWords) {
  EXPECT_EQ(one_line("plain"), "plain");
  EXPECT_EQ(one_line("ab cd\n   ^ expected x"), "expected x, at column 4 of 'ab cd'");
  EXPECT_EQ(one_line("ab\n ^ no\ntry ac"), "no, at column 2 of 'ab'; try ac");
  EXPECT_EQ(one_line("a\x1b[31m\nb"), "a\\x1b[31m; b");
}

TEST(Cli, VersionIsThatOfCMake) {
  std::ifstream in(STOWAGE_SOURCE_DIR "/CMakeLists.txt");
  const std::string cmake{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string project = "project(stowage VERSION " STOWAGE_VERSION " ";
  EXPECT_NE(cmake.find(project), std::string::npos);
  EXPECT_EQ(text(STOWAGE_VERSION_MAJOR, ".", STOWAGE_VERSION_MINOR, ".", STOWAGE_VERSION_PATCH),
            STOWAGE_VERSION);
  EXPECT_EQ(stowage({"--version"}).out, "stowage " STOWAGE_VERSION "\n");
}

TEST(CliLayout, NamesAreListed) {
  const Outcome list = stowage({"layout", "--list"});
  EXPECT_EQ(list.code, 0);
  for (const NamedLayout& named : layout_catalog()) {
    EXPECT_NE(list.out.find(named.name), std::string::npos) << named.name;
  }
  const Json json = Json::parse(stowage({"layout", "--list", "--json"}).out);
  ASSERT_EQ(json.size(), layout_catalog().size());
  EXPECT_EQ(json[0]["name"], layout_catalog()[0].name);
  EXPECT_EQ(stowage({"layout", "--list", "NCHW"}).code, 2);
  // One axis of several letters is a layout, and perhaps was not meant.
  const Outcome one = stowage({"layout", "nhwc"});
  EXPECT_EQ(one.code, 0);
  EXPECT_NE(one.out.find("did you mean NHWC?"), std::string::npos) << one.out;
  EXPECT_EQ(stowage({"layout", "nhwc", "--shape", "nhwc=3"}).out.find("did you"),
            std::string::npos);
}

TEST(CliLayout, JsonWithoutAShape) {
  const Json json = Json::parse(stowage({"layout", "nChw4c", "--json"}).out);
  EXPECT_EQ(json["layout"], "n c/4 h w c%4");
  EXPECT_EQ(json["dims"], "nchw");
  EXPECT_TRUE(json["extents"].is_null());
}

TEST(CliLayout, JsonOfAShape) {
  const Outcome outcome = stowage({"layout", "y:(n h) x:(c/4 w) lane:c%4", "--shape",
                                   "n=1,c=6,h=2,w=3", "--elem-bytes", "2", "--json", "--map"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"layout", "dims", "shape", "element_bytes", "extents",
                                            "bytes", "cells", "bijective", "positions"}));
  EXPECT_EQ(json["extents"].dump(), R"({"y":2,"x":6,"lane":4})");
  EXPECT_EQ(json["cells"].dump(), R"({"data":36,"tail":12,"gap":0})");
  EXPECT_EQ(json["bytes"], 96);
  EXPECT_EQ(json["bijective"], false);
  // Channel 5, row 1, column 2: the second block of channels, its second lane.
  EXPECT_EQ(json["positions"][35].dump(), "[1,5,1]");
}

TEST(CliLayout, TextAndPicture) {
  const TestFolder folder;
  const Outcome outcome =
      stowage({"layout", "NCHW4c", "--shape", "n=1,c=6,h=2,w=3", "--svg", folder.path("l.svg")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("n c/4 h w c%4"), std::string::npos);
  EXPECT_NE(outcome.out.find("48 cells"), std::string::npos) << outcome.out;
  EXPECT_NE(folder.read("l.svg").find("<svg"), std::string::npos);
  EXPECT_EQ(stowage({"layout", "NCHW"}).code, 0);
}

// checklist 7.12
TEST(CliLayout, HeadersOfMats) {
  const struct {
    const char *layout, *shape, *bytes, *says;
  } cases[] = {
      {"ncnn-1d-pack1", "w=40", "4",
       "dims 1, w 40, h 1, d 1, c 1, cstep 40, elemsize 4, elempack 1"},
      {"ncnn-1d-pack4", "w=40", "4",
       "dims 1, w 10, h 1, d 1, c 1, cstep 10, elemsize 16, elempack 4"},
      {"ncnn-1d-pack1", "w=3", "4", "dims 1, w 3, h 1, d 1, c 1, cstep 4, elemsize 4, elempack 1"},
      {"w/2 w%2", "w=40", "8", "dims 1, w 20, h 1, d 1, c 1, cstep 20, elemsize 16, elempack 2"},
      {"ncnn-2d-pack1", "h=6,w=5", "4",
       "dims 2, w 5, h 6, d 1, c 1, cstep 32, elemsize 4, elempack 1"},
      {"ncnn-2d-pack8", "h=9,w=3", "1",
       "dims 2, w 3, h 2, d 1, c 1, cstep 6, elemsize 8, elempack 8"},
      {"ncnn-3d-pack3", "c=3,h=3,w=5", "1",
       "dims 3, w 5, h 3, d 1, c 1, cstep 16, elemsize 3, elempack 3"},
      {"ncnn-3d-pack4", "c=6,h=3,w=5", "2",
       "dims 3, w 5, h 3, d 1, c 2, cstep 16, elemsize 8, elempack 4"},
      {"ncnn-4d-pack2", "c=3,d=2,h=3,w=3", "4",
       "dims 4, w 3, h 3, d 2, c 2, cstep 18, elemsize 8, elempack 2"},
      {"ncnn-batch-pack4", "n=3,c=6,h=3,w=5", "4",
       "c 2, cstep 15, elemsize 16, elempack 4, n 3, nstep 256"},
      {"ncnn-batch-pack4", "n=1,c=6,h=3,w=5", "4",
       "dims 3, w 5, h 3, d 1, c 2, cstep 15, elemsize 16, elempack 4"},
      {"ncnn-2d-pack1", "w=3,h=6", "4",
       "dims 2, w 3, h 6, d 1, c 1, cstep 20, elemsize 4, elempack 1"},
      {"ncnn-3d-pack4", "w=5,h=3,c=6", "4",
       "dims 3, w 5, h 3, d 1, c 2, cstep 15, elemsize 16, elempack 4"},
  };

  for (const auto& c : cases) {
    const std::vector<std::string> words = {"layout",       c.layout, "--shape", c.shape,
                                            "--elem-bytes", c.bytes,  "--json"};
    const std::string out = stowage(std::vector(words.begin(), words.end() - 1)).out;
    EXPECT_NE(out.find(c.says), std::string::npos) << out;
    const Json mat = Json::parse(stowage(words).out)["mat"];
    const std::string cstep = "cstep " + mat["cstep"].dump() + ",";
    EXPECT_NE(std::string(c.says).find(cstep), std::string::npos) << mat.dump();
  }
  EXPECT_FALSE(
      Json::parse(stowage({"layout", "nChw4c", "--shape", "n=1,c=6,h=2,w=3", "--json"}).out)
          .contains("mat"));
}

TEST(CliLayout, OneElementOneTexelOneCell) {
  const std::vector<std::string> image = {"layout", "image-channel", "--shape", "n=1,c=6,h=2,w=3"};
  const auto ask = [&](std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
    return stowage(words);
  };
  const Json element = Json::parse(ask(image, {"--element", "c=5,h=1,w=2", "--json"}).out);
  EXPECT_EQ(element["element"].dump(), R"({"at":[0,5,1,2],"position":[1,5,1],"byte":180})");
  EXPECT_NE(ask(image, {"--element", "c=5,h=1,w=2"}).out.find("y=1, x=5, lane=1, byte 180 of 192"),
            std::string::npos);
  const Json texel = Json::parse(ask(image, {"--pixel", "1,5", "--json"}).out);
  EXPECT_EQ(texel["holds"].dump(), R"(["n=0,c=4,h=1,w=2","n=0,c=5,h=1,w=2","tail","tail"])");
  const Json lane = Json::parse(ask(image, {"--pixel", "1,5,1", "--json"}).out);
  EXPECT_EQ(lane["holds"].dump(), R"(["n=0,c=5,h=1,w=2"])");
  const std::vector<std::string> linear = {"layout", "nChw4c", "--shape", "n=1,c=6,h=2,w=3"};
  EXPECT_EQ(Json::parse(ask(linear, {"--cell", "45", "--json"}).out)["holds"].dump(),
            R"(["n=0,c=5,h=1,w=2"])");
  EXPECT_EQ(Json::parse(ask(linear, {"--cell", "47", "--json"}).out)["holds"].dump(),
            R"(["tail"])");
  for (const auto& [words, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--pixel", "2,0"}, "y 2"},
           {{"--pixel", "0,0,4"}, "lane 4"},
           {{"--pixel", "0"}, "--pixel"},
           {{"--cell", "0"}, "--pixel"},
           {{"--element", "c=6"}, "c=6"},
           {{"--element", "k=0"}, "k=0"},
           {{"--element", "c"}, "--element c "},
           {{"--element", "c=1,c=2"}, "twice"},
           {{"--pixel", "1,2,3,4"}, "Y,X"},
           {{"--pixel", "1;2"}, "1;2"},
           {{"--limits", "16384y"}, "16384x16384"},
           {{"--limits", "16384"}, "16384x16384"}}) {
    const Outcome outcome = ask(image, words);
    EXPECT_EQ(outcome.code, 2) << what;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(ask(linear, {"--pixel", "0,0"}).code, 2);
  EXPECT_EQ(ask(linear, {"--cell", "48"}).code, 2);
  EXPECT_EQ(stowage({"layout", "NCHW", "--cell", "0"}).code, 2);
  EXPECT_EQ(stowage({"layout", "--element", "c=5", "--pixel", "1,5", "image-channel", "--shape",
                     "n=1,c=6,h=2,w=3"})
                .code,
            0);
  EXPECT_EQ(
      stowage({"layout", "y:h x:w lane:c", "--shape", "h=1,w=1,c=1000000000000", "--pixel", "0,0"})
          .code,
      6);
  EXPECT_EQ(stowage({"layout", "NCHW", "--shape", "n=1,c=6,h=0,w=3", "--element", "c=5"}).code, 2);
}

TEST(CliLayout, ImagesOfADevice) {
  struct Case {
    const char *layout, *shape, *bytes;
    bool rgba;
    std::optional<bool> within;  ///< nothing: linear memory has no width
    const char* says;
  };

  const Case cases[] = {
      {"image-channel", "n=1,c=6,h=2,w=3", "4", true, true, "CL_RGBA   yes"},
      {"image-channel", "n=1,c=6,h=2,w=3", "2", true, true, "limits    kept"},
      {"image-channel", "n=1,c=6,h=2,w=3", "8", false, true, "8 bytes"},
      {"image-channel", "n=1,c=16,h=2,w=4097", "4", true, false,
       "16388 x 2 texels are over 16384 x 16384"},
      {"image-channel", "n=2,c=4,h=10000,w=4", "4", true, false, "4 x 20000 texels"},
      {"y:(n h) x:(c/8 w) lane:c%8", "n=1,c=16,h=2,w=3", "4", false, true, "8 lanes, not 4"},
      {"image-channel", "n=1,c=6,h=2,w=3", "3", false, true, "3 bytes"},
      {"nChw4c", "n=1,c=6,h=2,w=3", "4", false, {}, "linear memory"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    std::vector<std::string> words = {"layout",       c.layout, "--shape",  c.shape,
                                      "--elem-bytes", c.bytes,  "--limits", "16384x16384"};
    const std::string out = stowage(words).out;
    EXPECT_NE(out.find(c.says), std::string::npos) << out;
    words.push_back("--json");
    const Json json = Json::parse(stowage(words).out);
    EXPECT_EQ(json["cl_rgba"], c.rgba);
    EXPECT_EQ(json["within_limits"], c.within ? Json(*c.within) : Json(nullptr));
  }
}

Json bound(std::string_view layout, const std::string& shape) {
  const Outcome outcome = stowage({"layout", std::string(layout), "--shape", shape, "--json"});
  EXPECT_EQ(outcome.code, 0) << layout << " " << shape << ": " << outcome.err;
  return outcome.code == 0 ? Json::parse(outcome.out) : Json();
}

/// An axis that a value lacks counts as 1.
TEST(CliLayout, ImagesOfValuesThatLackAxes) {
  int images = 0;
  for (const NamedLayout& named : layout_catalog()) {
    const Layout layout = Layout::parse(named.layout);
    if (!layout.is_image()) continue;
    ++images;
    SCOPED_TRACE(named.name);
    for (const Axis& kept : layout.axes()) {
      std::string shape, others;
      for (const Axis& axis : layout.axes()) {
        if (axis == kept) continue;
        shape += text(axis.name(), "=1,");
        if (others.empty()) others = text(axis.name(), "=3,");
      }
      const std::string alone = text(kept.name(), "=10");
      EXPECT_EQ(bound(named.name, alone)["extents"], bound(named.name, shape + alone)["extents"]);
      if (others.empty()) continue;
      EXPECT_EQ(bound(named.name, others + alone)["cells"]["data"], 30);
    }
  }
  EXPECT_GT(images, 10);
  // A vector is one along any axis.
  const Json vector = bound("image-argument", "c=10");
  EXPECT_EQ(vector["extents"].dump(), R"({"y":1,"x":3,"lane":4})");
  EXPECT_EQ(vector["layout"], "y:() x:c/4 lane:c%4");
  EXPECT_EQ(bound("image-channel", "n=2,c=10")["shape"].dump(), "[2,10,1,1]");
  // What the image has no room for is refused, and so are axes that linear memory lacks.
  for (const auto& [name, shape] : std::vector<std::pair<const char*, const char*>>{
           {"image-argument", "c=10,w=3"}, {"image-channel", "d=3"}, {"NCHW", "c=10"}}) {
    EXPECT_EQ(stowage({"layout", name, "--shape", shape}).code, 2) << name;
  }
}

TEST(CliLayout, AgreesWithTheGoldenPositions) {
  const std::string file = data_path("spec/golden_layouts.json");
  if (file.empty()) GTEST_SKIP() << "skipped: no test data";
  std::ifstream in(file);
  const Json golden = Json::parse(in);
  ASSERT_GT(golden.size(), 50u);
  for (const Json& entry : golden) {
    std::string shape;
    const std::string dims = entry["dims"];
    for (std::size_t i = 0; i < dims.size(); ++i) {
      shape += (i == 0 ? "" : ",") + dims.substr(i, 1) + "=" + entry["shape"][i].dump();
    }
    const Outcome outcome = stowage({"layout", entry["layout"], "--shape", shape, "--elem-bytes",
                                     entry["element_bytes"].dump(), "--json", "--map"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    for (const char* key :
         {"layout", "dims", "shape", "element_bytes", "extents", "cells", "positions"}) {
      EXPECT_EQ(json[key], entry[key]) << entry["name"] << " " << shape << " " << key;
    }
  }
}

TEST(CliConvert, PhysicalArrays) {
  const TestFolder folder;
  // n=1 c=3 h=1 w=2
  const std::vector<float> nchw = {1, 2, 3, 4, 5, 6};

  const struct {
    const char *from, *to;
    std::vector<std::int64_t> in_shape, out_shape;
    std::vector<float> want;
  } cases[] = {
      {"NCHW", "NHWC", {6}, {6}, {1, 3, 5, 2, 4, 6}},
      {"NCHW", "NHWC", {1, 3, 1, 2}, {6}, {1, 3, 5, 2, 4, 6}},
      {"NCHW", "nChw4c", {6}, {8}, {1, 3, 5, 0, 2, 4, 6, 0}},
      {"NCHW", "y:(n h) x:(c/4 w) lane:c%4", {6}, {1, 2, 4}, {1, 3, 5, 0, 2, 4, 6, 0}},
      // Planes of two floats, each rounded up to 16 bytes: the gap is written as zero.
      {"NCHW", "c (h w)~16B", {6}, {12}, {1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0}},
  };

  for (const auto& c : cases) {
    write_floats(folder, "in.npy", c.in_shape, nchw);
    const Outcome outcome = stowage({"convert", folder.path("in.npy"), folder.path("out.npy"),
                                     "--from", c.from, "--to", c.to, "--shape", "n=1,c=3,h=1,w=2"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Tensor out = read_npy(folder.path("out.npy"));
    EXPECT_TRUE(std::equal(c.out_shape.begin(), c.out_shape.end(), out.shape().extents().begin(),
                           out.shape().extents().end()));
    const auto have = out.as<float>();
    EXPECT_EQ(std::vector<float>(have.begin(), have.end()), c.want) << c.to;
    // And back.
    const Outcome back = stowage({"convert", folder.path("out.npy"), folder.path("back.npy"),
                                  "--from", c.to, "--to", c.from, "--shape", "n=1,c=3,h=1,w=2"});
    ASSERT_EQ(back.code, 0) << back.err;
    const Tensor again = read_npy(folder.path("back.npy"));
    const auto values = again.as<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), nchw) << c.to;
  }
}

TEST(CliConvert, ExplainsWhatItDid) {
  const TestFolder folder;
  write_floats(folder, "in.npy", {1, 32, 9, 9}, std::vector<float>(32 * 81, 1));
  const Outcome outcome =
      stowage({"convert", folder.path("in.npy"), folder.path("out.npy"), "--from", "NCHW", "--to",
               "NHWC", "--shape", "n=1,c=32,h=9,w=9", "--explain", "--rates", "default"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"transpose: 10368 bytes in ",
                            "20736 bytes read and written: ", "GB/s predicted", "GB/s measured"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << outcome.out;
  }
}

TEST(CliConvert, ChangesTheType) {
  const TestFolder folder;
  write_floats(folder, "in.npy", {4}, {0, 1, 2.5f, 300});
  const std::vector<std::string> common = {"--from", "w", "--to", "w", "--shape", "w=4"};
  const auto convert = [&](std::string in, std::string out, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"convert", folder.path(in), folder.path(out)};
    arguments.insert(arguments.end(), common.begin(), common.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = stowage(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  convert("in.npy", "u8.npy", {"--dtype", "u8"});
  const Tensor bytes = read_npy(folder.path("u8.npy"));
  EXPECT_EQ(bytes.dtype(), DType::u8);
  EXPECT_EQ(bytes.as<std::uint8_t>()[2], 2);
  EXPECT_EQ(bytes.as<std::uint8_t>()[3], 255);
  convert("in.npy", "bf16.npy", {"--dtype", "bf16"});
  EXPECT_EQ(read_npy(folder.path("bf16.npy")).as<std::uint16_t>()[1], 0x3f80);
  convert("bf16.npy", "same.npy", {"--dtype", "bf16"});
  EXPECT_EQ(read_npy(folder.path("same.npy")).as<std::uint16_t>()[1], 0x3f80);
  convert("bf16.npy", "f32.npy", {"--from-dtype", "bf16", "--dtype", "f32"});
  EXPECT_EQ(read_npy(folder.path("f32.npy")).as<float>()[2], 2.5f);
}

TEST(CliDevices, NamesTheCpu) {
  EXPECT_EQ(stowage({"devices"}).out.rfind("cpu  ", 0), 0u);
  const Json json = Json::parse(stowage({"devices", "--json"}).out);
  EXPECT_EQ(json["devices"][0]["device"], "cpu");
  EXPECT_GE(json["devices"][0]["threads"], 1);
  // OpenCL devices follow, or why there are none.
  for (std::size_t i = 1; i < json["devices"].size(); ++i) {
    EXPECT_EQ(json["devices"][i]["device"], "opencl:" + std::to_string(i - 1));
    EXPECT_GT(json["devices"][i]["memory_bytes"], 0);
    EXPECT_TRUE(json["devices"][i]["rates"].contains("gflops"));
  }
  EXPECT_EQ(json["devices"].size() == 1, json.contains("opencl_none"));
}

}  // namespace
}  // namespace stowage::cli
