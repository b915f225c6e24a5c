# SPDX-License-Identifier: Apache-2.0
"""Scoring on the workers of dask: `map_batches`. It needs ``pip install 'stowage[dask]'``."""

import atexit
import collections
import dataclasses
import hashlib
import importlib
import json
import os
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from stowage._errors import BadInputError, UsageError
from stowage._model import Model, load

__all__ = ["map_batches"]

Array = npt.NDArray[Any]
Columns = str | Sequence[str]
Progress = bool | Callable[[int, int | None], object]
Path = str | os.PathLike[str]

# Models that a process keeps, the last used ones.
_MOST_MODELS = 4


def map_batches(
    model: Path | bytes,
    data: Any,
    *,
    batch: int,
    client: Any = None,
    input: str | Mapping[str, Columns] | None = None,
    outputs: Columns | None = None,
    load: Callable[[Any], Any] | None = None,
    in_flight: int | None = None,
    progress: Progress = False,
    ship: bool = False,
    threads: int = 1,
    weights: Path | bytes | None = None,
    **options: Any,
) -> Any:
    """Runs a model over the rows of `data`, every row once, the results in the order of the rows.

    The model is always called with `batch` rows, so that it has one plan; the last call of an array, a
    partition or the files is filled with zeros, whose results are dropped. A row must not depend on
    those beside it. A worker that is lost costs time: dask computes again what was lost with it.

    Parameters
    ----------
    model : path or bytes
        Of a model whose inputs and outputs have rows as their first axis. Of a path, workers get the
        path and the SHA-256 of the file, and read the file themselves; bytes are always shipped.
    data : array, DataFrame, or iterable
        A numpy array or a pandas DataFrame: the result is another one, with as many rows. An array or
        a DataFrame of dask: so is the result, and it is lazy. Anything else: paths, or whatever `load`
        takes; the result is an iterator over one array for each, without the axis of rows.
    batch : int
        Rows of a call, at least 1.
    client : distributed.Client, optional
        Where numpy arrays, pandas DataFrames and files are scored; by default the current client, and
        without one this process. What is lazy runs where it is computed.
    input : str or mapping, optional
        Of an array, the name of the input; of a DataFrame, the column or columns of each input. By
        default the only input takes the array, or all columns; of several inputs each takes the
        column of its name.
    outputs : str or sequence of str, optional
        Names; by default all. An array takes one. A DataFrame has a column for each, or ``NAME_0``,
        ``NAME_1``, ... where a row has several numbers. Of files, several come as a dict by name.
    load : callable, optional
        Of files: reads one on a worker; its row, or a dict of rows by input.
    in_flight : int, optional
        Batches that are submitted and not collected yet, at most; by default 2 for each thread of the
        cluster. So many batches and their results are in memory besides `data` and the result; of
        files, a batch is paths, and each thread of a worker has the arrays of one batch.
    progress : bool or callable
        True: a line on standard error, where that is a terminal. A callable gets ``(done, total)``, in
        rows or files, after each batch; the total is None where `data` has no length.
    ship : bool
        The bytes go to each worker once, for workers that do not see the file.
    threads : int
        Of a call, at most those of the worker. The calls of a worker at once have no more threads
        than it has. 1 gives one plan, and so the same bits, on workers of the same kind of CPU.
    weights, **options
        As in `stowage.load`.

    Returns
    -------
    numpy.ndarray, pandas.DataFrame, dask.array.Array, dask.dataframe.DataFrame or iterator

    Raises
    ------
    BadInputError
        The model is missing or malformed, or does not take such rows; or the file that a worker reads
        has another SHA-256.
    UsageError
        The arguments do not go together, or dask is not there and needed.
    UnsupportedError, LimitError, DeviceError

    Examples
    --------
    >>> import numpy as np
    >>> from stowage.dask import map_batches
    >>> images = np.zeros((10, 3, 64, 64), np.float32)
    >>> map_batches("models/shapes.onnx", images, batch=4).shape
    (10, 5)
    """
    is_file = not (_is_array(data) or _is_frame(data))
    _expect(is_file == (load is not None), "load is for files, and files need it: it reads one")
    for name, number in (("batch", batch), ("in_flight", in_flight), ("threads", threads)):
        _expect(number is None or number >= 1, f"{name}={number} is not possible; choose 1 or more")
    files = _Files.of(model, weights)
    bytes_ = files if ship or isinstance(model, bytes) else None
    names = files.names(keep_paths=not bytes_)
    known = _held(names, files, threads, options).model
    ends = _inputs_of(known, data, input), _outputs_of(known, outputs, data)
    job = _Job(names, batch, threads, options, *ends)
    if _is_dask(data):
        eager = in_flight is not None or client is not None or progress is not False
        _expect(not eager, "client, in_flight and progress are not for what is lazy; it runs where it is computed")
        return _lazy(job, files, bytes_, data)
    driver = _Driver(job, files, bytes_, _client(client), in_flight)
    if is_file:
        one = len(job.outputs) == 1 and (outputs is None or isinstance(outputs, str))
        return _of_files(driver, data, load, progress, one)
    return _of_rows(driver, data, progress)


