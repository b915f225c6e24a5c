// SPDX-License-Identifier: Apache-2.0
// Every function of one element on every instruction set, against its formula in double: over the
// numbers that models have, and at the edges.
#include "kernels/elementwise/functions.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/test_util.h"

namespace stowage {
namespace {

using op_test::for_each_target;

/// Within [-most, most] the result is within `ulps` units of the last place of the formula's, or
/// within `absolute`, where the formula subtracts nearly equal numbers.
struct Function1 {
  const char* name;
  Fn fn;
  float a, b;
  double (*formula)(double);
  double most, ulps;
  double absolute = 0;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double clipped(double x, double lo, double hi) {
  return x != x ? x : x < lo ? lo : x > hi ? hi : x;
}

constexpr double kUlp = 1.2e-7;

constexpr Function1 kFunctions[] = {
    {"clip", Fn::clip, 0, 6, [](double x) { return clipped(x, 0, 6); }, 1e30, 0},
    {"leaky_relu", Fn::leaky_relu, 0.25f, 0, [](double x) { return x < 0 ? 0.25 * x : x; }, 1e30,
     0},
    {"neg", Fn::neg, 0, 0, [](double x) { return -x; }, 1e30, 0},
    {"abs", Fn::abs, 0, 0, [](double x) { return std::fabs(x); }, 1e30, 0},
    {"sign", Fn::sign, 0, 0, [](double x) { return x != x ? x : (x > 0.0) - (x < 0.0); }, 1e30, 0},
    {"sigmoid", Fn::sigmoid, 0, 0, sigmoid, 87, 3},
    {"tanh", Fn::tanh, 0, 0, [](double x) { return std::tanh(x); }, 1e30, 3},
    {"exp", Fn::exp, 0, 0, [](double x) { return std::exp(x); }, 87, 1.1},
    {"log", Fn::log, 0, 0, [](double x) { return std::log(x); }, 1e30, 2, kUlp},
    {"expm1", Fn::expm1, 0, 0, [](double x) { return std::expm1(x); }, 87, 3},
    {"log1p", Fn::log1p, 0, 0, [](double x) { return std::log1p(x); }, 1e30, 3},
    {"sqrt", Fn::sqrt, 0, 0, [](double x) { return std::sqrt(x); }, 1e30, 1},
    {"reciprocal", Fn::reciprocal, 0, 0, [](double x) { return 1 / x; }, 1e30, 1},
    {"erf", Fn::erf, 0, 0, [](double x) { return std::erf(x); }, 1e30, 4, kUlp},
    {"softplus", Fn::softplus, 0, 0, softplus, 87, 4},
    {"softsign", Fn::softsign, 0, 0, [](double x) { return x / (1 + std::fabs(x)); }, 1e30, 2},
    {"elu", Fn::elu, 2, 0, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, 1e30, 3},
    {"hard_sigmoid", Fn::hard_sigmoid, 0.25f, 0.5f,
     [](double x) { return clipped(0.25 * x + 0.5, 0, 1); }, 1e30, 1},
    {"hard_swish", Fn::hard_swish, 0, 0, [](double x) { return x * clipped(x / 6 + 0.5, 0, 1); },
     1e30, 2, kUlp},
    {"mish", Fn::mish, 0, 0, [](double x) { return x * std::tanh(softplus(x)); }, 80, 5},
    {"silu", Fn::swish, 1, 0, [](double x) { return x * sigmoid(x); }, 80, 4},
    {"swish", Fn::swish, 2, 0, [](double x) { return x * sigmoid(2 * x); }, 40, 4},
    {"gelu", Fn::gelu, 0, 0, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); },
     1e30, 4, 8 * kUlp},
    {"gelu_tanh", Fn::gelu_tanh, 0, 0,
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     1e30, 8, 8 * kUlp},
    {"thresholded_relu", Fn::thresholded_relu, 1, 0, [](double x) { return x <= 1 ? 0 : x; }, 1e30,
     0},
    {"square", Fn::square, 0, 0, [](double x) { return x * x; }, 1e15, 1},
};

std::vector<float> apply(const Function1& f, std::vector<float> x) {
  const std::size_t n = x.size();
  x.resize(n + 16);  // a vector behind the end is read
  std::vector<float> y(n);
  ElementwiseCall call;
  call.fn = f.fn;
  call.a = f.a;
  call.b = f.b;
  call.n = std::ssize(y);
  call.in[0] = x.data();
  call.out = y.data();
  run_elementwise(call);
  return y;
}

void expect_near(const Function1& f, float x, float y, double ulps) {
  const double want = f.formula(static_cast<double>(x));
  const double tiny = 1.2e-38 * std::clamp(std::fabs(static_cast<double>(x)), 1.0, 200.0);
  const double atol = tiny + f.absolute;
  // What f32 cannot hold is infinite.
  const double held = static_cast<double>(static_cast<float>(want));
  const double rounded = std::isinf(held) ? held : want;
  EXPECT_TRUE(op_test::close(static_cast<double>(y), rounded, (ulps + 0.5) * 0x1p-23, atol))
      << f.name << "(" << x << ") is " << y << ", not " << want;
}

TEST(Functions, AccurateWhereModelsUseThem) {
  std::vector<float> x;
  for (float v = 1e-6f; v < 1e4f; v *= 1.0007f) {
    x.push_back(v);
    x.push_back(-v);
  }
  for_each_target([&] {
    for (const Function1& f : kFunctions) {
      const std::vector<float> y = apply(f, x);
      for (std::size_t i = 0; i < x.size() && !::testing::Test::HasFailure(); ++i) {
        if (std::fabs(static_cast<double>(x[i])) <= f.most) expect_near(f, x[i], y[i], f.ulps);
      }
    }
  });
}

TEST(Functions, EdgesOfFloats) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f, -0.0f, inf, -inf, std::numeric_limits<float>::quiet_NaN()};
  for (const float v : {1e-45f, 1e-38f, 1.2e-38f, 1e-30f, 1.0f,  16.0f,        87.0f,  87.5f,
                        88.0f,  88.72f, 88.73f,   89.0f,  95.0f, 103.0f,       104.0f, 105.0f,
                        178.0f, 180.0f, 1e3f,     1e10f,  1e30f, 3.4028234e38f}) {
    x.push_back(v);
    x.push_back(-v);
  }
  for_each_target([&] {
    for (const Function1& f : kFunctions) {
      const std::vector<float> y = apply(f, x);
      // Subnormal results have fewer digits.
      for (std::size_t i = 0; i < x.size(); ++i) {
        // x^3 of gelu_tanh and the reciprocal of a subnormal number: infinite in f32 alone.
        expect_near(f, x[i], y[i], std::max(f.ulps, 8.0));
      }
    }
  });
}

}  // namespace
}  // namespace stowage
