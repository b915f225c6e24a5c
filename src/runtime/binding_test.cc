// SPDX-License-Identifier: Apache-2.0
// Memory of the caller as the memory of model inputs and outputs.
#include "runtime/binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "stowage/convert.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

using Build = std::function<void(GraphBuilder&)>;

std::shared_ptr<const Plan> plan_of(const Build& build, const PlanOptions& options = {}) {
  GraphBuilder net;
  build(net);
  infer_shapes(net.graph);
  return make_plan(std::make_shared<Graph>(std::move(net.graph)), options);
}

void convolution(GraphBuilder& net) {
  net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 5, 6, 7}), 5, 9)})};
}

void exponential(GraphBuilder& net) {
  net.graph.outputs = {net.add("exp", {net.input({1, 5, 6, 7})})};
}

/// Its input and its output in one layout.
PlanOptions exponential_in(const char* layout) {
  PlanOptions options;
  options.layouts.insert_or_assign("x0", Layout::parse(layout));
  options.layouts.insert_or_assign("exp0.y", Layout::parse(layout));
  return options;
}

ValueId reshaped(GraphBuilder& net, ValueId x, const Ints& to) {
  Tensor shape(DType::i64, Shape("a", {static_cast<std::int64_t>(to.size())}));
  std::ranges::copy(to, shape.as<std::int64_t>().begin());
  return net.add("reshape", {x, net.graph.add_constant("to", std::move(shape))});
}

ValueId concat(GraphBuilder& net, std::vector<ValueId> parts) {
  Attributes along;
  along.set("axis", std::int64_t{1});
  return net.add("concat", std::move(parts), along);
}

void fill(Tensor& tensor, unsigned seed) {
  std::mt19937 random(seed);
  for (float& x : tensor.as<float>()) x = std::uniform_real_distribution<float>(-1, 1)(random);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Which ports of a plan need no copy, one digit each: "01 -> 1".
std::string in_place(const Plan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    out += input_place(plan, static_cast<int>(i)).format.copied_bytes == 0 ? '1' : '0';
  }
  out += " -> ";
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    out += output_place(plan, static_cast<int>(o)).format.copied_bytes == 0 ? '1' : '0';
  }
  return out;
}

struct Case {
  const char* name;
  Build build;
  const char* in_place;
};

const Case kCases[] = {
    {"a convolution", convolution, "1 -> 1"},
    {"a chain in place",
     [](GraphBuilder& net) {
       net.graph.outputs = {net.add("exp", {net.add("sigmoid", {net.input({2, 3, 4, 4})})})};
     },
     "1 -> 1"},
    {"an output that is read on",
     [](GraphBuilder& net) {
       const ValueId y = net.add("sigmoid", {net.input({2, 3, 4, 4})});
       net.graph.outputs = {y, net.add("exp", {y})};
     },
     "1 -> 11"},
    {"an input that several read",
     [](GraphBuilder& net) {
       const ValueId x = net.input({1, 4, 4, 4}), y = net.input({1, 4, 4, 4});
       net.graph.outputs = {net.add("add", {x, y}), net.add("mul", {x, net.add("exp", {y})})};
     },
     "11 -> 11"},
    {"a concatenation of what is made there",
     [](GraphBuilder& net) {
       const ValueId x = net.input({1, 16, 4, 4});
       net.graph.outputs = {concat(net, {net.add("sigmoid", {x}), net.add("exp", {x})})};
     },
     "1 -> 1"},
    {"a part that is an output as well",
     [](GraphBuilder& net) {
       const ValueId x = net.input({1, 16, 4, 4}), part = net.add("sigmoid", {x});
       net.graph.outputs = {concat(net, {part, net.add("exp", {x})}), part};
     },
     "1 -> 11"},
    {"a concatenation within another one",
     [](GraphBuilder& net) {
       const ValueId x = net.input({1, 16, 4, 4});
       const ValueId inner = concat(net, {net.add("sigmoid", {x}), net.add("exp", {x})});
       net.graph.outputs = {concat(net, {inner, net.add("tanh", {x})}), inner};
     },
     "1 -> 11"},
    {"parts of one tensor",
     [](GraphBuilder& net) {
       Attributes along;
       along.set("axis", std::int64_t{1});
       const ValueId y = net.add("sigmoid", {net.input({1, 32, 4, 4})});
       net.graph.outputs = net.add_many("split", {y}, 2, along);
     },
     "1 -> 00"},
    {"an output that relabels the input",
     [](GraphBuilder& net) {
       net.graph.outputs = {reshaped(net, net.input({2, 3, 4, 4}), {6, 16})};
     },
     "0 -> 0"},
    {"an output that relabels another one",
     [](GraphBuilder& net) {
       const ValueId y = net.add("sigmoid", {net.input({2, 3, 4, 4})});
       net.graph.outputs = {y, reshaped(net, y, {6, 16})};
     },
     "1 -> 00"},
    {"an output that relabels what nobody else wants",
     [](GraphBuilder& net) {
       const ValueId y = net.add("sigmoid", {net.input({2, 3, 4, 4})});
       net.graph.outputs = {reshaped(net, y, {6, 16})};
     },
     "1 -> 1"},
    {"one output twice",
     [](GraphBuilder& net) {
       const ValueId y = net.add("sigmoid", {net.input({2, 3, 4, 4})});
       net.graph.outputs = {y, y};
     },
     "1 -> 00"},
    {"an input that is an output",
     [](GraphBuilder& net) {
       const ValueId x = net.input({2, 3, 4, 4});
       net.graph.outputs = {x, net.add("exp", {x})};
     },
     "0 -> 01"},
    {"a constant, and an input that nobody reads",
     [](GraphBuilder& net) {
       net.input({1, 3, 4, 4});
       net.graph.outputs = {net.constant({2, 5})};
     },
     "1 -> 0"},
    {"nothing",
     [](GraphBuilder& net) {
       net.graph.outputs = {net.add("exp", {net.input({1, 0, 4, 4})})};
     },
     "1 -> 1"},
};

