// SPDX-License-Identifier: Apache-2.0
#include "tests/suite/random_graphs_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/index.h"
#include "base/text.h"

namespace stowage::random_graphs {

namespace {

/// Elements of a value and multiplications of a node, of most graphs and of large ones.
constexpr std::int64_t kMostElements[] = {6000, 60'000};
constexpr std::int64_t kMostWork[] = {300'000, 5'000'000};
/// Largest magnitudes of an f32 value.
constexpr double kSmallest = 1e-3, kLargest = 1e3;
/// Noise behind a node, and where it has grown too large, over the largest magnitude.
constexpr double kNoise = 0x1p-20, kMostNoise = kTolerance / 5;

double largest(std::span<const float> list) {
  double out = 0;
  for (const float x : list) {
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    out = std::max(out, std::abs(static_cast<double>(x)));
  }
  return out;
}

/// Multiplications that an operator of windows or products makes.
std::int64_t work_of(std::string_view op, const std::vector<const Tensor*>& in, const Shape& out) {
  if (op == "conv" || op == "conv_transpose") {
    const Shape& w = in[1]->shape();
    const std::int64_t images =
        out[0] * (op == "conv" ? out.elements() / out[0] / out[1]
                               : in[0]->shape().elements() / in[0]->shape()[0] / in[0]->shape()[1]);
    return images * w.elements();
  }
  if (op == "gemm" || op == "matmul") {
    const Shape& a = in[0]->shape();
    return out.elements() * std::max(a[0], a[a.rank() - 1]);
  }
  return out.elements();
}

}  // namespace

std::int64_t Builder::Known::elements() const {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Builder::below(std::int64_t n) {
  return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
}

std::int64_t Builder::between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }

float Builder::real(float lo, float hi) {
  return lo + (hi - lo) * static_cast<float>(random_() >> 40) * 0x1p-24f;
}

std::int64_t Builder::channels() {
  static constexpr std::int64_t kOften[] = {1, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33};
  if (large && chance(30)) return between(34, 150);
  // Axes of equal extents: a mistaken one is not refused.
  if (!known_.empty() && chance(15)) {
    const Ints& list = known_[idx(below(std::ssize(known_)))].extents;
    const std::int64_t extent = list.empty() ? 1 : list[idx(below(std::ssize(list)))];
    if (extent <= 33) return extent;
  }
  return chance(60) ? one_of(kOften) : between(1, 33);
}

std::int64_t Builder::divisor(std::int64_t n) {
  Ints list;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) list.push_back(d);
  }
  return list[idx(below(std::ssize(list)))];
}

Ints Builder::permutation(int n) {
  Ints out(idx(n));
  std::iota(out.begin(), out.end(), 0);
  for (int i = n; i-- > 1;) std::swap(out[idx(i)], out[idx(below(i + 1))]);
  return out;
}

Ints Builder::axes(int rank, int most) {
  Ints out = permutation(rank);
  out.resize(idx(between(1, std::min(rank, most))));
  return out;
}

std::int64_t Builder::spell(std::int64_t axis, int rank) { return chance(30) ? axis - rank : axis; }

ValueId Builder::input(const Ints& extents, DType dtype) {
  Known k;
  k.dtype = dtype;
  k.extents = extents;
  k.exact = true;
  if (k.elements() > kMostElements[large]) throw Reject();
  for (int set = 0; set < kInputSets; ++set) {
    Tensor t(dtype, Shape::unnamed(extents));
    if (dtype == DType::f32) {
      for (float& x : t.as<float>()) x = real(-1.5f, 1.5f);
    } else if (dtype == DType::u8) {
      for (std::uint8_t& x : t.as<std::uint8_t>()) x = static_cast<std::uint8_t>(below(256));
    } else {
      for (std::int64_t& x : t.as<std::int64_t>()) x = between(-9, 9);
    }
    k.samples[idx(set)] = std::make_shared<const Tensor>(t);
    k.samples[idx(set + kInputSets)] = k.samples[idx(set)];
    inputs[idx(set)].push_back(std::move(t));
  }
  Value v;
  v.name = text("x", graph.inputs.size());
  v.dtype = dtype;
  v.shape = Shape::unnamed(extents);
  const ValueId id = graph.add_value(std::move(v));
  graph.inputs.push_back(id);
  known_.push_back(std::move(k));
  return id;
}

ValueId Builder::constant(Tensor tensor) {
  Known k;
  k.dtype = tensor.dtype();
  k.extents.assign(tensor.shape().extents().begin(), tensor.shape().extents().end());
  k.constant = k.exact = true;
  const ValueId id = graph.add_constant(text("k", graph.value_count()), std::move(tensor));
  k.samples.fill(graph.value(id).constant);
  known_.push_back(std::move(k));
  return id;
}

ValueId Builder::constant(const Ints& extents, float lo, float hi) {
  Tensor t(DType::f32, Shape::unnamed(extents));
  for (float& x : t.as<float>()) x = real(lo, hi);
  return constant(std::move(t));
}

ValueId Builder::scalar(float value) {
  static constexpr int kRanks[] = {0, 0, 1};
  Tensor t(DType::f32, Shape::unnamed(Ints(idx(one_of(kRanks)), 1)));
  t.as<float>()[0] = value;
  return constant(std::move(t));
}

ValueId Builder::ints(const Ints& list) {
  Tensor t(DType::i64, Shape("a", {std::ssize(list)}));
  std::copy(list.begin(), list.end(), t.as<std::int64_t>().begin());
  return constant(std::move(t));
}

ValueId Builder::weights(const Ints& extents, std::int64_t fan_in) {
  const float most = std::sqrt(3.0f / static_cast<float>(fan_in));
  const auto of = [&](const Ints& e) { return constant(e, -most, most); };
  const std::int64_t kind = below(20);
  if (kind == 0) {  // transposed before use, as exporters do
    const Ints perm = permutation(static_cast<int>(extents.size()));
    Ints from(extents.size());
    for (std::size_t i = 0; i < perm.size(); ++i) from[idx(perm[i])] = extents[i];
    return add_exact("transpose", {of(from)}, attributes(std::pair("perm", perm)));
  }
  if (kind == 1) {  // computed from the input
    const ValueId x = pick(1, 5);
    const ValueId mean =
        add("reduce_mean", {x}, attributes(std::pair("keepdims", std::int64_t{0})));
    return add("mul", {of(extents), add("sigmoid", {mean})});
  }
  if (kind == 2) {  // read by two nodes
    for (ValueId v(0); v < graph.value_count(); ++v) {
      if (known(v).constant && is_float(v) && known(v).extents == extents) return v;
    }
  }
  return of(extents);
}

/// A computed value, recent ones preferred.
template <class F>
ValueId Builder::pick_where(int lo, int hi, F fits) {
  std::vector<ValueId> list;
  for (ValueId v(0); v < graph.value_count(); ++v) {
    const Known& k = known(v);
    if (!k.constant && k.rank() >= lo && k.rank() <= hi && fits(k)) list.push_back(v);
  }
  if (list.empty()) throw Reject();
  const auto count = std::ssize(list);
  const auto recent = std::min<std::int64_t>(count, 3);
  return list[idx(chance(65) ? count - 1 - below(recent) : below(count))];
}

ValueId Builder::pick(int lo, int hi) {
  return pick_where(lo, hi, [](const Known& k) { return k.dtype == DType::f32; });
}

ValueId Builder::pick_exact(int lo, int hi) {
  return pick_where(lo, hi, [](const Known& k) { return k.dtype == DType::f32 && k.exact; });
}

ValueId Builder::pick_any(int lo, int hi) {
  if (chance(75)) return pick(lo, hi);
  return pick_where(lo, hi, [](const Known&) { return true; });
}

ValueId Builder::pick_integers(int lo, int hi) {
  return pick_where(lo, hi,
                    [](const Known& k) { return k.dtype == DType::i32 || k.dtype == DType::i64; });
}

ValueId Builder::add(std::string_view op, const std::vector<ValueId>& in, const Attributes& attrs) {
  return append(op, in, 1, attrs, false)[0];
}

std::vector<ValueId> Builder::add_many(std::string_view op, const std::vector<ValueId>& in,
                                       int outputs, const Attributes& attrs) {
  return append(op, in, outputs, attrs, false);
}

ValueId Builder::add_exact(std::string_view op, const std::vector<ValueId>& in,
                           const Attributes& attrs) {
  return append(op, in, 1, attrs, true)[0];
}

std::vector<ValueId> Builder::add_many_exact(std::string_view op, const std::vector<ValueId>& in,
                                             int outputs, const Attributes& attrs) {
  return append(op, in, outputs, attrs, true);
}

std::vector<ValueId> Builder::append(std::string_view op, const std::vector<ValueId>& in,
                                     int outputs, const Attributes& attrs, bool keeps_exact) {
  Node node;
  node.op = find_op(op);
  if (node.op == nullptr) fail(ErrorCode::internal, "no operator '", op, "'");
  node.name = text(op, graph.node_count());
  node.attrs = attrs;
  node.inputs = in;
  node.outputs.assign(idx(outputs), kNoValue);
  bool exact = keeps_exact, constant = true;
  std::vector<bool> given;
  for (const ValueId v : in) {
    given.push_back(v != kNoValue && known(v).constant && graph.value(v).constant != nullptr);
    exact = exact && (v == kNoValue || known(v).exact);
    constant = constant && (v == kNoValue || known(v).constant);
  }
  std::vector<Known> results(idx(outputs));
  for (std::size_t s = 0; s < results[0].samples.size(); ++s) {
    // The noisy half only where there is noise.
    const bool copy = s >= kInputSets && exact;
    std::vector<const Tensor*> tensors;
    for (const ValueId v : in)
      tensors.push_back(v == kNoValue ? nullptr : known(v).samples[s].get());
    std::vector<Tensor> computed;
    if (!copy) computed = evaluate(node, tensors, given);
    for (std::size_t o = 0; o < results.size(); ++o) {
      Known& k = results[o];
      if (copy) {
        k.samples[s] = k.samples[s - kInputSets];
        continue;
      }
      const Shape& shape = computed[o].shape();
      if (shape.elements() < 1 || shape.elements() > kMostElements[large]) throw Reject();
      if (work_of(op, tensors, shape) > kMostWork[large]) throw Reject();
      k.dtype = computed[o].dtype();
      k.extents.assign(shape.extents().begin(), shape.extents().end());
      k.samples[s] = std::make_shared<const Tensor>(std::move(computed[o]));
    }
  }
  for (std::size_t o = 0; o < results.size(); ++o) {
    Known& k = results[o];
    k.constant = constant;
    expect_fit(k, exact);
    Value v;
    v.name = text(node.name, o == 0 ? "" : text(".", o));
    node.outputs[o] = graph.add_value(std::move(v));
    known_.push_back(std::move(k));
  }
  return graph.node(graph.add_node(std::move(node))).outputs;
}

void Builder::expect_fit(Known& k, bool exact) {
  k.exact = exact;
  for (std::size_t set = 0; set < kInputSets; ++set) {
    const Tensor& clean = *k.samples[set];
    if (k.dtype != DType::f32) {
      if (!exact) throw Reject();
      continue;
    }
    const double most = largest(clean.as<float>());
    if (!(most >= kSmallest && most <= kLargest)) throw Reject();
    if (exact) continue;
    Tensor noisy = *k.samples[set + kInputSets];
    const auto a = clean.as<float>();
    const auto b = noisy.as<float>();
    const auto amplitude = static_cast<float>(kNoise * most);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <= kMostNoise * most)) {
        throw Reject();
      }
      b[i] += real(-amplitude, amplitude);
    }
    k.samples[set + kInputSets] = std::make_shared<const Tensor>(std::move(noisy));
  }
}

bool Builder::attempt(void (*move)(Builder&)) {
  const Graph before = graph;
  const auto values = known_.size();
  try {
    move(*this);
    return true;
  } catch (const Reject&) {
    graph = before;
    known_.resize(values);
    for (auto& set : inputs) set.resize(graph.inputs.size());
    return false;
  }
}

}  // namespace stowage::random_graphs
