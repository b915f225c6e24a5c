// SPDX-License-Identifier: Apache-2.0
// conv_bench [--threads N] [--runs N] [FILTER]: every offer of the heavy operators on layers of
// well-known networks. Prints the minimum time, GFLOP/s, the fraction of the FMA peak measured at
// the start, and GB/s of all operands read or written once. One thread is timed in CPU time.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "graph/op_def.h"

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

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#else
constexpr int kVectorBytes = 32;
#endif
typedef float V __attribute__((vector_size(kVectorBytes)));
constexpr int kChains = 12;

__attribute__((noinline)) V multiply_add(long steps, V a, V b) {
  V acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = V{} + static_cast<float>(i);
  for (long s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) acc[i] = acc[i] * a + b;
  }
  V sum = V{};
  for (int i = 0; i < kChains; ++i) sum += acc[i];
  return sum;
}

/// GFLOP/s of independent fused multiply-adds, one thread.
double fma_peak() {
  constexpr long kSteps = 2'000'000;
  const V a = V{} + 0.999f, b = V{} + 0.001f;
  volatile float sink = 0;
  double best = 1e9;
  for (int repeat = 0; repeat < 16; ++repeat) {
    best = std::min(best, seconds_of([&] { sink = sink + multiply_add(kSteps, a, b)[0]; }));
  }
  return 2.0 * kSteps * kChains * (kVectorBytes / 4) / best / 1e9;
}

struct Layer {
  std::string name, op;
  std::vector<Ints> inputs;
  std::vector<std::pair<std::string, Attribute>> attrs;
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

Layer pool(std::string name, std::string op, std::int64_t c, std::int64_t hw, std::int64_t k,
           std::int64_t stride, std::int64_t pad) {
  return {std::move(name),
          std::move(op),
          {{1, c, hw, hw}},
          {{"kernel_shape", Ints{k, k}},
           {"strides", Ints{stride, stride}},
           {"pads", Ints{pad, pad, pad, pad}}}};
}

std::vector<Layer> layers() {
  std::vector<Layer> all = {
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
      conv("dw 3x3 32 112", 32, 112, 32, 3, 1, 32),
      conv("dw 3x3 144 56", 144, 56, 144, 3, 1, 144),
      conv("dw 3x3/2 144 56", 144, 56, 144, 3, 2, 144),
      conv("dw 3x3 512 14", 512, 14, 512, 3, 1, 512),
      conv("dw 5x5 240 28", 240, 28, 240, 5, 1, 240),
      conv("dw 5x5/2 672 14", 672, 14, 672, 5, 2, 672),
      conv("dw 3x3 960 7", 960, 7, 960, 3, 1, 960),
      conv("dw 3x3 6 63", 6, 63, 6, 3, 1, 6),
      conv("dw x2 3x3 6-12 63", 6, 63, 12, 3, 1, 6),
      conv("dw x2 3x3 64-128 28", 64, 28, 128, 3, 1, 64),
      conv("dw x3 3x3/2 48-144 56", 48, 56, 144, 3, 2, 48),
      conv("dw x4 5x5 32-128 28", 32, 28, 128, 5, 1, 32),
      conv("deconv 4x4/2 64 28", 64, 28, 64, 4, 2, 1, "conv_transpose"),
      conv("deconv 2x2/2 128 28", 128, 28, 128, 2, 2, 1, "conv_transpose"),
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
      {"matmul 512^3", "matmul", {{512, 512}, {512, 512}}, {}},
      {"matmul 12x128x64x128", "matmul", {{12, 128, 64}, {12, 64, 128}}, {}},
      {"matmul 197x768x3072", "matmul", {{197, 768}, {768, 3072}}, {}},
  };
  return all;
}

struct Prepared {
  Graph graph;
  NodeId node = kNoNode;
};

/// False where the operator is not there.
bool prepare(const Layer& layer, Prepared& p) {
  Node n;
  n.op = find_op(layer.op);
  if (n.op == nullptr) return false;
  n.name = layer.name;
  for (const auto& [key, value] : layer.attrs) n.attrs.set(key, value);
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const Ints& e = layer.inputs[i];
    Tensor t(DType::f32, Shape(std::string_view("abcdefgh").substr(0, e.size()), e));
    if (i == 0 || layer.op == "matmul") {
      Value v;
      v.name = "x" + std::to_string(i);
      v.shape = t.shape();
      n.inputs.push_back(p.graph.add_value(v));
      p.graph.inputs.push_back(n.inputs.back());
    } else {
      n.inputs.push_back(p.graph.add_constant("k" + std::to_string(i), std::move(t)));
    }
  }
  Value y;
  y.name = "y";
  n.outputs.push_back(p.graph.add_value(y));
  p.graph.outputs = n.outputs;
  p.node = p.graph.add_node(std::move(n));
  const NodeRef ref(p.graph, p.node);
  ref.node().op->infer(ref);
  name_axes(p.graph);
  return true;
}

double time_offer(const Graph& graph, const Node& node, const Offer& offer, int threads, int runs,
                  double& bytes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<Tensor> tensors;
  bytes = 0;
  const auto add = [&](ValueId v, const Layout& layout) {
    tensors.emplace_back(DType::f32, graph.value(v).shape, layout);
    for (float& x : tensors.back().as<float>()) x = real(random);
    bytes += static_cast<double>(tensors.back().bytes());
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(node.inputs[i], offer.in[i]);
  add(node.outputs[0], offer.out[0]);
  std::vector<const std::byte*> in;
  for (std::size_t i = 0; i + 1 < tensors.size(); ++i) in.push_back(tensors[i].data());
  std::vector<std::byte*> out = {tensors.back().data()};
  Tensor scratch(DType::u8, Shape("a", {static_cast<std::int64_t>(offer.scratch_bytes) + 1}));
  ThreadPool pool(threads);
  const KernelArgs args{in, out, scratch.data(), &pool};
  const BoundKernel kernel = offer.call.bind({in});
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
  const double peak = fma_peak() * threads;
  std::printf("FMA peak %.0f GFLOP/s for %d thread(s)\n", peak, threads);
  wall_clock = threads > 1;
  const Target target = host_target(threads);
  for (const Layer& layer : layers()) {
    if ((layer.op + " " + layer.name).find(filter) == std::string::npos) continue;
    Prepared p;
    if (!prepare(layer, p)) continue;
    std::vector<std::vector<Layout>> candidates;
    for (ValueId v = 0; v < p.graph.value_count(); ++v) {
      const Shape& shape = p.graph.value(v).shape;
      candidates.push_back({Layout::row_major(shape)});
      if (shape.rank() > 1) candidates.back().push_back(Layout::blocked(shape, 1, target.lanes));
    }
    const NodeRef ref(p.graph, p.node);
    std::vector<Offer> offers;
    if (ref.node().op->offers == nullptr) continue;
    ref.node().op->offers({ref, target, candidates}, offers);
    for (const Offer& offer : offers) {
      double bytes = 0;
      const double s = time_offer(p.graph, ref.node(), offer, threads, runs, bytes);
      std::printf("%-22s %-18s %-9s %-9s %9.1f us %7.1f GFLOP/s %5.1f %% %6.1f GB/s\n",
                  layer.name.c_str(), std::string(offer.name()).c_str(),
                  offer.in[0].spelling().c_str(), offer.out[0].spelling().c_str(), s * 1e6,
                  offer.flops / s / 1e9, 100 * offer.flops / s / 1e9 / peak, bytes / s / 1e9);
      std::fflush(stdout);
    }
  }
  return 0;
}
