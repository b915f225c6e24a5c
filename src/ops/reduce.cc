// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, arg_max and arg_min, cumulative sums.
#include "kernels/rows/reduce.h"

#include <cmath>

#include "ops/device/device_rows.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The fact `axes`: sorted, in range, and never empty by default.
void infer_reduce(const InferRef& node) {
  node.expect_inputs(1, 2);
  const Shape& x = node.shape(0);
  Ints axes = node.ints_of("axes", 1).value_or(Ints());
  if (axes.empty() && node.attrs().integer("noop_with_empty_axes", 0) == 0) {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  axes = normal_axes(axes, x.rank());
  node.set_fact("axes", axes);
  const bool keep = node.attrs().integer("keepdims", 1) != 0;
  Ints out;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = std::ranges::binary_search(axes, i);
    if (!reduced || keep) out.push_back(reduced ? 1 : x[i]);
  }
  node.set_output(0, node.dtype(0), out);
}

void infer_reduce_numbers(const InferRef& node) {
  if (node.has(0) && node.dtype(0) == DType::boolean)
    fail(ErrorCode::unsupported, "input 0 is bool");
  infer_reduce(node);
}

/// Axes that stay keep their names; so do reduced ones when they are kept as 1.
void link_kept(const NodeRef& node, AxisLinks& links) {
  const Ints axes = node.facts().integers("axes");
  const bool keep = node.attrs().integer("keepdims", 1) != 0;
  for (int i = 0, k = 0; i < node.rank(0); ++i) {
    if (!keep && std::ranges::binary_search(axes, i)) continue;
    links.link(node.node().inputs[0], i, node.node().outputs[0], k++);
  }
}

// A reduction: what it starts from, how an element joins, how it ends. `A` is the accumulator.
struct Sum {
  template <class A>
  static A start() {
    return A(0);
  }

  template <class A>
  static A join(A a, A x) {
    return static_cast<A>(a + x);
  }

  template <class A>
  static A finish(A a, std::int64_t) {
    return a;
  }
};

struct Mean : Sum {
  template <class A>
  static A finish(A a, std::int64_t n) {
    // An empty mean is NaN among floats and 0 among integers.
    if constexpr (std::is_integral_v<A>)
      return n == 0 ? A(0) : static_cast<A>(static_cast<std::int64_t>(a) / n);
    else
      return a / static_cast<A>(n);
  }
};

struct Prod : Sum {
  template <class A>
  static A start() {
    return A(1);
  }

  template <class A>
  static A join(A a, A x) {
    return static_cast<A>(a * x);
  }
};

struct L1 : Sum {
  template <class A>
  static A join(A a, A x) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(a + (static_cast<std::int64_t>(x) < 0 ? A(0) - x : x));
    else
      return a + std::fabs(x);
  }
};

struct SumSquare : Sum {
  template <class A>
  static A join(A a, A x) {
    return static_cast<A>(a + x * x);
  }
};

struct L2 : SumSquare {
  template <class A>
  static A finish(A a, std::int64_t) {
    return static_cast<A>(std::sqrt(static_cast<double>(a)));
  }
};

struct LogSum : Sum {
  template <class A>
  static A finish(A a, std::int64_t) {
    return element_cast<A>(std::log(static_cast<double>(a)));
  }
};

/// Where each element of the input ends: the strides of the output, 0 along reduced axes.
Ints output_strides(const ReferenceArgs& args) {
  const Shape& x = args.in[0].mapping.shape();
  const Ints axes = args.node.facts().integers("axes");
  Ints strides(at(x.rank()), 0);
  std::int64_t stride = 1;
  for (int i = x.rank(); i-- > 0;) {
    if (std::ranges::binary_search(axes, i)) continue;
    strides[at(i)] = stride;
    stride *= x[i];
  }
  return strides;
}

