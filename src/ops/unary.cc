// SPDX-License-Identifier: Apache-2.0
// Functions of one element: a line each in kUnary.
#include <cmath>
#include <limits>

#include "kernels/elementwise/map.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The numbers of a function: alpha, beta or what takes their place.
struct Params {
  double a = 0, b = 0;
};

/// Those that a file may leave out.
constexpr Params kNone, kOne{1, 0}, kLeakyRelu{0.01, 0}, kHardSigmoid{0.2, 0.5},
    kSelu{1.67326319217681884765625, 1.05070102214813232421875};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// Each function computes in double, which is more than any dtype of its operators holds.
using Scalar = double (*)(double, const Params&);

double relu(double x, const Params&) { return x > 0 ? x : x != x ? x : 0; }

double leaky_relu(double x, const Params& p) { return x < 0 ? p.a * x : x; }

double elu(double x, const Params& p) { return x < 0 ? p.a * std::expm1(x) : x; }

double celu(double x, const Params& p) { return x < 0 ? p.a * std::expm1(x / p.a) : x; }

double selu(double x, const Params& p) { return p.b * (x > 0 ? x : p.a * std::expm1(x)); }

double sigmoid_of(double x, const Params&) { return sigmoid(x); }

double tanh_of(double x, const Params&) { return std::tanh(x); }

double exp_of(double x, const Params&) { return std::exp(x); }

double log_of(double x, const Params&) { return std::log(x); }

double expm1_of(double x, const Params&) { return std::expm1(x); }

double log1p_of(double x, const Params&) { return std::log1p(x); }

double sqrt_of(double x, const Params&) { return std::sqrt(x); }

double floor_of(double x, const Params&) { return std::floor(x); }

double ceil_of(double x, const Params&) { return std::ceil(x); }

double round_of(double x, const Params&) { return std::nearbyint(x); }

double reciprocal(double x, const Params&) { return 1 / x; }

double erf_of(double x, const Params&) { return std::erf(x); }

double softplus_of(double x, const Params&) { return softplus(x); }

double softsign(double x, const Params&) { return x / (1 + std::fabs(x)); }

/// std::min and std::max return their first operand when one is NaN.
double unit_clip(double x) { return std::min(std::max(x, 0.0), 1.0); }

double hard_sigmoid(double x, const Params& p) { return unit_clip(p.a * x + p.b); }

double hard_swish(double x, const Params&) { return x * unit_clip(x / 6 + 0.5); }

double mish(double x, const Params&) { return x * std::tanh(softplus(x)); }

double swish(double x, const Params& p) { return x * sigmoid(p.a * x); }

double gelu(double x, const Params&) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

double gelu_tanh(double x, const Params&) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double thresholded_relu(double x, const Params& p) { return x <= p.a ? 0 : x; }

double shrink(double x, const Params& p) { return x < -p.b ? x + p.a : x > p.b ? x - p.a : 0; }

double sin_of(double x, const Params&) { return std::sin(x); }

double cos_of(double x, const Params&) { return std::cos(x); }

double tan_of(double x, const Params&) { return std::tan(x); }

double asin_of(double x, const Params&) { return std::asin(x); }

double acos_of(double x, const Params&) { return std::acos(x); }

double atan_of(double x, const Params&) { return std::atan(x); }

double sinh_of(double x, const Params&) { return std::sinh(x); }

double cosh_of(double x, const Params&) { return std::cosh(x); }

double asinh_of(double x, const Params&) { return std::asinh(x); }

double acosh_of(double x, const Params&) { return std::acosh(x); }

double atanh_of(double x, const Params&) { return std::atanh(x); }

template <Scalar F, const Params& Default = kNone>
void reference(const ReferenceArgs& args) {
  const auto number = [&](std::string_view name, double otherwise) {
    return static_cast<double>(args.node.attrs().real(name, static_cast<float>(otherwise)));
  };
  const Params params{number("alpha", Default.a), number("beta", Default.b)};
  const std::int64_t count = args.out[0].mapping.shape().elements();
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = element_cast<T>(F(static_cast<double>(static_cast<Compute<T>>(x[i])), params));
    }
  });
}

