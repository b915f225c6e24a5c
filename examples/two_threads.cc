// SPDX-License-Identifier: Apache-2.0
// Two threads, each with a session of its own, and one plan, which both share with its weights. No
// byte is copied on the way in and out: the sessions work on memory of the program, in the formats
// that the plan names.
//
//   two_threads MODEL [--runs N] [--shape NAME=1,3,224,224]...
//
// prints how long runs take while the other thread runs, too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <latch>
#include <thread>

#include "common.h"

namespace {

using stowage::DType;
using stowage::Error;
using stowage::ErrorCode;
using stowage::Tensor;

/// A tensor that can be bound, the same values every time in those of f32.
Tensor tensor_for(const stowage::PortFormat& format) {
  if (format.dtype != DType::f32) {
    return Tensor(format.dtype, format.mapping.shape(), format.mapping.layout());
  }
  Tensor plain(DType::f32, format.mapping.shape());
  unsigned state = 1;
  for (float& value : plain.as<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
  }
  // Elements become what they were, and padding zero.
  return stowage::convert(plain, format.mapping.layout());
}

struct Worker {
  explicit Worker(const std::shared_ptr<const stowage::Plan>& plan) : session(plan) {
    // A Tensor may be moved while it is bound: its memory stays where it is.
    for (std::size_t i = 0; i < session.inputs().size(); ++i) {
      inputs.push_back(tensor_for(session.input_format(static_cast<int>(i))));
      session.bind_input(static_cast<int>(i), inputs.back());
    }
    for (std::size_t i = 0; i < session.outputs().size(); ++i) {
      outputs.push_back(tensor_for(session.output_format(static_cast<int>(i))));
      session.bind_output(static_cast<int>(i), outputs.back());
    }
  }

  void run(int runs, std::latch& start) {
    start.arrive_and_wait();
    try {
      for (int i = 0; i < runs; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        session.run();
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        ms.push_back(took.count());
      }
    } catch (...) {
      failed = std::current_exception();
    }
  }

  std::vector<Tensor> inputs, outputs;
  stowage::Session session;
  std::vector<double> ms;
  std::exception_ptr failed;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void run(const Arguments& arguments) {
  const int runs = std::max(static_cast<int>(arguments.numbers("runs", "20")[0]), 1);
  // Each session runs on the thread that calls it.
  const auto plan = stowage::make_plan(
      stowage::import_model(arguments.files[0], {.shapes = arguments.shapes}), {.threads = 1});
  Worker workers[] = {Worker(plan), Worker(plan)};
  std::latch start(2);
  std::thread second([&] { workers[1].run(runs, start); });
  workers[0].run(runs, start);
  second.join();

  for (Worker& worker : workers) {
    if (worker.failed) std::rethrow_exception(worker.failed);
    std::sort(worker.ms.begin(), worker.ms.end());
    std::printf("thread %d: %d runs, fastest %.2f ms, median %.2f ms, slowest %.2f ms\n",
                static_cast<int>(&worker - workers) + 1, runs, worker.ms.front(),
                worker.ms[worker.ms.size() / 2], worker.ms.back());
  }
  const bool same = std::equal(workers[0].outputs.begin(), workers[0].outputs.end(),
                               workers[1].outputs.begin(), same_bits);
  std::printf("the results are %s\n", same ? "the same" : "not the same");
  if (!same) throw Error(ErrorCode::check_failed, "two sessions of one plan disagree");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("two_threads", [&] { run(Arguments(argc, argv, 1, {"runs", "shape"})); });
}
