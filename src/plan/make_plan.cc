// SPDX-License-Identifier: Apache-2.0
// make_plan: offers, solve, insert conversions, convert the weights, lay out the arena, verify.
#include <algorithm>
#include <limits>
#include <map>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "base/trail.h"
#include "graph/passes/passes.h"
#include "plan/build.h"
#include "plan/formats.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "plan/report.h"
#include "tensor/half_range.h"

namespace stowage {

namespace plan {

namespace {

/// Row-major over the axes that the value has now; its constant may have been made before they
/// were named.
Mapping source_mapping(const Value& value) {
  return Mapping(Layout::row_major(value.shape), value.shape, dtype_bytes(value.dtype));
}

bool is_input(const Graph& graph, ValueId v) {
  return std::find(graph.inputs.begin(), graph.inputs.end(), v) != graph.inputs.end();
}

}  // namespace

Problem make_problem(const Graph& graph, const OfferTable& table, const Target& target,
                     const Rates& rates) {
  Problem problem;
  for (const auto& options : table.options) {
    Problem::Node node;
    for (const Option& option : options) {
      node.choices.push_back({option.cost_us, option.in, option.out});
    }
    problem.nodes.push_back(std::move(node));
  }
  // Constants are converted before run into every layout that is read, at no cost: they are no
  // part of the problem, however many layouts they have.
  const auto constant = [&](ValueId v) {
    return v != kNoValue && graph.value(v).constant != nullptr;
  };
  for (std::size_t i = 0; i < table.order.size(); ++i) {
    const Node& n = graph.node(table.order[i]);
    // An absent operand has layout -1 in every choice; any value id will do for it.
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      problem.nodes[i].inputs.push_back(std::max<int>(n.inputs[k], 0));
      if (!constant(n.inputs[k])) continue;
      for (Problem::Choice& choice : problem.nodes[i].choices) choice.in[k] = -1;
    }
    for (ValueId v : n.outputs) problem.nodes[i].outputs.push_back(std::max<int>(v, 0));
  }
  for (ValueId v(0); v < graph.value_count(); ++v) {
    const Value& value = graph.value(v);
    const std::size_t candidates = table.candidates[idx(v)].size();
    Problem::Value out;
    if (value.constant != nullptr) {
      out.convert = {0.0};
      out.given = 0;
      problem.values.push_back(std::move(out));
      continue;
    }
    out.layouts = static_cast<int>(candidates);
    out.convert.assign(candidates * candidates, 0.0);
    if (value.producer == kNoNode) out.given = table.caller_layout[idx(v)];
    if (graph.is_output(v)) out.wanted.push_back(table.caller_layout[idx(v)]);
    for (int a = 0; a < out.layouts; ++a) {
      for (int b = 0; b < out.layouts; ++b) {
        if (a == b) continue;
        // set_input converts straight from what the caller has: nothing lies between.
        const bool between = is_input(graph, v) && a != out.given;
        out.convert[idx(a * out.layouts + b)] = between
                                                    ? std::numeric_limits<double>::infinity()
                                                    : move_us(graph, table, target, rates, v, a, b);
      }
    }
    problem.values.push_back(std::move(out));
  }
  return problem;
}

bool at_port(const Graph& graph, const OfferTable& table, ValueId value, int to) {
  if (is_input(graph, value)) return true;
  return graph.is_output(value) && to == table.caller_layout[idx(value)];
}

double move_us(const Graph& graph, const OfferTable& table, const Target& target,
               const Rates& rates, ValueId value, int from, int to) {
  const Format &a = table.format(value, from), &b = table.format(value, to);
  const Shape& shape = graph.value(value).shape;
  // A node that reads a model output needs it where read_output would have it, too.
  const bool device = a.place.device != b.place.device;
  const bool port = at_port(graph, table, value, to) &&
                    (!device || is_input(graph, value) || !table.has_readers[idx(value)]);
  return port ? port_us(rates, target, shape, a, b) : conversion_us(rates, target, shape, a, b);
}

namespace {

/// Turns choices and moves into slots, steps, inputs, outputs and memory.
class Builder {
 public:
  Builder(Plan& plan, Graph& graph, const OfferTable& table, const Solution& solution)
      : plan_(plan), graph_(graph), table_(table), solution_(solution) {
    const auto values = idx(graph_.value_count());
    slot_of_.resize(values);
    read_.resize(values);
    for (std::size_t v = 0; v < values; ++v) {
      slot_of_[v].assign(table.candidates[v].size(), -1);
      read_[v].assign(table.candidates[v].size(), false);
    }
    own_moves_.resize(table.order.size());
    moves_of_.resize(values);
    for (const Move& m : solution.moves) {
      if (m.node >= 0)
        own_moves_[idx(m.node)].push_back(&m);
      else
        moves_of_[idx(m.value)].push_back(&m);
    }
  }

