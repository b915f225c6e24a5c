// SPDX-License-Identifier: Apache-2.0
// TFLite files as the world makes them: damaged in any byte, and every model of the test data.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "stowage/inspect.h"
#include "test_paths.h"
#include "tests/suite/bad_models.h"
#include "tests/suite/run_model.h"
#include "tests/suite/tflite_builder.h"

namespace stowage {
namespace {

std::string folder() { return std::string(STOWAGE_TEST_DATA) + "/models/tflite"; }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Whatever the bytes, reading ends well or in an Error that blames the file.
void expect_no_crash(const std::string& bytes) {
  const TempFile file(bytes);
  ImportOptions options;
  options.limits.total_bytes = 64 << 20;
  const auto expect_error_or_success = [](auto&& read) {
    try {
      read();
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    }
  };
  expect_error_or_success([&] { import_model(file.path(), options); });
  expect_error_or_success([&] { inspect_model(file.path(), options.limits); });
}

void damage(const std::string& good, int flips, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < flips; ++i) {
    std::string bad = good;
    for (unsigned k = 0; k <= random() % 4; ++k) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    expect_no_crash(bad);
  }
  for (std::size_t step = std::max<std::size_t>(good.size() / 97, 1), n = 0; n < good.size();
       n += step) {
    expect_no_crash(good.substr(0, n));
  }
}

TEST(TfliteBad, DamagedBytes) {
  TfliteBuilder b;
  const int x = b.input("x", {1, 4, 4, 1}), w = b.floats("w", {2, 3, 3, 1}, std::vector<float>(18));
  b.op(tfl::BuiltinOperator_CONV_2D, {x, w}, {b.output("y", {1, 4, 4, 2})},
       tfl::CreateConv2DOptions(b.fbb, 0, 1, 1), tfl::BuiltinOptions_Conv2DOptions);
  b.op(tfl::BuiltinOperator_RESHAPE, {1, b.ints("shape", {4, 8})}, {b.tensor("z", {4, 8})});
  damage(b.bytes(), 2000, 1);
}

TEST(TfliteBad, DamagedModels) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << "skipped: no test data";
  damage(read_file(folder() + "/tflm_hello_world_float.tflite"), 300, 2);
  damage(read_file(folder() + "/tfls_dilated_conv_dynamic.tflite"), 300, 3);
  damage(read_file(folder() + "/hand_keypoint_classifier.tflite"), 300, 4);
}

TEST(TfliteModels, FloatModelsRunAndIntegerModelsAreRefused) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << "skipped: no test data";
  int ran = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string path = entry.path().string(), name = entry.path().stem().string();
    SCOPED_TRACE(name);
    const bool integers = name.starts_with("coral") || name.ends_with("int8") ||
                          name == "prisma_quant" || name == "tflm_micro_speech" ||
                          name == "tflm_person_detect";
    if (integers) {
      ErrorCode code = ErrorCode::internal;
      const std::string what = failure(path, {}, code);
      EXPECT_EQ(code, ErrorCode::unsupported) << what;
      EXPECT_NE(what.find("int8 quantised tensors are not supported yet"), std::string::npos)
          << what;
      continue;
    }
    ImportOptions options;
    if (name == "tfls_dilated_conv_dynamic") options = {.shapes = {{"input_1", {1, 9, 11, 3}}}};
    Session session = session_of(path, options);
    std::vector<Tensor> in;
    for (const Port& p : session.inputs()) in.push_back(random_input(p, 5));
    for (const Tensor& out : run_session(session, in)) {
      ASSERT_EQ(out.dtype(), DType::f32);
      for (float x : out.as<float>()) ASSERT_TRUE(std::isfinite(x));
    }
    ++ran;
  }
  EXPECT_GE(ran, 13);
}

}  // namespace
}  // namespace stowage