/// Elements that join into one.
std::int64_t reduced_count(const ReferenceArgs& args) {
  std::int64_t count = 1;
  for (std::int64_t a : args.node.facts().integers("axes")) {
    count *= args.in[0].mapping.shape()[static_cast<int>(a)];
  }
  return count;
}

/// Integers gather in 64 bits without sign, where overflow is defined; floats in double.
template <class T>
using Gather = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Accumulator<T>>;

template <class F>
void reference(const ReferenceArgs& args) {
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const std::int64_t count = reduced_count(args);
  for_number_dtype(args.in[0].dtype, [&]<class T>() {
    using A = Gather<T>;
    std::vector<A> sums(at(out.elements()), F::template start<A>());
    Walk<1> walk(x.extents(), {output_strides(args)});
    for (std::int64_t i = 0; i < x.elements(); ++i, walk.next()) {
      A& sum = sums[at(walk.offset(0))];
      sum = F::template join<A>(sum, static_cast<A>(static_cast<Compute<T>>(args.input<T>(0)[i])));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      args.output<T>(0)[i] = element_cast<T>(F::template finish<A>(sums[i], count));
    }
  });
}

template <bool Max>
void extreme_reference(const ReferenceArgs& args) {
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  for_dtype(args.in[0].dtype, [&]<class T>() {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    constexpr C lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    constexpr C highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
    T* y = args.output<T>(0);
    std::fill_n(y, out.elements(), static_cast<T>(Max ? lowest : highest));
    Walk<1> walk(x.extents(), {output_strides(args)});
    for (std::int64_t i = 0; i < x.elements(); ++i, walk.next()) {
      const auto v = static_cast<C>(args.input<T>(0)[i]);
      const auto best = static_cast<C>(y[walk.offset(0)]);
      // A NaN stays once it is there.
      if (v != v || (Max ? v > best : v < best)) y[walk.offset(0)] = static_cast<T>(v);
    }
  });
}

/// log(sum(exp(x))), shifted by the largest element so that nothing overflows.
void log_sum_exp_reference(const ReferenceArgs& args) {
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  for_float_dtype(args.in[0].dtype, [&]<class T>() {
    const auto value = [&](std::int64_t i) {
      return static_cast<double>(static_cast<Compute<T>>(args.input<T>(0)[i]));
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> max(at(out.elements()), -infinity), sum(at(out.elements()), 0.0);
    for (const bool find_max : {true, false}) {
      Walk<1> walk(x.extents(), {output_strides(args)});
      for (std::int64_t i = 0; i < x.elements(); ++i, walk.next()) {
        const auto k = at(walk.offset(0));
        if (find_max) {
          max[k] = std::max(max[k], value(i));
        } else {
          sum[k] += std::exp(value(i) - (std::isinf(max[k]) ? 0 : max[k]));
        }
      }
    }
    for (std::size_t k = 0; k < sum.size(); ++k) {
      args.output<T>(0)[k] = element_cast<T>(std::log(sum[k]) + (std::isinf(max[k]) ? 0 : max[k]));
    }
  });
}

void infer_log_sum_exp(const InferRef& node) {
  node.expect_inputs(1, 2);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  infer_reduce(node);
}

void infer_arg(const InferRef& node) {
  node.expect_inputs(1, 1);
  expect_rank(node, 0, 1);
  const Shape& x = node.shape(0);
  if (node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  const int axis = normal_axis(node.attrs().integer("axis", 0), x.rank());
  if (x[axis] == 0) fail(ErrorCode::bad_input, "axis ", axis, " is empty");
  node.set_fact("axes", Ints{axis});
  const bool keep = node.attrs().integer("keepdims", 1) != 0;
  Ints out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis || keep) out.push_back(i == axis ? 1 : x[i]);
  }
  node.set_output(0, DType::i64, out);
}

