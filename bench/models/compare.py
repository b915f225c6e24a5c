#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Stowage and ONNX Runtime on the same models, alternately, results checked first.

Each model is a folder of ONNX's backend-test form. A round times `runs` inferences of one
contender and then of the other, input and output included; the figure is the median over all
rounds. ONNX Runtime runs with all its optimisations, on as many threads as Stowage.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ZOO = "tv_squeezenet1_1 tv_mobilenet_v2 tv_resnet18 tv_resnet50 sr_fsrcnn_x2 unet_small"


def tensors(folder, kind):
    files = sorted(folder.glob(f"test_data_set_0/{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.TensorProto.FromString(f.read_bytes())) for f in files]


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, folder, threads):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        names = [i.name for i in self.session.get_inputs()]
        self.feed = dict(zip(names, tensors(folder, "input")))

    def times(self, runs):
        self.session.run(None, self.feed)
        out = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run(None, self.feed)
            out.append((time.perf_counter() - start) * 1e3)
        return out


class Stowage:
    name = "stowage"

    def __init__(self, program, folder, threads):
        self.command = [program, "bench", str(folder / "model.onnx"), "--json", "--threads", str(threads)]
        for info, data in zip(onnxruntime.InferenceSession(str(folder / "model.onnx"),
                              providers=["CPUExecutionProvider"]).get_inputs(), tensors(folder, "input")):
            self.command += ["--shape", info.name + "=" + ",".join(map(str, data.shape))]
        subprocess.run([program, "check", str(folder), "--threads", str(threads)], check=True,
                       stdout=subprocess.DEVNULL)

    def times(self, runs):
        out = subprocess.run(self.command + ["--runs", str(runs), "--warmup", "2"], check=True,
                             capture_output=True, text=True).stdout
        return [json.loads(out)["median_ms"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path,
                        default=[pathlib.Path("build/zoo") / m for m in ZOO.split()])
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")),
               platform.processor())
    print(f"{cpu}, {os.cpu_count()} cores, {args.threads} thread(s), "
          f"ONNX Runtime {onnxruntime.__version__}, median of {args.rounds} rounds of {args.runs} runs")
    print(f"{'model':24} {'stowage ms':>11} {'onnxruntime ms':>15} {'ratio':>7}")
    rows = []
    for folder in args.folders:
        ours, theirs = Stowage(args.stowage, folder, args.threads), OnnxRuntime(folder, args.threads)
        a, b = [], []
        for _ in range(args.rounds):
            a += ours.times(args.runs)
            b += [statistics.median(theirs.times(args.runs))]
        a, b = statistics.median(a), statistics.median(b)
        rows.append({"model": folder.name, "stowage_ms": a, "onnxruntime_ms": b, "ratio": a / b})
        print(f"{folder.name:24} {a:11.3f} {b:15.3f} {a / b:7.2f}", flush=True)
    mean = math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows))
    print(f"geometric mean of the ratios: {mean:.3f}")
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu, "threads": args.threads, "rows": rows,
                                         "geometric_mean": mean}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
