#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models of ncnn, text .param files: what Stowage computes against what the published ncnn does.

    ./dev bench ncnn model.param --shape 3,224,224

Without a .bin beside it a model gets random weights, of sizes that follow from the parameters. The
input is random, from -1 to 1. An output differs where it is further off than --tolerance times its
largest magnitude. With --features detection layers are left out and what they read is compared,
for a threshold decides what they find; with them, rows of detections are compared where scores
differ from their neighbours'.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import ncnn
import numpy as np

STOWAGE = "build/release/stowage"


class Layer:

    def __init__(self, line):
        words = re.findall(r'(?:[^\s"]|"[^"]*")+', line)
        inputs, outputs = int(words[2]), int(words[3])
        self.type, self.name = words[:2]
        self.inputs = words[4:4 + inputs]
        self.outputs = words[4 + inputs:4 + inputs + outputs]
        self.params = words[4 + inputs + outputs:]
        self.values = dict(p.split("=", 1) for p in self.params)

    def integer(self, i, otherwise=0):
        return int(self.values.get(str(i), otherwise))

    def line(self):
        words = [self.type, self.name, len(self.inputs), len(self.outputs), *self.inputs, *self.outputs, *self.params]
        return " ".join(str(w) for w in words)


def weights_of(layer):
    """(count, has a tag, what the numbers are like) of each weight, in the order of the .bin."""
    p, n = layer.integer, layer.integer(0)
    scale, shift = [(n, False, "one")], [(n, False, "zero")]
    kind = layer.type.replace("DepthWise", "").replace("1D", "").replace("3D", "")
    if kind in ("Convolution", "Deconvolution"):
        return [(p(6), True, "product")] + (shift if p(5) else [])
    if kind == "InnerProduct":
        return [(p(2), True, "product")] + (shift if p(1) else [])
    if kind == "BatchNorm":
        return scale + shift + scale + shift
    if kind == "Scale":
        return scale + (shift if p(1) else []) if n != -233 else []
    if kind == "PReLU":
        return scale
    if kind == "Bias":
        return shift
    if kind in ("LayerNorm", "InstanceNorm"):
        return scale + shift if p(2, 1) else []
    if kind == "GroupNorm":
        return [(p(1), False, "one"), (p(1), False, "zero")] if p(3, 1) else []
    if kind == "RMSNorm":
        return scale if p(2, 1) else []
    if kind == "MemoryData":
        return [(int(np.prod([max(p(i), 1) for i in (0, 1, 11, 2)])), p(21, 1) == 0, "zero")]
    if kind == "MultiHeadAttention":
        q = p(2) // n
        sizes = [q * n, p(3, n) * n, p(4, n) * n]
        own = [w for s in sizes for w in ((s, True, "product"), (n, False, "zero"))]
        return own + [(q * n, True, "product"), (q, False, "zero")]
    if kind in ("GRU", "LSTM", "RNN"):
        gates, biases = {"GRU": (3, 4), "LSTM": (4, 4), "RNN": (1, 1)}[kind]
        ways = 2 if p(2) == 2 else 1
        cells = p(3, n) if kind == "LSTM" else n
        all = [(p(1), True, "product"), (ways * biases * cells, True, "zero"),
               (ways * gates * cells * n, True, "product")]
        return all + ([(ways * n * cells, True, "product")] if cells != n else [])
    if kind == "Gemm":
        sides = [(4, 7, 9), (5, 8, 9)]
        return [(p(a) * p(b), True, "product") for flag, a, b in sides if p(flag)]
    return []


def made_up(layers):
    random, out = np.random.default_rng(7), b""
    for layer in layers:
        for count, tagged, like in weights_of(layer):
            outputs = max(layer.integer(0), 1)
            spread = np.sqrt(2 * outputs / count) if like == "product" else 0.1
            numbers = random.normal(1 if like == "one" else 0, spread, count)
            if like == "one":
                numbers = np.abs(numbers) + 0.1
            out += (bytes(4) if tagged else b"") + numbers.astype("<f4").tobytes()
    return out


