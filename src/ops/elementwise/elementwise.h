// SPDX-License-Identifier: Apache-2.0
// Elementwise work in any layout: the layout of the output, renamed, is that of every operand.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/digit_loops.h"
#include "ops/elementwise/functions.h"

namespace stowage {

struct Function {
  Fn fn = Fn::add;
  float a = 0, b = 0;
};

/// One function over strided operands, compiled for given layouts.
class ElementwiseKernel {
 public:
  /// `operands` follow `out`. Work is cut into tasks when it is worth several threads.
  ElementwiseKernel(const Function& function, const Mapping& out,
                    const std::vector<Follower>& operands);

  /// Leaves zero in the tails of `out`, which may be one of the operands.
  void run(const float* const* in, float* out, ThreadPool* pool) const noexcept;

 private:
  bool needs_tail_zero(const std::vector<Follower>& operands, const Mapping& out) const;

  ElementwiseCall call_;
  std::size_t operands_ = 1;
  std::vector<StridedLoop<4>> outer_;
  std::int64_t outer_count_ = 1, row_step_ = 1, n_step_ = 1;
  std::int64_t row_tasks_ = 1, n_tasks_ = 1;
  bool zero_tails_ = false;
  TailZero tails_;
};

/// The layouts in which output 0 may be, over its own axes: its candidates and those of every
/// input of the same extents.
std::vector<Layout> elementwise_layouts(const OfferRequest& request);

/// Input `i` in the layout that follows `out` with numpy's broadcasting: axes are aligned on the
/// right, axes that stretch are dropped.
Follower broadcast_follower(const NodeRef& node, int input, const Layout& out);

/// Offers the function of all inputs of the node (one to three) in every layout. f32 only.
void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       std::string_view kernel, const Function& function);

/// Likewise for the first `count` inputs only, the others being known.
void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       std::string_view kernel, const Function& function, int count);

/// The inputs combined one after the other, then multiplied by `scale`.
void offer_chain(const OfferRequest& request, std::vector<Offer>& out, std::string_view kernel,
                 Fn fn, float scale);

}  // namespace stowage
