# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs over the same call from C++: `stowage bench` in turn with Python, one thread.

Both move the inputs in, compute and move the outputs out. C++ writes into memory that it has; Python makes new arrays,
as model(x) does.
"""

import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

import stowage

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = ROOT / "build/release/stowage"
RUNS, ROUNDS = 2000, 7


def chain(inputs, length):
    """The sum of [4, 8] arrays, then a chain of ReLUs."""
    nodes = [helper.make_node("Sum", inputs, ["t0"])]
    nodes += [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"]) for i in range(length)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "chain", [value(n, TensorProto.FLOAT, [4, 8]) for n in inputs],
                              [value(f"t{length}", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def median_us(call):
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def command_us(path, shapes):
    options = [word for name, extents in shapes.items()
               for word in ("--shape", f"{name}=" + ",".join(map(str, extents)))]
    done = subprocess.run([COMMAND, "bench", path, "--json", "--threads", "1", "--runs", str(RUNS), *options],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["median_ms"] * 1e3


def rows(path, shapes, what):
    fixed = stowage.load(path, shapes=shapes, threads=1)
    free = stowage.load(path, threads=1)
    random = np.random.default_rng(0)
    x = {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items()}
    values = list(x.values())
    out = fixed.run(None, x)
    calls = {
        "model(x)": lambda: fixed(*values),
        "model(x), extents open in the file": lambda: free(*values),
        "model(name=x)": lambda: fixed(**x),
        "model.run(None, {...})": lambda: fixed.run(None, x),
        "model.run(None, {...}, out)": lambda: fixed.run(None, x, out),
    }
    for call in calls.values():
        np.testing.assert_array_equal(np.asarray(call()).ravel(), np.asarray(out).ravel())
    # One after the other in each round, so that whatever else the machine does meets all alike.
    times = {"C++": []} | {name: [] for name in calls}
    for _ in range(ROUNDS):
        times["C++"].append(command_us(path, shapes))
        for name, call in calls.items():
            times[name].append(median_us(call))
    base = statistics.median(times["C++"])
    print(f"{what}: {base:.1f} us from C++")
    for name in calls:
        us = statistics.median(times[name])
        print(f"  {us:8.1f} us  {us - base:+6.1f}  {name}")


def main():
    processor = [line.split(": ")[1] for line in open("/proc/cpuinfo") if line.startswith("model name")]
    print(processor[0].strip() if processor else "unknown processor")
    with tempfile.TemporaryDirectory() as folder:
        for inputs, length in ((["x"], 1), (["x", "y", "z"], 10)):
            path = f"{folder}/chain{length}.onnx"
            onnx.save(chain(inputs, length), path)
            rows(path, {n: (4, 8) for n in inputs}, f"{len(inputs)} inputs of [4, 8], {length + 1} operators")
    rows(str(ROOT / "models/upscale_x2.onnx"), {"image": (1, 3, 8, 8)}, "upscale_x2, [1, 3, 8, 8]")


if __name__ == "__main__":
    main()
