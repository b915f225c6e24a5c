// SPDX-License-Identifier: Apache-2.0
// A model with its plans for the shapes that it has met.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner.h"
#include "stowage/model.h"
#include "stowage/plan.h"

namespace stowage::python {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// The extents of an input as a caller has them. `axes` names their order by letters; empty: it is
/// the model's.
struct GivenShape {
  int input = 0;
  std::string axes;
  std::vector<std::int64_t> extents;

  friend bool operator==(const GivenShape&, const GivenShape&) = default;
};

/// Any number of threads may use one at once. Nothing here touches Python.
class LoadedModel {
 public:
  /// Plans are kept for so many sets of shapes; the one that was not used for longest goes.
  static constexpr std::size_t kMostPlans = 8;

  /// `shapes` are for all plans. `cpus`: sessions of a plan have no more threads in all.
  LoadedModel(std::shared_ptr<const Model> model, std::string name, Shapes shapes,
              PlanOptions options, std::shared_ptr<Device> device, int cpus);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const Model& model() const noexcept { return *model_; }

  const std::string& name() const noexcept { return name_; }

  const PlanOptions& options() const noexcept { return options_; }

  pid_t maker() const noexcept { return maker_; }

  /// Not all extents of the input are known without data.
  bool open(int input) const noexcept { return open_[static_cast<std::size_t>(input)]; }

  /// The plan for shapes of the inputs that are open, made when it is not there yet. Throws what
  /// specialise, make_plan and Session throw, and Error(bad_input, usage) for shapes that the model
  /// does not take.
  std::shared_ptr<Runner> runner(const std::vector<GivenShape>& given);

  /// The shapes of the plan that was used last; nothing before the first.
  std::optional<std::vector<GivenShape>> last();

  /// A graph of these shapes, simplified.
  std::shared_ptr<Graph> graph(const std::vector<GivenShape>& given) const;

 private:
  struct Planned {
    std::mutex mutex;
    std::shared_ptr<Runner> runner;
    std::atomic<bool> ready = false;  ///< that there is a runner, without the mutex
  };

  void expect_fit(const GivenShape& given, const std::vector<std::int64_t>& extents) const;

  std::shared_ptr<const Model> model_;
  std::string name_;
  Shapes shapes_;
  PlanOptions options_;
  std::shared_ptr<Device> device_;
  int most_sessions_;
  pid_t maker_;
  std::vector<bool> open_;
  std::mutex mutex_;
  /// The one that was used last comes first.
  std::list<std::pair<std::vector<GivenShape>, std::shared_ptr<Planned>>> plans_;
};

}  // namespace stowage::python
