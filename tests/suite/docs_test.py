#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of docs.py: pages that are right, and pages with one thing wrong."""
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import docs


def block(language, text):
    return f"```{language}\n{text}\n```\n\n"


def printing(text, expected):
    return block("sh", f"cat <<'END'\n{text}\nEND") + block("text", expected)


RIGHT = [
    printing("one  two\nthree", "one two\nthree"),
    printing("one\ntwo\nthree", "one\n..."),
    printing("one\ntwo\nthree", "...\nthree"),
    printing("one\ntwo\nthree\nfour", "one\n...\nthree\n..."),
    printing("read 3 files in all", "read ... in all"),
    printing("  12.3 us  4.0 %  conv 'a'", "  99 us  0.1 %  conv 'a'"),
    printing("net  min =  1.25  max = 2", "net  min =  3.5  max = 7"),
    printing("ran in 880 us, or 2 s", "ran in 1.2 ms, or 2 ms"),
    printing("score 0.998 (0.4 ms),", "score 0.994 (0.7 ms),"),
    printing("a  n=1 NCHW -> nChw16c", "a  n=1 NCHW -> nChw8c"),
    "Save this as `out/a/b.txt`:\n\n" + block("text", "kept") + block("sh", "cat out/a/b.txt") + block("text", "kept"),
    block("sh", "echo this >out/a") + "Later.\n\n" + block("sh", "cat out/a; echo that >&2; false || echo $?")
    + block("text", "this\nthat\n1"),
    "On a telephone (not tested):\n\n" + block("sh", "adb push"),
    "There, not tested:\n\n" + block("basic", "10 END"),
]

# What is wrong, and the line of it.
WRONG = [
    ("not printed: two", 8, printing("one", "two")),
    ("not printed: three", 10, printing("one\ntwo", "one\nthree")),
    ("not printed: the end", 9, printing("one\ntwo", "one")),
    ("not printed: four", 11, printing("one\ntwo\nthree", "...\nfour")),
    ("not printed: conv 2", 8, printing("conv 3", "conv 2")),
    ("not printed: score 0.98", 8, printing("score 0.9", "score 0.98")),
    ("not printed: 12 KiB", 8, printing("13 KiB", "12 KiB")),
    ("not printed: ran in 2 ms, all", 8, printing("ran in 2 ms all", "ran in 2 ms, all")),
    ("not printed: NHWC", 8, printing("NCHW", "NHWC")),
    ("not printed: nChw8c 8", 8, printing("nChw16c 16", "nChw8c 8")),
    ("not printed: read ... twice", 8, printing("read 3 files", "read ... twice")),
    ("exit code 3", 2, block("sh", "exit 3")),
    ("exit code 1", 2, block("sh", "false\necho no")),
    ("no command stands before", 2, block("text", "one")),
    ("no command stands before", 12, printing("one", "one") + block("text", "one")),
    ("a block of 'cpp'", 4, "A program:\n\n" + block("cpp", "int main() {}")),
    ("a block of 'cpp'", 4, "A program, `main.cc`:\n\n" + block("cpp", "int main() {}")),
    ("a block of 'cpp'", 4, "A program, `out/../main.cc`:\n\n" + block("cpp", "int main() {}")),
    ("a block of 'console'", 2, block("console", "$ stowage")),
    ("a block of ''", 2, block("", "stowage")),
    ("a block without an end", 2, "```sh\ntrue\n"),
]


class DocsTest(unittest.TestCase):
    def follow(self, page):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "out").mkdir()
            return docs.follow(page, folder, dict(os.environ))

    def test_right_pages(self):
        for page in RIGHT:
            with self.subTest(page=page):
                self.follow(page)

    def test_wrong_pages(self):
        for what, line, page in WRONG:
            with self.subTest(page=page), self.assertRaises(docs.Wrong) as caught:
                self.follow(page)
            self.assertIn(what, str(caught.exception))
            self.assertEqual(caught.exception.line, line, page)

    def test_what_was_done_is_counted(self):
        page = printing("one", "one") + "As `out/a.yml`:\n" + block("yaml", "a: 1")
        self.assertEqual(self.follow(page), {"run": 1, "compared": 1, "written": 1})


if __name__ == "__main__":
    unittest.main()
