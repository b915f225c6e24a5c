#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of tools/lint: a clean tree passes all of them, and one breach makes one rule fail, and only that."""
import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lint"))

import check
import rules

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

CLEAN = {
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n",
    "src/ROOMS": "base:\nlayout: base\ngraph: base layout\nplan: base layout graph\nkernels: base\nops: base layout graph\nruntime: base layout\n"
                 "cli: base/text.h\ntests: graph\ngenerated: paths.h\n<hwy>: ops\n<base/bytes.h>: base\n",
    "include/stowage/error.h": SPDX + "#pragma once\n",
    "src/base/text.h": SPDX + "#pragma once\n\nint length(const char* text) noexcept;\n",
    "src/layout/catalog.cc": SPDX + '\nbool plain(const char* s) { return s == "nChw16c"; }\n',
    "src/graph/op_def.h": SPDX + '#pragma once\n\n#include "base/text.h"\n#include "stowage/error.h"\n\nstruct Offer {\n  int kernel = 0;\n};\n',
    "src/graph/passes/patterns.cc": SPDX + '\nbool is_erf(const Node& n) { return n.op->name == "erf"; }\n',
    "src/graph/passes/fold.cc": SPDX + '\nNode pad(const Node& n) { return {find_op("pad"), label(n.op->name, n.op != nullptr)}; }\n',
    "src/plan/plan.h": SPDX + '#pragma once\n\n#include "graph/op_def.h"\n',
    "src/ops/relu.cc": SPDX + '#include <hwy/highway.h>\n\n#include "base/text.h"\n\n'
                       "// The rest of the row, 4 lanes at a time: printf(\"no code\").\n"
                       'void offers() { offer("nChw16c", "exit(1)"); }\n\n'
                       "void run(const Relu& r, const KernelArgs& args) noexcept { HWY_DYNAMIC_DISPATCH(relu)(r, args); }\n",
    "src/ops/relu_test.cc": SPDX + '#include "ops/relu.h"\n\n#include "paths.h"\n#include "tests/builder.h"\n\n'
                            'TEST(Relu, Blocks) { EXPECT_TRUE(layout.spelling() == "nChw16c" && channels / 4 == 2); }\n',
    "cli/main.cc": SPDX + '#include <cstdio>\n\n#include "base/text.h"\n\nint main() { return std::puts("NCHW or nChw16c"); }\n',
    "tests/builder.h": SPDX + '#pragma once\n\n#include "graph/op_def.h"\n',
    "tests/run.sh": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nset -eu\necho \"$1\"\n",
    "docs/README.md": "# First\n\n[Next](next.md#a-part), [tools](../tools), [out](https://a.b/c.md), `[no](link.md)`\n\n"
                      "```sh\n# no heading, and [no](link.md)\n```\n",
    "docs/next.md": "# Next\n\n## A part\n\n[here](#next) ![a file](../tools/report.py) [tool](../tools/report.py)\n",
    "tools/report.py": "# SPDX-License-Identifier: Apache-2.0\nprint(1)\n",
}


def function(lines):
    return "\nint long_one(int x) {\n" + "  x += 1;\n" * (lines - 3) + "  return x;\n}\n"