/// Bound memory holds what set_input would have taken and read_output given.
TEST(Binding, ComputesTheSameInMemoryOfTheCaller) {
  for (const Case& c : kCases) {
    for (const bool simplified : {true, false}) {
      PlanOptions options;
      options.simplify = simplified;
      const auto plan = plan_of(c.build, options);
      EXPECT_EQ(in_place(*plan), c.in_place) << c.name << "\n" << explain(*plan);
      Session set(plan), bound(plan);
      std::vector<Tensor> given, in, out;
      for (int i = 0; i < static_cast<int>(set.inputs().size()); ++i) {
        const PortFormat format = bound.input_format(i);
        given.emplace_back(DType::f32, set.inputs()[static_cast<std::size_t>(i)].shape);
        in.emplace_back(format.dtype, format.mapping.shape(), format.mapping.layout());
        bound.bind_input(i, in.back());
      }
      for (int o = 0; o < static_cast<int>(set.outputs().size()); ++o) {
        const PortFormat format = bound.output_format(o);
        out.emplace_back(format.dtype, format.mapping.shape(), format.mapping.layout());
        bound.bind_output(o, out.back());
      }
      for (unsigned round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < in.size(); ++i) {
          fill(given[i], round);
          set.set_input(static_cast<int>(i), given[i].view());
          Conversion(DType::f32, given[i].mapping(), DType::f32, in[i].mapping())
              .run(given[i].data(), in[i].data());
        }
        set.run();
        bound.run();
        for (std::size_t o = 0; o < out.size(); ++o) {
          const Tensor want = set.output(static_cast<int>(o));
          EXPECT_TRUE(same_bits(convert(out[o], want.layout()), want)) << c.name << " " << o;
          EXPECT_TRUE(same_bits(bound.output(static_cast<int>(o)), want)) << c.name << " " << o;
        }
      }
    }
  }
}

