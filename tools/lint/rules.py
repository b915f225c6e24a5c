# SPDX-License-Identifier: Apache-2.0
"""The rules: each a name, a sentence, and a function from a tree to breaches (path, line, what)."""
import dataclasses
import re
import shutil
import subprocess

import allowances
from layouts import is_layout, tables as layout_tables
from links import anchors, links, local, resolve

MOST_FILE_LINES = 600
MOST_FUNCTION_LINES = 100


class Missing(Exception):
    """A program that a rule runs is not installed."""


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    sentence: str
    check: callable
    off: str = ""  # why it is not checked


RULES = []


def rule(name, sentence, off=""):
    def add(check):
        RULES.append(Rule(name, sentence, check, off))
        return check
    return add


def library(tree):
    return [f for f in tree.cpp("src/", "include/") if not f.is_test]


# What includes what.

@dataclasses.dataclass
class Rooms:
    seen: dict       # room: rooms and headers that it includes
    generated: set   # headers that the build writes
    libraries: dict  # library, or a header of ours: rooms and files that include it


def read_rooms(text):
    rooms = Rooms({}, set(), {})
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if ":" not in line:
            yield number, f"'{line}' is no 'ROOM: ROOMS'"
            continue
        name, entries = (part.strip() for part in line.split(":", 1))
        if name == "generated":
            rooms.generated = set(entries.split())
        elif name.startswith("<"):
            rooms.libraries[name.strip("<>")] = set(entries.split())
        else:
            if name in rooms.seen:
                yield number, f"'{name}' has two rows"
            for entry in entries.split():
                room = entry.split("/")[0]
                if room not in rooms.seen:
                    yield number, f"'{name}' may not see '{room}', which does not lie below it"
            rooms.seen[name] = set(entries.split())
    yield 0, rooms


def room_of(path):
    parts = path.split("/")
    if parts[0] == "include":
        return "include"
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def allowed(rooms, file, room, header):
    if header.startswith("stowage/"):
        return True
    target = header.split("/")[0]
    entries = rooms.seen.get(room, ())
    return target == room or target in entries or header in entries or file.is_test and target == "tests"


