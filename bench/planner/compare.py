#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the optimal, rule and source plans of the same models, alternately.

A round times `runs` inferences of each planner, one after the other; the figure is the median over
the rounds of the fastest run of each, which other work on the machine disturbs least. Predicted
times stand beside the measured ones. A plan predicted five times as slow as the optimal one is timed by a
single run.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

PLANNERS = ("optimal", "rule", "source")
MODELS = [line for line in (pathlib.Path(__file__).parents[2] / "tests/suite/models.txt").read_text().split()
          if line.startswith(("zoo/", "models/"))]


def folder_of(model, data):
    return pathlib.Path("build") / model if model.startswith("zoo/") else data / model


def stowage(args, *words):
    command = [args.stowage, *map(str, words), "--threads", str(args.threads), "--json"]
    if args.rates:
        command += ["--rates", args.rates]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, help="as in tests/suite/models.txt")
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rates", help="a file of `stowage calibrate`, or 'default'")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    head = "".join(f"{p + ' ms':>12}{'predicted':>11}" for p in PLANNERS)
    print(f"{'model':28}{head}{'moves':>7}{'of rule':>9}")
    rows = []
    for model in args.models:
        path = folder_of(model, args.data) / "model.onnx"
        try:
            plans = {p: stowage(args, "plan", path, "--planner", p) for p in PLANNERS}
            times = {p: [] for p in PLANNERS}
            for _ in range(args.rounds):
                for p in PLANNERS:
                    slow = plans[p]["cost_us"] > 5 * plans["optimal"]["cost_us"]
                    if slow and times[p]:
                        continue
                    out = stowage(args, "bench", path, "--planner", p, "--runs", 1 if slow else args.runs,
                                  "--warmup", 0 if slow else 2)
                    times[p].append(out["min_ms"])
        except (RuntimeError, OSError) as problem:
            print(f"{model.split('/')[-1]:28}{problem}", flush=True)
            continue
        row = {"model": model, "conversions": len(plans["optimal"]["conversions"])}
        for p in PLANNERS:
            row[p] = {"ms": statistics.median(times[p]), "predicted_ms": plans[p]["cost_us"] / 1e3}
        row["of_rule"] = row["optimal"]["ms"] / row["rule"]["ms"]
        rows.append(row)
        cells = "".join(f"{row[p]['ms']:12.3f}{row[p]['predicted_ms']:11.3f}" for p in PLANNERS)
        print(f"{model.split('/')[-1]:28}{cells}{row['conversions']:7d}{row['of_rule']:9.2f}", flush=True)
    if rows:
        mean = math.exp(sum(math.log(r["of_rule"]) for r in rows) / len(rows))
        print(f"geometric mean of optimal over rule: {mean:.3f}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    sys.exit(main())
