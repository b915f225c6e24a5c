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

    def conv(self, x, channels, out, kernel, stride=1, group=1, dilation=1, pad=None):
        pad = (kernel - 1) // 2 * dilation if pad is None else pad
        return self.add("Conv", x, self.noise(out, channels // group, kernel, kernel, fan=channels // group * kernel**2),
                        self.noise(out, fan=100), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[pad] * 4, group=group, dilations=[dilation] * 2)

    def relu(self, x):
        return self.add("Relu", x)

    def matmul(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.noise(rows, columns, fan=1.6 * rows)),
                        self.noise(columns, fan=100))

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


NETWORKS = {
    "group_norm_unet": group_norm_unet, "resnext": resnext, "dilated_pyramid": dilated_pyramid,
    "style_transfer": style_transfer, "generator": generator, "lstm_1": recurrent("LSTM", 1),
    "lstm_8": recurrent("LSTM", 8), "gru_1": recurrent("GRU", 1), "gru_8": recurrent("GRU", 8),
    "speech_mask": speech_mask, "attention": attention, "segmentation": segmentation, "volumes": volumes,
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
