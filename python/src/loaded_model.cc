// SPDX-License-Identifier: Apache-2.0
#include "loaded_model.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "stowage/error.h"

namespace stowage::python {

namespace {

std::string listed(const std::vector<std::int64_t>& extents) {
  std::string out;
  for (const std::int64_t n : extents) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

std::string listed(const std::vector<ModelDim>& dims) {
  std::string out;
  for (const ModelDim& dim : dims) {
    out += out.empty() ? "" : ", ";
    out += dim.extent >= 0 ? std::to_string(dim.extent) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return "[" + out + "]";
}

/// The extents of axes `from` in the order `to`; nothing where the letters are not the same.
std::optional<std::vector<std::int64_t>> turned(const std::vector<std::int64_t>& extents,
                                                std::string_view from, std::string_view to) {
  if (from.size() != to.size() || extents.size() != to.size()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const char axis : to) {
    const std::size_t at = from.find(axis);
    if (at == std::string_view::npos) return std::nullopt;
    out.push_back(extents[at]);
  }
  return out;
}

std::string letters(const Shape& shape) {
  std::string out;
  for (const Axis axis : shape.axes()) out += axis.name();
  return out;
}

bool fits(const std::vector<std::int64_t>& extents, const ModelInput& input) {
  return !input.dims || std::equal(extents.begin(), extents.end(), input.dims->begin(),
                                   input.dims->end(), [](std::int64_t have, const ModelDim& want) {
                                     return want.extent < 0 || want.extent == have;
                                   });
}

}  // namespace

LoadedModel::LoadedModel(std::shared_ptr<const Model> model, std::string name, Shapes shapes,
                         PlanOptions options, std::shared_ptr<Device> device, int cpus)
    : model_(std::move(model)),
      name_(std::move(name)),
      shapes_(std::move(shapes)),
      options_(std::move(options)),
      device_(std::move(device)),
      most_sessions_(cpus / std::max(options_.threads, 1)),
      maker_(getpid()) {
  for (const ModelInput& input : model_->inputs()) {
    const bool known = input.dims && std::ranges::all_of(*input.dims, [](const ModelDim& dim) {
                         return dim.extent >= 0;
                       });
    open_.push_back(!known && !shapes_.contains(input.name));
  }
}

LoadedModel::~LoadedModel() {
  // A driver has threads, too: see ~Runner.
  if (getpid() != maker_) (void)new std::shared_ptr<Device>(std::move(device_));
}

void LoadedModel::expect_fit(const GivenShape& given,
                             const std::vector<std::int64_t>& extents) const {
  const ModelInput& input = model_->inputs()[static_cast<std::size_t>(given.input)];
  if (fits(extents, input)) return;
  throw Error(ErrorCode::bad_input,
              "input '" + input.name + "' takes " + listed(*input.dims) + ", not " +
                  listed(extents) + "; extents of the file are replaced by load(..., shapes=...)");
}

std::shared_ptr<Graph> LoadedModel::graph(const std::vector<GivenShape>& given) const {
  const bool named =
      std::ranges::any_of(given, [](const GivenShape& g) { return !g.axes.empty(); });
  // Names of axes are known when shapes are: the orders of images are tried, one after the other.
  const std::vector<std::string_view> orders =
      named ? std::vector<std::string_view>{"nchw", "nhwc"} : std::vector<std::string_view>{""};
  std::optional<Error> first;
  for (const std::string_view order : orders) {
    try {
      SpecialiseOptions specialise_options{.shapes = shapes_, .known = {}};
      for (const GivenShape& g : given) {
        const std::vector<std::int64_t> extents =
            g.axes.empty() ? g.extents : turned(g.extents, g.axes, order).value_or(g.extents);
        expect_fit(g, extents);
        specialise_options.shapes[model_->inputs()[static_cast<std::size_t>(g.input)].name] =
            extents;
      }
      std::shared_ptr<Graph> graph = specialise(*model_, specialise_options);
      simplify(*graph);  // gives axes their names
      const std::vector<Port> ports = input_ports(*graph);
      const bool right = std::ranges::all_of(given, [&](const GivenShape& g) {
        const std::string& name = model_->inputs()[static_cast<std::size_t>(g.input)].name;
        const auto port = std::ranges::find(ports, name, &Port::name);
        return g.axes.empty() || port == ports.end() || letters(port->shape) == order ||
               letters(port->shape) == g.axes;
      });
      if (right || order == orders.back()) return graph;
    } catch (const Error& e) {
      if (!first) first = e;
    }
  }
  throw *first;
}

std::shared_ptr<Runner> LoadedModel::runner(const std::vector<GivenShape>& given) {
  expect_process(maker_, "this model");
  std::shared_ptr<Planned> planned;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(plans_, [&](const auto& plan) { return plan.first == given; });
    if (found != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, found);
    } else {
      plans_.emplace_front(given, std::make_shared<Planned>());
      if (plans_.size() > kMostPlans) plans_.pop_back();
    }
    planned = plans_.front().second;
  }
  // Others who want these shapes wait for the plan; those who want other shapes do not.
  const std::lock_guard lock(planned->mutex);
  if (planned->runner == nullptr) {
    planned->runner =
        std::make_shared<Runner>(make_plan(graph(given), options_), device_, most_sessions_);
    planned->ready.store(true);
  }
  return planned->runner;
}

std::optional<std::vector<GivenShape>> LoadedModel::last() {
  expect_process(maker_, "this model");
  const std::lock_guard lock(mutex_);
  for (const auto& [given, planned] : plans_) {
    if (planned->ready.load()) return given;
  }
  return std::nullopt;
}

}  // namespace stowage::python