def _expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise UsageError(sentence)


def _of_files(
    driver: "_Driver", paths: Iterable[Any], load: Any, progress: Progress, one: bool
) -> Iterator[Any]:
    report = _reporter(progress, len(paths) if isinstance(paths, Sized) else None)
    return _each(driver.run(_score_files, _groups(paths, driver.job.batch), load), report, one)


def _of_rows(driver: "_Driver", data: Any, progress: Progress) -> Any:
    report = _reporter(progress, len(data))
    score = _score_array if _is_array(data) else _score_frame
    rows = data if _is_array(data) else data.iloc
    batch = driver.job.batch
    parts = (rows[i : i + batch] for i in range(0, max(len(data), 1), batch))
    return _joined(driver.run(score, parts), len(data), report)


@dataclasses.dataclass(frozen=True)
class _Name:
    """A file by what it holds; no path where its bytes are shipped."""

    path: str | None
    sha256: str

    def read(self) -> bytes:
        """Throws BadInputError where the file is missing or is another one."""
        assert self.path is not None
        found = _read(self.path)
        have = hashlib.sha256(found).hexdigest()
        if have != self.sha256:
            raise BadInputError(
                f"'{self.path}' has the SHA-256 {have} here, not {self.sha256} as where the job was "
                "made; give the worker the same file, or ship=True"
            )
        return found


@dataclasses.dataclass(frozen=True)
class _Files:
    """A model and its weights, which only ncnn has apart."""

    model: bytes
    weights: bytes | None
    paths: tuple[str | None, str | None]

    @staticmethod
    def of(model: Path | bytes, weights: Path | bytes | None) -> "_Files":
        path = None if isinstance(model, bytes) else os.path.abspath(model)
        if weights is None and path is not None and path.endswith(".param"):
            weights = path[: -len("param")] + "bin"
        beside = None if weights is None or isinstance(weights, bytes) else os.path.abspath(weights)
        if path is not None and isinstance(weights, bytes):
            raise UsageError("weights are bytes and the model is a path; give both in the same way")
        return _Files(
            model if isinstance(model, bytes) else _read(os.path.abspath(model)),
            _read(beside) if beside is not None else weights if isinstance(weights, bytes) else None,
            (path, beside),
        )

    def names(self, keep_paths: bool) -> tuple[_Name, ...]:
        return tuple(
            _Name(path if keep_paths else None, hashlib.sha256(found).hexdigest())
            for path, found in zip(self.paths, (self.model, self.weights))
            if found is not None
        )


