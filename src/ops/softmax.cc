// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax, hardmax along one axis, or before opset 13 along all axes from one on.
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The fact `axis` counts from 0; `flatten` says that all axes from it on are one.
void infer(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  const int rank = node.rank(0);
  const std::int64_t axis = node.attrs().integer("axis", -1);
  const bool flatten = node.attrs().integer("flatten", 0) != 0;
  // A scalar has one element to normalise, and axis `rank` flattens to rows of one element.
  const bool edge = (rank == 0 && (axis == 0 || axis == -1)) || (flatten && axis == rank);
  node.set_fact("axis", edge ? std::int64_t{rank} : std::int64_t{normal_axis(axis, rank)});
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

void import_softmax(ImportNode& node) {
  if (node.version >= 13) return;
  node.attrs.set("axis", node.attrs.integer("axis", 1));
  node.attrs.set("flatten", std::int64_t{1});
}

/// TFLite: along the last axis, of x times beta.
template <FixedString Op>
void import_last_axis(ImportNode& node) {
  node.expect(1, 1);
  ValueId x = node.in(0);
  const float beta = node.attrs.real("beta", 1);
  if (beta != 1.0f) x = node.emit("mul", {x, node.constant(beta)});
  node.out(node.emit(Op.text, {x}, {{"axis", std::int64_t{-1}}}));
}

struct Rows {
  std::int64_t outer = 1, count = 1, inner = 1;
};

Rows rows_of(const NodeRef& node, const Shape& shape) {
  const auto axis = static_cast<int>(node.facts().integer("axis", -1));
  const int end =
      node.attrs().integer("flatten", 0) != 0 ? shape.rank() : std::min(axis + 1, shape.rank());
  return {product(shape.extents(), 0, axis), product(shape.extents(), axis, end),
          product(shape.extents(), end, shape.rank())};
}

enum class Kind { softmax, log_softmax, hardmax };

template <Kind K>
void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Rows rows = rows_of(args.node, args.out[0].mapping.shape());
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    for (std::int64_t row = 0; row < rows.outer * rows.inner && rows.count > 0; ++row) {
      const std::int64_t first = row / rows.inner * rows.count * rows.inner + row % rows.inner;
      const T* x = args.input<T>(0) + first;
      T* y = args.output<T>(0) + first;
      const auto value = [&](std::int64_t i) {
        return static_cast<double>(static_cast<Compute<T>>(x[i * rows.inner]));
      };
      std::int64_t largest = 0;
      for (std::int64_t i = 1; i < rows.count; ++i) {
        if (value(i) > value(largest)) largest = i;
      }
      const double max = value(largest);
      double sum = 0;
      for (std::int64_t i = 0; i < rows.count; ++i) sum += std::exp(value(i) - max);
      for (std::int64_t i = 0; i < rows.count; ++i) {
        const double v = K == Kind::softmax       ? std::exp(value(i) - max) / sum
                         : K == Kind::log_softmax ? value(i) - max - std::log(sum)
                                                  : static_cast<double>(i == largest);
        y[i * rows.inner] = element_cast<T>(v);
      }
    }
  });
}

/// Softmax along one loop, for every index of the others. Order does not matter to a softmax, so
/// any layout will do in which the axes fuse into one loop without tails.
struct StridedSoftmax {
  bool log = false;
  std::int64_t count = 1, stride = 1;
  std::vector<StridedLoop<1>> over;
  std::int64_t columns = 1;  ///< contiguous, beside the outer ones; 1 when the rows are

  void run(const float* x, float* y, ThreadPool* pool) const noexcept {
    constexpr std::int64_t kColumns = 256;
    const std::int64_t chunks = (columns + kColumns - 1) / kColumns;
    parallel(pool, at(loop_count(over) * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * kColumns;
      const std::int64_t offset = loop_offset(over, i / chunks)[0] + first;
      if (stride == 1) {
        softmax_row(x + offset, y + offset, count, log);
      } else {
        softmax_columns(x + offset, y + offset, count, stride, std::min(kColumns, columns - first),
                        log);
      }
    });
  }
};

/// Softmax along elements that lie anywhere: a row is collected, computed and put back.
struct GatheredSoftmax {
  bool log = false;
  std::vector<CellRun> runs;
  std::vector<StridedLoop<1>> over;
  std::int64_t row_floats = 0;  ///< scratch of one worker
  int workers = 1;

  void run(const KernelArgs& args) const noexcept {
    const std::int64_t rows = loop_count(over), share = ceil_div(rows, workers);
    parallel(args.pool, at(workers), [&](std::size_t worker) {
      const auto w = static_cast<std::int64_t>(worker);
      float* row = reinterpret_cast<float*>(args.scratch) + w * row_floats;
      for (std::int64_t r = w * share; r < std::min((w + 1) * share, rows); ++r) {
        const std::int64_t offset = loop_offset(over, r)[0];
        const float* x = args.input<float>(0) + offset;
        float *y = args.output<float>(0) + offset, *end = row;
        for (const CellRun& c : runs) end = std::copy_n(x + c.first, c.count, end);
        softmax_row(row, row, end - row, log);
        const float* from = row;
        for (const CellRun& c : runs) {
          std::copy_n(from, c.count, y + c.first);
          from += c.count;
        }
      }
    });
  }
};

struct SoftmaxParams {
  Mapping mapping;  ///< of x and y
  int axis = 0;
  bool flatten = false;  ///< along all axes from `axis` on
  int workers = 1;

  bool along(int i) const { return i == axis || (flatten && i > axis); }

  void fields(Archive& a) {
    a("mapping", mapping)("axis", axis)("flatten", flatten)("workers", workers);
  }
};