/// Pieces of a concatenation go straight to where it is bound.
TEST(Binding, PiecesLieInBoundMemory) {
  const auto plan = plan_of([](GraphBuilder& net) {
    const ValueId x = net.input({1, 16, 4, 4});
    const ValueId inner = concat(net, {net.add("sigmoid", {x}), net.add("exp", {x})});
    net.graph.outputs = {concat(net, {inner, net.add("tanh", {x})})};
  });
  std::vector<std::byte> memory(48 * 16 * sizeof(float));
  std::vector<std::byte*> own(plan->slots.size());
  replace_memory(*plan, output_place(*plan, 0).replaced, memory.data(), own);
  std::vector<std::ptrdiff_t> at;
  for (const std::byte* p : own) {
    if (p != nullptr) at.push_back(p - memory.data());
  }
  std::ranges::sort(at);
  EXPECT_EQ(at.front(), 0);
  for (const std::ptrdiff_t piece : {16, 32}) {
    EXPECT_NE(std::ranges::find(at, piece * 16 * 4), at.end()) << explain(*plan);
  }
}

/// The layout that the caller has is that of the port where a kernel reads or writes it.
TEST(Binding, FormatIsTheCallersWhereAKernelHasIt) {
  for (const char* layout : {"a b c d", "a b/8 c d b%8", "d a c b"}) {
    const Session session(plan_of(exponential, exponential_in(layout)));
    const PortFormat in = session.input_format(0), out = session.output_format(0);
    EXPECT_EQ(in.mapping.layout().text(), layout);
    EXPECT_EQ(out.mapping.layout().text(), layout);
    EXPECT_EQ(in.bytes, in.mapping.bytes() + 64);
    EXPECT_EQ(in.alignment, 64u);
  }
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

TEST(Binding, Misuse) {
  Session session(plan_of(convolution));
  const PortFormat in = session.input_format(0), out = session.output_format(0);
  Tensor x(in.dtype, in.mapping.shape(), in.mapping.layout());
  Tensor y(out.dtype, out.mapping.shape(), out.mapping.layout());
  Tensor other(DType::f32, in.mapping.shape(), Layout::parse("w h c n"));
  Tensor small(DType::f32, Shape("nchw", {1, 5, 6, 6}));
  Tensor whole(DType::i32, in.mapping.shape(), in.mapping.layout());
  const TensorView shifted(in.dtype, in.mapping, x.data() + 16);
  const TensorView nothing(in.dtype, in.mapping, nullptr);
  std::vector<std::byte> room(out.bytes + 64);

  struct Misuse {
    const char* what;
    std::function<void()> call;
    const char* words;
    ErrorCode code = ErrorCode::usage;
  };

  const Misuse cases[] = {
      {"no such input", [&] { session.bind_input(1, x); }, "there is no input 1"},
      {"no such output", [&] { session.bind_output(-1, y); }, "there is no output -1"},
      {"no format", [&] { session.output_format(7); }, "there is no output 7"},
      {"another layout", [&] { session.bind_input(0, other); }, "f32 in WHCN; bind memory"},
      {"another type", [&] { session.bind_input(0, whole); }, "not as i32 in"},
      {"another shape", [&] { session.bind_input(0, small); }, "has the shape n=1,c=5,h=6,w=7",
       ErrorCode::bad_input},
      {"no memory", [&] { session.bind_input(0, nothing, in.bytes); }, "null pointer"},
      {"off the alignment", [&] { session.bind_input(0, shifted, in.bytes); },
       "a multiple of 64 bytes, not 16 behind one"},
      {"without slack", [&] { session.bind_input(0, x.view(), in.mapping.bytes()); },
       "64 behind them that kernels may read"},
      {"an output on an input",
       [&] {
         session.bind_input(0, x);
         session.bind_output(0, {out.dtype, out.mapping, x.data()}, out.bytes);
       },
       "is bound already"},
      {"an input on an output",
       [&] {
         session.unbind_input(0);
         session.bind_output(0, y);
         session.bind_input(0, {in.dtype, in.mapping, y.data()}, in.bytes);
       },
       "is bound already"},
      {"a run without the input", [&] { session.run(); }, "'x0' is not set"},
      {"an output before a run", [&] { session.output(0); }, "before the first run"},
  };
  for (const Misuse& c : cases) {
    const auto [code, words] = thrown(c.call);
    EXPECT_EQ(code, c.code) << c.what << ": " << words;
    EXPECT_NE(words.find(c.words), std::string::npos) << c.what << ": " << words;
  }
  // What failed changed nothing.
  session.bind_input(0, x);
  session.run();
  EXPECT_TRUE(same_bits(convert(y, session.output(0).layout()), session.output(0)));
}

/// Kernels rely on zeros there: who brings other bytes is told.
TEST(Binding, TailsMustHoldZero) {
  Session session(plan_of(exponential, exponential_in("a b/8 c d b%8")));
  const PortFormat in = session.input_format(0);
  ASSERT_FALSE(in.mapping.bijective()) << in.mapping.layout().text();
  Tensor x(in.dtype, in.mapping.shape(), in.mapping.layout());
  std::vector<std::int64_t> at(4);
  std::size_t tail = 0;
  while (in.mapping.inverse(static_cast<std::int64_t>(tail), at) != Cell::tail) ++tail;
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), 1e-30f}) {
    x.as<float>()[tail] = wrong;
    session.bind_input(0, x);
    const auto [code, words] = thrown([&] { session.run(); });
    EXPECT_EQ(code, ErrorCode::bad_input);
    EXPECT_NE(words.find("tail of the bound memory is not zero"), std::string::npos) << words;
    EXPECT_EQ(thrown([&] { session.output(0); }).first, ErrorCode::usage);
  }
  x.as<float>()[tail] = 0;
  session.run();
}

