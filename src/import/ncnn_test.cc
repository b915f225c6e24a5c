// SPDX-License-Identifier: Apache-2.0
// What a .param says, in text and in binary, and how models of ncnn are opened.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "graph/op_def.h"
#include "import/ncnn_file.h"
#include "import/ncnn_weights.h"
#include "ops/ncnn/params.h"
#include "stowage/error.h"
#include "stowage/inspect.h"
#include "tests/suite/ncnn_builder.h"
#include "tests/suite/run_model.h"

namespace stowage {
namespace {

std::vector<NcnnLayer> parse(const std::string& param) {
  ImportBudget budget{Limits()};
  return read_ncnn_file(InputFile("test", as_file(param)), budget);
}

NcnnParams params_of(const NcnnLayer& layer) { return NcnnParams(layer.params); }

TEST(NcnnFile, LinesDoNotMatterToText) {
  const auto layers = parse("7767517 2\t3\r\nInput a.b 0 1 x:0\nSplit\n  s 1 2 x:0 y z\n\n");
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].type, "Input");
  EXPECT_EQ(layers[0].name, "a.b");
  EXPECT_EQ(layers[0].outputs, std::vector<std::string>{"x:0"});
  EXPECT_EQ(layers[1].inputs, std::vector<std::string>{"x:0"});
  EXPECT_EQ(layers[1].outputs, (std::vector<std::string>{"y", "z"}));
}

TEST(NcnnFile, ValuesOfEveryKind) {
  const auto layers = parse(
      "7767517\n1 1\nInput i 0 1 x 0=-3 1=1.5e-1 2=2,3 3=1.0,2 -23304=2,5,6 -23305=2,5,0.5 "
      "-23306=0 7=\"two words\" 8=word 9=1077936128 10=2.0 11=3");
  const NcnnParams p = params_of(layers[0]);
  EXPECT_EQ(p.integer(0, 7), -3);
  EXPECT_EQ(p.real(1, 7), 0.15f);
  EXPECT_EQ(p.integers(2), (Ints{2, 3}));
  EXPECT_EQ(p.reals(3), (Floats{1, 2}));
  EXPECT_EQ(p.integers(4), (Ints{5, 6}));
  EXPECT_EQ(p.reals(5), (Floats{5, 0.5f}));
  EXPECT_TRUE(p.has(6));
  EXPECT_TRUE(p.integers(6).empty());
  EXPECT_EQ(layers[0].params.string("7", ""), "two words");
  EXPECT_EQ(layers[0].params.string("8", ""), "word");
  // The bits of 3.0f, as converters write lists of reals.
  EXPECT_EQ(p.reals(9), Floats{3});
  // A whole real is an integer, an integer a real, one number a list.
  EXPECT_EQ(p.integer(10, 0), 2);
  EXPECT_EQ(p.real(11, 0), 3);
  EXPECT_EQ(p.reals(1), Floats{0.15f});
  // What is not there.
  EXPECT_EQ(p.integer(20, 7), 7);
  EXPECT_TRUE(p.reals(20).empty());
}

/// A binary file of integers and floats.
class BinaryParam {
 public:
  std::string bytes;

  BinaryParam& ints(std::initializer_list<std::int32_t> list) {
    for (const std::int32_t v : list) append(&v);
    return *this;
  }

  BinaryParam& real(float v) {
    append(&v);
    return *this;
  }

 private:
  void append(const void* four) { bytes.append(static_cast<const char*>(four), 4); }
};

std::string binary_net() {
  BinaryParam b;
  b.ints({7767517, 3, 3});
  b.ints({16, 0, 1, 0, 0, 5, 1, 4, 2, 3, -233});                     // Input, w 5, h 4, c 3
  b.ints({6, 1, 1, 0, 1, 0, 2, 1, 1, 5, 1, 6, 6, 9, 2, -23310, 1});  // Convolution
  b.real(0.25f).ints({-233});
  b.ints({54, 1, 1, 1, 2, 0}).real(-0.5f).ints({1}).real(0.75f).ints({-233});  // Clip
  return b.bytes;
}

const char* const kTextNet =
    "7767517\n3 3\nInput i 0 1 0 0=5 1=4 2=3\n"
    "Convolution c 1 1 0 1 0=2 1=1 5=1 6=6 9=2 -23310=1,0.25\n"
    "Clip k 1 1 1 2 0=-0.5 1=0.75\n";

std::string net_weights() { return NcnnBin().segment("t6").segment("r2").bytes; }