/// Nothing unless the axes fuse into one loop that can be walked in rows or in columns.
std::optional<StridedSoftmax> strided_softmax(const SoftmaxParams& p) {
  const auto along = [&](int i) { return p.along(i); };
  const auto loops = loops_along(p.mapping, along);
  if (loops.size() != 1 || !no_tails(p.mapping, along)) return std::nullopt;
  StridedSoftmax s;
  s.count = loops[0].extent;
  s.stride = loops[0].stride[0];
  s.over = loops_along(p.mapping, [&](int i) { return !p.along(i); });
  if (s.stride != 1) {
    s.columns = take_run(s.over);
    if (s.columns == 1 && !s.over.empty()) return std::nullopt;
  }
  return s;
}

std::int64_t row_elements(const SoftmaxParams& p) {
  std::int64_t count = 1;
  for (int i = 0; i < p.mapping.shape().rank(); ++i) {
    count *= p.along(i) ? p.mapping.shape()[i] : 1;
  }
  return count;
}

/// Of one worker.
std::int64_t row_floats(const SoftmaxParams& p) { return round_up(row_elements(p), 16); }

struct BoundStrided {
  StridedSoftmax softmax;
  TailZero tails;
};

template <bool Log>
BoundStrided bind_strided(const SoftmaxParams& p) {
  BoundStrided b{*strided_softmax(p), TailZero(p.mapping)};
  b.softmax.log = Log;
  return b;
}

void run_strided(const BoundStrided& b, const KernelArgs& args) noexcept {
  b.softmax.run(args.input<float>(0), args.output<float>(0), args.pool);
  b.tails.run(args.out[0]);
}

struct BoundGathered {
  GatheredSoftmax softmax;
  TailZero tails;
};

template <bool Log>
BoundGathered bind_gathered(const SoftmaxParams& p) {
  GatheredSoftmax s;
  s.log = Log;
  s.runs = runs_along(p.mapping, [&](int i) { return p.along(i); });
  s.over = loops_along(p.mapping, [&](int i) { return !p.along(i); });
  s.row_floats = row_floats(p);
  s.workers = p.workers;
  return {std::move(s), TailZero(p.mapping)};
}

void run_gathered(const BoundGathered& b, const KernelArgs& args) noexcept {
  b.softmax.run(args);
  b.tails.run(args.out[0]);
}

constexpr KernelDef kStrided[] = {
    kernel_def<SoftmaxParams, bind_strided<false>, run_strided>("softmax"),
    kernel_def<SoftmaxParams, bind_strided<true>, run_strided>("log_softmax")};
constexpr KernelDef kGathered[] = {
    kernel_def<SoftmaxParams, bind_gathered<false>, run_gathered>("softmax_gathered"),
    kernel_def<SoftmaxParams, bind_gathered<true>, run_gathered>("log_softmax_gathered")};
constexpr const KernelDef* kSoftmaxKernels[] = {&kStrided[0], &kGathered[0]};
constexpr const KernelDef* kLogSoftmaxKernels[] = {&kStrided[1], &kGathered[1]};

/// About how many contiguous elements a gathered row is made of: the elements along the axes that
/// are neighbours in memory.
double gathered_run(const SoftmaxParams& p) {
  std::int64_t run = 1;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Digit& d : p.mapping.linear_digits()) {
      if (d.e == 1 || d.stride != run || !p.along(d.dim)) continue;
      run *= d.e;
      grew = true;
    }
  }
  return static_cast<double>(run);
}

template <bool Log>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  constexpr std::int64_t kLongest = 1 << 14;  // a row that is listed
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || node.shape(0).elements() == 0) return;
  const int threads = request.target.threads;
  for (const Layout& layout : elementwise_layouts(request)) {
    SoftmaxParams params;
    params.mapping = Mapping(layout, node.output().shape, sizeof(float));
    params.axis = static_cast<int>(node.facts().integer("axis", -1));
    params.flatten = node.attrs().integer("flatten", 0) != 0;
    params.workers = threads == 1 ? 1 : 4 * threads;
    Offer offer;
    offer.in = {broadcast_follower(node, 0, layout).mapping.layout()};
    offer.out = {layout};
    offer.in_place = 0;
    offer.flops = 20 * static_cast<double>(node.shape(0).elements());
    if (strided_softmax(params)) {
      offer.efficiency = 0.25;
      offer.call = {kStrided[Log], std::move(params)};
    } else if (row_elements(params) <= kLongest) {
      // Collecting costs as much as a run is short.
      offer.efficiency = gathered_run(params) >= 4 ? 0.15 : 0.04;
      offer.scratch_bytes = at(params.workers * row_floats(params)) * sizeof(float);
      offer.call = {kGathered[Log], std::move(params)};
    } else {
      continue;
    }
    out.push_back(std::move(offer));
  }
}

constexpr OpDef kSoftmax[] = {
    {.name = "softmax",
     .aliases =
         named<Onnx<"Softmax", import_softmax>, Tflite<"SOFTMAX", import_last_axis<"softmax">>>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::softmax>,
     .offers = offers<false>,
     .kernels = kSoftmaxKernels,
     .axes = link_positions},
    {.name = "log_softmax",
     .aliases = named<Onnx<"LogSoftmax", import_softmax>,
                      Tflite<"LOG_SOFTMAX", import_last_axis<"log_softmax">>>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::log_softmax>,
     .offers = offers<true>,
     .kernels = kLogSoftmaxKernels,
     .axes = link_positions},
    {.name = "hardmax",
     .aliases = onnx<"Hardmax", import_softmax>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::hardmax>,
     .axes = link_positions},
};

}  // namespace

extern const std::span<const OpDef> ops_softmax;
const std::span<const OpDef> ops_softmax = kSoftmax;

}  // namespace stowage