/// set_input takes the place of what is bound, and the other way round.
TEST(Binding, TheLastOfSetAndBindCounts) {
  const auto plan = plan_of([](GraphBuilder& net) {
    net.graph.outputs = {net.add("neg", {net.input({1, 2, 3, 4})})};
  });
  Session session(plan);
  const Shape& shape = session.inputs()[0].shape;
  const PortFormat format = session.input_format(0);
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) {
    x.emplace_back(format.dtype, shape, format.mapping.layout());
    std::ranges::fill(x.back().as<float>(), static_cast<float>(i + 1));
  }
  const auto result = [&] {
    session.run();
    return -session.output(0).as<float>()[0];
  };
  session.set_input(0, x[0].view());
  EXPECT_EQ(result(), 1);
  session.bind_input(0, x[1]);
  EXPECT_EQ(result(), 2);
  x[1].as<float>()[0] = 5;  // read anew by every run
  EXPECT_EQ(result(), 5);
  session.bind_input(0, x[2]);
  EXPECT_EQ(result(), 3);
  session.set_input(0, x[0].view());
  EXPECT_EQ(result(), 1);
  EXPECT_EQ(x[2].as<float>()[0], 3);  // as it was
  session.bind_input(0, x[2]);
  session.unbind_input(0);
  EXPECT_EQ(thrown([&] { session.run(); }).first, ErrorCode::usage);
  session.unbind_input(0);  // nothing is bound: nothing happens
  session.set_input(0, x[1].view());
  EXPECT_EQ(result(), 5);

  // The same memory again, or overlapping what the output had before, is no conflict.
  Tensor y(format.dtype, shape, session.output_format(0).mapping.layout());
  session.bind_output(0, y);
  session.bind_output(0, y);
  EXPECT_EQ(result(), 5);
  EXPECT_EQ(y.as<float>()[0], -5);
  session.unbind_output(0);
  EXPECT_EQ(thrown([&] { session.output(0); }).first, ErrorCode::usage);
  session.set_input(0, x[0].view());
  EXPECT_EQ(result(), 1);
  EXPECT_EQ(y.as<float>()[0], -5);
}

/// Two sessions of one plan with memory of their own, one of them moved.
TEST(Binding, BelongsToOneSession) {
  const auto plan = plan_of(convolution);
  Session a(plan), b(plan);
  const PortFormat in = a.input_format(0), out = a.output_format(0);
  Tensor x(in.dtype, in.mapping.shape(), in.mapping.layout());
  Tensor y(out.dtype, out.mapping.shape(), out.mapping.layout());
  for (float& v : x.as<float>()) v = 0;
  a.bind_input(0, x);
  a.bind_output(0, y);
  Session moved(std::move(a));
  moved.run();
  b.set_input(0, Tensor(DType::f32, b.inputs()[0].shape).view());
  b.run();
  EXPECT_TRUE(same_bits(moved.output(0), b.output(0)));
  EXPECT_TRUE(same_bits(convert(y, b.output(0).layout()), b.output(0)));
}

}  // namespace
}  // namespace stowage
