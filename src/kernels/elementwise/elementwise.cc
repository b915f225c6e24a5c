// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.h"

#include <cmath>

#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"

namespace stowage {

namespace {

/// Results of one task: enough to be worth waking a thread, small enough to stay in the L2.
constexpr std::int64_t kTaskElements = 16384;

}  // namespace

ElementwiseKernel::ElementwiseKernel(const Function& function, const Mapping& out,
                                     const std::vector<Follower>& operands)
    : operands_(operands.size()), tails_(out) {
  call_.fn = function.fn;
  call_.a = function.a;
  call_.b = function.b;
  zero_tails_ = needs_tail_zero(operands, out);
  std::vector<StridedLoop<4>> loops = digit_loops<4>(out, operands);
  // The innermost loop becomes the row when the output is contiguous along it.
  StridedLoop<4> row{1, {1, 1, 1, 1}}, rows{1, {0, 0, 0, 0}};
  if (!loops.empty() && loops.back().stride[0] == 1) {
    row = loops.back();
    loops.pop_back();
  }
  if (!loops.empty()) {
    rows = loops.back();
    loops.pop_back();
  }
  call_.n = row.extent;
  call_.rows = rows.extent;
  call_.out_stride = rows.stride[0];
  for (std::size_t k = 0; k < operands_; ++k) {
    call_.scalar[k] = row.stride[k + 1] == 0;
    call_.in_stride[k] = rows.stride[k + 1];
  }
  outer_ = std::move(loops);
  for (const auto& loop : outer_) outer_count_ *= loop.extent;
  n_step_ = std::min(call_.n, kTaskElements);
  row_step_ = std::clamp<std::int64_t>(kTaskElements / std::max<std::int64_t>(call_.n, 1), 1,
                                       std::max<std::int64_t>(call_.rows, 1));
  n_tasks_ = call_.n == 0 ? 0 : ceil_div(call_.n, n_step_);
  row_tasks_ = ceil_div(call_.rows, row_step_);
}

/// Tails are zero already when every operand is zero there and f(0, ...) is.
bool ElementwiseKernel::needs_tail_zero(const std::vector<Follower>& operands,
                                        const Mapping& out) const {
  if (tails_.empty()) return false;
  for (const Follower& f : operands) {
    for (int i = 0; i < out.shape().rank(); ++i) {
      if (out.padded(i) != out.shape()[i] && f.axis[at(i)] < 0) return true;
    }
  }
  float zeros[32] = {}, result[32] = {};
  ElementwiseCall probe = call_;
  probe.out = result;
  for (const float*& p : probe.in) p = zeros;
  run_elementwise(probe);
  return result[0] != 0.0f || std::signbit(result[0]);
}

void ElementwiseKernel::run(const float* const* in, float* out, ThreadPool* pool) const noexcept {
  const std::int64_t tasks = outer_count_ * row_tasks_ * n_tasks_;
  const std::int64_t total = outer_count_ * call_.rows * call_.n;
  // Small outer rows go together: a task takes several of them.
  const std::int64_t group =
      std::max<std::int64_t>(1, total == 0 ? 1 : tasks * kTaskElements / 2 / total);
  const auto run_task = [&](std::int64_t task) {
    ElementwiseCall call = call_;
    const std::int64_t i = task % n_tasks_ * n_step_;
    const std::int64_t r = task / n_tasks_ % row_tasks_ * row_step_;
    std::int64_t rest = task / n_tasks_ / row_tasks_;
    std::array<std::int64_t, 4> offset{};
    for (std::size_t k = outer_.size(); k-- > 0;) {
      const std::int64_t index = rest % outer_[k].extent;
      rest /= outer_[k].extent;
      for (std::size_t s = 0; s < 4; ++s) offset[s] += index * outer_[k].stride[s];
    }
    call.n = std::min(n_step_, call_.n - i);
    call.rows = std::min(row_step_, call_.rows - r);
    call.out = out + offset[0] + r * call.out_stride + i;
    for (std::size_t k = 0; k < operands_; ++k) {
      call.in[k] = in[k] + offset[k + 1] + r * call.in_stride[k] + (call.scalar[k] ? 0 : i);
    }
    run_elementwise(call);
  };
  parallel(pool, at(ceil_div(tasks, group)), [&](std::size_t g) {
    const auto first = static_cast<std::int64_t>(g) * group;
    for (std::int64_t t = first; t < std::min(first + group, tasks); ++t) run_task(t);
  });
  if (zero_tails_) tails_.run(reinterpret_cast<std::byte*>(out));
}

ElementwiseKernel bind_elementwise(const ElementwiseParams& p) {
  return {p.function, p.out, p.operands};
}

void run_bound_elementwise(const ElementwiseKernel& kernel, const KernelArgs& args) noexcept {
  const float* in[3] = {};
  for (std::size_t i = 0; i < std::min(std::size(in), args.in.size()); ++i) {
    in[i] = args.input<float>(i);
  }
  kernel.run(in, args.output<float>(0), args.pool);
}

Chain bind_chain(const ChainParams& p) {
  Follower whole{p.out, {}};
  for (std::size_t i = 0; i < whole.axis.size(); ++i) whole.axis[i] = static_cast<int>(i);
  Chain chain;
  chain.inputs = p.operands.size();
  if (p.operands.size() == 1) {
    chain.steps.emplace_back(Function{Fn::scale, p.scale, 0}, p.out, p.operands);
    return chain;
  }
  chain.steps.emplace_back(Function{p.fn, 0, 0}, p.out, std::vector{p.operands[0], p.operands[1]});
  for (std::size_t i = 2; i < p.operands.size(); ++i) {
    chain.steps.emplace_back(Function{p.fn, 0, 0}, p.out, std::vector{whole, p.operands[i]});
  }
  if (p.scale != 1.0f) {
    chain.steps.emplace_back(Function{Fn::scale, p.scale, 0}, p.out, std::vector{whole});
  }
  return chain;
}

void run_chain(const Chain& chain, const KernelArgs& args) noexcept {
  auto* y = args.output<float>(0);
  for (std::size_t s = 0; s < chain.steps.size(); ++s) {
    const bool more = s + 1 < chain.inputs;
    const float* in[3] = {s == 0 ? args.input<float>(0) : y,
                          more ? args.input<float>(s + 1) : nullptr, nullptr};
    chain.steps[s].run(in, y, args.pool);
  }
}

}  // namespace stowage
