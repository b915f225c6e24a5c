// SPDX-License-Identifier: Apache-2.0
// A plan with sessions for several threads.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "stowage/model.h"

namespace stowage::python {

/// Throws Error(usage) in another process than the one that made `what`, where its threads are not.
void expect_process(pid_t maker, const char* what);

/// Any number of threads may use one at once. Nothing here touches Python.
class Runner {
 public:
  /// Makes the first session. Up to `most_sessions` follow as threads ask for them at once. Throws
  /// what Session throws.
  Runner(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device, int most_sessions);
  /// In a forked process it leaves the sessions as they are: their threads are elsewhere.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  const std::shared_ptr<const Plan>& plan() const noexcept { return plan_; }

  std::span<const Port> inputs() const noexcept { return inputs_; }

  std::span<const Port> outputs() const noexcept { return outputs_; }

  /// A session that is nobody else's until this goes.
  class Lease {
   public:
    explicit Lease(Runner& from);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Session* operator->() const noexcept { return session_.get(); }

   private:
    Runner& from_;
    std::unique_ptr<Session> session_;
  };

 private:
  std::unique_ptr<Session> take();
  void give(std::unique_ptr<Session> session) noexcept;

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Device> device_;
  std::vector<Port> inputs_, outputs_;
  pid_t maker_;
  int most_sessions_;
  std::mutex mutex_;
  std::condition_variable given_;
  int sessions_ = 1;
  std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace stowage::python
