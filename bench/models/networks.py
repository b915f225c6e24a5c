#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small networks of kinds that the model zoo lacks, with random weights, into the folder given.

Each is a folder of ONNX's backend-test form, with the result of ONNX Runtime as its output, for
`./dev bench models FOLDER/*` and `stowage check FOLDER`.
"""
import argparse
import math
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph under construction: methods add nodes and return the names of their results."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        self.nodes, self.constants, self.inputs, self.data = [], [], [], []

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.data.append(self.random.standard_normal(shape).astype(np.float32))
        return name

    def constant(self, values, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def noise(self, *shape, fan=1.0):
        return self.constant(self.random.standard_normal(shape) * math.sqrt(1.6 / fan))

    def add(self, op, *inputs, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if results == 1 else names

    def conv(self, x, channels, out, kernel, stride=1, group=1, dilation=1, pad=None, axes=2):
        pad = (kernel - 1) // 2 * dilation if pad is None else pad
        weights = self.noise(out, channels // group, *[kernel] * axes, fan=channels // group * kernel**axes)
        return self.add("Conv", x, weights, self.noise(out, fan=100), kernel_shape=[kernel] * axes,
                        strides=[stride] * axes, pads=[pad] * 2 * axes, group=group, dilations=[dilation] * axes)

    def conv1d(self, x, channels, out, kernel, **attributes):
        return self.conv(x, channels, out, kernel, axes=1, **attributes)

    def relu(self, x):
        return self.add("Relu", x)

    def silu(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def gelu(self, x):
        half = self.add("Add", self.add("Erf", self.add("Div", x, self.constant(math.sqrt(2)))), self.constant(1))
        return self.add("Mul", self.add("Mul", x, half), self.constant(0.5))

    def layer_norm(self, x, width):
        return self.add("LayerNormalization", x, self.noise(width, fan=1.6), self.noise(width, fan=100), axis=-1,
                        epsilon=1e-6)

    def matmul(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.noise(rows, columns, fan=1.6 * rows)),
                        self.noise(columns, fan=100))

    def mlp(self, x, width, inner, activation):
        return self.matmul(activation(self.matmul(x, width, inner)), inner, width)

    def heads(self, x, tokens, width, heads, bias=None):
        """Attention with one product for queries, keys and values, as timm writes it."""
        depth = width // heads
        x = self.add("Reshape", self.matmul(x, width, 3 * width), self.ints(-1, tokens, 3, heads, depth))
        x = self.add("Transpose", x, perm=[2, 0, 3, 1, 4])
        q, k, v = (self.add("Gather", x, self.constant(i, np.int64), axis=0) for i in range(3))
        scores = self.add("MatMul", self.add("Mul", q, self.constant(depth**-0.5)),
                          self.add("Transpose", k, perm=[0, 1, 3, 2]))
        if bias is not None:
            scores = self.add("Add", scores, bias)
        y = self.add("Transpose", self.add("MatMul", self.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return self.matmul(self.add("Reshape", y, self.ints(-1, tokens, width)), width, width)

    def save(self, folder, outputs):
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        graph = helper.make_graph(
            self.nodes, folder.name, self.inputs,
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), folder / "model.onnx")
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        results = session.run(None, {i.name: x for i, x in zip(self.inputs, self.data)})
        for kind, arrays in (("input", self.data), ("output", results)):
            for i, x in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())


def group_norm_unet(net):
    """Group normalisation as PyTorch exports it, swish, 3x3: a diffusion model's block."""
    x = net.conv(net.input(1, 4, 32, 32), 4, 64, 3)
    for _ in range(3):
        y = x
        for _ in range(2):
            z = net.add("Reshape", y, net.ints(0, 32, -1))
            z = net.add("InstanceNormalization", z, net.constant(np.ones(32)), net.constant(np.zeros(32)))
            z = net.add("Reshape", z, net.ints(1, 64, 32, 32))
            z = net.add("Add", net.add("Mul", z, net.noise(64, 1, 1)), net.noise(64, 1, 1, fan=100))
            y = net.conv(net.add("Mul", z, net.add("Sigmoid", z)), 64, 64, 3)
        x = net.add("Add", x, y)
    return [x]


def resnext(net):
    """Groups of 4 and 8 channels."""
    x, channels = net.input(1, 64, 56, 56), 64
    for out, inner, stride in ((256, 128, 1), (512, 256, 2)):
        y = net.relu(net.conv(net.relu(net.conv(x, channels, inner, 1)), inner, inner, 3, stride, group=32))
        x = net.relu(net.add("Add", net.conv(y, inner, out, 1), net.conv(x, channels, out, 1, stride)))
        channels = out
    return [net.add("GlobalAveragePool", x)]


