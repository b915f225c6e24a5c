#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py PROGRAMS SOURCE_DIR TEST_DATA: what the programs of examples/ find, draw, convert and list.

Classes; boxes within three pixels of those that the ONNX file of the same network computes, which has no anchors
to decode. Without test data: the bundled model alone."""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

PIXELS = 3
COLOURS = [(235, 64, 52), (52, 152, 219), (46, 204, 113), (241, 196, 15)]

programs, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data = pathlib.Path(sys.argv[3] or "nowhere")
models, images = data / "models", data / "models" / "images"
bundled = source / "models" / "upscale_x2.onnx"


def run(name, *arguments, code=0):
    ran = subprocess.run([programs / name, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == code, (name, arguments, ran.returncode, ran.stderr)
    return ran.stdout if code == 0 else ran.stderr


def classified(folder):
    labels = folder / "labels.txt"
    labels.write_text("".join(f"class {i}\n" for i in range(1001)))
    lines = run("classify", models / "tflite/tfls_mobilenet_v1_025_224_float.tflite", images / "grace_hopper.jpg",
                "--mean", "127.5", "--norm", "0.00784314", "--labels", labels).splitlines()
    # ImageNet's suit, bow tie and military uniform.
    for line, (index, score) in zip(lines, [(835, 0.19), (458, 0.14), (653, 0.13)], strict=True):
        found = re.fullmatch(r"(\d+) = ([\d.]+)  class (\d+)", line)
        assert found and int(found[1]) == int(found[3]) == index, line
        assert abs(float(found[2]) - score) < 0.01, line


def detected(folder, model, picture, options, want):
    out = folder / "out.png"
    lines = run("detect", model, picture, out, *options).splitlines()
    found = []
    for line in lines:
        m = re.fullmatch(r"(\S+) ([\d.]+) at (\d+),(\d+) to (\d+),(\d+)", line)
        assert m, line
        found.append((m[1], *(int(m[i]) for i in range(3, 7))))
    assert len(found) == len(want), (found, want)
    drawn, before = Image.open(out).convert("RGB"), Image.open(picture).convert("RGB")
    assert drawn.size == before.size
    for name, *box in want:
        near = [f for f in found if f[0] == name and all(abs(a - b) <= PIXELS for a, b in zip(f[1:], box))]
        assert len(near) == 1, (name, box, found)
        _, x1, y1, x2, y2 = near[0]
        # The left side of the box; its middle is as it was, but for the decoder.
        edge = drawn.getpixel((x1, (y1 + y2) // 2))
        assert edge in COLOURS, edge
        middle = ((x1 + x2) // 2, (y1 + y2) // 2)
        assert max(abs(a - b) for a, b in zip(drawn.getpixel(middle), before.getpixel(middle))) < 16


def refused(folder):
    param = models / "ncnn/ultraface_slim320/ultraface_slim320.param"
    assert "3 files" in run("detect", param, code=2)
    assert "--colour is unknown" in run("detect", "--colour", "red", code=2)
    assert "no list of numbers" in run("detect", param, param, "o.png", "--size", "320", code=2)
    assert "cannot have the extent -3" in run("classify", param, images / "grace_hopper.jpg", "--size", "-3", code=2)
    assert "no PNG or JPEG" in run("classify", param, param, code=3)
    assert "cannot be read" in run("classify", param, param, "--labels", folder / "none.txt", code=3)


def converted(folder):
    before, after = folder / "before.f32", folder / "after.f32"
    picture = np.arange(1 * 4 * 5 * 6, dtype=np.float32).reshape(1, 4, 5, 6)  # n h w c
    picture.tofile(before)
    arguments = (before, after, "n=1,c=6,h=4,w=5", "NHWC", "nChw4c")
    said = run("convert", *arguments)
    assert said == "n h w c -> n c/4 h w c%4: 120 elements, 40 cells of tail, 0 of gap\n", said
    want = np.zeros((1, 2, 4, 5, 4), np.float32)
    for c in range(6):
        want[:, c // 4, :, :, c % 4] = picture[:, :, :, c]
    assert after.read_bytes() == want.tobytes()
    after.unlink()
    before.write_bytes(picture.tobytes()[:-4])
    assert "has 476 bytes, but n=1,c=6,h=4,w=5 takes 480" in run("convert", *arguments, code=3)
    assert "expected label" in run("convert", *arguments[:3], "n h w q!", "NCHW", code=2)
    assert [f.name for f in folder.glob("after*")] == []


def listed(folder):
    assert run("ports", bundled).splitlines() == [
        "input   image                     f32   [1, 3, h, w]",
        "output  upscaled",
    ], run("ports", bundled)
    assert run("ports", bundled, "--shape", "image=1,3,20,30").splitlines() == [
        "input   image                     f32   [1, 3, 20, 30]",
        "output  upscaled                  f32   [1, 3, 40, 60]",
    ], run("ports", bundled, "--shape", "image=1,3,20,30")
    assert "is no NAME=" in run("ports", bundled, "--shape", "image", code=2)
    assert "cannot be read" in run("ports", folder / "none.onnx", code=3)


def run_twice():
    lines = run("two_threads", bundled, "--runs", "5", "--shape", "image=1,3,24,32").splitlines()
    for i, line in enumerate(lines[:2]):
        times = re.fullmatch(r"thread (\d): 5 runs, fastest ([\d.]+) ms, median ([\d.]+) ms, slowest ([\d.]+) ms", line)
        assert times and int(times[1]) == i + 1, line
        assert 0 <= float(times[2]) <= float(times[3]) <= float(times[4]), line
    assert lines[2:] == ["the results are the same"], lines


def with_test_data(folder):
    faces = models / "ncnn/ultraface_slim320/ultraface_slim320.param"
    things = models / "ncnn/yolo_fastest_1.1/yolo_fastest_1.1.param"
    yolo = ("--size", "320,320", "--mean", "0", "--norm", "0.00392157", "--score", "0.5")
    classified(folder)
    detected(folder, faces, images / "pexels_group.jpg", (),
             [("0", 688, 468, 834, 650), ("0", 223, 190, 368, 362), ("0", 349, 525, 487, 720)])
    detected(folder, faces, images / "pexels_face1.jpg", (), [("0", 382, 270, 621, 637)])
    detected(folder, faces, images / "grace_hopper.jpg", (), [("0", 165, 124, 358, 333)])
    names = folder / "names.txt"
    names.write_text("background\nperson\n" + "".join(f"{i}\n" for i in range(2, 28)) + "tie\n")
    detected(folder, things, images / "grace_hopper.jpg", (*yolo, "--labels", names),
             [("person", 0, 71, 488, 589), ("tie", 226, 432, 301, 557)])
    refused(folder)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    converted(folder)
    listed(folder)
    run_twice()
    if models.is_dir():
        with_test_data(folder)
        print("the examples find what is there")
    else:
        print("converted, listed and run; the rest skipped: no test data")
