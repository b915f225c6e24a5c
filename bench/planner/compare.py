#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the optimal, rule and source plans of the same models, alternately.

A round times `runs` inferences of each planner, one planner after the other; the figure is the median
over the rounds of the fastest run of each, which other work on the machine disturbs least. Predicted times
stand beside the measured ones. A plan predicted five times as slow as the optimal one is timed by a
single run.

Without arguments: every model of the test data and of the filled zoo that runs.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

PLANNERS = ("optimal", "rule", "source")
# Measured times this close count as equal.
TOLERANCE = 1.03


def all_models(data):
    """Model files, those of the suite first."""
    suite = pathlib.Path(__file__).parents[2] / "tests/suite/models.txt"
    lines = [line for line in suite.read_text().split() if line.startswith(("zoo/", "models/"))]
    files = [(pathlib.Path("build") if line.startswith("zoo/") else data) / line / "model.onnx" for line in lines]
    for pattern in (pathlib.Path("build/zoo").glob("*/model.onnx"), (data / "models/onnx").glob("*/model.onnx"),
                    (data / "models/tflite").glob("*.tflite")):
        files += [f for f in sorted(pattern) if f not in files]
    return files


def name_of(file):
    return file.parent.name if file.name == "model.onnx" else file.name


def stowage(args, *words):
    command = [args.stowage, *map(str, words), "--threads", str(args.threads), "--json"]
    if args.rates:
        command += ["--rates", args.rates]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def measure(args, file):
    plans = {p: stowage(args, "plan", file, "--planner", p) for p in PLANNERS}
    times = {p: [] for p in PLANNERS}
    for _ in range(args.rounds):
        for p in PLANNERS:
            slow = plans[p]["cost_us"] > 5 * plans["optimal"]["cost_us"]
            if slow and times[p]:
                continue
            # The fastest of few runs says little about a model that takes a microsecond.
            runs = 1 if slow else max(args.runs, min(2000, int(20e3 / plans[p]["cost_us"])))
            options = ("--runs", runs, "--warmup", 0 if slow else 2)
            times[p].append(stowage(args, "bench", file, "--planner", p, *options)["min_ms"])
    row = {p: {"ms": statistics.median(times[p]), "predicted_ms": plans[p]["cost_us"] / 1e3} for p in PLANNERS}
    row["model"] = name_of(file)
    row["moves"] = len(plans["optimal"]["conversions"])
    row["convolutional"] = any(n["op"] == "conv" for n in plans["optimal"]["nodes"])
    row["of_best"] = row["optimal"]["ms"] / min(row[p]["ms"] for p in PLANNERS)
    row["of_rule"] = row["optimal"]["ms"] / row["rule"]["ms"]
    row["speedup"] = row["source"]["ms"] / row["optimal"]["ms"]
    least = min(row[p]["predicted_ms"] for p in PLANNERS)
    row["marks"] = (["SLOWER than the best"] if row["of_best"] > TOLERANCE else []) + (
        ["COSTS more than the best"] if row["optimal"]["predicted_ms"] > least * (1 + 1e-9) else [])
    return row


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows):
    worst = max(rows, key=lambda r: r["of_best"])
    print(f"optimal over the best of the three: at most {worst['of_best']:.3f} ({worst['model']})")
    print(f"optimal over rule: geometric mean {mean([r['of_rule'] for r in rows]):.3f}")
    nets = [r["speedup"] for r in rows if r["convolutional"]]
    if nets:
        print(f"source over optimal: geometric mean {mean(nets):.3f} over {len(nets)} convolutional nets")
    marked = [r["model"] for r in rows if r["marks"]]
    print(f"marked: {', '.join(marked) or 'none'}, of {len(rows)} models")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="model files, or names of those there are")
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rates", help="a file of `stowage calibrate`, or 'default'")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    files = all_models(args.data)
    if args.models:
        known = {name_of(f): f for f in files}
        files = [known.get(str(m), m) for m in args.models]
    head = "".join(f"{p + ' ms':>12}{'predicted':>11}" for p in PLANNERS)
    print(f"{'model':38}{head}{'moves':>7}{'of best':>9}{'source x':>10}")
    rows, refused = [], []
    for file in files:
        try:
            row = measure(args, file)
        except (RuntimeError, OSError) as problem:
            refused.append((name_of(file), problem))
            continue
        rows.append(row)
        cells = "".join(f"{row[p]['ms']:12.3f}{row[p]['predicted_ms']:11.3f}" for p in PLANNERS)
        print(f"{row['model']:38}{cells}{row['moves']:7d}{row['of_best']:9.3f}{row['speedup']:10.2f}"
              f"  {', '.join(row['marks'])}", flush=True)
    for name, problem in refused:
        print(f"{name:38}does not run: {problem}")
    if rows:
        summary(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    sys.exit(main())
