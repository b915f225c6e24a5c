#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of an OpenCL device beside cuDNN's kernels, layer by layer.

Runs a torchvision model as cuDNN runs it fastest: f32 without TF32, batch normalisations folded, algorithms chosen by
measuring (cudnn.benchmark), kernels launched from a CUDA graph. An operator's time is that of a graph of REPEATS of it,
divided by REPEATS. What stands behind a convolution or a matrix product counts with it, up to the next one; so do the
steps of `stowage bench MODEL --device opencl --layers --json`. Prints a table in Markdown.

usage: cudnn_layers.py NAME LAYERS.json     NAME as torchvision has it: squeezenet1_1, mobilenet_v2, resnet18
"""

import json
import statistics
import sys

import torch
import torchvision
from torch.fx.experimental.optimization import fuse

REPEATS = 20
ROUNDS = 15
HEADS = ("conv", "gemm", "matmul", "conv_transpose")


def graph_us(call, repeats):
    """Microseconds of one call, of `repeats` in a CUDA graph: the median of ROUNDS."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    times = []
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / repeats)
    return statistics.median(times)


class Layers(torch.fx.Interpreter):
    """[name, microseconds] of each head with what follows it."""

    def __init__(self, net):
        super().__init__(net)
        self.layers = []

    def run_node(self, node):
        result = super().run_node(node)
        if node.op not in ("call_module", "call_function", "call_method"):
            return result
        module = self.fetch_attr(node.target) if node.op == "call_module" else None
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            self.layers.append([str(node.target), 0.0])
        if self.layers:
            args, kwargs = self.fetch_args_kwargs_from_env(node)
            call = getattr(self, node.op)
            try:
                self.layers[-1][1] += graph_us(lambda: call(node.target, args, kwargs), REPEATS)
            except RuntimeError as problem:  # a view launches nothing, and an empty graph is an error
                print(f"{node}: {problem}", file=sys.stderr)
        return result


def cudnn_layers(name):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    net = fuse(torchvision.models.get_model(name, weights=None).eval()).cuda()
    x = torch.randn(1, 3, 224, 224, device="cuda")
    with torch.no_grad():
        layers = Layers(net)
        layers.run(x)
        return layers.layers, graph_us(lambda: net(x), 1)


def stowage_layers(file):
    with open(file, encoding="utf-8") as f:
        report = json.load(f)
    layers = []
    for step in report["layers"]:
        if step["op"] in HEADS:
            layers.append([step["name"], 0.0])
        if layers:
            layers[-1][1] += step["us"]
    return layers, report["median_ms"] * 1000


def main():
    name, file = sys.argv[1:3]
    theirs, their_total = cudnn_layers(name)
    ours, our_total = stowage_layers(file)
    if len(ours) != len(theirs):
        sys.exit(f"{len(ours)} convolutions and products in {file}, {len(theirs)} in torchvision's {name}")
    print(f"| {name} ({torch.cuda.get_device_name()}) | stowage, us | cuDNN, us | cuDNN / stowage |\n|---|---|---|---|")
    for (layer, us), (_, their_us) in zip(ours, theirs):
        print(f"| {layer} | {us:.1f} | {their_us:.1f} | {their_us / us:.2f} |")
    sums = [sum(us for _, us in layers) for layers in (ours, theirs)]
    print(f"| sum | {sums[0]:.0f} | {sums[1]:.0f} | {sums[1] / sums[0]:.2f} |")
    print(f"| whole run | {our_total:.0f} | {their_total:.0f} | {their_total / our_total:.2f} |")


if __name__ == "__main__":
    main()
