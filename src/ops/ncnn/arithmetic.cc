// SPDX-License-Identifier: Apache-2.0
// ncnn's elementwise arithmetic. Where two blobs differ in dims, ncnn appends dims of 1 to the
// smaller one on the inside, the opposite of numpy; a vector goes along the outermost dim it fits.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/refusals.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

/// `v` with as many dims as `other`.
ValueId raised(ImportNode& node, ValueId v, const Shape& other) {
  Ints dims = dims_of(node.shape(v));
  const Ints to = dims_of(other);
  if (dims.size() >= to.size()) return v;
  if (dims.size() == 1 && dims[0] != to[0]) {
    dims.insert(dims.begin(), to.size() - 1, 1);  // along w
  } else {
    dims.resize(to.size(), 1);
  }
  return as_blob(node, v, dims);
}

/// log(e^a + e^b), without overflow.
ValueId log_add_exp(ImportNode& node, ValueId a, ValueId b) {
  const ValueId distance = node.emit("abs", {node.emit("sub", {a, b})});
  return node.emit(
      "add", {node.emit("max", {a, b}), node.emit("softplus", {node.emit("neg", {distance})})});
}

struct Binary {
  std::string_view op;
  bool swapped = false;
  bool floors = false;
};

ValueId binary(ImportNode& node, std::int64_t kind, ValueId a, ValueId b) {
  constexpr std::int64_t kMod = 12, kRMod = 13, kLogAddExp = 14;
  static constexpr Binary kOps[] = {{"add"},
                                    {"sub"},
                                    {"mul"},
                                    {"div"},
                                    {"max"},
                                    {"min"},
                                    {"pow"},
                                    {"sub", true},
                                    {"div", true},
                                    {"pow", true},
                                    {"atan2"},
                                    {"atan2", true},
                                    {"mod"},
                                    {"mod", true},
                                    {},
                                    {"div", false, true},
                                    {"div", true, true},
                                    {"remainder"},
                                    {"remainder", true}};
  if (kind == kLogAddExp) return log_add_exp(node, a, b);
  static_assert(std::ssize(kOps) == kBinaryOps);
  const Binary& op = kOps[kind];
  if (op.swapped) std::swap(a, b);
  if (kind == kMod || kind == kRMod) return node.emit("mod", {a, b}, {{"fmod", std::int64_t{1}}});
  const ValueId y = node.emit(op.op, {a, b});
  return op.floors ? node.emit("floor", {y}) : y;
}

/// shift + scale * x
ValueId affine(ImportNode& node, ValueId x, float scale, float shift) {
  if (scale != 1) x = node.emit("mul", {x, node.constant(scale)});
  return shift == 0 ? x : node.emit("add", {x, node.constant(shift)});
}

}  // namespace

void binary_op(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const std::int64_t kind = p.integer(0, 0);
  if (p.flag(1)) {
    node.expect(1, 1);
    return node.out(binary(node, kind, node.in(0), node.constant(p.real(2, 0))));
  }
  node.expect(2, 2);
  const ValueId a = raised(node, node.in(0), node.shape(node.in(1)));
  const ValueId b = raised(node, node.in(1), node.shape(node.in(0)));
  node.out(binary(node, kind, a, b));
}

void eltwise(ImportNode& node) {
  node.expect(1, kAnyNumber);
  const NcnnParams p(node.attrs);
  constexpr std::string_view kOps[] = {"mul", "add", "max"};
  const std::int64_t kind = p.integer(0, 0);
  if (kind < 0 || kind > 2) fail(ErrorCode::bad_input, "its operation is ", kind);
  const Floats coefficients = kind == 1 ? p.reals(1) : Floats();
  if (!coefficients.empty() && std::ssize(coefficients) != node.input_count()) {
    fail(ErrorCode::bad_input, coefficients.size(), " coefficients for ", node.input_count(),
         " inputs");
  }
  ValueId sum = kNoValue;
  for (int i = 0; i < node.input_count(); ++i) {
    ValueId v = node.in(i);
    if (!same_extents(node.shape(v), node.shape(node.in(0)))) {
      fail(ErrorCode::bad_input, "its inputs have the shapes ",
           std::span<const std::int64_t>(dims_of(node.shape(node.in(0)))), " and ",
           std::span<const std::int64_t>(dims_of(node.shape(v))));
    }
    if (!coefficients.empty()) v = affine(node, v, coefficients[at(i)], 0);
    sum = i == 0 ? v : node.emit(kOps[kind], {sum, v});
  }
  node.out(sum);
}

