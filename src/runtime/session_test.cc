// SPDX-License-Identifier: Apache-2.0
// Sessions: what they refuse, what several of them share.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <thread>

#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

/// Convolutions, and operators that run as references: gather_elements, and everything in f64.
std::shared_ptr<const Plan> plan_of(int threads) {
  GraphBuilder net;
  Value f64;
  f64.name = "x";
  f64.dtype = DType::f64;
  f64.shape = Shape("abcd", {1, 5, 7, 9});
  net.graph.inputs.push_back(net.graph.add_value(f64));
  Attributes to_f32;
  to_f32.set("to", std::string("f32"));
  const ValueId doubled = net.add("add", {net.graph.inputs[0], net.graph.inputs[0]});
  const ValueId image = net.add("cast", {net.add("exp", {doubled})}, to_f32);
  net.graph.outputs = {net.add("relu", {net.conv(image, 5, 6)}), doubled};
  PlanOptions options;
  options.threads = threads;
  return make_plan(std::make_shared<Graph>(std::move(net.graph)), options);
}

Tensor input(int seed) {
  Tensor x(DType::f64, Shape("abcd", {1, 5, 7, 9}));
  std::mt19937 random(static_cast<unsigned>(seed));
  for (double& e : x.as<double>()) e = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

std::vector<Tensor> run(Session& session, const Tensor& x) {
  session.set_input(0, x.view());
  session.run();
  std::vector<Tensor> out;
  out.push_back(session.output(0));
  out.push_back(session.output(1));
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST(Session, TwoOfOnePlanRunAtOnce) {
  const auto plan = plan_of(2);
  constexpr int kRuns = 40;
  std::array<std::vector<Tensor>, 2> alone;
  for (int i : {0, 1}) {
    Session session(plan);
    alone[static_cast<std::size_t>(i)] = run(session, input(i));
  }
  std::array<int, 2> wrong{};
  const auto work = [&](std::size_t i) {
    Session session(plan);
    const Tensor x = input(static_cast<int>(i));
    for (int k = 0; k < kRuns; ++k) {
      const auto out = run(session, x);
      wrong[i] += same_bits(out[0], alone[i][0]) && same_bits(out[1], alone[i][1]) ? 0 : 1;
    }
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  EXPECT_EQ(wrong[0], 0);
  EXPECT_EQ(wrong[1], 0);
}

/// The code and the sentence that `call` throws.
std::pair<ErrorCode, std::string> thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return {e.code(), e.what()};
  }
  return {ErrorCode::internal, "nothing was thrown"};
}

TEST(Session, Misuse) {
  const Tensor x = input(1);
  const Mapping mapping = x.mapping();
  Session fresh(plan_of(1)), done(plan_of(1));
  run(done, x);
  const auto plan_with = [](int threads) { return [threads] { plan_of(threads); }; };

  struct Case {
    const char* what;
    std::function<void()> call;
    const char* words;
  };

  const Case cases[] = {
      {"no graph", [] { make_plan(nullptr); }, "a plan needs a graph"},
      {"no plan", [] { Session session(nullptr); }, "a session needs a plan"},
      {"-3 threads", plan_with(-3), "the number of threads must be 1 to 256, not -3"},
      {"0 threads", plan_with(0), "not 0"},
      {"a million threads", plan_with(1'000'000), "not 1000000"},
      {"no data",
       [&] {
         fresh.set_input(0, {DType::f64, mapping, nullptr});
       },
       "null pointer"},
      {"nowhere to read to",
       [&] {
         done.read_output(1, {DType::f64, mapping, nullptr});
       },
       "null pointer"},
      {"an output before run", [&] { fresh.output(0); }, "before the first run"},
      {"run without input", [&] { fresh.run(); }, "'x' is not set"},
      {"elements of another size", [] { Tensor(DType::f32, Shape("a", {3})).as<double>(); },
       "elements of 8 bytes asked of a tensor of f32"},
      {"a view of other elements",
       [] { TensorView(DType::f32, Mapping(Layout::parse("a"), Shape("a", {2}), 2), nullptr); },
       "a view of f32 over elements of 2 bytes"},
  };
  for (const Case& c : cases) {
    const auto [code, words] = thrown(c.call);
    EXPECT_EQ(code, ErrorCode::usage) << c.what << ": " << words;
    EXPECT_NE(words.find(c.words), std::string::npos) << c.what << ": " << words;
  }
}

/// Whether or not a graph was simplified by its owner, ports have the same axes.
TEST(Session, PortsAreNamedWithoutSimplify) {
  for (const bool early : {false, true}) {
    for (const bool simplifies : {false, true}) {
      GraphBuilder net;
      net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 3, 4, 5}), 3, 8)})};
      infer_shapes(net.graph);
      auto graph = std::make_shared<Graph>(std::move(net.graph));
      if (early) simplify(*graph);
      PlanOptions options;
      options.simplify = simplifies;
      Session session(make_plan(graph, options));
      EXPECT_EQ(session.inputs()[0].shape.text(), "n=1,c=3,h=4,w=5");
      EXPECT_EQ(session.outputs()[0].shape.text(), "n=1,c=8,h=4,w=5");
    }
  }
}

