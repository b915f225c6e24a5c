// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_meaning.h"

#include <algorithm>
#include <iterator>

namespace stowage {
namespace {

struct Meaning {
  std::string_view kernel, words;
};

constexpr Meaning kMeanings[] = {
    {"reference", "plain loops in the model's own order: works for everything, slowly"},
    {"relabel", "moves no byte: the same bytes under another shape"},
    {"conv_blocked", "convolution that reads blocks of channels, as wide as a vector"},
    {"conv_channels_last", "convolution that reads all channels of a pixel side by side"},
    {"conv_depthwise", "convolution in which each channel has a filter of its own"},
    {"conv_winograd2", "3x3 convolution by Winograd's method, in tiles of 2x2 results"},
    {"conv_winograd4", "3x3 convolution by Winograd's method, in tiles of 4x4 results"},
    {"conv_winograd6", "3x3 convolution by Winograd's method, in tiles of 6x6 results"},
    {"conv_transpose_blocked", "transposed convolution on blocks of channels"},
    {"conv_transpose_channels_last", "transposed convolution on pixels with all channels"},
    {"gemm_panels", "fully connected layer, weights packed into panels beforehand"},
    {"matmul_panels", "matrix product, the right matrix packed into panels"},
    {"max_pool_whole", "maximum over the whole plane"},
    {"average_pool_whole", "mean over the whole plane"},
    {"lstm_panels", "LSTM, weights packed into panels beforehand"},
    {"gru_panels", "GRU, weights packed into panels beforehand"},
    {"rnn_panels", "simple recurrent layer, weights packed into panels beforehand"},
    {"resize_blend", "resize that weighs neighbours: linear, cubic"},
    {"resize_nearest", "resize that takes the nearest element"},
    {"softmax", "softmax along an axis whose elements lie a stride from each other"},
    {"softmax_gathered", "softmax along an axis that is first brought together"},
    {"log_softmax", "logarithm of softmax along an axis with a stride"},
    {"log_softmax_gathered", "logarithm of softmax along an axis that is first brought together"},
    {"lrn_columns", "local response normalisation, many pixels at a time"},
    {"concat", "copies the inputs behind each other; nothing where they lie there already"},
    {"split", "copies the parts out; nothing where they can stay where they are"},
    {"cl_conv", "convolution on an OpenCL device"},
    {"cl_winograd", "3x3 convolution by Winograd's method on an OpenCL device"},
    {"cl_depthwise", "depthwise convolution on an OpenCL device"},
    {"cl_conv_transpose", "transposed convolution on an OpenCL device"},
    {"cl_gemm", "matrix product on an OpenCL device"},
    {"cl_pool", "pooling on an OpenCL device"},
    {"cl_map", "elementwise operators on an OpenCL device"},
    {"cl_move", "copies and reorders on an OpenCL device"},
    {"cl_concat", "concatenation on an OpenCL device"},
    {"cl_split", "split on an OpenCL device"},
    {"cl_batch_norm", "batch normalisation on an OpenCL device"},
    {"cl_norm", "layer and instance normalisation on an OpenCL device"},
    {"cl_lrn", "local response normalisation on an OpenCL device"},
    {"cl_reduce", "reductions on an OpenCL device"},
    {"cl_resize", "resize on an OpenCL device"},
    {"cl_softmax", "softmax on an OpenCL device"},
};

}  // namespace

std::string_view kernel_meaning(std::string_view kernel) {
  const auto* at = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                [&](const Meaning& m) { return m.kernel == kernel; });
  return at == std::end(kMeanings) ? std::string_view() : at->words;
}

}  // namespace stowage
