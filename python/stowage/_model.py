# SPDX-License-Identifier: Apache-2.0
"""Models: loaded, called, looked at."""

import os
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stowage import _native
from stowage._errors import UsageError
from stowage._plan import Plan, Port, ports

# What has memory: numpy arrays, buffers, and what speaks DLPack.
ArrayLike = Any
Array = npt.NDArray[Any]

_MOST_THREADS = 256


def named(
    array: ArrayLike,
    axes: str = "",
    *,
    mean: float | Sequence[float] | None = None,
    scale: float | Sequence[float] | None = None,
) -> _native.Named:
    """An array with what its axes are called, or how its elements become numbers of the model.

    Parameters
    ----------
    array : array_like
    axes : str
        One letter each, such as ``"nhwc"``: nothing is transposed, the elements are read where they
        are. Empty: the model's order.
    mean, scale : float or sequence of float, optional
        The input becomes ``(x - mean) * scale``, in float32; one number, or one a channel.

    Returns
    -------
    Named
        Goes where an input goes.

    Examples
    --------
    >>> import numpy as np, stowage
    >>> model = stowage.load("models/upscale_x2.onnx")
    >>> photo = np.zeros((1, 24, 32, 3), np.uint8)
    >>> model(stowage.named(photo, "nhwc", scale=1 / 255)).shape
    (1, 3, 48, 64)
    """
    return _native.Named(array, axes, _numbers(mean), _numbers(scale))


def _numbers(value: float | Sequence[float] | None) -> list[float]:
    if value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    return [float(v) for v in value]


