// SPDX-License-Identifier: Apache-2.0
// LSTM: the vector kernel against the reference, and the reference against sums by hand.
#include <gtest/gtest.h>

#include "ops/conv/test_util.h"
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using op_test::In;
using op_test::OpCase;

/// All inputs random; `given` says which of bias, lengths, h, c, peepholes are there.
OpCase lstm(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden,
            std::string direction, bool batch_first, std::string_view given) {
  const std::int64_t d = direction == "bidirectional" ? 2 : 1;
  const auto has = [&](char c) { return given.find(c) != std::string_view::npos; };
  OpCase c{.op = "lstm", .outputs = 3};
  c.attrs = {
      {"direction", direction}, {"hidden_size", hidden}, {"layout", std::int64_t{batch_first}}};
  // A wide state with large weights would make much of every rounding, from step to step.
  const float most = std::min(0.5f, 2 / std::sqrt(static_cast<float>(hidden)));
  const auto in = [&](bool there, Ints extents) {
    return In{.extents = std::move(extents), .lo = -most, .hi = most, .absent = !there};
  };
  const Ints state = batch_first ? Ints{batch, d, hidden} : Ints{d, batch, hidden};
  c.inputs = {in(true, batch_first ? Ints{batch, steps, inputs} : Ints{steps, batch, inputs}),
              in(true, {d, 4 * hidden, inputs}),
              in(true, {d, 4 * hidden, hidden}),
              in(has('b'), {d, 8 * hidden}),
              In{.absent = true},
              in(has('h'), state),
              in(has('c'), state),
              in(has('p'), {d, 3 * hidden})};
  if (has('l')) {
    std::vector<std::int32_t> lengths;
    for (std::int64_t b = 0; b < batch; ++b) {
      lengths.push_back(static_cast<std::int32_t>(b % (steps + 1)));
    }
    c.inputs[4] = In::of(op_test::tensor_of<std::int32_t>(DType::i32, {batch}, lengths), false);
  }
  return c;
}

TEST(Lstm, KernelAgainstReference) {
  op_test::for_each_target([] {
    for (std::int64_t hidden = 1; hidden <= 19; hidden += 3) {
      EXPECT_GT(op_test::check_offers(lstm(3, 2, 5, hidden, "forward", false, "b")), 0);
    }
    EXPECT_GT(op_test::check_offers(lstm(4, 3, 33, 8, "reverse", true, "bhcp")), 0);
    EXPECT_GT(op_test::check_offers(lstm(4, 3, 7, 16, "bidirectional", false, "bhcpl")), 0);
    EXPECT_GT(op_test::check_offers(lstm(2, 3, 7, 5, "bidirectional", true, "l")), 0);
    EXPECT_GT(op_test::check_offers(lstm(1, 1, 257, 128, "forward", false, "bhc")), 0);
  });
}

// Sequences side by side, of which some end before others, over more steps than are summed ahead.
TEST(Lstm, BatchesOfUnevenLengths) {
  const char* directions[] = {"forward", "reverse", "bidirectional"};
  const std::int64_t hidden[] = {1, 7, 33, 100};
  op_test::for_each_target([&] {
    for (std::int64_t batch = 1; batch <= 9; ++batch) {
      SCOPED_TRACE(batch);
      const char* direction = directions[batch % 3];
      const bool batch_first = batch % 2 == 0;
      EXPECT_GT(op_test::check_offers(
                    lstm(19, batch, 5, hidden[batch % 4], direction, batch_first, "bhcpl")),
                0);
      EXPECT_GT(op_test::check_offers(lstm(9, batch, 3, 17, direction, !batch_first, "")), 0);
    }
    EXPECT_GT(op_test::check_offers(lstm(2, 17, 3, 20, "bidirectional", false, "bl")), 0);
  });
}

/// With a projection to `out` elements behind the other operands.
OpCase projecting(std::int64_t hidden, std::int64_t out, std::string direction, bool batch_first,
                  std::int64_t steps = 3, std::int64_t batch = 2) {
  OpCase c = lstm(steps, batch, 5, hidden, std::move(direction), batch_first, "bhcpl");
  const std::int64_t d = c.inputs[1].extents[0];
  c.inputs[2].extents = {d, 4 * hidden, out};
  c.inputs[5].extents[2] = out;
  c.inputs.push_back({.extents = {d, out, hidden}, .lo = -0.5f, .hi = 0.5f});
  return c;
}

