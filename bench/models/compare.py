#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models by Stowage and by the engines of PyPI, in turn, results compared first.

A model is a folder of ONNX's backend-test form or a .tflite file. Each engine is a process of its
own with all its optimisations, in f32. In a round each in turn runs the model for a while, input
and output included; the figure is the median over the rounds of the medians, in ms. best/ours is
the time of the fastest other engine, divided by Stowage's.
"""
import argparse
import json
import math
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "contenders"))
import networks
from contenders import OF_ONNX, OF_TFLITE, cpu_name, measure, prepare, start

ZOO = """tv_squeezenet1_1 tv_mobilenet_v2 tv_shufflenet_v2_x1_0 tv_efficientnet_b0 timm_mobilenetv4_conv_small
         tv_resnet18 tv_resnet50 tv_googlenet tv_densenet121 tv_vgg16 tv_vit_b_32 timm_vit_tiny_patch16_224
         sr_fsrcnn_x2 unet_small tv_mobilenet_v3_small seg_lraspp_mobilenet_v3_large"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path,
                        default=[pathlib.Path("build/zoo", m) for m in ZOO.split()])
    parser.add_argument("--networks", action="store_true", help="those of networks.py, written first")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one engine's turn")
    parser.add_argument("--engines", help=f"{OF_ONNX}; for TFLite {OF_TFLITE}")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if args.networks:
        folder = pathlib.Path("build/networks")
        args.models = [folder / name for name in networks.NETWORKS]
        networks.write(folder)

    print(f"{cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, ms, median of {args.rounds} rounds of "
          f"{args.seconds} s")
    names = sorted(set((OF_ONNX + " " + OF_TFLITE).split()), key=(OF_ONNX + " " + OF_TFLITE).split().index)
    if args.engines:
        names = args.engines.split()
    elif all(m.suffix == ".tflite" for m in args.models):
        names = OF_TFLITE.split()
    elif all(m.suffix != ".tflite" for m in args.models):
        names = OF_ONNX.split()
    print(f"{'model':30} {'threads':>7}" + "".join(f"{n:>12}" for n in names) + f"{'best/ours':>11}")
    rows = []
    for path in args.models:
        if not path.exists():
            print(f"{path} is not there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            try:
                model, files, tolerance = prepare(path, work)
            except ValueError as refusal:
                print(f"  {path.stem} is left out: {str(refusal)[:120]}")
                continue
            fitting = (OF_TFLITE if path.suffix == ".tflite" else OF_ONNX).split()
            for threads in map(int, args.threads.split(",")):
                engines = start([n for n in names if n in fitting], model, files, tolerance, threads,
                                work)
                ms = measure(engines, args.rounds, args.seconds)
                for engine in engines:
                    engine.close()
                others = [t for n, t in ms.items() if n != "stowage"]
                row = {"model": path.stem, "threads": threads, "ms": ms}
                line = f"{path.stem:30} {threads:7}"
                line += "".join(f"{ms[n]:12.4f}" if n in ms else f"{'-':>12}" for n in names)
                if "stowage" in ms and others:
                    row["ratio"] = min(others) / ms["stowage"]
                    line += f"{row['ratio']:11.2f}"
                rows.append(row)
                print(line, flush=True)
    for threads in sorted({r["threads"] for r in rows}):
        ratios = [r["ratio"] for r in rows if r["threads"] == threads and "ratio" in r]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{threads} thread(s): geometric mean of best/ours over {len(ratios)} models {mean:.3f}, "
                  f"least {min(ratios):.2f}")
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu_name(), "rounds": args.rounds, "seconds": args.seconds,
                                         "rows": rows}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
