// SPDX-License-Identifier: Apache-2.0
#include "plan/offers.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "kernels/copy/move.h"
#include "kernels/layouts.h"
#include "plan/solve.h"

namespace stowage::plan {

namespace {

constexpr int kMostSweeps = 4;

bool uses_images(const Offer& offer) {
  const auto is_image = [](const Operand& o) { return o.place.memory == Place::Memory::image; };
  return std::ranges::any_of(offer.in, is_image) || std::ranges::any_of(offer.out, is_image);
}

class Collector {
 public:
  Collector(Graph& graph, const Target& target, const Rates& rates)
      : graph_(graph), target_(target), rates_(rates) {
    table_.order = graph.topological_order();
    for (ValueId v(0); v < graph.value_count(); ++v) {
      const Value& value = graph.value(v);
      const Format plain{Layout::row_major(value.shape), value.dtype};
      table_.candidates.push_back({table_.formats.intern(plain)});
    }
    table_.caller_layout.assign(table_.candidates.size(), 0);
    table_.has_readers.assign(table_.candidates.size(), false);
    for (const NodeId id : table_.order) {
      for (const ValueId v : graph.node(id).inputs) {
        if (v != kNoValue) table_.has_readers[idx(v)] = true;
      }
    }
    known_.resize(table_.candidates.size());
    asked_.resize(idx(graph.node_count()));
    weights_are_far_ = weight_bytes() > rates.cached_mb * 1e6;
  }

  void add_caller_layout(const std::string& name, const Layout& layout) {
    const Trail trail("the layout given for", name);
    bool found = false;
    for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
      for (ValueId v : *list) {
        if (graph_.value(v).name != name) continue;
        found = true;
        add(v, layout);
        table_.caller_layout[idx(v)] = find(v, layout);
      }
    }
    if (!found) fail(ErrorCode::usage, "the model has no input or output of that name");
  }

  OfferTable run() {
    // What kernels want by themselves goes before what only passes through.
    for (NodeId id : table_.order) {
      if (graph_.node(id).op->category == Category::fixed) add_candidates(id);
    }
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      grew_ = false;
      for (NodeId id : table_.order) add_candidates(id);
      for (auto it = table_.order.rbegin(); it != table_.order.rend(); ++it) add_candidates(*it);
      if (!grew_) break;
    }
    for (NodeId id : table_.order) table_.options.push_back(options(id));
    return std::move(table_);
  }

 private:
  /// What a node offered when it was asked, and how many candidates its values had then.
  struct Asked {
    std::size_t candidates = 0;
    std::vector<Offer> offers;
  };

  /// Asks again only when one of the node's values has gained a candidate.
  std::vector<Offer>& ask(NodeId id) {
    const NodeRef node(graph_, id);
    std::size_t formats = 0;
    for (const auto* list : {&node.node().inputs, &node.node().outputs}) {
      for (ValueId v : *list) formats += v == kNoValue ? 0 : table_.candidates[idx(v)].size();
    }
    auto& [known, offers] = asked_[idx(id)];
    if (known == formats || node.node().op->offers == nullptr) return offers;
    known = formats;
    offers.clear();
    const Trail trail("node", node.node().name, node.node().op->name);
    node.node().op->offers({node, target_, table_.formats, table_.candidates}, offers);
    drop_avoided(offers);
    add_buffers(offers);
    for (Offer& offer : offers) complete_inputs(node, offer);
    return offers;
  }

  /// What lies in images may lie in buffers as well, and kernels are the same.
  void add_buffers(std::vector<Offer>& offers) const {
    if (!target_.device || target_.device->memory != DeviceOptions::Memory::any) return;
    const std::size_t offered = offers.size();
    for (std::size_t i = 0; i < offered; ++i) {
      if (!uses_images(offers[i])) continue;
      Offer& buffers = offers.emplace_back(offers[i]);
      for (auto* list : {&buffers.in, &buffers.out}) {
        for (Operand& o : *list) {
          if (o.place.memory == Place::Memory::image) o.place.memory = Place::Memory::buffer;
        }
      }
    }
  }

  void drop_avoided(std::vector<Offer>& offers) {
    if (!target_.device) return;
    const std::vector<std::string>& avoid = target_.device->avoid;
    std::erase_if(offers, [&](const Offer& offer) {
      const auto name = std::ranges::find(avoid, offer.name());
      if (!offer.call || name == avoid.end()) return false;
      note_avoided(*name);
      return true;
    });
  }

  void note_avoided(std::string_view kernel) {
    if (std::ranges::count(table_.avoided, kernel) > 0) return;
    table_.avoided.emplace_back(kernel);
  }