  void build(bool release_constants) {
    mark_reads();
    bind_inputs();
    for (std::size_t i = 0; i < table_.order.size(); ++i) add_node(i);
    bind_outputs();
    convert_constants(release_constants);
    lay_out(plan_);
  }

 private:
  const Option& chosen(std::size_t i) const { return table_.options[i][idx(solution_.choice[i])]; }

  /// Which layouts of each value a kernel, or a conversion that itself is read, reads.
  void mark_reads() {
    for (std::size_t i = 0; i < table_.order.size(); ++i) {
      const Node& n = graph_.node(table_.order[i]);
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        if (n.inputs[k] == kNoValue) continue;
        const Move* own = own_move(i, n.inputs[k], chosen(i).in[k], &Move::to);
        read_[idx(n.inputs[k])][idx(own == nullptr ? chosen(i).in[k] : own->from)] = true;
      }
    }
    for (auto m = solution_.moves.rbegin(); m != solution_.moves.rend(); ++m) {
      const ValueId v(m->value);
      if (m->node >= 0) continue;
      if (is_input(graph_, v) || graph_.value(v).constant) continue;
      if (read_[idx(v)][idx(m->to)]) read_[idx(v)][idx(m->from)] = true;
    }
  }

  /// The conversion of `v` that node `i` has to itself and whose `side` is `layout`, or null.
  const Move* own_move(std::size_t i, ValueId v, int layout, int Move::*side) const {
    for (const Move* m : own_moves_[i]) {
      if (m->value == v && m->*side == layout) return m;
    }
    return nullptr;
  }

  int slot(ValueId v, int candidate) {
    int& s = slot_of_[idx(v)][idx(candidate)];
    if (s < 0) s = new_slot(v, candidate);
    return s;
  }

  int new_slot(ValueId v, int candidate) {
    const int s = static_cast<int>(plan_.slots.size());
    const Value& value = graph_.value(v);
    const Format& format = table_.format(v, candidate);
    plan_.slots.push_back({.value = v,
                           .name = value.name,
                           .dtype = format.dtype,
                           .mapping = format.mapping(value.shape),
                           .place = format.place,
                           .constant = nullptr,
                           .alias_of = -1,
                           .offset = 0});
    return s;
  }

  PlanPort make_port(ValueId v) const {
    const Value& value = graph_.value(v);
    return {.port = {value.name, value.dtype, value.shape, data_format(value.shape)},
            .slots = {},
            .value = v,
            .layout = table_.format(v, table_.caller_layout[idx(v)]).layout};
  }

  /// set_input converts straight into every layout that is read.
  void bind_inputs() {
    for (ValueId v : graph_.inputs) {
      PlanPort port = make_port(v);
      if (graph_.is_output(v)) read_[idx(v)][idx(table_.caller_layout[idx(v)])] = true;
      for (std::size_t layout = 0; layout < read_[idx(v)].size(); ++layout) {
        if (read_[idx(v)][layout]) port.slots.push_back(slot(v, static_cast<int>(layout)));
      }
      plan_.inputs.push_back(std::move(port));
    }
  }

