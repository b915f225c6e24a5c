#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of bench_convert as the tables and the plot of docs/conversion.md.

Every figure is the median over the runs of a fraction of memcpy's speed. Runs of different caches
(warm, cold) or threads are kept apart.
"""
import argparse
import json
import math
import pathlib
import re
import statistics

COLOURS = {"stowage": "#1f6f8b", "HPTT's method": "#7a9e7e", "oneDNN": "#e0a458", "XNNPACK": "#b5b5b5"}
# What bounds conversions: as many lines loaded and stored with nothing computed between (bare.cc).
BOUNDS = ("bare copy", "bare walk")
LATER = ", later"  # of a contender that knows that the result is not read soon and may bypass the caches
LARGE, VERY_LARGE = 64 << 10, 1 << 20  # bytes of a tensor, the mean of both sides
BEHIND = 1.05  # another contender is faster where it is so by more than 5 %
AGREED = 0.15  # by which processes may differ


def key_of(case):
    return case["case"], case["shape"], case["type"]


def grouped(runs):
    """(state, threads) -> its runs"""
    out = {}
    for run in runs:
        out.setdefault((run["state"], run["threads"]), []).append(run)
    return out


def title(state, threads):
    return f"{state}, {threads} thread{'s' if threads > 1 else ''}"


def medians(runs):
    """A row for each case; a fraction is None where a contender cannot do the case."""
    seen = {}
    for run in runs:
        for case in run["cases"]:
            seen.setdefault((case["case"], case["shape"], case["src"]), []).append(case)
    rows = []
    for (name, shape, dtype), cases in seen.items():
        found, us = {}, []
        for case in cases:
            for c in case["contenders"]:
                if c["name"] == "memcpy":
                    us.append(c["us"] if "us" in c else c["min_us"])  # logs of other hosts have the best turn alone
                else:
                    found.setdefault(c["name"], []).append(c["fraction_of_memcpy"])
        row = {"case": name, "shape": shape, "type": dtype, "bytes": cases[0]["bytes"], "kernel": cases[0]["kernel"]}
        if "goal" in cases[0]:
            row["goal"] = cases[0]["goal"]
        row["memcpy_us"] = round(statistics.median(us), 2)
        # Nothing to disagree with: no figure.
        ours = [v for v in found.get("stowage", ()) if v is not None]
        row["spread"] = round(max(ours) / min(ours) - 1, 3) if len(ours) > 1 else None
        row["fractions"] = {n: None if None in v else round(statistics.median(v), 4) for n, v in found.items()}
        rows.append(row)
    return rows


def fraction(value):
    if value is None:
        return "-"
    return "< 0.01" if value < 0.005 else f"{value:.2f}"


def markdown(rows):
    for k, row in enumerate(rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
        if k == 0:
            print("|" + "---|" * len(row))


def table(rows):
    names = list(dict.fromkeys(name for row in rows for name in row["fractions"]))
    lines = [["case", "shape", "type", "kernel", "memcpy", *names, "goal"]]
    for row in rows:
        cells = {name: fraction(row["fractions"].get(name)) for name in names}
        if "stowage" in cells:
            cells["stowage"] = f"**{cells['stowage']}**"
        case = re.sub(r" \d+(x\d+)+$", "", row["case"])
        lines.append([case, row["shape"], row["type"], row["kernel"], f"{row['memcpy_us']:.1f} us", *cells.values(), fraction(row.get("goal"))])
    markdown(lines)


def others(row, later=False):
    """The fastest contender beside the engine, of those whose results are read later or of the others: (fraction, name)"""
    found = [
        (v, name)
        for name, v in row["fractions"].items()
        if v is not None and name.endswith(LATER) == later and name not in ("stowage", "stowage" + LATER, *BOUNDS)
    ]
    return max(found, default=(0, "none"))


def ours(row, later=False):
    """The engine's fraction; that of a result that is read later is the same where none is given."""
    found = row["fractions"].get("stowage" + LATER) if later else None
    return row["fractions"]["stowage"] if found is None else found


def is_behind(row):
    """Whether another contender is faster under the same conditions."""
    return any(ours(row, later) * BEHIND < others(row, later)[0] for later in (False, True))


def bound(row):
    """The lower one of the bounds, as a fraction of memcpy's speed, and its name."""
    found = [(v, name) for name in BOUNDS if (v := row["fractions"].get(name)) is not None]
    return min(found, default=(None, "none"))


def text(row):
    best, name = others(row)
    beside = [f"{name} {fraction(best)}"] if best else []
    best, name = others(row, later=True)
    beside += [f"later {fraction(ours(row, later=True))}, {name} {fraction(best)}"] if best else []
    if bound(row)[0]:
        beside.append(f"{bound(row)[1]} {fraction(bound(row)[0])}")
    beside = f" ({', '.join(beside)})" if beside else ""
    return f"{row['case']} {row['shape']} {row['type']}: {fraction(row['fractions']['stowage'])}{beside}"


