// SPDX-License-Identifier: Apache-2.0
// bench_kernels [--threads N] [--runs N] [FILTER]: every offer of every operator that has kernels,
// on layers of well-known networks; FILTER is a part of an operator's, a kernel's or a layer's
// name. Prints the minimum time, GFLOP/s (flops as the planner counts them), GB/s of all operands
// read or written once, and the share of the peak: the larger of both over what this machine does,
// measured at the start (Peaks, of memory). Operands of one run are in the cache for the next, so a
// small layer may exceed the peak of the memory. One thread is timed in CPU time.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "graph/op_def.h"
#include "stowage/machine.h"

namespace {

using namespace stowage;

/// One thread is timed by its own clock: what others do on the machine then matters less.
bool wall_clock = false;

double now() {
  timespec t;
  clock_gettime(wall_clock ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const std::function<void()>& f) {
  const double begin = now();
  f();
  return now() - begin;
}

struct Layer {
  std::string name, op;
  std::vector<Ints> inputs;
  std::vector<std::pair<std::string, Attribute>> attrs;
  int computed = 1;  ///< inputs before the constants
  int outputs = 1;
  std::vector<std::int64_t> last;  ///< the last input: these integers, constant
};

Layer conv(std::string name, std::int64_t c, std::int64_t hw, std::int64_t o, std::int64_t k,
           std::int64_t stride, std::int64_t group = 1, std::string op = "conv") {
  const std::int64_t pad = k / 2;
  return {
      std::move(name),
      std::move(op),
      {{1, c, hw, hw}, {o, c / group, k, k}, {o}},
      {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}, {"group", group}}};
}

Layer dilated(std::int64_t c, std::int64_t hw, std::int64_t d) {
  Layer layer =
      conv("3x3 dilated " + std::to_string(d) + " " + std::to_string(c) + " " + std::to_string(hw),
           c, hw, c, 3, 1);
  layer.attrs = {{"pads", Ints{d, d, d, d}}, {"dilations", Ints{d, d}}};
  return layer;
}

/// `m` outputs of each of `c` channels: "dw x2 3x3/2 48-96 56".
Layer depthwise(std::int64_t c, std::int64_t hw, std::int64_t k, std::int64_t stride,
                std::int64_t m = 1) {
  const auto number = [](std::int64_t i) { return std::to_string(i); };
  std::string name = "dw " + (m > 1 ? "x" + number(m) + " " : "") + number(k) + "x" + number(k);
  if (stride > 1) name += "/" + number(stride);
  name += " " + number(c) + (m > 1 ? "-" + number(c * m) : "") + " " + number(hw);
  return conv(std::move(name), c, hw, c * m, k, stride, c);
}

Layer pool(std::string name, std::string op, std::int64_t c, std::int64_t hw, std::int64_t k,
           std::int64_t stride, std::int64_t pad) {
  return {std::move(name),
          std::move(op),
          {{1, c, hw, hw}},
          {{"kernel_shape", Ints{k, k}},
           {"strides", Ints{stride, stride}},
           {"pads", Ints{pad, pad, pad, pad}}}};
}

/// Attributes of a resize to twice the height and width.
std::vector<std::pair<std::string, Attribute>> doubled(std::string mode) {
  return {{"mode", std::move(mode)}, {"scales", Floats{1, 1, 2, 2}}};
}

std::vector<Layer> heavy_layers() {
  return {
      conv("3x3 64 56", 64, 56, 64, 3, 1),
      conv("3x3 128 28", 128, 28, 128, 3, 1),
      conv("3x3 256 14", 256, 14, 256, 3, 1),
      conv("3x3 512 7", 512, 7, 512, 3, 1),
      conv("3x3/2 128 56", 128, 56, 128, 3, 2),
      conv("1x1 64-256 56", 64, 56, 256, 1, 1),
      conv("1x1 256-64 56", 256, 56, 64, 1, 1),
      conv("1x1 512-128 28", 512, 28, 128, 1, 1),
      conv("1x1 1024-256 14", 1024, 14, 256, 1, 1),
      conv("1x1 256-1024 14", 256, 14, 1024, 1, 1),
      conv("1x1 512-2048 7", 512, 7, 2048, 1, 1),
      conv("1x1 24-144 56", 24, 56, 144, 1, 1),
      conv("1x1 960-160 7", 960, 7, 160, 1, 1),
      conv("stem 7x7/2 3-64 224", 3, 224, 64, 7, 2),
      conv("stem 3x3/2 3-32 224", 3, 224, 32, 3, 2),
      conv("vgg 3x3 64 224", 64, 224, 64, 3, 1),
      conv("group32 3x3 128 56", 128, 56, 128, 3, 1, 32),
      conv("group32 3x3 256 28", 256, 28, 256, 3, 1, 32),
      conv("9x9 32-3 128", 32, 128, 3, 9, 1),
      conv("1x1 64-1 112", 64, 112, 1, 1, 1),
      dilated(64, 48, 6),
      depthwise(32, 112, 3, 1),
      depthwise(144, 56, 3, 1),
      depthwise(144, 56, 3, 2),
      depthwise(512, 14, 3, 1),
      depthwise(240, 28, 5, 1),
      depthwise(672, 14, 5, 2),
      depthwise(960, 7, 3, 1),
      depthwise(6, 63, 3, 1),
      depthwise(6, 63, 3, 1, 2),
      depthwise(64, 28, 3, 1, 2),
      depthwise(48, 56, 3, 2, 3),
      depthwise(32, 28, 5, 1, 4),
      conv("deconv 4x4/2 64 28", 64, 28, 64, 4, 2, 1, "conv_transpose"),
      conv("deconv 2x2/2 128 28", 128, 28, 128, 2, 2, 1, "conv_transpose"),
      {"deconv 4x4/2 32-3 32",
       "conv_transpose",
       {{1, 32, 32, 32}, {32, 3, 4, 4}, {3}},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      pool("max 3x3/2 64 112", "max_pool", 64, 112, 3, 2, 1),
      pool("max 2x2/2 64 224", "max_pool", 64, 224, 2, 2, 0),
      pool("avg 3x3 256 28", "average_pool", 256, 28, 3, 1, 1),
      {"global avg 2048 7", "average_pool", {{1, 2048, 7, 7}}, {{"global", std::int64_t{1}}}},
      {"gemm 1x2048x1000",
       "gemm",
       {{1, 2048}, {1000, 2048}, {1000}},
       {{"transB", std::int64_t{1}}}},
      {"gemm 1x4096x4096",
       "gemm",
       {{1, 4096}, {4096, 4096}, {4096}},
       {{"transB", std::int64_t{1}}}},
      {"gemm 128x768x768", "gemm", {{128, 768}, {768, 768}, {768}}, {}},
      {"matmul 512^3", "matmul", {{512, 512}, {512, 512}}, {}, 2},
      {"matmul 12x128x64x128", "matmul", {{12, 128, 64}, {12, 64, 128}}, {}, 2},
      {"matmul 197x768x3072", "matmul", {{197, 768}, {768, 3072}}, {}, 2},
  };
}

std::vector<Layer> light_layers() {
  std::vector<Layer> all = {
      {"lstm 50x1x128-128",
       "lstm",
       {{50, 1, 128}, {1, 512, 128}, {1, 512, 128}, {1, 1024}},
       {{"hidden_size", std::int64_t{128}}},
       1,
       3},
      {"lstm 50x8x128-128",
       "lstm",
       {{50, 8, 128}, {1, 512, 128}, {1, 512, 128}, {1, 1024}},
       {{"hidden_size", std::int64_t{128}}},
       1,
       3},
      {"softmax 12x197x197", "softmax", {{12, 197, 197}}, {}},
      {"softmax channels 21 65", "softmax", {{1, 21, 65, 65}}, {{"axis", std::int64_t{1}}}},
      {"log_softmax 1x1000", "log_softmax", {{1, 1000}}, {}},
      {"layer_norm 197x768", "layer_norm", {{197, 768}, {768}, {768}}, {}},
      {"instance_norm 32 128", "instance_norm", {{1, 32, 128, 128}, {32}, {32}}, {}},
      {"lrn 96 55", "lrn", {{1, 96, 55, 55}}, {{"size", std::int64_t{5}}}},
      {"batch_norm 256 28", "batch_norm", {{1, 256, 28, 28}, {256}, {256}, {256}, {256}}, {}},
      {"resize nearest 64 32x2", "resize", {{1, 64, 32, 32}}, doubled("nearest")},
      {"resize linear 64 32x2", "resize", {{1, 64, 32, 32}}, doubled("linear")},
      {"concat 4 x 64 28",
       "concat",
       {{1, 64, 28, 28}, {1, 64, 28, 28}, {1, 64, 28, 28}, {1, 64, 28, 28}},
       {{"axis", std::int64_t{1}}},
       4},
      {"split 2 x 116 28",
       "split",
       {{1, 232, 28, 28}},
       {{"axis", std::int64_t{1}}, {"split", Ints{116, 116}}},
       1,
       2},
      {"slice 58 of 116 28",
       "slice",
       {{1, 116, 28, 28}},
       {{"starts", Ints{58}}, {"ends", Ints{116}}, {"axes", Ints{1}}}},
      {"pad 1 64 56", "pad", {{1, 64, 56, 56}}, {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}}},
      {"tile 2x2 64 28", "tile", {{1, 64, 28, 28}}, {{"repeats", Ints{1, 1, 2, 2}}}},
      {"gather 4 of 64 28",
       "gather",
       {{1, 64, 28, 28}},
       {{"axis", std::int64_t{1}}},
       1,
       1,
       {3, 60, 7, 9}},
      {"depth_to_space 256 32",
       "depth_to_space",
       {{1, 256, 32, 32}},
       {{"blocksize", std::int64_t{2}}}},
      {"space_to_depth 64 64",
       "space_to_depth",
       {{1, 64, 64, 64}},
       {{"blocksize", std::int64_t{2}}}},
      {"cast 64 56", "cast", {{1, 64, 56, 56}}, {{"to", std::string("i32")}}},
  };
  for (const char* op : {"relu", "sigmoid", "tanh", "exp", "erf", "gelu", "hard_swish", "clip",
                         "leaky_relu", "elu", "softplus", "mish", "swish"}) {
    all.push_back({std::string(op) + " 64 56", op, {{1, 64, 56, 56}}, {}});
  }
  for (const char* op : {"add", "mul", "div", "max"}) {
    all.push_back({std::string(op) + " 64 56", op, {{1, 64, 56, 56}, {1, 64, 56, 56}}, {}, 2});
  }
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_l2"}) {
    all.push_back({std::string(op) + " hw 256 28", op, {{1, 256, 28, 28}}, {{"axes", Ints{2, 3}}}});
    all.push_back({std::string(op) + " c 256 28", op, {{1, 256, 28, 28}}, {{"axes", Ints{1}}}});
  }
  all.push_back({"arg_max c 21 65", "arg_max", {{1, 21, 65, 65}}, {{"axis", std::int64_t{1}}}});
  return all;
}

