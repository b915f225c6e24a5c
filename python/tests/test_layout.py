# SPDX-License-Identifier: Apache-2.0
"""Layouts and mappings alone: positions by formulas of numpy, not by round trips."""

import copy
import doctest
import pickle
import xml.etree.ElementTree

import numpy as np
import pytest

import stowage

SPELLINGS = [
    ("NCHW", "n c h w", "NCHW"),
    ("n h w c", "n h w c", "NHWC"),
    ("nChw16c", "n c/16 h w c%16", "nChw16c"),
    ("OIhw4i16o4i", "o/16 i/16 h w i/4%4 o%16 i%4", "OIhw4i16o4i"),
    ("y:(n h) x:(c/4 w) lane:c%4", "y:(n h) x:(c/4 w) lane:c%4", "y:(n h) x:(c/4 w) lane:c%4"),
    ("()", "()", "()"),
]


@pytest.mark.parametrize("given, text, spelling", SPELLINGS)
def test_text(given, text, spelling):
    layout = stowage.Layout(given)
    assert (layout.text, layout.spelling, str(layout)) == (text, spelling, text)
    assert repr(layout) == f"stowage.Layout('{text}')" and eval(repr(layout)) == layout
    assert stowage.Layout(layout) == layout


def test_values():
    a, b = stowage.Layout("NCHW"), stowage.Layout("n c h w")
    assert a == b and hash(a) == hash(b) and len({a, b, stowage.Layout("NHWC")}) == 2
    assert a != stowage.Layout("NHWC") and a != "NCHW" and a is not None and a != 3
    assert a.axes == ("n", "c", "h", "w") and not a.is_image
    assert stowage.Layout("y:(n h) x:(c/4 w) lane:c%4").is_image
    assert a.renamed({"c": "k", "n": "m"}).text == "m k h w"
    mapping = a.bind("n=1,c=2,h=3,w=4", element_bytes=2)
    for thing in (a, stowage.Layout("(h w)~16B c")):
        assert pickle.loads(pickle.dumps(thing)) == thing == copy.deepcopy(thing)
    again = pickle.loads(pickle.dumps(mapping))
    assert repr(again) == repr(mapping) == "stowage.Mapping('n c h w', 'n=1,c=2,h=3,w=4', element_bytes=2)"
    assert (again.layout, again.dims) == (a, {"n": 1, "c": 2, "h": 3, "w": 4})


def test_catalog():
    catalog = stowage.Layout.catalog()
    assert len(catalog) > 10 and all(stowage.Layout(name) == layout for name, layout in catalog.items())
    assert catalog["NCHW"].text == "n c h w"


def test_dims():
    layout = stowage.Layout("NCHW")
    dims = {"n": 1, "c": 30, "h": 5, "w": 7}
    for given in (dims, "n=1,c=30,h=5,w=7", dict(reversed(dims.items())), {k: np.int64(v) for k, v in dims.items()}):
        assert layout.bind(given).cells == 1050
    assert stowage.Mapping("NCHW", dims).bytes == 4200 and layout.bind(dims, 1).bytes == 1050


def grid(*extents):
    return np.meshgrid(*map(np.arange, extents), indexing="ij")