# The rule, what it says, and the files that break it: written anew, or appended to where they begin with "+".
BREACHES = [
    ("rooms", "'base' may not include 'graph/op_def.h'", {"src/base/text.cc": SPDX + '#include "graph/op_def.h"\n'}),
    ("rooms", "'graph' may not include 'ops/relu.h'", {"src/graph/node.cc": SPDX + "#include <ops/relu.h>\n"}),
    ("rooms", "'cli' may not include 'plan/plan.h'", {"cli/plan.cc": SPDX + '#include "plan/plan.h"\n'}),
    ("rooms", "'cli' may not include 'base/file.h'", {"cli/plan.cc": SPDX + '#include "base/file.h"\n'}),
    ("rooms", "'cli' may not include 'tests/builder.h'", {"cli/plan.cc": SPDX + '#include "tests/builder.h"\n'}),
    ("rooms", "'tests' may not include 'plan/plan.h'", {"tests/a_test.cc": SPDX + '#include "plan/plan.h"\n'}),
    ("rooms", "a public header may not include 'base/text.h'",
     {"include/stowage/model.h": SPDX + '#pragma once\n\n#include "base/text.h"\n'}),
    ("rooms", "'attic' is no room", {"src/attic/a.h": SPDX + "#pragma once\n"}),
    ("rooms", "<hwy> belongs to ops", {"src/plan/plan.cc": SPDX + "#include <hwy/highway.h>\n"}),
    ("rooms", "<base/bytes.h> belongs to base", {"src/plan/plan.cc": SPDX + '#include "base/bytes.h"\n'}),
    ("rooms", "'lost.h' is not beside the file", {"src/plan/plan.cc": SPDX + '#include "lost.h"\n'}),
    ("rooms", "'base' may not see 'ops', which does not lie below it",
     {"src/ROOMS": CLEAN["src/ROOMS"].replace("base:", "base: ops", 1)}),
    ("rooms", "'cli' does not include 'graph/op_def.h': remove it",
     {"src/ROOMS": CLEAN["src/ROOMS"].replace("cli:", "cli: graph/op_def.h")}),
    ("file_size", "601 lines, 600 allowed", {"src/base/text.cc": SPDX + "int a;\n" * 600}),
    ("file_size", "601 lines, 600 allowed", {"tools/report.py": "+" + "print(1)\n" * 599}),
    ("function_size", "long_one has 101 lines", {"src/base/text.cc": SPDX + function(101)}),
    ("function_size", "Class::long_one has 101 lines",
     {"src/base/text.cc": SPDX + "\nnamespace a {\n" + function(101).replace("long_one", "Class::long_one") + "\n}  // namespace a\n"}),
    ("function_size", "f has 101 lines", {"tools/report.py": "+def f():\n" + "    print(1)\n" * 100}),
    ("function_size", "f has 101 lines", {"tests/run.sh": "+f() {\n" + "  echo 1\n" * 99 + "}\n"}),
    ("layout_names", '"nChw16c" decides', {"src/ops/relu.cc": '+\nbool fits(const char* s) {\n  if (is(s, "nChw16c")) return true;\n  return false;\n}\n'}),
    ("layout_names", '"NHWC" decides', {"cli/main.cc": '+\nbool last(const Name& s) { return s == "NHWC"; }\n'}),
    ("layout_names", '"n c/4 h w c%4" is spelled', {"src/plan/plan.cc": SPDX + '\nLayout layout() { return Layout::parse("n c/4 h w c%4"); }\n'}),
    ("layout_names", "compares a spelling", {"src/plan/plan.cc": SPDX + "\nbool same(Layout a, Layout b) { return a.spelling() == b.spelling(); }\n"}),
    ("layout_names", "src/runtime/measure_rates.cc:1: \"CNHW\" is not there",
     {"src/runtime/measure_rates.cc": SPDX + '\nconst Layout kCases[] = {Layout::parse("n h w c"), Layout::parse("h g f e d c b a")};\n'}),
    ("blocking", "'channels / 4'", {"src/ops/relu.cc": "+\nint blocks(int channels) { return channels / 4; }\n"}),
    ("blocking", "'(c_in + 7) /'", {"src/plan/plan.cc": SPDX + "\nint blocks(int c_in) { return (c_in + 7) / 8; }\n"}),
    ("blocking", "'block == 16'", {"src/plan/plan.cc": SPDX + "\nint cost(int block) { return block == 16 ? 1 : 2; }\n"}),
    ("operator_names", "compares an operator",
     {"src/graph/passes/fold.cc": SPDX + '\nbool is_pad(const Node& n) { return n.op->name == "pad"; }\n'}),
    ("operator_names", "compares an operator",
     {"src/graph/passes/fold.cc": SPDX + '\nbool is_pad(const NodeRef& n) { return "pad" != n.node().op->name; }\n'}),
    ("operator_names", "compares an operator",
     {"src/graph/passes/fold.cc": SPDX + '\nbool is_pad(const Node& n) { return n.op == find_op("pad"); }\n'}),
    ("operator_names", "compares an operator",
     {"src/plan/plan.cc": SPDX + '\nbool is_reduce(const OpDef& op) { return op.name.starts_with("reduce"); }\n'}),
    ("operator_names", "compares an operator", {"src/plan/plan.cc": SPDX + '\nbool is_pad(const NodeReport& r) { return r.op == "pad"; }\n'}),
    ("quiet", "'std::getenv('", {"src/base/text.cc": SPDX + '\nconst char* home() { return std::getenv("HOME"); }\n'}),
    ("quiet", "'printf('", {"src/base/text.cc": SPDX + '\nvoid say() { printf("hello"); }\n'}),
    ("quiet", "'std::cout'", {"src/base/text.cc": SPDX + '\nvoid say() { std::cout << "hello"; }\n'}),
    ("quiet", "'std::cerr'", {"include/stowage/error.h": '+\ninline void say() { std::cerr << "hello"; }\n'}),
    ("quiet", "'std::abort('", {"src/base/text.cc": SPDX + "\nvoid stop() { std::abort(); }\n"}),
    ("quiet", "'exit('", {"src/base/text.cc": SPDX + "\nvoid stop() { exit(1); }\n"}),
    ("quiet", "'assert('", {"src/base/text.cc": SPDX + "\nvoid stop(int x) { assert(x > 0); }\n"}),
    ("noexcept", "run is a kernel and not noexcept",
     {"src/ops/abs.cc": SPDX + "\nvoid run(const Abs& a, const KernelArgs& args) { a.run(args); }\n"}),
    ("noexcept", "fast is a kernel and not noexcept",
     {"src/ops/abs.cc": SPDX + "\nvoid fast(const float* x) { HWY_DYNAMIC_DISPATCH(simd)(x); }\n"}),
    ("closures", "'std::function'", {"src/graph/op_def.h": "+\nstruct Call {\n  std::function<void()> bind;\n};\n"}),
    ("closures", "'#include <functional>'", {"src/plan/plan.h": SPDX + '#pragma once\n\n#include <functional>\n\n#include "graph/op_def.h"\n'}),
    ("spdx", "src/base/text.cc:1: one SPDX line", {"src/base/text.cc": "int a;\n"}),
    ("spdx", "tests/run.sh:2: one SPDX line", {"tests/run.sh": "#!/bin/sh\nset -eu\n"}),
    ("spdx", "src/base/text.cc:1: one SPDX line", {"src/base/text.cc": SPDX + SPDX + "int a;\n"}),
    ("spdx", "is not 'SPDX-License-Identifier: Apache-2.0'", {"src/base/text.cc": SPDX.replace("Apache-2.0", "MIT") + "int a;\n"}),
    ("comments", "a banner", {"src/base/text.cc": SPDX + "\n// ---- numbers ----\nint a;\n"}),
    ("comments", "a banner", {"tools/report.py": "+# Numbers =========\n"}),
    ("comments", "'TODO'", {"src/base/text.cc": SPDX + "\nint a;  // TODO\n"}),
    ("comments", "'used to be'", {"src/base/text.cc": SPDX + "\nint a;  // used to be a float\n"}),
    ("comments", "'was renamed'", {"tests/run.sh": "+# It was renamed.\n"}),
    ("speaks_of_itself", "'/home/me/'", {"docs/next.md": "+\nSee /home/me/notes.\n"}),
    ("speaks_of_itself", "'issue 12'", {"src/base/text.cc": SPDX + "\nint a;  // see issue 12\n"}),
    ("words", "'Door': say 'model input'", {"src/base/text.cc": SPDX + "\nstruct FrontDoor {};\n"}),
    ("words", "'door': say 'model input'", {"docs/next.md": "+\nWhat comes in at the door.\n"}),
    ("words", "'door' in the file's name", {"cli/io/doors.cc": SPDX}),
    ("words", "'twin': say 'reference'", {"src/base/text_test.cc": SPDX + "\nint twin_offset(int i);\n"}),
    ("words", "'roof': say 'peak'", {"cli/main.cc": '+\nconst char* const kHelp = "Share of the roof";\n'}),
    ("words", "say the default", {"src/base/text.h": "+\n/// The threads of the machine unless\n/// told.\nint threads() noexcept;\n"}),
    ("words", "'past the caches': say 'non-temporal'", {"src/base/text.cc": SPDX + "\nint a;  // written past the caches\n"}),
    ("words", "'asks for lines': say 'prefetch'", {"README.md": "A store asks for lines early.\n"}),
    ("words", "'Apart' in a name", {"src/base/text.cc": SPDX + "\nclass Apart {};  // two bytes apart\n"}),
    ("links", "docs/next.md:7: 'lost.md' is no file", {"docs/next.md": "+\n[lost](lost.md)\n"}),
    ("links", "'../../a.md' is no file", {"docs/next.md": "+\n[out of the repository](../../a.md)\n"}),
    ("links", "'README.md#second': docs/README.md has no such heading", {"docs/next.md": "+\n[lost](README.md#second)\n"}),
    ("links", "'#no-heading-and-nolink': docs/README.md has no such heading",
     {"docs/README.md": "+\n[lost](#no-heading-and-nolink)\n"}),
    ("links", "docs/alone.md:1: no link leads here", {"docs/alone.md": "# Alone\n\n[but](README.md)\n"}),
    ("formatting", "clang-format", {"src/base/text.cc": SPDX + "\nint   a ;\n"}),
    ("shell", "SC2086", {"tests/run.sh": "+echo $2\n"}),
]
PROGRAM = {"formatting": "clang-format", "shell": "shellcheck"}