TEST(Lstm, ProjectsItsCells) {
  op_test::for_each_target([] {
    for (std::int64_t out = 1; out <= 33; out += 4) {
      EXPECT_GT(op_test::check_offers(projecting(19, out, "forward", false)), 0);
    }
    EXPECT_GT(op_test::check_offers(projecting(8, 70, "bidirectional", true)), 0);
    EXPECT_GT(op_test::check_offers(projecting(70, 8, "reverse", false)), 0);
    EXPECT_GT(op_test::check_offers(projecting(33, 7, "bidirectional", true, 10, 9)), 0);
  });
}

TEST(Lstm, EdgesOfFloats) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0, -inf, inf, NAN, 89, -89, 179, -179, 1e3f, -1e3f, 1e30f, -1e30f};
  for (const char* last : {"tanh", "relu"}) {
    OpCase c = lstm(2, std::ssize(x) / 2, 1, 5, "forward", false, "b");
    c.attrs["activations"] = std::vector<std::string>{"sigmoid", "tanh", last};
    c.inputs[0] = In::of(op_test::floats_tensor({2, std::ssize(x) / 2, 1}, x), false);
    op_test::for_each_target([&] { EXPECT_GT(op_test::check_offers(c), 0); });
  }
}

TEST(Lstm, ClippedAndCoupledGates) {
  OpCase c = lstm(3, 2, 5, 7, "forward", false, "bhcp");
  c.attrs["clip"] = 0.25f;
  c.attrs["cell_clip"] = 0.125f;
  c.attrs["input_forget"] = std::int64_t{1};
  op_test::for_each_target([&] { EXPECT_GT(op_test::check_offers(c), 0); });
}

// Gates are input, output, forget, cell; with zero weights only the bias speaks.
TEST(Lstm, OrderOfGates) {
  OpCase c{.op = "lstm", .outputs = 3};
  c.inputs = {In::of(op_test::floats_tensor({1, 1, 1}, {0})),
              In::of(op_test::floats_tensor({1, 4, 1}, {0, 0, 0, 0})),
              In::of(op_test::floats_tensor({1, 4, 1}, {0, 0, 0, 0})),
              In::of(op_test::floats_tensor({1, 8}, {1, 2, 3, 4, 0, 0, 0, 0})),
              In{.absent = true},
              In{.absent = true},
              In::of(op_test::floats_tensor({1, 1, 1}, {0.5f}))};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double cell = sigmoid(3) * 0.5 + sigmoid(1) * std::tanh(4);
  const std::vector<Tensor> out = op_test::reference(c);
  EXPECT_NEAR(out[2].as<float>()[0], cell, 1e-6);
  EXPECT_NEAR(out[0].as<float>()[0], sigmoid(2) * std::tanh(cell), 1e-6);
  EXPECT_EQ(out[0].as<float>()[0], out[1].as<float>()[0]);
}

TEST(Lstm, BadNodes) {
  const auto failure = [](const OpCase& c) -> std::string {
    try {
      op_test::reference(c);
    } catch (const Error& e) {
      return e.sentence();
    }
    return "";
  };
  OpCase wide = lstm(2, 1, 3, 4, "forward", false, "b");
  wide.inputs[3].extents = {1, 7};
  EXPECT_EQ(failure(wide), "input 3 has the shape [1, 7], not [1, 32]");
  OpCase mix = projecting(4, 3, "forward", false);
  mix.inputs.back().extents = {1, 2, 4};
  EXPECT_EQ(failure(mix), "input 8 has the shape [1, 2, 4], not [1, 3, 4]");
  OpCase name = lstm(2, 1, 3, 4, "forward", false, "");
  name.attrs["activations"] = std::vector<std::string>{"Sigmoid", "Tanh", "Zap"};
  EXPECT_EQ(failure(name), "the activation Zap");
  OpCase size = lstm(2, 1, 3, 4, "forward", false, "");
  size.attrs["hidden_size"] = std::int64_t{5};
  EXPECT_EQ(failure(size), "hidden_size is 5, the weights have 4");
  OpCase way = lstm(2, 1, 3, 4, "forward", false, "");
  way.attrs["direction"] = std::string("sideways");
  EXPECT_EQ(failure(way), "the direction is 'sideways'");
}

}  // namespace
}  // namespace stowage
