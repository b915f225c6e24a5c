// SPDX-License-Identifier: Apache-2.0
#include "plan/rule.h"

#include <algorithm>
#include <iterator>

#include "base/index.h"
#include "kernels/layouts.h"

namespace stowage::plan {

namespace {

/// FixedDataFormatOps and TransposableDataFormatOps of MACE's base_converter.py. All other
/// operators of MACE keep the format of the source.
constexpr std::string_view kFixed[] = {"BatchNorm",
                                       "BatchToSpaceND",
                                       "Conv2D",
                                       "Deconv2D",
                                       "DepthToSpace",
                                       "DepthwiseConv2d",
                                       "DepthwiseDeconv2d",
                                       "DetectionOutput",
                                       "ExtractImagePatches",
                                       "FullyConnected",
                                       "GroupNorm",
                                       "InstanceNorm",
                                       "LpNorm",
                                       "MVNorm",
                                       "NonlocalReshape",
                                       "Pooling",
                                       "ResizeBicubic",
                                       "ResizeBilinear",
                                       "ResizeNearestNeighbor",
                                       "SpaceToBatchND",
                                       "SpaceToDepth"};

constexpr std::string_view kTransposable[] = {"Activation",  "AddN",    "BiasAdd", "ChannelShuffle",
                                              "Concat",      "Crop",    "Eltwise", "Pad",
                                              "Reduce",      "Reshape", "Softmax", "Split",
                                              "SqrDiffMean", "Squeeze", "Tile",    "Transpose"};

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
    const Category category = rule_category(*n.op);
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
    const std::string_view becomes = n.op->mace;
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
      return readers.empty() || graph_.node(readers[0]).op->mace != "Reshape";
    }
    return true;
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
    Format wanted{Layout::blocked(value.shape, channel, target.lanes), value.dtype};
    if (target.device) {
      const auto image = target.device->operand(value, texels(value.shape));
      if (image) wanted = image->format(value);
    }
    out[idx(v)] = std::max(find_candidate(table, graph, v, wanted), 0);
  }
  return out;
}

}  // namespace

Category rule_category(const OpDef& op) {
  if (std::ranges::find(kFixed, op.mace) != std::end(kFixed)) return Category::fixed;
  const bool listed = std::ranges::find(kTransposable, op.mace) != std::end(kTransposable);
  return listed ? Category::transposable : Category::source;
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
    const bool fixed = rule_category(*n.op) == Category::fixed;
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
