// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "base/float_mode.h"
#include "base/text.h"
#include "base/thread_cpu.h"

namespace stowage {

namespace {

constexpr std::size_t kCacheLine = 64;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // yield is no more than a hint that few cores take; isb waits for some tens of cycles.
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

/// Whether `done` came true within about `limit`.
template <class Done>
bool spin(std::chrono::nanoseconds limit, Done done) noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return false;
}

constexpr std::chrono::microseconds kSpin{50};
/// How often it is repeated while those who are waited for are at work. A thread that sleeps has
/// its CPU again when the program that came there meanwhile has had its turn, milliseconds later.
constexpr int kMostSpins = 40;
/// A thread that has run no nanosecond for so long does not run.
constexpr std::chrono::microseconds kStandsStill{10};

}  // namespace

/// The threads besides the caller.
class ThreadPool::Team {
 public:
  explicit Team(std::size_t helpers) : shares_(helpers + 1) {
    threads_.reserve(helpers);
    try {
      for (std::size_t i = 1; i <= helpers; ++i) threads_.emplace_back([this, i] { help(i); });
    } catch (const std::system_error&) {
      stop();
      fail(ErrorCode::limit, "cannot start ", helpers + 1, " threads");
    }
  }

  ~Team() { stop(); }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(std::size_t count, void (*task)(void*, std::size_t), void* context) noexcept {
    task_ = task;
    context_ = context;
    float_mode_ = float_mode();
    cpu_.store(current_cpu(), std::memory_order_relaxed);
    const std::size_t quotient = count / shares_.size(), remainder = count % shares_.size();
    std::size_t begin = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const std::size_t size = quotient + (i < remainder ? 1 : 0);
      shares_[i].begin = begin;
      begin += size;
      shares_[i].end.store(begin, std::memory_order_relaxed);
      shares_[i].left.store(static_cast<std::ptrdiff_t>(size), std::memory_order_relaxed);
    }
    gate_.store(kOpen, std::memory_order_release);
    call_.fetch_add(1);
    call_.notify_all();
    take_tasks(0);
    // All tasks are taken. Who is inside has yet to finish, and nobody comes in any more.
    std::uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto left = [&] { return (inside = gate_.load(std::memory_order_acquire)) == 0; };
    for (int spins = 1; inside != 0 && !spin(kSpin, left); ++spins) {
      ThreadCpu* const helper = late();
      if (helper != nullptr) helper->move_to(current_cpu());
      if (helper != nullptr || spins >= kMostSpins) gate_.wait(inside);
    }
  }

 private:
  /// A thread's own tasks: it takes them from `begin`, others take them from `end`.
  struct alignas(kCacheLine) Share {
    std::atomic<std::ptrdiff_t> left{0};  // not above 0: nothing left
    std::atomic<std::size_t> end{0};
    std::size_t begin = 0;  // of the owner
    // Of the helper that owns it.
    std::atomic<bool> inside{false};
    ThreadCpu thread;
    std::chrono::nanoseconds seen{};  // by late()
  };

  static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;

  /// A helper that has a task and no CPU; null where all who are inside run.
  ThreadCpu* late() noexcept {
    const auto time_inside = [](const Share& share) {
      return share.inside.load() ? share.thread.time() : std::chrono::nanoseconds(-1);
    };
    for (Share& share : shares_) share.seen = time_inside(share);
    spin(kStandsStill, [] { return false; });
    for (Share& share : shares_) {
      if (share.seen.count() >= 0 && time_inside(share) == share.seen) return &share.thread;
    }
    return nullptr;
  }

  static bool take(Share& share) noexcept {
    return share.left.load(std::memory_order_relaxed) > 0 &&
           share.left.fetch_sub(1, std::memory_order_relaxed) > 0;
  }

  /// Runs tasks until none is left.
  void take_tasks(std::size_t self) noexcept {
    Share& own = shares_[self];
    while (take(own)) task_(context_, own.begin++);
    for (std::size_t k = 1; k < shares_.size(); ++k) {
      Share& other = shares_[(self + k) % shares_.size()];
      while (take(other)) {
        task_(context_, other.end.fetch_sub(1, std::memory_order_relaxed) - 1);
      }
    }
  }

  bool enter() noexcept {
    std::uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) != 0) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Whether a region begins soon: while the caller is at the last tasks of one, the next is near.
  bool spin_for_call(std::uint32_t seen) noexcept {
    const auto called = [&] { return call_.load(std::memory_order_acquire) != seen; };
    for (int spins = 1;; ++spins) {
      const bool near = (gate_.load(std::memory_order_relaxed) & kOpen) != 0;
      if (spin(kSpin, called)) return true;
      if (!near || spins >= kMostSpins) return false;
    }
  }

  void help(std::size_t self) noexcept {
    std::uint32_t seen = 0;
    Share& own = shares_[self];
    own.thread.begin();
    for (;;) {
      if (!spin_for_call(seen)) call_.wait(seen);
      seen = call_.load(std::memory_order_acquire);
      if (stopped_.load(std::memory_order_relaxed)) return;
      // On one CPU with the caller it would only take the caller's time. The kernel often wakes a
      // thread where it was woken from.
      own.thread.move_back();
      const int caller = cpu_.load(std::memory_order_relaxed);
      if (current_cpu() == caller) leave_cpu(caller);
      if (!enter()) continue;
      own.inside.store(true);
      set_float_mode(float_mode_);
      take_tasks(self);
      own.inside.store(false);
      if (gate_.fetch_sub(1) == 1) gate_.notify_one();
      own.thread.move_back();
    }
  }

  void stop() noexcept {
    stopped_.store(true, std::memory_order_relaxed);
    call_.fetch_add(1);
    call_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  // Counts regions; helpers sleep on it.
  alignas(kCacheLine) std::atomic<std::uint32_t> call_{0};
  std::atomic<bool> stopped_{false};
  void (*task_)(void*, std::size_t) = nullptr;
  void* context_ = nullptr;
  std::uint64_t float_mode_ = 0;
  std::atomic<int> cpu_{-1};  // the caller's
  // kOpen while helpers may come in, and how many are inside; the caller sleeps on it.
  alignas(kCacheLine) std::atomic<std::uint32_t> gate_{0};
  std::vector<Share> shares_;
  std::vector<std::thread> threads_;
};

void expect_threads(int threads) {
  if (threads < 1 || threads > 256) {
    fail(ErrorCode::usage, "the number of threads must be 1 to 256, not ", threads);
  }
}

ThreadPool::ThreadPool(int threads, int cpus) : threads_(std::max(1, std::min(threads, cpus))) {
  expect_threads(threads);
  if (threads_ > 1) team_ = std::make_unique<Team>(static_cast<std::size_t>(threads_) - 1);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run_raw(std::size_t count, void (*task)(void*, std::size_t),
                         void* context) noexcept {
  if (team_ == nullptr) {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  } else {
    team_->run(count, task, context);
  }
}

}  // namespace stowage
