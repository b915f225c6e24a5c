// SPDX-License-Identifier: Apache-2.0
// The commands on models of ncnn.
#include <gtest/gtest.h>

#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "tests/suite/ncnn_builder.h"

namespace stowage::cli {
namespace {

/// y = 2 x + 1 on one channel.
class NcnnCli : public testing::Test {
 protected:
  NcnnCli() {
    bin_ = NcnnBin().word(0).floats({2}).floats({1}).bytes;
    param_ = folder_.write(
        "net.param", ncnn_param({"Input i 0 1 x/0", "Convolution c 1 1 x/0 y 0=1 1=1 5=1 6=1"}));
    folder_.write("net.bin", bin_);
  }

  TestFolder folder_;
  std::string param_, bin_;
};

TEST_F(NcnnCli, CheckReadsArraysOfBlobs) {
  EXPECT_NE(stowage({"check", folder_.root()}).code, 0);  // no data
  write_floats(folder_, "input_x_0.npy", {1, 1, 3}, {0, 1, -2});
  EXPECT_TRUE(holds(stowage({"check", folder_.root()}).out, "no output_BLOB.npy"));
  write_floats(folder_, "output_y.npy", {1, 1, 3}, {1, 3, -3});
  const Outcome good = stowage({"check", folder_.root(), "--rtol", "0", "--atol", "0"});
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_TRUE(holds(good.out, "PASS net\n1 passed")) << good.out;
  write_floats(folder_, "output_y.npy", {1, 1, 3}, {1, 3, -2});
  const Outcome bad = stowage({"check", folder_.root()});
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(holds(bad.out, "FAIL net: output 'y'")) << bad.out;
  write_floats(folder_, "output_y.npy", {3}, {1, 3, -3});
  EXPECT_EQ(stowage({"check", folder_.root()}).code, 1);
}

TEST(NcnnCheck, DetectionsEndWithTheLastThatWasFound) {
  TestFolder folder;
  folder.write("d.param", ncnn_param({"Input i 0 1 x 0=2 1=2 2=6",
                                      "YoloDetectionOutput d 1 1 x y 0=1 1=1 2=0.5 3=0.45 "
                                      "-23304=2,1.0,1.0"}));
  // A box of half the picture in the first of 2 x 2 cells.
  std::vector<float> x(24, 0.0f);
  std::fill(x.begin() + 16, x.begin() + 20, -20.0f);
  const auto check = [&](const std::vector<std::int64_t>& dims, const std::vector<float>& rows) {
    write_floats(folder, "input_x.npy", {6, 2, 2}, x);
    write_floats(folder, "output_y.npy", dims, rows);
    return stowage({"check", folder.root(), "--rtol", "1e-6"}).code;
  };
  EXPECT_EQ(check({0, 6}, {}), 0);
  EXPECT_EQ(check({1, 6}, {1, 1, 0, 0, 0.5f, 0.5f}), 1);
  x[16] = 20;
  EXPECT_EQ(check({1, 6}, {1, 1, 0, 0, 0.5f, 0.5f}), 0);
  EXPECT_EQ(check({1, 6}, {1, 1, 0, 0, 0.5f, 0.25f}), 1);
  EXPECT_EQ(check({0, 6}, {}), 1);  // one too many
}

TEST_F(NcnnCli, WeightsAreFoundSaidOrMadeUp) {
  const std::vector<std::string> bench = {"bench", param_, "--shape", "1,4,5", "--runs", "1"};
  EXPECT_EQ(stowage(bench).code, 0);
  folder_.write("other.bin", bin_);
  std::filesystem::remove(folder_.path("net.bin"));
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = bench;
    all.insert(all.end(), more.begin(), more.end());
    return stowage(all);
  };
  EXPECT_EQ(with({}).code, 3);
  EXPECT_EQ(with({"--weights", folder_.path("other.bin")}).code, 0);
  EXPECT_EQ(with({"--generated-weights"}).code, 0);
  EXPECT_EQ(stowage({"plan", param_, "--shape", "1,4,5", "--generated-weights"}).code, 0);
}

TEST_F(NcnnCli, RunTakesArraysAndWritesBlobs) {
  const std::string x = write_floats(folder_, "x.npy", {1, 1, 3}, {0, 1, -2});
  const Outcome run = stowage({"run", param_, "--input", x, "--output-dir", folder_.path("out")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(holds(run.out, "f32 [1, 1, 3]")) << run.out;
  // What the file says of a shape is a hint; what the user says is not.
  const std::string hinted = folder_.write(
      "hinted.param",
      ncnn_param({"Input i 0 1 x/0 0=9 1=9 2=9", "Convolution c 1 1 x/0 y 0=1 1=1 5=1 6=1"}));
  EXPECT_EQ(stowage({"run", hinted, "--weights", folder_.path("net.bin"), "--input", x}).code, 0);
  EXPECT_EQ(stowage({"run", hinted, "--weights", folder_.path("net.bin"), "--input", x, "--shape",
                     "1,1,4"})
                .code,
            3);
  OutputFile png(folder_.path("gray.png"));
  write_png(png, Picture{4, 5, 1, std::vector<std::uint8_t>(20, 128)});
  png.commit();
  const Outcome picture =
      stowage({"run", param_, "--image", folder_.path("gray.png"), "--shape", "1,5,4"});
  EXPECT_EQ(picture.code, 0) << picture.err;
  EXPECT_TRUE(holds(picture.out, "f32 [1, 5, 4]")) << picture.out;
}

TEST_F(NcnnCli, OtherFilesHaveTheirSentences) {
  const Outcome bin = stowage({"plan", folder_.path("net.bin")});
  EXPECT_EQ(bin.code, 4);
  EXPECT_TRUE(holds(bin.err, "give the .param beside it")) << bin.err;
  const Outcome open = stowage({"plan", param_});
  EXPECT_EQ(open.code, 2);
  EXPECT_TRUE(holds(open.err, "give it, e.g. --shape x/0=3,224,224")) << open.err;
}

TEST_F(NcnnCli, WhatIsSaidOfWeightsAndOutputsIsNotLost) {
  const auto code = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan", folder_.path("plain.param"), "--shape", "1,4,5"};
    words.insert(words.end(), more.begin(), more.end());
    return stowage(words).code;
  };
  folder_.write("plain.param", ncnn_param({"Input i 0 1 x", "ReLU r 1 1 x y"}));
  const std::string empty = folder_.write("empty.bin", "");
  EXPECT_EQ(code({}), 0);
  EXPECT_EQ(code({"--weights", empty}), 0);
  EXPECT_EQ(code({"--weights", folder_.path("net.bin")}), 3);
  EXPECT_EQ(code({"--weights", folder_.path("none.bin")}), 3);
  EXPECT_EQ(code({"--weights", empty, "--generated-weights"}), 2);
  write_floats(folder_, "x.npy", {1, 1, 3}, {1, 2, 3});
  const Outcome run = stowage(
      {"run", param_, "--input", folder_.path("x.npy"), "--output", "z=" + folder_.path("z.npy")});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(holds(run.err, "'z', which is no output; the outputs are 'y'")) << run.err;
}

TEST_F(NcnnCli, DeploymentFiles) {
  folder_.write("w.bin", bin_);
  std::filesystem::remove(folder_.path("net.bin"));
  const std::string file =
      folder_.write("d.yml",
                    "models:\n  m:\n    platform: ncnn\n    model_file_path: net.param\n"
                    "    weight_file_path: w.bin\n    subgraphs:\n      - input_tensors: x/0\n"
                    "        input_shapes: 1,4,5\n        output_tensors: y\n");
  const Outcome bench = stowage({"bench", "--deploy", file, "--runs", "1"});
  EXPECT_EQ(bench.code, 0) << bench.err;
  const Outcome check = stowage({"check", "--deploy", file});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace stowage::cli
