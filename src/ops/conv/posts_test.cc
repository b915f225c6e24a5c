// SPDX-License-Identifier: Apache-2.0
// Activations at the edges of floats: in every offer that applies them, on every instruction set,
// against the kernel of the operator by itself (to the bit) and against its formula in double.
#include <cmath>
#include <limits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;
using op_test::OpGraph;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The numbers at which approximations and comparisons go wrong.
std::vector<float> edges() {
  std::vector<float> v = {0.0f, -0.0f, kNan, -kNan, kInf, -kInf};
  for (const float x : {1e-45f, 1e-40f, 1.1754942e-38f, 1.17549435e-38f,
                        1e-30f, 1e-7f,  0.1f,           0.5f,
                        1.0f,   2.5f,   3.0f,           6.0f,
                        9.0f,   9.5f,   10.0f,          16.5f,
                        20.0f,  64.0f,  87.3f,          88.0f,
                        88.5f,  88.8f,  89.0f,          90.0f,
                        100.0f, 103.9f, 104.0f,         105.0f,
                        127.0f, 177.9f, 178.0f,         178.5f,
                        179.0f, 180.0f, 1e3f,           65504.0f,
                        1e10f,  1e30f,  3.4028234e38f}) {
    v.push_back(x);
    v.push_back(-x);
  }
  return v;
}

/// Units of the last place of a float near 1.
constexpr double kUlp = 0x1p-23;

/// An operator that can be fused. `formula`: what it computes, as numpy would, which is met within
/// `rtol`, or within `atol` where it subtracts nearly equal numbers.
struct Fusible {
  std::string op;
  std::map<std::string, Attribute> attrs;
  std::vector<float> operand;  ///< input 1
  double (*formula)(double);
  double rtol = 4e-7, atol = 0;
};

double clipped(double x, double lo, double hi) {
  return x != x ? x : x < lo ? lo : x > hi ? hi : x;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

const std::vector<Fusible>& fusible() {
  static const std::vector<Fusible> list = {
      {"relu", {}, {}, [](double x) { return clipped(x, 0, INFINITY); }},
      {"clip", {{"min", 0.0f}, {"max", 6.0f}}, {}, [](double x) { return clipped(x, 0, 6); }},
      {"clip", {{"min", -3.0f}, {"max", -1.0f}}, {}, [](double x) { return clipped(x, -3, -1); }},
      {"leaky_relu", {{"alpha", 0.25f}}, {}, [](double x) { return x < 0 ? 0.25 * x : x; }},
      {"leaky_relu", {{"alpha", 0.0f}}, {}, [](double x) { return x < 0 ? 0 * x : x; }},
      {"prelu", {}, {-0.5f}, [](double x) { return x < 0 ? -0.5 * x : x; }},
      {"sigmoid", {}, {}, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", {}, {}, [](double x) { return std::tanh(x); }},
      {"hard_sigmoid",
       {},
       {},
       [](double x) { return clipped(static_cast<double>(0.2f) * x + 0.5, 0, 1); }},
      {"hard_swish", {}, {}, [](double x) { return x * clipped(x / 6 + 0.5, 0, 1); }},
      {"swish", {}, {}, [](double x) { return x * (1 / (1 + std::exp(-x))); }},
      {"gelu",
       {},
       {},
       [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); },
       5 * kUlp,
       8 * kUlp},
      {"gelu",
       {{"approximate", std::string("tanh")}},
       {},
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       },
       9 * kUlp,
       8 * kUlp},
      {"mish", {}, {}, [](double x) { return x * std::tanh(softplus(x)); }, 6 * kUlp},
      {"elu", {}, {}, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"elu", {{"alpha", 2.5f}}, {}, [](double x) { return x < 0 ? 2.5 * std::expm1(x) : x; }},
      {"softplus", {}, {}, softplus, 5 * kUlp},
  };
  return list;
}