def dilated_pyramid(net):
    x = net.input(1, 64, 48, 48)
    parts = [net.relu(net.conv(x, 64, 64, 1))]
    parts += [net.relu(net.conv(x, 64, 64, 3, dilation=d)) for d in (6, 12, 18)]
    return [net.relu(net.conv(net.add("Concat", *parts, axis=1), 256, 64, 1))]


def style_transfer(net):
    """Reflecting pads, instance normalisation, nearest resize, 9x9 to three channels."""

    def block(x, channels, out, kernel, stride=1):
        k = kernel // 2
        x = net.add("Pad", x, net.ints(0, 0, k, k, 0, 0, k, k), mode="reflect")
        return net.conv(x, channels, out, kernel, stride, pad=0)

    def normal(x, channels):
        return net.add("InstanceNormalization", x, net.constant(np.ones(channels)), net.constant(np.zeros(channels)))

    x, channels = net.input(1, 3, 128, 128), 3
    for out, kernel, stride in ((32, 9, 1), (64, 3, 2), (128, 3, 2)):
        x, channels = net.relu(normal(block(x, channels, out, kernel, stride), out)), out
    for out in (64, 32):
        x = net.add("Resize", x, "", net.constant([1, 1, 2, 2]), mode="nearest")
        x, channels = net.relu(normal(block(x, channels, out, 3), out)), out
    return [block(x, channels, 3, 9)]


def generator(net):
    """Transposed convolutions down to three channels."""
    x, channels = net.input(1, 100, 1, 1), 100
    for out, stride, pad in ((256, 1, 0), (128, 2, 1), (64, 2, 1), (32, 2, 1), (3, 2, 1)):
        x = net.add("ConvTranspose", x, net.noise(channels, out, 4, 4, fan=4 * channels), kernel_shape=[4, 4],
                    strides=[stride] * 2, pads=[pad] * 4)
        x, channels = net.relu(x) if out > 3 else net.add("Tanh", x), out
    return [x]


def recurrent(kind, batch):
    def build(net):
        steps, inputs, hidden = 50, 64, 128
        x = net.input(steps, batch, inputs)
        rows, attributes = (4, {}) if kind == "LSTM" else (3, {"linear_before_reset": 1})
        for _ in range(2):
            y, *_ = net.add(kind, x, net.noise(2, rows * hidden, inputs, fan=inputs),
                            net.noise(2, rows * hidden, hidden, fan=hidden), net.noise(2, 2 * rows * hidden, fan=100),
                            results=rows - 1, hidden_size=hidden, direction="bidirectional", **attributes)
            inputs = 2 * hidden
            x = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), net.ints(steps, batch, inputs))
        return [net.matmul(x, inputs, 40)]

    return build


def speech_mask(net):
    """A spectrum by convolution, a mask by a GRU, and back by a transposed convolution to one channel."""
    frames, bins, hidden = 122, 257, 128
    spectrum = net.add("Conv", net.input(1, 1, 16000), net.noise(2 * bins, 1, 512, fan=512), kernel_shape=[512],
                       strides=[128])
    real, imaginary = net.add("Split", spectrum, net.ints(bins, bins), results=2, axis=1)
    power = net.add("Add", net.add("Mul", real, real), net.add("Mul", imaginary, imaginary))
    x = net.add("Transpose", net.add("Log", net.add("Add", power, net.constant(1e-8))), perm=[2, 0, 1])
    y, _ = net.add("GRU", x, net.noise(1, 3 * hidden, bins, fan=bins), net.noise(1, 3 * hidden, hidden, fan=hidden),
                   net.noise(1, 6 * hidden, fan=100), results=2, hidden_size=hidden, linear_before_reset=1)
    mask = net.add("Sigmoid", net.matmul(net.add("Reshape", y, net.ints(frames, 1, hidden)), hidden, bins))
    mask = net.add("Transpose", mask, perm=[1, 2, 0])
    masked = net.add("Concat", net.add("Mul", real, mask), net.add("Mul", imaginary, mask), axis=1)
    return [net.add("ConvTranspose", masked, net.noise(2 * bins, 1, 512, fan=8 * bins), kernel_shape=[512], strides=[128])]


