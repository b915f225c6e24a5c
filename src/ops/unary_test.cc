// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct UnaryCase {
  std::string op;
  std::map<std::string, Attribute> attrs;
  std::vector<float> x, y;  ///< known values
  float lo = -4, hi = 4;
  double rtol = 1e-5;
};

const std::vector<UnaryCase> kCases = {
    {"relu", {}, {-1, 0, 2, -kInf, kInf}, {0, 0, 2, 0, kInf}},
    {"neg", {}, {-1, 2}, {1, -2}},
    {"abs", {}, {-1, 2}, {1, 2}},
    {"sign", {}, {-3, 0, 5}, {-1, 0, 1}},
    {"leaky_relu", {{"alpha", 0.5f}}, {-2, 3}, {-1, 3}},
    {"sigmoid", {}, {0, 100, -100, kInf, -kInf}, {0.5f, 1, 3.7835e-44f, 1, 0}, -20, 20},
    {"tanh", {}, {0, 1, -1, 50, -kInf}, {0, 0.761594156f, -0.761594156f, 1, -1}, -10, 10},
    {"exp", {}, {0, 1, -kInf, 1000}, {1, 2.718281828f, 0, kInf}, -20, 20},
    {"log", {}, {1, 0, kInf}, {0, -kInf, kInf}, 1e-6f, 100},
    {"expm1",
     {},
     {0, 1e-7f, -1e-7f, 1, -kInf, kInf, 1000, 88},
     {0, 1.00000005e-7f, -9.9999995e-8f, 1.718281828f, -1, kInf, kInf, 1.6516363e38f},
     -20,
     20},
    {"log1p",
     {},
     {0, 1e-7f, -1e-7f, 1, -1, kInf, -0.75f, 1e30f},
     {0, 9.9999995e-8f, -1.00000005e-7f, 0.693147181f, -kInf, kInf, -1.386294361f, 69.0775528f},
     -0.99f,
     100},
    {"sqrt", {}, {4, 0}, {2, 0}, 0, 100},
    {"floor", {}, {-1.5f, 2.5f}, {-2, 2}},
    {"ceil", {}, {-1.5f, 2.5f}, {-1, 3}},
    {"round", {}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.9f}, {0, 2, 2, 0, -2, 1}},
    {"reciprocal", {}, {2, -4}, {0.5f, -0.25f}, 0.1f, 4},
    {"erf", {}, {0, 1, -10}, {0, 0.842700793f, -1}},
    {"softplus", {}, {0, 100, -100}, {0.693147181f, 100, 3.78350585e-44f}, -20, 20},
    {"softsign", {}, {1, -3}, {0.5f, -0.75f}},
    {"elu", {{"alpha", 2.0f}}, {1, -1}, {1, -1.264241118f}},
    {"celu", {{"alpha", 2.0f}}, {1, -2}, {1, -1.264241118f}},
    {"selu", {}, {1, -1}, {1.05070099f, -1.1113307f}},
    {"hard_sigmoid", {}, {0, 1, 10, -10}, {0.5f, 0.7f, 1, 0}},
    {"hard_swish", {}, {0, 1, 3, -3}, {0, 0.666666667f, 3, 0}},
    {"mish", {}, {0, 1, 30, -30}, {0, 0.865098388f, 30, -2.80728689e-12f}, -20, 20},
    {"swish", {}, {0, 1, -1}, {0, 0.731058579f, -0.268941421f}, -20, 20},
    {"gelu", {}, {0, 1, -1}, {0, 0.841344746f, -0.158655254f}},
    {"gelu", {{"approximate", "tanh"}}, {0, 1, -1}, {0, 0.841191991f, -0.158808009f}},
    {"thresholded_relu", {}, {0.5f, 1, 2}, {0, 0, 2}},
    {"shrink", {{"alpha", 0.5f}, {"beta", 1.0f}}, {0.5f, 2, -2}, {0, 1.5f, -1.5f}},
    {"sin", {}, {0, 1}, {0, 0.841470985f}},
    {"atanh", {}, {0, 0.5f}, {0, 0.549306144f}, -0.9f, 0.9f},
};

TEST(Unary, ComputesWhatItsNameSays) {
  for (const UnaryCase& c : kCases) {
    SCOPED_TRACE(c.op);
    const OpCase op{.op = c.op,
                    .attrs = c.attrs,
                    .inputs = {In::of(floats_tensor({std::ssize(c.x)}, c.x), false)}};
    const auto y = elements<float>(reference(op)[0]);
    for (std::size_t i = 0; i < c.y.size(); ++i) {
      EXPECT_TRUE(close(static_cast<double>(y[i]), static_cast<double>(c.y[i]), 1e-6, 1e-7))
          << c.x[i] << " -> " << y[i] << ", not " << c.y[i];
    }
    check_offers(op);
  }
}

TEST(Unary, EveryLayoutGivesTheSame) {
  for (const UnaryCase& c : kCases) {
    for (const Ints& extents :
         {Ints{1, 5, 3, 7}, Ints{2, 17, 4}, Ints{3, 9}, Ints{23}, Ints{}, Ints{1, 4, 0, 3}}) {
      OpCase op{
          .op = c.op, .attrs = c.attrs, .inputs = {{.extents = extents, .lo = c.lo, .hi = c.hi}}};
      op.atol = 1e-6;
      const int offers = check_offers(op);
      if (c.op == "relu" && extents.size() == 4) {
        EXPECT_EQ(offers, 5);
      }
    }
  }
}

TEST(Unary, LargeTensorsAreSharedOut) {
  for (const char* op : {"relu", "sigmoid"}) {
    const OpCase c{.op = op, .inputs = {{.extents = {1, 30, 37, 23}}}};
    EXPECT_EQ(check_offers(c), 5);
  }
}

TEST(Unary, NotANumberStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const UnaryCase& c : kCases) {
    SCOPED_TRACE(c.op);
    if (c.op == "thresholded_relu" || c.op == "shrink") continue;  // a comparison decides
    if (c.op.starts_with("hard_")) continue;                       // a saturation does
    const OpCase op{.op = c.op,
                    .attrs = c.attrs,
                    .inputs = {In::of(floats_tensor({3}, {0.5f, nan, 0.5f}), false)}};
    EXPECT_TRUE(std::isnan(reference(op)[0].as<float>()[1]));
    check_offers(op);
  }
}

TEST(Unary, IntegersAreExact) {
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  const auto run = [&](const char* op) {
    return elements<std::int64_t>(reference(
        {.op = op, .inputs = {In::of(tensor_of<std::int64_t>(DType::i64, {2}, {-big, big}))}})[0]);
  };
  EXPECT_EQ(run("neg"), (std::vector{big, -big}));
  EXPECT_EQ(run("abs"), (std::vector{big, big}));
  EXPECT_EQ(run("relu"), (std::vector{std::int64_t{0}, big}));
  EXPECT_EQ(run("sign"), (std::vector{std::int64_t{-1}, std::int64_t{1}}));
}

TEST(Unary, OtherTypesAreRefused) {
  EXPECT_EQ(error_code_of({.op = "exp", .inputs = {{.dtype = DType::i32, .extents = {3}}}}), 4);
  EXPECT_EQ(error_code_of({.op = "neg", .inputs = {{.dtype = DType::boolean, .extents = {3}}}}), 4);
  EXPECT_EQ(error_code_of({.op = "relu", .inputs = {}}), 3);
}

}  // namespace
}  // namespace stowage
