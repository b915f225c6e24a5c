// SPDX-License-Identifier: Apache-2.0
// From ncnn's files to a Graph whose every value has a shape. Blobs with channels are a batch of
// one inside the graph (ops/ncnn/blob.h); the model's inputs and outputs are as ncnn has them.
#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "import/builder.h"
#include "import/ncnn_file.h"
#include "import/ncnn_weights.h"
#include "import/readers.h"
#include "ops/ncnn/blob.h"

namespace stowage {

namespace {

using Blobs = std::unordered_map<std::string, ValueId>;

/// One layer while it becomes nodes.
class Layer final : public BuilderNode {
 public:
  Layer(Builder& builder, Blobs& blobs, const NcnnLayer& layer, const NcnnTensors& weights)
      : BuilderNode(builder, "ncnn"), blobs_(blobs), layer_(layer), weights_(weights) {
    type = layer.type;
    name = layer.name;
    attrs = layer.params;
  }

  int input_count() const override { return static_cast<int>(layer_.inputs.size()); }

  int output_count() const override { return static_cast<int>(layer_.outputs.size()); }

  bool has(int i) const override { return i >= 0 && i < input_count(); }

  ValueId in(int i) override {
    if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
    return blobs_.at(layer_.inputs[idx(i)]);
  }

  int weight_count() const override { return static_cast<int>(weights_.size()); }

  ValueId weight(int i) override {
    if (i >= weight_count()) fail(ErrorCode::bad_input, "it has no weights ", i);
    return builder().add_constant(builder().unique(text(name, ".weight", i)), weights_[idx(i)]);
  }

 private:
  void define(int i, ValueId v) override {
    if (i >= output_count()) fail(ErrorCode::bad_input, "output ", i, " is missing");
    const std::string& blob = layer_.outputs[idx(i)];
    if (builder().takes_name(v)) builder().rename(v, blob);
    blobs_[blob] = v;
  }

  NodeId as_is(const OpDef& op) override {
    attrs = {};  // parameters without names are no attributes of ours
    return BuilderNode::as_is(op);
  }

  Blobs& blobs_;
  const NcnnLayer& layer_;
  const NcnnTensors& weights_;
};

bool is_input(const NcnnLayer& layer) { return layer.type == "Input"; }

Ints input_extents(const ModelInput& input, const SpecialiseOptions& options) {
  const auto given = options.shapes.find(input.name);
  Ints extents;
  if (given != options.shapes.end()) {
    extents = given->second;
  } else if (input.dims.has_value()) {
    for (const ModelDim& dim : *input.dims) extents.push_back(dim.extent);
  } else {
    fail(ErrorCode::usage, "input '", input.name,
         "' has no shape in the file; give it, e.g. --shape ", input.name, "=3,224,224");
  }
  for (const std::int64_t e : extents) {
    if (e < 0) fail(ErrorCode::usage, "input '", input.name, "' cannot have the extent ", e);
  }
  if (extents.empty() || extents.size() > ncnn::kMostDims) {
    fail(ErrorCode::usage, "input '", input.name, "' cannot have ", extents.size(),
         " dims; a blob has 1 to ", ncnn::kMostDims, ": c,h,w without a batch");
  }
  return extents;
}

class NcnnModel final : public Model {
 public:
  NcnnModel(const InputFile& file, const Limits& limits)
      : budget_(limits), layers_(read_ncnn_file(file, budget_)) {
    refuse_unknown();
    find_ports();
  }

  bool has_weights() const {
    return std::ranges::any_of(layers_, [](const NcnnLayer& layer) {
      const Trail trail("node", layer.name, layer.type);
      return !ncnn_weights(layer).empty();
    });
  }

  void read(const InputFile& file) {
    NcnnWeightFile from(file);
    each_layer([&](const NcnnLayer& layer) { return from.read(layer, budget_); });
    from.expect_end();
  }

  void generate() {
    each_layer([&](const NcnnLayer& layer) { return generated_weights(layer, budget_); });
  }

 private:
  template <class F>
  void each_layer(F&& weights) {
    for (const NcnnLayer& layer : layers_) {
      const Trail trail("node", layer.name, layer.type);
      weights_.push_back(weights(layer));
    }
  }

  void refuse_unknown() const {
    std::set<std::string> missing;
    const NcnnLayer* first = nullptr;
    for (const NcnnLayer& layer : layers_) {
      if (is_input(layer)) continue;
      if (find_foreign_op("ncnn", layer.type).op != nullptr) {
        const Trail trail("node", layer.name, layer.type);
        const std::string why = ncnn_unsupported(layer);
        if (!why.empty()) fail(ErrorCode::unsupported, why);
        continue;
      }
      if (first == nullptr) first = &layer;
      missing.insert(layer.type);
    }
    if (first == nullptr) return;
    if (missing.size() == 1) {
      const Trail trail("node", first->name, first->type);
      fail(ErrorCode::unsupported, "unsupported layer ", *missing.begin());
    }
    std::string names;
    for (const std::string& m : missing) names.append(names.empty() ? "" : ", ").append(m);
    fail(ErrorCode::unsupported, "unsupported layers: ", names);
  }