template <bool Max>
void arg_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& x = args.in[0].mapping.shape();
  const auto axis = static_cast<int>(args.node.facts().integers("axes")[0]);
  const bool last = args.node.attrs().integer("select_last_index", 0) != 0;
  const std::int64_t inner = product(x.extents(), axis + 1, x.rank());
  for_number_dtype(args.in[0].dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < args.out[0].mapping.shape().elements(); ++r) {
      const T* row = args.input<T>(0) + r / inner * x[axis] * inner + r % inner;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < x[axis]; ++i) {
        const auto v = static_cast<Compute<T>>(row[i * inner]);
        const auto b = static_cast<Compute<T>>(row[best * inner]);
        if ((Max ? v > b : v < b) || (last && v == b)) best = i;
      }
      args.output<std::int64_t>(0)[r] = best;
    }
  });
}

void infer_cumulative(const InferRef& node) {
  node.expect_inputs(1, 2);
  expect_rank(node, 0, 1);
  const auto axis = node.ints_of("axes", 1);
  if (!axis || axis->size() != 1) fail(ErrorCode::bad_input, "it needs one axis");
  node.set_fact("axes", Ints{normal_axis((*axis)[0], node.rank(0))});
  if (node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

template <class F>
void cumulative_reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& x = args.in[0].mapping.shape();
  const auto axis = static_cast<int>(args.node.facts().integers("axes")[0]);
  const bool exclusive = args.node.attrs().integer("exclusive", 0) != 0;
  const bool reverse = args.node.attrs().integer("reverse", 0) != 0;
  const std::int64_t inner = product(x.extents(), axis + 1, x.rank());
  const std::int64_t rows = product(x.extents(), 0, axis) * inner;
  for_number_dtype(args.in[0].dtype, [&]<class T>() {
    using A = Gather<T>;
    for (std::int64_t r = 0; r < rows; ++r) {
      A sum = F::template start<A>();
      for (std::int64_t k = 0; k < x[axis]; ++k) {
        const std::int64_t i =
            r / inner * x[axis] * inner + r % inner + (reverse ? x[axis] - 1 - k : k) * inner;
        const A next =
            F::template join<A>(sum, static_cast<A>(static_cast<Compute<T>>(args.input<T>(0)[i])));
        args.output<T>(0)[i] = element_cast<T>(exclusive ? sum : next);
        sum = next;
      }
    }
  });
}

/// For OpDef::kernels.
template <const KernelDef& Row>
constexpr const KernelDef* kOnly[] = {&Row};

/// Where the axes of the input stand in the output.
struct KeptAxes {
  explicit KeptAxes(const NodeRef& node) : x(node.shape(0)), y(node.output().shape) {
    const Ints axes = node.facts().integers("axes");
    const bool keep = node.attrs().integer("keepdims", 1) != 0;
    for (int i = 0, k = 0; i < x.rank(); ++i) {
      const bool reduced = std::ranges::binary_search(axes, i);
      if (reduced) {
        dropped.push_back(x.axis(i));
      } else {
        axis[at(k)] = i;
        kept_in.push_back(x.axis(i));
        kept_out.push_back(y.axis(k));
      }
      if (!reduced || keep) ++k;
    }
  }

  Follower input(const Layout& layout, int element_bytes) const {
    return {Mapping(layout, x, element_bytes), axis};
  }

  /// The output as the input lies, without the axes that go.
  Mapping output(const Layout& layout, int element_bytes) const {
    return {layout.without(dropped).renamed(kept_in, kept_out), y, element_bytes};
  }

  const Shape &x, &y;
  std::vector<Axis> dropped, kept_in, kept_out;
  std::array<int, kMaxRank> axis{-1, -1, -1, -1, -1, -1, -1, -1};
};

using Reduction = ReduceDeviceParams::Kind;

template <Reduction K>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  constexpr std::int64_t kLongest = 1 << 14;  // elements that are listed one by one
  // Zeros of tails change no sum.
  constexpr bool kTailsJoin = K != Reduction::max && K != Reduction::min;
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
  if (request.target.device) offer_device_reduce(request, K, out);
  const KeptAxes kept(node);
  for (const Layout& layout : request.candidates(node.node().inputs[0])) {
    ReduceParams params;
    params.axes = node.facts().integers("axes");
    params.from = kept.input(layout, sizeof(float));
    params.to = kept.output(layout, sizeof(float));
    const ReductionFit fit = reduction_fit(params);
    if (fit == ReductionFit::none) continue;
    const bool listed = !kTailsJoin && reduces_tails(params);
    if (listed && params.count() > kLongest) continue;
    Offer offer;
    offer.in = {layout};
    offer.out = {params.to.layout()};
    offer.flops = 2 * static_cast<double>(x.elements());
    // A call for each short run costs more than what is in it.
    offer.efficiency = fit == ReductionFit::runs ? 0.2 : 0.005;
    offer.call = {*node.node().op->kernels[0], std::move(params)};
    out.push_back(std::move(offer));
  }
}