std::vector<Layer> layers() {
  std::vector<Layer> all = heavy_layers(), light = light_layers();
  all.insert(all.end(), light.begin(), light.end());
  return all;
}

struct Prepared {
  Graph graph;
  NodeId node = kNoNode;
};

/// The layer as a graph of one node.
void prepare(const Layer& layer, Prepared& p) {
  Node n;
  n.op = find_op(layer.op);
  n.name = layer.name;
  for (const auto& [key, value] : layer.attrs) n.attrs.set(key, value);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> real(0.25f, 1);
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const Ints& e = layer.inputs[i];
    Tensor t(DType::f32, Shape::unnamed(e));
    for (float& x : t.as<float>()) x = real(random);
    if (static_cast<int>(i) < layer.computed) {
      Value v;
      v.name = "x" + std::to_string(i);
      v.shape = t.shape();
      n.inputs.push_back(p.graph.add_value(v));
      p.graph.inputs.push_back(n.inputs.back());
    } else {
      n.inputs.push_back(p.graph.add_constant("k" + std::to_string(i), std::move(t)));
    }
  }
  if (!layer.last.empty()) {
    Tensor t(DType::i64, Shape("a", {static_cast<std::int64_t>(layer.last.size())}));
    std::copy(layer.last.begin(), layer.last.end(), t.as<std::int64_t>().begin());
    n.inputs.push_back(p.graph.add_constant("indices", std::move(t)));
  }
  for (int o = 0; o < layer.outputs; ++o) {
    Value y;
    y.name = "y" + std::to_string(o);
    n.outputs.push_back(p.graph.add_value(y));
  }
  p.graph.outputs = n.outputs;
  p.node = p.graph.add_node(std::move(n));
  const InferRef ref(p.graph, p.node);
  ref.node().op->infer(ref);
  name_axes(p.graph);
}

