# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python_layouts.md print what the page says."""

import doctest
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs/python_layouts.md"


def test_examples():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) > 5
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
