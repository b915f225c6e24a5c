#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What report.py says of runs whose figures are known, and that a log holds it for others to print."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import report

MIB = 1 << 20


def case(name, size, goal=None, **fractions):
    contenders = [{"name": n, "us": 1, "fraction_of_memcpy": f} for n, f in fractions.items()]
    out = {
        "case": name,
        "shape": "a=2,b=3",
        "src": "f32",
        "bytes": size,
        "kernel": "copy",
        "contenders": [{"name": "memcpy", "us": size / 1e4, "fraction_of_memcpy": 1}, *contenders],
    }
    return out if goal is None else {**out, "goal": goal}


def run(*cases, state="warm", threads=1):
    return {
        "machine": "Processor X",
        "caches": {"l1": 32 << 10, "l2": MIB},
        "lanes": 8,
        "streams": 16,
        "prefetch_for_write": True,
        "non_temporal": False,
        "state": state,
        "threads": threads,
        "rounds": 5,
        "cases": list(cases),
    }


def printed(function, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*args)
    return out.getvalue()


class Report(unittest.TestCase):
    def setUp(self):
        def of(fast):
            return run(
                case("small", 16 << 10, stowage=0.01, other=1.0),
                case("steady", 4 * MIB, goal=0.8, stowage=0.9, other=0.94),
                case("moving", 4 * MIB, goal=0.8, stowage=fast, other=None),
                case("slow 2x3", 200 << 10, stowage=0.4, other=0.43),
            )

        self.warm = [of(0.5), of(0.6), of(0.7)]

    def test_fractions(self):
        self.assertEqual([report.fraction(v) for v in (None, 0.0049, 0.005, 0.85)], ["-", "< 0.01", "0.01", "0.85"])

    def test_median_and_spread(self):
        rows = {r["case"]: r for r in report.medians(self.warm)}
        self.assertEqual(rows["moving"]["fractions"], {"stowage": 0.6, "other": None})
        self.assertEqual(rows["moving"]["spread"], 0.4)
        self.assertEqual(rows["steady"]["spread"], 0)
        self.assertIsNone(report.medians(self.warm[:1])[0]["spread"])

    def test_runs_of_best_turns(self):
        of = run(case("steady", 4 * MIB, stowage=0.9))
        for contender in of["cases"][0]["contenders"]:
            contender["min_us"] = contender.pop("us")
        self.assertEqual(report.medians([of]), report.medians([run(case("steady", 4 * MIB, stowage=0.9))]))

    def test_judgement(self):
        j = report.judged(report.medians(self.warm))
        names = {k: [r["case"] for r in v] for k, v in j.items() if k != "mean"}
        self.assertEqual(names["large"], ["steady", "moving", "slow 2x3"])
        self.assertAlmostEqual(j["mean"], (0.9 * 0.6 * 0.4) ** (1 / 3))
        self.assertEqual(names["below"], ["slow 2x3"])
        self.assertEqual(names["worst"], ["slow 2x3", "moving", "steady"])
        self.assertEqual(names["met"], ["steady"])
        self.assertEqual(names["behind"], ["slow 2x3"], "4 % behind is not behind")
        self.assertEqual((names["compared"], names["disagree"]), (["steady", "moving"], ["moving"]))

    def test_bounds(self):
        rows = report.medians([run(case("bounded", 4 * MIB, stowage=0.6, other=0.5, **{"bare copy": 0.9, "bare walk": 0.8}), *self.warm[0]["cases"])])
        self.assertEqual(report.bound(rows[0]), (0.8, "bare walk"))
        self.assertEqual(report.others(rows[0]), (0.5, "other"), "a bound is nobody to be behind")
        self.assertEqual([r["case"] for r in report.judged(rows)["behind"]], ["slow 2x3"])
        text = printed(report.summary, rows)
        self.assertIn("bounds of 1 of them (lines loaded and stored, nothing computed): geometric mean 0.80, of which 0.75 is reached", text)

    def test_results_that_are_read_later(self):
        def row(**fractions):
            return report.medians([run(case("x", 4 * MIB, **{name.replace("_", ", "): f for name, f in fractions.items()}))])[0]

        self.assertFalse(report.is_behind(row(stowage=0.9, other=0.9, other_later=0.94)), "the same as without it")
        self.assertTrue(report.is_behind(row(stowage=0.9, other=0.9, other_later=1.1)))
        self.assertFalse(report.is_behind(row(stowage=0.9, stowage_later=1.2, other=0.9, other_later=1.1)), "like with like")
        self.assertTrue(report.is_behind(row(stowage=0.9, stowage_later=1.2, other=1.0)))
        self.assertEqual(report.text(row(stowage=0.9, stowage_later=1.2, other_later=1.1)), "x a=2,b=3 f32: 0.90 (later 1.20, other, later 1.10)")

    def test_table(self):
        text = printed(report.table, report.medians(self.warm))
        self.assertIn("| moving | a=2,b=3 | f32 | copy | 419.4 us | **0.60** | - | 0.80 |", text)
        self.assertIn("| slow |", text)

    def test_logs_side_by_side(self):
        runs = [*self.warm, run(case("moving", 4 * MIB, stowage=0.3), state="cold"), run(case("moving", 4 * MIB, stowage=0.2), threads=2)]
        with tempfile.TemporaryDirectory() as folder:
            full, part = pathlib.Path(folder, "full.json"), pathlib.Path(folder, "part.json")
            report.write_log(report.grouped(runs), full)
            report.write_log(report.grouped(self.warm[:1]), part)
            log = json.loads(full.read_text())
            self.assertEqual([(r["state"], r["threads"], r["processes"]) for r in log["runs"]], [("warm", 1, 3), ("cold", 1, 1), ("warm", 2, 1)])
            text = printed(report.side_by_side, [full, part])
        for line in (
            "|  | full | part |",
            "| processor | Processor X | Processor X |",
            "| caches | l1 32 KiB, l2 1024 KiB | l1 32 KiB, l2 1024 KiB |",
            "| warm, 1 thread | full | part |",
            "| memcpy, GB/s | L1 10.0, L2 10.0, memory 10.0 | L1 10.0, L2 10.0, memory 10.0 |",
            "| geometric mean | 0.60 | 0.56 |",
            "| goals met | 1 of 2 | 1 of 2 |",
            "| over 1 MiB, processes differ by > 15% | 1 of 2 | - |",
            "| moving | a=2,b=3 | f32 | 0.60 (-) | 0.50 (-) |",
            "| steady | a=2,b=3 | f32 | 0.90 (0.94) | 0.90 (0.94) |",
            "| cold, 1 thread | full | part |",
            "| geometric mean | 0.30 | - |",
            "| warm, 2 threads | full | part |",
        ):
            self.assertIn(line + "\n", text)


if __name__ == "__main__":
    unittest.main()