  void add_candidates(NodeId id) {
    const Node& n = graph_.node(id);
    for (const Offer& offer : ask(id)) {
      for (std::size_t i = 0; i < n.inputs.size(); ++i) add(n.inputs[i], offer.in[i]);
      for (std::size_t i = 0; i < n.outputs.size(); ++i) add(n.outputs[i], offer.out[i]);
    }
  }

  void add(ValueId v, const Operand& operand) {
    if (v == kNoValue || find(v, operand) >= 0) return;
    const Value& value = graph_.value(v);
    auto& list = table_.candidates[idx(v)];
    // Weights are converted once, before run: their layouts cost nothing.
    if (std::ssize(list) >= kMostLayouts && value.constant == nullptr) return;
    const int id = table_.formats.intern(operand.format(value));
    known_[idx(v)][id] = static_cast<int>(list.size());
    list.push_back(id);
    grew_ = true;
    if (operand.place.device != 0 && value.constant == nullptr) add_crossing(v, operand);
  }

  /// The formats in which a value goes from one place to the other: as the file has it, and where
  /// the device does not convert, as `there` on the device, for the host to convert.
  void add_crossing(ValueId v, const Operand& there) {
    const Value& value = graph_.value(v);
    if (!converts(*target_.device)) {
      note_avoided(kMove.name);
      const auto here = there.layout.is_image() ? linear_layout(there.layout) : there.layout;
      if (here) {
        Operand crossing = *here;
        crossing.dtype = there.dtype;
        add(v, crossing);
      }
    }
    Operand plain = Layout::row_major(value.shape);
    plain.place = {1, Place::Memory::buffer};
    plain.dtype = value.dtype;
    if (plain.format(value).mapping(value.shape).bytes() <=
        static_cast<std::size_t>(target_.device->facts.allocation_bytes)) {
      add(v, plain);
    }
  }

  /// Formats with the same bytes are one candidate.
  int find(ValueId v, const Operand& operand) {
    const Format format = operand.format(graph_.value(v));
    const auto [known, fresh] = known_[idx(v)].try_emplace(table_.formats.intern(format));
    if (fresh) known->second = find_candidate(table_, graph_, v, format);
    return known->second;
  }

  /// Of all constants that are read.
  double weight_bytes() const {
    double sum = 0;
    for (ValueId v(0); v < graph_.value_count(); ++v) {
      const Value& value = graph_.value(v);
      if (value.constant == nullptr || !table_.has_readers[idx(v)]) continue;
      sum += static_cast<double>(value.shape.elements()) * dtype_bytes(value.dtype);
    }
    return sum;
  }

  /// What of the bytes that an option touches come from memory in every run.
  double far_bytes(const Option& o) const {
    if (!weights_are_far_) return 0;
    return std::clamp(o.weight_bytes + o.offer.extra_weight_bytes, 0.0, o.bytes);
  }

  double bytes(ValueId v, const Operand& operand) const {
    const Value& value = graph_.value(v);
    return static_cast<double>(operand.format(value).mapping(value.shape).bytes());
  }

  /// The option reads or writes the value.
  void add_operand(ValueId v, const Operand& operand, Option& option) const {
    const double touched = bytes(v, operand);
    option.bytes += touched;
    if (graph_.value(v).constant != nullptr) option.weight_bytes += touched;
  }

  std::vector<Option> options(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<Option> list(1);
    double flops = 0;
    for (Offer& offer : ask(id)) {
      flops = std::max(flops, offer.flops);
      Option option;
      option.offer = std::move(offer);
      option.bytes = option.offer.extra_bytes;
      if (!resolve(n, option) || !is_new(option, list)) continue;
      drop_views(n, option);
      list.push_back(std::move(option));
    }
    for (std::size_t i = 1; i < list.size(); ++i) {
      Option& o = list[i];
      if (o.offer.relabel || lies_in_input(n, o.offer)) continue;
      const bool on_device = std::ranges::any_of(
          o.offer.out, [](const Operand& out) { return out.place.device != 0; });
      o.cost_us = on_device ? device_us(target_.device->facts.rates, uses_images(o.offer),
                                        o.offer.flops, o.offer.efficiency, o.bytes)
                            : kernel_us(rates_, target_, o.offer, o.bytes, far_bytes(o));
    }
    list[0] = reference(id, flops);
    return list;
  }

  /// Candidates that are one layout make one offer, however often they are offered.
  static bool is_new(const Option& option, const std::vector<Option>& list) {
    return std::none_of(list.begin(), list.end(), [&](const Option& o) {
      return o.offer.name() == option.offer.name() && o.in == option.in && o.out == option.out;
    });
  }

