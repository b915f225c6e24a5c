// SPDX-License-Identifier: Apache-2.0
#include "ops/ncnn/refusals.h"

#include "base/text.h"
#include "ops/ncnn/blob.h"

namespace stowage::ncnn {

namespace {

using Why = std::string (*)(const NcnnParams&, std::size_t inputs);

/// Parameter `Id` is said and is not 0.
template <int Id>
bool said(const NcnnParams& p) {
  return p.has(Id) && p.integer(Id, 0) != 0;
}

template <int Id>
std::string int8(const NcnnParams& p, std::size_t) {
  return said<Id>(p) ? "its weights are int8, which is not supported yet" : "";
}

template <int Id, std::int64_t Count>
std::string operation(const NcnnParams& p, std::size_t) {
  const std::int64_t kind = p.integer(Id, 0);
  if (kind >= 0 && kind < Count) return "";
  return text("its ", Id == 9 ? "activation " : "operation ", kind, " is not supported");
}

constexpr Why kActivation = operation<9, kActivations>;

std::string given_transposed(const NcnnParams& p, std::size_t) {
  return said<28>(p) ? "a transposed convolution whose weights are an input (parameter 28) is not "
                       "supported"
                     : "";
}

std::string packed(const NcnnParams& p, std::size_t) {
  return said<12>(p) ? "a packed output (parameter 12) is not supported" : "";
}

std::string old_reduction(const NcnnParams& p, std::size_t) {
  if (p.flag(1, true) || p.flag(5) || p.integers(3).empty()) return "";
  return "a Reduction with axes without parameter 5=1 is of an old version of ncnn that took axes "
         "otherwise; convert the model again";
}

std::string old_softmax(const NcnnParams& p, std::size_t) {
  const std::int64_t axis = p.integer(0, 0);
  if (axis == 0 || p.flag(1)) return "";
  return text("a Softmax along axis ", axis,
              " without parameter 1=1 is of an old version of ncnn that took axes otherwise; "
              "convert the model again");
}

std::string arg_max(const NcnnParams& p, std::size_t) {
  return p.integer(1, 1) != 1 || p.flag(0) ? "more than the place of one maximum is not supported"
                                           : "";
}

std::string reshape(const NcnnParams& p, std::size_t) {
  constexpr std::int64_t kUnsaid = 233;
  if (said<3>(p)) return "a Reshape that permutes (parameter 3) is not supported";
  for (const int id : {12, 13}) {
    if (p.integer(id, kUnsaid) != kUnsaid) {
      return text("a batch axis (parameter ", id, ") is not supported");
    }
  }
  return "";
}

std::string crop(const NcnnParams& p, std::size_t inputs) {
  const bool computed = p.has(19) && p.has(20);
  if (computed || inputs != 2 || p.integer(0, 0) != NcnnParams::kNone) return "";
  return "a range that is computed while the model runs is not supported";
}

std::string tile(const NcnnParams& p, std::size_t) {
  const std::size_t repeats = p.integers(2).size();
  return repeats > kMostDims ? text(repeats, " repeats are not supported") : "";
}

std::string padding(const NcnnParams& p, std::size_t inputs) {
  if (inputs == 2) return "padding that is an input is not supported";
  const bool values = p.integer(4, 0) == 0 && p.integer(6, 0) != 0;
  if (!values || (p.integer(7, 0) == 0 && p.integer(8, 0) == 0)) return "";
  return "a value for each channel where channels are padded, too, is not supported";
}

std::string prior_box(const NcnnParams& p, std::size_t) {
  if (said<14>(p)) return "steps as MMDetection has them (parameter 14) are not supported";
  if (said<15>(p)) return "centres as MMDetection has them (parameter 15) are not supported";
  return "";
}

struct Row {
  std::string_view type;
  Why why;
};

constexpr Row kRows[] = {
    {"Convolution", int8<8>},
    {"Convolution", kActivation},
    {"ConvolutionDepthWise", int8<8>},
    {"ConvolutionDepthWise", kActivation},
    {"Convolution1D", kActivation},
    {"ConvolutionDepthWise1D", kActivation},
    {"Convolution3D", kActivation},
    {"ConvolutionDepthWise3D", kActivation},
    {"Deconvolution", given_transposed},
    {"Deconvolution", kActivation},
    {"DeconvolutionDepthWise", given_transposed},
    {"DeconvolutionDepthWise", kActivation},
    {"Deconvolution1D", given_transposed},
    {"Deconvolution1D", kActivation},
    {"DeconvolutionDepthWise1D", given_transposed},
    {"DeconvolutionDepthWise1D", kActivation},
    {"InnerProduct", int8<8>},
    {"InnerProduct", kActivation},
    {"Gemm", int8<18>},
    {"Gemm", packed},
    {"MultiHeadAttention", int8<18>},
    {"SDPA", int8<18>},
    {"Embed", int8<18>},
    {"LSTM", int8<8>},
    {"GRU", int8<8>},
    {"RNN", int8<8>},
    {"BinaryOp", operation<0, kBinaryOps>},
    {"UnaryOp", operation<0, kUnaryOps>},
    {"Reduction", operation<0, kReductions>},
    {"Reduction", old_reduction},
    {"Softmax", old_softmax},
    {"ArgMax", arg_max},
    {"Reshape", reshape},
    {"Crop", crop},
    {"Tile", tile},
    {"Padding", padding},
    {"PriorBox", prior_box},
};

}  // namespace

std::string refusal(std::string_view type, const NcnnParams& params, std::size_t inputs) {
  for (const Row& row : kRows) {
    if (row.type != type) continue;
    if (std::string why = row.why(params, inputs); !why.empty()) return why;
  }
  return "";
}

}  // namespace stowage::ncnn