def test_positions():
    n, c, h, w = grid(2, 30, 5, 7)
    dims = "n=2,c=30,h=5,w=7"
    formulas = {
        "NCHW": ((n * 30 + c) * 5 + h) * 7 + w,
        "NHWC": ((n * 5 + h) * 7 + w) * 30 + c,
        "nChw16c": (((n * 2 + c // 16) * 5 + h) * 7 + w) * 16 + c % 16,
        "n (c (h w)~16B)~64B": n * 1088 + c * 36 + h * 7 + w,
        "n c/4 (h w)~64B c%4": (n * 8 + c // 4) * 144 + (h * 7 + w) * 4 + c % 4,
    }
    for text, want in formulas.items():
        got = stowage.Layout(text).positions(dims)
        assert got.dtype == np.int64 and (got == want).all(), text
    image = stowage.Layout("y:(n h) x:(c/4 w) lane:c%4").positions(dims)
    assert (image == np.stack([n * 5 + h, c // 4 * 7 + w, c % 4], -1)).all()


@pytest.mark.parametrize("text", ["NCHW", "nChw16c", "n c/4 (h w)~16B c%4", "y:(n h) x:(c/4 w) lane:c%4"])
def test_addresses_and_cells(text):
    mapping = stowage.Layout(text).bind("n=2,c=6,h=3,w=5")
    positions = mapping.positions()
    image = mapping.layout.is_image
    seen = set()
    for index in np.ndindex(2, 6, 3, 5):
        at = tuple(positions[index].tolist()) if image else int(positions[index])
        assert mapping.address(index) == at == mapping.address(dict(zip("nchw", index)))
        assert mapping.cell(at) == dict(zip("nchw", index))
        seen.add(at)
    every = list(np.ndindex(*mapping.shape)) if image else range(mapping.cells)
    held = [mapping.cell(tuple(p) if image else p) for p in every]
    counts = {"data": len(seen), "tail": held.count("tail"), "gap": held.count("gap")}
    assert mapping.counts == counts and sum(counts.values()) == mapping.cells == len(held)
    assert mapping.bijective == (counts["tail"] + counts["gap"] == 0)


def test_shape_of_the_array():
    dims = "n=1,c=30,h=5,w=7"
    assert stowage.Layout("nChw16c").bind(dims).shape == (1, 2, 5, 7, 16)
    assert stowage.Layout("y:(n h) x:(c/4 w) lane:c%4").bind(dims).shape == (5, 56, 4)
    assert stowage.Layout("()").bind({}).shape == ()


def test_pictures():
    mapping = stowage.Layout("n c/4 h w c%4").bind("n=1,c=6,h=2,w=2")
    assert "." in mapping.draw() and "8 tail" in mapping.draw()
    root = xml.etree.ElementTree.fromstring(mapping._repr_svg_())
    assert root.tag.endswith("svg")


WRONG = [
    (lambda: stowage.Layout("n c/0"), "at least 1"),
    (lambda: stowage.Layout("n c/4"), "digit"),
    (lambda: stowage.Layout("n ("), "missing"),
    (lambda: stowage.Layout("n " * 600), "too long"),
    (lambda: stowage.Layout(3), "a layout is a str"),
    (lambda: stowage.Layout("NCHW").bind("n=1,c=2"), "add"),
    (lambda: stowage.Layout("NCHW").bind("n=1,c=2,h=3,w=4,q=5"), "no place"),
    (lambda: stowage.Layout("NCHW").bind("n=1,c"), "expected"),
    (lambda: stowage.Layout("NCHW").bind({"n": 1.5, "c": 1, "h": 1, "w": 1}), "integer"),
    (lambda: stowage.Layout("NCHW").bind({"n": -1, "c": 1, "h": 1, "w": 1}), "-1"),
    (lambda: stowage.Layout("NCHW").bind({"n": 1 << 70, "c": 1, "h": 1, "w": 1}), "too large"),
    (lambda: stowage.Layout("NCHW").bind({3: 1}), "letters"),
    (lambda: stowage.Layout("NCHW").bind(3), "dims are"),
    (lambda: stowage.Layout("a").bind("a=2", element_bytes=17), "not possible"),
    (lambda: stowage.Layout("a").address("a=2", [2]), "not in"),
    (lambda: stowage.Layout("a").address("a=2", [-1]), "not in"),
    (lambda: stowage.Layout("a").address("a=2", [0, 0]), "2 coordinates"),
    (lambda: stowage.Layout("a").address("a=2", {"b": 0}), "has not"),
    (lambda: stowage.Layout("a").address("a=2", 1), "sequence"),
    (lambda: stowage.Layout("a").address("a=0", [0]), "not in"),
    (lambda: stowage.Layout("a").bind("a=2").cell(2), "no cell"),
    (lambda: stowage.Layout("a").bind("a=2").cell(-1), "no cell"),
    (lambda: stowage.Layout("y:a x:b").bind("a=2,b=2").cell((0, 2, 0)), "not below"),
    (lambda: stowage.Layout("y:a x:b").bind("a=2,b=2").cell(0), "of an image"),
    (lambda: stowage.Layout("n c").renamed({"n": "c"}), "both"),
]


@pytest.mark.parametrize("ask, word", WRONG)
def test_wrong(ask, word):
    with pytest.raises(stowage.Error, match=word) as caught:
        ask()
    assert caught.value.code in (stowage.ErrorCode.USAGE, stowage.ErrorCode.LIMIT)


def test_limits():
    with pytest.raises(stowage.LimitError):
        stowage.Layout("a b").bind({"a": 1 << 40, "b": 1 << 40})
    with pytest.raises(stowage.LimitError, match="at most"):
        stowage.Layout("a").positions({"a": 1 << 40})
    assert stowage.Layout("a b").address({"a": 1 << 20, "b": 1 << 20}, [1, 1]) == (1 << 20) + 1


@pytest.mark.parametrize("name", ["Layout", "Mapping", "convert", "pack", "unpack"])
def test_examples_of_docstrings(name):
    test = doctest.DocTestParser().get_doctest(getattr(stowage, name).__doc__, {}, name, None, 0)
    assert test.examples or name == "unpack"
    assert doctest.DocTestRunner().run(test).failed == 0