std::vector<float> run(const Model& model, const SpecialiseOptions& options = {}) {
  Session session(make_plan(specialise(model, options)));
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    Tensor t(DType::f32, session.inputs()[i].shape);
    fill_ncnn_input(t, static_cast<int>(i));
    session.set_input(static_cast<int>(i), t.view());
  }
  session.run();
  const Tensor out = session.output(0);
  return {out.as<float>().begin(), out.as<float>().end()};
}

TEST(NcnnFile, BinaryIsText) {
  const auto layers = parse(binary_net());
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[1].type, "Convolution");
  EXPECT_EQ(params_of(layers[1]).reals(10), Floats{0.25f});
  EXPECT_EQ(params_of(layers[1]).integer(6, 0), 6);
  EXPECT_EQ(params_of(layers[2]).real(0, 0), -0.5f);
  const std::string binary = binary_net(), text = kTextNet, bin = net_weights();
  const auto want = run(*open_model(as_file(text), as_file(bin)));
  EXPECT_EQ(want.size(), 40u);
  EXPECT_EQ(run(*open_model(as_file(binary), as_file(bin))), want);
}

/// A folder that is gone in the end.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "ncnn_XXXXXX";
    path_ = mkdtemp(name.data());
  }

  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name, const std::string& bytes) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::filesystem::path path_;
};

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

TEST(NcnnModel, WeightsLieBesideTheFile) {
  const Folder folder;
  const std::string text = folder.file("a.param", kTextNet);
  const std::string binary = folder.file("a.param.bin", binary_net());
  EXPECT_EQ(code_of([&] { open_model(text); }), ErrorCode::bad_input);  // a.bin is not there yet
  folder.file("a.bin", net_weights());
  const auto want = run(*open_model(text));
  EXPECT_EQ(run(*open_model(binary)), want);
  const std::string other = folder.file("w", net_weights());
  OpenOptions options;
  options.weights = other;
  const std::string lonely = folder.file("b.param", kTextNet);
  EXPECT_EQ(run(*open_model(lonely, options)), want);
  const std::string nameless = folder.file("net", kTextNet);
  EXPECT_EQ(code_of([&] { open_model(nameless); }), ErrorCode::usage);
  EXPECT_EQ(run(*open_model(nameless, options)), want);
  ImportOptions import_options;
  import_options.weights = other;
  EXPECT_EQ(import_model(lonely, import_options)->inputs.size(), 1u);
}

TEST(NcnnModel, WeightsCanBeMadeUp) {
  const Folder folder;
  const std::string path = folder.file("a.param", kTextNet);
  OpenOptions options;
  options.generate_weights = true;
  const auto y = run(*open_model(path, options));
  EXPECT_EQ(y, run(*open_model(path, options)));
  EXPECT_NE(*std::ranges::max_element(y), *std::ranges::min_element(y));
}

TEST(NcnnModel, NothingIsNeededWhereThereAreNoWeights) {
  const Folder folder;
  const std::string path =
      folder.file("a.param", "7767517\n2 2\nInput i 0 1 x 0=4\nReLU r 1 1 x y\n");
  EXPECT_EQ(run(*open_model(path)).size(), 4u);
}

TEST(NcnnModel, ShapesAreNcnns) {
  const auto model = open_model(as_file(kTextNet), as_file(net_weights()));
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "0");
  ASSERT_TRUE(model->inputs()[0].dims);
  ASSERT_EQ(model->inputs()[0].dims->size(), 3u);
  EXPECT_EQ((*model->inputs()[0].dims)[0].extent, 3);
  EXPECT_EQ((*model->inputs()[0].dims)[2].extent, 5);
  // What the file says is a hint.
  const auto y = run(*model, {{{"0", {3, 7, 2}}}, {}});
  EXPECT_EQ(y.size(), 28u);
  Session session(make_plan(specialise(*model, {{{"0", {3, 7, 2}}}, {}})));
  EXPECT_TRUE(std::ranges::equal(session.inputs()[0].shape.extents(), Ints{3, 7, 2}));
  EXPECT_TRUE(std::ranges::equal(session.outputs()[0].shape.extents(), Ints{2, 7, 2}));
  EXPECT_EQ(session.outputs()[0].name, "2");
}

