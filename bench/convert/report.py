#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of bench_convert as the tables and the plot of docs/conversion.md.

Every figure is the median over the runs of a fraction of memcpy's speed.
"""
import argparse
import json
import math
import pathlib
import statistics

COLOURS = {"stowage": "#1f6f8b", "oneDNN": "#e0a458", "XNNPACK": "#b5b5b5"}
LARGE = 65536  # bytes of a tensor, on either side


def key_of(case):
    return case["case"], case["shape"], case["src"]


def medians(runs):
    """case -> (its description, {contender: fraction}, microseconds of memcpy)"""
    out = {}
    for run in runs:
        for case in run["cases"]:
            entry = out.setdefault(key_of(case), (case, {}, []))
            for c in case["contenders"]:
                if c["name"] == "memcpy":
                    entry[2].append(c["min_us"])
                else:
                    entry[1].setdefault(c["name"], []).append(c["fraction_of_memcpy"])
    return [
        (case, {name: statistics.median(v) for name, v in found.items()}, statistics.median(us))
        for case, found, us in out.values()
    ]


def table(rows):
    def cell(found, name):
        return f"{found[name]:.2f}" if name in found else "-"

    print("| case | shape | type | kernel | memcpy | stowage | oneDNN | XNNPACK | naive | goal |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case, found, us in rows:
        goal = f"{case['goal']:.2f}" if "goal" in case else "-"
        name = case["case"].split(" ")[0] if "64x" in case["case"] or "x" in case["case"] else case["case"]
        print(
            f"| {name} | {case['shape']} | {case['src']} | {case['kernel']} | {us:.1f} us | **{cell(found, 'stowage')}** "
            f"| {cell(found, 'oneDNN')} | {cell(found, 'XNNPACK')} | {cell(found, 'naive')} | {goal} |"
        )


def summary(rows):
    large = [r for r in rows if r[0]["bytes"] > 2 * LARGE and r[0]["kernel"] != "alias"]
    mean = math.exp(statistics.fmean(math.log(found["stowage"]) for _, found, _ in large))
    print(f"\n{len(large)} cases over 64 KiB: geometric mean {mean:.3f}")
    for case, found, _ in large:
        best = max((f for n, f in found.items() if n != "stowage"), default=0)
        below, beaten = found["stowage"] < 0.5, found["stowage"] * 1.05 < best
        missed = found["stowage"] < case.get("goal", 0)
        if below or beaten or missed:
            why = ", ".join(w for w, on in (("under 0.5", below), ("slower than another", beaten), ("goal", missed)) if on)
            print(f"  {case['case']} {case['shape']} {case['src']}: {found['stowage']:.2f} (best other {best:.2f}): {why}")


def write_log(rows, run, out):
    """What one processor reached, for the table of all of them."""
    about = ("machine", "caches", "lanes", "threads", "state", "streams", "prefetch_for_write")
    log = {key: run[key] for key in about}
    log["cases"] = [
        {
            "case": case["case"],
            "shape": case["shape"],
            "type": case["src"],
            "kernel": case["kernel"],
            "memcpy_us": round(us, 2),
            **{name: round(fraction, 3) for name, fraction in found.items()},
        }
        for case, found, us in rows
        if case["bytes"] > LARGE
    ]
    lines = json.dumps({**log, "cases": "CASES"}, indent=1)
    cases = ",\n  ".join(json.dumps(c) for c in log["cases"])
    pathlib.Path(out).write_text(lines.replace('"CASES"', f"[\n  {cases}\n ]") + "\n")


def side_by_side(paths):
    """A column for each log: fraction of memcpy, and the best other contender's behind it."""
    logs = [json.loads(path.read_text()) for path in paths]
    for path, log in zip(paths, logs):
        caches = ", ".join(f"{name} {size >> 10} KiB" for name, size in log["caches"].items())
        print(f"- {path.stem}: {log['machine']}, {log['lanes']} lanes of f32, {caches}")
    print("\n| case | shape | type | " + " | ".join(p.stem for p in paths) + " |")
    print("|" + "---|" * (3 + len(paths)))
    names = ("case", "shape", "type", "kernel", "memcpy_us", "stowage")
    cases = {}
    for k, log in enumerate(logs):
        for c in log["cases"]:
            other = max((v for name, v in c.items() if name not in names), default=None)
            beside = f" ({other:.2f})" if other is not None else ""
            cases.setdefault((c["case"], c["shape"], c["type"]), {})[k] = f"{c['stowage']:.2f}{beside}"
    for key, found in cases.items():
        print("| " + " | ".join([*key, *(found.get(k, "-") for k in range(len(logs)))]) + " |")


def scaling(rows, one):
    """What becomes of each fraction with more threads."""
    before = {key_of(case): (found["stowage"], us) for case, found, us in one}
    ratios = [(found["stowage"] / before[key_of(case)][0], case, found, us) for case, found, us in rows]
    kept = sum(ratio >= 0.8 for ratio, *_ in ratios)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, *_ in ratios))
    print(f"\n{kept} of {len(ratios)} cases keep 0.8 of their fraction; geometric mean of the ratios {mean:.2f}")
    for ratio, case, found, us in sorted(ratios, key=lambda r: r[0]):
        if ratio >= 0.8:
            break
        fraction, us_before = before[key_of(case)]
        print(
            f"  {case['case']} {case['shape']} {case['src']}: {fraction:.2f} to {found['stowage']:.2f} "
            f"(memcpy {us_before:.1f} to {us:.1f} us, stowage {us_before / fraction:.1f} to {us / found['stowage']:.1f} us)"
        )


def plot(rows, run, out):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = [r for r in rows if "goal" in r[0]]
    plt.rcParams.update({"svg.fonttype": "none", "font.size": 9, "svg.hashsalt": "stowage"})
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1))
    height = 0.8 / len(COLOURS)
    for k, (name, colour) in enumerate(COLOURS.items()):
        values = [found.get(name, 0) for _, found, _ in rows]
        axes.barh([i + (k - 1) * height for i in range(len(rows))], values, height, color=colour, label=name)
    for i, (case, _, _) in enumerate(rows):
        axes.plot([case["goal"]] * 2, [i - 0.45, i + 0.45], color="black", linewidth=1, label=None if i else "goal")
    axes.axvline(1, color="black", linewidth=0.6, linestyle=":")
    axes.set_yticks(range(len(rows)), [case["case"] for case, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"fraction of memcpy's speed, {run['threads']} thread(s), {run['state']} caches")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=4)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, help="files of bench_convert --json")
    parser.add_argument("--one", nargs="+", type=pathlib.Path, help="runs of one thread, to compare with")
    parser.add_argument("--svg", help="also draw the cases that have a goal (needs matplotlib)")
    parser.add_argument("--log", help="write the medians as the log of this processor (bench/convert/machines)")
    parser.add_argument("--logs", action="store_true", help="the files are such logs: print them side by side")
    args = parser.parse_args()
    if args.logs:
        return side_by_side(args.runs)
    runs = [json.loads(path.read_text()) for path in args.runs]
    rows = medians(runs)
    table(rows)
    summary(rows)
    if args.log:
        write_log(rows, runs[0], args.log)
    if args.one:
        scaling(rows, medians([json.loads(path.read_text()) for path in args.one]))
    if args.svg:
        plot(rows, runs[0], args.svg)


if __name__ == "__main__":
    main()
