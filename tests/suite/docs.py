#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py BUILD SOURCE [PAGE...]: follows the pages of docs/tasks, and docs/c.md, from the first line to the last.

BUILD is installed below a home of its own, whose clone of the repository is links to SOURCE; a page is followed there.
What a page holds, and what becomes of it:

  ```sh                     is run by sh -e, in the clone; a command that fails, fails the test
  ```text                   is what the commands before it print, standard error included
  a paragraph that ends in `out/FILE`: and then a block of c, cpp, cmake, yaml, python, json, text or make
                            is written to that file
  a paragraph that says "not tested", and then a block of whatever kind
                            is left alone

Any other block is an error. Of what is printed, and what a page says is printed,

  - a line ... stands for any number of lines, and ... between words for any number of words,
  - spaces between words count as one,
  - a number before us, ms, s, %, GB/s or GFLOP/s, and one behind min =, max =, avg = or median =, may be any other, and
    us, ms and s are the same,
  - other numbers with a decimal point may differ by one part in a hundred, or by 0.005,
  - nChw4c, nChw8c and nChw16c are the same: blocks are as wide as the vectors of the machine.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

FILES = {"c", "cpp", "cmake", "yaml", "python", "json", "text", "make"}
SECONDS = 300


class Wrong(Exception):
    """What is wrong with a page, and in which line."""

    def __init__(self, line, what):
        super().__init__(what)
        self.line = line


@dataclasses.dataclass
class Block:
    line: int  # of the page; of its first line of text
    language: str
    before: str  # the paragraph before it
    text: str


def blocks(page):
    """Fenced blocks of a page of Markdown."""
    found, before, fence, ended = [], "", None, True
    for number, line in enumerate(page.split("\n"), 1):
        m = re.match(r"\s*(```+|~~~+)\s*(\S*)", line)
        if fence is None and m:
            fence = m[1]
            found.append(Block(number + 1, m[2], before, ""))
            before, ended = "", True
        elif fence is not None and line.strip() == fence:
            fence = None
        elif fence is not None:
            found[-1].text += line + "\n"
        else:
            if line.strip():
                before = line.strip() if ended else f"{before} {line.strip()}"
            ended = not line.strip()
    if fence is not None:
        raise Wrong(found[-1].line, "a block without an end")
    return found


# What is printed.

_NUMBER = re.compile(r"([^\d.+-]*)([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(\D*)")
_UNITS = {"us", "ms", "s", "%", "GB/s", "GFLOP/s"}
_TIME = re.compile(r"(us|ms|s)([,;:)]*)")


def same_word(want, got, before, after):
    lanes = re.compile(r"nChw(4|8|16)c")
    if lanes.sub("nChw*c", want) == lanes.sub("nChw*c", got):
        return True
    a, b = _TIME.fullmatch(want), _TIME.fullmatch(got)
    if a and b:
        return a[2] == b[2]
    a, b = _NUMBER.fullmatch(want), _NUMBER.fullmatch(got)
    if not a or not b or a[1] != b[1] or a[3] != b[3]:
        return False
    unit = (a[3] or after).rstrip(",;:)")
    if unit in _UNITS or re.search(r"\b(min|max|avg|median) = ?$", before):
        return True
    if "." not in a[2] + b[2]:
        return False
    x, y = float(a[2]), float(b[2])
    return abs(x - y) <= max(0.005, 0.01 * abs(x))


def same_words(want, got, before=""):
    if not want:
        return not got
    if want[0] == "...":
        return any(same_words(want[1:], got[skipped:]) for skipped in range(len(got) + 1))
    return (bool(got) and same_word(want[0], got[0], before, " ".join(want[1:2]))
            and same_words(want[1:], got[1:], f"{before} {want[0]}"))


def same_line(want, got):
    return same_words(want.split(), got.split())


def first_difference(want, got):
    """None, or the number of the first line of `want` that `got` does not have."""
    if not want:
        return None if not got else 0
    if want[0].strip() == "...":
        farthest = 0
        for skipped in range(len(got) + 1):
            wrong = first_difference(want[1:], got[skipped:])
            if wrong is None:
                return None
            farthest = max(farthest, wrong)
        return 1 + farthest
    if not got or not same_line(want[0], got[0]):
        return 0
    wrong = first_difference(want[1:], got[1:])
    return None if wrong is None else 1 + wrong


def compare(block, printed):
    want, got = block.text.rstrip("\n").split("\n"), printed.rstrip("\n").split("\n")
    wrong = first_difference(want, got)
    if wrong is not None:
        missing = want[wrong] if wrong < len(want) else "the end"
        raise Wrong(block.line + min(wrong, len(want) - 1), f"not printed: {missing}\n  what was printed:\n    "
                    + "\n    ".join(got))


# A page.

def run(block, folder, environment):
    try:
        done = subprocess.run(["sh", "-e", "-c", block.text], cwd=folder, env=environment, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(block.line, f"takes more than {SECONDS} seconds") from None
    if done.returncode != 0:
        raise Wrong(block.line, f"exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def follow(page, folder, environment):
    """Does what the page says; how many blocks were run, compared and written. Throws Wrong."""
    done = {"run": 0, "compared": 0, "written": 0}
    printed = None
    for block in blocks(page):
        name = re.search(r"`(out/[\w./-]+)`:$", block.before)
        if "not tested" in block.before:
            continue
        if name and block.language in FILES and ".." not in name[1]:
            file = folder / name[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
            done["written"] += 1
        elif block.language == "sh":
            printed = run(block, folder, environment)
            done["run"] += 1
        elif block.language == "text" and printed is not None:
            compare(block, printed)
            printed = None
            done["compared"] += 1
        elif block.language == "text":
            raise Wrong(block.line, "no command stands before what is printed")
        else:
            raise Wrong(block.line, f"a block of '{block.language}' that is neither run nor a file: end the paragraph "
                        "before it with `out/FILE`:")
    return done


def clone(source, home):
    """A folder that looks like a clone: links, and an `out` of its own."""
    folder = home / "stowage-clone"
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in ("build", "out", ".git"):
            (folder / entry.name).symlink_to(entry.resolve())
    (folder / "out").mkdir()
    return folder


def main():
    build, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    pages = [pathlib.Path(a) for a in sys.argv[3:]] or [*sorted((source / "docs/tasks").glob("*.md")), source / "docs/c.md"]
    scratch = build / "docs-test"
    shutil.rmtree(scratch, ignore_errors=True)
    installed = scratch / "stowage"
    subprocess.run(["cmake", "--install", build, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)

    def right(page):
        home = scratch / page.stem
        folder = clone(source, home)
        (home / "stowage").symlink_to(installed)
        environment = {"HOME": str(home), "LANG": "C.UTF-8", "PATH": f"{installed}/bin:/usr/bin:/bin"}
        try:
            done = follow(page.read_text(), folder, environment)
            print(f"{page.name}: {done['run']} blocks of commands run, {done['compared']} outputs compared, "
                  f"{done['written']} files written", flush=True)
        except Wrong as wrong:
            print(f"{page}:{wrong.line}: {wrong}", flush=True)
            return False
        return True

    # Pages do not know each other.
    with concurrent.futures.ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), 4)) as threads:
        return 0 if pages and all(list(threads.map(right, pages))) else 1


if __name__ == "__main__":
    sys.exit(main())
