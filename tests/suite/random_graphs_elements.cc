// SPDX-License-Identifier: Apache-2.0
// Functions and arithmetic of elements, reductions, comparisons.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/index.h"
#include "tests/suite/random_graphs_builder.h"

namespace stowage::random_graphs {

namespace {

using std::pair;

/// Operators of one input, with numbers of their own.
struct Function {
  const char* op;
  int numbers = 0;  ///< alpha, beta
  float lo = 0, hi = 0;
};

/// Continuous ones. What is undefined for some elements is taken back.
constexpr Function kFunctions[] = {{"relu"},
                                   {"neg"},
                                   {"abs"},
                                   {"leaky_relu"},
                                   {"sigmoid"},
                                   {"tanh"},
                                   {"exp"},
                                   {"log"},
                                   {"sqrt"},
                                   {"reciprocal"},
                                   {"erf"},
                                   {"softplus"},
                                   {"softsign"},
                                   {"celu"},
                                   {"hard_sigmoid"},
                                   {"hard_swish"},
                                   {"mish"},
                                   {"swish"},
                                   {"sin"},
                                   {"cos"},
                                   {"atan"},
                                   {"asinh"},
                                   {"sinh"},
                                   {"cosh"},
                                   {"asin"},
                                   {"acos"},
                                   {"atanh"},
                                   {"acosh"},
                                   {"tan"},
                                   {"gelu"},
                                   {"selu"},
                                   {"elu"},
                                   {"leaky_relu", 1, -0.5f, 0.5f},
                                   {"elu", 1, 0.3f, 1.5f},
                                   {"swish", 1, 0.5f, 2.0f},
                                   {"hard_sigmoid", 2, 0.1f, 0.6f},
                                   {"selu", 2, 0.8f, 1.5f},
                                   {"celu", 1, 0.5f, 1.5f}};

/// What a network would put behind a layer.
constexpr const char* kActivations[] = {
    "relu", "relu",       "relu",     "leaky_relu", "sigmoid", "tanh", "swish",      "hard_sigmoid",
    "gelu", "hard_swish", "softplus", "elu",        "mish",    "relu", "hard_swish", "swish"};

/// Functions with steps, for exact values.
constexpr const char* kSteps[] = {"floor", "ceil", "round", "sign"};

void function(Builder& b) {
  if (b.chance(8)) {
    const ValueId x = b.pick_exact(0, 5);
    if (b.chance(30)) {
      b.add_exact("thresholded_relu", {x}, attributes(pair("alpha", 0.25f)));
    } else {
      b.add_exact(b.one_of(kSteps), {x});
    }
    return;
  }
  const ValueId x = b.pick(0, 5);
  const Function f = b.one_of(kFunctions);
  Attributes attrs;
  if (f.numbers > 0) attrs.set("alpha", b.real(f.lo, f.hi));
  if (f.numbers > 1) attrs.set("beta", b.real(f.lo, f.hi));
  if (std::string(f.op) == "gelu" && b.chance(50)) attrs.set("approximate", std::string("tanh"));
  b.add(f.op, {x}, attrs);
}

ValueId clip(Builder& b, ValueId x) {
  const float lo = b.real(-1.0f, 0.2f), hi = b.real(0.3f, 6.0f);
  const bool low = b.chance(80);
  const bool high = !low || b.chance(80);
  if (b.chance(50)) {
    Attributes attrs;
    if (low) attrs.set("min", lo);
    if (high) attrs.set("max", hi);
    return b.add("clip", {x}, attrs);
  }
  std::vector<ValueId> in = {x, kNoValue};
  if (low) in[1] = b.scalar(lo);
  if (high) in.push_back(b.scalar(hi));
  return b.add("clip", in);
}

ValueId prelu(Builder& b, ValueId x) {
  const Ints& s = b.extents(x);
  Ints slope = {1};
  if (s.size() >= 2 && b.chance(70)) {
    slope.assign(s.size() - 1, 1);
    slope[0] = s[1];
  } else if (b.chance(30)) {
    slope = s;
  } else if (!s.empty() && b.chance(30)) {
    slope = {s.back()};
  }
  return b.add("prelu", {x, b.constant(slope, -0.3f, 0.6f)});
}

void clip_move(Builder& b) { clip(b, b.pick(0, 5)); }

/// Several bounds, one after the other.
void clips(Builder& b) {
  ValueId x = b.pick(0, 5);
  const std::int64_t count = b.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const ValueId bound = b.scalar(b.real(-1.0f, 1.5f));
    switch (b.below(4)) {
      case 0:
        x = b.add("relu", {x});
        break;
      case 1:
        x = clip(b, x);
        break;
      default: {
        const char* op = b.chance(50) ? "min" : "max";
        x = b.chance(50) ? b.add(op, {x, bound}) : b.add(op, {bound, x});
      }
    }
  }
}

void prelu_move(Builder& b) { prelu(b, b.pick(1, 5)); }

/// An extent that a second operand may have so that it stretches to `x`.
Ints broadcast_form(Builder& b, const Ints& x) {
  const auto rank = std::ssize(x);
  if (rank == 0) return {};
  switch (b.below(7)) {
    case 0:
      return {};
    case 1:
      return {1};
    case 2:
      return x;
    case 3: {  // channels
      if (rank < 2) return x;
      Ints s(idx(rank - 1), 1);
      s[0] = x[1];
      if (b.chance(40)) s.insert(s.begin(), 1);
      return s;
    }
    case 4:  // the end
      return Ints(x.end() - b.between(1, rank), x.end());
    default: {  // any axes
      Ints s = x;
      for (std::int64_t& e : s) e = b.chance(50) ? 1 : e;
      return s;
    }
  }
}

constexpr const char* kBinary[] = {"add", "add", "add", "sub", "mul", "mul", "div", "min", "max"};

/// With a constant that broadcasts, on either side.
void binary_constant(Builder& b) {
  const ValueId x = b.pick(0, 5);
  const std::string op = b.one_of(kBinary);
  const bool right = b.chance(70);
  const bool away_from_zero = op == "div" && right;
  const Ints form = broadcast_form(b, b.extents(x));
  const ValueId k = b.constant(form, away_from_zero ? 0.4f : -1.5f, 1.5f);
  right ? b.add(op, {x, k}) : b.add(op, {k, x});
}

/// Two computed values; the second is of the same shape, or one that broadcasts is made of it.
void binary_computed(Builder& b) {
  const ValueId x = b.pick(0, 5);
  const Ints s = b.extents(x);
  const std::string op = b.one_of(kBinary);
  ValueId y = kNoValue;
  if (b.chance(70)) {
    y = b.pick_other(x, [&](const Builder::Known& k) {
      const auto shift = std::ssize(s) - std::ssize(k.extents);
      if (shift < 0) return false;
      for (std::size_t i = 0; i < k.extents.size(); ++i) {
        if (k.extents[i] != 1 && k.extents[i] != s[i + idx(shift)]) return false;
      }
      return true;
    });
  }
  if (y == kNoValue && !s.empty() && b.chance(60)) {
    const Ints axes = b.axes(static_cast<int>(s.size()), 3);
    y = b.add(b.chance(50) ? "reduce_mean" : "reduce_max", {x}, attributes(pair("axes", axes)));
  }
  if (y == kNoValue) y = b.chance(50) ? x : b.add("tanh", {x});
  if (op == "div") y = b.add("add", {b.add("abs", {y}), b.scalar(0.5f)});
  b.chance(60) ? b.add(op, {x, y}) : b.add(op, {y, x});
}

/// Three operands or more.
void variadic(Builder& b) {
  static constexpr const char* kOps[] = {"sum", "mean", "min", "max"};
  const ValueId x = b.pick(0, 5);
  const Ints s = b.extents(x);
  std::vector<ValueId> in = {x};
  const std::int64_t more = b.below(3);
  for (std::int64_t i = 0; i < more; ++i) {
    const ValueId y = b.pick_other(x, [&](const Builder::Known& k) { return k.extents == s; });
    if (y != kNoValue && b.chance(60)) {
      in.push_back(y);
    } else {
      const Ints form = broadcast_form(b, s);
      in.push_back(b.constant(form, -1.0f, 1.0f));
    }
  }
  b.add(b.one_of(kOps), in);
}

void power(Builder& b) {
  static constexpr float kExponents[] = {1, 2, 2, 3, 0.5f, -1, -0.5f};
  const ValueId x = b.pick(0, 5);
  const float e = b.one_of(kExponents);
  const bool positive = e != 1 && e != 2 && e != 3;
  const ValueId base = positive ? b.add("add", {b.add("abs", {x}), b.scalar(0.3f)}) : x;
  b.add("pow", {base, b.scalar(e)});
}

void reduce(Builder& b) {
  static constexpr const char* kOps[] = {
      "reduce_sum", "reduce_mean", "reduce_mean",       "reduce_l1",   "reduce_l2",
      "reduce_max", "reduce_min",  "reduce_sum_square", "reduce_prod", "reduce_log_sum_exp"};
  const ValueId x = b.pick(1, 5);
  Attributes attrs;
  if (b.chance(40)) attrs.set("keepdims", std::int64_t{0});
  const std::string op = b.one_of(kOps);
  std::vector<ValueId> in = {x};
  if (b.chance(90)) {
    Ints axes = b.axes(b.rank(x), 3);
    for (std::int64_t& a : axes) a = b.spell(a, b.rank(x));
    if (b.chance(50)) {
      attrs.set("axes", axes);
    } else {
      in.push_back(b.ints(axes));
    }
  }
  if (op == "reduce_max" || op == "reduce_min") {
    b.add_exact(op, in, attrs);
  } else {
    b.add(op, in, attrs);
  }
}

void arg(Builder& b) {
  const ValueId x = b.pick_exact(1, 5);
  const std::int64_t axis = b.spell(b.below(b.rank(x)), b.rank(x));
  Attributes attrs = attributes(pair("axis", axis));
  if (b.chance(50)) attrs.set("keepdims", std::int64_t{0});
  if (b.chance(20)) attrs.set("select_last_index", std::int64_t{1});
  const ValueId y = b.add_exact(b.chance(50) ? "arg_max" : "arg_min", {x}, attrs);
  if (b.chance(40)) b.add_exact("cast", {y}, attributes(pair("to", std::string("f32"))));
}

void softmax(Builder& b) {
  if (b.chance(10)) {
    const ValueId x = b.pick_exact(1, 5);
    b.add_exact("hardmax", {x}, attributes(pair("axis", std::int64_t{-1})));
    return;
  }
  const ValueId x = b.pick(1, 5);
  Attributes attrs = attributes(pair("axis", b.spell(b.below(b.rank(x)), b.rank(x))));
  if (b.chance(15)) attrs.set("flatten", std::int64_t{1});
  b.add(b.chance(75) ? "softmax" : "log_softmax", {x}, attrs);
}

void cum_sum(Builder& b) {
  const ValueId x = b.pick(1, 4);
  const std::int64_t axis = b.below(b.rank(x));
  Attributes attrs;
  if (b.chance(30)) attrs.set("exclusive", std::int64_t{1});
  if (b.chance(30)) attrs.set("reverse", std::int64_t{1});
  b.add("cum_sum", {x, b.ints({axis})}, attrs);
}

/// Chosen by a mask that an exact value gives.
void select(Builder& b) {
  static constexpr const char* kCompare[] = {"less", "greater", "less_or_equal", "greater_or_equal",
                                             "equal"};
  static constexpr const char* kLogic[] = {"and", "or", "xor"};
  const ValueId e = b.pick_exact(0, 5);
  const auto threshold = [&] {
    const Ints form = broadcast_form(b, b.extents(e));
    return b.constant(form, -0.8f, 0.8f);
  };
  ValueId mask = b.add_exact(b.one_of(kCompare), {e, threshold()});
  if (b.chance(20)) mask = b.add_exact("not", {mask});
  if (b.chance(20)) {
    const ValueId other = b.add_exact("less", {e, threshold()});
    mask = b.add_exact(b.one_of(kLogic), {mask, other});
  }
  const Ints s = b.extents(mask);
  const ValueId x = b.pick_other(kNoValue, [&](const Builder::Known& k) { return k.extents == s; });
  if (x == kNoValue || b.chance(10)) {
    b.add_exact("cast", {mask}, attributes(pair("to", std::string("f32"))));
    return;
  }
  const Ints form = broadcast_form(b, s);
  const ValueId y = b.constant(form, -1.0f, 1.0f);
  b.chance(50) ? b.add_exact("where", {mask, x, y}) : b.add_exact("where", {mask, y, x});
}

/// Exact values in another dtype: they are rounded, and what follows moves narrower or wider bytes.
void cast(Builder& b) {
  static constexpr const char* kTypes[] = {"i32", "i64", "i8", "i16", "u8", "f16", "f64", "bool"};
  ValueId x = b.pick_exact(0, 5);
  x = b.add_exact("cast", {x}, attributes(pair("to", std::string(b.one_of(kTypes)))));
  if (b.chance(50)) b.add_exact("cast", {x}, attributes(pair("to", std::string("f32"))));
}

/// Back to f32, whatever it is.
void cast_back(Builder& b) {
  const ValueId x = b.pick_any(0, 5);
  b.add_exact("cast", {x}, attributes(pair("to", std::string("f32"))));
}

void integers(Builder& b) {
  static constexpr const char* kOps[] = {"add", "sub", "mul", "min", "max", "sum"};
  const ValueId x = b.pick_integers(0, 5);
  ValueId y = b.pick_other(x, [&](const Builder::Known& k) { return k.extents == b.extents(x); });
  if (y == kNoValue) y = x;
  b.add_exact(b.one_of(kOps), {x, y});
}

/// Activations as exporters spell them without an operator.
void activation_in_primitives(Builder& b) {
  const ValueId x = b.pick(1, 5);
  switch (b.below(4)) {
    case 0: {  // hard_swish
      const ValueId six = b.add("add", {x, b.scalar(3.0f)});
      const ValueId t = b.add("clip", {six}, attributes(pair("min", 0.0f), pair("max", 6.0f)));
      const ValueId y = b.add("mul", {x, t});
      b.chance(50) ? b.add("div", {y, b.scalar(6.0f)}) : b.add("mul", {y, b.scalar(1 / 6.0f)});
      break;
    }
    case 1: {  // silu
      const ValueId s = b.add("sigmoid", {x});
      b.chance(50) ? b.add("mul", {x, s}) : b.add("mul", {s, x});
      break;
    }
    case 2: {  // gelu
      const ValueId e = b.add("erf", {b.add("div", {x, b.scalar(1.41421356f)})});
      const ValueId y = b.add("mul", {x, b.add("add", {e, b.scalar(1.0f)})});
      b.add("mul", {y, b.scalar(0.5f)});
      break;
    }
    default: {  // mish
      const ValueId t = b.add("tanh", {b.add("softplus", {x})});
      b.add("mul", {x, t});
    }
  }
}

constexpr Move kMoves[] = {
    {"function", 9, function},
    {"clip", 3, clip_move},
    {"clips", 2, clips},
    {"prelu", 4, prelu_move},
    {"binary_constant", 8, binary_constant},
    {"binary_computed", 9, binary_computed},
    {"variadic", 3, variadic},
    {"power", 2, power},
    {"reduce", 7, reduce},
    {"arg", 2, arg},
    {"softmax", 4, softmax},
    {"cum_sum", 1, cum_sum},
    {"select", 3, select},
    {"cast", 4, cast},
    {"cast_back", 2, cast_back},
    {"integers", 1, integers},
    {"activation_in_primitives", 2, activation_in_primitives},
};

}  // namespace

ValueId activated(Builder& b, ValueId x) {
  switch (b.below(8)) {
    case 0:
      return x;
    case 1:
      return prelu(b, x);
    case 2:
      return clip(b, x);
    default:
      return b.add(b.one_of(kActivations), {x});
  }
}

std::span<const Move> element_moves() { return kMoves; }

}  // namespace stowage::random_graphs
