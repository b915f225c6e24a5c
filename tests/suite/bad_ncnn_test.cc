// SPDX-License-Identifier: Apache-2.0
// ncnn files that are no models must end in one clear sentence: counts, indices and sizes that ncnn
// itself believes (its issues 6902, 6913, 6914 and 6937), and anything that a bit can do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>

#include "stowage/error.h"
#include "test_paths.h"
#include "tests/suite/ncnn_builder.h"
#include "tests/suite/run_model.h"

namespace stowage {
namespace {

/// What opening and specialising end in: the message, or "".
/// `dims`: of all inputs; where there are none, those of the file or 3 x 8 x 8.
std::string failure_of(const std::function<std::shared_ptr<const Model>()>& open, ErrorCode& code,
                       const std::vector<std::int64_t>& dims = {}) {
  try {
    SpecialiseOptions options;
    const auto model = open();
    for (const ModelInput& input : model->inputs()) {
      if (!dims.empty()) {
        options.shapes[input.name] = dims;
      } else if (!input.dims) {
        options.shapes[input.name] = {3, 8, 8};
      }
    }
    verify(*specialise(*model, options));
  } catch (const Error& e) {
    code = e.code();
    return e.what();
  }
  return "";
}

std::string failure_of(const std::string& param, const std::string& bin, ErrorCode& code,
                       const Limits& limits = {}) {
  return failure_of([&] { return open_model(as_file(param), as_file(bin), limits); }, code);
}

struct BadNcnn {
  const char* name;
  std::string param;
  const char* words;
  ErrorCode code = ErrorCode::bad_input;
  std::string bin = {};
};

void expect_refusals(const std::vector<BadNcnn>& cases) {
  for (const BadNcnn& c : cases) {
    SCOPED_TRACE(c.name);
    ErrorCode code = ErrorCode::internal;
    const std::string what = failure_of(c.param, c.bin, code);
    EXPECT_EQ(static_cast<int>(code), static_cast<int>(c.code)) << what;
    EXPECT_NE(what.find(c.words), std::string::npos) << "'" << what << "' lacks " << c.words;
  }
}

const std::string kHead = "7767517\n";
const std::string kInput = "Input x 0 1 x 0=8 1=8 2=3";

std::string with(const std::string& layer) { return ncnn_param({kInput, layer}); }

/// A binary file of these words.
std::string binary(std::initializer_list<std::int32_t> words) {
  std::string out;
  for (const std::int32_t w : words) {
    char bytes[4];
    std::memcpy(bytes, &w, 4);
    out.append(bytes, 4);
  }
  return out;
}

constexpr std::int32_t kMagic = 7767517, kEnd = -233, kInputType = 16, kRelu = 26;

TEST(BadNcnn, Issue6902NegativeAndAbsurdCounts) {
  expect_refusals({
      {"layers", kHead + "-1 1\n", "it says that it has -1 layers"},
      {"blobs", kHead + "1 -5\n", "it says that it has -5 blobs"},
      {"inputs", with("ReLU r -1 1 x y"), "-1 inputs"},
      {"outputs", with("ReLU r 1 -1 x y"), "-1 outputs"},
      {"two milliards of layers", kHead + "2147483647 1\nInput x 0 1 x\n", "more than fit"},
      {"two milliards of blobs", kHead + "1 2147483647\nInput x 0 1 x\n", "more than fit"},
      {"two milliards of inputs", with("ReLU r 2147483647 1 x y"), "more than fit"},
      {"a count beyond 32 bits", kHead + "99999999999 1\n", "is no integer of 32 bits"},
      {"a count that is none", kHead + "many 1\n", "is no integer of 32 bits"},
      {"more layers than there are", kHead + "3 9\n" + kInput + "\n", "it ends after 1 of the 3"},
      {"fewer layers than there are", kHead + "1 9\n" + kInput + "\nReLU r 1 1 x y\n",
       "it goes on behind the 1 layers"},
      {"fewer blobs than there are", ncnn_param({kInput, "ReLU r 1 1 x y"}, 1),
       "it says that it has 1 blobs, but makes 2"},
      {"binary layers", binary({kMagic, -1, 1}), "-1 layers"},
      {"binary blobs", binary({kMagic, 1, -1, 0}), "-1 blobs"},
      {"binary inputs", binary({kMagic, 1, 1, kRelu, -1, 1}), "-1 inputs"},
      {"binary outputs", binary({kMagic, 1, 1, kRelu, 0, 1 << 30}), "more than fit"},
  });
}

TEST(BadNcnn, Issue6913BlobIndicesOutOfRange) {
  const auto reading = [](std::int32_t blob) {
    return binary({kMagic, 2, 2, kInputType, 0, 1, 0, kEnd, kRelu, 1, 1, blob, 1, kEnd});
  };
  expect_refusals({
      {"beyond the last", reading(2), "there is no blob 2 of 2"},
      {"far beyond", reading(1 << 30), "there is no blob 1073741824 of 2"},
      {"negative", reading(-1), "there is no blob -1 of 2"},
      {"an output", binary({kMagic, 1, 1, kInputType, 0, 1, 7, kEnd}), "there is no blob 7 of 1"},
      {"not made yet", reading(1), "no layer before it makes its input '1'"},
  });
}

TEST(BadNcnn, Issue6914ParametersOutOfRange) {
  expect_refusals({
      {"an id of 32", with("ReLU r 1 1 x y 32=1"), "there is no parameter 32"},
      {"an id far away", with("ReLU r 1 1 x y 1000000=1"), "there is no parameter 1000000"},
      {"a negative id", with("ReLU r 1 1 x y -5=1"), "there is no parameter -5"},
      {"a list's id", with("ReLU r 1 1 x y -23350=1,1"), "there is no parameter 50"},
      {"a list's id that overflows", with("ReLU r 1 1 x y -2147483648=1,1"), "no parameter"},
      {"a list longer than its elements", with("ReLU r 1 1 x y -23300=1000000000,1"),
       "is a list of 1 elements, but says that it has 1000000000"},
      {"a list of negative length", with("ReLU r 1 1 x y -23300=-2,1"), "says that it has -2"},
      {"a list without a length", with("ReLU r 1 1 x y -23300="), "has no value"},
      {"a value that is nothing", with("ReLU r 1 1 x y 0="), "parameter 0 has no value"},
      {"a binary list", binary({kMagic, 1, 1, kInputType, 0, 1, 0, -23300, 1 << 30}),
       "1073741824 elements in a list"},
      {"a binary list of negative length", binary({kMagic, 1, 1, kInputType, 0, 1, 0, -23300, -7}),
       "-7 elements in a list"},
      {"a binary id", binary({kMagic, 1, 1, kInputType, 0, 1, 0, 77, 1}), "no parameter 77"},
      {"a binary text", binary({kMagic, 1, 1, kInputType, 0, 1, 0, -23400, 300}),
       "300 bytes of text"},
      {"a binary list's id", binary({kMagic, 1, 1, kInputType, 0, 1, 0, -23399, 1}),
       "no parameter 99"},
      {"a type that nobody knows", binary({kMagic, 1, 1, 200, 0, 1, 0, kEnd}), "of type 200",
       ErrorCode::unsupported},
      {"a type below all", binary({kMagic, 1, 1, -3, 0, 1, 0, kEnd}), "of type -3",
       ErrorCode::unsupported},
  });
}

TEST(BadNcnn, Issue6937BlobsThatNoLayerMakes) {
  expect_refusals({
      {"unknown", with("ReLU r 1 1 nothing y"), "no layer before it makes its input 'nothing'"},
      {"its own output", with("ReLU r 1 1 y y"), "no layer before it makes its input 'y'"},
      {"made later", ncnn_param({kInput, "ReLU a 1 1 z y", "ReLU b 1 1 y z"}), "input 'z'"},
      {"made twice", ncnn_param({kInput, "ReLU a 1 1 x y", "ReLU b 1 1 x y"}),
       "the blob 'y' is made twice"},
      {"an input made twice", ncnn_param({kInput, kInput}), "the blob 'x' is made twice"},
  });
}

TEST(BadNcnn, Text) {
  expect_refusals({
      {"a long name", with("ReLU " + std::string(300, 'n') + " 1 1 x y"), "has 300 bytes"},
      {"a long type", with(std::string(5000, 'T') + " n 1 1 x y"), "has 5000 bytes"},
      {"a control character", with("ReLU \x01 1 1 x y"), "name"},
      {"bytes that are no text", with("ReLU \xff\xfe 1 1 x y"), "name"},
      {"not a number", with("Clip c 1 1 x y 0=nan"), "parameter 0 is no number"},
      {"a negative that is not a number", with("Clip c 1 1 x y 0=-nan"), "'-nan' is no integer"},
      {"infinity", with("Clip c 1 1 x y 0=-inf"), "'-inf' is no integer"},
      {"beyond a float", with("Clip c 1 1 x y 0=1e39"), "is no float"},
      {"beyond a double", with("Clip c 1 1 x y 0=1e999"), "is no number"},
      {"beyond an integer", with("Clip c 1 1 x y 0=4294967296"), "is no integer of 32 bits"},
      {"words after a number", with("Clip c 1 1 x y 0=1x"), "'1x' is no integer"},
      {"a text for a number", with("Clip c 1 1 x y 0=\"one\""), "parameter 0 is no number"},
      {"a text without end", with("Clip c 1 1 x y 0=\"one"), "a text has no end"},
      {"a part of an integer", with("ShuffleChannel s 1 1 x y 0=1.5"), "not an integer"},
      {"neither parameter nor layer", with("ReLU r 1 1 x y 5"), "neither a parameter nor a layer"},
      {"no layers", kHead + "0 0\n", "the model has no output"},
      {"nothing", kHead, "the file ends where"},
      {"an Input that reads", ncnn_param({kInput, "Input i 1 1 x y"}), "it has an input"},
      {"a layer without output", with("Noop n 1 0 x"), "it has no output"},
      {"a negative extent", ncnn_param({"Input x 0 1 x 0=-8 1=8 2=3"}), "parameter 0 is -8"},
  });
}

TEST(BadNcnn, Binary) {
  const std::string whole =
      binary({kMagic, 2, 2, kInputType, 0, 1, 0, kEnd, kRelu, 1, 1, 0, 1, kEnd});
  for (std::size_t n = 4; n < whole.size(); ++n) {
    ErrorCode code = ErrorCode::internal;
    EXPECT_NE(failure_of(whole.substr(0, n), "", code), "") << n;
    EXPECT_EQ(static_cast<int>(code), static_cast<int>(ErrorCode::bad_input)) << n;
  }
  ErrorCode code = ErrorCode::internal;
  EXPECT_EQ(failure_of(whole, "", code), "");
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::int32_t bits = 0;
  std::memcpy(&bits, &nan, 4);
  expect_refusals({
      {"more than the layers", whole + binary({0}), "it goes on behind"},
      {"not a number",
       binary({kMagic, 2, 2, kInputType, 0, 1, 0, kEnd, kRelu, 1, 1, 0, 1, 0, bits, kEnd}),
       "parameter 0 is not a number"},
  });
}

TEST(BadNcnn, Weights) {
  const std::string conv = with("Convolution c 1 1 x y 0=4 1=3 5=1 6=108");
  const std::string all = NcnnBin().segment("t108").segment("r4").bytes;
  ErrorCode code = ErrorCode::internal;
  EXPECT_EQ(failure_of(conv, all, code), "");
  const auto sized = [](const std::string& params) {
    return with("Convolution c 1 1 x y " + params);
  };
  expect_refusals({
      {"none", conv, "cut short", ErrorCode::bad_input, ""},
      {"cut in the tag", conv, "cut short", ErrorCode::bad_input, all.substr(0, 3)},
      {"cut in the weights", conv, "cut short", ErrorCode::bad_input, all.substr(0, 100)},
      {"cut in the bias", conv, "cut short", ErrorCode::bad_input, all.substr(0, all.size() - 1)},
      {"too many", conv, "does not belong to this model", ErrorCode::bad_input, all + "abcd"},
      {"int8", conv, "int8", ErrorCode::unsupported, NcnnBin().word(0x000D4B38).bytes + all},
      {"int8 by its parameter", sized("0=4 1=3 6=108 8=1"), "int8", ErrorCode::unsupported, all},
      {"cut in halves", conv, "cut short", ErrorCode::bad_input, NcnnBin().segment("h50").bytes},
      {"cut in the numbers", conv, "cut short", ErrorCode::bad_input,
       NcnnBin().word(1).bytes + std::string(500, 'x')},
      {"no channels", sized("0=0 1=3 6=108"), "parameter 0 is 0; at least 1"},
      {"negative channels", sized("0=-4 1=3 6=108"), "parameter 0 is -4"},
      {"no kernel", sized("0=4 6=108"), "parameter 1 is 0"},
      {"no size", sized("0=4 1=3"), "parameter 6 is 0"},
      {"a size that does not divide", sized("0=4 1=3 6=107"), "no multiple of 36"},
      {"a size that overflows", sized("0=2147483647 1=2147483647 11=2147483647 6=1"),
       "exceeds 64 bits", ErrorCode::limit},
      {"terabytes", with("BatchNorm b 1 1 x y 0=2147483647"), "over the limit", ErrorCode::limit},
      {"as large as it says", sized("0=4 1=1 6=1000000000"), "cut short", ErrorCode::bad_input,
       all},
      {"for other channels", sized("0=4 1=3 6=72"), "channels", ErrorCode::bad_input,
       NcnnBin().segment("t72").bytes},
  });
}

TEST(BadNcnn, Layers) {
  expect_refusals({
      {"an unknown one", with("Frobnicate f 1 1 x y"), "unsupported layer Frobnicate [node 'f'",
       ErrorCode::unsupported},
      {"several, each once",
       ncnn_param({kInput, "Zap a 1 1 x y", "Blink b 1 1 y z", "Zap c 1 1 z w"}),
       "unsupported layers: Blink, Zap", ErrorCode::unsupported},
      {"too many inputs", ncnn_param({kInput, "ReLU r 2 1 x x y"}), "it has 2 inputs, not 1"},
      {"too many outputs", with("ReLU r 1 2 x y z"), "it has 2 outputs, not 1"},
      {"an axis out of range", with("Softmax s 1 1 x y 0=3 1=1"), "axis 3 is out of range"},
      {"an old Softmax", with("Softmax s 1 1 x y 0=1"), "convert the model again",
       ErrorCode::unsupported},
      {"an old Reduction", with("Reduction r 1 1 x y 0=0 1=0 -23303=1,1"),
       "convert the model again", ErrorCode::unsupported},
      {"a stride of 0", with("Pooling p 1 1 x y 1=2 2=0"), "stride"},
      {"a window of 0", with("Pooling p 1 1 x y 1=0"), "at least 1"},
      {"a window that is too large", with("Pooling p 1 1 x y 1=20"), "does not fit"},
      {"padding beyond bounds", with("Pooling p 1 1 x y 1=2 3=-1"), "at least 0"},
      {"adaptive to nothing", with("Pooling p 1 1 x y 7=1 8=-5"), "-5 pixels"},
      {"adaptive to milliards", with("Pooling p 1 1 x y 7=1 8=2000000000"), "2000000000 pixels",
       ErrorCode::limit},
      {"a slice beyond its input", with("Slice s 1 2 x y z -23300=2,9,9"), "takes 9 of the 3"},
      {"a slice of a negative size", with("Slice s 1 2 x y z -23300=2,-1,4"), "takes -1"},
      {"more outputs than cuts", with("Slice s 1 3 x y z w -23300=1,1"), "3 outputs"},
      {"a crop beyond its input", with("Crop c 1 1 x y 0=9 3=1 4=1 5=1"), "of dim 2 with 8"},
      {"a crop of nothing", with("Crop c 1 1 x y"), "takes [0, 0)"},
      {"a shape that does not fit", with("Reshape r 1 1 x y 0=7 1=-1"), "do not fit"},
      {"two open extents", with("Reshape r 1 1 x y 0=-1 1=-1"), "two extents open"},
      {"no extent", with("Reshape r 1 1 x y"), "names no extent"},
      {"an expression without operands", with("Reshape r 1 1 x y 6=\"*(0w)\""),
       "lacks an operand of *"},
      {"one that divides by zero", with("Reshape r 1 1 x y 6=\"//(0w,0),-1\""), "divides by zero"},
      {"one that divides by zero among reals", with("Reshape r 1 1 x y 6=\"/(0w,0),-1\""),
       "leaves the integers"},
      {"one of unknown words", with("Reshape r 1 1 x y 6=\"half(0w),-1\""), "has 'half' in it"},
      {"one of half a number", with("Reshape r 1 1 x y 6=\"1x,-1\""), "has '1x' in it"},
      {"one of nothing", with("Reshape r 1 1 x y 6=\"(,)\""), "has no elements"},
      {"one that overflows", with("Reshape r 1 1 x y 6=\"*(99999,99999),-1\""), "32 bits"},
      {"one that is not a number", with("Reshape r 1 1 x y 6=\"sqrt(neg(0w)),-1\""), "32 bits"},
      {"one of an input that is missing", with("Reshape r 1 1 x y 6=\"1w,-1\""), "for input 1"},
      {"one of five extents", with("Reshape r 1 1 x y 6=\"1,1,1,1,-1\""), "names 5 extents"},
      {"one that shifts by 64", with("Reshape r 1 1 x y 6=\"lshift(1,64),-1\""),
       "cannot compute lshift"},
      {"an expression that is a real", with("Reshape r 1 1 x y 6=1.5"), "is no text"},
      {"a size of three", with("Interp i 1 1 x y 0=2 9=\"1,2,3\""), "computes 3 extents"},
      {"a range that is empty", with("Crop c 1 1 x y 19=\"0w\" 20=\"0w\" 21=\"2\""),
       "takes [8, 8)"},
      {"a GRU of pictures", with("GRU g 1 1 x y 0=1 1=24"), "3 dims, not 2", ErrorCode::bad_input,
       NcnnBin().segment("t24").segment("t4").segment("t3").bytes},
      {"a GRU of weights that do not fit", with("GRU g 1 1 x y 0=3 1=10"), "no multiple of 9"},
      {"an RNN of no direction", with("RNN g 1 1 x y 0=1 1=8 2=3"), "direction is 3",
       ErrorCode::bad_input, NcnnBin().segment("t8").segment("t1").segment("t1").bytes},
      {"a cache of other heads",
       ncnn_param({"Input q 0 1 q 0=4 1=3 2=2", "Input k 0 1 k 0=4 1=3 2=2",
                   "Input v 0 1 v 0=4 1=3 2=2", "Input a 0 1 a 0=4 1=5 2=1",
                   "Input b 0 1 b 0=4 1=5 2=2", "SDPA s 5 3 q k v a b o c d 7=1"}),
       "its cache has 1 heads of 4 features, not 2 of 4"},
      {"a cache that is not given out", ncnn_param({kInput, "SDPA s 3 1 x x x y 7=1"}),
       "it has 3 inputs, not 5"},
      {"padding for other channels", with("Padding p 1 1 x y 0=1 6=2"), "do not broadcast",
       ErrorCode::bad_input, NcnnBin().segment("r2").bytes},
      {"five dims", with("ExpandDims e 1 1 x y -23303=2,0,1"), "5 dims", ErrorCode::unsupported},
      {"an order that is none", with("Permute p 1 1 x y 0=6"), "no order 6 of 3 dims"},
      {"groups that do not divide", with("ShuffleChannel s 1 1 x y 0=2"), "2 groups of 3"},
      {"a scale of nothing", with("Interp i 1 1 x y 0=2 1=0.0 2=0.0"), "is scaled by 0"},
      {"a scale beyond bounds", with("Interp i 1 1 x y 0=2 1=1e30 2=1e30"), "is scaled by"},
      {"a picture beyond bounds", with("Interp i 1 1 x y 0=2 3=2000000000 4=2000000000"), "",
       ErrorCode::limit},
      {"repeats beyond bounds", with("Tile t 1 1 x y 0=0 1=2000000000"), "", ErrorCode::limit},
      {"padding beyond memory", with("Padding p 1 1 x y 0=2000000000 2=2000000000"), "",
       ErrorCode::limit},
      {"an activation that is none", with("InnerProduct i 1 1 x y 0=1 2=192 9=9"), "activation 9",
       ErrorCode::unsupported, NcnnBin().segment("t192").bytes},
      {"an activation without numbers", with("InnerProduct i 1 1 x y 0=1 2=192 9=2"),
       "needs more than 0 numbers", ErrorCode::bad_input, NcnnBin().segment("t192").bytes},
      {"an operation that is none", with("UnaryOp u 1 1 x y 0=99"), "operation 99",
       ErrorCode::unsupported},
      {"shapes that do not broadcast",
       ncnn_param(
           {"Input x 0 1 x 0=8 1=8 2=3", "Input y 0 1 y 0=7 1=8 2=3", "BinaryOp b 2 1 x y z"}),
       "do not broadcast"},
      {"blocks that do not divide", with("PixelShuffle p 1 1 x y 0=2"), "do not fill blocks"},
  });
}

/// One step of damage to a file.
void damage(std::string& bytes, std::mt19937& random) {
  if (bytes.empty()) return;
  const std::size_t at = random() % bytes.size();
  switch (random() % 7) {
    case 0:
      bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes.erase(at, 1 + random() % 8);
      break;
    case 2:
      bytes.insert(at, 1, "0123456789-=,. \n\"e"[random() % 18]);
      break;
    case 3:
      bytes.resize(at);
      break;
    case 4: {  // another number
      static constexpr const char* kNumbers[] = {"-1", "0", "2147483647", "-233", "1e9", "65536"};
      const std::size_t digit = bytes.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      bytes.replace(digit, 1, kNumbers[random() % 6]);
      break;
    }
    case 5: {  // another word of a binary file
      static constexpr std::int32_t kWords[] = {-1, 0, 1, 3, -233, 1 << 30, -23300, 0x7f800000};
      if (at / 4 * 4 + 4 > bytes.size()) break;
      std::memcpy(bytes.data() + at / 4 * 4, &kWords[random() % 8], 4);
      break;
    }
    default: {  // a piece of it again
      const std::size_t from = random() % bytes.size();
      bytes.insert(at, bytes.substr(from, random() % 32));
    }
  }
}

/// Damaged models end in an Error or in a graph that holds together; none is ours.
TEST(BadNcnn, Mutations) {
  const std::string param = ncnn_param(
      {kInput, "Convolution c 1 1 x c 0=4 1=3 3=2 4=1 5=1 6=108 9=2 -23310=1,0.1",
       "Split s 1 2 c c0 c1", "Pooling p 1 1 c0 p 0=0 1=2 2=2", "Interp i 1 1 c1 i 0=2 1=0.5 2=0.5",
       "Concat k 2 1 p i k 0=0", "ShuffleChannel h 1 1 k h 0=2",
       "Slice l 1 2 h l0 l1 -23300=2,-233,-233", "BinaryOp b 2 1 l0 l1 b 0=2",
       "Permute t 1 1 b t 0=3", "Reshape r 1 1 t r 0=4 1=-1", "InnerProduct f 1 1 r f 0=3 1=1 2=12",
       "Softmax o 1 1 f o 0=1 1=1"});
  const std::string bin =
      NcnnBin().segment("t108").segment("r4").segment("t12").segment("r3").bytes;
  ErrorCode code = ErrorCode::internal;
  ASSERT_EQ(failure_of(param, bin, code), "");
  Limits limits;
  limits.tensor_bytes = 16 << 20;
  limits.total_bytes = 64 << 20;
  limits.nodes = 1000;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string p = param, b = bin;
    for (auto n = random() % 3 + 1; n > 0; --n) damage(random() % 8 == 0 ? b : p, random);
    code = ErrorCode::bad_input;
    const std::string what = failure_of(p, b, code, limits);
    refused += what.empty() ? 0 : 1;
    ASSERT_NE(static_cast<int>(code), static_cast<int>(ErrorCode::internal)) << what << "\n" << p;
  }
  EXPECT_GT(refused, 10000);
  EXPECT_LT(refused, 20000);
}

/// A model's two files. Without a .bin weights are made up.
struct NcnnFiles {
  std::string name, param, bin;
  std::vector<std::int64_t> dims = {};  ///< of the input, if those of the file do not do
};

std::vector<NcnnFiles> files_below(const std::filesystem::path& folder) {
  std::vector<NcnnFiles> all;
  const auto bytes = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  if (!std::filesystem::is_directory(folder)) return all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::filesystem::path path = entry.path();
    if (path.extension() != ".param" && !path.string().ends_with(".param.bin")) continue;
    const std::string param = bytes(path);
    if (path.extension() == ".bin") path.replace_extension();
    all.push_back({entry.path().filename().string(), param, bytes(path.replace_extension(".bin"))});
  }
  std::ranges::sort(all, {}, &NcnnFiles::name);
  return all;
}

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
  const char* said = std::getenv(variable);
  return said == nullptr ? otherwise : std::stoll(said);
}

