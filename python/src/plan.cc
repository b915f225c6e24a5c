// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "stowage/plan.h"
#include "stowage/report.h"

namespace stowage::python {

namespace nb = nanobind;

namespace {

/// Name, dtype, extents, names of axes, data format.
using PortRow = std::tuple<std::string, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>, std::string>;

std::vector<PortRow> rows(const std::vector<PlanReport::Boundary>& ports) {
  std::vector<PortRow> out;
  for (const PlanReport::Boundary& boundary : ports) {
    const Port& port = boundary.port;
    std::vector<std::string> axes;
    for (const Axis axis : port.shape.axes()) axes.emplace_back(axis.name());
    const std::span<const std::int64_t> extents = port.shape.extents();
    out.emplace_back(port.name, numpy_name(port.dtype),
                     std::vector<std::int64_t>(extents.begin(), extents.end()), std::move(axes),
                     data_format_name(port.data_format));
  }
  return out;
}

WhyNot answer(const PlanView& self, const std::string& node, const std::string& layout) {
  const nb::gil_scoped_release release;
  return why_not(self.model->graph(self.given), self.model->options(), node, layout);
}

std::vector<std::tuple<std::string, std::string, std::string, std::string>> steps(
    const PlanView& self) {
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> out;
  for (const PlanReport::Step& step : report(*self.plan).steps) {
    const bool converts = step.kind == PlanReport::Step::Kind::convert;
    out.emplace_back(step.name, step.op, step.kernel, converts ? "convert" : "call");
  }
  return out;
}

}  // namespace

std::string numpy_name(DType dtype) {
  static constexpr const char* kNames[] = {"float32", "float16", "bfloat16", "float64", "uint8",
                                           "int8",    "uint16",  "int16",    "uint32",  "int32",
                                           "uint64",  "int64",   "bool"};
  return kNames[static_cast<std::size_t>(dtype)];
}

void bind_plan(nb::module_& m) {
  nb::class_<PlanView>(m, "Plan")
      .def("inputs", [](const PlanView& self) { return rows(report(*self.plan).inputs); })
      .def("outputs", [](const PlanView& self) { return rows(report(*self.plan).outputs); })
      .def("steps", &steps)
      .def("explain", [](const PlanView& self) { return explain(*self.plan); })
      .def("json",
           [](const PlanView& self) { return plan_json(report(*self.plan), self.model->name()); })
      .def(
          "html",
          [](const PlanView& self, const std::vector<double>& step_us) {
            return plan_html(report(*self.plan), self.model->name(), step_us);
          },
          nb::arg("step_us"))
      .def(
          "why_not",
          [](const PlanView& self, const std::string& node, const std::string& layout) {
            return explain(answer(self, node, layout));
          },
          nb::arg("node"), nb::arg("layout"))
      .def(
          "why_not_json",
          [](const PlanView& self, const std::string& node, const std::string& layout) {
            return why_not_json(answer(self, node, layout));
          },
          nb::arg("node"), nb::arg("layout"));
}

}  // namespace stowage::python
