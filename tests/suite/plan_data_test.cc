// SPDX-License-Identifier: Apache-2.0
// A plan is data: it is printed, compared, kept as bytes, and run by sessions on several threads.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

#include "plan/plan.h"
#include "stowage/error.h"
#include "tests/suite/models.h"
#include "tests/suite/run_model.h"

namespace stowage {
namespace {

std::shared_ptr<const Plan> plan_of(const std::filesystem::path& folder, int threads) {
  PlanOptions options;
  options.threads = threads;
  return make_plan(import_model((folder / "model.onnx").string()), options);
}

std::vector<Tensor> inputs_of(const Session& session, unsigned seed) {
  std::vector<Tensor> inputs;
  for (const Port& port : session.inputs()) inputs.push_back(random_input(port, seed));
  return inputs;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].bytes() != b[i].bytes() || std::memcmp(a[i].data(), b[i].data(), a[i].bytes()) != 0) {
      return false;
    }
  }
  return a.size() == b.size();
}

/// One of them runs operators by their references.
class PlanData : public testing::TestWithParam<std::string> {};

TEST_P(PlanData, RunsInTwoSessionsOnTwoThreads) {
  const auto folder = model_folder(GetParam());
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  const auto plan = plan_of(folder, 2);
  std::array<std::vector<Tensor>, 2> alone;
  for (const unsigned i : {0u, 1u}) {
    Session session(plan);
    alone[i] = run_session(session, inputs_of(session, i));
  }
  std::array<int, 2> wrong{};
  const auto work = [&](unsigned i) {
    Session session(plan);
    const auto inputs = inputs_of(session, i);
    for (int k = 0; k < 3; ++k) {
      wrong[i] += same_bits(run_session(session, inputs), alone[i]) ? 0 : 1;
    }
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  EXPECT_EQ(wrong[0], 0);
  EXPECT_EQ(wrong[1], 0);
}

TEST_P(PlanData, GoesThroughBytes) {
  const auto folder = model_folder(GetParam());
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  const auto plan = plan_of(folder, 1);
  const std::vector<std::byte> bytes = plan_bytes(*plan);
  const auto read = read_plan(bytes);
  EXPECT_TRUE(plan_bytes(*read) == bytes);
  EXPECT_EQ(explain(*read), explain(*plan));
  Session first(plan), second(read);
  const auto inputs = inputs_of(first, 7);
  EXPECT_TRUE(same_bits(run_session(second, inputs), run_session(first, inputs)));
}

INSTANTIATE_TEST_SUITE_P(Suite, PlanData,
                         testing::Values("models/onnx/mnist_cntk", "models/onnx/dtln_1",
                                         "models/onnx/hand_keypoint_classifier",
                                         "models/onnx/hand_point_history_lstm",
                                         "models/onnx/blazeface_front"),
                         model_test_name);

TEST(PlanBytes, RefuseWhatIsNoPlan) {
  const auto folder = model_folder("models/onnx/hand_keypoint_classifier");
  if (folder.empty()) GTEST_SKIP() << "skipped: no test data";
  const std::vector<std::byte> bytes = plan_bytes(*plan_of(folder, 1));
  EXPECT_THROW(read_plan({}), Error);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 97) {
    EXPECT_THROW(read_plan(std::span(bytes).first(cut)), Error) << cut;
  }
  std::vector<std::byte> longer = bytes, other = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(read_plan(longer), Error);
  other[9] = std::byte{'X'};
  EXPECT_THROW(read_plan(other), Error);
}

}  // namespace
}  // namespace stowage
