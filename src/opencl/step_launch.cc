// SPDX-License-Identifier: Apache-2.0
#include "opencl/step_launch.h"

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"
#include "opencl/cl_sources.h"
#include "plan/step_views.h"

namespace stowage {

std::string program_text(const Launch& launch, const LaunchArgs& args, bool check_bounds) {
  const std::string_view source = cl_source(launch.source);
  if (source.empty()) fail(ErrorCode::internal, "there is no '", launch.source, ".cl'");
  return text(launch_preamble(launch, args, check_bounds), "#line 1 \"", launch.source, ".cl\"\n",
              source);
}

StepLaunch step_launch(const Plan& plan, int number, bool check_bounds) {
  const Step& step = plan.steps[idx(number)];
  const bool call = step.kind == Step::Kind::call;
  const std::vector<int> in = call ? step.in : std::vector{step.src};
  const std::vector<int> out = call ? step.out : std::vector{step.dst};
  const StepViews views(plan, in, out);
  const LaunchArgs args = views.args();

  StepLaunch made;
  made.launch = call ? step.call.launch(args) : conversion_launch(args);
  const Launch& launch = made.launch;
  made.text = program_text(launch, args, check_bounds);
  made.check_bounds = check_bounds;
  for (const Launch::Operand& operand : launch.operands) {
    const std::size_t i = idx(operand.index);
    const AccessorArgs accessor = accessor_args(operand.output ? views.out[i] : views.in[i]);
    made.operands.push_back({operand.output ? out[i] : in[i], accessor.extents, accessor.strides});
  }
  return made;
}

}  // namespace stowage