  void find_ports() {
    for (const NcnnPort& port : ncnn_inputs(layers_)) {
      ModelInput& input = inputs_.emplace_back();
      input = {port.name, DType::f32, std::nullopt};
      if (port.dims.empty()) continue;
      input.dims.emplace();
      for (const std::int64_t e : port.dims) input.dims->push_back({e, ""});
    }
    outputs_ = ncnn_outputs(layers_);
  }

  std::shared_ptr<Graph> graph(const SpecialiseOptions& options) const override {
    check_names(options, inputs());
    ImportBudget budget = budget_;
    Builder builder(name_, DataFormat::nchw, budget);
    for (const NcnnLayer& layer : layers_) {
      for (const std::string& blob : layer.outputs) builder.reserve(blob);
    }
    Blobs blobs;
    for (const ModelInput& input : inputs()) {
      const ValueId v =
          builder.add_input(input.name, input.dtype, input_extents(input, options), options);
      blobs[input.name] = with_batch(builder, v);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (is_input(layers_[i])) continue;
      Layer node(builder, blobs, layers_[i], weights_[i]);
      node.import(find_foreign_op("ncnn", layers_[i].type));
    }
    for (const std::string& name : outputs_) add_output(builder, blobs.at(name), name);
    return builder.take();
  }

  static ValueId with_batch(Builder& builder, ValueId v) {
    if (builder.value(v).shape.rank() < 3) return v;
    return with_axes(builder, "unsqueeze", v);
  }

  static ValueId with_axes(Builder& builder, std::string_view op, ValueId v) {
    Attributes attrs;
    attrs.set("axes", Ints{0});
    const std::string name = builder.value(v).name;
    return builder.emit(op, name, {v}, 1, attrs)[0];
  }

  /// A value of its own, under the blob's name and without the batch.
  static void add_output(Builder& builder, ValueId v, const std::string& name) {
    Graph& graph = builder.graph();
    const bool batch = builder.value(v).shape.rank() > 2;
    if (batch) {
      if (builder.value(v).name == name) builder.rename(v, builder.unique(name + ".blob"));
      v = with_axes(builder, "squeeze", v);
    } else if (builder.value(v).name != name || builder.is_input(v) || graph.is_output(v) ||
               builder.value(v).producer == kNoNode) {
      v = builder.emit("identity", name, {v}, 1, {})[0];
    }
    if (builder.value(v).name != name) builder.rename(v, name);
    graph.outputs.push_back(v);
  }

  ImportBudget budget_;  // what the files have taken
  std::vector<NcnnLayer> layers_;
  std::vector<NcnnTensors> weights_;  // by layer
};

/// "x.bin" of "x.param" and of "x.param.bin".
std::string weights_beside(const std::string& path) {
  for (const std::string_view end : {".param", ".param.bin"}) {
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size()) + ".bin";
  }
  fail(ErrorCode::usage, "where the weights of '", path,
       "' are must be said: it does not end in .param");
}

}  // namespace

std::shared_ptr<Model> open_ncnn(const InputFile& file, const OpenOptions& options) {
  const auto model = std::make_shared<NcnnModel>(file, options.limits);
  if (options.generate_weights && !options.weights.empty()) {
    fail(ErrorCode::usage, "weights are either made up or those of a file");
  }
  if (options.generate_weights || (options.weights.empty() && !model->has_weights())) {
    model->generate();
    return model;
  }
  const std::string path = options.weights.empty() ? weights_beside(file.path()) : options.weights;
  if (options.weights.empty() && !std::ifstream(path).good()) {
    fail(ErrorCode::bad_input, "its weights, '", path,
         "', cannot be read; put that file there, or name another with --weights");
  }
  const InputFile weights(path);
  if (weights.size() > options.limits.file_bytes) {
    fail(ErrorCode::limit, "the file '", path, "' has ", weights.size(),
         " bytes, over the limit of ", options.limits.file_bytes);
  }
  model->read(weights);
  return model;
}

std::shared_ptr<Model> open_ncnn(const InputFile& file, const InputFile& weights,
                                 const Limits& limits) {
  const auto model = std::make_shared<NcnnModel>(file, limits);
  model->read(weights);
  return model;
}

}  // namespace stowage
