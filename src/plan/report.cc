// SPDX-License-Identifier: Apache-2.0
#include "plan/report.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "plan/details.h"
#include "plan/rule.h"
#include "plan/words.h"

namespace stowage::plan {

namespace {

/// "image-channel in an image, f16": the layout, and what is not the host's or the value's own.
std::string spelling(const Format& format, const Value& value) {
  const std::string out = placed_layout(format.layout, format.place);
  return format.dtype == value.dtype ? out : stored_as(out, format.dtype);
}

class Reporter {
 public:
  Reporter(Plan& plan, const Graph& graph, const Decision& decision, const Solution& solution)
      : plan_(plan),
        graph_(graph),
        decision_(decision),
        table_(decision.table),
        solution_(solution) {}

  void node(std::size_t i) {
    const NodeId id = table_.order[i];
    const Node& n = graph_.node(id);
    const Option& chosen = table_.options[i][idx(solution_.choice[i])];
    NodeReport r;
    r.node = id;
    r.name = n.name;
    r.op = std::string(n.op->name);
    r.rule_category = rule_category(*n.op);
    r.rule_auto = decision_.rule_auto[i];
    const bool by_rule = plan_.planner == planner_name(PlanOptions::Planner::rule);
    r.category = by_rule ? r.rule_category : n.op->category;
    r.kernel = std::string(chosen.offer.name());
    r.cost_us = chosen.cost_us;
    if (!chosen.offer.relabel) work(chosen, r);
    r.details = details_of(graph_, n);
    operands(n.inputs, chosen.in, r.inputs);
    operands(n.outputs, chosen.out, r.outputs);
    for (std::size_t k = 0; k < table_.options[i].size(); ++k) {
      const Option& o = table_.options[i][k];
      if (static_cast<int>(k) == solution_.choice[i]) continue;
      const NodeReport::Lost lost{std::string(o.offer.name()), layouts_of(n, o), o.cost_us};
      const bool known = lost == NodeReport::Lost{r.kernel, layouts_of(n, chosen), r.cost_us} ||
                         std::find(r.lost.begin(), r.lost.end(), lost) != r.lost.end();
      if (!known) r.lost.push_back(lost);
    }
    if (!chosen.offer.relabel) plan_.touched_bytes += static_cast<std::size_t>(chosen.bytes);
    plan_.nodes.push_back(std::move(r));
  }

  void move(const Move& m) {
    const ValueId v(m.value);
    const Value& value = graph_.value(v);
    if (value.constant != nullptr) return;
    const Conversion c = conversion(table_, graph_, v, m.from, m.to);
    ConversionReport r;
    r.id = v;
    r.value = value.name;
    r.from = spelling(table_.format(v, m.from), value);
    r.to = spelling(table_.format(v, m.to), value);
    r.bytes = c.bytes_moved();
    r.cost_us = m.cost;
    r.reason = reason(m);
    if (m.node >= 0) r.node = table_.order[idx(m.node)];
    plan_.touched_bytes += r.bytes;
    plan_.conversions.push_back(std::move(r));
  }

 private:
  static void work(const Option& o, NodeReport& r) {
    r.flops = o.offer.flops;
    r.efficiency = o.offer.efficiency;
    r.pieces = o.offer.pieces;
    r.bytes = o.bytes;
    r.weight_bytes = std::min(o.weight_bytes, o.bytes);
  }

  void operands(const std::vector<ValueId>& values, const std::vector<int>& layouts,
                std::vector<NodeReport::Operand>& out) const {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] == kNoValue) continue;
      const Value& v = graph_.value(values[k]);
      out.push_back({values[k], v.name, spelling(table_.format(values[k], layouts[k]), v), v.shape,
                     v.dtype, data_format(v.shape), v.constant != nullptr});
    }
  }

  std::string layouts_of(const Node& n, const Option& o) const {
    const auto first = [&](const std::vector<ValueId>& values, const std::vector<int>& layouts) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (values[k] == kNoValue) continue;
        return spelling(table_.format(values[k], layouts[k]), graph_.value(values[k]));
      }
      return std::string("none");
    };
    return first(n.inputs, o.in) + " -> " + first(n.outputs, o.out);
  }

  std::string reason(const Move& m) const {
    const ValueId v(m.value);
    if (m.node >= 0) {
      const Node& n = graph_.node(table_.order[idx(m.node)]);
      const bool reads = std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end();
      const Option& o = table_.options[idx(m.node)][idx(solution_.choice[idx(m.node)])];
      return text(reads ? "read" : "written", " by '", n.name, "' (", o.offer.name(), ")");
    }
    std::string readers;
    int count = 0;
    for (std::size_t i = 0; i < table_.order.size(); ++i) {
      const Node& n = graph_.node(table_.order[i]);
      const Option& o = table_.options[i][idx(solution_.choice[i])];
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        if (n.inputs[k] != v || o.in[k] != m.to) continue;
        if (++count <= 2)
          readers += text(count == 1 ? "" : ", ", "'", n.name, "' (", o.offer.name(), ")");
        break;
      }
    }
    if (count > 2) readers += text(" and ", count - 2, " more");
    if (!readers.empty()) readers = "read by " + readers;
    const bool input =
        std::find(graph_.inputs.begin(), graph_.inputs.end(), v) != graph_.inputs.end();
    if (input) return readers.empty() ? "model input" : "model input, " + readers;
    if (graph_.is_output(v) && m.to == table_.caller_layout[idx(v)]) {
      return readers.empty() ? "model output" : "model output, " + readers;
    }
    return readers.empty() ? "on the way to another layout" : readers;
  }

  Plan& plan_;
  const Graph& graph_;
  const Decision& decision_;
  const OfferTable& table_;
  const Solution& solution_;
};

}  // namespace

void report(Plan& plan, const Graph& graph, const Decision& decision, const Solution& solution) {
  Reporter reporter(plan, graph, decision, solution);
  for (std::size_t i = 0; i < decision.table.order.size(); ++i) reporter.node(i);
  for (const Move& m : solution.moves) reporter.move(m);
}

}  // namespace stowage::plan