void arg_offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  if (node.dtype(0) != DType::f32 || x.elements() == 0) return;
  const KeptAxes kept(node);
  for (const Layout& layout : request.candidates(node.node().inputs[0])) {
    ArgParams params;
    params.reduce.axes = node.facts().integers("axes");
    params.reduce.from = kept.input(layout, sizeof(float));
    params.reduce.to = kept.output(layout, sizeof(std::int64_t));
    params.last = node.attrs().integer("select_last_index", 0) != 0;
    Offer offer;
    offer.in = {layout};
    offer.out = {params.reduce.to.layout()};
    offer.flops = 4 * static_cast<double>(x.elements());
    offer.efficiency = 0.1;
    offer.call = {*node.node().op->kernels[0], std::move(params)};
    out.push_back(std::move(offer));
  }
}

template <FixedString Op>
void import_reduce(ImportNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0);
  Ints axes = node.ints(1);
  // TFLite allows an axis twice; no axis at all means nothing is reduced.
  for (std::int64_t& a : axes) a = normal_axis(a, node.shape(x).rank());
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (axes.empty()) return node.out(node.emit("identity", {x}));
  const std::int64_t keep = node.attrs.integer("keepdims", 0);
  node.out(node.emit(Op.text, {x}, {{"axes", axes}, {"keepdims", keep}}));
}

