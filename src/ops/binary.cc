// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two or more operands with numpy's broadcasting.
#include <cmath>

#include "kernels/elementwise/map.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/scale_shift/scale_shift.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// Integers wrap around, as in two's complement; floats follow IEEE.
template <class T>
using Wrapping = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int, T>>;

struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

struct Sub {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};

struct Mul {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

struct Div {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail(ErrorCode::bad_input, "an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Sub::of(T(0), a);  // the smallest integer has no negative
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

struct Min {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
    }
    return a < b ? a : b;
  }
};

struct Max {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
    }
    return a > b ? a : b;
  }
};

/// The sign of the divisor, as in Python.
struct Mod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail(ErrorCode::bad_input, "an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return T(0);
        const T r = static_cast<T>(a % b);
        return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
      } else {
        return static_cast<T>(a % b);
      }
    } else {
      const T r = std::fmod(a, b);
      return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
    }
  }
};

/// The sign of the dividend, as in C.
struct FMod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail(ErrorCode::bad_input, "an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return T(0);
      }
      return static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};

/// The angle of the point (b, a), as in C.
struct Atan2 {
  template <class T>
  static T of(T a, T b) {
    return std::atan2(a, b);
  }
};

/// What is left behind the nearest multiple of b, the even one of two: IEEE's remainder.
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    return std::remainder(a, b);
  }
};

/// x < 0 ? slope * x : x
struct Leak {
  template <class T>
  static T of(T x, T slope) {
    return x < 0 ? Mul::of(slope, x) : x;
  }
};

template <class F, class T>
void combine(const ReferenceArgs& args, std::size_t left, std::size_t right) {
  const Shape& shape = args.out[0].mapping.shape();
  const bool again = left == args.in.size();  // the result so far
  const T* a = again ? args.output<T>(0) : args.input<T>(left);
  const T* b = args.input<T>(right);
  T* y = args.output<T>(0);
  const Shape& left_shape = again ? shape : args.in[left].mapping.shape();
  Walk<2> walk(shape.extents(), {broadcast_strides(left_shape, shape),
                                 broadcast_strides(args.in[right].mapping.shape(), shape)});
  for (std::int64_t i = 0; i < shape.elements(); ++i, walk.next()) {
    using C = Compute<T>;
    y[i] = static_cast<T>(
        F::template of<C>(static_cast<C>(a[walk.offset(0)]), static_cast<C>(b[walk.offset(1)])));
  }
}

template <class F>
void reference(const ReferenceArgs& args) {
  for_number_dtype(args.out[0].dtype, [&]<class T>() { combine<F, T>(args, 0, 1); });
}

template <class F>
void float_reference(const ReferenceArgs& args) {
  for_float_dtype(args.out[0].dtype, [&]<class T>() { combine<F, T>(args, 0, 1); });
}

/// The operands one after the other; the result so far stands in the output.
template <class F>
void variadic_reference(const ReferenceArgs& args) {
  for_number_dtype(args.out[0].dtype, [&]<class T>() {
    if (args.in.size() == 1) {
      std::copy_n(args.input<T>(0), args.out[0].mapping.shape().elements(), args.output<T>(0));
      return;
    }
    combine<F, T>(args, 0, 1);
    for (std::size_t i = 2; i < args.in.size(); ++i) combine<F, T>(args, args.in.size(), i);
  });
}

void mean_reference(const ReferenceArgs& args) {
  variadic_reference<Add>(args);
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    T* y = args.output<T>(0);
    const auto count = static_cast<Compute<T>>(args.in.size());
    for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) {
      y[i] = static_cast<T>(static_cast<Compute<T>>(y[i]) / count);
    }
  });
}

void mod_reference(const ReferenceArgs& args) {
  if (args.node.attrs().integer("fmod", 0) != 0) {
    reference<FMod>(args);
  } else {
    reference<Mod>(args);
  }
}

