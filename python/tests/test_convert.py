# SPDX-License-Identifier: Apache-2.0
"""Conversions against numpy: blocks, images, casts, Mats."""

import numpy as np
import pytest

import stowage


def numbers(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


def blocked(a, block):
    """nChw<block>c of NCHW."""
    n, c, h, w = a.shape
    padded = np.pad(a, ((0, 0), (0, -c % block), (0, 0), (0, 0)))
    return padded.reshape(n, -1, block, h, w).transpose(0, 1, 3, 4, 2)


@pytest.mark.parametrize("block", [2, 4, 8, 16, 6, 48])
@pytest.mark.parametrize("channels", [1, 3, 4, 15, 16, 30, 33])
def test_blocks(block, channels):
    a = numbers((2, channels, 5, 7))
    layout = f"n c/{block} h w c%{block}"
    got = stowage.convert(a, "NCHW", layout)
    assert got.shape == blocked(a, block).shape and (got == blocked(a, block)).all()
    assert (stowage.convert(got, layout, "NHWC", dims={"c": channels}) == a.transpose(0, 2, 3, 1)).all()
    # Without dims what fills the last block counts.
    assert stowage.convert(got, layout, "NCHW").shape == (2, -(-channels // block) * block, 5, 7)
    flat = stowage.convert(got.ravel(), layout, "NCHW", dims={"n": 2, "c": channels, "h": 5, "w": 7})
    assert (flat == a).all()


def test_between_blocks():
    a = numbers((1, 50, 5, 7))
    got = stowage.convert(blocked(a, 48), "n c/48 h w c%48", "n c/32 h w c%32", dims="c=50")
    assert (got == blocked(a, 32)).all()


def test_images():
    a = numbers((2, 6, 3, 5))
    layout = stowage.Layout("y:(n h) x:(c/4 w) lane:c%4")
    got = stowage.convert(a, "NCHW", layout)
    want = blocked(a, 4).transpose(0, 2, 1, 3, 4).reshape(6, 10, 4)
    assert got.shape == (6, 10, 4) and (got == want).all()
    dims = {"n": 2, "c": 6, "h": 3, "w": 5}
    assert (stowage.convert(got, layout, "NCHW", dims) == a).all()
    assert (stowage.convert(got[::-1][::-1], layout, "NHWC", dims) == a.transpose(0, 2, 3, 1)).all()
    with pytest.raises(stowage.UsageError, match="give it with dims"):
        stowage.convert(got, layout, "NCHW")
    wide = np.zeros((6, 20, 4), np.float32)
    stowage.convert(a, "NCHW", layout, out=wide[:, ::2])
    assert (wide[:, ::2] == want).all() and not wide[:, 1::2].any()


def test_axes_that_one_side_lacks():
    picture = numbers((4, 5, 3), np.uint8)
    assert (stowage.convert(picture, "HWC", "NCHW") == picture.transpose(2, 0, 1)[None]).all()
    assert stowage.convert(picture[None], "NHWC", "CHW").shape == (3, 4, 5)
    with pytest.raises(stowage.UsageError, match="no place"):
        stowage.convert(np.zeros((2, 4, 5, 3)), "NHWC", "CHW")


MEAN, SCALE = np.float32([123.675, 116.28, 103.53]), np.float32([1 / 58.395, 1 / 57.12, 1 / 57.375])


@pytest.mark.parametrize("mean, scale", [
    (MEAN, SCALE), (MEAN.tolist(), None), (None, tuple(SCALE)), (127.5, 1 / 127.5), (0, SCALE), (MEAN, 2),
    (np.float64(3), np.float32(2)),
])  # fmt: skip
def test_mean_and_scale(mean, scale):
    picture = numbers((1, 9, 11, 3), np.uint8)
    want = (picture.astype(np.float32) - np.float32(0 if mean is None else mean)) * np.float32(
        1 if scale is None else scale
    )
    got = stowage.convert(picture, "NHWC", "NCHW", dtype="f32", mean=mean, scale=scale)
    assert got.dtype == np.float32 and np.array_equal(got, want.transpose(0, 3, 1, 2))


def test_mean_of_tails_and_many_channels():
    mean = np.arange(1, 41, dtype=np.float32)
    got = stowage.convert(numbers((1, 40, 2, 2)), "NCHW", "n c/16 h w c%16", mean=mean)
    assert (got == blocked(numbers((1, 40, 2, 2)) - mean[:, None, None], 16)).all()


def test_casts():
    x = np.float32([-1.5, -0.5, 0.5, 1.5, 2.5, 254.5, 255.5, 1e9, -1e9, np.inf])
    got = stowage.convert(x, "a", "a", dtype="u8")
    assert got.tolist() == [0, 0, 0, 2, 2, 254, 255, 255, 0, 255]
    assert stowage.convert(x[:-3], "a", "a", dtype=np.float16).tolist() == x[:-3].astype(np.float16).tolist()
    assert stowage.convert(np.int64([3]), "a", "a", dtype="f64").tolist() == [3.0]


def test_outputs():
    a = numbers((1, 6, 3, 5))
    out = np.full((1, 2, 3, 5, 4), -1, np.float32)
    assert stowage.convert(a, "NCHW", "nChw4c", out=out) is out and (out == blocked(a, 4)).all()
    flat = np.full(120, -1, np.float64)  # its dtype is that of the result
    stowage.convert(a, "NCHW", "nChw4c", out=flat)
    assert (flat.reshape(out.shape) == out).all()
    with pytest.raises(stowage.UsageError, match="f64.*f32"):
        stowage.convert(a, "NCHW", "nChw4c", dtype="f32", out=flat)
    with pytest.raises(stowage.BadInputError, match="out has shape"):
        stowage.convert(a, "NCHW", "nChw4c", out=flat[:-1])


WRONG = [
    (lambda a: stowage.convert(a, "NCHW", "NHWC", dims={"c": 7}), "takes"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", dims={"q": 7}), "no place"),
    (lambda a: stowage.convert(a, "NCH", "NHC"), "does not follow"),
    (lambda a: stowage.convert(a, "nchw", "nhwc"), "'n c h w' are several"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", mean=[1, 2]), "2 values"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", mean=[]), "no values"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", mean="x"), "mean is a number"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", scale=[[1]]), "scale is a number"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", dtype="f31"), "f31"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", dtype=3), "a dtype is"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", dtype=np.complex64), "complex64"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", threads=0), "1 to 256"),
    (lambda a: stowage.convert(a, "NCHW", "NHWC", threads=257), "1 to 256"),
    (lambda a: stowage.convert(a[:, :4], "NCHW", "n c/4 h w c%4", out=bytearray(3)), "out has shape"),
    (lambda a: stowage.convert(a, "n c/4 h w", "NCHW"), "digit"),
    (lambda a: stowage.convert(a[0, 0], "h w%4", "NCHW"), "missing"),
]