template <FixedString Op>
void import_arg(ImportNode& node) {
  node.expect(2, 2);
  const std::int64_t axis = node.axis(1);
  const ValueId y =
      node.emit(Op.text, {node.in(0)}, {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  const DType to = node.output_dtype();
  if (to == DType::i64) return node.out(y);
  node.out(node.emit("cast", {y}, {{"to", std::string(dtype_name(to))}}));
}

/// x / sqrt(max(sum of x^2 along the last axis, 1e-6))
void import_l2_normalization(ImportNode& node) {
  node.expect(1, 1);
  const ValueId x = node.in(0);
  const int rank = node.shape(x).rank();
  if (rank < 1) fail(ErrorCode::bad_input, "its input is a scalar");
  const ValueId sum = node.emit("reduce_sum_square", {x},
                                {{"axes", Ints{rank - 1}}, {"keepdims", std::int64_t{1}}});
  const ValueId floor = node.emit("max", {sum, node.constant(1e-6f)});
  node.out(node.emit("div", {x, node.emit("sqrt", {floor})}));
}

using Offers = void (*)(const OfferRequest&, std::vector<Offer>&);

constexpr OpDef record(std::string_view name, std::string_view mace,
                       std::span<const ForeignName> aliases, void (*infer)(const InferRef&),
                       void (*reference_)(const ReferenceArgs&), Offers offers_ = nullptr,
                       std::span<const KernelDef* const> kernels = {},
                       void (*axes)(const NodeRef&, AxisLinks&) = link_kept,
                       std::span<const KernelDef* const> device_kernels = {}) {
  return {.name = name,
          .aliases = aliases,
          .category = Category::transposable,
          .mace = mace,
          .infer = infer,
          .reference = reference_,
          .offers = offers_,
          .kernels = kernels,
          .device_kernels = device_kernels,
          .axes = axes};
}

constexpr OpDef kReduce[] = {
    record("reduce_sum", "Reduce",
           named<Onnx<"ReduceSum">, Tflite<"SUM", import_reduce<"reduce_sum">>,
                 Ncnn<"Reduction", ncnn::reduction>>,
           infer_reduce_numbers, reference<Sum>, offers<Reduction::sum>, kOnly<kReduceSum>,
           link_kept, kReduceDeviceKernels),
    record("reduce_mean", "Reduce",
           named<Onnx<"ReduceMean">, Tflite<"MEAN", import_reduce<"reduce_mean">>>,
           infer_reduce_numbers, reference<Mean>, offers<Reduction::mean>, kOnly<kReduceMean>,
           link_kept, kReduceDeviceKernels),
    record("reduce_prod", "Reduce",
           named<Onnx<"ReduceProd">, Tflite<"REDUCE_PROD", import_reduce<"reduce_prod">>>,
           infer_reduce_numbers, reference<Prod>),
    record("reduce_l1", "", onnx<"ReduceL1">, infer_reduce_numbers, reference<L1>,
           offers<Reduction::l1>, kOnly<kReduceL1>, link_kept, kReduceDeviceKernels),
    record("reduce_l2", "",
           named<Onnx<"ReduceL2">, Tflite<"L2_NORMALIZATION", import_l2_normalization>,
                 Ncnn<"Normalize", ncnn::normalize>>,
           infer_reduce_numbers, reference<L2>, offers<Reduction::l2>, kOnly<kReduceL2>, link_kept,
           kReduceDeviceKernels),
    record("reduce_sum_square", "", onnx<"ReduceSumSquare">, infer_reduce_numbers,
           reference<SumSquare>, offers<Reduction::sum_square>, kOnly<kReduceSumSquare>, link_kept,
           kReduceDeviceKernels),
    record("reduce_log_sum", "", onnx<"ReduceLogSum">, infer_reduce_numbers, reference<LogSum>),
    record("reduce_log_sum_exp", "", onnx<"ReduceLogSumExp">, infer_log_sum_exp,
           log_sum_exp_reference),
    record("reduce_max", "Reduce",
           named<Onnx<"ReduceMax">, Tflite<"REDUCE_MAX", import_reduce<"reduce_max">>>,
           infer_reduce, extreme_reference<true>, offers<Reduction::max>, kOnly<kReduceMax>,
           link_kept, kReduceDeviceKernels),
    record("reduce_min", "Reduce",
           named<Onnx<"ReduceMin">, Tflite<"REDUCE_MIN", import_reduce<"reduce_min">>>,
           infer_reduce, extreme_reference<false>, offers<Reduction::min>, kOnly<kReduceMin>,
           link_kept, kReduceDeviceKernels),
    record("arg_max", "",
           named<Onnx<"ArgMax">, Tflite<"ARG_MAX", import_arg<"arg_max">>,
                 Ncnn<"ArgMax", ncnn::arg_max>>,
           infer_arg, arg_reference<true>, arg_offers, kOnly<kArgMax>),
    record("arg_min", "", named<Onnx<"ArgMin">, Tflite<"ARG_MIN", import_arg<"arg_min">>>,
           infer_arg, arg_reference<false>, arg_offers, kOnly<kArgMin>),
    record("cum_sum", "", named<Onnx<"CumSum">, Ncnn<"CumulativeSum", ncnn::cumulative_sum>>,
           infer_cumulative, cumulative_reference<Sum>, nullptr, {}, link_positions),
    record("cum_prod", "", onnx<"CumProd">, infer_cumulative, cumulative_reference<Prod>, nullptr,
           {}, link_positions),
};

}  // namespace

extern const std::span<const OpDef> ops_reduce;
const std::span<const OpDef> ops_reduce = kReduce;

}  // namespace stowage