void unary_op(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = node.in(0);
  const std::int64_t kind = p.integer(0, 0);
  const auto one = [&](std::string_view op, ValueId v) { return node.emit(op, {v}); };
  constexpr std::int64_t kSquare = 4, kRsqrt = 6, kLog10 = 17, kTrunc = 19;
  static constexpr std::string_view kOps[] = {
      "abs",  "neg",   "floor", "ceil",  "",     "sqrt",       "",      "exp",  "log",   "sin",
      "cos",  "tan",   "asin",  "acos",  "atan", "reciprocal", "tanh",  "",     "round", "",
      "sign", "expm1", "sinh",  "asinh", "cosh", "acosh",      "atanh", "log1p"};
  switch (kind) {
    case kSquare:
      return node.out(node.emit("mul", {x, x}));
    case kRsqrt:
      return node.out(one("reciprocal", one("sqrt", x)));
    case kLog10:
      return node.out(affine(node, one("log", x), static_cast<float>(1 / std::log(10.0)), 0));
    case kTrunc:
      return node.out(node.emit("mul", {one("sign", x), one("floor", one("abs", x))}));
    default:
      break;
  }
  static_assert(std::ssize(kOps) == kUnaryOps);
  node.out(one(kOps[kind], x));
}

/// The second input is the scale where the file says so.
void scale(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const bool given = p.integer(0, 0) == NcnnParams::kNone;
  node.expect(given ? 2 : 1, given ? 2 : 1);
  const Shape blob = node.shape(node.in(0));
  const int first = given ? 0 : 1;
  const ValueId s = given ? node.in(1) : node.weight(0);
  ValueId y = node.emit("mul", {node.in(0), along_outer(node, blob, s)});
  if (node.weight_count() > first) {
    y = node.emit("add", {y, along_outer(node, blob, node.weight(first))});
  }
  node.out(y);
}

/// Along the channels; a blob without them is one channel.
void bias(ImportNode& node) {
  node.expect(1, 1);
  const Shape blob = node.shape(node.in(0));
  const ValueId w = node.weight(0);
  const ValueId b = blob.rank() > 2 ? along_outer(node, blob, w)
                                    : node.constant(node.value(w).constant->as<float>()[0]);
  node.out(node.emit("add", {node.in(0), b}));
}

/// (shift + scale * x) ^ power
void power(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = affine(node, node.in(0), p.real(1, 1), p.real(2, 0));
  const float exponent = p.real(0, 1);
  node.out(exponent == 1 ? x : node.emit("pow", {x, node.constant(exponent)}));
}

/// base ^ (shift + scale * x); a base of -1 is e.
void exp(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const float base = p.real(0, -1);
  const float log_base = base == -1 ? 1 : static_cast<float>(std::log(static_cast<double>(base)));
  const ValueId x = affine(node, node.in(0), p.real(1, 1) * log_base, p.real(2, 0) * log_base);
  node.out(node.emit("exp", {x}));
}

/// log(shift + scale * x) to that base; a base of -1 is e.
void log(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const float base = p.real(0, -1);
  const float factor = base == -1 ? 1 : static_cast<float>(1 / std::log(static_cast<double>(base)));
  const ValueId x = affine(node, node.in(0), p.real(1, 1), p.real(2, 0));
  node.out(affine(node, node.emit("log", {x}), factor, 0));
}

}  // namespace stowage::ncnn
