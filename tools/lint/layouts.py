# SPDX-License-Identifier: Apache-2.0
"""Whether a string literal spells a layout."""
import re

_AXES = "nchwdoimNCHWDOIM"
_BLOCKED_NAME = re.compile(rf"[{_AXES}]{{3,}}\d+[nchwdoim](\d+[nchwdoim])*|NC\d+HW\d+|NCHW\d+c|PHWC\d+")
_ORDER_NAME = re.compile(r"[NCDHWOIM]{4,5}|HWC|CHW")
_GRAMMAR = re.compile(r"(?:(?:y|x|lane):)?[a-z0-9/%~B() :]+")
_DIGIT = re.compile(r"\b[a-z](/\d+|%\d+|~\d+)")
_LETTERS = re.compile(r"[a-z]( [a-z])+")


def tables(tree):
    """Names and texts of the catalogue."""
    catalog = tree.find("src/layout/catalog.cc")
    rows = re.findall(r'\{"([^"]+)", "([^"]+)", "', catalog.text) if catalog else []
    # Short words, such as "W", are axes and attributes, too.
    return {word for row in rows for word in row if len(word) > 3}


def is_layout(literal, known):
    if literal in known or _BLOCKED_NAME.fullmatch(literal):
        return True
    if _ORDER_NAME.fullmatch(literal):
        return len(set(literal)) == len(literal) and set("HW") <= set(literal)
    if not _GRAMMAR.fullmatch(literal):
        return False
    return _LETTERS.fullmatch(literal) is not None or _DIGIT.search(literal) is not None and " " in literal
