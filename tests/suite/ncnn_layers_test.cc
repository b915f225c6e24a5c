// SPDX-License-Identifier: Apache-2.0
// Every layer of ncnn that is imported, against what ncnn computes: ncnn_cases.txt, which
// ncnn_reference.py writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

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

class NcnnLayers : public testing::TestWithParam<LayerCase> {};

TEST_P(NcnnLayers, ComputeWhatNcnnDoes) {
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

INSTANTIATE_TEST_SUITE_P(Reference, NcnnLayers, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stowage