def judged(rows):
    """What the rows above 64 KiB come to, as lists of rows and a mean."""
    rows = [r for r in rows if r["fractions"].get("stowage") is not None]
    large = [r for r in rows if r["bytes"] > 2 * LARGE and r["kernel"] != "alias"]
    goals = [r for r in rows if "goal" in r]
    compared = [r for r in large if r["bytes"] > 2 * VERY_LARGE and r["spread"] is not None]
    return {
        "large": large,
        "mean": math.exp(statistics.fmean(math.log(ours(r)) for r in large)) if large else None,
        "below": [r for r in large if ours(r) < 0.5],
        "worst": sorted(large, key=ours)[:3],
        "goals": goals,
        "met": [r for r in goals if ours(r) >= r["goal"]],
        "behind": [r for r in large if is_behind(r)],
        "compared": compared,
        "disagree": [r for r in compared if r["spread"] > AGREED],
    }


def summary(rows):
    j = judged(rows)
    print(
        f"\n{len(j['large'])} cases over 64 KiB: geometric mean {fraction(j['mean'])}, {len(j['below'])} under 0.5, "
        f"{len(j['behind'])} behind another by more than 5 %; {len(j['met'])} of {len(j['goals'])} goals met"
    )
    bounded = [r for r in j["large"] if bound(r)[0]]
    if bounded:
        mean = lambda of: fraction(math.exp(statistics.fmean(math.log(of(r)) for r in bounded)))
        print(
            f"bounds of {len(bounded)} of them (lines loaded and stored, nothing computed): geometric mean {mean(lambda r: bound(r)[0])}, "
            f"of which {mean(lambda r: r['fractions']['stowage'] / bound(r)[0])} is reached"
        )
    missed = [r for r in j["goals"] if r not in j["met"]]
    for row in j["large"] + [r for r in missed if r not in j["large"]]:
        why = [w for w, found in (("under 0.5", j["below"]), ("slower than another", j["behind"]), ("goal", missed)) if row in found]
        if why:
            print(f"  {text(row)}: {', '.join(why)}")
    if j["compared"]:
        agreed = len(j["compared"]) - len(j["disagree"])
        print(f"{agreed} of {len(j['compared'])} cases over 1 MiB agree within {AGREED:.0%} over the processes")
        for row in sorted(j["disagree"], key=lambda r: -r["spread"]):
            print(f"  {text(row)}: {row['spread']:.0%} between the slowest and the fastest")


def memcpy_speed(rows, caches):
    """GB/s that memcpy reads and writes, by the smallest level that holds both buffers."""
    levels = [(name.upper(), size) for name, size in caches.items() if size] + [("memory", math.inf)]
    out = {}
    for row in rows:
        level = next(name for name, size in levels if row["bytes"] <= size)
        out.setdefault(level, []).append(row["bytes"] / row["memcpy_us"] / 1e3)
    return {name: round(statistics.median(out[name]), 1) for name, _ in levels if name in out}


def write_log(groups, out):
    """What one processor reached, for the table of all of them."""
    first = next(iter(groups.values()))[0]
    log = {key: first[key] for key in ("machine", "caches", "lanes", "streams", "prefetch_for_write", "non_temporal")}
    log["runs"] = []
    blocks = {}
    for (state, threads), runs in groups.items():
        rows = medians(runs)
        mark = f"CASES {len(blocks)}"
        large = [json.dumps(row) for row in rows if row["bytes"] > 2 * LARGE]
        blocks[f'"{mark}"'] = "[\n    " + ",\n    ".join(large) + "\n   ]"
        speed = memcpy_speed(rows, log["caches"])
        log["runs"].append({"state": state, "threads": threads, "processes": len(runs), "rounds": runs[0]["rounds"], "passes": runs[0].get("passes", 1), "memcpy_gb_s": speed, "cases": mark})
    text = json.dumps(log, indent=1)
    for mark, cases in blocks.items():  # a line for each case
        text = text.replace(mark, cases)
    pathlib.Path(out).write_text(text + "\n")


def cell_of(run):
    """What a processor did in one state and number of threads, by the names of the lines."""
    j = judged(run["cases"])
    return {
        "memcpy, GB/s": ", ".join(f"{name} {speed}" for name, speed in run["memcpy_gb_s"].items()) or "-",
        "cases over 64 KiB, processes": f"{len(j['large'])}, {run['processes']}",
        "geometric mean": fraction(j["mean"]),
        "under 0.5": len(j["below"]),
        "worst": "; ".join(text(r) for r in j["worst"]),
        "goals met": f"{len(j['met'])} of {len(j['goals'])}",
        "behind another by > 5 %": len(j["behind"]),
        f"over 1 MiB, processes differ by > {AGREED:.0%}": f"{len(j['disagree'])} of {len(j['compared'])}" if j["compared"] else "-",
    }


