#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert_packing and from_pixels of Stowage and of the published ncnn, in turn, bytes compared first.

The figure is the median over the rounds of the medians of a turn; of is memcpy's time for as many
bytes, divided by Stowage's. Lanes beyond the last scalar are not compared: ncnn has no such case,
for its function does not pad. Both write into a Mat that has the shape already.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import ncnn
import numpy as np

TYPES = {1: np.int8, 2: np.float16, 4: np.float32}
# w, h, c
SHAPES = [(112, 112, 64), (56, 56, 256), (111, 113, 48)]
PACKS = [(1, 4), (4, 1), (1, 8), (8, 1), (1, 16), (16, 1), (4, 8), (8, 4), (4, 16), (16, 4), (8, 16),
         (16, 8), (1, 2), (2, 1), (3, 1), (1, 3)]
RGB, BGR, GRAY, RGBA = 1, 2, 3, 4
# from, to, w, h, pack, mean and norm
PIXELS = [(RGB, RGB, 640, 480, 1, 1), (RGB, RGB, 640, 480, 1, 0), (RGB, BGR, 640, 480, 1, 1),
          (RGB, RGB, 224, 224, 1, 1), (RGBA, BGR, 640, 480, 1, 1), (RGB, GRAY, 640, 480, 1, 0),
          (GRAY, GRAY, 640, 480, 1, 1), (RGBA, RGBA, 640, 480, 4, 1), (RGB, RGBA, 640, 480, 4, 1),
          (RGB, RGBA, 640, 480, 4, 0)]
MEANS, NORMS = [104.0, 117.0, 123.0, 128.0], [1 / 58, 1 / 57, 1 / 56, 1 / 64]


def memory_of(mat, size):
    """A Mat's bytes: the object holds a pointer to the Mat, whose first member is data."""
    held = ctypes.cast(id(mat) + object.__basicsize__, ctypes.POINTER(ctypes.c_void_p))[0]
    data = ctypes.cast(held, ctypes.POINTER(ctypes.c_void_p))[0]
    return np.frombuffer(ctypes.string_at(data, size), np.uint8)


def cells(raw, mat):
    """Without the gaps behind planes."""
    size, plane = mat.elemsize, mat.w * mat.h * mat.d
    return raw[:mat.cstep * mat.c * size].reshape(mat.c, mat.cstep * size)[:, :plane * size]


def median_us(seconds, call):
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def options(threads):
    opt = ncnn.Option()
    opt.num_threads = threads
    opt.use_fp16_storage = opt.use_bf16_storage = True
    return opt


def packing(case, threads, data):
    """The call, the Mat that it fills, and the words for the other contender."""
    lane, (w, h, c), source, target = case
    values = np.frombuffer(data[:w * h * c * lane], TYPES[lane]).reshape(c, h, w)
    opt = options(threads)
    # Their Mat of an array does not keep it alive: `values` does.
    packed, out = ncnn.convert_packing(ncnn.Mat(values).clone(), source, opt), ncnn.Mat()

    def call():
        ncnn.convert_packing(packed, out, target, opt)

    return call, lambda: out, f"pack {lane} {w} {h} {c} {source} {target} {threads}"


def pixels(case, threads, data):
    source, target, w, h, pack, norm = case
    channels = {RGB: 3, BGR: 3, GRAY: 1, RGBA: 4}
    picture = np.frombuffer(data[:w * h * channels[source]], np.uint8).reshape(h, w, -1).copy()
    kind = source if source == target else source | target << 16
    made = []
    opt = options(threads)

    def call():
        mat = ncnn.Mat.from_pixels(picture, kind, w, h)
        if norm:
            mat.substract_mean_normalize(MEANS[:channels[target]], NORMS[:channels[target]])
        if pack > 1:
            mat = ncnn.convert_packing(mat, pack, opt)
        made[:] = [mat]

    return call, lambda: made[0], f"pixels {source} {target} {w} {h} {pack} {norm} {threads}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of one contender's turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lanes", default="1 2 4", help="bytes of the scalars that are packed")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    print(f"{cpu}, {len(os.sched_getaffinity(0))} CPUs, ncnn {ncnn.__version__}, {args.threads} threads, us")
    print(f"{'case':42}{'memcpy':>9}{'ours':>9}{'ncnn':>9}{'of memcpy':>11}{'ncnn/ours':>11}")
    ours = subprocess.Popen(["build/release/bench/mat/bench_mat"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    data = np.random.default_rng(1).integers(0, 120, 4 * 256 * 56 * 56 * 2, np.uint8).tobytes()
    lanes = [int(l) for l in args.lanes.split()]
    cases = [(packing, (lane, shape, a, b)) for lane in lanes for shape in SHAPES for a, b in PACKS
             if shape[2] % a == 0 and shape[2] % b == 0]
    cases += [(pixels, case) for case in PIXELS]
    rows, slower, different = [], 0, 0
    with tempfile.TemporaryDirectory() as work:
        noise, out = pathlib.Path(work, "in"), pathlib.Path(work, "out")
        noise.write_bytes(data)
        for make, case in cases:
            call, result, words = make(case, args.threads, data)

            def ask(seconds):
                ours.stdin.write(f"{words} {seconds} {noise} {out}\n")
                ours.stdin.flush()
                return json.loads(ours.stdout.readline())

            call()
            ask(0)
            mat = result()
            theirs = memory_of(mat, mat.cstep * mat.c * mat.elemsize)
            mine = np.frombuffer(out.read_bytes(), np.uint8)
            same = theirs.size == mine.size
            if same and make is packing:
                same = np.array_equal(cells(theirs, mat), cells(mine, mat))
            elif same:
                # Theirs may be scaled and shifted in another order.
                a, b = (cells(x, mat).copy().view(np.float32) for x in (theirs, mine))
                same = np.allclose(a, b, rtol=1e-5, atol=1e-5)
            turns = [(ask(args.seconds), median_us(args.seconds, call)) for _ in range(args.rounds)]
            us = statistics.median(t["us"] for t, _ in turns)
            copy = statistics.median(t["memcpy_us"] for t, _ in turns)
            other = statistics.median(t for _, t in turns)
            rows.append({"case": words, "us": us, "memcpy_us": copy, "ncnn_us": other, "equal": bool(same)})
            slower += us > other
            different += not same
            print(f"{words:42}{copy:9.1f}{us:9.1f}{other:9.1f}{copy / us:11.2f}{other / us:11.2f}"
                  f"{'' if same else '  NOT THE SAME'}", flush=True)
    print(f"{len(rows)} cases, {different} not the same, {slower} slower than ncnn")
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu, "threads": args.threads, "rows": rows}, indent=2))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
