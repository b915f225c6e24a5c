# SPDX-License-Identifier: Apache-2.0
"""python3 tools/lint [--root DIR] [--only RULE,...] [--skip RULE,...]: says which rules hold, and where one does not.

Exit status: 0 all hold, 1 a breach, 2 wrong usage."""
import argparse
import pathlib
import sys

import allowances
import rules
from source import Tree


def names(text):
    chosen = {n for n in text.split(",") if n}
    unknown = chosen - {r.name for r in rules.RULES}
    if unknown:
        print(f"no rule is called {', '.join(sorted(unknown))}", file=sys.stderr)
        sys.exit(2)
    return chosen


def main(arguments):
    parser = argparse.ArgumentParser(prog="lint")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--only", default="", help="rules, with commas; also those that are off")
    parser.add_argument("--skip", default="", help="rules, with commas")
    parser.add_argument("--where-installed", action="store_true",
                        help="a rule whose program is not installed is skipped, and said to be")
    options = parser.parse_args(arguments)
    only, skip = names(options.only), names(options.skip)
    tree = Tree(options.root)
    failed = 0
    for rule in rules.RULES:
        if only and rule.name not in only:
            continue
        if rule.name in skip or rule.off and rule.name not in only:
            print(f"off   {rule.name}: {rule.sentence} ({rule.off or 'not asked for'})")
            continue
        try:
            breaches = sorted(set(rule.check(tree)))
        except rules.Missing as e:
            failed += not options.where_installed
            print(f"{'skip' if options.where_installed else 'FAIL'}  {rule.name}: {e}")
            continue
        print(f"{'FAIL' if breaches else 'ok'}{'' if breaches else '  '}  {rule.name}: {rule.sentence}")
        for path, line, what in breaches:
            print(f"  {path}:{line}: {what}")
        failed += bool(breaches)
    for what, table in (("file", allowances.LONG_FILES), ("function", allowances.LONG_FUNCTIONS)):
        for name, lines in table.items():
            print(f"allowed: {what} {name}, {lines} lines")
    return 1 if failed else 0