def side_by_side(paths):
    """A column for each log: what it comes to, then fractions with the best other one's behind them."""
    logs = [json.loads(path.read_text()) for path in paths]
    caches = [", ".join(f"{name} {size >> 10} KiB" for name, size in log["caches"].items()) for log in logs]
    markdown(
        [
            ["", *(path.stem for path in paths)],
            ["processor", *(log["machine"] for log in logs)],
            ["lanes of f32", *(log["lanes"] for log in logs)],
            ["caches", *caches],
        ]
    )
    all_runs = [{key: runs[0] for key, runs in grouped(log["runs"]).items()} for log in logs]
    for key in dict.fromkeys(key for runs in all_runs for key in runs):
        cells = [cell_of(runs[key]) if key in runs else {} for runs in all_runs]
        print()
        lines = next(c for c in cells if c)
        markdown([[title(*key), *(path.stem for path in paths)], *([line, *(c.get(line, "-") for c in cells)] for line in lines)])
        rows = [{key_of(r): r for r in runs[key]["cases"]} if key in runs else {} for runs in all_runs]
        print()
        lines = [[f"{title(*key)}: case", "shape", "type", *(path.stem for path in paths)]]
        for name in dict.fromkeys(name for found in rows for name in found):
            beside = [found.get(name) for found in rows]
            lines.append([*name, *(f"{fraction(r['fractions'].get('stowage'))} ({fraction(others(r)[0] or None)})" if r else "-" for r in beside)])
        markdown(lines)


def scaling(rows, one):
    """What becomes of each fraction with more threads."""
    before = {key_of(row): row for row in one}
    ratios = []
    for row in rows:
        was, now = (r and r["fractions"].get("stowage") for r in (before.get(key_of(row)), row))
        if was and now:
            ratios.append((now / was, was, now, row))
    kept = sum(ratio >= 0.8 for ratio, *_ in ratios)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, *_ in ratios))
    print(f"\n{kept} of {len(ratios)} cases keep 0.8 of their fraction; geometric mean of the ratios {mean:.2f}")
    for ratio, was, now, row in sorted(ratios, key=lambda r: r[0]):
        if ratio >= 0.8:
            break
        us_was, us = before[key_of(row)]["memcpy_us"], row["memcpy_us"]
        print(
            f"  {' '.join(key_of(row))}: {was:.2f} to {now:.2f} "
            f"(memcpy {us_was:.1f} to {us:.1f} us, stowage {us_was / was:.1f} to {us / now:.1f} us)"
        )


def plot(rows, run, out):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = [r for r in rows if "goal" in r]
    plt.rcParams.update({"svg.fonttype": "none", "font.size": 9, "svg.hashsalt": "stowage"})
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1))
    height = 0.8 / len(COLOURS)
    for k, (name, colour) in enumerate(COLOURS.items()):
        at = [i + (k - (len(COLOURS) - 1) / 2) * height for i in range(len(rows))]
        values = [r["fractions"].get(name) for r in rows]
        axes.barh(at, [v or 0 for v in values], height, color=colour, label=name)
        for y, value in zip(at, values):
            if value is None:
                axes.text(0.003, y, "-", color=colour, fontsize=7, va="center")
    for i, row in enumerate(rows):
        axes.plot([row["goal"]] * 2, [i - 0.45, i + 0.45], color="black", linewidth=1, label=None if i else "goal")
    axes.axvline(1, color="black", linewidth=0.6, linestyle=":")
    axes.set_yticks(range(len(rows)), [r["case"] for r in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"fraction of memcpy's speed, {run['machine']}, {title(run['state'], run['threads'])}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=len(COLOURS) + 1)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


def read(paths):
    return [json.loads(path.read_text()) for path in paths]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, help="files of bench_convert --json")
    parser.add_argument("--one", nargs="+", type=pathlib.Path, help="runs of one thread, to compare with")
    parser.add_argument("--svg", help="also draw the cases of the first runs that have a goal (needs matplotlib)")
    parser.add_argument("--log", help="write the medians as the log of this processor (bench/convert/machines)")
    parser.add_argument("--logs", action="store_true", help="the files are such logs: print them side by side")
    args = parser.parse_args()
    if args.logs:
        return side_by_side(args.runs)
    groups = grouped(read(args.runs))
    for (state, threads), runs in groups.items():
        rows = medians(runs)
        print(f"\n{runs[0]['machine']}, {title(state, threads)}, median of {len(runs)}\n")
        table(rows)
        summary(rows)
        if args.one and threads > 1:
            scaling(rows, medians(read(args.one)))
    if args.log:
        write_log(groups, args.log)
    if args.svg:
        runs = next(iter(groups.values()))
        plot(medians(runs), runs[0], args.svg)


if __name__ == "__main__":
    main()