def _read(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as e:
        raise BadInputError(f"cannot read '{path}': {e.strerror}") from e


@dataclasses.dataclass(frozen=True)
class _Job:
    """What a worker is told, besides the rows."""

    names: tuple[_Name, ...]
    batch: int
    threads: int
    options: Mapping[str, Any]
    inputs: Mapping[str, Columns | None]  # the columns of each
    outputs: tuple[str, ...]


class _Held:
    """A model that a process has loaded."""

    def __init__(self, model: Model, calls: int) -> None:
        self.model = model
        self.calls = threading.BoundedSemaphore(calls)


class _Cache:
    """One model for each hash and options, loaded once whoever asks first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: collections.OrderedDict[str, tuple[threading.Lock, list[_Held]]] = (
            collections.OrderedDict()
        )

    def get(self, key: str, make: Callable[[], _Held]) -> _Held:
        with self._lock:
            lock, entry = self._entries.setdefault(key, (threading.Lock(), []))
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST_MODELS:
                self._entries.popitem(last=False)
        with lock:
            if not entry:
                entry.append(make())
            return entry[0]


_cache = _Cache()


def _forget() -> None:
    global _cache
    _cache = _Cache()


# A forked process can neither run its parent's models nor rely on its locks.
os.register_at_fork(after_in_child=_forget)
# While the extension is whole: modules are torn down in no order that it could rely on.
atexit.register(_forget)


def _worker_threads() -> int:
    """Of dask's worker; outside of one the CPUs of the process."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            return int(distributed.get_worker().state.nthreads)
        except ValueError:
            pass
    return len(os.sched_getaffinity(0))


def _held(
    names: tuple[_Name, ...], shipped: _Files | None, threads: int, options: Mapping[str, Any]
) -> _Held:
    have = _worker_threads()
    used = min(threads, have)

    def make() -> _Held:
        if shipped is not None:
            model, weights = shipped.model, shipped.weights
        else:
            model, *rest = [name.read() for name in names]
            weights = rest[0] if rest else None
        return _Held(load(model, weights=weights, threads=used, **options), max(1, have // used))

    said = json.dumps(options, sort_keys=True, default=str)
    return _cache.get(" ".join([*(n.sha256 for n in names), str(used), said]), make)


def _run(job: _Job, shipped: _Files | None, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of the job for any number of rows."""
    rows = {len(array) for array in inputs.values()}
    if len(rows) != 1:
        raise BadInputError(f"inputs have different numbers of rows: {sorted(rows)}")
    count = rows.pop()
    held = _held(job.names, shipped, job.threads, job.options)
    pieces: list[list[Array]] = [[] for _ in job.outputs]
    # No rows: one call tells what a row of the outputs is.
    for begin in range(0, max(count, 1), job.batch):
        feeds = {n: _filled(a[begin : begin + job.batch], job.batch) for n, a in inputs.items()}
        with held.calls:
            results = held.model.run(job.outputs, feeds)
        for name, result, to in zip(job.outputs, results, pieces):
            if result.ndim == 0 or len(result) != job.batch:
                raise BadInputError(
                    f"output '{name}' has the shape {list(result.shape)} for {job.batch} rows; "
                    "its first axis would have to be the rows"
                )
            to.append(result[: count - begin])
    return [piece[0] if len(piece) == 1 else np.concatenate(piece) for piece in pieces]


def _filled(rows: Array, batch: int) -> Array:
    if len(rows) == batch:
        return rows
    out = np.zeros((batch, *rows.shape[1:]), rows.dtype)
    out[: len(rows)] = rows
    return out


def _score_array(rows: Array, job: _Job, shipped: _Files | None) -> Array:
    return _run(job, shipped, {name: rows for name in job.inputs})[0]


def _score_frame(frame: Any, job: _Job, shipped: _Files | None) -> Any:
    model = _held(job.names, shipped, job.threads, job.options).model
    inputs = {}
    for port in model.inputs:
        chosen = job.inputs[port.name]
        columns = [chosen] if isinstance(chosen, str) else list(frame.columns if chosen is None else chosen)
        missing = [c for c in columns if c not in frame.columns]
        if missing:
            raise BadInputError(
                f"input '{port.name}' takes the column '{missing[0]}'; there are "
                + ", ".join(f"'{c}'" for c in frame.columns)
            )
        table = frame[columns].to_numpy(np.float32 if port.dtype == "bfloat16" else port.dtype)
        row = (port.shape or (None, None))[1:]
        if all(isinstance(n, int) for n in row):
            if int(np.prod(row, dtype=np.int64)) != len(columns):  # type: ignore[arg-type]
                raise BadInputError(
                    f"a row of input '{port.name}' is {list(row)}, which {len(columns)} columns do not fill"
                )
            table = table.reshape(len(frame), *row)
        inputs[port.name] = table
    columns_out: dict[str, Array] = {}
    for name, result in zip(job.outputs, _run(job, shipped, inputs)):
        flat = result.reshape(len(frame), int(np.prod(result.shape[1:])))
        for i in range(flat.shape[1]):
            columns_out[name if flat.shape[1] == 1 else f"{name}_{i}"] = flat[:, i]
    return importlib.import_module("pandas").DataFrame(columns_out, index=frame.index)


def _score_files(
    paths: Sequence[Any], job: _Job, shipped: _Files | None, read: Callable[[Any], Any]
) -> list[dict[str, Array]]:
    rows = [read(path) for path in paths]
    rows = [r if isinstance(r, Mapping) else dict.fromkeys(job.inputs, r) for r in rows]
    for path, row in zip(paths, rows):
        if row.keys() != job.inputs.keys():
            raise BadInputError(
                f"load gave {sorted(row)} for '{path}', and the model takes {sorted(job.inputs)}"
            )
    inputs = {}
    for name in job.inputs:
        arrays = [np.asarray(row[name]) for row in rows]
        for path, array in zip(paths, arrays):
            if array.shape != arrays[0].shape:
                raise BadInputError(
                    f"'{path}' has the shape {list(array.shape)} and '{paths[0]}' "
                    f"{list(arrays[0].shape)}; the rows of a batch have the same"
                )
        inputs[name] = np.stack(arrays)
    results = _run(job, shipped, inputs)
    return [dict(zip(job.outputs, row)) for row in zip(*results)]


def _identity(shipped: _Files) -> _Files:
    return shipped


class _Driver:
    """Submits tasks, a few at a time, and yields their results in order."""

    def __init__(
        self, job: _Job, files: _Files, shipped: _Files | None, client: Any, in_flight: int | None
    ) -> None:
        self.job = job
        self._files = files
        self._shipped = shipped
        self._client = client
        if in_flight is None and client is not None:
            in_flight = max(2, 2 * sum(client.nthreads().values()))
        self._in_flight = in_flight or 1

    def run(self, score: Callable[..., Any], parts: Iterable[Any], *more: Any) -> Iterator[Any]:
        """Yields (rows, result) of each part."""
        if self._client is None:
            for part in parts:
                yield len(part), score(part, self.job, self._files, *more)
            return
        shipped = self._ship()
        pending: collections.deque[tuple[int, Any]] = collections.deque()
        try:
            for part in parts:
                if len(pending) == self._in_flight:
                    rows, future = pending.popleft()
                    yield rows, self._collect(future)
                # Rows are a part of the task: if a worker is lost, the scheduler still has them.
                future = self._client.submit(score, part, self.job, shipped, *more, pure=False)
                pending.append((len(part), future))
            while pending:
                rows, future = pending.popleft()
                yield rows, self._collect(future)
        finally:
            if pending:
                self._client.cancel([future for _, future in pending])

    def _ship(self) -> Any:
        """A future, so that a worker gets the bytes once; a task, so that none can lose them."""
        if self._shipped is None:
            return None
        key = "stowage-model-" + "-".join(name.sha256 for name in self.job.names)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            future = self._client.submit(_identity, self._shipped, key=key)
        self._client.replicate([future])
        return future

    @staticmethod
    def _collect(future: Any) -> Any:
        result = future.result()
        future.release()
        return result


def _each(results: Iterator[Any], report: Callable[[int], None], single: bool) -> Iterator[Any]:
    done = 0
    for rows, found in results:
        done += rows
        report(done)
        for row in found:
            yield next(iter(row.values())) if single else row


def _joined(results: Iterator[Any], count: int, report: Callable[[int], None]) -> Any:
    out: Array | None = None
    frames = []
    done = 0
    for rows, result in results:
        if not isinstance(result, np.ndarray):
            frames.append(result)
        else:
            if out is None:
                out = np.empty((count, *result.shape[1:]), result.dtype)
            out[done : done + rows] = result
        done += rows
        report(done)
    return out if out is not None else importlib.import_module("pandas").concat(frames)


def _lazy(job: _Job, files: _Files, shipped: _Files | None, data: Any) -> Any:
    delayed = None
    if shipped is not None:
        name = "stowage-model-" + "-".join(n.sha256 for n in job.names)
        delayed = _module("dask").delayed(shipped, name=name, traverse=False)
    if _is_frame(data):
        meta = _score_frame(data._meta, job, files)
        return data.map_partitions(_score_frame, job, delayed, meta=meta)
    if any(len(chunks) != 1 for chunks in data.chunks[1:]):
        whole = ", ".join(f"{axis}: -1" for axis in range(1, data.ndim))
        raise UsageError(
            f"an array is in chunks of rows, and this one is cut along other axes: {list(data.numblocks)}; "
            f"data.rechunk({{{whole}}}) joins them"
        )
    empty = _score_array(np.zeros((0, *data.shape[1:]), data.dtype), job, files)
    return _module("dask.array").map_blocks(
        _score_array,
        data,
        job,
        delayed,
        dtype=empty.dtype,
        chunks=(data.chunks[0], *((n,) for n in empty.shape[1:])),
        drop_axis=list(range(1, data.ndim)),
        new_axis=list(range(1, empty.ndim)),
        meta=empty,
    )


def _groups(items: Iterable[Any], count: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    for item in items:
        group.append(item)
        if len(group) == count:
            yield group
            group = []
    if group:
        yield group


def _reporter(progress: Progress, total: int | None) -> Callable[[int], None]:
    if callable(progress):
        return lambda done: (progress(done, total), None)[1]
    if not progress or not sys.stderr.isatty():
        return lambda done: None

    def show(done: int) -> None:
        end = "\n" if done == total else ""
        print(f"\r{done} of {'?' if total is None else total}", end=end, file=sys.stderr, flush=True)

    return show


def _client(given: Any) -> Any:
    client = given
    if client is None and "distributed" in sys.modules:
        try:
            client = sys.modules["distributed"].default_client()
        except ValueError:  # there is none
            return None
    if client is not None and client.asynchronous:
        raise UsageError("an asynchronous client cannot wait for results; give one that is not")
    return client


def _inputs_of(
    model: Model, data: Any, given: str | Mapping[str, Columns] | None
) -> dict[str, Columns | None]:
    names = [port.name for port in model.inputs]
    asked: list[str] = [] if given is None else [given] if isinstance(given, str) else list(given)
    for name in asked:
        if name not in names:
            raise UsageError(f"the model has no input '{name}'; it has {names}")
    if _is_frame(data):
        if isinstance(given, Mapping):
            missing = [name for name in names if name not in given]
            if missing:
                raise UsageError(f"input '{missing[0]}' has no columns; the model takes {names}")
            return dict(given)
        return {names[0]: None} if len(names) == 1 else {name: name for name in names}
    if isinstance(given, Mapping):
        raise UsageError("a mapping of inputs to columns is for DataFrames; give the name of one input")
    if _is_array(data) and len(names) != 1:
        raise UsageError(f"an array goes to one input, and the model takes {names}; use a DataFrame or files")
    return dict.fromkeys(asked or names)


def _outputs_of(model: Model, given: Columns | None, data: Any) -> tuple[str, ...]:
    names = [port.name for port in model.outputs]
    chosen = names if given is None else [given] if isinstance(given, str) else list(given)
    for name in chosen:
        if name not in names:
            raise UsageError(f"the model has no output '{name}'; it has {names}")
    if not chosen or _is_array(data) and len(chosen) != 1:
        raise UsageError(f"an array comes of one output; choose one of {names} with outputs=")
    return tuple(chosen)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise UsageError(f"{name} is not there ({e}); pip install 'stowage[dask]' has it") from e


def _one_of(data: Any, classes: Iterable[tuple[str, str]]) -> bool:
    """Of classes whose modules need not be there: what is not imported has no instances."""
    return any(
        module in sys.modules and isinstance(data, getattr(sys.modules[module], name))
        for module, name in classes
    )


def _is_dask(data: Any) -> bool:
    return _one_of(data, [("dask.array", "Array"), ("dask.dataframe", "DataFrame")])


def _is_array(data: Any) -> bool:
    return isinstance(data, np.ndarray) or _one_of(data, [("dask.array", "Array")])


def _is_frame(data: Any) -> bool:
    return _one_of(data, [("pandas", "DataFrame"), ("dask.dataframe", "DataFrame")])
