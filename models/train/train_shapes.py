#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models/shapes.onnx, a small classifier of drawn shapes, with numpy alone.

Usage: train_shapes.py [--pictures 8000] [--epochs 20] [--output models/shapes]
Writes OUTPUT.onnx, the same net as ncnn's OUTPUT.param and OUTPUT.bin, OUTPUT.txt with the names of
the classes, and pictures that the net has not seen, models/demo/star.png and others. Needs numpy,
Pillow and onnx; takes some minutes. See README.md beside this file.
"""

import argparse
import math
import pathlib
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw, ImageFilter

CLASSES = ["circle", "cross", "square", "star", "triangle"]
SIDE, BATCH = 64, 64
# Channels in, channels out, stride; all 3x3 with a border of 1 and a Relu.
CONVOLUTIONS = [(3, 16, 2), (16, 32, 2), (32, 32, 1), (32, 48, 2), (48, 48, 2)]
RESIDUAL = 2  # this convolution's input is added to its output


# Pictures.

def corners(kind, turn):
    """Of a shape within the circle of radius 1; nothing for the circle itself."""
    def ring(angles, radii):
        return [(r * math.cos(a + turn), r * math.sin(a + turn)) for a, r in zip(angles, radii)]
    def regular(n):
        return ring([2 * math.pi * k / n for k in range(n)], [1] * n)
    if kind == "triangle":
        return regular(3)
    if kind == "square":
        return regular(4)
    if kind == "star":
        return ring([math.pi * k / 5 for k in range(10)], [1, 0.42] * 5)
    if kind == "cross":
        arm = 0.3
        outline = [(1, arm), (arm, arm), (arm, 1), (-arm, 1), (-arm, arm), (-1, arm),
                   (-1, -arm), (-arm, -arm), (-arm, -1), (arm, -1), (arm, -arm), (1, -arm)]
        return ring([math.atan2(y, x) for x, y in outline], [math.hypot(x, y) for x, y in outline])
    return None


def dark_and_light(random):
    while True:
        dark, light = random.randint(0, 256, (2, 3))
        if light.sum() - dark.sum() > 200:
            return dark, light


def picture(random, kind, side):
    """A light shape of one colour on a dark gradient, turned, somewhere, with a little blur and noise."""
    scale = 4
    size = side * scale
    behind, front = dark_and_light(random)
    slope = np.linspace(-1, 1, size)
    angle = random.rand() * 2 * math.pi
    shade = math.cos(angle) * slope[None, :] + math.sin(angle) * slope[:, None]
    ground = behind + 35 * random.rand() * shade[..., None]
    image = Image.fromarray(np.clip(ground, 0, 255).astype(np.uint8))
    radius = size * random.uniform(0.25, 0.45)
    x, y = random.uniform(radius, size - radius, 2)
    pen, colour = ImageDraw.Draw(image), tuple(int(c) for c in front)
    outline = corners(kind, random.rand() * 2 * math.pi)
    if outline is None:
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    else:
        pen.polygon([(x + radius * a, y + radius * b) for a, b in outline], fill=colour)
    image = image.resize((side, side), Image.BOX)
    if random.rand() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(random.rand() * 0.8 * side / SIDE))
    noisy = np.asarray(image, np.float32) + random.randn(side, side, 3) * random.uniform(0, 6)
    return np.clip(np.round(noisy), 0, 255).astype(np.uint8)


def data_set(random, count):
    labels = random.randint(0, len(CLASSES), count)
    return np.stack([picture(random, CLASSES[k], SIDE) for k in labels]), labels


def prepared(pixels):
    """What the net takes, channels last."""
    return (pixels.astype(np.float32) - 127.5) / 127.5


# The net: forward and backward, channels last.

def patches(x, stride):
    """[n, h, w, 9 c] of the 3x3 windows."""
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    windows = windows[:, ::stride, ::stride]  # n h w c ky kx
    return np.ascontiguousarray(windows.transpose(0, 1, 2, 4, 5, 3)).reshape(*windows.shape[:3], -1)


def unpatch(gradient, shape, stride):
    n, h, w, c = shape
    out = np.zeros((n, h + 2, w + 2, c), np.float32)
    rows, columns = gradient.shape[1:3]
    gradient = gradient.reshape(n, rows, columns, 3, 3, c)
    for ky in range(3):
        for kx in range(3):
            out[:, ky:ky + rows * stride:stride, kx:kx + columns * stride:stride] += gradient[..., ky, kx, :]
    return out[:, 1:-1, 1:-1]


class Net:
    def __init__(self, random):
        self.weights = []
        for inputs, outputs, _ in CONVOLUTIONS:
            spread = math.sqrt(2 / (9 * inputs))
            self.weights += [random.randn(9 * inputs, outputs) * spread, np.zeros(outputs)]
        last = CONVOLUTIONS[-1][1]
        self.weights += [random.randn(last, len(CLASSES)) / math.sqrt(last), np.zeros(len(CLASSES))]
        self.weights = [w.astype(np.float32) for w in self.weights]

    def scores(self, x):
        self.kept = []
        for i, (_, _, stride) in enumerate(CONVOLUTIONS):
            windows = patches(x, stride)
            y = np.maximum(windows @ self.weights[2 * i] + self.weights[2 * i + 1], 0)
            self.kept.append((x.shape, windows, y))
            x = x + y if i == RESIDUAL else y
        self.mean = x.mean((1, 2))
        self.last_shape = x.shape
        return self.mean @ self.weights[-2] + self.weights[-1]

    def gradients(self, of_scores):
        found = [None] * len(self.weights)
        found[-2], found[-1] = self.mean.T @ of_scores, of_scores.sum(0)
        n, h, w, _ = self.last_shape
        g = np.broadcast_to((of_scores @ self.weights[-2].T / (h * w))[:, None, None], self.last_shape)
        for i in reversed(range(len(CONVOLUTIONS))):
            shape, windows, y = self.kept[i]
            through = (g * (y > 0)).reshape(-1, y.shape[-1])
            found[2 * i] = windows.reshape(len(through), -1).T @ through
            found[2 * i + 1] = through.sum(0)
            if i:
                back = unpatch((through @ self.weights[2 * i].T).reshape(*y.shape[:3], -1), shape, CONVOLUTIONS[i][2])
                g = back + g if i == RESIDUAL else back
        return found


def probabilities(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def accuracy(net, pixels, labels):
    right = 0
    for at in range(0, len(labels), BATCH):
        right += (net.scores(prepared(pixels[at:at + BATCH])).argmax(1) == labels[at:at + BATCH]).sum()
    return right / len(labels)


def train(net, random, pixels, labels, epochs):
    """Adam, the rate falling along a cosine."""
    first = [np.zeros_like(w) for w in net.weights]
    second = [np.zeros_like(w) for w in net.weights]
    steps, step = epochs * (len(labels) // BATCH), 0
    for epoch in range(epochs):
        order = random.permutation(len(labels))
        for at in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            x = pixels[chosen]
            x = x[:, :, ::-1] if random.rand() < 0.5 else x
            x = x.transpose(0, 2, 1, 3) if random.rand() < 0.5 else x
            scores = net.scores(prepared(x))
            gradient = probabilities(scores)
            gradient[np.arange(BATCH), labels[chosen]] -= 1
            step += 1
            rate = 3e-3 * 0.5 * (1 + math.cos(math.pi * step / steps))
            for k, g in enumerate(net.gradients(gradient / BATCH)):
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                net.weights[k] -= rate * (first[k] / (1 - 0.9**step)) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)
        print(f"epoch {epoch + 1}: {accuracy(net, pixels[:500], labels[:500]):.3f} of what it learns from", flush=True)


# Files.

def filters(net):
    """Weights o i h w and biases of the convolutions."""
    for i, (inputs, outputs, stride) in enumerate(CONVOLUTIONS):
        weight = net.weights[2 * i].reshape(3, 3, inputs, outputs).transpose(3, 2, 0, 1)
        yield np.ascontiguousarray(weight), net.weights[2 * i + 1], stride


def write_onnx(net, path):
    nodes, constants, x = [], [], "image"
    def constant(name, array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
    for i, (weight, bias, stride) in enumerate(filters(net)):
        inputs = [x, constant(f"conv{i + 1}.weight", weight), constant(f"conv{i + 1}.bias", bias)]
        nodes.append(helper.make_node("Conv", inputs, [f"conv{i + 1}"], f"conv{i + 1}", kernel_shape=[3, 3],
                                      strides=[stride] * 2, pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"conv{i + 1}"], [f"relu{i + 1}"], f"relu{i + 1}"))
        before, x = x, f"relu{i + 1}"
        if i == RESIDUAL:
            nodes.append(helper.make_node("Add", [x, before], ["sum"], "sum"))
            x = "sum"
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pool"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pool"], ["features"], "features"))
    inputs = ["features", constant("classes.weight", net.weights[-2].T), constant("classes.bias", net.weights[-1])]
    nodes.append(helper.make_node("Gemm", inputs, ["classes"], "classes", transB=1))
    nodes.append(helper.make_node("Softmax", ["classes"], ["prob"], "prob", axis=1))
    graph = helper.make_graph(
        nodes, "shapes", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("prob", TensorProto.FLOAT, ["N", len(CLASSES)])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="train_shapes")
    model.ir_version = 7
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def write_ncnn(net, param, weights):
    lines, blob = [f"Input image 0 1 image 0={SIDE} 1={SIDE} 2=3"], "image"
    with open(weights, "wb") as out:
        def floats(weight, bias):
            # Weights begin with a tag, 0 for floats of 32 bits; biases have none.
            out.write(struct.pack("<I", 0) + weight.astype("<f4").tobytes() + bias.astype("<f4").tobytes())
        for i, (weight, bias, stride) in enumerate(filters(net)):
            name = f"relu{i + 1}"
            if i == RESIDUAL:
                lines.append(f"Split split 1 2 {blob} {blob}_a {blob}_b")
                other, blob = blob + "_b", blob + "_a"
            lines.append(f"Convolution conv{i + 1} 1 1 {blob} {name} 0={len(bias)} 1=3 3={stride} 4=1 5=1 "
                         f"6={weight.size} 9=1")
            blob = name
            if i == RESIDUAL:
                lines.append(f"BinaryOp sum 2 1 {blob} {other} sum 0=0")
                blob = "sum"
            floats(weight, bias)
        lines.append(f"Pooling pool 1 1 {blob} pool 0=1 4=1")
        lines.append(f"InnerProduct classes 1 1 pool classes 0={len(CLASSES)} 1=1 2={net.weights[-2].size}")
        floats(net.weights[-2].T, net.weights[-1])
        lines.append("Softmax prob 1 1 classes prob 0=0")
    outputs = sum(int(line.split()[3]) for line in lines)
    param.write_text("\n".join(["7767517", f"{len(lines)} {outputs}", *lines]) + "\n")


def main():
    parser = argparse.ArgumentParser()
    models = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--pictures", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--output", default=str(models / "shapes"))
    options = parser.parse_args()

    random = np.random.RandomState(1)
    pixels, labels = data_set(random, options.pictures)
    net = Net(random)
    train(net, random, pixels, labels, options.epochs)
    unseen = np.random.RandomState(2)
    print(f"right of 2000 pictures it has not seen: {accuracy(net, *data_set(unseen, 2000)):.4f}")

    output = pathlib.Path(options.output)
    write_onnx(net, output.with_suffix(".onnx"))
    write_ncnn(net, output.with_suffix(".param"), output.with_suffix(".bin"))
    output.with_suffix(".txt").write_text("\n".join(CLASSES) + "\n")
    for kind in ("circle", "star", "triangle"):
        Image.fromarray(picture(unseen, kind, 2 * SIDE)).save(models / "demo" / f"{kind}.png", optimize=True)


if __name__ == "__main__":
    main()