def attention(net):
    """Three heads over 512 tokens."""
    tokens, width, heads = 512, 192, 3
    x = net.input(1, tokens, width)
    split = net.ints(1, tokens, heads, width // heads)
    q, k, v = (net.add("Transpose", net.add("Reshape", net.matmul(x, width, width), split), perm=p)
               for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = net.add("Div", net.add("MatMul", q, k), net.constant(math.sqrt(width // heads)))
    y = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = net.add("Reshape", y, net.ints(1, tokens, width))
    return [net.add("Add", x, net.matmul(y, width, width))]


def segmentation(net):
    """Two resolutions that exchange, and a softmax over 19 classes of each pixel."""

    def larger(x, scale):
        return net.add("Resize", x, "", net.constant([1, 1, scale, scale]), mode="linear",
                       coordinate_transformation_mode="half_pixel")

    fine = net.relu(net.conv(net.input(1, 3, 128, 128), 3, 32, 3, 2))
    coarse = net.relu(net.conv(fine, 32, 64, 3, 2))
    for _ in range(2):
        fine, coarse = (
            net.relu(net.add("Add", net.conv(fine, 32, 32, 3), larger(net.conv(coarse, 64, 32, 1), 2))),
            net.relu(net.add("Add", net.conv(fine, 32, 64, 3, 2), net.conv(coarse, 64, 64, 3))))
    return [net.add("Softmax", larger(net.conv(fine, 32, 19, 1), 2), axis=1)]


def volumes(net):
    """3-D convolutions."""
    x, channels = net.input(1, 3, 8, 56, 56), 3
    for out in (16, 32, 64):
        x = net.relu(net.add("Conv", x, net.noise(out, channels, 3, 3, 3, fan=27 * channels), net.noise(out, fan=100),
                             kernel_shape=[3] * 3, pads=[1] * 6))
        x, channels = net.add("MaxPool", x, kernel_shape=[1, 2, 2], strides=[1, 2, 2]), out
    return [x]


def convnext(net):
    """7x7 depthwise, and a normalisation and an MLP with the channels last."""
    channels = 48
    x = net.conv(net.input(1, 3, 128, 128), 3, channels, 4, 4, pad=0)
    for out in (48, 96):
        if out != channels:
            x = net.conv(x, channels, out, 2, 2)
            channels = out
        for _ in range(3):
            y = net.add("Transpose", net.conv(x, channels, channels, 7, group=channels), perm=[0, 2, 3, 1])
            y = net.mlp(net.layer_norm(y, channels), channels, 4 * channels, net.gelu)
            y = net.add("Mul", y, net.noise(channels, fan=4))
            x = net.add("Add", x, net.add("Transpose", y, perm=[0, 3, 1, 2]))
    return [net.add("ReduceMean", x, axes=[2, 3], keepdims=0)]


def detector(net):
    """Splits, swish, pools of 5x5, two resolutions, and boxes as distributions: YOLOv8's parts."""

    def unit(x, channels, out, kernel=1, stride=1):
        return net.silu(net.conv(x, channels, out, kernel, stride))

    def split_block(x, channels, out, shortcut):
        half = out // 2
        parts = list(net.add("Split", unit(x, channels, out), net.ints(half, half), results=2, axis=1))
        y = unit(unit(parts[-1], half, half, 3), half, half, 3)
        parts.append(net.add("Add", parts[-1], y) if shortcut else y)
        return unit(net.add("Concat", *parts, axis=1), 3 * half, out)

    x = unit(net.input(1, 3, 224, 224), 3, 16, 3, 2)
    x = split_block(unit(x, 16, 32, 3, 2), 32, 32, True)
    fine = split_block(unit(x, 32, 64, 3, 2), 64, 64, True)
    pools = [unit(split_block(unit(fine, 64, 128, 3, 2), 128, 128, True), 128, 64)]
    for _ in range(3):
        pools.append(net.add("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4))
    coarse = unit(net.add("Concat", *pools, axis=1), 256, 128)
    larger = net.add("Resize", coarse, "", net.constant([1, 1, 2, 2]), mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    fine = split_block(net.add("Concat", larger, fine, axis=1), 192, 64, False)
    found = []
    for x, channels in ((fine, 64), (coarse, 128)):
        boxes = net.conv(unit(unit(x, channels, 64, 3), 64, 64, 3), 64, 64, 1)
        classes = net.conv(unit(unit(x, channels, 80, 3), 80, 80, 3), 80, 80, 1)
        found.append(net.add("Reshape", net.add("Concat", boxes, classes, axis=1), net.ints(1, 144, -1)))
    boxes, classes = net.add("Split", net.add("Concat", *found, axis=2), net.ints(64, 80), results=2, axis=1)
    boxes = net.add("Transpose", net.add("Reshape", boxes, net.ints(1, 4, 16, -1)), perm=[0, 2, 1, 3])
    boxes = net.add("Conv", net.add("Softmax", boxes, axis=1), net.constant(np.arange(16).reshape(1, 16, 1, 1)),
                    kernel_shape=[1, 1])
    return [net.add("Concat", net.add("Reshape", boxes, net.ints(1, 4, -1)), net.add("Sigmoid", classes), axis=1)]


def windows(net):
    """Attention in windows of 7x7, shifted every other time: Swin's block."""
    side, width, heads, window = 28, 96, 3, 7

    def cut(x, extents, back):
        x = net.add("Transpose", net.add("Reshape", x, net.ints(*extents)), perm=[0, 1, 3, 2, 4, 5])
        return net.add("Reshape", x, net.ints(*back))

    def roll(x, by):
        for axis in (1, 2):
            first = net.add("Slice", x, net.ints(by), net.ints(side), net.ints(axis))
            x = net.add("Concat", first, net.add("Slice", x, net.ints(0), net.ints(by), net.ints(axis)), axis=axis)
        return x

    count = side // window
    x = net.input(1, side, side, width)
    for shifted in (False, True):
        y = net.layer_norm(x, width)
        y = roll(y, 3) if shifted else y
        y = cut(y, (1, count, window, count, window, width), (count**2, window**2, width))
        y = net.heads(y, window**2, width, heads, net.noise(1, heads, window**2, window**2))
        y = cut(y, (1, count, count, window, window, width), (1, side, side, width))
        x = net.add("Add", x, roll(y, side - 3) if shifted else y)
        x = net.add("Add", x, net.mlp(net.layer_norm(x, width), width, 4 * width, net.gelu))
    return [x]


def text_encoder(net):
    """128 tokens with a mask, normalised after each sum: BERT's layers."""
    tokens, width = 128, 256
    x, mask = net.layer_norm(net.input(1, tokens, width), width), net.input(1, 1, 1, tokens)
    for _ in range(2):
        x = net.layer_norm(net.add("Add", x, net.heads(x, tokens, width, 4, mask)), width)
        x = net.layer_norm(net.add("Add", x, net.mlp(x, width, 4 * width, net.gelu)), width)
    return [x]


def text_decoder(tokens, past):
    """Rotated positions, a causal mask, root mean squares, gates: Llama's layers, on a prompt or one token."""

    def build(net):
        width, heads, depth, inner = 256, 4, 64, 688

        def product(x, rows, columns):
            return net.add("MatMul", x, net.noise(rows, columns, fan=1.6 * rows))

        def rms_norm(x):
            mean = net.add("ReduceMean", net.add("Pow", x, net.constant(2)), axes=[-1], keepdims=1)
            root = net.add("Sqrt", net.add("Add", mean, net.constant(1e-6)))
            return net.add("Mul", net.add("Mul", x, net.add("Reciprocal", root)), net.noise(width, fan=1.6))

        def rotate(x):
            a, b = net.add("Split", x, net.ints(depth // 2, depth // 2), results=2, axis=3)
            y = net.add("Concat", net.add("Neg", b), a, axis=3)
            return net.add("Add", net.add("Mul", x, cosines), net.add("Mul", y, sines))

        x, outputs = net.input(1, tokens, width), []
        cosines, sines = net.noise(1, 1, tokens, depth), net.noise(1, 1, tokens, depth)
        for _ in range(2):
            y = rms_norm(x)
            split = net.ints(1, tokens, heads, depth)
            q, k, v = (net.add("Transpose", net.add("Reshape", product(y, width, width), split), perm=[0, 2, 1, 3])
                       for _ in range(3))
            q, k = rotate(q), rotate(k)
            if past:
                k, v = (net.add("Concat", net.input(1, heads, past, depth), new, axis=2) for new in (k, v))
                outputs += [k, v]
            scores = net.add("Div", net.add("MatMul", q, net.add("Transpose", k, perm=[0, 1, 3, 2])), net.constant(8))
            if tokens > 1:
                mask = np.triu(np.full((tokens, tokens + past), -1e9), 1 + past)
                scores = net.add("Add", scores, net.constant(mask[None, None]))
            y = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
            y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), net.ints(1, tokens, width))
            x = net.add("Add", x, product(y, width, width))
            y = rms_norm(x)
            y = net.add("Mul", net.silu(product(y, width, inner)), product(y, width, inner))
            x = net.add("Add", x, product(y, inner, width))
        return [product(rms_norm(x), width, 2000), *outputs]

    return build


def wavenet(net):
    """Gated convolutions of three taps further and further apart."""
    x, skips = net.conv1d(net.input(1, 1, 4000), 1, 32, 1), None
    for dilation in (1, 2, 4, 8, 16, 32, 64, 128):
        y = net.add("Mul", net.add("Tanh", net.conv1d(x, 32, 32, 3, dilation=dilation)),
                    net.add("Sigmoid", net.conv1d(x, 32, 32, 3, dilation=dilation)))
        skip = net.conv1d(y, 32, 64, 1)
        skips = skip if skips is None else net.add("Add", skips, skip)
        x = net.add("Add", x, net.conv1d(y, 32, 32, 1))
    return [net.conv1d(net.relu(net.conv1d(net.relu(skips), 64, 64, 1)), 64, 256, 1)]


def conformer(net):
    """Attention, and gated depthwise convolutions of 31 taps along 200 frames."""
    frames, width = 200, 144
    x = net.input(1, frames, width)
    for _ in range(2):
        y = net.mlp(net.layer_norm(x, width), width, 4 * width, net.silu)
        x = net.add("Add", x, net.add("Mul", y, net.constant(0.5)))
        x = net.add("Add", x, net.heads(net.layer_norm(x, width), frames, width, 4))
        y = net.conv1d(net.add("Transpose", net.layer_norm(x, width), perm=[0, 2, 1]), width, 2 * width, 1)
        y, gate = net.add("Split", y, net.ints(width, width), results=2, axis=1)
        y = net.conv1d(net.add("Mul", y, net.add("Sigmoid", gate)), width, width, 31, group=width)
        y = net.conv1d(net.silu(y), width, width, 1)
        x = net.layer_norm(net.add("Add", x, net.add("Transpose", y, perm=[0, 2, 1])), width)
    return [x]


def ghost(net):
    """Half of the channels from cheap depthwise convolutions, squeeze and excite."""

    def module(x, channels, out, activation):
        a = activation(net.conv(x, channels, out // 2, 1))
        return net.add("Concat", a, activation(net.conv(a, out // 2, out // 2, 3, group=out // 2)), axis=1)

    x, channels = net.add("HardSwish", net.conv(net.input(1, 3, 160, 160), 3, 16, 3, 2)), 16
    for out, inner, stride in ((16, 32, 1), (24, 48, 2), (40, 72, 2), (80, 200, 2)):
        y = module(x, channels, inner, net.relu)
        y = y if stride == 1 else net.conv(y, inner, inner, 3, 2, group=inner)
        gate = net.relu(net.conv(net.add("ReduceMean", y, axes=[2, 3], keepdims=1), inner, inner // 4, 1))
        gate = net.add("HardSigmoid", net.conv(gate, inner // 4, inner, 1))
        y = module(net.add("Mul", y, gate), inner, out, lambda x: x)
        x = net.conv(net.conv(x, channels, channels, 3, stride, group=channels), channels, out, 1)
        x, channels = net.add("Add", x, y), out
    return [x]


def upscaler(net):
    """5x5 convolutions of 24 channels between resizes."""
    x = net.conv(net.input(1, 3, 64, 64), 3, 24, 3)
    for _ in range(2):
        x = net.add("Resize", net.add("Elu", net.conv(x, 24, 24, 5)), "", net.constant([1, 1, 2, 2]), mode="linear",
                    coordinate_transformation_mode="align_corners")
    return [net.conv(x, 24, 2, 3)]


NETWORKS = {
    "group_norm_unet": group_norm_unet, "resnext": resnext, "dilated_pyramid": dilated_pyramid,
    "style_transfer": style_transfer, "generator": generator, "lstm_1": recurrent("LSTM", 1),
    "lstm_8": recurrent("LSTM", 8), "gru_1": recurrent("GRU", 1), "gru_8": recurrent("GRU", 8),
    "speech_mask": speech_mask, "attention": attention, "segmentation": segmentation, "volumes": volumes,
    "convnext": convnext, "detector": detector, "windows": windows, "text_encoder": text_encoder,
    "text_decoder": text_decoder(64, 0), "text_decoder_step": text_decoder(1, 128), "wavenet": wavenet,
    "conformer": conformer, "ghost": ghost, "upscaler": upscaler,
}


def write(folder):
    for name, build in NETWORKS.items():
        net = Net()
        net.save(folder / name, build(net))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