/// Integer powers wrap like products; a negative exponent truncates towards zero.
template <class B>
B integer_power(B base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == B(1)) return base;
    if (std::is_signed_v<B> && base == static_cast<B>(-1)) return exponent % 2 == 0 ? B(1) : base;
    return B(0);
  }
  B out(1);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) out = Mul::of(out, base);
    base = Mul::of(base, base);
  }
  return out;
}

/// The exponent has a dtype of its own; the result has that of the base.
void pow_reference(const ReferenceArgs& args) {
  const Shape& shape = args.out[0].mapping.shape();
  const bool integer = !is_float(args.in[1].dtype);
  // Among integers in 64 bits, else in double.
  std::vector<std::int64_t> powers(integer ? at(args.in[1].mapping.shape().elements()) : 0);
  std::vector<double> exponents(at(args.in[1].mapping.shape().elements()));
  for_number_dtype(args.in[1].dtype, [&]<class B>() {
    for (std::size_t i = 0; i < exponents.size(); ++i) {
      const auto e = static_cast<Compute<B>>(args.input<B>(1)[i]);
      exponents[i] = static_cast<double>(e);
      if constexpr (std::is_integral_v<B>) powers[i] = static_cast<std::int64_t>(e);
    }
  });
  for_number_dtype(args.in[0].dtype, [&]<class A>() {
    const A* a = args.input<A>(0);
    A* y = args.output<A>(0);
    Walk<2> walk(shape.extents(), {broadcast_strides(args.in[0].mapping.shape(), shape),
                                   broadcast_strides(args.in[1].mapping.shape(), shape)});
    for (std::int64_t i = 0; i < shape.elements(); ++i, walk.next()) {
      const A base = a[walk.offset(0)];
      const auto k = at(walk.offset(1));
      if constexpr (std::is_integral_v<A>) {
        if (integer) {
          y[i] = integer_power(base, powers[k]);
          continue;
        }
      }
      y[i] = element_cast<A>(
          std::pow(static_cast<double>(static_cast<Compute<A>>(base)), exponents[k]));
    }
  });
}

