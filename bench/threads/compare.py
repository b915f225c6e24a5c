#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stowage, ONNX Runtime, MNN and ncnn on cores that others use, in turn, results compared first.

Each contender is a process of its own. Four situations: quiet; busy, with one other program that
computes all the time; session, with such a program in a session of its own, which counts as much as
all threads of a contender; pinned, all threads on one CPU. In a round each contender in turn runs a
model for a while, input and output included; the figure is the median over the rounds of the
medians. Idle: CPU time of each process in the ten seconds after its last run.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "contenders"))
from contenders import busy_program, cpu_name, measure, prepare, start

MODELS = "../shared/models/onnx/ultraface_slim320 ../shared/models/onnx/fastestdet build/zoo/tv_squeezenet1_1"
CONTENDERS = "stowage onnxruntime mnn ncnn"
IDLE_SECONDS = 10


def idle(contenders):
    for c in contenders:
        c.ask("run", 0.1)
        c.before = c.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return {c.name: 1e3 * (c.cpu_seconds() - c.before) for c in contenders}


def rows_of(folder, names, args, work):
    model, files, tolerance = prepare(folder, work)
    cpu = min(os.sched_getaffinity(0))
    for threads in (1, 2):
        for situation in ("quiet", "busy", "session", "pinned"):
            contenders = start(names, model, files, tolerance, threads, work,
                               cpu if situation == "pinned" else None)
            with busy_program(situation in ("busy", "session"), own_session=situation == "session"):
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

    cpu = cpu_name()
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
