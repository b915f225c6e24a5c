# SPDX-License-Identifier: Apache-2.0
import contextlib
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ROOT, add_model, model_bytes
from onnx import helper

import stowage

distributed = pytest.importorskip("distributed", reason="dask is not installed")
from stowage.dask import map_batches  # noqa: E402

SHAPES = str(ROOT / "models/shapes.onnx")
BATCH = 4


@contextlib.contextmanager
def cluster_of(workers, threads=1):
    with (
        distributed.LocalCluster(workers, threads_per_worker=threads, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def images():
    """Of a number that no batch divides."""
    return np.random.default_rng(5).uniform(0, 1, (30, 3, 64, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def expected(images):
    """One process without any dask: one plan, the last batch filled."""
    model = stowage.load(SHAPES, threads=1)
    filled = np.concatenate([images, np.zeros((-len(images) % BATCH, 3, 64, 64), np.float32)])
    parts = [model(filled[i : i + BATCH]) for i in range(0, len(filled), BATCH)]
    return np.concatenate(parts)[: len(images)]


@pytest.fixture(scope="module")
def files(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / f"{i:02}.npy" for i in range(len(images))]
    for path, image in zip(paths, images):
        np.save(path, image)
    return paths


def linear(scale=1.0):
    """Rows of four numbers to rows of three, and their first column: y and first."""
    weights = np.arange(12, dtype=np.float32).reshape(4, 3) * np.float32(scale) / 7
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Slice", ["y", "zero", "one", "one"], ["first"]),
    ]
    constants = {"w": weights, "zero": np.array([0], np.int64), "one": np.array([1], np.int64)}
    return model_bytes(nodes, {"x": ["n", 4]}, ["y", "first"], constants=constants)


def table(pandas, rows=23):
    numbers = np.random.default_rng(6).uniform(-1, 1, (rows, 4)).astype(np.float32)
    return pandas.DataFrame(numbers, columns=list("abcd"), index=[f"r{i}" for i in range(rows)])


def linear_of(frame, model):
    rows = np.zeros((-(-len(frame) // 5) * 5, 4), np.float32)
    rows[: len(frame)] = frame[list("abcd")].to_numpy()
    results = [stowage.load(model, threads=1)(rows[i : i + 5])["y"] for i in range(0, len(rows), 5)]
    return np.concatenate(results)[: len(frame)]


class TestTheBitsOfOneProcess:
    @pytest.mark.parametrize("ship", [False, True])
    def test_array(self, client, images, expected, ship):
        have = map_batches(SHAPES, images, batch=BATCH, client=client, ship=ship)
        np.testing.assert_array_equal(have, expected)

    def test_array_in_this_process(self, images, expected):
        np.testing.assert_array_equal(map_batches(SHAPES, images, batch=BATCH), expected)

    @pytest.mark.parametrize("source", [pathlib.Path(SHAPES), pathlib.Path(SHAPES).read_bytes()])
    def test_path_and_bytes(self, client, images, expected, source):
        have = map_batches(source, images[:9], batch=BATCH, client=client, input="image", outputs="prob")
        np.testing.assert_array_equal(have, expected[:9])

    @pytest.mark.parametrize("ship", [False, True])
    @pytest.mark.parametrize("chunk", [7, 30])
    def test_dask_array(self, client, images, expected, ship, chunk):
        da = pytest.importorskip("dask.array")
        lazy = map_batches(SHAPES, da.from_array(images, chunks=(chunk, -1, -1, -1)), batch=BATCH, ship=ship)
        assert lazy.shape == (30, 5) and lazy.dtype == np.float32
        np.testing.assert_array_equal(client.compute(lazy).result(), expected)
        np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected)

    @pytest.mark.parametrize("ship", [False, True])
    def test_files(self, client, files, expected, ship):
        rows = map_batches(SHAPES, files, batch=BATCH, client=client, load=np.load, ship=ship)
        assert iter(rows) is rows
        np.testing.assert_array_equal(np.stack(list(rows)), expected)

    def test_dataframe(self, client):
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        frame, model = table(pandas), linear()
        frame.insert(2, "text", "not for the model")
        have = map_batches(model, frame, batch=5, client=client, input={"x": list("abcd")})
        assert list(have.columns) == ["y_0", "y_1", "y_2", "first"]
        assert list(have.index) == list(frame.index)
        want = linear_of(frame, model)
        np.testing.assert_array_equal(have[["y_0", "y_1", "y_2"]], want)
        np.testing.assert_array_equal(have["first"], want[:, 0])

    @pytest.mark.parametrize("ship", [False, True])
    def test_dask_dataframe(self, client, tmp_path, ship):
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        pytest.importorskip("pyarrow", reason="pyarrow, which dask.dataframe needs, is not installed")
        import dask.dataframe

        frame = table(pandas)
        path = tmp_path / "linear.onnx"
        path.write_bytes(linear())
        parts = dask.dataframe.from_pandas(frame, npartitions=3, sort=False)
        lazy = map_batches(path, parts, batch=5, outputs="y", ship=ship)
        assert list(lazy.columns) == ["y_0", "y_1", "y_2"]
        have = client.compute(lazy).result()
        np.testing.assert_array_equal(have, linear_of(frame, path))
        assert list(have.index) == list(frame.index)

    def test_several_inputs_and_outputs(self, client, tmp_path):
        node = [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Mul", ["a", "b"], ["product"])]
        model = model_bytes(node, {"a": ["n", 3], "b": ["n", 3]}, ["sum", "product"])
        pairs = np.random.default_rng(0).uniform(-1, 1, (7, 2, 3)).astype(np.float32)
        rows = map_batches(model, list(range(7)), batch=2, client=client,
                           load=lambda i: {"b": pairs[i, 1], "a": pairs[i, 0]})
        rows = list(rows)
        np.testing.assert_array_equal([r["sum"] for r in rows], pairs.sum(axis=1))
        np.testing.assert_array_equal([r["product"] for r in rows], pairs.prod(axis=1))

    def test_no_rows(self, client, images):
        assert map_batches(SHAPES, images[:0], batch=BATCH, client=client).shape == (0, 5)
        assert list(map_batches(SHAPES, [], batch=BATCH, client=client, load=np.load)) == []


class TestLostWorkers:
    @pytest.mark.parametrize("ship", [False, True])
    def test_every_result_once(self, files, expected, ship):
        with cluster_of(2) as client:
            pids = client.run(os.getpid)
            seen = []

            def halfway(done, total):
                seen.append(done)
                if done == 12:
                    os.kill(next(iter(pids.values())), signal.SIGKILL)

            rows = list(map_batches(SHAPES, files, batch=BATCH, client=client, load=np.load, ship=ship,
                                    progress=halfway))
            left = client.run(os.getpid)
        assert set(left.values()) != set(pids.values())
        assert seen == [*range(4, 29, 4), 30]
        np.testing.assert_array_equal(np.stack(rows), expected)


class TestTheFileOfAWorker:
    def test_another_hash_is_refused(self, client, tmp_path):
        da = pytest.importorskip("dask.array")
        path = tmp_path / "model.onnx"
        path.write_bytes(linear(2))
        rows = da.ones((8, 4), chunks=(4, 4), dtype=np.float32)
        lazy = map_batches(path, rows, batch=4, outputs="y")
        path.write_bytes(linear(3))
        with pytest.raises(stowage.BadInputError, match=r"model.onnx' has the SHA-256 \w{64} here, not \w{64}"):
            client.compute(lazy).result()
        lazy = map_batches(path, rows + 1, batch=4, outputs="y")
        path.unlink()
        with pytest.raises(stowage.BadInputError, match="cannot read .*model.onnx"):
            client.compute(lazy).result()

    def test_shipped_bytes_need_no_file(self, client, tmp_path):
        da = pytest.importorskip("dask.array")
        path = tmp_path / "model.onnx"
        path.write_bytes(linear(4))
        want = stowage.load(path)(np.ones((4, 4), np.float32))["y"]
        rows = da.ones((8, 4), chunks=(4, 4), dtype=np.float32)
        lazy = map_batches(path, rows, batch=4, outputs="y", ship=True)
        path.unlink()
        np.testing.assert_array_equal(client.compute(lazy).result(), np.concatenate([want, want]))

    def test_ncnn_has_its_weights_beside_it(self, tmp_path):
        for suffix in ("param", "bin"):
            shutil.copy(ROOT / f"models/shapes.{suffix}", tmp_path)
        image = np.zeros((2, 3, 64, 64), np.float32)
        with pytest.raises(stowage.Error):  # it has no axis of rows
            map_batches(tmp_path / "shapes.param", image, batch=2)
        (tmp_path / "shapes.bin").unlink()
        with pytest.raises(stowage.BadInputError, match="shapes.bin"):
            map_batches(tmp_path / "shapes.param", image, batch=2)


class TestBounds:
    @pytest.mark.parametrize("in_flight", [1, 3])
    def test_batches_in_flight(self, client, in_flight):
        """Files are taken only as results are."""
        model = linear()
        taken = []

        def paths():
            for i in range(40):
                taken.append(i)
                yield i

        def row(i):
            return np.full(4, i, np.float32)

        rows = map_batches(model, paths(), batch=2, client=client, load=row, outputs="y",
                           in_flight=in_flight)
        most = 0
        for i, _ in enumerate(rows):
            time.sleep(0.005)  # a slow consumer
            most = max(most, len(taken) - i)
        assert len(taken) == 40
        # Those submitted, the batch whose rows are given out, and the batch that waits for a place.
        assert 2 * in_flight <= most <= 2 * (in_flight + 1)

    def test_one_model_for_each_process(self, client):
        model = linear(5)
        rows = np.ones((40, 4), np.float32)
        for _ in range(2):
            map_batches(model, rows, batch=2, outputs="y", client=client)

        def loaded():
            import stowage.dask as sd

            return len(sd._cache._entries)

        before = client.run(loaded)
        map_batches(model, rows, batch=3, outputs="y", client=client)
        assert client.run(loaded) == before
        for scale in range(6, 14):
            map_batches(linear(scale), rows[:4], batch=2, outputs="y", client=client)
        assert all(n <= 4 for n in client.run(loaded).values())

    def test_threads_of_a_worker_load_once(self):
        import stowage.dask as sd

        cache, made, got = sd._Cache(), [], []

        def make():
            time.sleep(0.05)
            made.append(0)
            return object()

        threads = [threading.Thread(target=lambda: got.append(cache.get("k", make))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(made) == 1 and len(set(map(id, got))) == 1

    def test_no_more_threads_than_the_worker_has(self, client):
        model = linear(5)

        def threads():
            import stowage.dask as sd

            return [h[0].model._options["threads"] for _, h in sd._cache._entries.values()]

        map_batches(model, np.ones((8, 4), np.float32), batch=2, outputs="y", client=client, threads=64)
        assert all(max(t) == 1 for t in client.run(threads).values())


class TestRefusals:
    @pytest.mark.parametrize("arguments, sentence", [
        (dict(batch=0), "batch=0 is not possible"),
        (dict(batch=2, in_flight=0), "in_flight=0 is not possible"),
        (dict(batch=2, load=np.load), "load is for files"),
        (dict(batch=2, outputs="nothing"), r"the model has no output 'nothing'"),
        (dict(batch=2, input="nothing"), r"the model has no input 'nothing'"),
        (dict(batch=2, outputs=["y", "first"]), "an array comes of one output"),
        (dict(batch=2), "an array comes of one output"),
        (dict(batch=2, outputs="y", input={"x": "a"}), "for DataFrames"),
    ])
    def test_arguments(self, arguments, sentence):
        with pytest.raises(stowage.UsageError, match=sentence):
            map_batches(linear(), np.ones((4, 4), np.float32), **arguments)

    def test_files_need_load(self):
        with pytest.raises(stowage.UsageError, match="load is for files"):
            map_batches(linear(), ["a.npy"], batch=2)

    def test_one_array_for_two_inputs(self):
        with pytest.raises(stowage.UsageError, match="an array goes to one input"):
            map_batches(add_model(), np.ones((4, 8), np.float32), batch=4)

    def test_chunks_across_a_row(self):
        da = pytest.importorskip("dask.array")
        with pytest.raises(stowage.UsageError, match=r"data.rechunk\(\{1: -1\}\)"):
            map_batches(linear(), da.ones((4, 4), chunks=(2, 2), dtype=np.float32), batch=2, outputs="y")

    def test_an_output_without_rows(self):
        model = model_bytes([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], {"x": ["n", 4]}, ["y"])
        with pytest.raises(stowage.BadInputError, match="output 'y' has the shape .* first axis"):
            map_batches(model, np.ones((4, 4), np.float32), batch=2)

    def test_rows_of_two_shapes(self, client):
        rows = map_batches(linear(), [3, 4], batch=2, client=client, load=lambda n: np.ones(n, np.float32))
        with pytest.raises(stowage.BadInputError, match="'4' has the shape"):
            list(rows)

    def test_a_column_that_is_not_there(self):
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        with pytest.raises(stowage.BadInputError, match="takes the column 'z'"):
            map_batches(linear(), table(pandas), batch=5, input={"x": list("abcz")})
        with pytest.raises(stowage.BadInputError, match="which 3 columns do not fill"):
            map_batches(linear(), table(pandas), batch=5, input={"x": list("abc")})


def test_progress_is_silent_without_a_terminal(images, capfd):
    map_batches(SHAPES, images[:4], batch=2, progress=True)
    assert capfd.readouterr().err == ""


def test_example():
    """A process of its own: it starts workers, and loses one."""
    found = subprocess.run([sys.executable, ROOT / "examples/dask/score.py"], cwd=ROOT, text=True,
                           capture_output=True, timeout=60)
    assert found.returncode == 0, found.stderr
    assert re.search(r"lost a worker .* after \d+ of \d+", found.stdout)
    assert "every result is there once, with the bits of a single process" in found.stdout


def test_stowage_does_not_import_dask():
    code = "import sys, stowage, stowage.dask; sys.exit('dask' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
