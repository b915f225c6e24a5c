// SPDX-License-Identifier: Apache-2.0
// What a sequence gives does not depend on those beside it nor on the threads, to the bit.
#include "kernels/recurrent/walk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/recurrent/gru.h"
#include "kernels/recurrent/lstm.h"
#include "kernels/test_util.h"

namespace stowage {
namespace {

using op_test::for_each_target;

constexpr std::int64_t kSteps = 11, kInputs = 37;

/// Operands with the batch first: those of one sequence are a part of those of all.
struct Operands {
  std::vector<float> x, w, r, b, h;
  std::vector<std::int32_t> lengths;
};

std::vector<float> random_floats(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> real(-0.2f, 0.2f);
  std::vector<float> v(static_cast<std::size_t>(count) + kVectorSlack / sizeof(float));
  for (float& f : v) f = real(random);
  return v;
}

Operands random_operands(const Sequences& s, std::int64_t columns) {
  std::mt19937 random(5);
  const std::int64_t weights = s.directions * round_up(columns, kGatePanel);
  Operands o{.x = random_floats(s.batch * s.steps * s.inputs, random),
             .w = random_floats(weights * s.inputs, random),
             .r = random_floats(weights * s.outputs, random),
             .b = random_floats(s.directions * 2 * columns, random),
             .h = random_floats(s.batch * s.directions * s.outputs, random)};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    o.lengths.push_back(static_cast<std::int32_t>(5 * b % (s.steps + 1)));
  }
  return o;
}

/// y, and behind it the last h, of the batches first..first + s.batch.
template <class P>
std::vector<float> outputs_of(const KernelDef& def, const P& s, const Operands& o,
                              std::int64_t first, std::int64_t scratch, ThreadPool* pool) {
  const auto bytes = [](const auto* p) { return reinterpret_cast<const std::byte*>(p); };
  const std::int64_t state = s.directions * s.outputs, all = s.batch * s.steps * state;
  std::vector<float> y(static_cast<std::size_t>(all + s.batch * state));
  std::vector<float> memory(static_cast<std::size_t>(s.directions * s.batch * scratch), NAN);
  const std::byte* in[] = {bytes(o.x.data() + first * s.steps * s.inputs),
                           bytes(o.w.data()),
                           bytes(o.r.data()),
                           bytes(o.b.data()),
                           bytes(o.lengths.data() + first),
                           bytes(o.h.data() + first * state)};
  std::byte* out[] = {reinterpret_cast<std::byte*>(y.data()),
                      reinterpret_cast<std::byte*>(y.data() + all)};
  KernelCall(def, s).bind().run({in, out, reinterpret_cast<std::byte*>(memory.data()), pool});
  return y;
}

template <class P, class Scratch>
void expect_same_bits(const KernelDef& def, P s, std::int64_t columns, const Scratch& scratch) {
  const Operands o = random_operands(s, columns);
  const std::int64_t batch = s.batch, state = s.directions * s.outputs;
  const std::vector<float> all = outputs_of(def, s, o, 0, scratch(s), nullptr);
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(outputs_of(def, s, o, 0, scratch(s), &pool), all) << threads << " threads";
  }
  ThreadPool two(2);
  s.batch = 1;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::vector<float> one = outputs_of(def, s, o, b, scratch(s), &two);
    const std::int64_t y = s.steps * state;
    EXPECT_EQ(0, std::memcmp(one.data(), all.data() + b * y, static_cast<std::size_t>(y) * 4)) << b;
    EXPECT_EQ(0, std::memcmp(one.data() + y, all.data() + batch * y + b * state,
                             static_cast<std::size_t>(state) * 4))
        << b;
  }
}

template <class P>
P sequences(std::int64_t batch, std::int64_t outputs, std::int64_t directions) {
  P s;
  s.steps = kSteps;
  s.batch = batch;
  s.inputs = kInputs;
  s.outputs = outputs;
  s.directions = directions;
  s.batch_first = true;
  return s;
}

TEST(Recurrent, SequencesDoNotDependOnEachOtherNorOnThreads) {
  using enum Gate;
  for_each_target([] {
    for (const std::int64_t directions : {1, 2}) {
      for (std::int64_t batch = 1; batch <= 9; ++batch) {
        // As wide as it must be that threads share the sums of one sequence.
        const std::int64_t n = batch == 1 ? 300 : 20 + batch;
        SCOPED_TRACE(text(directions, " directions, batch ", batch));
        auto lstm = sequences<Lstm>(batch, n, directions);
        lstm.hidden = n;
        lstm.gates = {sigmoid, tanh, tanh, sigmoid, tanh, tanh};
        expect_same_bits(kLstmPanels, lstm, 4 * n, lstm_scratch);
        auto gru = sequences<Gru>(batch, n, directions);
        gru.gates = {sigmoid, tanh, sigmoid, tanh};
        gru.reset_after = batch % 2 == 0;
        expect_same_bits(kGruPanels, gru, 3 * n, gru_scratch);
        auto rnn = sequences<Rnn>(batch, n, directions);
        rnn.gates = {tanh, relu};
        expect_same_bits(kRnnPanels, rnn, n, rnn_scratch);
      }
    }
  });
}

}  // namespace
}  // namespace stowage
