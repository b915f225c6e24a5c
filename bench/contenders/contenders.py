# SPDX-License-Identifier: Apache-2.0
"""Engines as processes that take turns with one model: what bench/models and bench/threads share."""
import contextlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import sysconfig
import time

import numpy as np
import onnx
from onnx import numpy_helper

HERE = pathlib.Path(__file__).parent
PROGRAM = "build/release/bench/contenders/bench_contender"
OF_ONNX = "stowage onnxruntime openvino mnn ncnn"
OF_TFLITE = "stowage litert"
# How far results may be apart, in parts of the largest. With 8-bit weights LiteRT rounds activations to
# 8 bits, too, and computes in integers.
TOLERANCE, OF_8_BIT_WEIGHTS = 1e-3, 2e-2


def cpu_name():
    lines = open("/proc/cpuinfo")
    return next((l.split(":")[1].strip() for l in lines if l.startswith("model name")), platform.processor())


def describe(model, arrays, inputs=(), outputs=()):
    """Writes the inputs as files, and beside the model what engines.py must know of them."""
    model.with_suffix(".json").write_text(json.dumps({
        "inputs": list(inputs), "outputs": list(outputs),
        "shapes": [x.shape for x in arrays], "dtypes": [x.dtype.name for x in arrays]}))
    files = []
    for i, x in enumerate(arrays):
        files.append(model.with_suffix(f".{i}.raw"))
        x.tofile(files[-1])
    return files


def prepare_tflite(path, work):
    """Inputs are noise between 0 and 1; integers are 0 to 9."""
    from ai_edge_litert.interpreter import Interpreter

    model = work / path.name
    model.write_bytes(path.read_bytes())
    noise = np.random.default_rng(1)
    arrays = []
    interpreter = Interpreter(model_path=str(model))
    for i in interpreter.get_input_details():
        shape, dtype = tuple(i["shape"]), i["dtype"]
        floats = np.issubdtype(dtype, np.floating)
        arrays.append((noise.random(shape) if floats else noise.integers(0, 10, shape)).astype(dtype))
    hybrid = any(t["dtype"] == np.int8 for t in interpreter.get_tensor_details())
    return model, describe(model, arrays), OF_8_BIT_WEIGHTS if hybrid else TOLERANCE


def prepare_onnx(folder, work):
    """The model in the forms of all contenders, and its inputs as files."""
    model = work / f"{folder.name}.onnx"
    model.write_bytes((folder / "model.onnx").read_bytes())
    graph = onnx.load(model).graph
    constants = {t.name for t in graph.initializer}
    data = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(f.read_bytes())) for f in data]
    files = describe(model, arrays, [v.name for v in graph.input if v.name not in constants],
                     [v.name for v in graph.output])
    tools = pathlib.Path(sys.executable).parent
    quietly = {"cwd": work, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([tools / "mnnconvert", "-f", "ONNX", "--modelFile", model.name, "--MNNModel",
                    model.with_suffix(".mnn").name, "--bizCode", "bench"], **quietly)
    pnnx = pathlib.Path(sysconfig.get_path("platlib")) / "pnnx" / "pnnx"
    shape = ",".join("[" + ",".join(map(str, x.shape)) + "]" for x in arrays)
    subprocess.run([pnnx, model.name, f"inputshape={shape}", "fp16=0"], **quietly)
    return model, files, TOLERANCE


def prepare(path, work):
    """The model, its inputs as files, and how far results of contenders may be apart."""
    return prepare_tflite(path, work) if path.suffix == ".tflite" else prepare_onnx(path, work)


class Contender:
    """One engine in a process of its own, with a model and its inputs."""

    def __init__(self, name, model, files, threads, cpu=None):
        self.name = name
        program, inputs = [sys.executable, str(HERE / "engines.py"), name], [str(f) for f in files]
        if name == "stowage":
            shapes = json.loads(model.with_suffix(".json").read_text())["shapes"]
            program = [PROGRAM]
            inputs = [f"{f}={'x'.join(map(str, s))}" for f, s in zip(files, shapes)]
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen(
            pin + program + [str(model), str(threads)] + inputs,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        # Libraries may write lines of their own.
        for line in self.process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(line)
        return None

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def agree(a, b, tolerance):
    """Sorted, for engines name and order the outputs differently."""
    if a.size != b.size:
        return False
    if a.size == 0:
        return True
    a, b = np.sort(a), np.sort(b)
    return bool(np.max(np.abs(a - b)) <= tolerance * max(1e-3, float(np.max(np.abs(a)))))


def start(names, model, files, tolerance, threads, work, cpu=None):
    """Those of the contenders that can run the model and agree with the first one on its result."""
    out, expected = [], None
    for name in names:
        c = Contender(name, model, files, threads, cpu)
        path = work / f"{name}.out"
        if c.ask("run", 0) is None or c.ask("output", path) is None:
            print(f"  {name} does not run {model.stem}")
            c.close()
            continue
        result = np.fromfile(path, np.float32)
        if expected is None:
            expected = result
        if not agree(expected, result, tolerance):
            print(f"  {name} computes something else for {model.stem}")
            c.close()
            continue
        out.append(c)
    return out


@contextlib.contextmanager
def busy_program(wanted, own_session=False):
    """Another program that computes all the time.

    In a session of its own it has, by Linux' autogroups, as much of a CPU as all threads of ours together.
    """
    if not wanted:
        yield
        return
    process = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=own_session)
    try:
        time.sleep(0.5)
        yield
    finally:
        process.kill()
        process.wait()


def measure(contenders, rounds, seconds):
    """Milliseconds of each: the median over the rounds of the medians of its turns."""
    medians = {c.name: [] for c in contenders}
    for _ in range(rounds):
        for c in contenders:
            medians[c.name].append(statistics.median(c.ask("run", seconds)))
            # Nobody's threads still spin when the next one's turn comes.
            time.sleep(0.1)
    return {name: statistics.median(times) for name, times in medians.items()}
