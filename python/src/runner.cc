// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "stowage/error.h"

namespace stowage::python {

void expect_process(pid_t maker, const char* what) {
  if (getpid() == maker) return;
  throw Error(ErrorCode::usage,
              std::string(what) + " was loaded in process " + std::to_string(maker) +
                  " and does not survive a fork; load the model in this process, or start "
                  "processes with multiprocessing's 'spawn'");
}

Runner::Runner(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device, int most_sessions)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      maker_(getpid()),
      most_sessions_(std::max(most_sessions, 1)) {
  idle_.reserve(static_cast<std::size_t>(most_sessions_));
  idle_.push_back(std::make_unique<Session>(plan_, device_));
  const Session& session = *idle_.front();
  inputs_.assign(session.inputs().begin(), session.inputs().end());
  outputs_.assign(session.outputs().begin(), session.outputs().end());
}

Runner::~Runner() {
  if (getpid() == maker_) return;
  for (std::unique_ptr<Session>& session : idle_) (void)session.release();
  (void)new std::shared_ptr<Device>(std::move(device_));
}

std::unique_ptr<Session> Runner::take() {
  expect_process(maker_, "this model");
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return !idle_.empty() || sessions_ < most_sessions_; });
  if (!idle_.empty()) {
    std::unique_ptr<Session> session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }
  ++sessions_;
  lock.unlock();
  try {
    return std::make_unique<Session>(plan_, device_);
  } catch (...) {
    const std::lock_guard again(mutex_);
    --sessions_;
    given_.notify_one();
    throw;
  }
}

void Runner::give(std::unique_ptr<Session> session) noexcept {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));  // into room that is there
  }
  given_.notify_one();
}

Runner::Lease::Lease(Runner& from) : from_(from), session_(from.take()) {}

Runner::Lease::~Lease() { from_.give(std::move(session_)); }

}  // namespace stowage::python
