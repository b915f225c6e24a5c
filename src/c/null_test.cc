// SPDX-License-Identifier: Apache-2.0
// Null pointers at every function of the C interface.
#include <gtest/gtest.h>

#include <iterator>

#include "c/test_util.h"

namespace stowage {
namespace {

/// Every function that has a status, with nothing.
TEST(CInterface, NullIsRefusedByEveryFunction) {
  const auto planner = STOWAGE_PLANNER_RULE;
  const stowage_status statuses[] = {
      stowage_model_open(nullptr, nullptr, nullptr),
      stowage_model_open_memory(nullptr, 0, nullptr, 0, nullptr),
      stowage_model_get_input(nullptr, 0, nullptr),
      stowage_model_get_output_name(nullptr, 0, nullptr),
      stowage_options_create(nullptr),
      stowage_options_set_shape(nullptr, nullptr, nullptr, 0),
      stowage_options_set_known(nullptr, nullptr, nullptr),
      stowage_options_set_threads(nullptr, 1),
      stowage_options_set_planner(nullptr, planner),
      stowage_options_set_exact(nullptr, 1),
      stowage_options_set_layout(nullptr, nullptr, nullptr),
      stowage_options_set_data_format(nullptr, nullptr, STOWAGE_FORMAT_NHWC),
      stowage_options_set_device(nullptr, nullptr, 0),
      stowage_plan_create(nullptr, nullptr, nullptr),
      stowage_plan_explain(nullptr, nullptr),
      stowage_plan_json(nullptr, nullptr, nullptr, 0, nullptr),
      stowage_plan_html(nullptr, nullptr, nullptr, 0, nullptr),
      stowage_why_not(nullptr, nullptr, nullptr, nullptr, nullptr),
      stowage_why_not_json(nullptr, nullptr, nullptr, nullptr, nullptr),
      stowage_plan_get_step(nullptr, 0, nullptr),
      stowage_session_create(nullptr, nullptr),
      stowage_session_get_input(nullptr, 0, nullptr),
      stowage_session_get_output(nullptr, 0, nullptr),
      stowage_session_find_input(nullptr, nullptr, nullptr),
      stowage_session_find_output(nullptr, nullptr, nullptr),
      stowage_session_set_input(nullptr, 0, nullptr, nullptr),
      stowage_session_run(nullptr),
      stowage_session_read_output(nullptr, 0, nullptr),
      stowage_session_get_input_format(nullptr, 0, nullptr),
      stowage_session_get_output_format(nullptr, 0, nullptr),
      stowage_session_bind_input(nullptr, 0, nullptr, 0),
      stowage_session_unbind_input(nullptr, 0),
      stowage_session_bind_output(nullptr, 0, nullptr, 0),
      stowage_session_unbind_output(nullptr, 0),
      stowage_session_profile(nullptr, 0),
      stowage_session_step_us(nullptr, nullptr, 0, nullptr),
      stowage_layout_text(nullptr, nullptr),
      stowage_layout_spelling(nullptr, nullptr),
      stowage_mapping_create(nullptr, nullptr, 0, 0, nullptr),
      stowage_mapping_create_strided(nullptr, 0, nullptr, nullptr),
      stowage_mapping_get_info(nullptr, nullptr),
      stowage_mapping_locate(nullptr, nullptr, 0, nullptr),
      stowage_mapping_get_cell(nullptr, 0, nullptr, nullptr, 0),
      stowage_mapping_layout(nullptr, nullptr),
      stowage_mapping_draw(nullptr, nullptr),
      stowage_mapping_draw_svg(nullptr, nullptr),
      stowage_conversion_create(STOWAGE_F32, nullptr, STOWAGE_F32, nullptr, nullptr, nullptr),
      stowage_conversion_run(nullptr, nullptr, nullptr, 0),
      stowage_conversion_explain(nullptr, nullptr),
      stowage_convert(nullptr, nullptr, nullptr),
  };
  for (std::size_t i = 0; i < std::size(statuses); ++i) EXPECT_EQ(statuses[i], STOWAGE_USAGE) << i;
  EXPECT_STREQ(stowage_last_error(), "src is null");
  // Handles that are there, and nothing beside them.
  const test::ModelHandle model = test::open("shapes.onnx");
  const test::PlanHandle plan = test::plan_of(model);
  const test::SessionHandle session = test::session_of(plan);
  const test::OptionsHandle options = test::make_options();
  const std::int64_t extents[] = {1, 3, 64, 64};
  const stowage_status more[] = {
      stowage_model_open("x", nullptr, nullptr),
      stowage_model_get_input(model.get(), 0, nullptr),
      stowage_model_get_output_name(model.get(), 0, nullptr),
      stowage_options_set_shape(options.get(), nullptr, extents, 4),
      stowage_options_set_known(options.get(), "image", nullptr),
      stowage_options_set_layout(options.get(), "image", nullptr),
      stowage_options_set_device(options.get(), nullptr, 0),
      stowage_plan_create(model.get(), nullptr, nullptr),
      stowage_plan_explain(plan.get(), nullptr),
      stowage_plan_get_step(plan.get(), 0, nullptr),
      stowage_session_create(plan.get(), nullptr),
      stowage_session_get_input(session.get(), 0, nullptr),
      stowage_session_find_input(session.get(), nullptr, nullptr),
      stowage_session_set_input(session.get(), 0, nullptr, nullptr),
      stowage_session_read_output(session.get(), 0, nullptr),
      stowage_session_get_input_format(session.get(), 0, nullptr),
      stowage_session_bind_input(session.get(), 0, nullptr, 0),
      stowage_session_bind_output(session.get(), 0, nullptr, 0),
      stowage_session_step_us(session.get(), nullptr, 0, nullptr),
      stowage_layout_text("NCHW", nullptr),
  };
  for (std::size_t i = 0; i < std::size(more); ++i) EXPECT_EQ(more[i], STOWAGE_USAGE) << i;
}

}  // namespace
}  // namespace stowage
