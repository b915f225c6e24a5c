# SPDX-License-Identifier: Apache-2.0
"""The files of a tree, and C++ parsed far enough for the rules: code, comments, literals, functions."""
import ast
import functools
import io
import pathlib
import re
import subprocess
import tokenize

CPP = {".cc", ".h", ".cl"}
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s"]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\'',
    re.S)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One text file. `path` is relative to the root and uses slashes."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.name = path.rsplit("/", 1)[-1]
        self.suffix = pathlib.PurePosixPath(path).suffix
        self.is_cpp = self.suffix in CPP
        first = text.split("\n", 1)[0]
        self.is_python = self.suffix == ".py" or "python" in first and first.startswith("#!")
        self.is_shell = self.suffix == ".sh" or first.startswith("#!") and first.endswith("sh")
        self.is_cmake = self.suffix == ".cmake" or self.name == "CMakeLists.txt"
        self.is_source = (self.is_cpp or self.is_python or self.is_shell or self.is_cmake
                          or self.suffix in {".fbs", ".in"})

    @property
    def is_test(self):
        """Tests and what only tests include."""
        return (self.path.startswith("tests/") or self.name.startswith("test_")
                or re.search(r"(_test\.(cc|py)|_test\.cc\.in|test_util\.h)$", self.name) is not None)

    @functools.cached_property
    def _parts(self):
        """Of C++: the code without comments and with empty literals, then comments and literals."""
        code, comments, literals, end = [], [], [], 0
        for m in _TOKEN.finditer(self.text):
            code.append(self.text[end:m.start()])
            token, end = m[0], m.end()
            if token.startswith(("//", "/*")):
                comments.append((m.start(), token))
                code.append(_blank(token))
            else:
                quote = '"' if '"' in token[:2] else "'"
                if quote == '"':
                    literals.append((m.start(), token[token.index('"') + 1:-1]))
                code.append(quote + _blank(token[1:-1]) + quote)
        code.append(self.text[end:])
        return "".join(code), comments, literals

    @property
    def code(self):
        return self._parts[0]

    @property
    def literals(self):
        """(offset, text between the quotes) of every string of C++."""
        return self._parts[2]

    @functools.cached_property
    def comments(self):
        """(line, text) of every line of comment."""
        found = []
        if self.is_cpp:
            for offset, token in self._parts[1]:
                for i, line in enumerate(token.split("\n")):
                    found.append((self.line(offset) + i, line))
        elif self.is_python:
            try:
                for t in tokenize.generate_tokens(io.StringIO(self.text).readline):
                    if t.type == tokenize.COMMENT:
                        found.append((t.start[0], t.string))
            except (tokenize.TokenError, SyntaxError):
                pass
        elif self.is_source:
            for number, line in enumerate(self.text.split("\n"), 1):
                m = re.search(r"(?:^|\s)((#|//).*)", line)
                if m:
                    found.append((number, m[1]))
        elif self.suffix == ".html":
            for number, line in enumerate(self.text.split("\n"), 1):
                m = re.search(r"(?:^|\s)(//.*|<!--.*|/\*.*)", line)
                if m:
                    found.append((number, m[1]))
        elif self.suffix == ".md":
            found = list(enumerate(self.text.split("\n"), 1))
        return found

    @functools.cached_property
    def _starts(self):
        return [0] + [m.end() for m in re.finditer("\n", self.text)]

    def line(self, offset):
        import bisect
        return bisect.bisect_right(self._starts, offset)

    def lines(self):
        return self.text.count("\n") + (not self.text.endswith("\n") and self.text != "")

    def matches(self, pattern):
        """(line, match) of a pattern in the code of C++."""
        for m in re.finditer(pattern, self.code):
            yield self.line(m.start()), m

    def statement(self, offset):
        """The code around an offset, back to and on to the next ; { or }."""
        begin = max(self.code.rfind(c, 0, offset) for c in ";{}") + 1
        ends = [e for e in (self.code.find(c, offset) for c in ";{}") if e >= 0]
        return self.code[begin:min(ends, default=len(self.code))]

    @functools.cached_property
    def functions(self):
        """(first line, last line, head, body) of every function with a body; lambdas belong to theirs."""
        if self.is_cpp:
            return _cpp_functions(self)
        if self.is_python:
            try:
                tree = ast.parse(self.text)
            except SyntaxError:
                return []
            return [(n.lineno, n.end_lineno, n.name, "") for n in ast.walk(tree)
                    if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if self.is_shell:
            return [(self.line(m.start()), self.line(m.end() - 1), m[1], "")
                    for m in re.finditer(r"^(\w+)\(\) \{\n.*?^\}", self.text, re.S | re.M)]
        return []


def _without_preprocessor(code):
    """Directives blanked, and every branch of a conditional but the first, so that braces balance."""
    out, depth, dead, continued = [], 0, [], False
    for line in code.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive and not continued:
            word = directive[1]
            if word in ("if", "ifdef", "ifndef"):
                depth += 1
            elif word in ("else", "elif") and depth not in dead:
                dead.append(depth)
            elif word == "endif":
                if depth in dead:
                    dead.remove(depth)
                depth -= 1
        blank = directive or continued or dead
        continued = (directive is not None or continued) and line.endswith("\\")
        out.append(" " * len(line) if blank else line)
    return "\n".join(out)


def _kind(head, outer):
    """What a brace opens, from the text before it."""
    head = re.sub(r"^(\s*(public|private|protected)\s*:)+", "", head.strip()).strip()
    if outer not in ("namespace", "type"):
        return "body"
    while (m := re.match(r"template\s*<", head)):
        depth, i = 1, m.end()
        while i < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[i], 0)
            i += 1
        head = head[i:].strip()
    if re.match(r"(inline\s+)?namespace\b|extern\s*\"", head):
        return "namespace"
    plain = re.sub(r"\balignas\s*\([^)]*\)", "", head)
    if re.match(r"((typedef|static|const|constexpr|inline)\s+)*(class|struct|union|enum)\b[^(]*$", plain):
        return "type"
    if head.endswith(("=", "return")) or "(" not in head:
        return "body"
    return "function"


