// SPDX-License-Identifier: Apache-2.0
// Elementwise work in any layout: the layout of the output, renamed, is that of every operand.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "kernels/copy/digit_loops.h"
#include "kernels/elementwise/functions.h"
#include "kernels/kernel.h"

namespace stowage {

struct Function {
  Fn fn = Fn::add;
  float a = 0, b = 0;

  void fields(Archive& archive) { archive("fn", fn)("a", a)("b", b); }
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

struct ElementwiseParams {
  Function function;
  Mapping out;
  std::vector<Follower> operands;

  void fields(Archive& a) { a("function", function)("out", out)("operands", operands); }
};

ElementwiseKernel bind_elementwise(const ElementwiseParams& p);
void run_bound_elementwise(const ElementwiseKernel& kernel, const KernelArgs& args) noexcept;

/// Operands combined one after the other, then multiplied by `scale`.
struct ChainParams {
  Fn fn = Fn::add;
  float scale = 1;
  Mapping out;
  std::vector<Follower> operands;

  void fields(Archive& a) { a("fn", fn)("scale", scale)("out", out)("operands", operands); }
};

struct Chain {
  std::vector<ElementwiseKernel> steps;
  std::size_t inputs = 0;
};

Chain bind_chain(const ChainParams& p);
void run_chain(const Chain& chain, const KernelArgs& args) noexcept;

constexpr KernelDef elementwise_row(std::string_view name) {
  return kernel_def<ElementwiseParams, bind_elementwise, run_bound_elementwise>(name);
}

constexpr KernelDef chain_row(std::string_view name) {
  return kernel_def<ChainParams, bind_chain, run_chain>(name);
}

/// A row for each operator, of the same name.
inline constexpr KernelDef kElementwiseKernels[] = {
    elementwise_row("relu"),
    elementwise_row("neg"),
    elementwise_row("abs"),
    elementwise_row("sign"),
    elementwise_row("leaky_relu"),
    elementwise_row("sigmoid"),
    elementwise_row("tanh"),
    elementwise_row("exp"),
    elementwise_row("log"),
    elementwise_row("expm1"),
    elementwise_row("log1p"),
    elementwise_row("sqrt"),
    elementwise_row("floor"),
    elementwise_row("ceil"),
    elementwise_row("round"),
    elementwise_row("reciprocal"),
    elementwise_row("erf"),
    elementwise_row("softplus"),
    elementwise_row("softsign"),
    elementwise_row("elu"),
    elementwise_row("selu"),
    elementwise_row("hard_sigmoid"),
    elementwise_row("hard_swish"),
    elementwise_row("mish"),
    elementwise_row("swish"),
    elementwise_row("thresholded_relu"),
    elementwise_row("gelu"),
    elementwise_row("clip"),
    elementwise_row("expand"),
    elementwise_row("add"),
    elementwise_row("sub"),
    elementwise_row("mul"),
    elementwise_row("div"),
    elementwise_row("pow"),
    elementwise_row("prelu"),
    chain_row("sum"),
    chain_row("min"),
    chain_row("max"),
    chain_row("mean"),
};

namespace elementwise_detail {

inline constexpr auto kRows = [] {
  std::array<const KernelDef*, std::size(kElementwiseKernels)> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = &kElementwiseKernels[i];
  return rows;
}();

}  // namespace elementwise_detail

/// For OpDef::kernels: the row of that name, or none. (Not "none without offers": with the
/// undefined-behaviour sanitizer g++ takes no comparison of a function with null for a constant.)
constexpr std::span<const KernelDef* const> elementwise_kernel(std::string_view name) {
  const auto& rows = elementwise_detail::kRows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]->name == name) return {&rows[i], 1};
  }
  return {};
}

}  // namespace stowage