@rule("rooms", "A file includes its own room, public headers, and what src/ROOMS names for its room.")
def check_rooms(tree):
    table = tree.find("src/ROOMS")
    if table is None:
        return
    *wrong, (_, rooms) = read_rooms(table.text)
    for number, what in wrong:
        yield table.path, number, what
    used = {}
    for file in tree.cpp():
        room = room_of(file.path)
        if room not in rooms.seen and room != "include":
            yield file.path, 1, f"'{room}' is no room of src/ROOMS"
            continue
        for number, line in enumerate(file.text.splitlines(), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not m or m[2] in rooms.generated:
                continue
            header, first = m[2], m[2].split("/")[0]
            reserved = header if header in rooms.libraries else first if first in rooms.libraries else None
            if reserved is not None:
                homes = rooms.libraries[reserved]
                if not file.is_test and room not in homes and file.path.removeprefix("src/") not in homes:
                    yield file.path, number, f"<{reserved}> belongs to {', '.join(sorted(homes))}"
                    continue
                if reserved == first:
                    continue
            if m[1] == "<" and first not in rooms.seen:
                continue
            if "/" not in header:
                beside = file.path.rsplit("/", 1)[0] + "/" + header
                if tree.find(beside) is None:
                    yield file.path, number, f"'{header}' is not beside the file, nor named as generated"
                continue
            used.setdefault(room, set()).update({header, first})
            if room == "include" and first != "stowage":
                yield file.path, number, f"a public header may not include '{header}'"
            elif room != "include" and not allowed(rooms, file, room, header):
                yield file.path, number, f"'{room}' may not include '{header}'"
    # Single headers are exceptions: one that nobody needs goes.
    for room, entries in rooms.seen.items():
        for entry in sorted(entries):
            if "/" in entry and room in used and entry not in used[room]:
                yield table.path, 1, f"'{room}' does not include '{entry}': remove it"


# Sizes.

@rule("file_size", f"A source file has at most {MOST_FILE_LINES} lines; those that have more are named and may not grow.")
def check_file_size(tree):
    for file in tree.files:
        if not (file.is_source or file.suffix == ".html"):
            continue
        most = max(MOST_FILE_LINES, allowances.LONG_FILES.get(file.path, 0))
        if file.lines() > most:
            yield file.path, most + 1, f"{file.lines()} lines, {most} allowed"
        elif file.path in allowances.LONG_FILES and file.lines() <= MOST_FILE_LINES:
            yield file.path, 1, "is short enough: remove it from LONG_FILES"

@rule("function_size", f"A function has at most {MOST_FUNCTION_LINES} lines; those that have more are named and may not grow.")
def check_function_size(tree):
    for file in tree.files:
        named = {k.split(": ")[1] for k in allowances.LONG_FUNCTIONS if k.startswith(file.path + ": ")}
        for first, last, head, _ in file.functions:
            name = function_name(head)
            most = allowances.LONG_FUNCTIONS.get(f"{file.path}: {name}", MOST_FUNCTION_LINES)
            if last - first + 1 > most:
                yield file.path, first, f"{name} has {last - first + 1} lines, {most} allowed"
            elif last - first + 1 > MOST_FUNCTION_LINES:
                named.discard(name)
        for name in sorted(named):
            yield file.path, 1, f"{name} is short enough: remove it from LONG_FUNCTIONS"


def function_name(head):
    m = re.match(r"\s*TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)", head)
    if m:
        return f"{m[1]}.{m[2]}"
    m = re.search(r"([\w:~]+)\s*\(", head)
    return m[1] if m else head.strip()


# Layouts.

def may_name_layouts(file):
    return file.is_test or file.path.startswith(("src/layout/", "bench/", "tests/"))


_COMPARES = re.compile(r"==|!=|\bif \(|\bwhile \(|\bswitch \(|\?|\.find\(|\.compare\(|\bstarts_with\(|\bends_with\(|\bcontains\(")


@rule("layout_names", "Outside src/layout, tests and benches no layout's spelling is compared; "
      "only offers spell one, and the few places that are named.")
def check_layout_names(tree):
    known = layout_tables(tree)
    seen = set()
    for file in tree.cpp():
        if may_name_layouts(file):
            continue
        for offset, literal in file.literals:
            if not is_layout(literal, known):
                continue
            if _COMPARES.search(file.statement(offset)):
                yield file.path, file.line(offset), f'"{literal}" decides; ask the layout what it is'
            elif (file.path, literal) in allowances.SPELLINGS:
                seen.add((file.path, literal))
            elif not file.path.startswith("src/ops/"):
                yield file.path, file.line(offset), f'"{literal}" is spelled outside src/layout and offers'
        for line, m in file.matches(r"(==|!=)\s*Layout::parse\(|\bspelling\(\)\s*(==|!=)|(==|!=)\s*[\w.\->]+\.spelling\(\)"):
            yield file.path, line, f"'{m[0].strip()}' compares a spelling"
    for path, literal in sorted(allowances.SPELLINGS):
        if tree.find(path) and (path, literal) not in seen:
            yield path, 1, f'"{literal}" is not there: remove it from SPELLINGS'


_CHANNELS = r"\b(?:\w*channels?|c_in|c_out|in_c|out_c|ic|oc|cin|cout)\b(?:\(\))?(?:\[\w+\])?"
_FACTOR = r"(?:4|8|16|32|48|64)\b"
_BLOCK = r"\b(?:\w+_)?(?:block|elempack|pack)\b(?:\(\))?"
_BLOCKING = re.compile(
    rf"{_CHANNELS}\s*[/%]\s*{_FACTOR}|\(\s*{_CHANNELS}\s*\+\s*(?:3|7|15|31|63)\s*\)\s*(?:/|&|>>)"
    rf"|\bceil_div\(\s*{_CHANNELS}\s*,\s*{_FACTOR}|\bround_up\(\s*{_CHANNELS}\s*,\s*{_FACTOR}"
    rf"|{_CHANNELS}\s*(?:>>|&)\s*(?:2|3|4|5|7|15)\b"
    rf"|{_BLOCK}\s*(?:==|!=)\s*{_FACTOR}|{_FACTOR}\s*(?:==|!=)\s*{_BLOCK}")


@rule("blocking", "Outside src/layout, src/convert, tests and benches no number is a blocking factor: "
      "no channels / 4, no block == 16.")
def check_blocking(tree):
    for file in tree.cpp():
        if may_name_layouts(file) or file.path.startswith("src/convert/"):
            continue
        for line, m in file.matches(_BLOCKING):
            yield file.path, line, f"'{m[0]}' holds a blocking factor; it is the format's"


# Operators.

_OPERATOR = r"(?:\bop(?:\(\))?(?:->|\.)name\b|\bfind_op\([^()]*\))"
_NAMED = re.compile(
    rf"{_OPERATOR}\s*[=!]=|[=!]=\s*[\w.\->()\[\]]*{_OPERATOR}"
    r"|\bop(?:\(\))?(?:->|\.)name\.(?:compare|starts_with|ends_with|find)\(|(?:\bop|[.>]op)\s*[=!]=\s*\"")


def knows_no_operator(file):
    if file.path.startswith("src/graph/passes/"):
        return not file.name.startswith("patterns")
    return file.path.startswith("src/plan/")


@rule("operator_names", "In src/plan and src/graph/passes no operator is known by its name: its record says what may be "
      "done with it. Only patterns*.cc, which recognise what exporters write, compare names.")
def check_operator_names(tree):
    for file in tree.cpp("src/graph/passes/", "src/plan/"):
        if file.is_test or not knows_no_operator(file):
            continue
        for line, m in file.matches(_NAMED):
            yield file.path, line, f"'{m[0]}' compares an operator; ask its record (OpDef)"


# What the library does not do.

_LOUD = (r"(?<![\w.>])(?:std::|::)?(getenv|secure_getenv|setenv|v?f?printf|puts|fputs|putchar|perror|abort|exit|_Exit|_exit|"
         r"quick_exit|terminate)\s*\(|\bstd::(cout|cerr|clog)\b|\b(stdout|stderr)\b|\bHWY_(ABORT|ASSERT|DASSERT|WARN)\b|(?<![\w.>])assert\s*\(")


@rule("quiet", "The library (src, include) never prints, ends the process or reads the environment.")
def check_quiet(tree):
    for file in library(tree):
        for line, m in file.matches(_LOUD):
            yield file.path, line, f"'{m[0].strip()}' in the library; throw an Error"
        for line, m in file.matches(r"#\s*include\s*<(iostream|cassert)>"):
            yield file.path, line, f"<{m[1]}> in the library"


@rule("noexcept", "In src/ops, src/kernels and src/convert a function is noexcept that takes KernelArgs "
      "or that returns nothing and calls what Highway dispatches to.")
def check_noexcept(tree):
    for file in tree.cpp("src/ops/", "src/kernels/", "src/convert/"):
        # kernel.h holds what calls a kernel, and a reference may throw.
        if file.is_test or file.path == "src/kernels/kernel.h":
            continue
        for first, _, head, body in file.functions:
            kernel = re.search(r"\bconst KernelArgs&", head)
            dispatches = re.match(r"(static |inline )*void\b", head) and "HWY_DYNAMIC_DISPATCH(" in body
            if (kernel or dispatches) and "noexcept" not in head.split(")")[-1]:
                yield file.path, first, f"{function_name(head)} is a kernel and not noexcept"


@rule("closures", "Offers and plans are data: no std::function in src/graph/op_def.h, src/plan/plan.h and src/kernels/kernel.h.")
def check_closures(tree):
    for file in tree.cpp("src/graph/op_def.h", "src/plan/plan.h", "src/kernels/kernel.h"):
        for line, m in file.matches(r"\bstd::(move_only_)?function\b|#\s*include\s*<functional>"):
            yield file.path, line, f"'{m[0]}' in a record that is data"


# Text.

@rule("spdx", "Each source file has one SPDX line, its first (its second below #!).")
def check_spdx(tree):
    for file in tree.files:
        if not file.is_source:
            continue
        lines = file.text.split("\n")
        tags = [i for i, line in enumerate(lines) if re.match(r"(//|#) SPDX-License-Identifier:", line)]
        right = 1 if lines[0].startswith("#!") else 0
        if tags != [right]:
            yield file.path, right + 1, "one SPDX line belongs here and nowhere else"
        elif not re.fullmatch(r"(//|#) SPDX-License-Identifier: Apache-2\.0", lines[right]):
            yield file.path, right + 1, "is not 'SPDX-License-Identifier: Apache-2.0'"


_BANNER = re.compile(r"^\W*?([-=*#~_/+])\1{3,}")
_BANNER_END = re.compile(r"\w.*\s([-=*#~_+])\1{3,}\W*$")
_HISTORY = re.compile(
    r"\b(TODO|FIXME|XXX|HACK)\b(?!\([^)]+\): \w)"
    r"|\b(used to (be|have|live|do|return|throw)|previously|formerly|legacy|refactored|rewritten|"
    r"(was|were|has been|have been) (added|changed|moved|renamed|removed|replaced|fixed|ported)|"
    r"no longer (needed|used|exists|necessary)|not any ?more|until recently|old (code|version|implementation)|"
    r"new (code|version|implementation))\b", re.I)


@rule("comments", "Comments hold no banners and no history, and no TODO without a reason.")
def check_comments(tree):
    for file in tree.files:
        if file.suffix == ".md" or file.path.startswith("tools/lint"):
            continue
        for line, comment in file.comments:
            text = re.sub(r"^(//[/!]?<?|#|/?\*+|<!--)", "", comment.strip()).strip()
            if _BANNER.match(text) or _BANNER_END.search(text) or re.match(r"^(/{4,}|#{4,}|/\*{3,})", comment.strip()):
                yield file.path, line, "a banner"
            m = _HISTORY.search(comment)
            if m:
                yield file.path, line, f"'{m[0]}': a comment says why, the log says what was"


@rule("speaks_of_itself", "No file names a path of one machine or an issue by its number.")
def check_speaks_of_itself(tree):
    for file in tree.files:
        if file.path.startswith("tools/lint"):
            continue
        for number, line in enumerate(file.text.split("\n"), 1):
            m = re.search(r"(?<![\w.])/(work|root|home/(?!you/|user/)\w+|Users/\w+)/|\b[Ii]ssue #?\d+\b", line)
            if m:
                yield file.path, number, f"'{m[0]}'"


# Words of our own for what the field has a word for, each with that word. Between two words of a phrase may be
# the end of a line.
_GAP = r"[\s/#*\"]+"
_WORDS = [(re.compile(pattern.replace(" ", _GAP), re.I), instead) for pattern, instead in (
    (r"door", "'model input', 'model output', 'port' or 'the caller\'s layout'"),
    (r"twin", "'reference', 'oracle' or 'the same'"),
    (r"(?<!p)roof(?!line)", "'peak', 'baseline' or 'roofline'"),
    (r"\bunless told\b", "the default: 'default 60'"),
    (r"\b(?:past|around) (?:the|all) caches?\b", "'non-temporal'"),
    (r"\bask(?:s|ed|ing)? for (?:(?:a|the|its|next|cache) )*lines?\b", "'prefetch'"))]
_NAMES = [(re.compile(r"(?<![A-Za-z])apart(?![a-z])|Apart(?![a-z])"), "'isolated', 'separate' or 'disjoint'")]


@rule("words", "Names and prose use the words of the field; those of our own in their place stay out.")
def check_words(tree):
    for file in tree.files:
        if file.path.startswith("tools/lint"):
            continue
        for pattern, instead in _WORDS:
            for m in pattern.finditer(file.text):
                yield file.path, file.line(m.start()), f"'{' '.join(m[0].split())}': say {instead}"
            for m in pattern.finditer(file.path):
                yield file.path, 1, f"'{m[0]}' in the file's name: say {instead}"
        for pattern, instead in _NAMES if file.is_cpp else ():
            for line, m in file.matches(pattern):
                yield file.path, line, f"'{m[0]}' in a name: say {instead}"


# Pages.

FIRST_PAGE = "docs/README.md"


def page_of(tree, path):
    """A page, or that of a folder, which its README.md is."""
    return tree.find(path) or tree.find(f"{path}/README.md")


@rule("links", f"A link of a page leads to a file and a heading that are there, and {FIRST_PAGE} leads to every page of docs.")
def check_links(tree):
    pages = {f.path: f for f in tree.files if f.suffix == ".md"}
    led = {}
    for file in pages.values():
        led[file.path] = set()
        for line, link in links(file.text):
            if not local(link):
                continue
            path, anchor = resolve(file.path, link)
            page = page_of(tree, path)
            if path.startswith("..") or not (tree.root / path).exists():
                yield file.path, line, f"'{link}' is no file"
            elif page is not None and page.path in pages:
                led[file.path].add(page.path)
                if anchor and anchor not in anchors(page.text):
                    yield file.path, line, f"'{link}': {page.path} has no such heading"
    if FIRST_PAGE not in pages:
        return
    reached, next_pages = set(), {FIRST_PAGE}
    while next_pages:
        reached |= next_pages
        next_pages = set().union(*(led[p] for p in next_pages)) - reached
    for path in sorted(pages):
        if path.startswith("docs/") and path not in reached:
            yield path, 1, f"no link leads here from {FIRST_PAGE}"


# Other programs.

def run(tree, files, *command):
    """Each line of what a checker prints about the files, as (path, line, what)."""
    if not files:
        return
    if shutil.which(command[0]) is None:
        raise Missing(f"{command[0]} is not installed")
    done = subprocess.run([*command, *(f.path for f in files)], cwd=tree.root, capture_output=True, text=True)
    if done.returncode == 0:
        return
    for line in (done.stdout + done.stderr).splitlines():
        m = re.match(r"([^\s:]+):(\d+):(?:\d+:)? (.*)", line)
        if m:
            yield m[1], int(m[2]), m[3]


@rule("formatting", "C++ is as clang-format leaves it.")
def check_formatting(tree):
    files = [f for f in tree.cpp() if f.suffix != ".cl"]
    yield from run(tree, files, "clang-format", "--dry-run", "-Werror")


@rule("shell", "Shell scripts pass shellcheck.")
def check_shell(tree):
    yield from run(tree, [f for f in tree.files if f.is_shell], "shellcheck", "--format=gcc")
