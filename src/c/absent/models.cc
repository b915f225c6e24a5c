// SPDX-License-Identifier: Apache-2.0
// Stands for models, plans and sessions in libraries that are built without a model reader: there
// is nothing to plan.
#include "base/text.h"
#include "c/guard.h"

namespace {

stowage_status absent() noexcept {
  return stowage::c::guarded([] {
    stowage::fail(stowage::ErrorCode::unsupported,
                  "this build of the library reads no models; it has layouts and conversions");
  });
}

}  // namespace

extern "C" {

stowage_status stowage_model_open(const char*, const char*, stowage_model**) { return absent(); }

stowage_status stowage_model_open_memory(const void*, size_t, const void*, size_t,
                                         stowage_model**) {
  return absent();
}

void stowage_model_destroy(stowage_model*) {}

const char* stowage_model_name(const stowage_model*) { return ""; }

size_t stowage_model_input_count(const stowage_model*) { return 0; }

size_t stowage_model_output_count(const stowage_model*) { return 0; }

stowage_status stowage_model_get_input(const stowage_model*, size_t, stowage_model_input*) {
  return absent();
}

stowage_status stowage_model_get_output_name(const stowage_model*, size_t, const char**) {
  return absent();
}

stowage_status stowage_options_create(stowage_options**) { return absent(); }

void stowage_options_destroy(stowage_options*) {}

stowage_status stowage_options_set_shape(stowage_options*, const char*, const int64_t*, size_t) {
  return absent();
}

stowage_status stowage_options_set_known(stowage_options*, const char*, const stowage_view*) {
  return absent();
}

stowage_status stowage_options_set_threads(stowage_options*, int) { return absent(); }

stowage_status stowage_options_set_planner(stowage_options*, std::int32_t) { return absent(); }

stowage_status stowage_options_set_exact(stowage_options*, int) { return absent(); }

stowage_status stowage_options_set_layout(stowage_options*, const char*, const char*) {
  return absent();
}

stowage_status stowage_options_set_data_format(stowage_options*, const char*, std::int32_t) {
  return absent();
}

stowage_status stowage_options_set_device(stowage_options*, const char*, int) { return absent(); }

stowage_status stowage_plan_create(const stowage_model*, const stowage_options*, stowage_plan**) {
  return absent();
}

void stowage_plan_destroy(stowage_plan*) {}

stowage_status stowage_plan_explain(const stowage_plan*, char**) { return absent(); }

stowage_status stowage_plan_json(const stowage_plan*, const char*, const double*, size_t, char**) {
  return absent();
}

stowage_status stowage_plan_html(const stowage_plan*, const char*, const double*, size_t, char**) {
  return absent();
}

stowage_status stowage_why_not(const stowage_model*, const stowage_options*, const char*,
                               const char*, char**) {
  return absent();
}

stowage_status stowage_why_not_json(const stowage_model*, const stowage_options*, const char*,
                                    const char*, char**) {
  return absent();
}

size_t stowage_plan_step_count(const stowage_plan*) { return 0; }

stowage_status stowage_plan_get_step(const stowage_plan*, size_t, stowage_step*) {
  return absent();
}

stowage_status stowage_session_create(const stowage_plan*, stowage_session**) { return absent(); }

void stowage_session_destroy(stowage_session*) {}

size_t stowage_session_input_count(const stowage_session*) { return 0; }

size_t stowage_session_output_count(const stowage_session*) { return 0; }

stowage_status stowage_session_get_input(const stowage_session*, size_t, stowage_port*) {
  return absent();
}

stowage_status stowage_session_get_output(const stowage_session*, size_t, stowage_port*) {
  return absent();
}

stowage_status stowage_session_find_input(const stowage_session*, const char*, size_t*) {
  return absent();
}

stowage_status stowage_session_find_output(const stowage_session*, const char*, size_t*) {
  return absent();
}

stowage_status stowage_session_set_input(stowage_session*, size_t, const stowage_view*,
                                         const stowage_scalar_map*) {
  return absent();
}

stowage_status stowage_session_run(stowage_session*) { return absent(); }

stowage_status stowage_session_read_output(const stowage_session*, size_t, const stowage_view*) {
  return absent();
}

stowage_status stowage_session_get_input_format(const stowage_session*, size_t,
                                                stowage_port_format*) {
  return absent();
}

stowage_status stowage_session_get_output_format(const stowage_session*, size_t,
                                                 stowage_port_format*) {
  return absent();
}

stowage_status stowage_session_bind_input(stowage_session*, size_t, const stowage_view*, size_t) {
  return absent();
}

stowage_status stowage_session_unbind_input(stowage_session*, size_t) { return absent(); }

stowage_status stowage_session_bind_output(stowage_session*, size_t, const stowage_view*, size_t) {
  return absent();
}

stowage_status stowage_session_unbind_output(stowage_session*, size_t) { return absent(); }

stowage_status stowage_session_profile(stowage_session*, int) { return absent(); }

stowage_status stowage_session_step_us(const stowage_session*, double*, size_t, size_t*) {
  return absent();
}

}  // extern "C"
