// SPDX-License-Identifier: Apache-2.0
// Options and plans.
#include "stowage/plan.h"

#include <span>
#include <string>

#include "base/text.h"
#include "c/guard.h"
#include "c/handles.h"
#include "c/parts.h"
#include "c/view.h"
#include "stowage/report.h"

using stowage::ErrorCode;
using stowage::fail;
using stowage::c::copy_text;
using stowage::c::expect_index;
using stowage::c::given;
using stowage::c::guarded;

namespace {

using Planner = stowage::PlanOptions::Planner;
static_assert(STOWAGE_PLANNER_RULE == static_cast<int>(Planner::rule));
static_assert(STOWAGE_PLANNER_SOURCE == static_cast<int>(Planner::source));
static_assert(STOWAGE_FORMAT_NCHW == static_cast<int>(stowage::DataFormat::nchw));
static_assert(STOWAGE_FORMAT_NHWC == static_cast<int>(stowage::DataFormat::nhwc));

std::shared_ptr<stowage::Graph> graph_of(const stowage_model* model,
                                         const stowage_options& options) {
  return stowage::specialise(*given(model, "model").model, options.model);
}

/// What the options say, or that there are none.
stowage_options given_or_default(const stowage_options* options) {
  return options == nullptr ? stowage_options() : *options;
}

stowage::WhyNot why_not(const stowage_model* model, const stowage_options* options,
                        const char* node, const char* layout) {
  const stowage_options with = given_or_default(options);
  // The nodes are those of the plan.
  const std::shared_ptr<stowage::Graph> graph = graph_of(model, with);
  stowage::simplify(*graph);
  return stowage::why_not(graph, with.plan, &given(node, "node"), &given(layout, "layout"));
}

std::span<const double> times(const stowage_plan& plan, const double* step_us, std::size_t count) {
  if (count == 0) return {};
  given(step_us, "step_us");
  if (count != plan.steps.size()) {
    fail(ErrorCode::usage, "step_us has ", count, " times, the plan has ", plan.steps.size(),
         " steps");
  }
  return {step_us, count};
}

std::string name_of(const stowage::PlanReport& report, const char* name) {
  return name == nullptr ? report.model : name;
}

}  // namespace

extern "C" {

stowage_status stowage_options_create(stowage_options** out) {
  return guarded([&] {
    stowage_options*& to = given(out, "out");
    to = new stowage_options();
  });
}

void stowage_options_destroy(stowage_options* options) { delete options; }

stowage_status stowage_options_set_shape(stowage_options* options, const char* input,
                                         const int64_t* extents, size_t rank) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    const std::string name(&given(input, "input"));
    if (rank > STOWAGE_MAX_RANK) {
      fail(ErrorCode::usage, "a rank of ", rank, " is not possible (0 to ", STOWAGE_MAX_RANK, ")");
    }
    if (rank > 0) given(extents, "extents");
    to.model.shapes[name].assign(extents, extents + rank);
  });
}

stowage_status stowage_options_set_known(stowage_options* options, const char* input,
                                         const stowage_view* view) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    const std::string name(&given(input, "input"));
    const stowage::c::View from = stowage::c::read_view(view, "view");
    if (from.mapping.bytes() > 0) given(static_cast<char*>(from.data), "view.data");
    stowage::Tensor known(from.dtype, from.mapping.shape());
    stowage::Conversion(from.dtype, from.mapping, known.dtype(), known.mapping())
        .run(from.data, known.data());
    to.model.known.insert_or_assign(name, std::move(known));
  });
}

stowage_status stowage_options_set_threads(stowage_options* options, int threads) {
  return guarded([&] { given(options, "options").plan.threads = threads; });
}

stowage_status stowage_options_set_planner(stowage_options* options, int32_t planner) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    if (planner < STOWAGE_PLANNER_OPTIMAL || planner > STOWAGE_PLANNER_SOURCE) {
      fail(ErrorCode::usage, "there is no planner ", static_cast<int>(planner));
    }
    to.plan.planner = static_cast<Planner>(planner);
  });
}