TEST(NcnnModel, OpenInputsNeedAShape) {
  const std::string param = "7767517\n2 2\nInput i 0 1 x\nReLU r 1 1 x y\n";
  const auto model = open_model(as_file(param), std::span<const std::byte>());
  EXPECT_FALSE(model->inputs()[0].dims);
  EXPECT_EQ(code_of([&] { specialise(*model); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { specialise(*model, {{{"x", {1, 2, 3, 4, 5}}}, {}}); }), ErrorCode::usage);
  for (const Ints& dims : {Ints{6}, Ints{2, 3}, Ints{3, 2, 1}, Ints{2, 1, 3, 2}}) {
    Session session(make_plan(specialise(*model, {{{"x", dims}}, {}})));
    EXPECT_TRUE(std::ranges::equal(session.outputs()[0].shape.extents(), dims));
  }
}

/// Outputs that are the input, the same value twice, or constants are values of their own.
TEST(NcnnModel, OutputsThatNoLayerComputes) {
  const std::string param = ncnn_param({"Input i 0 1 x 0=2 1=2 2=2", "Split s 1 3 x a b c",
                                        "MemoryData m 0 1 d 0=3", "Input j 0 1 e 0=2"});
  const std::string bin = NcnnBin().segment("r3").bytes;
  const auto model = open_model(as_file(param), as_file(bin));
  EXPECT_EQ(model->outputs().size(), 5u);
  Session session(make_plan(specialise(*model)));
  Tensor x(DType::f32, session.inputs()[0].shape), e(DType::f32, session.inputs()[1].shape);
  fill_ncnn_input(x, 0);
  fill_ncnn_input(e, 1);
  const auto outputs = run_session(session, {x, e});
  ASSERT_EQ(outputs.size(), 5u);
  for (const std::size_t i : {0u, 1u, 2u}) {
    EXPECT_TRUE(std::ranges::equal(outputs[i].as<float>(), x.as<float>()));
  }
  EXPECT_EQ(outputs[3].shape().elements(), 3);
  EXPECT_TRUE(std::ranges::equal(outputs[4].as<float>(), e.as<float>()));
}

/// ncnn takes words as integers; here they are whole numbers.
TEST(NcnnModel, WordsAreNumbers) {
  const std::string param = ncnn_param({"Input i 0 1 x 0=3", "Embed e 1 1 x y 0=2 1=4 2=1 3=8"});
  const std::string bin =
      NcnnBin().word(0).floats({0, 1, 10, 11, 20, 21, 30, 31}).floats({0.5f, -0.5f}).bytes;
  Session session(make_plan(specialise(*open_model(as_file(param), as_file(bin)))));
  Tensor x(DType::f32, session.inputs()[0].shape);
  std::ranges::copy(Floats{3, 0, 2}, x.as<float>().begin());
  const Tensor y = run_session(session, {x})[0];
  EXPECT_TRUE(std::ranges::equal(y.as<float>(), Floats{30.5f, 30.5f, 0.5f, 0.5f, 20.5f, 20.5f}));
}

/// ncnn is built without it, so that there is no reference.
TEST(NcnnModel, ThePlaceOfTheLargestIsANumber) {
  const std::string param = ncnn_param({"Input i 0 1 x 0=2 1=2", "ArgMax a 1 1 x y"});
  Session session(make_plan(specialise(*open_model(as_file(param), as_file("")))));
  Tensor x(DType::f32, session.inputs()[0].shape);
  std::ranges::copy(Floats{3, 0, 7, 2}, x.as<float>().begin());
  const Tensor y = run_session(session, {x})[0];
  ASSERT_EQ(y.shape().elements(), 1);
  EXPECT_EQ(y.as<float>()[0], 2);
}

TEST(NcnnModel, GraphsShareTheWeights) {
  const auto model = open_model(as_file(kTextNet), as_file(net_weights()));
  const auto weights = [&] {
    const auto graph = specialise(*model);
    std::map<const Tensor*, int> out;
    for (int i = 0; i < graph->value_count(); ++i) {
      const auto& constant = graph->value(static_cast<ValueId>(i)).constant;
      if (constant != nullptr) ++out[constant.get()];
    }
    return out;
  };
  EXPECT_EQ(weights(), weights());
}

TEST(NcnnFile, ACommaBehindAnElementMakesAListOfIt) {
  const auto layers =
      parse(ncnn_param({"Input i 0 1 x", "ReLU r 1 1 x y 0=0.5, 3=+7, 4=1,2, 5=1,2 +6=+0.25 7=3"}));
  const NcnnParams p = params_of(layers[1]);
  EXPECT_EQ(p.reals(0), Floats{0.5f});
  EXPECT_THROW((void)p.real(0, 0), Error);
  EXPECT_EQ(p.integers(3), Ints{7});
  EXPECT_EQ(p.integers(4), (Ints{1, 2}));
  EXPECT_EQ(p.integers(5), (Ints{1, 2}));
  EXPECT_EQ(p.real(6, 0), 0.25f);
  EXPECT_EQ(p.integer(7, 0), 3);
  for (const char* bad : {"0=,", "0=1,,", "0=1,,2", "0=++1", "0=+-1", "0=+", "-23300=1,2,"}) {
    EXPECT_THROW((void)parse(ncnn_param({"Input i 0 1 x", std::string("ReLU r 1 1 x y ") + bad})),
                 Error)
        << bad;
  }
}

TEST(NcnnModel, WeightsOfAnUnknownTagAreRefused) {
  const std::string net = "7767517\n2 2\nInput i 0 1 x 0=2\nInnerProduct p 1 1 x y 0=1 2=2\n";
  const auto with_tag = [&](std::uint32_t tag, const std::string& rest) {
    return run(*open_model(as_file(net), as_file(NcnnBin().word(tag).bytes + rest)));
  };
  const std::string two("\x80\x3f\x00\x40", 4);  // 1 and 2 as upper halves of floats
  const auto got = with_tag(0x01348B83, two);
  const auto whole = with_tag(0, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_EQ(got, whole);
  const std::string book(2000, '\0');
  EXPECT_THROW((void)with_tag(0x01348B84, book), Error);
  try {
    (void)with_tag(0xDEADBEEF, book);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(e.what()).find("0xdeadbeef"), std::string::npos) << e.what();
  }
}

/// Not in the ncnn that the cases were computed with: of equal maxima it takes the last.
TEST(NcnnModel, ArgMaxTakesTheLast) {
  const std::string net = ncnn_param(
      {"Input i 0 1 x 0=5 1=4 2=3", "Clip c 1 1 x c 0=-0.25 1=0.25", "ArgMax a 1 1 c y"});
  const auto model = open_model(as_file(net), as_file(""));
  Tensor x(DType::f32, Shape("chw", {3, 4, 5}));
  fill_ncnn_input(x, 0);
  float last = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    if (x.as<float>()[i] >= 0.25f) last = static_cast<float>(i);
  }
  EXPECT_EQ(run(*model), std::vector<float>{last});
}