class Model:
    """A model that runs; `load` makes one.

    Any number of threads may call one model at once. Each call takes a session, which has the memory
    of a run, and gives it back. There are as many sessions as CPUs divided by `threads`, at least
    one; who finds none waits. The interpreter's lock is released meanwhile.

    Where the file leaves extents open, they come from the arrays of a call. Plans of the last 8 sets
    of shapes are kept, each with its packed weights; another set is planned in its first call.

    Pickling keeps what `load` was given: the path, not the file. After a fork the child's calls raise
    `UsageError`; it loads the model itself.
    """

    def __init__(self, source: str | bytes, options: Mapping[str, Any]) -> None:
        self._source = source
        self._options = dict(options)
        self._native = _load(source, **self._options)
        self._input_names = [row[0] for row in self._native.inputs()]
        self._output_names = self._native.outputs()
        for name in self._options["shapes"]:
            self._input_index(name)
        for name in (*self._options["layouts"], *self._options["formats"]):
            _index(self._input_names + self._output_names, name, "input or output")

    def __call__(
        self,
        *arrays: ArrayLike,
        axes: str = "",
        mean: float | Sequence[float] | None = None,
        scale: float | Sequence[float] | None = None,
        **inputs: ArrayLike,
    ) -> Any:
        """Runs the model once.

        Parameters
        ----------
        *arrays : array_like
            The inputs in the order of `inputs`; numpy arrays of any strides, buffers, or what speaks
            DLPack in host memory.
        axes, mean, scale
            Of the one input that is given by position: see `named`.
        **inputs : array_like
            Inputs by name. `run` takes names that are no words of Python.

        Returns
        -------
        numpy.ndarray or dict of str to numpy.ndarray
            The output; by name where there are several.

        Raises
        ------
        UsageError, BadInputError, UnsupportedError, LimitError, DeviceError

        Examples
        --------
        >>> import numpy as np, stowage
        >>> model = stowage.load("models/upscale_x2.onnx")
        >>> image = np.zeros((1, 3, 24, 32), np.float32)
        >>> model(image).shape
        (1, 3, 48, 64)
        >>> model(image=image).shape
        (1, 3, 48, 64)
        >>> model(image.transpose(0, 2, 3, 1), axes="nhwc").shape
        (1, 3, 48, 64)
        """
        if axes or mean is not None or scale is not None:
            if len(arrays) != 1 or inputs:
                raise UsageError(
                    "axes, mean and scale are of one input that is given by position; "
                    "for others there is stowage.named"
                )
            arrays = (named(arrays[0], axes, mean=mean, scale=scale),)
        given = list(arrays)
        if inputs or len(given) != len(self._input_names):
            given = self._in_order(given, inputs)
        results = self._native.run(given, None, None)
        if len(results) == 1:
            return results[0]
        return dict(zip(self._output_names, results))

    def run(
        self,
        outputs: Sequence[str] | None,
        inputs: Mapping[str, ArrayLike],
        out: Sequence[Array | None] | Mapping[str, Array] | None = None,
    ) -> list[Array]:
        """Runs the model once, as ONNX Runtime's sessions do.

        Parameters
        ----------
        outputs : sequence of str or None
            Names of those that are wanted; None: all.
        inputs : mapping of str to array_like
            Every input by name.
        out : sequence or mapping, optional
            Arrays that are written in place, of any strides: one for each output, None for a new one;
            or by name.

        Returns
        -------
        list of numpy.ndarray
            In the order of `outputs`.

        Examples
        --------
        >>> import numpy as np, stowage
        >>> model = stowage.load("models/upscale_x2.onnx")
        >>> large = np.empty((1, 3, 48, 64), np.float32)
        >>> image = np.zeros((1, 3, 24, 32), np.float32)
        >>> model.run(["upscaled"], {"image": image}, out=[large])[0] is large
        True
        """
        given = self._in_order([], inputs)
        wanted = None if outputs is None else [self._output_index(name) for name in outputs]
        if out is None:
            return self._native.run(given, wanted, None)
        names = self._output_names if outputs is None else list(outputs)
        return self._native.run(given, wanted, _into(names, out))

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What the model takes, as its file has it; with axes when there is a plan."""
        last = self._native.last()
        axes = {p.name: p.axes for p in Plan(last).inputs} if last else {}
        return tuple(
            Port(name, dtype, shape, axes.get(name)) for name, dtype, shape in self._native.inputs()
        )

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What the model gives, for the shapes of `plan`. Before the first only names are known."""
        last = self._native.last()
        if last is not None:
            return Plan(last).outputs
        return tuple(Port(name, None, None, None) for name in self._output_names)

    @property
    def plan(self) -> Plan:
        """The plan of the last call; before the first, that for the shapes of the file or of `load`.
        Raises `UsageError` where they leave extents open: `plan_for` makes one then."""
        last = self._native.last()
        return self.plan_for({}) if last is None else Plan(last)

    def plan_for(self, shapes: Mapping[str, Sequence[int]]) -> Plan:
        """The plan for shapes of inputs that are open, in the model's order of axes. A leading (batch)
        extent that is open and not given is 1.

        Examples
        --------
        >>> import stowage
        >>> model = stowage.load("models/upscale_x2.onnx")
        >>> model.plan_for({"image": (1, 3, 24, 32)}).outputs[0].shape
        (1, 3, 48, 64)
        """
        for name in shapes:
            self._input_index(name)
        return Plan(self._native.plan({k: [int(n) for n in v] for k, v in shapes.items()}))

    def bench(
        self,
        inputs: Mapping[str, ArrayLike] | None = None,
        *,
        shapes: Mapping[str, Sequence[int]] | None = None,
        runs: int = 20,
        warmup: int | None = None,
    ) -> dict[str, float]:
        """How long a call takes, in milliseconds.

        Parameters
        ----------
        inputs : mapping of str to array_like, optional
            The inputs; noise without them, of the extents in `shapes` where the model leaves some
            open.
        runs : int
            Calls that count, at least 1.
        warmup : int, optional
            Calls before those; without it as many as take 10 ms, and at least 3.

        Returns
        -------
        dict
            ``min_ms``, ``median_ms``, ``p90_ms``, ``max_ms``, and ``first_ms`` of the very first.
        """
        _expect_runs(runs)
        given = self._in_order([], self._noise(shapes) if inputs is None else inputs)
        times = []
        out: list[Array | None] | None = None

        def call() -> None:
            nonlocal out
            begin = time.perf_counter()
            results = self._native.run(given, None, out)
            times.append((time.perf_counter() - begin) * 1e3)
            out = list(results)

        call()
        while len(times) < 3 or sum(times) < 10 if warmup is None else len(times) < warmup:
            call()
        for _ in range(runs):
            call()
        counted = np.sort(times[-runs:])
        return {
            "min_ms": float(counted[0]),
            "median_ms": float(np.median(counted)),
            "p90_ms": float(counted[int(np.ceil(0.9 * runs)) - 1]),
            "max_ms": float(counted[-1]),
            "first_ms": times[0],
        }

    def profile(
        self,
        inputs: Mapping[str, ArrayLike] | None = None,
        *,
        shapes: Mapping[str, Sequence[int]] | None = None,
        runs: int = 20,
    ) -> dict[str, list[Any]]:
        """How long each step of the plan takes: columns, which pandas and polars take as they are.

        Parameters
        ----------
        inputs, shapes
            As in `bench`.
        runs : int
            The time is the median of so many.

        Returns
        -------
        dict
            ``name``, ``op`` and ``kernel`` of the step, ``kind`` (``"call"``, or ``"convert"`` for a
            conversion), ``us`` (microseconds), ``percent`` of all.
        """
        _expect_runs(runs)
        given = self._in_order([], self._noise(shapes) if inputs is None else inputs)
        us = self._native.profile(given, runs)
        steps = self._native.plan_for(given).steps()
        total = sum(us) or 1.0
        columns = dict(zip(("name", "op", "kernel", "kind"), map(list, zip(*steps))))
        return {**columns, "us": us, "percent": [100 * t / total for t in us]}

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self._source, self._options)

    def __repr__(self) -> str:
        what = f"{len(self._source)} bytes" if isinstance(self._source, bytes) else repr(self._source)
        rows = [f"stowage.Model({what})"]
        for kind, row in (("input", self.inputs), ("output", self.outputs)):
            for port in row:
                shape = "?" if port.shape is None else str(list(port.shape)).replace("'", "")
                rows.append(f"  {kind:<6}  {port.name}  {port.dtype or '?'} {shape}")
        return "\n".join(rows)

    def _input_index(self, name: str) -> int:
        return _index(self._input_names, name, "input")

    def _output_index(self, name: str) -> int:
        return _index(self._output_names, name, "output")

    def _in_order(self, arrays: list[ArrayLike], inputs: Mapping[str, ArrayLike]) -> list[ArrayLike]:
        if len(arrays) > len(self._input_names):
            raise UsageError(
                f"{len(arrays)} arrays are given; the model takes {_listed(self._input_names, 'input')}"
            )
        given: dict[int, ArrayLike] = dict(enumerate(arrays))
        for name, array in inputs.items():
            index = self._input_index(name)
            if index in given:
                raise UsageError(f"input '{name}' is given twice")
            given[index] = array
        missing = [n for i, n in enumerate(self._input_names) if i not in given]
        if missing:
            raise UsageError(f"input '{missing[0]}' is not given")
        return [given[i] for i in range(len(self._input_names))]

    def _noise(self, shapes: Mapping[str, Sequence[int]] | None) -> dict[str, Array]:
        random = np.random.default_rng(42)
        return {p.name: _noise(p, random) for p in self.plan_for(shapes or {}).inputs}