double time_offer(const Graph& graph, const Node& node, const Offer& offer, int threads, int runs,
                  double& bytes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> real(0.25f, 1);
  std::vector<Tensor> in_tensors, out_tensors;
  std::vector<const std::byte*> in, constants;
  std::vector<std::byte*> out;
  bytes = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = graph.value(node.inputs[i]);
    Tensor& t = in_tensors.emplace_back(value.dtype, value.shape, offer.in[i].layout);
    if (value.constant != nullptr && t.layout() == value.constant->layout()) t = *value.constant;
    if (value.constant == nullptr || value.dtype == DType::f32) {
      for (float& x : t.as<float>()) x = real(random);
    }
    bytes += static_cast<double>(t.bytes());
  }
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const Value& value = graph.value(node.outputs[o]);
    out_tensors.emplace_back(value.dtype, value.shape, offer.out[o].layout);
    bytes += static_cast<double>(out_tensors.back().bytes());
  }
  for (std::size_t i = 0; i < in_tensors.size(); ++i) {
    in.push_back(in_tensors[i].data());
    constants.push_back(graph.value(node.inputs[i]).constant ? in.back() : nullptr);
  }
  for (Tensor& t : out_tensors) out.push_back(t.data());
  Tensor scratch(DType::u8, Shape("a", {static_cast<std::int64_t>(offer.scratch_bytes) + 1}));
  ThreadPool pool(threads);
  const KernelArgs args{in, out, scratch.data(), &pool};
  const BoundKernel kernel = offer.call.bind({constants});
  kernel.run(args);
  double best = 1e9;
  for (int i = 0; i < runs; ++i) best = std::min(best, seconds_of([&] { kernel.run(args); }));
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1, runs = 30;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::atoi(argv[++i]);
    } else {
      filter = argv[i];
    }
  }
  const Peaks peaks = measure_peaks(threads);
  const double peak = peaks.gflops, bandwidth = peaks.levels.back().gb_per_s;
  std::printf("peaks: %.0f GFLOP/s, %.1f GB/s in memory, %d thread(s)\n", peak, bandwidth, threads);
  wall_clock = threads > 1;
  const Target target = host_target(threads);
  std::set<std::string_view> measured;
  for (const Layer& layer : layers()) {
    Prepared p;
    prepare(layer, p);
    FormatTable formats;
    std::vector<std::vector<int>> candidates;
    for (ValueId v(0); v < p.graph.value_count(); ++v) {
      const Value& value = p.graph.value(v);
      const Shape& shape = value.shape;
      auto& list = candidates.emplace_back();
      list.push_back(formats.intern({Layout::row_major(shape), value.dtype}));
      if (shape.rank() < 2) continue;
      list.push_back(formats.intern({Layout::blocked(shape, 1, target.lanes), value.dtype}));
    }
    const NodeRef ref(p.graph, p.node);
    std::vector<Offer> offers;
    ref.node().op->offers({ref, target, formats, candidates}, offers);
    for (Offer& offer : offers) complete_inputs(ref, offer);
    for (const Offer& offer : offers) {
      const std::string name(offer.name());
      if ((layer.op + " " + layer.name + " " + name).find(filter) == std::string::npos) continue;
      measured.insert(offer.name());
      double bytes = 0;
      const double s = time_offer(p.graph, ref.node(), offer, threads, runs, bytes);
      const double gflops = offer.flops / s / 1e9, gbytes = bytes / s / 1e9;
      std::printf("%-22s %-28s %-9s %-9s %9.1f us %7.1f GFLOP/s %6.1f GB/s %5.1f %%\n",
                  layer.name.c_str(), name.c_str(), offer.in[0].layout.spelling().c_str(),
                  offer.out[0].layout.spelling().c_str(), s * 1e6, gflops, gbytes,
                  100 * std::max(gflops / peak, gbytes / bandwidth));
      std::fflush(stdout);
    }
  }
  if (!filter.empty()) return 0;
  std::printf("not measured:");
  for (const KernelDef* def : all_kernels()) {
    if (!measured.contains(def->name)) std::printf(" %s", std::string(def->name).c_str());
  }
  std::printf("\n");
  return 0;
}
