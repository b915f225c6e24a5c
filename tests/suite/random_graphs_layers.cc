// SPDX-License-Identifier: Apache-2.0
// Windows, products, normalisation, and blocks that networks are made of.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "tests/suite/random_graphs_builder.h"

namespace stowage::random_graphs {

namespace {

using std::pair;

std::int64_t product(const Ints& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{1}, std::multiplies<>());
}

/// An image, now and then a line or a volume.
ValueId pick_spatial(Builder& b) { return b.chance(80) ? b.pick(4, 4) : b.pick(3, 5); }

/// Kernel, strides, dilations and pads that fit to `x`; returns the kernel.
Ints draw_window(Builder& b, const Ints& x, Attributes& attrs, bool dilated) {
  const std::size_t axes = x.size() - 2;
  static constexpr std::int64_t kKernels[] = {1, 1, 2, 3, 3, 3, 3, 4, 5};
  static constexpr std::int64_t kStrides[] = {1, 1, 1, 2, 2, 3};
  const std::int64_t square = b.one_of(kKernels), stride = b.one_of(kStrides);
  const bool same_all = b.chance(75);
  const std::int64_t padding = b.below(4);  // none, half, any, auto
  Ints kernel, strides, dilations, pads(2 * axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t k = square, d = 1, s = stride;
    if (!same_all) k = b.one_of(kKernels);
    if (!same_all) s = b.one_of(kStrides);
    if (dilated && k > 1 && b.chance(20)) d = b.between(2, 3);
    if (padding == 1) pads[i] = pads[i + axes] = (k - 1) * d / 2;
    if (padding == 2) pads[i] = b.below(k + 1);
    if (padding == 2) pads[i + axes] = b.below(k + 1);
    const std::int64_t room = x[i + 2] + (padding == 3 ? 0 : pads[i] + pads[i + axes]);
    if ((k - 1) * d + 1 > room) d = 1;
    k = std::min(k, room);
    kernel.push_back(k);
    strides.push_back(s);
    dilations.push_back(d);
  }
  attrs.set("strides", strides);
  if (std::ranges::count(dilations, 1) != std::ssize(dilations)) attrs.set("dilations", dilations);
  if (padding == 3) {
    static constexpr const char* kAuto[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    attrs.set("auto_pad", std::string(b.one_of(kAuto)));
  } else if (padding != 0) {
    attrs.set("pads", pads);
  }
  return kernel;
}

ValueId with_bias(Builder& b, std::string_view op, ValueId x, ValueId w, std::int64_t channels,
                  const Attributes& attrs) {
  std::vector<ValueId> in = {x, w};
  if (b.chance(60)) in.push_back(b.constant({channels}, -0.5f, 0.5f));
  return b.add(op, in, attrs);
}

ValueId batch_norm(Builder& b, ValueId x) {
  const Ints c = {b.extents(x)[1]};
  const ValueId scale = b.constant(c, 0.5f, 1.5f), bias = b.constant(c, -0.5f, 0.5f),
                mean = b.constant(c, -0.5f, 0.5f), variance = b.constant(c, 0.5f, 2.0f);
  return b.add("batch_norm", {x, scale, bias, mean, variance});
}

/// A scale and a shift by constants, or one of them.
ValueId affine(Builder& b, ValueId x, const Ints& extents) {
  const bool scales = b.chance(80);
  ValueId y = x;
  if (scales) {
    const ValueId scale = b.constant(b.chance(85) ? extents : Ints{}, 0.5f, 1.5f);
    y = b.add(b.chance(80) ? "mul" : "div", {y, scale});
  }
  if (!scales || b.chance(80)) {
    const ValueId shift = b.constant(extents, -0.5f, 0.5f);
    y = b.chance(80) ? b.add("add", {y, shift}) : b.add("sub", {shift, y});
  }
  return y;
}

ValueId conv_block(Builder& b, ValueId x) {
  const Ints s = b.extents(x);
  const std::int64_t c = s[1];
  Attributes attrs;
  const Ints kernel = draw_window(b, s, attrs, true);
  std::int64_t group = 1, out = 1;
  switch (b.below(5)) {
    case 0: {
      static constexpr std::int64_t kMultipliers[] = {1, 1, 1, 2, 3};
      group = c;
      out = c * b.one_of(kMultipliers);
      break;
    }
    case 1:
      group = b.divisor(c);
      out = group * b.between(1, std::max<std::int64_t>(1, 33 / group));
      break;
    default:
      out = b.channels();
  }
  Ints w = {out, c / group};
  w.insert(w.end(), kernel.begin(), kernel.end());
  if (group != 1 || b.chance(10)) attrs.set("group", group);
  const std::int64_t fan_in = c / group * product(kernel);
  return with_bias(b, "conv", x, b.weights(w, fan_in), out, attrs);
}

void conv(Builder& b) {
  ValueId y = conv_block(b, pick_spatial(b));
  if (b.chance(25)) y = batch_norm(b, y);
  if (b.chance(50)) activated(b, y);
}

void conv_transpose(Builder& b) {
  const ValueId x = pick_spatial(b);
  const Ints s = b.extents(x);
  const std::size_t axes = s.size() - 2;
  const std::int64_t group = b.chance(70) ? 1 : b.divisor(s[1]);
  const std::int64_t out = group == 1 ? b.channels() : group * b.between(1, 3);
  Ints w = {s[1], out / group}, strides, pads(2 * axes), extra, dilations;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t k = b.between(1, 4), stride = b.between(1, 3);
    w.push_back(k);
    strides.push_back(stride);
    extra.push_back(b.chance(25) ? b.below(stride) : 0);
    dilations.push_back(b.chance(10) ? 2 : 1);
    const std::int64_t room = (s[i + 2] - 1) * stride + k;
    pads[i] = b.below(std::min<std::int64_t>(room, 3));
    pads[i + axes] = b.below(std::min<std::int64_t>(room - pads[i], 3));
  }
  Attributes attrs = attributes(pair("strides", strides), pair("dilations", dilations));
  if (group != 1) attrs.set("group", group);
  if (b.chance(15)) {
    attrs.set("auto_pad", std::string("SAME_UPPER"));
  } else {
    attrs.set("pads", pads);
    attrs.set("output_padding", extra);
  }
  const std::int64_t fan_in =
      s[1] / group * product(Ints(w.begin() + 2, w.end())) / product(strides);
  const ValueId y = with_bias(b, "conv_transpose", x,
                              b.weights(w, std::max<std::int64_t>(fan_in, 1)), out, attrs);
  if (b.chance(40)) activated(b, y);
}

void pool(Builder& b) {
  const ValueId x = pick_spatial(b);
  const bool max = b.chance(50);
  Attributes attrs;
  if (b.chance(20)) {
    attrs.set("global", std::int64_t{1});
  } else {
    const Ints kernel = draw_window(b, b.extents(x), attrs, true);
    attrs.set("kernel_shape", kernel);
    if (b.chance(30)) attrs.set("ceil_mode", std::int64_t{1});
    if (!max && b.chance(50)) attrs.set("count_include_pad", std::int64_t{1});
  }
  if (!max) {
    b.add("average_pool", {x}, attrs);
  } else if (b.known(x).exact && b.chance(30)) {
    b.add_many_exact("max_pool", {x}, 2, attrs);
  } else {
    b.add_exact("max_pool", {x}, attrs);
  }
}

void gemm(Builder& b) {
  ValueId x = b.pick(2, 4);
  if (b.rank(x) != 2) x = b.add_exact("flatten", {x});
  const bool trans_a = b.chance(20), trans_b = b.chance(50);
  const std::int64_t m = b.extents(x)[trans_a ? 1 : 0], k = b.extents(x)[trans_a ? 0 : 1];
  const std::int64_t n = b.channels();
  std::vector<ValueId> in = {x, b.weights(trans_b ? Ints{n, k} : Ints{k, n}, k)};
  const Ints forms[] = {{n}, {n}, {1, n}, {m, 1}, {m, n}, {}, {1}};
  if (b.chance(80)) in.push_back(b.constant(forms[b.below(7)], -0.5f, 0.5f));
  Attributes attrs =
      attributes(pair("transA", std::int64_t{trans_a}), pair("transB", std::int64_t{trans_b}));
  if (b.chance(20)) attrs.set("alpha", b.real(0.5f, 1.5f));
  if (b.chance(20)) attrs.set("beta", b.real(0.5f, 1.5f));
  ValueId y = b.add("gemm", in, attrs);
  if (b.chance(30)) y = b.chance(50) ? batch_norm(b, y) : affine(b, y, {n});
  if (b.chance(40)) activated(b, y);
}

void matmul(Builder& b) {
  const ValueId x = b.pick(2, 4);
  const Ints s = b.extents(x);
  const std::int64_t k = s.back(), n = b.channels();
  switch (s.size() > 2 ? b.below(4) : b.between(1, 4)) {
    case 0: {  // a matrix a batch
      Ints w(s.begin(), s.end() - 2);
      for (std::int64_t& e : w) e = b.chance(40) ? 1 : e;
      w.insert(w.end(), {k, n});
      b.add("matmul", {x, b.weights(w, k)});
      break;
    }
    case 1: {  // its own transpose
      Ints perm(s.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm.back(), perm[perm.size() - 2]);
      const ValueId t = b.add_exact("transpose", {x}, attributes(pair("perm", perm)));
      b.add("matmul", {x, t});
      break;
    }
    case 2:  // from the left
      b.add("matmul", {b.weights({n, s[s.size() - 2]}, s[s.size() - 2]), x});
      break;
    default: {
      ValueId y = b.add("matmul", {x, b.weights({k, n}, k)});
      if (b.chance(60)) y = b.add("add", {y, b.constant({n}, -0.5f, 0.5f)});
      if (b.chance(30)) y = affine(b, y, {n});
      if (b.chance(50)) activated(b, y);
    }
  }
}

/// An LSTM, a GRU or a simple RNN.
void recurrent(Builder& b) {
  const ValueId x = b.pick(3, 3);
  const std::int64_t in = b.extents(x)[2], hidden = b.between(1, 17);
  static constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  static constexpr const char* kOps[] = {"lstm", "gru", "rnn"};
  const std::string direction = b.one_of(kDirections), op = b.one_of(kOps);
  const std::int64_t d = direction == "bidirectional" ? 2 : 1;
  const std::int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  std::vector<ValueId> inputs = {x, b.weights({d, gates * hidden, in}, in),
                                 b.weights({d, gates * hidden, hidden}, hidden)};
  if (b.chance(70)) inputs.push_back(b.constant({d, 2 * gates * hidden}, -0.5f, 0.5f));
  Attributes attrs = attributes(pair("direction", direction), pair("hidden_size", hidden));
  if (op == "gru" && b.chance(50)) attrs.set("linear_before_reset", std::int64_t{1});
  const auto y = b.add_many(op, inputs, op == "lstm" ? 3 : 2, attrs);
  if (d == 1 && b.chance(60)) b.add_exact("squeeze", {y[0], b.ints({1})});
}

/// One normalisation as an operator.
void norm(Builder& b) {
  static constexpr std::int64_t kSizes[] = {1, 3, 4, 5};
  switch (b.below(4)) {
    case 0: {
      const ValueId x = b.pick(2, 5);
      batch_norm(b, x);
      break;
    }
    case 1: {
      const ValueId x = b.pick(3, 5);
      const Ints c = {b.extents(x)[1]};
      const ValueId scale = b.constant(c, 0.5f, 1.5f), bias = b.constant(c, -0.5f, 0.5f);
      b.add("instance_norm", {x, scale, bias}, attributes(pair("epsilon", 1e-3f)));
      break;
    }
    case 2: {
      const ValueId x = b.pick(2, 4);
      const std::int64_t axis = b.between(1, b.rank(x) - 1);
      const Ints last(b.extents(x).begin() + axis, b.extents(x).end());
      std::vector<ValueId> in = {x, b.constant(last, 0.5f, 1.5f)};
      if (b.chance(60)) in.push_back(b.constant(last, -0.5f, 0.5f));
      const ValueId y =
          b.add("layer_norm", in, attributes(pair("axis", axis), pair("epsilon", 1e-3f)));
      if (b.chance(30)) affine(b, y, last);
      break;
    }
    default: {
      const ValueId x = b.pick(3, 5);
      const std::int64_t size = b.one_of(kSizes);
      const float alpha = b.real(0.01f, 1.0f);
      b.add("lrn", {x},
            attributes(pair("size", size), pair("alpha", alpha), pair("beta", 0.75f),
                       pair("bias", 1.0f)));
    }
  }
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, as exporters spell it; perhaps as
/// x * g + (bias - mean * g) with g = scale / sqrt(variance + epsilon).
void norm_in_primitives(Builder& b) {
  const ValueId x = b.pick(2, 5);
  const int rank = b.rank(x);
  Ints axes = {rank - 1};
  if (b.chance(50) && rank > 2) {
    axes.clear();
    for (int i = 2; i < rank; ++i) axes.push_back(i);
  } else if (b.chance(30)) {
    axes = {1};
  }
  const auto mean = [&](ValueId v) {
    return b.add("reduce_mean", {v}, attributes(pair("axes", axes)));
  };
  ValueId y = x;
  const ValueId mean_of_x = mean(x);
  if (b.chance(80)) y = b.add("sub", {x, mean_of_x});
  const ValueId square = b.chance(50) ? b.add("mul", {y, y}) : b.add("pow", {y, b.scalar(2.0f)});
  const float epsilon = b.chance(50) ? 1e-5f : 1e-2f;
  const ValueId variance = b.add("add", {mean(square), b.scalar(epsilon)});
  const ValueId deviation =
      b.chance(80) ? b.add("sqrt", {variance}) : b.add("pow", {variance, b.scalar(0.5f)});
  Ints scale = {b.extents(x).back()};
  if (axes[0] == 2 || axes[0] == 1) {
    scale.assign(idx(rank - 1), 1);
    scale[0] = b.extents(x)[1];
  }
  if (b.chance(20)) {
    const ValueId inverse = b.add("reciprocal", {deviation});
    const ValueId g = b.add("mul", {inverse, b.constant(scale, 0.5f, 1.5f)});
    const ValueId shift =
        b.add("sub", {b.constant(scale, -0.5f, 0.5f), b.add("mul", {mean_of_x, g})});
    b.add("add", {b.add("mul", {x, g}), shift});
    return;
  }
  if (b.chance(20)) y = b.add("sub", {x, mean(x)});
  y = b.chance(70) ? b.add("div", {y, deviation})
                   : b.add("mul", {y, b.add("reciprocal", {deviation})});
  if (b.chance(80)) y = b.add("mul", {y, b.constant(scale, 0.5f, 1.5f)});
  if (b.chance(80)) b.add("add", {y, b.constant(scale, -0.5f, 0.5f)});
}

void squeeze_and_excite(Builder& b) {
  const ValueId x = b.pick_image();
  const std::int64_t n = b.extents(x)[0], c = b.extents(x)[1];
  const std::int64_t less = std::max<std::int64_t>(1, c / b.between(2, 4));
  static constexpr const char* kGates[] = {"sigmoid", "sigmoid", "hard_sigmoid"};
  ValueId g = b.chance(50) ? b.add("average_pool", {x}, attributes(pair("global", std::int64_t{1})))
                           : b.add("reduce_mean", {x}, attributes(pair("axes", Ints{2, 3})));
  if (b.chance(50)) {
    g = with_bias(b, "conv", g, b.weights({less, c, 1, 1}, c), less, {});
    g = b.add(b.chance(50) ? "relu" : "swish", {g});
    g = with_bias(b, "conv", g, b.weights({c, less, 1, 1}, less), c, {});
    g = b.add(b.one_of(kGates), {g});
  } else {
    g = b.add_exact("flatten", {g});
    g = with_bias(b, "gemm", g, b.weights({c, less}, c), less, {});
    g = b.add("relu", {g});
    g = with_bias(b, "gemm", g, b.weights({less, c}, less), c, {});
    g = b.add(b.one_of(kGates), {g});
    g = b.chance(50) ? b.add_exact("reshape", {g, b.ints({n, c, 1, 1})})
                     : b.add_exact("unsqueeze", {g, b.ints({2, 3})});
  }
  b.chance(50) ? b.add("mul", {x, g}) : b.add("mul", {g, x});
}

void residual(Builder& b) {
  const ValueId x = b.pick_image();
  const std::int64_t c = b.extents(x)[1], inside = b.channels();
  Attributes same;
  same.set("pads", Ints{1, 1, 1, 1});
  ValueId y = x;
  if (b.chance(60)) {  // bottleneck or inverted
    y = with_bias(b, "conv", y, b.weights({inside, c, 1, 1}, c), inside, {});
    y = activated(b, y);
    Attributes depthwise = same;
    depthwise.set("group", inside);
    if (b.chance(60)) {
      y = with_bias(b, "conv", y, b.weights({inside, 1, 3, 3}, 9), inside, depthwise);
      y = activated(b, y);
    }
    y = with_bias(b, "conv", y, b.weights({c, inside, 1, 1}, inside), c, {});
  } else {
    y = with_bias(b, "conv", y, b.weights({c, c, 3, 3}, 9 * c), c, same);
    if (b.chance(40)) y = batch_norm(b, y);
  }
  y = b.chance(50) ? b.add("add", {x, y}) : b.add("add", {y, x});
  if (b.chance(60)) activated(b, y);
}

void attention(Builder& b) {
  const ValueId x = b.pick(2, 4);
  const std::int64_t d = b.extents(x).back(), inside = b.between(1, 17);
  const ValueId q = b.add("matmul", {x, b.weights({d, inside}, d)});
  const ValueId k = b.add("matmul", {x, b.weights({d, inside}, d)});
  const ValueId v = b.add("matmul", {x, b.weights({d, d}, d)});
  Ints perm(idx(b.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm.back(), perm[perm.size() - 2]);
  ValueId s = b.add("matmul", {q, b.add_exact("transpose", {k}, attributes(pair("perm", perm)))});
  if (b.chance(70)) s = b.add("div", {s, b.scalar(std::sqrt(static_cast<float>(inside)))});
  s = b.add("softmax", {s}, attributes(pair("axis", std::int64_t{-1})));
  s = b.add("matmul", {s, v});
  if (b.chance(50)) b.add("add", {s, x});
}

/// Channels last for a while.
void channels_last(Builder& b) {
  const ValueId x = b.pick_image();
  ValueId y = b.add_exact("transpose", {x}, attributes(pair("perm", Ints{0, 2, 3, 1})));
  const std::int64_t c = b.extents(x)[1], n = b.channels();
  switch (b.below(5)) {
    case 0:
      y = b.add("add", {y, b.constant({c}, -1, 1)});
      break;
    case 1:
      y = b.add("softmax", {y}, attributes(pair("axis", std::int64_t{-1})));
      break;
    case 2:
      y = b.add("matmul", {y, b.weights({c, n}, c)});
      break;
    case 3:
      y = activated(b, y);
      break;
    default: {
      const ValueId scale = b.constant({c}, 0.5f, 1.5f);
      y = b.add("layer_norm", {y, scale}, attributes(pair("epsilon", 1e-3f)));
    }
  }
  if (b.chance(85)) b.add_exact("transpose", {y}, attributes(pair("perm", Ints{0, 3, 1, 2})));
}

/// A pad node before a convolution without pads: simplify may fold it.
void padded_conv(Builder& b) {
  const ValueId x = b.pick_image();
  const std::int64_t c = b.extents(x)[1], out = b.channels();
  Ints pads(8, 0);
  for (const int i : {2, 3, 6, 7}) pads[idx(i)] = b.below(3);
  if (b.chance(10)) pads[1] = 1;
  const ValueId y = b.add_exact("pad", {x, b.ints(pads)});
  const Ints padded = b.extents(y);
  const bool room = padded[2] >= 3 && padded[3] >= 3;
  const std::int64_t taps = room && b.chance(80) ? 3 : 1, channels = c + pads[1];
  with_bias(b, "conv", y, b.weights({out, channels, taps, taps}, channels * taps * taps), out, {});
}

constexpr Move kMoves[] = {
    {"conv", 22, conv},
    {"conv_transpose", 4, conv_transpose},
    {"pool", 8, pool},
    {"gemm", 5, gemm},
    {"matmul", 6, matmul},
    {"recurrent", 3, recurrent},
    {"norm", 5, norm},
    {"norm_in_primitives", 4, norm_in_primitives},
    {"squeeze_and_excite", 4, squeeze_and_excite},
    {"residual", 6, residual},
    {"attention", 3, attention},
    {"channels_last", 4, channels_last},
    {"padded_conv", 2, padded_conv},
};

}  // namespace

std::span<const Move> layer_moves() { return kMoves; }

}  // namespace stowage::random_graphs