def _noise(port: Port, random: np.random.Generator) -> Array:
    """Floats from -1 to 1; integers that are 0 or 1, so that indices are in range."""
    shape = tuple(n for n in port.shape or () if isinstance(n, int))
    if port.dtype == "bfloat16":
        return np.zeros(shape, np.uint16)
    dtype = np.dtype(port.dtype)
    if dtype.kind == "f":
        return random.uniform(-1, 1, shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def _expect_runs(runs: int) -> None:
    if runs < 1:
        raise UsageError(f"runs={runs} is not possible; choose 1 or more")


def _listed(names: Sequence[str], kind: str) -> str:
    if not names:
        return f"no {kind}"
    return ", ".join(f"'{n}'" for n in names)


def _index(names: Sequence[str], name: str, kind: str) -> int:
    if name not in names:
        raise UsageError(f"the model has no {kind} '{name}'; it has {_listed(names, kind)}")
    return names.index(name)


def _into(
    names: Sequence[str], out: Sequence[Array | None] | Mapping[str, Array]
) -> list[Array | None]:
    if isinstance(out, Mapping):
        for name in out:
            _index(names, name, "output")
        return [out.get(name) for name in names]
    if len(out) != len(names):
        raise UsageError(f"out has {len(out)} arrays for {len(names)} outputs")
    return list(out)


def _load(
    source: str | bytes,
    shapes: dict[str, list[int]],
    threads: int | None,
    device: str,
    planner: str,
    exact: bool,
    layouts: dict[str, str],
    formats: dict[str, str],
    weights: str | bytes | None,
    generated_weights: bool,
    rates: dict[str, float],
) -> _native.Model:
    cpus = len(os.sched_getaffinity(0))
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise UsageError(f"threads={threads} is not possible; choose 1 to {_MOST_THREADS}")
    path = "" if isinstance(source, bytes) else source
    return _native.load(
        path=path,
        data=source if isinstance(source, bytes) else None,
        weights=weights if isinstance(weights, str) else "",
        weights_data=weights if isinstance(weights, bytes) else None,
        generated_weights=generated_weights,
        shapes=shapes,
        threads=min(cpus, _MOST_THREADS) if threads is None else threads,
        cpus=cpus,
        device=device,
        planner=planner,
        exact=exact,
        layouts=layouts,
        formats=formats,
        rates=rates,
        name=pathlib.PurePath(path).stem if path else "model",
    )


def _source(value: str | os.PathLike[str] | bytes | bytearray | memoryview) -> str | bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return os.path.abspath(os.fspath(value))


def load(
    path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    threads: int | None = None,
    device: str | None = None,
    planner: str = "optimal",
    exact: bool = False,
    layouts: Mapping[str, object] | None = None,
    formats: Mapping[str, str] | None = None,
    weights: str | os.PathLike[str] | bytes | None = None,
    generated_weights: bool = False,
    rates: Mapping[str, float] | None = None,
) -> Model:
    """Reads a model: ONNX, TFLite, or ncnn's ``.param``. It is planned at once where all extents are
    known, else in the first call of each set of shapes.

    Parameters
    ----------
    path_or_bytes : str, path or bytes
        The file, or what it holds. Its bytes say of which kind it is.
    shapes : mapping of str to sequence of int, optional
        Extents of inputs in the model's order; they bind symbolic dims and replace others.
    threads : int, optional
        That a call runs on, 1 to 256; by default as many as the CPUs that the process may use.
    device : str, optional
        ``"cpu"``, which is the default, ``"opencl"``, or ``"opencl:N"`` for the N-th device from 0 on.
    planner : str
        ``"optimal"``; ``"rule"`` is MACE's, ``"source"`` keeps the order of the file.
    exact : bool
        On the CPU add up the products that the model asks for: no convolution by Winograd's
        method, whose results may be off by 1e-4 of the largest of their layer.
    layouts : mapping of str to Layout or str, optional
        How arrays of inputs and outputs lie in memory, by name, so that the planner has less to
        convert. Their shape stays the model's.
    formats : mapping of str to str, optional
        ``"nchw"`` or ``"nhwc"`` by name: arrays of that input are given, and of that output returned,
        in that order of axes. ``"none"``: the tensor is no batch of images.
    weights : path or bytes, optional
        Of an ncnn model; by default the ``.bin`` beside the ``.param``.
    generated_weights : bool
        No weights are read, they are made up: to measure an ncnn model.
    rates : mapping of str to float, optional
        What this machine does, from `measure_rates`; round numbers by default.

    Returns
    -------
    Model

    Raises
    ------
    BadInputError
        The file is missing or malformed.
    UnsupportedError
        It has an operator that Stowage lacks.
    UsageError, LimitError, DeviceError

    Examples
    --------
    >>> import stowage
    >>> model = stowage.load("models/upscale_x2.onnx", threads=1)
    >>> model.inputs[0].name, model.inputs[0].dtype
    ('image', 'float32')
    """
    options: dict[str, Any] = {
        "shapes": {name: [int(n) for n in extents] for name, extents in (shapes or {}).items()},
        "threads": threads,
        "device": device or "cpu",
        "planner": planner,
        "exact": exact,
        "layouts": {name: str(layout) for name, layout in (layouts or {}).items()},
        "formats": dict(formats or {}),
        "weights": None if weights is None else _source(weights),
        "generated_weights": generated_weights,
        "rates": dict(rates or {}),
    }
    return Model(_source(path_or_bytes), options)


def measure_rates() -> dict[str, float]:
    """What one thread of this machine does, for the `rates` of `load`; takes about a second.

    Returns
    -------
    dict of str to float
    """
    return _native.measure_rates()
