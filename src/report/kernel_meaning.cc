// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_meaning.h"

#include <algorithm>
#include <iterator>

namespace stowage {
namespace {

struct Meaning {
  std::string_view kernel, words;
  std::string_view limit = {};  ///< see kernel_limit
  bool product = false;         ///< see is_product
};

constexpr std::string_view kTaps =
                               "each tap is loaded for one operation, so that loads set the pace",
                           kColumns =
                               "but for squares of 3 and 5 with strides of 1 and 2 each tap "
                               "is loaded for one operation",
                           kTransforms = "its transforms load and store beside the products",
                           kSteps = "its steps wait for each other, and each reads all weights";

constexpr Meaning kMeanings[] = {
    {"reference", "plain loops in the model's own order: works for everything, slowly",
     "plain loops: no kernel takes these layouts and types"},
    {"relabel", "moves no byte: the same bytes under another shape"},
    {"conv_blocked", "convolution that reads blocks of channels, as wide as a vector", {}, true},
    {"conv_channels_last", "convolution that reads all channels of a pixel side by side", {}, true},
    {"conv_depthwise", "convolution in which each channel has a filter of its own", kColumns},
    {"conv_dots", "convolution to a few channels, in vectors along the channels it reads"},
    {"conv_grouped", "convolution of groups of a few channels, several of which a vector holds"},
    {"conv_winograd2", "3x3 convolution by Winograd's method, in tiles of 2x2 results",
     kTransforms},
    {"conv_winograd4", "3x3 convolution by Winograd's method, in tiles of 4x4 results",
     kTransforms},
    {"conv_winograd6", "3x3 convolution by Winograd's method, in tiles of 6x6 results",
     kTransforms},
    {"conv_winograd2_5x5", "5x5 convolution by Winograd's method, in tiles of 2x2 results",
     kTransforms},
    {"conv_winograd4_5x5", "5x5 convolution by Winograd's method, in tiles of 4x4 results",
     kTransforms},
    {"conv_winograd2_7x7", "7x7 convolution by Winograd's method, in tiles of 2x2 results",
     kTransforms},
    {"conv_winograd4_1x3", "1x3 convolution by Winograd's method, in tiles of 1x4 results",
     kTransforms},
    {"conv_winograd6_1x3", "1x3 convolution by Winograd's method, in tiles of 1x6 results",
     kTransforms},
    {"conv_winograd4_1x5", "1x5 convolution by Winograd's method, in tiles of 1x4 results",
     kTransforms},
    {"conv_winograd2_1x7", "1x7 convolution by Winograd's method, in tiles of 1x2 results",
     kTransforms},
    {"conv_winograd4_3x1", "3x1 convolution by Winograd's method, in tiles of 4x1 results",
     kTransforms},
    {"conv_winograd6_3x1", "3x1 convolution by Winograd's method, in tiles of 6x1 results",
     kTransforms},
    {"conv_winograd4_5x1", "5x1 convolution by Winograd's method, in tiles of 4x1 results",
     kTransforms},
    {"conv_winograd2_7x1", "7x1 convolution by Winograd's method, in tiles of 2x1 results",
     kTransforms},
    {"conv_transpose_blocked", "transposed convolution on blocks of channels", {}, true},
    {"conv_transpose_channels_last",
     "transposed convolution on pixels with all channels",
     {},
     true},
    {"conv_transpose_overlap",
     "transposed convolution to a few channels: products of each pixel, added where they overlap"},
    {"gemm_panels", "fully connected layer, weights packed into panels beforehand", {}, true},
    {"gemm_steps", "fully connected layer of one row, 8-bit weights kept in 16 bits", {}, true},
    {"matmul_panels", "matrix product, the right matrix packed into panels", {}, true},
    {"attention",
     "both products of attention and the softmax between them, a few rows at a time",
     {},
     true},
    {"max_pool", "", kColumns},
    {"average_pool", "", kTaps},
    {"max_pool_whole", "maximum over the whole plane"},
    {"average_pool_whole", "mean over the whole plane"},
    {"lstm_panels", "LSTM, weights packed into panels beforehand", kSteps},
    {"gru_panels", "GRU, weights packed into panels beforehand", kSteps},
    {"rnn_panels", "simple recurrent layer, weights packed into panels beforehand", kSteps},
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

const Meaning* find(std::string_view kernel) {
  const auto* at = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                [&](const Meaning& m) { return m.kernel == kernel; });
  return at == std::end(kMeanings) ? nullptr : at;
}

}  // namespace

std::string_view kernel_meaning(std::string_view kernel) {
  const Meaning* known = find(kernel);
  return known == nullptr ? std::string_view() : known->words;
}

std::string_view kernel_limit(std::string_view kernel) {
  const Meaning* known = find(kernel);
  return known == nullptr ? std::string_view() : known->limit;
}

bool is_product(std::string_view kernel) {
  const Meaning* known = find(kernel);
  return known != nullptr && known->product;
}

}  // namespace stowage
