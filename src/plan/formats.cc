// SPDX-License-Identifier: Apache-2.0
#include "plan/formats.h"

#include <algorithm>

#include "base/text.h"
#include "base/trail.h"

namespace stowage::plan {

namespace {

std::vector<ValueId> named(const Graph& graph, const std::string& name) {
  std::vector<ValueId> out;
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(out),
                 [&](ValueId v) { return graph.value(v).name == name; });
  }
  return out;
}

}  // namespace

std::map<std::string, Layout> caller_layouts(const Graph& graph, const PlanOptions& options) {
  std::map<std::string, Layout> layouts = options.layouts;
  for (const auto& [name, format] : options.formats) {
    const Trail trail("the data format of", name);
    const std::vector<ValueId> values = named(graph, name);
    if (values.empty()) fail(ErrorCode::usage, "the model has no input or output of that name");
    if (format == DataFormat::none) continue;
    for (const ValueId v : values) {
      const Shape& shape = graph.value(v).shape;
      if (data_format(shape) == DataFormat::none) {
        fail(ErrorCode::usage, "'", name, "' of shape ", shape.extents(), " has no data format ",
             data_format_name(format), ", for no operator names its axes so; use NONE");
      }
    }
    layouts.emplace(name, Layout::parse(data_format_name(format)));
  }
  return layouts;
}

std::vector<bool> said_none(const Graph& graph, const PlanOptions& options) {
  std::vector<bool> out(static_cast<std::size_t>(graph.value_count()), false);
  for (const auto& [name, format] : options.formats) {
    if (format != DataFormat::none) continue;
    for (const ValueId v : named(graph, name)) out[static_cast<std::size_t>(v)] = true;
  }
  return out;
}

}  // namespace stowage::plan