/// Neg, Abs, Sign, Relu of integers must be exact for all 64 bits.
template <std::int64_t (*Integer)(std::int64_t), Scalar F>
void number_reference(const ReferenceArgs& args) {
  if (is_float(args.out[0].dtype)) return reference<F>(args);
  const std::int64_t count = args.out[0].mapping.shape().elements();
  for_number_dtype(args.out[0].dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* x = args.input<T>(0);
      T* y = args.output<T>(0);
      for (std::int64_t i = 0; i < count; ++i) {
        // Above INT64_MAX only u64 has values; none of these functions changes an unsigned one
        // but sign, which is 1 there.
        const bool huge = std::is_unsigned_v<T> && static_cast<std::int64_t>(x[i]) < 0;
        y[i] = huge ? (Integer(2) == 1 ? T(1) : x[i])
                    : static_cast<T>(Integer(static_cast<std::int64_t>(x[i])));
      }
    }
  });
}

std::int64_t negate(std::int64_t x) {
  return static_cast<std::int64_t>(-static_cast<std::uint64_t>(x));
}

std::int64_t magnitude(std::int64_t x) { return x < 0 ? negate(x) : x; }

std::int64_t sign(std::int64_t x) { return (x > 0) - (x < 0); }

std::int64_t ramp(std::int64_t x) { return x > 0 ? x : 0; }

double neg_of(double x, const Params&) { return -x; }

double abs_of(double x, const Params&) { return std::fabs(x); }

double sign_of(double x, const Params&) { return x != x ? x : (x > 0) - (x < 0); }