def without_detection(layers):
    return [l for l in layers if not l.type.endswith("DetectionOutput")]


def unread(layers):
    read = {b for l in layers if l.type != "Noop" or len(l.inputs) == len(l.outputs) for b in l.inputs}
    return [b for l in layers for b in l.outputs if b not in read]


def by_ncnn(param, weights, name, x, outputs):
    net = ncnn.Net()
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage",
                   "use_vulkan_compute"):
        setattr(net.opt, option, False)
    if net.load_param(param) != 0 or net.load_model(weights) != 0:
        sys.exit(f"ncnn does not load {param}")
    extractor = net.create_extractor()
    held = ncnn.Mat(x).clone()
    extractor.input(name, held)
    mats = {o: extractor.extract(o)[1] for o in outputs}
    return {o: np.zeros((0, 6), "f4") if m.empty() else np.array(m) for o, m in mats.items()}


def by_stowage(param, weights, name, x, folder):
    np.save(folder + "/x.npy", x)
    shape = ",".join(str(d) for d in x.shape)
    command = [STOWAGE, "run", param, "--weights", weights, "--shape", f"{name}={shape}", "--input",
               f"{name}={folder}/x.npy", "--output-dir", folder + "/out"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return lambda blob: np.load(f"{folder}/out/{re.sub('[^A-Za-z0-9_.-]', '_', blob)}.npy")


def rows_alike(have, want, tolerance):
    """Detections, sorted by score; equal scores may stand in another order."""
    have, want = (a[np.lexsort(np.round(a, 3).T[::-1])] for a in (have[:len(want)], want))
    return np.abs(have - want).max(initial=0) <= tolerance * np.abs(want).max(initial=1)


def compare(path, options):
    lines = path.read_text().strip().split("\n")
    layers = [Layer(l) for l in lines[2:]]
    detects = any(l.type.endswith("DetectionOutput") for l in layers) and not options.features
    if options.features:
        layers = without_detection(layers)
    blobs = sum(len(l.outputs) for l in layers)
    text = "\n".join([lines[0], f"{len(layers)} {blobs}"] + [l.line() for l in layers]) + "\n"
    source = next(l for l in layers if l.type == "Input")
    said = [source.integer(i) for i in (2, 11, 1, 0) if source.integer(i) > 0]
    dims = [int(d) for d in options.shape.split(",")] if options.shape else said
    x = np.random.default_rng(3).uniform(-1, 1, dims).astype("f4")
    with tempfile.TemporaryDirectory() as folder:
        param, weights = folder + "/m.param", folder + "/m.bin"
        pathlib.Path(param).write_text(text)
        own = path.with_suffix(".bin")
        pathlib.Path(weights).write_bytes(own.read_bytes() if own.exists() else made_up(layers))
        wanted = by_ncnn(param, weights, source.outputs[0], x, unread(layers))
        have = by_stowage(param, weights, source.outputs[0], x, folder)
        worst = 0
        for blob, want in wanted.items():
            if detects:
                worst = max(worst, 0 if rows_alike(have(blob), want, options.tolerance) else np.inf)
            else:
                worst = max(worst, np.abs(have(blob) - want).max() / max(np.abs(want).max(), 1e-30))
    print(f"{'same' if worst <= options.tolerance else 'DIFFERENT'}  {path.stem}  {len(wanted)} outputs  {worst:.2g}")
    return worst <= options.tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("param", nargs="+", type=pathlib.Path)
    parser.add_argument("--shape", help="of the input, c,h,w; what the file says otherwise")
    parser.add_argument("--features", action="store_true", help="leave detection layers out")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    options = parser.parse_args()
    if not os.path.exists(STOWAGE):
        sys.exit("build first: ./dev build release")
    results = [compare(p, options) for p in options.param]
    sys.exit(0 if all(results) else 1)


main()