void infer_variadic(const InferRef& node) {
  node.expect_inputs(1, 1 << 20);
  Ints shape = extents_of(node.shape(0));
  const DType dtype = node.dtype(0);
  if (dtype == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  for (int i = 1; i < node.input_count(); ++i) {
    if (node.dtype(i) != dtype) {
      fail(ErrorCode::bad_input, "input ", i, " is ", dtype_name(node.dtype(i)), ", input 0 is ",
           dtype_name(dtype));
    }
    shape = broadcast(shape, node.shape(i).extents());
  }
  node.set_output(0, dtype, shape);
}

void infer_mean(const InferRef& node) {
  infer_variadic(node);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
}

void infer_binary(const InferRef& node) {
  node.expect_inputs(2, 2);
  infer_variadic(node);
}

void infer_floats(const InferRef& node) {
  node.expect_inputs(2, 2);
  infer_mean(node);
}

void infer_pow(const InferRef& node) {
  node.expect_inputs(2, 2);
  for (const int i : {0, 1}) {
    if (node.dtype(i) == DType::boolean) fail(ErrorCode::unsupported, "input ", i, " is bool");
  }
  node.set_output(0, node.dtype(0), broadcast(node.shape(0).extents(), node.shape(1).extents()));
}

/// The slope stretches to x, never the other way.
void infer_prelu(const InferRef& node) {
  node.expect_inputs(2, 2);
  const Shape& x = node.shape(0);
  const Shape& slope = node.shape(1);
  if (node.dtype(1) != node.dtype(0)) fail(ErrorCode::bad_input, "slope and x differ in dtype");
  if (node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  const Ints out = broadcast(x.extents(), slope.extents());
  if (!std::ranges::equal(out, x.extents())) {
    fail(ErrorCode::bad_input, "slope ", slope.extents(), " does not broadcast to x ", x.extents());
  }
  node.set_output(0, node.dtype(0), x.extents());
}

/// The second operand starts at `axis` of the first, as broadcasting did before opset 7.
void start_at(ImportNode& node, int axis) {
  const ValueId x = node.in(0), b = node.in(1);
  Ints extents = extents_of(node.shape(b));
  const int trailing = node.shape(x).rank() - axis - static_cast<int>(extents.size());
  if (trailing < 0) fail(ErrorCode::bad_input, "input 1 does not fit at axis ", axis);
  extents.insert(extents.end(), at(trailing), 1);
  node.set_inputs({x, node.reshape(b, extents)});
}

/// Before opset 7 a slope of one axis meant the channels; it still does when that is the only way
/// to read it.
void import_prelu(ImportNode& node) {
  node.expect(2, 2);
  const Shape &x = node.shape(node.in(0)), &slope = node.shape(node.in(1));
  if (slope.rank() == 1 && x.rank() > 2 && slope[0] != 1 && slope[0] == x[1] &&
      (node.version < 7 || slope[0] != x[x.rank() - 1])) {
    start_at(node, 1);
  }
}

/// Before opset 7 broadcasting had to be asked for, and `axis` is meaningless without.
void import_binary(ImportNode& node) {
  const bool starts = node.attrs.integer("broadcast", 0) != 0 && node.attrs.has("axis");
  node.expect(2, 2);
  if (starts) {
    start_at(node, normal_axis(node.attrs.integer("axis", 0), node.shape(node.in(0)).rank()));
  }
  node.attrs.erase("broadcast");
  node.attrs.erase("axis");
}

void import_add_n(ImportNode& node) {
  node.expect(1, kAnyNumber);
  node.out(node.emit("sum", node.all_inputs()));
}

void import_square(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.emit("mul", {node.in(0), node.in(0)}));
}

void import_squared_difference(ImportNode& node) {
  node.expect(2, 2);
  const ValueId d = node.emit("sub", {node.in(0), node.in(1)});
  node.out(node.emit("mul", {d, d}));
}

/// The remainder has the sign of the divisor: for integers our mod, for floats x - floor(x/y) y.
void import_floor_mod(ImportNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), y = node.in(1);
  if (!is_float(node.value(x).dtype)) return node.out(node.emit("mod", {x, y}));
  const ValueId whole = node.emit("floor", {node.emit("div", {x, y})});
  node.out(node.emit("sub", {x, node.emit("mul", {whole, y})}));
}

void import_floor_div(ImportNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), y = node.in(1);
  if (is_float(node.value(x).dtype)) {
    return node.out(node.emit("floor", {node.emit("div", {x, y})}));
  }
  // What is left after the remainder of the divisor's sign divides without rest.
  const ValueId rest = node.emit("mod", {x, y});
  node.out(node.emit("div", {node.emit("sub", {x, rest}), y}));
}

/// TFLite's slope broadcasts to x; on images n h w c it is one of c, or of h w c.
void import_slopes(ImportNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), slope = node.in(1);
  const int rank = node.shape(slope).rank();
  if (node.shape(x).rank() != 4 || (rank != 1 && rank != 3)) {
    return node.out(node.emit("prelu", {x, slope}));
  }
  const ValueId second = rank == 1 ? node.reshape(slope, {node.shape(slope)[0], 1, 1})
                                   : node.emit("transpose", {slope}, {{"perm", Ints{2, 0, 1}}});
  node.out_image(node.emit("prelu", {node.channels_second(x), second}));
}

std::optional<Post> prelu_post(const NodeRef&, int x) {
  if (x != 0) return std::nullopt;
  return Post{
      .kind = Post::Kind::activation, .input = 1, .activation = {Activation::Kind::prelu, 0, 0}};
}

/// One constant element, as a factor.
std::optional<Post> factor_post(const NodeRef& node, int input, Post::Kind kind) {
  const Tensor* t = node.constant(input);
  if (t == nullptr || t->dtype() != DType::f32 || t->shape().elements() != 1) return std::nullopt;
  return Post{.kind = kind, .factor = t->as<float>()[0]};
}

