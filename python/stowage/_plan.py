# SPDX-License-Identifier: Apache-2.0
"""Plans: what Stowage decided for a model and some shapes."""

import html
import json
from typing import Any, NamedTuple

from stowage import _native


class Port(NamedTuple):
    """An input or output of a model.

    Attributes
    ----------
    name : str
    dtype : str or None
        numpy's name of the type, ``"float32"``; None where the file does not say.
    shape : tuple or None
        Extents in the model's order: a number, the name of a symbolic dim, or None for one without a
        name. None where not even the rank is known.
    axes : tuple of str or None
        Names of the axes, such as ``("n", "c", "h", "w")``; letters without a meaning where no
        operator gave any. None where they are not known yet: operators name axes when shapes are
        known.
    """

    name: str
    dtype: str | None
    shape: tuple[int | str | None, ...] | None
    axes: tuple[str, ...] | None


def ports(rows: list[tuple[str, str, list[int], list[str], str]]) -> tuple[Port, ...]:
    """Of what the extension says of a plan."""
    return tuple(Port(name, dtype, tuple(shape), tuple(axes)) for name, dtype, shape, axes, _ in rows)


class Plan:
    """Layouts, kernels, conversions and memory of a model for some shapes. Immutable.

    `repr` and `str` are what ``stowage plan`` prints; a notebook shows the page of
    ``stowage plan --html``.

    Examples
    --------
    >>> import stowage
    >>> model = stowage.load("models/upscale_x2.onnx", shapes={"image": (1, 3, 64, 64)})
    >>> plan = model.plan
    >>> plan.outputs[0].shape
    (1, 3, 128, 128)
    >>> [node["op"] for node in plan.report["nodes"]][:1]
    ['conv']
    """

    def __init__(self, native: _native.Plan) -> None:
        self._native = native

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Inputs with their extents and axes."""
        return ports(self._native.inputs())

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Likewise outputs."""
        return ports(self._native.outputs())

    @property
    def report(self) -> dict[str, Any]:
        """What `to_json` has, as Python's objects. docs/cli.md lists the keys."""
        out: dict[str, Any] = json.loads(self.to_json())
        return out

    def to_json(self) -> str:
        """What ``stowage plan --json`` prints."""
        return self._native.json()

    def to_html(self) -> str:
        """What ``stowage plan --html`` writes: one page that needs no other file."""
        return self._native.html([])

    def why_not(self, node: str, layout: str) -> "WhyNot":
        """What it would cost to run a node in another layout.

        Parameters
        ----------
        node : str
            Its name, or ``#N``: the N-th of the plan.
        layout : str
            In any known spelling, such as ``"NHWC"``.

        Raises
        ------
        UsageError
            There is no such node, or the layout does not fit.
        """
        return WhyNot(
            self._native.why_not(node, layout), json.loads(self._native.why_not_json(node, layout))
        )

    def __repr__(self) -> str:
        return self._native.explain()

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" '
            'style="width: 100%; height: 640px; border: 0"></iframe>'
        )


class WhyNot:
    """The answer of `Plan.why_not`: `str` is a text, `report` the same as data."""

    def __init__(self, text: str, report: dict[str, Any]) -> None:
        self._text = text
        self.report = report

    def __repr__(self) -> str:
        return self._text
