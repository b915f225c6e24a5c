// SPDX-License-Identifier: Apache-2.0
// Every layer of ncnn that is imported, against what ncnn computes: ncnn_cases.txt, which
// ncnn_reference.py writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "plan/plan.h"
#include "test_paths.h"
#include "tests/suite/ncnn_builder.h"
#include "tests/suite/run_model.h"

namespace stowage {
namespace {

struct Blob {
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<float> elements;
};

struct LayerCase {
  std::string name, param, bin;
  std::vector<Blob> inputs, outputs;
};

void PrintTo(const LayerCase& c, std::ostream* out) { *out << c.name; }

std::vector<std::int64_t> dims_of(const std::string& word) {
  std::vector<std::int64_t> dims;
  std::istringstream in(word);
  for (std::string e; std::getline(in, e, ',');) dims.push_back(std::stoll(e));
  return dims;
}

std::vector<LayerCase> read_cases() {
  std::ifstream file(std::string(STOWAGE_SOURCE_DIR) + "/tests/suite/ncnn_cases.txt");
  std::vector<LayerCase> cases;
  NcnnBin bin;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string key, word;
    in >> key >> word;
    if (key == "case") {
      cases.push_back({word, "", "", {}, {}});
      bin = {};
      while (std::getline(file, line) && line != "end") cases.back().param += line + "\n";
    } else if (key == "in") {
      std::string dims;
      in >> dims;
      cases.back().inputs.push_back({word, dims_of(dims), {}});
    } else if (key == "weights") {
      cases.back().bin = bin.segment(word).bytes;
    } else if (key == "out") {
      std::string dims;
      in >> dims;
      Blob blob{word, dims_of(dims), {}};
      for (std::string v; in >> v;) blob.elements.push_back(std::stof(v));
      cases.back().outputs.push_back(std::move(blob));
    }
  }
  return cases;
}

class NcnnReference : public testing::TestWithParam<LayerCase> {};

TEST_P(NcnnReference, ComputesWhatNcnnDoes) {
  const LayerCase& c = GetParam();
  const auto model = open_model(as_file(c.param), as_file(c.bin));
  SpecialiseOptions options;
  for (const Blob& input : c.inputs) options.shapes[input.name] = input.dims;
  Session session(make_plan(specialise(*model, options)));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Tensor t(DType::f32, session.inputs()[i].shape);
    EXPECT_TRUE(std::ranges::equal(t.shape().extents(), c.inputs[i].dims));
    fill_ncnn_input(t, static_cast<int>(i));
    session.set_input(static_cast<int>(i), t.view());
  }
  session.run();
  ASSERT_EQ(session.outputs().size(), c.outputs.size());
  for (const Blob& want : c.outputs) {
    const Tensor got = session.output(session.output_index(want.name));
    const Ints have(got.shape().extents().begin(), got.shape().extents().end());
    // ncnn has as many rows as there are detections; the others are zero here.
    const bool rows = want.name == "out" && c.param.find("DetectionOutput") != std::string::npos;
    if (rows) {
      ASSERT_EQ(have.size(), 2u);
      EXPECT_EQ(have[1], want.dims[1]);
      EXPECT_GE(have[0], want.dims[0]);
    } else {
      EXPECT_EQ(have, want.dims);
    }
    const auto elements = got.as<float>();
    ASSERT_GE(elements.size(), want.elements.size());
    float largest = 0;
    for (const float v : want.elements) largest = std::max(largest, std::fabs(v));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const float expected = i < want.elements.size() ? want.elements[i] : 0;
      ASSERT_NEAR(elements[i], expected, 1e-4f * largest) << want.name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, NcnnReference, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return info.param.name; });

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// Outputs by name, of inputs whose elements follow from their names.
std::map<std::string, std::vector<float>> outputs_of(const std::vector<std::string>& layers,
                                                     const Shapes& shapes) {
  std::vector<std::string> lines;
  for (const auto& [name, dims] : shapes) lines.push_back("Input " + name + " 0 1 " + name);
  lines.insert(lines.end(), layers.begin(), layers.end());
  SpecialiseOptions options;
  options.shapes = {shapes.begin(), shapes.end()};
  const std::string param = ncnn_param(lines);
  Session session(make_plan(specialise(*open_model(as_file(param), as_file("")), options)));
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    Tensor t(DType::f32, session.inputs()[i].shape);
    fill_ncnn_input(t, session.inputs()[i].name.back());
    session.set_input(static_cast<int>(i), t.view());
  }
  session.run();
  std::map<std::string, std::vector<float>> out;
  for (const Port& port : session.outputs()) {
    const Tensor t = session.output(session.output_index(port.name));
    out[port.name] = {t.as<float>().begin(), t.as<float>().end()};
  }
  return out;
}

/// Planning takes time that grows with a graph, not with its square, and memory that does not grow
/// with extents.
TEST(NcnnLayers, WideLayersArePlanned) {
  constexpr int kParts = 4000;
  std::string reads, makes, sizes;
  for (int i = 0; i < kParts; ++i) {
    reads += " x";
    makes += " o" + std::to_string(i);
    sizes += ",-233";
  }
  const std::string count = std::to_string(kParts);
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> cases = {
      {"Concat c " + count + " 1" + reads + " y", {3, 4, 5}},
      {"Slice s 1 " + count + " x" + makes + " -23300=" + count + sizes, {kParts, 2, 2}},
      {"Pooling p 1 1 x y 0=1 7=1 8=4095 18=4093", {1, 4, 5}},
      {"Tile t 1 1 x y 0=0 1=100000000", {4}}};
  for (const auto& [layer, dims] : cases) {
    SpecialiseOptions options;
    options.shapes["x"] = dims;
    const int blobs = layer.starts_with("Slice") ? kParts + 1 : 2;
    const std::string param = ncnn_param({"Input x 0 1 x", layer}, blobs);
    const auto plan = make_plan(specialise(*open_model(as_file(param), as_file("")), options));
    EXPECT_LT(plan->steps.size(), 20u) << layer.substr(0, 20);
  }
}

/// ncnn keeps the caches of SDPA in an order of its own on some processors, so that it is no
/// oracle.
TEST(NcnnLayers, ACacheHoldsWhatCameBefore) {
  for (const std::int64_t before : {4, 1, 0}) {
    Shapes shapes = {{"q", {4, 3, 6}},       {"k", {2, 3, 6}},      {"v", {2, 3, 5}},
                     {"m", {3, before + 3}}, {"x", {2, before, 6}}, {"y", {2, before, 5}}};
    const auto cached = outputs_of({"SDPA s 6 3 q k v m x y out keys values 5=1 7=1"}, shapes);
    std::vector<std::string> layers = {"Concat a 2 1 x k keys 0=1", "Concat b 2 1 y v values 0=1",
                                       "Split c 1 2 keys k0 keys0", "Split d 1 2 values v0 values0",
                                       "SDPA s 4 1 q k0 v0 m out 5=1"};
    if (before == 0) {
      shapes.erase("x");
      shapes.erase("y");
      layers = {"Split c 1 2 k k0 keys0", "Split d 1 2 v v0 values0",
                "SDPA s 4 1 q k0 v0 m out 5=1"};
    }
    const auto plain = outputs_of(layers, shapes);
    EXPECT_EQ(cached.at("out"), plain.at("out")) << before;
    EXPECT_EQ(cached.at("keys"), plain.at("keys0")) << before;
    EXPECT_EQ(cached.at("values"), plain.at("values0")) << before;
  }
}

}  // namespace
}  // namespace stowage