/// Whole models, damaged: STOWAGE_TEST_MUTATIONS pairs of files in turn, of seeds from
/// STOWAGE_TEST_SEED on, of the test data and of the folder STOWAGE_TEST_NCNN. For a long run:
///
///   STOWAGE_TEST_MUTATIONS=1000000 stowage_tests --gtest_filter=BadNcnn.MutationsOfModels
TEST(BadNcnn, MutationsOfModels) {
  const std::string data = STOWAGE_TEST_DATA;
  std::vector<NcnnFiles> files;
  if (!data.empty()) files = files_below(data + "/models/ncnn");
  if (const char* more = std::getenv("STOWAGE_TEST_NCNN")) {
    for (NcnnFiles& f : files_below(more)) files.push_back(std::move(f));
  }
  if (files.empty()) GTEST_SKIP() << "skipped: no test data";
  const std::int64_t count = number_from("STOWAGE_TEST_MUTATIONS", 60);
  const std::int64_t seed = number_from("STOWAGE_TEST_SEED", 1);
  OpenOptions made_up;
  made_up.generate_weights = true;
  made_up.limits.tensor_bytes = 64 << 20;
  made_up.limits.total_bytes = 256 << 20;
  const std::string path =
      testing::TempDir() + "stowage_damaged_" + std::to_string(seed) + ".param";
  const auto failure = [&](const NcnnFiles& f, ErrorCode& code) {
    if (f.bin.empty()) std::ofstream(path, std::ios::binary) << f.param;
    const auto open = [&] {
      return f.bin.empty() ? open_model(path, made_up)
                           : open_model(as_file(f.param), as_file(f.bin), made_up.limits);
    };
    return failure_of(open, code, f.dims);
  };
  for (NcnnFiles& f : files) {
    ErrorCode code = ErrorCode::internal;
    std::string what = failure(f, code);
    for (const std::int64_t size : {12, 24, 128, 224, 240, 352, 640}) {
      if (what.empty()) break;
      f.dims = {3, size, size};
      what = failure(f, code);
    }
    EXPECT_EQ(what, "") << f.name;
  }
  int refused = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const NcnnFiles& whole = files[static_cast<std::size_t>(i) % files.size()];
    const std::string trace = whole.name + ", seed " + std::to_string(seed + i);
    SCOPED_TRACE(trace);
    std::mt19937 random(static_cast<std::uint32_t>(seed + i));
    NcnnFiles f = whole;
    for (auto n = random() % 3 + 1; n > 0; --n) {
      damage(!f.bin.empty() && random() % 8 == 0 ? f.bin : f.param, random);
    }
    ErrorCode code = ErrorCode::bad_input;
    const std::string what = failure(f, code);
    refused += what.empty() ? 0 : 1;
    ASSERT_NE(static_cast<int>(code), static_cast<int>(ErrorCode::internal)) << what;
    if (i % 1000 == 999) std::cerr << i + 1 << " pairs, " << refused << " refused\n";
  }
  std::filesystem::remove(path);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stowage