stowage_status stowage_options_set_exact(stowage_options* options, int exact) {
  return guarded([&] { given(options, "options").plan.exact = exact != 0; });
}

stowage_status stowage_options_set_layout(stowage_options* options, const char* port,
                                          const char* layout) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    const std::string name(&given(port, "port"));
    to.plan.layouts[name] = stowage::Layout::parse(&given(layout, "layout"));
  });
}

stowage_status stowage_options_set_data_format(stowage_options* options, const char* port,
                                               int32_t format) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    const std::string name(&given(port, "port"));
    if (format < STOWAGE_FORMAT_NONE || format > STOWAGE_FORMAT_NHWC) {
      fail(ErrorCode::usage, "there is no data format ", static_cast<int>(format));
    }
    to.plan.formats[name] = static_cast<stowage::DataFormat>(format);
  });
}

stowage_status stowage_options_set_device(stowage_options* options, const char* device, int half) {
  return guarded([&] {
    stowage_options& to = given(options, "options");
    const std::string name(&given(device, "device"));
    to.device = stowage::c::open_device(name);
    to.plan.device.reset();
    if (to.device != nullptr) {
      to.plan.device = {.facts = to.device->facts(), .half = half != 0};
    }
  });
}

stowage_status stowage_plan_create(const stowage_model* model, const stowage_options* options,
                                   stowage_plan** out) {
  return guarded([&] {
    stowage_plan*& to = given(out, "out");
    const stowage_options with = given_or_default(options);
    auto plan = stowage::make_plan(graph_of(model, with), with.plan);
    auto steps = stowage::report(*plan).steps;
    to = new stowage_plan{std::move(plan), with.device, std::move(steps)};
  });
}

void stowage_plan_destroy(stowage_plan* plan) { delete plan; }

stowage_status stowage_plan_explain(const stowage_plan* plan, char** text) {
  return guarded([&] {
    char*& to = given(text, "text");
    to = copy_text(stowage::explain(*given(plan, "plan").plan));
  });
}

stowage_status stowage_plan_json(const stowage_plan* plan, const char* name, const double* step_us,
                                 size_t step_count, char** text) {
  return guarded([&] {
    char*& to = given(text, "text");
    const auto measured = times(given(plan, "plan"), step_us, step_count);
    const stowage::PlanReport report = stowage::report(*plan->plan);
    to = copy_text(stowage::plan_json(report, name_of(report, name), measured));
  });
}

stowage_status stowage_plan_html(const stowage_plan* plan, const char* name, const double* step_us,
                                 size_t step_count, char** text) {
  return guarded([&] {
    char*& to = given(text, "text");
    const auto measured = times(given(plan, "plan"), step_us, step_count);
    const stowage::PlanReport report = stowage::report(*plan->plan);
    to = copy_text(stowage::plan_html(report, name_of(report, name), measured));
  });
}

stowage_status stowage_why_not(const stowage_model* model, const stowage_options* options,
                               const char* node, const char* layout, char** text) {
  return guarded([&] {
    char*& to = given(text, "text");
    to = copy_text(stowage::explain(why_not(model, options, node, layout)));
  });
}

stowage_status stowage_why_not_json(const stowage_model* model, const stowage_options* options,
                                    const char* node, const char* layout, char** text) {
  return guarded([&] {
    char*& to = given(text, "text");
    to = copy_text(stowage::why_not_json(why_not(model, options, node, layout)));
  });
}

size_t stowage_plan_step_count(const stowage_plan* plan) {
  return plan == nullptr ? 0 : plan->steps.size();
}

stowage_status stowage_plan_get_step(const stowage_plan* plan, size_t index, stowage_step* out) {
  return guarded([&] {
    const auto& steps = given(plan, "plan").steps;
    expect_index(index, steps.size(), "step");
    stowage_step told = STOWAGE_STEP_INIT;
    told.name = steps[index].name.c_str();
    told.op = steps[index].op.c_str();
    told.kernel = steps[index].kernel.c_str();
    stowage::c::write(out, told, "out");
  });
}

}  // extern "C"