  /// read_output converts straight from the layout that the plan has.
  void bind_outputs() {
    for (ValueId v : graph_.outputs) {
      PlanPort port = make_port(v);
      const auto& slots = slot_of_[idx(v)];
      int best = slots[idx(table_.caller_layout[idx(v)])];
      if (best < 0 && graph_.value(v).constant == nullptr) {
        best = slots[idx(solution_.produced[idx(v)])];
      }
      if (best < 0) best = slot(v, table_.caller_layout[idx(v)]);
      port.slots.push_back(best);
      plan_.outputs.push_back(std::move(port));
    }
  }

  void add_node(std::size_t i) {
    const Node& n = graph_.node(table_.order[i]);
    const Option& option = chosen(i);
    Step step;
    step.node = table_.order[i];
    step.name = n.name;
    step.op = std::string(n.op->name);
    step.call = option.offer.call;
    std::map<const Move*, int> copies;  // slots that are this node's alone
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const Move* own = own_move(i, n.inputs[k], option.in[k], &Move::to);
      if (own != nullptr && copies.count(own) == 0) {
        copies[own] = new_slot(ValueId(own->value), own->to);
        add_conversion(slot(ValueId(own->value), own->from), copies[own]);
      }
      step.in.push_back(n.inputs[k] == kNoValue ? -1
                        : own != nullptr        ? copies[own]
                                                : slot(n.inputs[k], option.in[k]));
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const Move* own = own_move(i, n.outputs[k], option.out[k], &Move::from);
      if (own != nullptr) copies[own] = new_slot(ValueId(own->value), own->from);
      step.out.push_back(n.outputs[k] == kNoValue ? -1
                         : own != nullptr         ? copies[own]
                                                  : slot(n.outputs[k], option.out[k]));
    }
    if (option.offer.relabel) {
      plan_.slots[idx(step.out[0])].alias_of = step.in[0];
    } else if (lies_in_input(n, option.offer)) {
      for (const Part& part : option.offer.outputs_in_input) {
        Slot& slot = plan_.slots[idx(step.out[idx(part.operand)])];
        slot.alias_of = step.in[0];
        slot.alias_offset = part.offset;
      }
    } else {
      for (const Part& part : option.offer.inputs_in_output) {
        step.views.push_back({part.operand, part.offset});
      }
      step.scratch_bytes = option.offer.scratch_bytes;
      step.in_place = option.offer.in_place;
      plan_.steps.push_back(std::move(step));
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (n.outputs[k] == kNoValue) continue;
      const Move* own = own_move(i, n.outputs[k], option.out[k], &Move::from);
      if (own != nullptr) add_conversion(copies[own], slot(ValueId(own->value), own->to));
      add_moves(n.outputs[k]);
    }
  }

  void add_moves(ValueId v) {
    for (const Move* m : moves_of_[idx(v)]) {
      if (read_[idx(v)][idx(m->to)]) add_conversion(slot(v, m->from), slot(v, m->to));
    }
  }

  void add_conversion(int from, int to) {
    Step step;
    step.kind = Step::Kind::convert;
    step.src = from;
    step.dst = to;
    plan_.steps.push_back(std::move(step));
  }

  static std::shared_ptr<const Tensor> in_half_range(const std::shared_ptr<const Tensor>& values) {
    if (std::ranges::none_of(values->as<float>(), beyond_half)) return values;
    auto out = std::make_shared<Tensor>(*values);
    clip_to_half(out->as<float>());
    return out;
  }