OpCase unfused(const Fusible& f, const std::vector<float>& x) {
  OpCase c;
  c.op = f.op;
  c.attrs = f.attrs;
  c.inputs = {In::of(op_test::floats_tensor({1, std::ssize(x)}, x), false)};
  if (!f.operand.empty()) {
    c.inputs.push_back(In::of(op_test::floats_tensor({std::ssize(f.operand)}, f.operand)));
  }
  return c;
}

/// What the kernel of the operator makes of `x`.
std::vector<float> run_unfused(OpGraph& g, const std::vector<float>& x) {
  const Node& n = g.graph.node(g.id);
  const Target target{.lanes = tile_lanes()};
  const std::vector<Layout> layouts = {Layout::row_major(g.ref().output().shape)};
  const auto offers = op_test::offers_of(g, target, [&](const Shape&) { return layouts; });
  if (offers.empty()) return {};
  std::vector<float> in = x, out(x.size(), -1.0f), operand(16);
  in.resize(x.size() + 16);  // kernels read a vector behind the end
  if (n.inputs.size() > 1) operand[0] = g.inputs[1].as<float>()[0];
  const std::byte* from[] = {reinterpret_cast<const std::byte*>(in.data()),
                             reinterpret_cast<const std::byte*>(operand.data())};
  std::byte* to[] = {reinterpret_cast<std::byte*>(out.data())};
  offers[0].call.bind().run({std::span(from).first(n.inputs.size()), to});
  return out;
}

/// Relative to the result, or to the smallest normal number times what it is multiplied by: below
/// it a processor may flush to zero.
void expect_formula(const Fusible& f, const std::vector<float>& x, const std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = f.formula(static_cast<double>(x[i]));
    const double tiny =
        1.2e-38 * std::max(1.0, std::min(std::fabs(static_cast<double>(x[i])), 200.0));
    EXPECT_TRUE(op_test::close(static_cast<double>(y[i]), want, f.rtol, tiny + f.atol))
        << f.op << "(" << x[i] << ") is " << y[i] << ", not " << want;
  }
}

/// A heavy operator whose every output channel is its input, in some of many shapes.
struct Producer {
  std::string name;
  OpCase c;
  Ints out;
};

/// Products with one weight of 1 keep every float as it is.
std::vector<Producer> producers(const std::vector<float>& x) {
  const std::int64_t n = std::ssize(x);
  const auto filled = [](const Ints& extents, float value) {
    std::int64_t count = 1;
    for (const std::int64_t e : extents) count *= e;
    return In::of(op_test::floats_tensor(
        extents, std::vector<float>(static_cast<std::size_t>(count), value)));
  };
  const auto input = [&](const Ints& extents, std::int64_t copies) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < copies; ++i) v.insert(v.end(), x.begin(), x.end());
    return In::of(op_test::floats_tensor(extents, v), false);
  };
  std::vector<Producer> list;
  for (const std::int64_t o : {1, 3, 16, 21, 33}) {
    list.push_back({text("conv 1-", o),
                    {.op = "conv", .inputs = {input({1, 1, 1, n}, 1), filled({o, 1, 1, 1}, 1)}},
                    {1, o, 1, n}});
    list.push_back({text("depthwise ", o),
                    {.op = "conv",
                     .attrs = {{"group", o}},
                     .inputs = {input({1, o, 1, n}, o), filled({o, 1, 1, 1}, 1)}},
                    {1, o, 1, n}});
    list.push_back(
        {text("conv_transpose 1-", o),
         {.op = "conv_transpose", .inputs = {input({1, 1, 1, n}, 1), filled({1, o, 1, 1}, 1)}},
         {1, o, 1, n}});
    list.push_back({text("gemm 1-", o),
                    {.op = "gemm", .inputs = {input({n, 1}, 1), filled({1, o}, 1)}},
                    {n, o}});
    list.push_back({text("matmul 1-", o),
                    {.op = "matmul", .inputs = {input({1, n, 1}, 1), filled({1, o}, 1)}},
                    {1, n, o}});
  }
  return list;
}