def _cpp_functions(source):
    code = _without_preprocessor(source.code)
    found, stack, begin, parens = [], [("namespace", 0, 0)], 0, 0
    for m in re.finditer(r"[(){};]", code):
        c, i = m[0], m.start()
        if c in "()":
            parens += 1 if c == "(" else -1
        elif c == ";" and parens == 0:
            begin = i + 1
        elif c == "{":
            # Code that clang-format has seen has a space before a body, none before an initialiser.
            initialiser = parens > 0 or i > 0 and not code[i - 1].isspace()
            kind = "initialiser" if initialiser else _kind(code[begin:i], stack[-1][0])
            stack.append((kind, begin, parens))
            if kind != "initialiser":
                begin, parens = i + 1, 0
        elif c == "}" and len(stack) > 1:
            kind, start, parens = stack.pop()
            if kind == "function":
                head = code[start:i]
                first = start + len(head) - len(head.lstrip())
                opened = code.index("{", first)
                found.append((source.line(first), source.line(i), code[first:opened], code[opened:i + 1]))
            if kind != "initialiser":
                begin = i + 1
    return found


class Tree:
    """The text files of a checkout: those that git tracks or would, all of them outside of git."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        listed = None
        if (self.root / ".git").exists():
            done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root,
                                  capture_output=True, text=True)
            listed = done.stdout.splitlines() if done.returncode == 0 else None
        if listed is None:
            listed = [p.relative_to(self.root).as_posix() for p in self.root.rglob("*")
                      if not {"build", "out", "__pycache__", ".git", ".venv"} & set(p.relative_to(self.root).parts)]
        self.files = []
        for path in sorted(set(listed)):
            file = self.root / path
            if not file.is_file() or file.is_symlink():
                continue
            data = file.read_bytes()
            if b"\0" in data[:8192]:
                continue
            try:
                self.files.append(Source(path, data.decode()))
            except UnicodeDecodeError:
                continue

    def cpp(self, *folders):
        """C++ files, below the given folders if any."""
        return [f for f in self.files if f.is_cpp and (not folders or f.path.startswith(folders))]

    def find(self, path):
        return next((f for f in self.files if f.path == path), None)