  void convert_constants(bool release) {
    for (ValueId v(0); v < graph_.value_count(); ++v) {
      Value& value = graph_.value(v);
      if (value.constant == nullptr) continue;
      for (int s : slot_of_[idx(v)]) {
        if (s < 0) continue;
        Slot& target = plan_.slots[idx(s)];
        const Mapping source = source_mapping(value);
        if (value.dtype == target.dtype && source.same_bytes(target.mapping)) {
          target.constant = value.constant;
        } else {
          Tensor packed(target.dtype, value.shape, target.mapping.layout());
          const bool narrows =
              target.place.device != 0 && value.dtype == DType::f32 && target.dtype == DType::f16;
          const auto values = narrows ? in_half_range(value.constant) : value.constant;
          Conversion(value.dtype, source, target.dtype, target.mapping)
              .run(values->data(), packed.data());
          target.constant = std::make_shared<const Tensor>(std::move(packed));
        }
        plan_.weight_bytes += target.mapping.bytes();
      }
      if (release) value.constant = nullptr;
    }
  }

  Plan& plan_;
  Graph& graph_;
  const OfferTable& table_;
  const Solution& solution_;
  std::vector<std::vector<int>> slot_of_;            // by value and layout
  std::vector<std::vector<bool>> read_;              // by value and layout
  std::vector<std::vector<const Move*>> own_moves_;  // by node
  std::vector<std::vector<const Move*>> moves_of_;   // by value: those that are no node's own
};

}  // namespace

void build(Plan& plan, Graph& graph, const OfferTable& table, const Solution& solution,
           bool release_constants) {
  Builder(plan, graph, table, solution).build(release_constants);
}

}  // namespace plan

std::shared_ptr<const Plan> make_plan(std::shared_ptr<Graph> graph, const PlanOptions& options) {
  if (graph == nullptr) fail(ErrorCode::usage, "a plan needs a graph, not a null pointer");
  const Trail trail("planning", graph->name);
  expect_threads(options.threads);
  if (!options.simplify) {
    name_axes(*graph);
  } else if (!graph->simplified) {
    simplify(*graph);
  }
  if (options.simplify && !options.device) {
    // Whoever else holds the graph may plan it for a device.
    if (graph.use_count() > 1 && has_attention(*graph)) graph = std::make_shared<Graph>(*graph);
    fuse_attention(*graph);
  }
  auto plan = std::make_shared<Plan>();
  plan->model = graph->name;
  plan->source_format = graph->source_format;
  plan->threads = options.threads;
  plan->history = graph->history;
  const plan::Decision decision = plan::decide(*graph, options);
  plan->lanes = decision.target.lanes;
  plan->avoided = decision.table.avoided;
  if (options.device) plan->device = options.device->facts;
  plan->planner = plan::planner_name(options.planner);
  plan->cost_us = decision.chosen.cost;
  plan->lower_bound_us = decision.chosen.lower_bound;
  plan->rule_cost_us = decision.rule.cost;
  plan->source_cost_us = decision.source.cost;
  plan::report(*plan, *graph, decision, decision.chosen);
  plan::build(*plan, *graph, decision.table, decision.chosen, graph.use_count() == 1);
  const std::vector<bool> none = plan::said_none(*graph, options);
  for (auto* ports : {&plan->inputs, &plan->outputs}) {
    for (PlanPort& port : *ports) {
      if (none[idx(port.value)]) port.port.data_format = DataFormat::none;
    }
  }
  verify(*plan);
  if (plan->arena_bytes > static_cast<std::size_t>(options.limits.total_bytes)) {
    fail(ErrorCode::limit, "the plan needs ", plan->arena_bytes, " bytes, over the limit of ",
         options.limits.total_bytes);
  }
  if (plan->device && plan->device_bytes() > plan->device->memory_bytes) {
    const std::string& name = plan->device->name;
    fail(ErrorCode::limit, "the plan keeps ", plan->device_bytes(), " bytes on ",
         name.empty() ? "the device" : "'" + name + "'", ", which has ",
         plan->device->memory_bytes);
  }
  return plan;
}

}  // namespace stowage
