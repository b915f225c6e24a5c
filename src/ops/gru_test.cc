// SPDX-License-Identifier: Apache-2.0
// GRU and simple RNN: the vector kernels against the references, and the references against sums by
// hand.
#include <gtest/gtest.h>

#include "ops/conv/test_util.h"
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using op_test::In;
using op_test::OpCase;

/// All inputs random; `given` says which of bias, lengths, h are there.
OpCase recurrent(const std::string& op, std::int64_t steps, std::int64_t batch, std::int64_t inputs,
                 std::int64_t hidden, std::string direction, bool batch_first,
                 std::string_view given) {
  const std::int64_t d = direction == "bidirectional" ? 2 : 1, gates = op == "gru" ? 3 : 1;
  const auto has = [&](char c) { return given.find(c) != std::string_view::npos; };
  OpCase c{.op = op, .outputs = 2};
  c.attrs = {
      {"direction", direction}, {"hidden_size", hidden}, {"layout", std::int64_t{batch_first}}};
  if (has('r')) c.attrs["linear_before_reset"] = std::int64_t{1};
  // A wide state with large weights would make much of every rounding, from step to step.
  const float most = std::min(0.5f, 2 / std::sqrt(static_cast<float>(hidden)));
  const auto in = [&](bool there, Ints extents) {
    return In{.extents = std::move(extents), .lo = -most, .hi = most, .absent = !there};
  };
  c.inputs = {in(true, batch_first ? Ints{batch, steps, inputs} : Ints{steps, batch, inputs}),
              in(true, {d, gates * hidden, inputs}),
              in(true, {d, gates * hidden, hidden}),
              in(has('b'), {d, 2 * gates * hidden}),
              In{.absent = true},
              in(has('h'), batch_first ? Ints{batch, d, hidden} : Ints{d, batch, hidden})};
  if (has('l')) {
    std::vector<std::int32_t> lengths;
    for (std::int64_t b = 0; b < batch; ++b) {
      lengths.push_back(static_cast<std::int32_t>(b % (steps + 1)));
    }
    c.inputs[4] = In::of(op_test::tensor_of<std::int32_t>(DType::i32, {batch}, lengths), false);
  }
  return c;
}

TEST(Gru, KernelAgainstReference) {
  op_test::for_each_target([] {
    for (const char* given : {"b", "br"}) {
      for (std::int64_t hidden = 1; hidden <= 33; ++hidden) {
        EXPECT_GT(op_test::check_offers(recurrent("gru", 3, 2, 5, hidden, "forward", false, given)),
                  0);
      }
    }
    for (const char* given : {"bh", "bhr", "bhl", "bhlr", "", "r"}) {
      SCOPED_TRACE(given);
      for (const char* direction : {"reverse", "bidirectional"}) {
        EXPECT_GT(op_test::check_offers(recurrent("gru", 4, 3, 7, 21, direction, true, given)), 0);
        EXPECT_GT(op_test::check_offers(recurrent("gru", 4, 3, 33, 70, direction, false, given)),
                  0);
      }
    }
  });
}

TEST(Rnn, KernelAgainstReference) {
  op_test::for_each_target([] {
    for (std::int64_t hidden = 1; hidden <= 33; ++hidden) {
      EXPECT_GT(op_test::check_offers(recurrent("rnn", 3, 2, 5, hidden, "forward", false, "b")), 0);
    }
    for (const char* given : {"bh", "bhl", ""}) {
      for (const char* direction : {"reverse", "bidirectional"}) {
        EXPECT_GT(op_test::check_offers(recurrent("rnn", 4, 3, 7, 70, direction, true, given)), 0);
        EXPECT_GT(op_test::check_offers(recurrent("rnn", 4, 3, 33, 8, direction, false, given)), 0);
      }
    }
  });
}

// Sequences side by side, of which some end before others, over more steps than are summed ahead.
TEST(Gru, BatchesOfUnevenLengths) {
  const char* directions[] = {"forward", "reverse", "bidirectional"};
  const std::int64_t hidden[] = {1, 7, 33, 100};

  struct Way {
    const char *op, *given;
  };

  op_test::for_each_target([&] {
    for (const Way way : {Way{"gru", "bhl"}, Way{"gru", "bhlr"}, Way{"rnn", "bhl"}}) {
      for (std::int64_t batch = 1; batch <= 9; ++batch) {
        SCOPED_TRACE(text(way.op, " ", way.given, " ", batch));
        EXPECT_GT(
            op_test::check_offers(recurrent(way.op, 19, batch, 5, hidden[batch % 4],
                                            directions[batch % 3], batch % 2 == 0, way.given)),
            0);
      }
      EXPECT_GT(
          op_test::check_offers(recurrent(way.op, 2, 17, 3, 20, "bidirectional", false, way.given)),
          0);
    }
  });
}

