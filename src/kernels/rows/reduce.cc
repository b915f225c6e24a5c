// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/reduce.h"

#include <limits>

#include "kernels/rows/axis_loops.h"
#include "kernels/rows/reductions.h"

namespace stowage {

namespace {

enum class Finish { plain, mean, root };

constexpr bool tails_join(Reduction kind) {
  return kind != Reduction::max && kind != Reduction::min;
}

struct BoundReduction {
  StridedReduction reduction;
  TailZero tails;
};

template <Reduction K, Finish End>
BoundReduction bind_reduction(const ReduceParams& p) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto along = [&](int i) { return p.along(i); };
  BoundReduction b{*strided_reduction(p.to, p.from, p.axes), TailZero(p.to)};
  StridedReduction& r = b.reduction;
  if (!tails_join(K) && !no_tails(p.from.mapping, along))
    r.runs = runs_along(p.from.mapping, along);
  r.kind = K;
  r.start = K == Reduction::max ? -infinity : K == Reduction::min ? infinity : 0.0f;
  if (End == Finish::mean) r.scale = static_cast<float>(1.0 / static_cast<double>(p.count()));
  r.root = End == Finish::root;
  return b;
}

void run_reduction(const BoundReduction& b, const KernelArgs& args) noexcept {
  b.reduction(args.input<float>(0), args.output<float>(0), args.pool);
  b.tails.run(args.out[0]);
}

template <bool Max>
struct BoundArg {
  ArgKernel<Max> kernel;
  TailZero tails;
};

template <bool Max>
BoundArg<Max> bind_arg(const ArgParams& p) {
  auto over = digit_loops<2>(p.reduce.to, {p.reduce.from});
  const std::int64_t columns = take_run(over);
  return {
      {std::move(over), runs_along(p.reduce.from.mapping, [&](int i) { return p.reduce.along(i); }),
       columns, p.last},
      TailZero(p.reduce.to)};
}

template <bool Max>
void run_arg(const BoundArg<Max>& b, const KernelArgs& args) noexcept {
  b.kernel(args.input<float>(0), args.output<std::int64_t>(0), args.pool);
  b.tails.run(args.out[0]);
}

template <Reduction K, Finish End = Finish::plain>
constexpr KernelDef reduce_row(std::string_view name) {
  return kernel_def<ReduceParams, bind_reduction<K, End>, run_reduction>(name);
}

}  // namespace

constexpr KernelDef kReduceSum = reduce_row<Reduction::sum>("reduce_sum");
constexpr KernelDef kReduceMean = reduce_row<Reduction::sum, Finish::mean>("reduce_mean");
constexpr KernelDef kReduceL1 = reduce_row<Reduction::sum_abs>("reduce_l1");
constexpr KernelDef kReduceL2 = reduce_row<Reduction::sum_square, Finish::root>("reduce_l2");
constexpr KernelDef kReduceSumSquare = reduce_row<Reduction::sum_square>("reduce_sum_square");
constexpr KernelDef kReduceMax = reduce_row<Reduction::max>("reduce_max");
constexpr KernelDef kReduceMin = reduce_row<Reduction::min>("reduce_min");
constexpr KernelDef kArgMax = kernel_def<ArgParams, bind_arg<true>, run_arg<true>>("arg_max");
constexpr KernelDef kArgMin = kernel_def<ArgParams, bind_arg<false>, run_arg<false>>("arg_min");

ReductionFit reduction_fit(const ReduceParams& p) {
  const auto r = strided_reduction(p.to, p.from, p.axes);
  if (!r) return ReductionFit::none;
  return r->columns > 1 || r->run >= 64 ? ReductionFit::runs : ReductionFit::pieces;
}

bool reduces_tails(const ReduceParams& p) {
  return !no_tails(p.from.mapping, [&](int i) { return p.along(i); });
}

}  // namespace stowage
