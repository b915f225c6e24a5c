#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stowage, ONNX Runtime, MNN and ncnn on cores that others use, in turn, results compared first.

Each contender is a process of its own. Three situations: quiet; busy, with one other program that
computes all the time; pinned, all threads on one CPU. In a round each contender in turn runs a
model for a while, input and output included; the figure is the median over the rounds of the
medians. Idle: CPU time of each process in the ten seconds after its last run.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import numpy as np
import onnx
from onnx import numpy_helper

HERE = pathlib.Path(__file__).parent
MODELS = "../shared/models/onnx/ultraface_slim320 ../shared/models/onnx/fastestdet build/zoo/tv_squeezenet1_1"
CONTENDERS = "stowage onnxruntime mnn ncnn"
IDLE_SECONDS = 10


def convert(folder, work):
    """The model in the forms of all contenders, and its inputs as files."""
    model = work / f"{folder.name}.onnx"
    model.write_bytes((folder / "model.onnx").read_bytes())
    graph = onnx.load(model).graph
    constants = {t.name for t in graph.initializer}
    ins = [v for v in graph.input if v.name not in constants]
    data = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(f.read_bytes())) for f in data]
    files = []
    for i, x in enumerate(arrays):
        files.append(work / f"{folder.name}.{i}.f32")
        x.astype(np.float32).tofile(files[-1])
    model.with_suffix(".json").write_text(json.dumps({
        "inputs": [v.name for v in ins], "outputs": [v.name for v in graph.output],
        "shapes": [x.shape for x in arrays]}))
    tools = pathlib.Path(sys.executable).parent
    quietly = {"cwd": work, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([tools / "mnnconvert", "-f", "ONNX", "--modelFile", model.name, "--MNNModel",
                    model.with_suffix(".mnn").name, "--bizCode", "bench"], **quietly)
    pnnx = pathlib.Path(sysconfig.get_path("platlib")) / "pnnx" / "pnnx"
    shape = ",".join("[" + ",".join(map(str, x.shape)) + "]" for x in arrays)
    subprocess.run([pnnx, model.name, f"inputshape={shape}", "fp16=0"], **quietly)
    return model, files


class Contender:
    def __init__(self, name, model, files, threads, cpu=None):
        self.name = name
        program = (["build/release/bench/threads/bench_threads"] if name == "stowage" else
                   [sys.executable, str(HERE / "contender.py"), name])
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen(
            pin + program + [str(model), str(threads)] + [str(f) for f in files],
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
        self.process.stdin.close()
        self.process.wait()


def start(names, model, files, threads, work, cpu=None):
    """Those of the contenders that can run the model and agree on its result."""
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
        if not agree(expected, result):
            print(f"  {name} computes something else for {model.stem}")
            c.close()
            continue
        out.append(c)
    return out


def agree(a, b):
    """Sorted, for engines name and order the outputs differently."""
    if a.size != b.size:
        return False
    a, b = np.sort(a), np.sort(b)
    return bool(np.max(np.abs(a - b)) <= 1e-3 * max(1e-3, float(np.max(np.abs(a)))))


@contextlib.contextmanager
def busy_program(wanted):
    if not wanted:
        yield
        return
    process = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
    try:
        time.sleep(0.5)
        yield
    finally:
        process.kill()
        process.wait()


def measure(contenders, rounds, seconds):
    medians = {c.name: [] for c in contenders}
    for _ in range(rounds):
        for c in contenders:
            medians[c.name].append(statistics.median(c.ask("run", seconds)))
            # Nobody's threads still spin when the next one's turn comes.
            time.sleep(0.1)
    return {name: statistics.median(times) for name, times in medians.items()}


def idle(contenders):
    for c in contenders:
        c.ask("run", 0.1)
        c.before = c.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return {c.name: 1e3 * (c.cpu_seconds() - c.before) for c in contenders}


def rows_of(folder, names, args, work):
    model, files = convert(folder, work)
    cpu = min(os.sched_getaffinity(0))
    for threads in (1, 2):
        for situation in ("quiet", "busy", "pinned"):
            contenders = start(names, model, files, threads, work, cpu if situation == "pinned" else None)
            with busy_program(situation == "busy"):
                times = measure(contenders, args.rounds, args.seconds)
            yield {"model": folder.name, "threads": threads, "situation": situation, "ms": times}
            if situation == "quiet" and not args.no_idle:
                yield {"model": folder.name, "threads": threads, "situation": "idle",
                       "ms": idle(contenders)}
            for c in contenders:
                c.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path,
                        default=[pathlib.Path(m) for m in MODELS.split()])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one contender's turn")
    parser.add_argument("--no-idle", action="store_true")
    parser.add_argument("--contenders", default=CONTENDERS, help=CONTENDERS)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")),
               platform.processor())
    names = args.contenders.split()
    print(f"{cpu}, {len(os.sched_getaffinity(0))} CPUs, ms, median of {args.rounds} rounds of "
          f"{args.seconds} s; idle: ms of CPU time in {IDLE_SECONDS} s")
    print(f"{'model':20} {'threads':>7} {'':8}" + "".join(f"{n:>12}" for n in names) + "  ours/best")
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for folder in args.folders:
            if not (folder / "model.onnx").exists():
                print(f"{folder} is not there")
                continue
            for row in rows_of(folder, names, args, pathlib.Path(work)):
                rows.append(row)
                ms = row["ms"]
                others = [t for n, t in ms.items() if n != "stowage"]
                line = f"{row['model']:20} {row['threads']:7} {row['situation']:8}"
                line += "".join(f"{ms[n]:12.3f}" if n in ms else f"{'-':>12}" for n in names)
                if "stowage" in ms and others and row["situation"] != "idle":
                    row["ratio"] = ms["stowage"] / min(others)
                    line += f"{row['ratio']:11.2f}"
                print(line, flush=True)
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu, "rounds": args.rounds, "seconds": args.seconds,
                                         "rows": rows}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