template <Post::Kind Kind>
std::optional<Post> pair_post(const NodeRef& node, int x) {
  if (node.input_count() != 2) return std::nullopt;
  if (Kind == Post::Kind::multiply) {
    if (auto scale = factor_post(node, 1 - x, Post::Kind::scale)) return scale;
  }
  return Post{.kind = Kind, .input = 1 - x};
}

std::optional<Post> div_post(const NodeRef& node, int x) {
  return x == 0 ? factor_post(node, 1, Post::Kind::divide) : std::nullopt;
}

/// The constant that input `i` meets, along these axes of it; nothing where it is stretched.
std::optional<std::vector<float>> operand_along(const NodeRef& node, int i, AxisRange axes) {
  if (node.constant(i) != nullptr || !same_extents(node.shape(i), node.output().shape)) {
    return std::nullopt;
  }
  return constant_along(node.constant(1 - i), node.shape(i), axes);
}

/// x + k and k + x
std::optional<ScaleShift> add_scale_shift(const NodeRef& node, int i, AxisRange axes) {
  auto k = operand_along(node, i, axes);
  if (!k) return std::nullopt;
  return ScaleShift{std::vector<float>(k->size(), 1.0f), std::move(*k)};
}

/// x - k and k - x
std::optional<ScaleShift> sub_scale_shift(const NodeRef& node, int i, AxisRange axes) {
  auto k = operand_along(node, i, axes);
  if (!k) return std::nullopt;
  if (i == 1) return ScaleShift{std::vector<float>(k->size(), -1.0f), std::move(*k)};
  for (float& v : *k) v = -v;
  return ScaleShift{std::vector<float>(k->size(), 1.0f), std::move(*k)};
}

/// x * k and k * x
std::optional<ScaleShift> mul_scale_shift(const NodeRef& node, int i, AxisRange axes) {
  auto k = operand_along(node, i, axes);
  if (!k) return std::nullopt;
  std::vector<float> zero(k->size(), 0.0f);
  return ScaleShift{std::move(*k), std::move(zero)};
}

/// x / k, unless 1 / k is too large for a float: what is zero would become NaN.
std::optional<ScaleShift> div_scale_shift(const NodeRef& node, int i, AxisRange axes) {
  auto k = i == 0 ? operand_along(node, i, axes) : std::nullopt;
  if (!k) return std::nullopt;
  for (float& v : *k) {
    v = 1.0f / v;
    if (!std::isfinite(v)) return std::nullopt;
  }
  std::vector<float> zero(k->size(), 0.0f);
  return ScaleShift{std::move(*k), std::move(zero)};
}

using Offers = void (*)(const OfferRequest&, std::vector<Offer>&);

template <Fn F>
void fast(const OfferRequest& request, std::vector<Offer>& out) {
  offer_elementwise(request, out, {F, 0, 0});
}

template <Fn F>
void fast_chain(const OfferRequest& request, std::vector<Offer>& out) {
  offer_chain(request, out, F, 1.0f);
}

void fast_mean(const OfferRequest& request, std::vector<Offer>& out) {
  offer_chain(request, out, Fn::add, 1.0f / static_cast<float>(request.node.input_count()));
}

/// Powers that are something simpler.
void fast_pow(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Tensor* e = node.constant(1);
  if (e == nullptr || e->shape().elements() != 1 ||
      !same_extents(node.shape(0), node.output().shape)) {
    return;
  }
  double exponent = 0;
  for_number_dtype(e->dtype(), [&]<class T>() {
    exponent = static_cast<double>(static_cast<Compute<T>>(e->as<T>()[0]));
  });

  struct Line {
    double exponent;
    Fn fn;
  };

  for (const Line& line : {Line{2, Fn::square}, Line{0.5, Fn::sqrt}, Line{-1, Fn::reciprocal}}) {
    if (line.exponent == exponent) offer_elementwise(request, out, {line.fn, 0, 0}, 1);
  }
  if (exponent == 1) offer_elementwise(request, out, {Fn::scale, 1, 0}, 1);
}