def lint(root, *options):
    """Exit status, rules that failed, and what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            status = check.main(["--root", str(root), *options])
        except SystemExit as e:
            status = e.code
    output = printed.getvalue()
    return status, re.findall(r"^FAIL +(\w+):", output, re.M), output


NAMES = [r.name for r in rules.RULES]
# A rule that is off is checked where it is asked for by name.
HERE_TOO = [name for name in NAMES if shutil.which(PROGRAM.get(name, "sh"))]


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(CLEAN)
        self.options = ("--only", ",".join(HERE_TOO))

    def write(self, files):
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("+"):
                text = file.read_text() + text[1:]
            file.write_text(text)

    def test_a_clean_tree_passes(self):
        status, failed, output = lint(self.root, *self.options)
        self.assertEqual((status, failed), (0, []), output)
        for name in HERE_TOO:
            self.assertRegex(output, rf"(?m)^ok +{name}: [A-Z].*\.$")

    def test_every_rule_has_a_breach(self):
        self.assertEqual({name for name, _, _ in BREACHES}, set(NAMES))

    def test_a_breach_fails_its_rule_alone(self):
        for name, what, files in BREACHES:
            if name not in HERE_TOO:
                print(f"skipped: {PROGRAM[name]} is not installed")
                continue
            with self.subTest(rule=name, what=what):
                self.setUp()
                self.write(files)
                status, failed, output = lint(self.root, *self.options)
                self.assertEqual((status, failed), (1, [name]), output)
                self.assertIn(what, output)

    def test_a_missing_program_fails_unless_allowed(self):
        for options, status in (((), 1), (("--where-installed",), 0)):
            done = subprocess.run([sys.executable, str(HERE / "lint"), "--root", str(self.root), "--only", "shell", *options],
                                  capture_output=True, text=True, check=False, env={"PATH": str(self.root)})
            self.assertEqual(done.returncode, status, done.stdout)
            self.assertIn("shellcheck is not installed", done.stdout)

    def test_an_unknown_rule_is_refused(self):
        status, _, output = lint(self.root, "--only", "spdy")
        self.assertEqual(status, 2)
        self.assertIn("no rule is called spdy", output)


if __name__ == "__main__":
    unittest.main()
