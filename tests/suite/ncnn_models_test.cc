// SPDX-License-Identifier: Apache-2.0
// Models that exist for ncnn and for ONNX compute the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test_paths.h"
#include "tests/suite/ncnn_builder.h"
#include "tests/suite/run_model.h"

namespace stowage {
namespace {

std::filesystem::path models() {
  const std::string data = STOWAGE_TEST_DATA;
  return data.empty() ? std::filesystem::path() : std::filesystem::path(data) / "models";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Samples from 0 to 1, as a network of pictures is used to.
Tensor picture_like(const Port& port) {
  Tensor t = random_input(port, 1);
  for (float& x : t.as<float>()) x = (x + 1) / 2;
  return t;
}

/// Weights of convolutions as a file of 16 bits has them: cut off, as ncnn's tools do.
void store_in_halves(Graph& graph) {
  for (int i = 0; i < graph.value_count(); ++i) {
    Value& v = graph.value(ValueId(i));
    if (v.constant == nullptr || v.dtype != DType::f32 || v.shape.rank() != 4) continue;
    Tensor cut(DType::f32, v.shape);
    std::ranges::transform(v.constant->as<float>(), cut.as<float>().begin(), [](float x) {
      const float half = f16_to_f32(f32_to_f16(x));
      if (std::fabs(half) <= std::fabs(x)) return half;
      return f16_to_f32(static_cast<std::uint16_t>(f32_to_f16(x) - 1));
    });
    v.constant = std::make_shared<const Tensor>(std::move(cut));
  }
}

/// Outputs by name, flat, of a model whose only input has this shape without the batch.
std::map<std::string, std::vector<float>> outputs_of(const std::string& path,
                                                     const std::vector<std::int64_t>& dims,
                                                     bool batch, bool halves = false) {
  const auto model = open_model(path);
  std::vector<std::int64_t> extents = dims;
  if (batch) extents.insert(extents.begin(), 1);
  SpecialiseOptions options;
  options.shapes[model->inputs()[0].name] = extents;
  const auto graph = specialise(*model, options);
  if (halves) store_in_halves(*graph);
  Session session(make_plan(graph));
  const std::vector<Tensor> out = run_session(session, {picture_like(session.inputs()[0])});
  std::map<std::string, std::vector<float>> named;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto elements = out[i].as<float>();
    named[session.outputs()[i].name] = {elements.begin(), elements.end()};
  }
  return named;
}

void expect_same(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  float largest = 0;
  for (const float v : b) largest = std::max(largest, std::fabs(v));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * static_cast<double>(largest)) << i;
  }
}

struct Pair {
  const char *ncnn, *onnx;
  std::vector<std::int64_t> dims;
  bool halves = false;                 ///< the ncnn file has weights of 16 bits
  std::vector<std::string> same = {};  ///< the outputs that both have; empty: all
};

TEST(NcnnModels, AgreeWithTheirOnnxFiles) {
  if (models().empty() || !std::filesystem::exists(models() / "ncnn")) {
    GTEST_SKIP() << "skipped: no test data";
  }
  const Pair pairs[] = {
      {"fastestdet/fastestdet.param", "fastestdet/model.onnx", {3, 352, 352}, true},
      {"ultraface_slim320/ultraface_slim320.param",
       "ultraface_slim320_simplified/model.onnx",
       {3, 240, 320}},
      // Its boxes are decoded.
      {"ultraface_slim320/ultraface_slim320.param",
       "ultraface_slim320/model.onnx",
       {3, 240, 320},
       false,
       {"scores"}},
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.ncnn);
    const auto a = outputs_of((models() / "ncnn" / pair.ncnn).string(), pair.dims, false);
    const auto b =
        outputs_of((models() / "onnx" / pair.onnx).string(), pair.dims, true, pair.halves);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, values] : a) {
      if (!pair.same.empty() && std::ranges::count(pair.same, name) == 0) continue;
      SCOPED_TRACE(name);
      expect_same(values, b.at(name), 1e-4);
    }
  }
}

/// What ncnn's feature maps of this input mean, computed with numpy. At the file's own threshold
/// ncnn finds nothing, so it is lowered to 0.001.
TEST(NcnnModels, YoloFindsTheSameBoxes) {
  const std::filesystem::path folder = models() / "ncnn/yolo_fastest_1.1";
  if (models().empty() || !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "skipped: no test data";
  }
  constexpr float kBoxes[][6] = {
      {26, 0.00363423f, 0.622584f, 0.025546f, 0.872974f, 0.263077f},
      {14, 0.00251401f, 0.242207f, 0.233568f, 0.846641f, 0.859316f},
      {26, 0.00238407f, 0.757922f, 0.00758627f, 0.983585f, 0.273961f},
      {1, 0.00202328f, 0.147134f, -0.00202315f, 0.193324f, 0.0376153f},
      {26, 0.00173852f, 0.704138f, 0.00434364f, 1.00787f, 0.473927f},
      {1, 0.00163067f, 0.193816f, -0.000550898f, 0.235081f, 0.0437971f},
      {26, 0.0015392f, 0.591652f, 0.0514192f, 0.91616f, 0.416795f},
      {1, 0.00139862f, 0.248069f, -0.000260163f, 0.300508f, 0.0408985f},
      {26, 0.00123252f, 0.354471f, 0.0357046f, 0.745931f, 0.265383f},
  };
  const auto run = [&](const std::string& threshold) {
    std::string param = read_file(folder / "yolo_fastest_1.1.param");
    const std::string own = "2=5.500000e-01";
    param.replace(param.find(own), own.size(), "2=" + threshold);
    const std::string bin = read_file(folder / "yolo_fastest_1.1.bin");
    Session session(make_plan(specialise(*open_model(as_file(param), as_file(bin)))));
    const std::string npy = read_file(folder / "input_data.npy");
    Tensor x(DType::f32, session.inputs()[0].shape);
    std::memcpy(x.data(), npy.data() + npy.size() - x.bytes(), x.bytes());
    return run_session(session, {x})[0];
  };
  const Tensor nothing = run("5.500000e-01");
  for (const float v : nothing.as<float>()) ASSERT_EQ(v, 0);
  const Tensor found = run("0.001");
  const auto y = found.as<float>();
  for (std::size_t i = 0; i < std::size(kBoxes); ++i) {
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(y[6 * i + k], kBoxes[i][k], 1e-4f) << i;
  }
  for (std::size_t i = 6 * std::size(kBoxes); i < y.size(); ++i) ASSERT_EQ(y[i], 0) << i;
}

}  // namespace
}  // namespace stowage