/// `values` along the last axis of images, along the rows of matrices, the same in every channel.
Tensor spread(const Ints& extents, const std::vector<float>& values) {
  Tensor t(DType::f32, Shape::unnamed(extents));
  const auto n = std::ssize(values), channels = t.shape().elements() / n;
  for (std::int64_t i = 0; i < t.shape().elements(); ++i) {
    t.as<float>()[static_cast<std::size_t>(i)] =
        values[static_cast<std::size_t>(extents.size() == 4 ? i % n : i / channels)];
  }
  return t;
}

/// Every offer of the producer with the activation, against `want`.
void expect_fused(const Producer& p, const Fusible& f, const Activation& activation,
                  const std::vector<float>& x, const std::vector<float>& want, bool residual) {
  OpCase c = p.c;
  if (residual) {
    // The edges arrive through the addition, to a sum of zeros.
    Tensor zeros(DType::f32, c.inputs[0].data->shape());
    Tensor edge = spread(p.out, x);
    c.inputs[0] = In::of(std::move(zeros), false);
    op_test::add_post(c, {.kind = Post::Kind::add}, In::of(std::move(edge), false));
  }
  const Post post = op_test::activation_post(activation, Post::Broadcast::scalar);
  if (activation.kind == Activation::Kind::prelu) {
    op_test::add_post(c, post, In::of(op_test::floats_tensor({1}, f.operand)));
  } else {
    op_test::add_post(c, post);
  }
  OpGraph g(c);
  const Tensor by_reference = std::move(g.results[0]);
  g.results[0] = spread(p.out, want);
  for (std::size_t i = 0; i < by_reference.as<float>().size(); ++i) {
    const auto a = static_cast<double>(by_reference.as<float>()[i]);
    const auto b = static_cast<double>(g.results[0].as<float>()[i]);
    ASSERT_TRUE(op_test::close(b, a, std::max(f.rtol, 1e-6), 3e-36 + f.atol))
        << "the reference gives " << a << ", not " << b;
  }
  const Target target{.lanes = tile_lanes()};
  const auto offers = op_test::offers_of(
      g, target, [](const Shape& shape) { return op_test::candidate_layouts(shape, {}); });
  EXPECT_FALSE(offers.empty());
  for (const Offer& offer : offers) {
    EXPECT_EQ(op_test::run_offer(g, offer, nullptr, false, 0, 0), "") << op_test::offer_text(offer);
  }
}

void expect_fused_is_unfused(const std::vector<float>& x) {
  for_each_target([&] {
    for (const Fusible& f : fusible()) {
      SCOPED_TRACE(f.op);
      OpGraph g(unfused(f, x));
      const auto post = g.ref().node().op->post(g.ref(), 0);
      ASSERT_TRUE(post.has_value());
      const std::vector<float> y = run_unfused(g, x);
      ASSERT_EQ(y.size(), x.size());
      expect_formula(f, x, y);
      expect_formula(f, x, op_test::elements<float>(g.results[0]));
      for (const Producer& p : producers(x)) {
        for (const bool residual : {false, true}) {
          SCOPED_TRACE(text(p.name, residual ? " residual" : ""));
          expect_fused(p, f, post->activation, x, y, residual);
        }
      }
    }
  });
}

TEST(Posts, FusedIsUnfusedAtTheEdgesOfFloats) { expect_fused_is_unfused(edges()); }

#if defined(__SSE2__)
/// Subnormal operands and results are zero while it lives.
class FlushSubnormals {
 public:
  FlushSubnormals() { _mm_setcsr(before_ | 0x8040); }

  ~FlushSubnormals() { _mm_setcsr(before_); }

  FlushSubnormals(const FlushSubnormals&) = delete;

 private:
  unsigned before_ = _mm_getcsr();
};

TEST(Posts, FusedIsUnfusedWhereSubnormalsAreFlushed) {
  std::vector<float> x = edges();
  std::erase_if(x, [](float v) { return v != 0 && std::fabs(v) < 1.17549435e-38f; });
  const FlushSubnormals flush;
  expect_fused_is_unfused(x);
}
#endif

}  // namespace
}  // namespace stowage