TEST(Gru, ClippedSumsAndOtherFunctions) {
  for (const char* given : {"bh", "bhr"}) {
    OpCase c = recurrent("gru", 3, 2, 5, 7, "bidirectional", false, given);
    c.attrs["clip"] = 0.25f;
    c.attrs["activations"] = std::vector<std::string>{"Tanh", "Relu", "Sigmoid", "Sigmoid"};
    op_test::for_each_target([&] { EXPECT_GT(op_test::check_offers(c), 0); });
  }
  OpCase c = recurrent("rnn", 3, 2, 5, 7, "bidirectional", false, "bh");
  c.attrs["clip"] = 0.25f;
  c.attrs["activations"] = std::vector<std::string>{"Relu", "Sigmoid"};
  op_test::for_each_target([&] { EXPECT_GT(op_test::check_offers(c), 0); });
}

TEST(Gru, EdgesOfFloats) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0, -inf, inf, NAN, 89, -89, 179, -179, 1e3f, -1e3f, 1e30f, -1e30f};
  for (const char* given : {"b", "br"}) {
    OpCase c = recurrent("gru", 2, std::ssize(x) / 2, 1, 5, "forward", false, given);
    c.inputs[0] = In::of(op_test::floats_tensor({2, std::ssize(x) / 2, 1}, x), false);
    op_test::for_each_target([&] { EXPECT_GT(op_test::check_offers(c), 0); });
  }
}

// Gates are update, reset, new. One cell with an input of 1 and a state of 0.5.
TEST(Gru, OrderOfGates) {
  for (const bool after : {false, true}) {
    OpCase c{.op = "gru", .attrs = {{"linear_before_reset", std::int64_t{after}}}, .outputs = 2};
    c.inputs = {In::of(op_test::floats_tensor({1, 1, 1}, {1})),
                In::of(op_test::floats_tensor({1, 3, 1}, {1, 2, 3})),
                In::of(op_test::floats_tensor({1, 3, 1}, {4, 5, 6})),
                In::of(op_test::floats_tensor({1, 6}, {-1, -2, -3, 0.25f, 0.5f, 0.75f})),
                In{.absent = true},
                In::of(op_test::floats_tensor({1, 1, 1}, {0.5f}))};
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    const double update = sigmoid(1 + 4 * 0.5 - 1 + 0.25), reset = sigmoid(2 + 5 * 0.5 - 2 + 0.5);
    const double of_state = after ? reset * (6 * 0.5 + 0.75) : 6 * (reset * 0.5) + 0.75;
    const double want = (1 - update) * std::tanh(3 - 3 + of_state) + update * 0.5;
    const std::vector<Tensor> out = op_test::reference(c);
    EXPECT_NEAR(out[0].as<float>()[0], want, 1e-6);
    EXPECT_EQ(out[0].as<float>()[0], out[1].as<float>()[0]);
  }
}

TEST(Rnn, IsTheFunctionOfASum) {
  OpCase c{.op = "rnn", .outputs = 2};
  c.inputs = {In::of(op_test::floats_tensor({2, 1, 1}, {1, 2})),
              In::of(op_test::floats_tensor({1, 1, 1}, {0.5f})),
              In::of(op_test::floats_tensor({1, 1, 1}, {0.25f})),
              In::of(op_test::floats_tensor({1, 2}, {0.125f, -0.5f}))};
  const double first = std::tanh(0.5 + 0.125 - 0.5);
  const std::vector<Tensor> out = op_test::reference(c);
  EXPECT_NEAR(out[0].as<float>()[0], first, 1e-6);
  EXPECT_NEAR(out[0].as<float>()[1], std::tanh(1 + 0.25 * first + 0.125 - 0.5), 1e-6);
}

TEST(Gru, BadNodes) {
  const auto failure = [](const OpCase& c) -> std::string {
    try {
      op_test::reference(c);
    } catch (const Error& e) {
      return e.sentence();
    }
    return "";
  };
  OpCase wide = recurrent("gru", 2, 1, 3, 4, "forward", false, "b");
  wide.inputs[3].extents = {1, 7};
  EXPECT_EQ(failure(wide), "input 3 has the shape [1, 7], not [1, 24]");
  OpCase rows = recurrent("rnn", 2, 1, 3, 4, "forward", false, "");
  rows.inputs[1].extents = {1, 5, 3};
  EXPECT_EQ(failure(rows), "input 1 has the shape [1, 5, 3], not [1, 4, 3]");
  OpCase name = recurrent("gru", 2, 1, 3, 4, "forward", false, "");
  name.attrs["activations"] = std::vector<std::string>{"Sigmoid", "Zap"};
  EXPECT_EQ(failure(name), "the activation Zap");
  name.attrs["activations"] = std::vector<std::string>{"Sigmoid"};
  EXPECT_EQ(failure(name), "activations must be 2 names");
  OpCase size = recurrent("rnn", 2, 1, 3, 4, "forward", false, "");
  size.attrs["hidden_size"] = std::int64_t{5};
  EXPECT_EQ(failure(size), "hidden_size is 5, the weights have 4");
  OpCase way = recurrent("rnn", 2, 1, 3, 4, "forward", false, "");
  way.attrs["direction"] = std::string("sideways");
  EXPECT_EQ(failure(way), "the direction is 'sideways'");
}

}  // namespace
}  // namespace stowage
