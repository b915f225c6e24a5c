#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stowage.convert against what numpy and torch users write, on one thread.

Each case is done by all contenders in turn, many rounds; the figures are medians, as microseconds and
as a fraction of memcpy's speed (numpy's copy of as many bytes as the result has). Results are compared
first. `new`: into new memory, as `np.ascontiguousarray` does; `out`: into memory that is there.
"""

import argparse
import fnmatch
import json
import pathlib
import statistics
import sys
import time

import numpy as np

import stowage

try:
    import torch
except ImportError:
    torch = None

MEAN = np.float32([123.675, 116.28, 103.53])
SCALE = np.float32([1 / 58.395, 1 / 57.12, 1 / 57.375])


def permuted(*order):
    return lambda a: a.transpose(order), lambda t: t.permute(order)


def blocked(block):
    """The channels of NCHW in blocks, the last filled with zeros."""

    def of_numpy(a):
        n, c, h, w = a.shape
        if c % block:
            a = np.pad(a, ((0, 0), (0, -c % block), (0, 0), (0, 0)))
        return a.reshape(n, -1, block, h, w).transpose(0, 1, 3, 4, 2)

    def of_torch(t):
        n, c, h, w = t.shape
        if c % block:
            t = torch.nn.functional.pad(t, (0, 0, 0, 0, 0, -c % block))
        return t.reshape(n, -1, block, h, w).permute(0, 1, 3, 4, 2)

    return of_numpy, of_torch


def unblocked():
    def of_numpy(a):
        n, k, h, w, block = a.shape
        return a.transpose(0, 1, 4, 2, 3).reshape(n, k * block, h, w)

    def of_torch(t):
        n, k, h, w, block = t.shape
        return t.permute(0, 1, 4, 2, 3).reshape(n, k * block, h, w)

    return of_numpy, of_torch


def normalised():
    def of_numpy(a):
        return ((a.astype(np.float32) - MEAN) * SCALE).transpose(0, 3, 1, 2)

    def of_torch(t):
        return ((t.float() - torch.from_numpy(MEAN)) * torch.from_numpy(SCALE)).permute(0, 3, 1, 2)

    return of_numpy, of_torch


# Name, layouts, shape, dtype, what numpy and torch do, further arguments of convert.
CASES = [
    ("nchw-nhwc small", "NCHW", "NHWC", (1, 8, 4, 4), "f4", permuted(0, 2, 3, 1), {}),
    ("nchw-nhwc", "NCHW", "NHWC", (1, 64, 112, 112), "f4", permuted(0, 2, 3, 1), {}),
    ("nchw-nhwc", "NCHW", "NHWC", (1, 256, 56, 56), "f4", permuted(0, 2, 3, 1), {}),
    ("nhwc-nchw", "NHWC", "NCHW", (1, 112, 112, 64), "f4", permuted(0, 3, 1, 2), {}),
    ("nchw-nhwc", "NCHW", "NHWC", (8, 64, 56, 56), "f4", permuted(0, 2, 3, 1), {}),
    ("nchw-nhwc f16", "NCHW", "NHWC", (1, 64, 112, 112), "f2", permuted(0, 2, 3, 1), {}),
    ("nhwc-nchw u8", "NHWC", "NCHW", (1, 112, 112, 64), "u1", permuted(0, 3, 1, 2), {}),
    ("hwc-chw u8", "NHWC", "NCHW", (1, 640, 640, 3), "u1", permuted(0, 3, 1, 2), {}),
    ("transpose", "a b", "b a", (1000, 1003), "f4", permuted(1, 0), {}),
    ("transpose", "a b", "b a", (4096, 4096), "f4", permuted(1, 0), {}),
    ("transpose f64", "a b", "b a", (1024, 1024), "f8", permuted(1, 0), {}),
    ("axes reversed", "a b c d", "d c b a", (40, 50, 30, 20), "f4", permuted(3, 2, 1, 0), {}),
    ("nchw-8c", "NCHW", "nChw8c", (1, 64, 112, 112), "f4", blocked(8), {}),
    ("nchw-16c", "NCHW", "nChw16c", (1, 64, 112, 112), "f4", blocked(16), {}),
    ("nchw-16c tail", "NCHW", "nChw16c", (1, 30, 113, 111), "f4", blocked(16), {}),
    ("16c-nchw", "nChw16c", "NCHW", (1, 4, 112, 112, 16), "f4", unblocked(), {}),
    ("u8 nhwc - f32 nchw, mean, scale", "NHWC", "NCHW", (1, 640, 640, 3), "u1", normalised(),
     {"dtype": "f32", "mean": MEAN, "scale": SCALE}),
]  # fmt: skip


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def contenders(case, a, out_mode):
    """Name -> (call, its result as numpy)."""
    _, src, dst, _, _, (of_numpy, of_torch), more = case
    want = np.ascontiguousarray(of_numpy(a))
    outs = {name: np.empty_like(want) for name in ("memcpy", "stowage", "numpy", "torch")}
    t, t_out = (torch.from_numpy(a), torch.from_numpy(outs["torch"])) if torch else (None, None)
    if out_mode:
        calls = {
            "memcpy": lambda: np.copyto(outs["memcpy"], want),
            "stowage": lambda: stowage.convert(a, src, dst, out=outs["stowage"], **more),
            "numpy": lambda: np.copyto(outs["numpy"], of_numpy(a)),
            "torch": lambda: t_out.copy_(of_torch(t)),
        }
    else:
        calls = {
            "memcpy": lambda: want.copy(),
            "stowage": lambda: stowage.convert(a, src, dst, **more),
            "numpy": lambda: np.ascontiguousarray(of_numpy(a)),
            "torch": lambda: of_torch(t).contiguous(),
        }
    if torch is None:
        del calls["torch"]
    for name, call in calls.items():
        result = call()
        got = outs[name] if out_mode else result
        if not np.allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5) or tuple(got.shape) != want.shape:
            sys.exit(f"{case[0]}: the result of {name} is another")
    return calls, want.nbytes


def measure(calls, seconds):
    """Medians in microseconds, contenders in turn; those of a few microseconds several at once."""
    begin = time.perf_counter()
    for call in calls.values():
        call()
    batch = max(1, int(20e-6 * len(calls) / max(time.perf_counter() - begin, 1e-9)))
    times = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["memcpy"]) < 15:
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(batch):
                call()
            times[name].append((time.perf_counter() - start) / batch * 1e6)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", help="cases whose names match")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each case and mode")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    args = parser.parse_args()
    if torch:
        torch.set_num_threads(1)
    print(f"{cpu_name()}, 1 thread; numpy {np.__version__}, torch {torch.__version__ if torch else 'is not here'}")
    print(f"{'case':32}{'shape':>20} {'':4}{'memcpy':>9}{'stowage':>16}{'numpy':>16}{'torch':>16}  best other / stowage")
    rows, beaten = [], 0
    for case in CASES:
        if not fnmatch.fnmatch(case[0], args.only):
            continue
        a = np.random.default_rng(1).integers(0, 200, case[3]).astype(case[4])
        for mode in ("new", "out"):
            calls, size = contenders(case, a, mode == "out")
            us = measure(calls, args.seconds)
            others = min(t for name, t in us.items() if name in ("numpy", "torch"))
            beaten += others < us["stowage"]
            cells = "".join(
                f"{us[n]:9.1f} ({us['memcpy'] / us[n]:.2f})" if n in us else f"{'-':>16}"
                for n in ("stowage", "numpy", "torch")
            )
            shape = "x".join(map(str, case[3]))
            print(f"{case[0]:32}{shape:>20} {mode:4}{us['memcpy']:9.1f}{cells}  {others / us['stowage']:.2f}", flush=True)
            rows.append({"case": case[0], "shape": case[3], "mode": mode, "bytes": size, "us": us})
    print(f"{len(rows)} rows; another is faster in {beaten}")
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu_name(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