@pytest.mark.parametrize("ask, word", WRONG)
def test_wrong(ask, word):
    with pytest.raises((stowage.UsageError, stowage.BadInputError), match=word):
        ask(numbers((1, 6, 3, 5)))


def test_a_result_for_which_there_is_no_memory():
    one = np.zeros((1, 1), np.uint8)
    with pytest.raises(stowage.LimitError, match="no memory"):
        stowage.convert(one, "a b", "a/2147483648 b/131072 a%2147483648 b%131072")
    with pytest.raises(stowage.LimitError, match="2.50"):
        stowage.convert(one, "a b", "a/2147483648 b/2147483648 a%2147483648 b%2147483648")


def test_threads_give_the_same():
    a = numbers((1, 64, 100, 100))
    for to in ("NHWC", "nChw16c"):
        want = stowage.convert(a, "NCHW", to)
        for threads in (2, 3):
            assert (stowage.convert(a, "NCHW", to, threads=threads) == want).all()


def test_more_conversions_than_are_kept():
    for _ in range(2):
        for w in range(1, 100):
            a = numbers((1, 3, 4, w), seed=w)
            assert (stowage.convert(a, "NCHW", "NHWC") == a.transpose(0, 2, 3, 1)).all()


@pytest.mark.parametrize("elempack", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_pack(elempack, dtype):
    for shape in [(32,), (32, 5), (32, 5, 5), (32, 3, 5, 7)]:
        a = numbers(shape, dtype)
        got = stowage.pack(a, elempack)
        want = np.moveaxis(a.reshape(-1, elempack, *shape[1:]), 1, -1) if elempack > 1 else a
        assert got.shape == want.shape and (got == want).all()
        if len(shape) > 2:  # ncnn: cstep is a plane, aligned to 16 bytes
            plane = int(np.prod(shape[1:])) * elempack * a.itemsize
            assert got.strides[0] == -(-plane // 16) * 16
        back = stowage.unpack(got if elempack > 1 else got[..., None])
        assert back.shape == shape and (back == a).all() and back.flags.c_contiguous


def test_pack_with_padding():
    a = numbers((30, 3, 5))
    with pytest.raises(stowage.UsageError, match="padding=True"):
        stowage.pack(a, 8)
    got = stowage.pack(a, 8, padding=True)
    assert got.shape == (4, 3, 5, 8) and not got[3, ..., 6:].any()
    assert (stowage.unpack(got, 30) == a).all() and stowage.unpack(got).shape == (32, 3, 5)
    out = np.zeros((4, 3, 5, 8), np.float32)
    assert stowage.pack(a, 8, padding=True, out=out) is out and (out == got).all()
    for scalars in (24, 33, -1):
        with pytest.raises(stowage.UsageError, match="packs"):
            stowage.unpack(got, scalars)


@pytest.mark.parametrize("ask, word", [
    (lambda: stowage.pack(numbers((4, 4)), 0), "elempack"),
    (lambda: stowage.pack(numbers((4, 4)), 65), "elempack"),
    (lambda: stowage.pack(np.float32(1), 4), "1 to 4 axes"),
    (lambda: stowage.pack(np.zeros((1,) * 5), 1), "1 to 4 axes"),
    (lambda: stowage.unpack(np.zeros(4)), "2 axes"),
    (lambda: stowage.unpack(np.zeros((4, 100))), "elempack"),
    (lambda: stowage.unpack(np.zeros((4, 0))), "packs|elempack"),
])  # fmt: skip
def test_wrong_packs(ask, word):
    with pytest.raises(stowage.Error, match=word):
        ask()


@pytest.mark.parametrize("bytes_", [1 << 16, (1 << 16) + 16, 1 << 22])
def test_large_results_begin_at_a_line(bytes_):
    a = np.arange(bytes_ // 4, dtype=np.float32).reshape(1, 4, 1, -1)
    got = stowage.convert(a, "NCHW", "NHWC")
    assert got.ctypes.data % 64 == 0
    np.testing.assert_array_equal(got, a.transpose(0, 2, 3, 1))