TEST(Session, ReadsConstPixels) {
  GraphBuilder net;
  net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 3, 2, 2}), 3, 4)})};
  Session session(make_plan(std::make_shared<Graph>(std::move(net.graph))));
  const std::array<unsigned char, 12> pixels{};
  session.set_input(0,
                    {DType::u8, session.inputs()[0].shape, Layout::parse("NHWC"), pixels.data()});
  session.run();
}

/// a, b, c, ... say no more of a view's axes, or a port's, than that nobody named them, though the
/// other may have a c somewhere else. A port's letters in another order do.
TEST(Session, LettersInOrderAreNoNames) {
  GraphBuilder net;
  const ValueId volume = net.input({1, 1, 6, 1, 1}), rows = net.input({1, 2, 2, 2});
  const ValueId plain = net.input({1, 1, 6, 1, 1}), grid = net.input({2, 2});
  Attributes channels_second;
  channels_second.set("perm", Ints{0, 3, 1, 2});
  const ValueId product = net.add("matmul", {net.constant({3, 2}), rows});
  const ValueId image = net.add("transpose", {product}, channels_second);
  Tensor one(DType::f32, Shape::unnamed(Ints{1, 1, 1, 1, 1}));
  one.as<float>()[0] = 1;
  net.graph.outputs = {net.add("relu", {volume}),
                       net.add("relu", {rows}),
                       net.add("relu", {plain}),
                       net.add("relu", {grid}),
                       net.add("conv", {volume, net.graph.add_constant("one", std::move(one))}),
                       net.add("conv", {image, net.constant({1, 2, 1, 1})})};
  Session session(make_plan(std::make_shared<Graph>(std::move(net.graph))));

  struct Case {
    int port;
    const char *axes, *given_axes, *taken_axes;
    std::vector<float> given, taken;
  };

  const std::vector<float> four = {1, 2, 3, 4}, six = {1, 2, 3, 4, 5, 6};
  const std::vector<float> eight = {1, 2, 3, 4, 5, 6, 7, 8};
  const char* const letters = "a=1,b=1,c=6,d=1,e=1";
  const char* const names = "n=1,c=1,d=6,h=1,w=1";
  const Case cases[] = {
      {0, names, letters, letters, six, six},
      {1, "a=1,b=2,d=2,c=2", "a=1,b=2,c=2,d=2", "a=1,b=2,c=2,d=2", eight, eight},
      {1, "a=1,b=2,d=2,c=2", "a=1,b=2,c=2,d=2", "a=1,b=2,d=2,c=2", eight, eight},
      {1, "a=1,b=2,d=2,c=2", "b=2,a=1,c=2,d=2", "a=1,b=2,d=2,c=2", eight, {1, 3, 2, 4, 5, 7, 6, 8}},
      {2, letters, names, names, six, six},
      {3, "a=2,b=2", "x=2,y=2", "y=2,x=2", four, four},
      {3, "a=2,b=2", "b=2,a=2", "a=2,b=2", four, {1, 3, 2, 4}},
  };
  for (int i = 0; i < 4; ++i) {
    session.set_input(
        i, Tensor(DType::f32, session.inputs()[static_cast<std::size_t>(i)].shape).view());
  }
  for (const Case& c : cases) {
    const Shape& shape = session.inputs()[static_cast<std::size_t>(c.port)].shape;
    EXPECT_EQ(shape.text(), c.axes);
    Tensor given(DType::f32, Shape::parse(c.given_axes)),
        taken(DType::f32, Shape::parse(c.taken_axes));
    std::copy(c.given.begin(), c.given.end(), given.as<float>().begin());
    session.set_input(c.port, given.view());
    session.run();
    session.read_output(c.port, taken.mutable_view());
    EXPECT_TRUE(std::ranges::equal(taken.as<float>(), c.taken)) << c.axes << " <- " << c.given_axes;
  }
}

}  // namespace
}  // namespace stowage