void infer_float(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

void infer_number(const InferRef& node) {
  node.expect_inputs(1, 1);
  if (node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

/// Gelu spells its variant as a string, Shrink its numbers as lambd and bias.
void infer_gelu(const InferRef& node) {
  infer_float(node);
  const std::string kind = node.attrs().string("approximate", "none");
  if (kind != "none" && kind != "tanh") {
    fail(ErrorCode::bad_input, "approximate is '", kind, "', expected 'none' or 'tanh'");
  }
}

void gelu_reference(const ReferenceArgs& args) {
  if (args.node.attrs().string("approximate", "none") == "tanh") {
    reference<gelu_tanh>(args);
  } else {
    reference<gelu>(args);
  }
}

void import_shrink(ImportNode& node) {
  node.attrs.set("alpha", node.attrs.real("bias", 0.0f));
  node.attrs.set("beta", node.attrs.real("lambd", 0.5f));
}

void import_selu(ImportNode& node) {
  node.attrs.set("beta", node.attrs.real("gamma", static_cast<float>(kSelu.b)));
}

void import_rsqrt(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.emit("reciprocal", {node.emit("sqrt", {node.in(0)})}));
}

std::optional<Post> activation(Activation::Kind kind, float a = 0, float b = 0) {
  return Post{.kind = Post::Kind::activation, .activation = {kind, a, b}};
}

/// An activation without parameters.
template <Activation::Kind Kind>
std::optional<Post> post(const NodeRef&, int) {
  return activation(Kind);
}

std::optional<Post> relu_post(const NodeRef&, int) {
  return activation(Activation::Kind::clip, 0.0f, std::numeric_limits<float>::infinity());
}

std::optional<Post> leaky_post(const NodeRef& node, int) {
  return activation(Activation::Kind::leaky,
                    node.attrs().real("alpha", static_cast<float>(kLeakyRelu.a)));
}

std::optional<Post> hard_sigmoid_post(const NodeRef& node, int) {
  return activation(Activation::Kind::hard_sigmoid,
                    node.attrs().real("alpha", static_cast<float>(kHardSigmoid.a)),
                    node.attrs().real("beta", static_cast<float>(kHardSigmoid.b)));
}

std::optional<Post> swish_post(const NodeRef& node, int) {
  if (node.attrs().real("alpha", 1.0f) != 1.0f) return std::nullopt;
  return activation(Activation::Kind::silu);
}

std::optional<Post> gelu_post(const NodeRef& node, int) {
  const bool tanh = node.attrs().string("approximate", "none") == "tanh";
  return activation(tanh ? Activation::Kind::gelu_tanh : Activation::Kind::gelu);
}

std::optional<Post> elu_post(const NodeRef& node, int) {
  return activation(Activation::Kind::elu, node.attrs().real("alpha", 1.0f));
}

using Hook = std::optional<Post> (*)(const NodeRef&, int x);
using Offers = void (*)(const OfferRequest&, std::vector<Offer>&);

/// The vectorised function, in any layout.
template <Fn F, const Params& Default = kNone>
void fast(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  offer_elementwise(request, out,
                    {F, node.attrs().real("alpha", static_cast<float>(Default.a)),
                     node.attrs().real("beta", static_cast<float>(Default.b))});
}

void fast_relu(const OfferRequest& request, std::vector<Offer>& out) {
  offer_elementwise(request, out, {Fn::clip, 0.0f, std::numeric_limits<float>::infinity()});
}

void fast_gelu(const OfferRequest& request, std::vector<Offer>& out) {
  const bool tanh = request.node.attrs().string("approximate", "none") == "tanh";
  offer_elementwise(request, out, {tanh ? Fn::gelu_tanh : Fn::gelu, 0, 0});
}

/// MACE's operator that has the function of this name; most it lacks.
constexpr std::string_view mace_of(std::string_view name) {
  for (const std::string_view eltwise : {"neg", "abs", "sign", "sqrt", "reciprocal"}) {
    if (name == eltwise) return "Eltwise";
  }
  // Those that it lacks but that are activations go with those that it has.
  for (const std::string_view activation :
       {"relu", "leaky_relu", "sigmoid", "tanh", "elu", "hard_sigmoid", "hard_swish", "swish",
        "mish", "selu", "celu", "softplus", "softsign"}) {
    if (name == activation) return "Activation";
  }
  return {};
}

/// A function of floats.
template <Scalar F, const Params& Default = kNone>
constexpr OpDef real(std::string_view name, std::span<const ForeignName> aliases,
                     Offers offers = nullptr, Hook post = nullptr) {
  return {.name = name,
          .aliases = aliases,
          .category = Category::transposable,
          .mace = mace_of(name),
          .infer = infer_float,
          .permute = permute_nothing,
          .reference = reference<F, Default>,
          .offers = offers,
          .kernels = elementwise_kernel(name),
          .device_kernels = kMapKernels,
          .post = post};
}

/// A function of floats and integers.
template <std::int64_t (*Integer)(std::int64_t), Scalar F>
constexpr OpDef number(std::string_view name, std::span<const ForeignName> aliases, Offers offers,
                       Hook post = nullptr) {
  return {.name = name,
          .aliases = aliases,
          .category = Category::transposable,
          .mace = mace_of(name),
          .infer = infer_number,
          .permute = permute_nothing,
          .reference = number_reference<Integer, F>,
          .offers = offers,
          .kernels = elementwise_kernel(name),
          .device_kernels = kMapKernels,
          .post = post};
}

constexpr OpDef kUnary[] = {
    number<ramp, relu>("relu",
                       named<Onnx<"Relu">, Tflite<"RELU", takes<1>>, Ncnn<"ReLU", ncnn::relu>>,
                       fast_relu, relu_post),
    number<negate, neg_of>("neg", named<Onnx<"Neg">, Tflite<"NEG", takes<1>>>, fast<Fn::neg>),
    number<magnitude, abs_of>("abs",
                              named<Onnx<"Abs">, Tflite<"ABS", takes<1>>, Ncnn<"AbsVal", takes<1>>,
                                    Ncnn<"UnaryOp", ncnn::unary_op>>,
                              fast<Fn::abs>),
    number<sign, sign_of>("sign", named<Onnx<"Sign">, Tflite<"SIGN", takes<1>>>, fast<Fn::sign>),
    real<leaky_relu, kLeakyRelu>("leaky_relu",
                                 named<Onnx<"LeakyRelu">, Tflite<"LEAKY_RELU", takes<1>>>,
                                 fast<Fn::leaky_relu, kLeakyRelu>, leaky_post),
    real<sigmoid_of>("sigmoid",
                     named<Onnx<"Sigmoid">, Tflite<"LOGISTIC", takes<1>>, Ncnn<"Sigmoid", takes<1>>,
                           Ncnn<"GLU", ncnn::glu>>,
                     fast<Fn::sigmoid>, post<Activation::Kind::sigmoid>),
    real<tanh_of>("tanh", named<Onnx<"Tanh">, Tflite<"TANH", takes<1>>, Ncnn<"TanH", takes<1>>>,
                  fast<Fn::tanh>, post<Activation::Kind::tanh>),
    real<exp_of>("exp", named<Onnx<"Exp">, Tflite<"EXP", takes<1>>, Ncnn<"Exp", ncnn::exp>>,
                 fast<Fn::exp>),
    real<log_of>("log", named<Onnx<"Log">, Tflite<"LOG", takes<1>>, Ncnn<"Log", ncnn::log>>,
                 fast<Fn::log>),
    real<expm1_of>("expm1", {}, fast<Fn::expm1>),
    real<log1p_of>("log1p", {}, fast<Fn::log1p>),
    real<sqrt_of>("sqrt", named<Onnx<"Sqrt">, Tflite<"SQRT", takes<1>>>, fast<Fn::sqrt>),
    real<floor_of>("floor", named<Onnx<"Floor">, Tflite<"FLOOR", takes<1>>>, fast<Fn::floor>),
    real<ceil_of>("ceil", named<Onnx<"Ceil">, Tflite<"CEIL", takes<1>>>, fast<Fn::ceil>),
    real<round_of>("round", named<Onnx<"Round">, Tflite<"ROUND", takes<1>>>, fast<Fn::round>),
    real<reciprocal>("reciprocal", named<Onnx<"Reciprocal">, Tflite<"RSQRT", import_rsqrt>>,
                     fast<Fn::reciprocal>),
    real<erf_of>("erf", named<Onnx<"Erf">, Ncnn<"Erf", takes<1>>>, fast<Fn::erf>),
    real<softplus_of>("softplus",
                      named<Onnx<"Softplus">, Ncnn<"Softplus", takes<1>>, Ncnn<"BNLL", takes<1>>>,
                      fast<Fn::softplus>, post<Activation::Kind::softplus>),
    real<softsign>("softsign", onnx<"Softsign">, fast<Fn::softsign>),
    real<elu, kOne>("elu", named<Onnx<"Elu">, Tflite<"ELU", takes<1>>, Ncnn<"ELU", ncnn::elu>>,
                    fast<Fn::elu, kOne>, elu_post),
    real<celu, kOne>("celu", named<Onnx<"Celu">, Ncnn<"CELU", ncnn::celu>>),
    real<selu, kSelu>("selu", named<Onnx<"Selu", import_selu>, Ncnn<"SELU", ncnn::selu>>,
                      fast<Fn::selu, kSelu>),
    real<hard_sigmoid, kHardSigmoid>(
        "hard_sigmoid", named<Onnx<"HardSigmoid">, Ncnn<"HardSigmoid", ncnn::hard_sigmoid>>,
        fast<Fn::hard_sigmoid, kHardSigmoid>, hard_sigmoid_post),
    real<hard_swish>("hard_swish",
                     named<Onnx<"HardSwish">, Tflite<"HARD_SWISH", takes<1>>,
                           Ncnn<"HardSwish", ncnn::hard_swish_layer>>,
                     fast<Fn::hard_swish>, post<Activation::Kind::hard_swish>),
    real<mish>("mish", named<Onnx<"Mish">, Ncnn<"Mish", takes<1>>>, fast<Fn::mish>,
               post<Activation::Kind::mish>),
    real<swish, kOne>("swish", named<Onnx<"Swish">, Ncnn<"Swish", takes<1>>>, fast<Fn::swish, kOne>,
                      swish_post),
    real<thresholded_relu, kOne>("thresholded_relu", onnx<"ThresholdedRelu">,
                                 fast<Fn::thresholded_relu, kOne>),
    real<shrink>("shrink", named<Onnx<"Shrink", import_shrink>, Ncnn<"Shrink", ncnn::shrink>>),
    real<sin_of>("sin", named<Onnx<"Sin">, Tflite<"SIN", takes<1>>>),
    real<cos_of>("cos", named<Onnx<"Cos">, Tflite<"COS", takes<1>>>),
    real<tan_of>("tan", onnx<"Tan">),
    real<asin_of>("asin", onnx<"Asin">),
    real<acos_of>("acos", onnx<"Acos">),
    real<atan_of>("atan", onnx<"Atan">),
    real<sinh_of>("sinh", onnx<"Sinh">),
    real<cosh_of>("cosh", onnx<"Cosh">),
    real<asinh_of>("asinh", onnx<"Asinh">),
    real<acosh_of>("acosh", onnx<"Acosh">),
    real<atanh_of>("atanh", onnx<"Atanh">),
    {.name = "gelu",
     .aliases = named<Onnx<"Gelu">, Tflite<"GELU", takes<1>>, Ncnn<"GELU", ncnn::gelu>>,
     .category = Category::transposable,
     .mace = "Activation",
     .infer = infer_gelu,
     .permute = permute_nothing,
     .reference = gelu_reference,
     .offers = fast_gelu,
     .kernels = elementwise_kernel("gelu"),
     .device_kernels = kMapKernels,
     .post = gelu_post},
};

}  // namespace

extern const std::span<const OpDef> ops_unary;
const std::span<const OpDef> ops_unary = kUnary;

}  // namespace stowage
