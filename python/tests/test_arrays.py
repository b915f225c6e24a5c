# SPDX-License-Identifier: Apache-2.0
"""Arrays as they lie: every dtype, stride and owner that a conversion reads or writes."""

import array
import gc
import os
import sys
import threading
import weakref

import numpy as np
import pytest

import stowage

DTYPES = {
    "f32": np.float32, "f16": np.float16, "f64": np.float64, "u8": np.uint8, "i8": np.int8,
    "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64,
    "i64": np.int64, "bool": np.bool_,
}  # fmt: skip


def numbers(shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return rng.integers(0, 100, shape).astype(dtype)


def same(got, want):
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    a = numbers((2, 5, 3, 4), DTYPES[name])
    got = stowage.convert(a, "NCHW", "NHWC")
    assert same(got, np.ascontiguousarray(a.transpose(0, 2, 3, 1)))
    assert got.flags.owndata and got.flags.writeable and got.flags.c_contiguous
    for word in (name, DTYPES[name], np.dtype(DTYPES[name]), np.dtype(DTYPES[name]).name):
        assert stowage.convert(a, "NCHW", "NCHW", dtype=word).dtype == DTYPES[name]


def random_view(rng):
    """A part of an array, and axes in any order: steps, negative steps, repeated elements."""
    rank = int(rng.integers(1, 6))
    dtype = rng.choice([np.uint8, np.float16, np.float32, np.float64])
    a = numbers(rng.integers(1, 9, rank), dtype, seed=int(rng.integers(1 << 30)))
    cut = []
    for n in a.shape:
        step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
        lo = int(rng.integers(0, n))
        hi = int(rng.integers(lo, n)) + 1
        cut.append(slice(lo, hi, step) if step > 0 else slice(hi - 1, lo - 1 if lo else None, step))
    view = a[tuple(cut)].transpose(rng.permutation(rank))
    if rng.random() < 0.2:
        shape = [int(rng.integers(1, 4)) if n == 1 else n for n in view.shape]
        view = np.broadcast_to(view, shape)
    return view


def test_views_are_read():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        view = random_view(rng)
        axes = list("abcde"[: view.ndim])
        to = rng.permutation(view.ndim)
        got = stowage.convert(view, " ".join(axes), " ".join(axes[i] for i in to))
        assert same(got, np.ascontiguousarray(view.transpose(to))), (view.shape, view.strides, to)


def test_views_are_written():
    """Nothing is touched beside the elements of `out`."""
    rng = np.random.default_rng(2)
    for _ in range(1000):
        rank = int(rng.integers(1, 5))
        whole = np.full(rng.integers(1, 9, rank), 77, np.float32)
        steps = rng.choice([1, 1, 2, 3, -1, -2], rank)
        cut = tuple(slice(int(rng.integers(0, n)), None, int(k)) for n, k in zip(whole.shape, steps))
        order = rng.permutation(rank)
        want = whole.copy()
        axes = list("abcd"[:rank])
        out = whole[cut].transpose(order)
        a = numbers([out.shape[i] for i in np.argsort(order)], seed=int(rng.integers(1 << 30)))
        want[cut] = a
        got = stowage.convert(a, " ".join(axes), " ".join(axes[i] for i in order), out=out)
        assert got is out and (whole == want).all()


def test_blocked_views_are_read_and_written():
    a = numbers((1, 30, 6, 5))
    blocked = stowage.convert(a, "NCHW", "nChw8c")
    wide = np.zeros((1, 4, 6, 10, 11), np.float32)
    stowage.convert(a, "NCHW", "nChw8c", out=wide[:, :, :, ::2, 1:9])
    assert (wide[:, :, :, ::2, 1:9] == blocked).all() and wide[..., 0].sum() == 0 == wide[..., 9:].sum()
    assert same(stowage.convert(wide[:, :, :, ::2, 1:9], "nChw8c", "NCHW", dims={"c": 30}), a)
    flipped = np.ascontiguousarray(blocked[..., ::-1])[..., ::-1]
    assert same(stowage.convert(flipped, "nChw8c", "NCHW", dims={"c": 30}), a)


@pytest.mark.parametrize("offset", range(1, 8))
def test_unaligned(offset):
    a = np.frombuffer(bytes(range(200)), np.uint8)[offset : offset + 96].view(np.float32)
    assert a.flags.aligned == (offset % 4 == 0)
    got = stowage.convert(a.reshape(2, 3, 4), "a b c", "c a b")
    assert got.tobytes() == a.reshape(2, 3, 4).transpose(2, 0, 1).tobytes()


def test_fields_of_records():
    records = np.zeros(5, dtype=[("tag", "u1"), ("x", "f4")])
    records["x"] = np.arange(5)
    assert stowage.convert(records["x"], "a", "a").tolist() == [0, 1, 2, 3, 4]


READ_ONLY = np.arange(6, dtype=np.uint8)
READ_ONLY.flags.writeable = False
BUFFERS = {
    "bytes": bytes(range(6)),
    "bytearray": bytearray(range(6)),
    "memoryview": memoryview(bytearray(range(6))),
    "strided memoryview": memoryview(bytearray([0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9]))[::2],
    "array.array": array.array("B", range(6)),
    "read-only numpy": READ_ONLY,
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers(kind):
    assert stowage.convert(BUFFERS[kind], "a", "a").tolist() == [0, 1, 2, 3, 4, 5]


def test_buffers_with_a_format():
    assert stowage.convert(array.array("d", [1.5, -2]), "a", "a").tolist() == [1.5, -2]
    view = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
    assert stowage.convert(view, "a b", "b a").tolist() == [[0, 3], [1, 4], [2, 5]]


def test_outputs_that_are_buffers():
    out = bytearray(6)
    assert stowage.convert(np.arange(6, dtype=np.uint8), "a", "a", out=out) is out
    assert list(out) == [0, 1, 2, 3, 4, 5]
    out.append(6)  # nothing holds on to it


REFUSED = [
    ("byte order", lambda: numbers(3).astype(np.dtype("f4").newbyteorder()), "byte order"),
    ("complex", lambda: np.zeros(3, np.complex64), "format"),
    ("text", lambda: np.array(["a"]), "format"),
    ("dates", lambda: np.zeros(3, "M8[s]"), "datetime64"),
    ("objects", lambda: np.array([object()]), "format"),
    ("records", lambda: np.zeros(3, "u1,f4"), "format"),
    ("long double", lambda: np.zeros(3, np.longdouble), "format"),
]


@pytest.mark.parametrize("make, word", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_unsupported_scalars(make, word):
    with pytest.raises(stowage.UnsupportedError, match=word):
        stowage.convert(make(), "a", "a")


@pytest.mark.parametrize("thing", [[1, 2], None, 3, "text", {}, object()])
def test_what_is_no_array(thing):
    with pytest.raises(stowage.UsageError, match="an array is expected"):
        stowage.convert(thing, "a", "a")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_empty(shape):
    axes = "abc"[: len(shape)]
    got = stowage.convert(np.zeros(shape, np.float32), " ".join(axes), " ".join(axes[::-1]))
    assert got.shape == shape[::-1]
    assert stowage.convert(np.zeros((1, 0, 2, 2), np.float32), "NCHW", "nChw4c").shape == (1, 0, 2, 2, 4)


def test_no_axes():
    for scalar in (np.float32(3), np.array(3, np.float32), np.broadcast_to(np.float32(3), ())):
        got = stowage.convert(scalar, "()", "()")
        assert got.shape == () and got == 3
    assert stowage.convert(np.array(3, np.float32), "()", "NCHW").shape == (1, 1, 1, 1)


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("n", [2**33, 2**40, 2**46])
def test_huge_by_repetition(n):
    before = resident()
    with pytest.raises(stowage.LimitError, match="at most"):
        stowage.convert(np.broadcast_to(np.uint8(3), (n,)), "a", "a")
    assert resident() - before < 1 << 26


def test_more_elements_than_a_shape_has():
    a = np.broadcast_to(np.uint8(0), (2**20, 2**20, 2**20))
    with pytest.raises(stowage.LimitError):
        stowage.convert(a, "a b c", "c b a")


def test_many_axes():
    with pytest.raises(stowage.Error):
        stowage.convert(np.zeros((1,) * 20, np.float32), "a", "a")
    assert stowage.convert(np.zeros((1,) * 8, np.float32), "a b c d e f g h", "h g f e d c b a").ndim == 8


OUTPUTS = [
    ("read-only", lambda: READ_ONLY, "read-only"),
    ("bytes", lambda: bytes(6), "read-only"),
    ("repeated", lambda: np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (6,), (0,)), "stride"),
]  # fmt: skip


@pytest.mark.parametrize("make, word", [o[1:] for o in OUTPUTS], ids=[o[0] for o in OUTPUTS])
def test_refused_outputs(make, word):
    with pytest.raises(stowage.Error, match=word):
        stowage.convert(np.arange(6, dtype=np.uint8), "a", "a", out=make())


def test_an_output_over_the_input():
    a = numbers((4, 4))
    with pytest.raises(stowage.UsageError, match="shares memory"):
        stowage.convert(a, "a b", "b a", out=a)
    with pytest.raises(stowage.UsageError, match="shares memory"):
        stowage.convert(a[:2], "a b", "a b", out=a[1:3])
    stowage.convert(a[:2], "a b", "a b", out=a[2:])
    assert (a[:2] == a[2:]).all()


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    a = numbers((2, 3, 4, 5)).astype(ml_dtypes.bfloat16)
    got = stowage.convert(a[:, ::-1, :, ::2], "NCHW", "NHWC")
    assert got.dtype == ml_dtypes.bfloat16
    assert (got == a[:, ::-1, :, ::2].transpose(0, 2, 3, 1)).all()
    assert stowage.convert(a, "NCHW", "NCHW", dtype="f32").dtype == np.float32
    x = np.float32([1, 1 + 2**-8, 1 + 3 * 2**-8, np.inf, -0.0])
    assert (stowage.convert(x, "a", "a", dtype=ml_dtypes.bfloat16) == x.astype(ml_dtypes.bfloat16)).all()
    out = np.zeros(5, ml_dtypes.bfloat16)
    stowage.convert(x, "a", "a", out=out)
    assert (out == x.astype(ml_dtypes.bfloat16)).all()
    packed = stowage.pack(numbers((3, 5, 5)).astype(ml_dtypes.bfloat16), 1)  # planes with gaps
    assert packed.dtype == ml_dtypes.bfloat16 and packed.strides == (64, 10, 2)


def test_bfloat16_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x = np.float32([1, -2, 0.5])
    words = stowage.convert(x, "a", "a", dtype="bf16")
    assert words.dtype == np.uint16 and words.tolist() == [0x3F80, 0xC000, 0x3F00]
    assert stowage.convert(words, "a", "a", src_dtype="bf16", dtype="f32").tolist() == [1, -2, 0.5]
    out = np.zeros(3, np.uint16)
    stowage.convert(x, "a", "a", dtype="bf16", out=out)
    assert out.tolist() == words.tolist()
    with pytest.raises(stowage.UsageError, match="only u16"):
        stowage.convert(x, "a", "a", src_dtype="bf16")


class Exporter:
    """What knows DLPack and nothing else."""

    def __init__(self, a, versioned=True):
        self.a, self.versioned = a, versioned

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned:
            if "max_version" in options:
                raise TypeError("max_version is not known")
            return self.a.__dlpack__()
        return self.a.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_in(versioned):
    a = numbers((2, 3, 4, 6))
    got = stowage.convert(Exporter(a[:, :, 1:, ::2], versioned), "NCHW", "NHWC")
    assert same(got, np.ascontiguousarray(a[:, :, 1:, ::2].transpose(0, 2, 3, 1)))
    out = np.zeros((2, 4, 6, 3), np.float32)
    stowage.convert(a, "NCHW", "NHWC", out=Exporter(out, versioned))
    assert (out == a.transpose(0, 2, 3, 1)).all()


def test_dlpack_that_is_read_only():
    a = numbers(6)
    a.flags.writeable = False
    try:
        a.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError) as e:
        pytest.skip(f"this numpy does not export it: {e}")
    assert stowage.convert(Exporter(a), "a", "a").tolist() == a.tolist()
    with pytest.raises(stowage.UsageError, match="read-only"):
        stowage.convert(numbers(6), "a", "a", out=Exporter(a))


def test_dlpack_out():
    got = np.from_dlpack(stowage.convert(numbers((2, 3)), "a b", "b a"))
    assert same(np.ascontiguousarray(got), np.ascontiguousarray(numbers((2, 3)).T))


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    a = torch.arange(120, dtype=torch.float32).reshape(2, 3, 4, 5)
    for view in (a, a.permute(0, 3, 1, 2), a[:, :, 1:3, ::2], a.to(memory_format=torch.channels_last)):
        got = torch.from_dlpack(stowage.convert(view, "NCHW", "NHWC"))
        assert torch.equal(got, view.permute(0, 2, 3, 1).contiguous())
    for dtype in (torch.bfloat16, torch.float16, torch.uint8, torch.int64, torch.bool, torch.float64):
        got = stowage.convert(a.to(dtype), "NCHW", "NCHW", dtype="f64")
        assert (got == a.to(dtype).to(torch.float64).numpy()).all()
    out = torch.zeros(2, 4, 5, 3)
    stowage.convert(a, "NCHW", "NHWC", out=out)
    assert torch.equal(out, a.permute(0, 2, 3, 1))
    half = torch.zeros(2, 4, 5, 3, dtype=torch.bfloat16)
    stowage.convert(a, "NCHW", "NHWC", out=half)
    assert torch.equal(half.float(), a.permute(0, 2, 3, 1))
    with pytest.raises(stowage.Error):
        stowage.convert(torch.zeros(3, dtype=torch.complex64), "a", "a")
    with pytest.raises(stowage.Error):
        stowage.convert(torch.zeros(3, device="meta"), "a", "a")


class Owned(np.ndarray):
    """An array that can be watched."""


def test_owners_are_released():
    owners = []

    def watched(shape):
        a = np.zeros(shape, np.float32).view(Owned)
        owners.append(weakref.ref(a))
        return a

    results = [
        stowage.convert(watched((2, 3)), "a b", "b a"),
        stowage.convert(watched((4, 6))[::-1, ::2], "a b", "b a"),
        stowage.convert(Exporter(watched((2, 3))), "a b", "b a"),
        stowage.pack(watched((3, 5, 5)), 1),
    ]
    with pytest.raises(stowage.Error):
        stowage.convert(watched((2, 3)), "a", "a")
    gc.collect()
    assert [o() for o in owners] == [None] * 5
    assert all((r == 0).all() for r in results)


def test_a_result_with_gaps_owns_them():
    packed = stowage.pack(np.ones((3, 5, 5), np.float32), 1)
    assert packed.strides == (112, 20, 4)
    rows = packed[1:, 2]
    del packed
    gc.collect()
    assert (rows == 1).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers((1, 16, 32, 32)),
        lambda: numbers((1, 16, 64, 32))[:, :, ::2],
        lambda: numbers((1, 16, 32, 32))[..., ::-1],
        lambda: Exporter(numbers((1, 16, 32, 32))),
    ],
    ids=["dense", "strided", "copied", "dlpack"],
)
def test_no_growth(make):
    a = make()
    for _ in range(500):
        stowage.convert(a, "NCHW", "NHWC")
    before, references = resident(), sys.getrefcount(a)
    for _ in range(10_000):
        stowage.convert(a, "NCHW", "NHWC")
    assert sys.getrefcount(a) == references
    assert resident() - before < 1 << 20


def test_no_growth_of_refusals():
    a = numbers((4, 4))

    def refuse():
        for src in ("a", "a b c", "a b(", "a/3 b"):
            with pytest.raises(stowage.Error):
                stowage.convert(a, src, "b a")

    for _ in range(100):
        refuse()
    before = resident()
    for _ in range(1000):
        refuse()
    assert resident() - before < 1 << 20


def test_threads_of_python():
    a = numbers((1, 64, 56, 56))
    wants = {to: stowage.convert(a, "NCHW", to) for to in ("NHWC", "nChw8c", "NCWH", "nChw16c")}
    wrong = []

    def work(to):
        for _ in range(50):
            if not same(stowage.convert(a, "NCHW", to, threads=2), wants[to]):
                wrong.append(to)

    workers = [threading.Thread(target=work, args=(to,)) for to in wants for _ in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_conversions_after_fork():
    a = numbers((1, 64, 56, 56))
    want = stowage.convert(a, "NCHW", "NHWC", threads=2)
    child = os.fork()
    if child == 0:
        os._exit(0 if same(stowage.convert(a, "NCHW", "NHWC", threads=2), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
