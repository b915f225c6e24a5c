# SPDX-License-Identifier: Apache-2.0
"""The snippets of the pages, in their order, those of a page in one namespace."""

import ast
import doctest
import pathlib
import re

import pytest
from conftest import ROOT

import stowage
from stowage import _native

PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/python*.md"))]


def snippets(page):
    text = (ROOT / page).read_text()
    for m in re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M):
        yield text.count("\n", 0, m.start()) + 2, m[1]


@pytest.mark.parametrize("page", PAGES)
def test_snippets(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    count = 0
    for line, code in snippets(page):
        count += 1
        if not code.startswith(">>> "):
            exec(compile("\n" * (line - 1) + code, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, page, page, line)
        printed = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=printed.append, clear_globs=False)
        names = test.globs
        assert runner.failures == 0, "".join(printed)
    assert count > 0


def test_typed_example_runs(monkeypatch, capsys):
    import typed_example

    monkeypatch.chdir(ROOT)
    typed_example.main()
    assert "BAD_INPUT" in capsys.readouterr().out


def public(names):
    return {n for n in names if not n.startswith("_")}


def names(body):
    functions = {n.name for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    return functions | {n.target.id for n in body if isinstance(n, ast.AnnAssign)}


def test_the_stub_has_what_the_extension_has():
    stub = pathlib.Path(stowage.__file__).with_name("_native.pyi")
    tree = ast.parse(stub.read_text())
    assert public(names(tree.body)) == public(dir(_native))
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    assert len(classes) >= 5
    for c in classes:
        assert public(names(c.body)) == public(vars(getattr(_native, c.name))), c.name


def test_every_public_name_says_what_it_does():
    for name in stowage.__all__:
        thing = getattr(stowage, name)
        assert isinstance(thing, str) or (thing.__doc__ or "").strip(), name