  /// Formats to candidates; false when one of them is none of its value.
  bool resolve(const Node& n, Option& option) {
    const auto side = [&](const std::vector<ValueId>& values, const std::vector<Operand>& operands,
                          std::vector<int>& out) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        out.push_back(values[i] == kNoValue ? -1 : find(values[i], operands[i]));
        if (values[i] == kNoValue) continue;
        if (out.back() < 0) return false;
        add_operand(values[i], operands[i], option);
      }
      return true;
    };
    return side(n.inputs, option.offer.in, option.in) &&
           side(n.outputs, option.offer.out, option.out);
  }

  /// Parts that need not be copied cost nothing. A plan cannot always let them lie there: the price
  /// is that of the common case.
  void drop_views(const Node& n, Option& option) const {
    const auto drop = [&](const std::vector<ValueId>& values, const std::vector<Operand>& operands,
                          std::vector<Part>& parts, bool computed) {
      if (parts.empty()) return;  // as of most offers
      std::vector<ValueId> sorted = values;
      std::ranges::sort(sorted);
      std::erase_if(parts, [&](const Part& part) {
        const ValueId v = values[idx(part.operand)];
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), v);
        const bool twice = computed && last - first > 1;
        return twice || (computed && graph_.value(v).producer == kNoNode);
      });
      for (const Part& part : parts) {
        option.offer.pieces = std::max(option.offer.pieces - part.pieces, 0.0);
        option.bytes -= 2 * bytes(values[idx(part.operand)], operands[idx(part.operand)]);
      }
    };
    drop(n.inputs, option.offer.in, option.offer.inputs_in_output, true);
    drop(n.outputs, option.offer.out, option.offer.outputs_in_input, false);
    option.bytes = std::max(option.bytes, 0.0);
  }

  Option reference(NodeId id, double flops) {
    const Node& n = graph_.node(id);
    Option option;
    option.reference = true;
    option.offer.call = reference_call(NodeRef(graph_, id));
    double elements = 0;
    const auto row_major = [&](ValueId v, std::vector<int>& candidates,
                               std::vector<Operand>& operands) {
      candidates.push_back(v == kNoValue ? -1 : 0);
      operands.push_back(v == kNoValue ? Layout() : table_.format(v, 0).layout);
      if (v != kNoValue) add_operand(v, operands.back(), option);
    };
    for (ValueId v : n.inputs) row_major(v, option.in, option.offer.in);
    for (ValueId v : n.outputs) {
      row_major(v, option.out, option.offer.out);
      if (v != kNoValue) elements += static_cast<double>(graph_.value(v).shape.elements());
    }
    option.cost_us = reference_us(rates_, flops, elements);
    return option;
  }

  Graph& graph_;
  const Target& target_;
  const Rates& rates_;
  OfferTable table_;
  std::vector<Asked> asked_;               // by node
  std::vector<std::map<int, int>> known_;  // by value: candidates by number of a format; -1: none
  bool grew_ = false;
  bool weights_are_far_ = false;  ///< no cache holds all of them from one run to the next
};

}  // namespace

Conversion conversion(const OfferTable& table, const Graph& graph, ValueId value, int from,
                      int to) {
  const Shape& shape = graph.value(value).shape;
  const Format &a = table.format(value, from), &b = table.format(value, to);
  return Conversion(a.dtype, a.mapping(shape), b.dtype, b.mapping(shape));
}

bool same_bytes(const Format& a, const Format& b, const Shape& shape) {
  if (a.dtype != b.dtype || a.place != b.place) return false;
  const Mapping here = a.mapping(shape), there = b.mapping(shape);
  // Texels of a row follow each other, then comes the next row: with rows of one length, the linear
  // view says it all.
  const bool rows =
      a.place.memory != Place::Memory::image || here.extent(Space::x) == there.extent(Space::x);
  return rows && here.same_bytes(there);
}

int find_candidate(const OfferTable& table, const Graph& graph, ValueId value,
                   const Format& format) {
  const auto& list = table.candidates[static_cast<std::size_t>(value)];
  const auto first = [&](auto is) {
    const auto found = std::ranges::find_if(list, [&](int id) { return is(table.formats[id]); });
    return found == list.end() ? -1 : static_cast<int>(found - list.begin());
  };
  const int equal = first([&](const Format& f) { return f == format; });
  if (equal >= 0) return equal;
  const Shape& shape = graph.value(value).shape;
  return first([&](const Format& f) { return same_bytes(f, format, shape); });
}

bool lies_in_input(const Node& node, const Offer& offer) {
  const auto outputs = std::ranges::count_if(node.outputs, [](ValueId v) { return v != kNoValue; });
  return !offer.outputs_in_input.empty() && std::ssize(offer.outputs_in_input) == outputs;
}

OfferTable collect_offers(Graph& graph, const Target& target, const Rates& rates,
                          const std::map<std::string, Layout>& caller) {
  Collector collector(graph, target, rates);
  for (const auto& [name, layout] : caller) collector.add_caller_layout(name, layout);
  return collector.run();
}

}  // namespace stowage::plan
