// SPDX-License-Identifier: Apache-2.0
#include "plan/rule.h"

#include <algorithm>
#include <iterator>

#include "base/index.h"

namespace stowage::plan {

namespace {

struct Entry {
  std::string_view op, mace;  ///< our name, and the operator of MACE that it would become
  Category category;
};

constexpr Category kFixed = Category::fixed, kTransposable = Category::transposable;

/// FixedDataFormatOps and TransposableDataFormatOps of MACE's base_converter.py. Operators that
/// MACE lacks but which are activations or elementwise arithmetic stand with those.
constexpr Entry kEntries[] = {
    {"batch_norm", "BatchNorm", kFixed},
    {"conv", "Conv2D, DepthwiseConv2d", kFixed},
    {"conv_transpose", "Deconv2D, DepthwiseDeconv2d", kFixed},
    {"depth_to_space", "DepthToSpace", kFixed},
    {"space_to_depth", "SpaceToDepth", kFixed},
    {"gemm", "FullyConnected", kFixed},
    {"instance_norm", "InstanceNorm", kFixed},
    {"group_norm", "GroupNorm", kFixed},
    {"lp_norm", "LpNorm", kFixed},
    {"mean_variance_norm", "MVNorm", kFixed},
    {"average_pool", "Pooling", kFixed},
    {"max_pool", "Pooling", kFixed},
    {"lp_pool", "Pooling", kFixed},
    {"resize", "ResizeBicubic, ResizeBilinear, ResizeNearestNeighbor", kFixed},
    {"upsample", "ResizeBilinear, ResizeNearestNeighbor", kFixed},

    {"relu", "Activation", kTransposable},
    {"leaky_relu", "Activation", kTransposable},
    {"prelu", "Activation", kTransposable},
    {"sigmoid", "Activation", kTransposable},
    {"tanh", "Activation", kTransposable},
    {"elu", "Activation", kTransposable},
    {"hard_sigmoid", "Activation", kTransposable},
    {"hard_swish", "Activation", kTransposable},
    {"swish", "Activation", kTransposable},
    {"mish", "Activation", kTransposable},
    {"gelu", "Activation", kTransposable},
    {"selu", "Activation", kTransposable},
    {"celu", "Activation", kTransposable},
    {"softplus", "Activation", kTransposable},
    {"softsign", "Activation", kTransposable},
    {"sum", "AddN", kTransposable},
    {"add", "Eltwise", kTransposable},
    {"sub", "Eltwise", kTransposable},
    {"mul", "Eltwise", kTransposable},
    {"div", "Eltwise", kTransposable},
    {"min", "Eltwise", kTransposable},
    {"max", "Eltwise", kTransposable},
    {"neg", "Eltwise", kTransposable},
    {"abs", "Eltwise", kTransposable},
    {"sign", "Eltwise", kTransposable},
    {"pow", "Eltwise", kTransposable},
    {"sqrt", "Eltwise", kTransposable},
    {"reciprocal", "Eltwise", kTransposable},
    {"clip", "Eltwise", kTransposable},
    {"equal", "Eltwise", kTransposable},
    {"concat", "Concat", kTransposable},
    {"pad", "Pad", kTransposable},
    {"global_average_pool", "Reduce", kTransposable},
    {"global_max_pool", "Reduce", kTransposable},
    {"reduce_mean", "Reduce", kTransposable},
    {"reduce_max", "Reduce", kTransposable},
    {"reduce_min", "Reduce", kTransposable},
    {"reduce_prod", "Reduce", kTransposable},
    {"reduce_sum", "Reduce", kTransposable},
    {"reshape", "Reshape", kTransposable},
    {"flatten", "Reshape", kTransposable},
    {"softmax", "Softmax", kTransposable},
    {"log_softmax", "Softmax", kTransposable},
    {"split", "Split", kTransposable},
    {"squeeze", "Squeeze", kTransposable},
    {"tile", "Tile", kTransposable},
    {"transpose", "Transpose", kTransposable},
};

/// A batch of images, whatever the order of its axes. Letters that stand for axes without a name
/// never are all four.
bool is_image(const Shape& shape) {
  const auto has = [&](std::string_view axis) { return shape.index_of(Axis(axis)) >= 0; };
  return shape.rank() == 4 && has("n") && has("c") && has("h") && has("w");
}

class Propagation {
 public:
  Propagation(const Graph& graph, const std::vector<NodeId>& order, const std::vector<bool>& none)
      : graph_(graph), consumers_(graph.consumers()), order_(order), none_(none) {}

  std::vector<bool> run() {
    std::vector<bool> node_auto(idx(graph_.node_count()), false), out;
    for (NodeId id : order_) {
      node_auto[idx(id)] = decide(graph_.node(id), node_auto);
      out.push_back(node_auto[idx(id)]);
    }
    return out;
  }