constexpr OpDef record(std::string_view name, std::string_view mace,
                       std::span<const ForeignName> aliases, void (*infer)(const InferRef&),
                       void (*reference_)(const ReferenceArgs&), Offers offers = nullptr,
                       decltype(OpDef::post) post = nullptr,
                       decltype(OpDef::scale_shift) scale_shift = nullptr) {
  return {.name = name,
          .aliases = aliases,
          .category = Category::transposable,
          .mace = mace,
          .infer = infer,
          .permute = permute_nothing,
          .scale_shift = scale_shift,
          .reference = reference_,
          .offers = offers,
          .kernels = elementwise_kernel(name),
          .device_kernels = kMapKernels,
          .post = post};
}

constexpr OpDef kBinary[] = {
    record("add", "Eltwise",
           named<Onnx<"Add", import_binary>, Tflite<"ADD", takes<2>>,
                 Ncnn<"BinaryOp", ncnn::binary_op>, Ncnn<"Bias", ncnn::bias>>,
           infer_binary, reference<Add>, fast<Fn::add>, pair_post<Post::Kind::add>,
           add_scale_shift),
    record("sub", "Eltwise",
           named<Onnx<"Sub", import_binary>, Tflite<"SUB", takes<2>>,
                 Tflite<"SQUARED_DIFFERENCE", import_squared_difference>>,
           infer_binary, reference<Sub>, fast<Fn::sub>, nullptr, sub_scale_shift),
    record(
        "mul", "Eltwise",
        named<Onnx<"Mul", import_binary>, Tflite<"MUL", takes<2>>, Tflite<"SQUARE", import_square>,
              Ncnn<"Scale", ncnn::scale>, Ncnn<"RotaryEmbed", ncnn::rotary_embed>>,
        infer_binary, reference<Mul>, fast<Fn::mul>, pair_post<Post::Kind::multiply>,
        mul_scale_shift),
    record("div", "Eltwise",
           named<Onnx<"Div", import_binary>, Tflite<"DIV", takes<2>>,
                 Tflite<"FLOOR_DIV", import_floor_div>>,
           infer_binary, reference<Div>, fast<Fn::div>, div_post, div_scale_shift),
    record("pow", "Eltwise",
           named<Onnx<"Pow", import_binary>, Tflite<"POW", takes<2>>, Ncnn<"Power", ncnn::power>>,
           infer_pow, pow_reference, fast_pow),
    record("mod", "", named<Onnx<"Mod">, Tflite<"FLOOR_MOD", import_floor_mod>>, infer_binary,
           mod_reference),
    record("atan2", "", {}, infer_floats, float_reference<Atan2>),
    record("remainder", "", {}, infer_floats, float_reference<Remainder>),
    record("sum", "AddN",
           named<Onnx<"Sum">, Tflite<"ADD_N", import_add_n>, Ncnn<"Eltwise", ncnn::eltwise>>,
           infer_variadic, variadic_reference<Add>, fast_chain<Fn::add>,
           pair_post<Post::Kind::add>),
    record("min", "Eltwise", named<Onnx<"Min">, Tflite<"MINIMUM", takes<2>>>, infer_variadic,
           variadic_reference<Min>, fast_chain<Fn::min>),
    record("max", "Eltwise", named<Onnx<"Max">, Tflite<"MAXIMUM", takes<2>>>, infer_variadic,
           variadic_reference<Max>, fast_chain<Fn::max>),
    record("mean", "", onnx<"Mean">, infer_mean, mean_reference, fast_mean),
    record("prelu", "Activation",
           named<Onnx<"PRelu", import_prelu>, Tflite<"PRELU", import_slopes>,
                 Ncnn<"PReLU", ncnn::prelu>>,
           infer_prelu, reference<Leak>, fast<Fn::prelu>, prelu_post),
};

}  // namespace

extern const std::span<const OpDef> ops_binary;
const std::span<const OpDef> ops_binary = kBinary;

}  // namespace stowage