TEST(NcnnInspect, ListsParametersThatAreNotSupported) {
  const Folder folder;
  const std::vector<std::string> layers = {"Convolution l 1 1 x y 0=4 1=3 6=108 9=7",
                                           "Deconvolution l 1 1 x y 28=1",
                                           "Gemm l 1 1 x y 12=1",
                                           "BinaryOp l 1 1 x y 0=19 1=1",
                                           "UnaryOp l 1 1 x y 0=28",
                                           "Reduction l 1 1 x y 0=11",
                                           "Reduction l 1 1 x y 0=0 1=0 -23303=1,1",
                                           "Softmax l 1 1 x y 0=1",
                                           "ArgMax l 1 1 x y 1=3",
                                           "Reshape l 1 1 x y 0=-1 3=1",
                                           "Reshape l 1 1 x y 0=-1 12=0",
                                           "Tile l 1 1 x y -23302=5,1,1,1,1,1",
                                           "Padding l 1 1 x y 6=3 7=1",
                                           "PriorBox l 1 1 x y 14=1",
                                           "LSTM l 1 1 x y 0=3 1=60 8=2",
                                           "SDPA l 1 1 x y 18=1"};
  for (const std::string& layer : layers) {
    const std::string net = ncnn_param({"Input i 0 1 x 0=8 1=8 2=3", layer});
    const ModelInfo info = inspect_model(folder.file("a.param", net));
    ASSERT_EQ(info.operators.size(), 1u);
    EXPECT_NE(info.operators[0].unsupported, "") << layer;
    EXPECT_EQ(code_of([&] { (void)open_model(as_file(net), as_file("")); }), ErrorCode::unsupported)
        << layer;
  }
}

TEST(NcnnInspect, ListsEveryLayer) {
  const Folder folder;
  const std::string path = folder.file(
      "a.param", ncnn_param({"Input i 0 1 x 0=8 1=8 2=3", "Convolution c 1 1 x y 0=4 1=3 5=1 6=108",
                             "InnerProduct f 1 1 y z 0=2 2=288 8=1", "Zap q 1 1 z w"}));
  const ModelInfo info = inspect_model(path);
  EXPECT_EQ(info.format, "ncnn");
  ASSERT_EQ(info.inputs.size(), 1u);
  EXPECT_TRUE(info.inputs[0].has_shape);
  EXPECT_EQ(info.inputs[0].dims[0].extent, 3);
  ASSERT_EQ(info.outputs.size(), 1u);
  EXPECT_EQ(info.outputs[0].name, "w");
  EXPECT_EQ(info.parameters, 108 + 4 + 288);
  ASSERT_EQ(info.operators.size(), 3u);
  EXPECT_EQ(info.operators[0].unsupported, "");
  EXPECT_NE(info.operators[1].unsupported.find("int8"), std::string::npos);
  EXPECT_EQ(info.operators[2].name, "Zap");
  EXPECT_NE(info.operators[2].unsupported, "");
}

}  // namespace
}  // namespace stowage