 private:
  bool decide(const Node& n, const std::vector<bool>& node_auto) const {
    const Category category = rule_category(n.op->name);
    if (category == Category::fixed) return true;
    if (category == Category::source || !can_transpose(n)) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      if (v == kNoValue) return true;
      const Value& value = graph_.value(v);
      if (value.constant != nullptr) return true;
      return value.producer == kNoNode ? has_data_format(v) : node_auto[idx(value.producer)];
    });
  }

  /// Of a model input.
  bool has_data_format(ValueId v) const {
    const bool said_none = !none_.empty() && none_[idx(v)];
    return !said_none && data_format(graph_.value(v).shape) != DataFormat::none;
  }

  /// The conditions that MACE puts on three operators of the list.
  bool can_transpose(const Node& n) const {
    if (n.inputs.empty() || n.inputs[0] == kNoValue || n.outputs[0] == kNoValue) return false;
    const Value &in = graph_.value(n.inputs[0]), &out = graph_.value(n.outputs[0]);
    const std::string_view becomes = mace_name(n.op->name);
    if (becomes == "Reshape") {
      const bool one_output =
          in.producer == kNoNode || graph_.node(in.producer).outputs.size() == 1;
      return one_output && in.shape.rank() == 4 && out.shape.rank() == 4;
    }
    if (becomes == "Squeeze") {  // of the spatial axes, wherever the source has them
      const int first = graph_.source_format == DataFormat::nhwc ? 1 : 2;
      return in.shape.rank() == 4 && out.shape.rank() == 2 && in.shape[first] == 1 &&
             in.shape[first + 1] == 1;
    }
    if (becomes == "Transpose") {
      const auto& readers = consumers_[idx(n.outputs[0])];
      return readers.empty() || mace_name(graph_.node(readers[0]).op->name) != "Reshape";
    }
    return true;
  }

  static std::string_view mace_name(std::string_view op) {
    const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                     [&](const Entry& e) { return e.op == op; });
    return entry == std::end(kEntries) ? std::string_view() : entry->mace;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> consumers_;
  const std::vector<NodeId>& order_;
  const std::vector<bool>& none_;
};

/// The layout that AUTO means for each value: an index into OfferTable::candidates.
std::vector<int> auto_layouts(const Graph& graph, const OfferTable& table, const Target& target) {
  std::vector<int> out(idx(graph.value_count()), 0);
  for (ValueId v(0); v < graph.value_count(); ++v) {
    const Value& value = graph.value(v);
    const int channel = value.shape.index_of(Axis("c"));
    if (!is_image(value.shape)) continue;
    const Format blocked{Layout::blocked(value.shape, channel, target.lanes), value.dtype};
    out[idx(v)] = std::max(find_candidate(table, graph, v, blocked), 0);
  }
  return out;
}

}  // namespace

Category rule_category(std::string_view op) {
  const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                   [&](const Entry& e) { return e.op == op; });
  return entry == std::end(kEntries) ? Category::source : entry->category;
}

std::vector<bool> rule_formats(const Graph& graph, const std::vector<NodeId>& order,
                               const std::vector<bool>& none) {
  return Propagation(graph, order, none).run();
}

std::vector<int> rule_choice(const Graph& graph, const OfferTable& table, const Target& target,
                             const std::vector<bool>& is_auto, const std::vector<int>& source) {
  const std::vector<int> wanted = auto_layouts(graph, table, target);
  std::vector<int> choice = source;
  for (std::size_t i = 0; i < table.order.size(); ++i) {
    if (!is_auto[i]) continue;
    const Node& n = graph.node(table.order[i]);
    const auto fits = [&](const std::vector<ValueId>& values, const std::vector<int>& layouts) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        const bool free = values[k] == kNoValue || graph.value(values[k]).constant != nullptr;
        if (!free && layouts[k] != wanted[idx(values[k])]) return false;
      }
      return true;
    };
    const bool fixed = rule_category(n.op->name) == Category::fixed;
    int whole = -1, results = -1, any = -1;
    for (std::size_t k = 0; k < table.options[i].size(); ++k) {
      const Option& o = table.options[i][k];
      if (fixed && o.reference) continue;
      const auto better = [&](int best) {
        return best < 0 || o.cost_us < table.options[i][idx(best)].cost_us;
      };
      if (better(any)) any = static_cast<int>(k);
      if (!fits(n.outputs, o.out)) continue;
      if (better(results)) results = static_cast<int>(k);
      if (fits(n.inputs, o.in) && better(whole)) whole = static_cast<int>(k);
    }
    if (whole >= 0) {
      choice[i] = whole;
    } else if (results >= 0) {
      choice[i] = results;
    } else if (fixed && any >= 0) {
      choice[i] = any;
    }
  }
  return choice;
}

}  // namespace stowage::plan
