// SPDX-License-Identifier: Apache-2.0
// Sessions: memory in and out of a plan.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "c/guard.h"
#include "c/handles.h"
#include "c/view.h"

using stowage::Port;
using stowage::PortFormat;
using stowage::Session;
using stowage::c::expect_index;
using stowage::c::given;
using stowage::c::guarded;
using stowage::c::read_view;
using stowage::c::View;

namespace {

struct NamedFormat {
  PortFormat format;
  std::string layout;
};

}  // namespace

struct stowage_session {
  Session session;
  std::vector<NamedFormat> inputs, outputs;
};

namespace {

NamedFormat named(PortFormat format) {
  std::string layout = format.mapping.layout().text();
  return {std::move(format), std::move(layout)};
}

/// A port's number, as the C++ interface has it.
int port_index(std::span<const Port> ports, std::size_t index, std::string_view what) {
  expect_index(index, ports.size(), what);
  return static_cast<int>(index);
}

void tell(const Port& port, stowage_port* out) {
  stowage_port told = STOWAGE_PORT_INIT;
  told.name = port.name.c_str();
  told.dtype = stowage::c::number_of(port.dtype);
  told.rank = port.shape.rank();
  for (int i = 0; i < port.shape.rank(); ++i) {
    told.extents[i] = port.shape[i];
    const stowage::Axis axis = port.shape.axis(i);
    std::copy(axis.name().begin(), axis.name().end(), told.axes[i]);
  }
  told.data_format = static_cast<std::int32_t>(port.data_format);
  stowage::c::write(out, told, "out");
}

void tell(const NamedFormat& named, stowage_port_format* out) {
  stowage_port_format told = STOWAGE_PORT_FORMAT_INIT;
  told.dtype = stowage::c::number_of(named.format.dtype);
  told.layout = named.layout.c_str();
  told.row_pitch = named.format.mapping.row_pitch();
  told.alignment = named.format.alignment;
  told.bytes = named.format.bytes;
  told.copied_bytes = named.format.copied_bytes;
  stowage::c::write(out, told, "out");
}

}  // namespace

extern "C" {

stowage_status stowage_session_create(const stowage_plan* plan, stowage_session** out) {
  return guarded([&] {
    stowage_session*& to = given(out, "out");
    auto made = std::make_unique<stowage_session>(
        stowage_session{Session(given(plan, "plan").plan, plan->device), {}, {}});
    const Session& session = made->session;
    for (std::size_t i = 0; i < session.inputs().size(); ++i) {
      made->inputs.push_back(named(session.input_format(static_cast<int>(i))));
    }
    for (std::size_t i = 0; i < session.outputs().size(); ++i) {
      made->outputs.push_back(named(session.output_format(static_cast<int>(i))));
    }
    to = made.release();
  });
}

void stowage_session_destroy(stowage_session* session) { delete session; }

size_t stowage_session_input_count(const stowage_session* session) {
  return session == nullptr ? 0 : session->inputs.size();
}

size_t stowage_session_output_count(const stowage_session* session) {
  return session == nullptr ? 0 : session->outputs.size();
}

stowage_status stowage_session_get_input(const stowage_session* session, size_t index,
                                         stowage_port* out) {
  return guarded([&] {
    const auto ports = given(session, "session").session.inputs();
    expect_index(index, ports.size(), "input");
    tell(ports[index], out);
  });
}

stowage_status stowage_session_get_output(const stowage_session* session, size_t index,
                                          stowage_port* out) {
  return guarded([&] {
    const auto ports = given(session, "session").session.outputs();
    expect_index(index, ports.size(), "output");
    tell(ports[index], out);
  });
}

stowage_status stowage_session_find_input(const stowage_session* session, const char* name,
                                          size_t* index) {
  return guarded([&] {
    std::size_t& to = given(index, "index");
    to = static_cast<std::size_t>(
        given(session, "session").session.input_index(&given(name, "name")));
  });
}

stowage_status stowage_session_find_output(const stowage_session* session, const char* name,
                                           size_t* index) {
  return guarded([&] {
    std::size_t& to = given(index, "index");
    to = static_cast<std::size_t>(
        given(session, "session").session.output_index(&given(name, "name")));
  });
}

stowage_status stowage_session_set_input(stowage_session* session, size_t index,
                                         const stowage_view* view, const stowage_scalar_map* map) {
  return guarded([&] {
    Session& to = given(session, "session").session;
    const int i = port_index(to.inputs(), index, "input");
    const View from = read_view(view, "view", &to.inputs()[index].shape);
    const stowage::ScalarMap how = stowage::c::read_map(map);
    if (map != nullptr && how.axis != stowage::Axis("c")) {
      stowage::fail(stowage::ErrorCode::usage, "the axis of map is '", how.axis.name(),
                    "'; that of an input is 'c'");
    }
    to.set_input(i, from.input(), how.mean, how.norm);
  });
}

stowage_status stowage_session_run(stowage_session* session) {
  return guarded([&] { given(session, "session").session.run(); });
}

stowage_status stowage_session_read_output(const stowage_session* session, size_t index,
                                           const stowage_view* into) {
  return guarded([&] {
    const Session& from = given(session, "session").session;
    const int i = port_index(from.outputs(), index, "output");
    from.read_output(i, read_view(into, "into", &from.outputs()[index].shape).output());
  });
}

stowage_status stowage_session_get_input_format(const stowage_session* session, size_t index,
                                                stowage_port_format* out) {
  return guarded([&] {
    const auto& formats = given(session, "session").inputs;
    expect_index(index, formats.size(), "input");
    tell(formats[index], out);
  });
}

stowage_status stowage_session_get_output_format(const stowage_session* session, size_t index,
                                                 stowage_port_format* out) {
  return guarded([&] {
    const auto& formats = given(session, "session").outputs;
    expect_index(index, formats.size(), "output");
    tell(formats[index], out);
  });
}

stowage_status stowage_session_bind_input(stowage_session* session, size_t index,
                                          const stowage_view* view, size_t bytes) {
  return guarded([&] {
    Session& to = given(session, "session").session;
    const int i = port_index(to.inputs(), index, "input");
    to.bind_input(i, read_view(view, "view", &to.inputs()[index].shape).input(), bytes);
  });
}

stowage_status stowage_session_unbind_input(stowage_session* session, size_t index) {
  return guarded([&] {
    Session& to = given(session, "session").session;
    to.unbind_input(port_index(to.inputs(), index, "input"));
  });
}

stowage_status stowage_session_bind_output(stowage_session* session, size_t index,
                                           const stowage_view* view, size_t bytes) {
  return guarded([&] {
    Session& to = given(session, "session").session;
    const int i = port_index(to.outputs(), index, "output");
    to.bind_output(i, read_view(view, "view", &to.outputs()[index].shape).output(), bytes);
  });
}

stowage_status stowage_session_unbind_output(stowage_session* session, size_t index) {
  return guarded([&] {
    Session& to = given(session, "session").session;
    to.unbind_output(port_index(to.outputs(), index, "output"));
  });
}

stowage_status stowage_session_profile(stowage_session* session, int on) {
  return guarded([&] { given(session, "session").session.profile(on != 0); });
}

stowage_status stowage_session_step_us(const stowage_session* session, double* us, size_t capacity,
                                       size_t* count) {
  return guarded([&] {
    const std::span<const double> times = given(session, "session").session.step_us();
    std::size_t& to = given(count, "count");
    if (capacity > 0) given(us, "us");
    std::copy_n(times.begin(), std::min(capacity, times.size()), us);
    to = times.size();
  });
}

}  // extern "C"
