// SPDX-License-Identifier: Apache-2.0
// Convolution as pixel_gemm: fills tables of pixel pointers, shares the work among threads.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/conv/window.h"

namespace stowage {

/// Work of an image that tasks share.
struct TaskGrid {
  std::int64_t block = 1;   ///< pixels a task
  std::int64_t blocks = 1;  ///< tasks along pixels
  std::int64_t shares = 1;  ///< tasks along panels of output channels
};

/// `repeats`: images and groups, each with its own tasks. `weights_heavy`: weights are more bytes
/// than activations, so that threads should rather divide weights.
TaskGrid share_pixels(std::int64_t pixels, std::int64_t panels, std::int64_t repeats, int threads,
                      std::int64_t most_pixels, bool weights_heavy);

/// Input 2 when it is a bias, else -1: without one, an epilogue's inputs begin there.
int bias_input(const NodeRef& node);

/// Where the inputs are that are not always there; -1: absent.
struct EpiloguePorts {
  int bias = -1, residual = -1, slope = -1;
  bool one_slope = false;

  void fields(Archive& a) {
    a("bias", bias)("residual", residual)("slope", slope)("one_slope", one_slope);
  }
};

EpiloguePorts epilogue_ports(const NodeRef& node);

/// Layouts for the inputs of a node behind its own operands: residual as the output, slope padded.
void add_epilogue_layouts(const NodeRef& node, const Layout& out, std::int64_t lanes,
                          std::vector<Layout>& in);

extern const KernelDef kConvBlocked, kConvChannelsLast;

/// Offers of a 1- to 3-D convolution with inputs x, w, optional bias.
void offer_pixel_conv(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
