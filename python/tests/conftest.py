# SPDX-License-Identifier: Apache-2.0
"""What tests of models share. They run in the root of the repository, on the installed package."""

import pathlib
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).parents[2]
UPSCALE = str(ROOT / "models/upscale_x2.onnx")
SHARED = ROOT.parent / "shared/models/onnx"


def model_bytes(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Sequence[int | str]],
    outputs: Sequence[str],
    dtype: int = TensorProto.FLOAT,
    constants: dict[str, np.ndarray] | None = None,
) -> bytes:
    """A small ONNX model."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(n, dtype, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, dtype, None) for n in outputs],
        [onnx.numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def small_conv(channels: int = 3) -> bytes:
    """A convolution of images of any size, and a ReLU: two outputs."""
    rng = np.random.default_rng(1)
    weights = rng.uniform(-1, 1, (8, channels, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"], name="relu1"),
    ]
    return model_bytes(
        nodes, {"x": ["n", channels, "h", "w"]}, ["conv", "relu"], constants={"w": weights}
    )


def add_model() -> bytes:
    """y = a + b, of fixed shapes."""
    node = helper.make_node("Add", ["a", "b"], ["y"])
    return model_bytes([node], {"a": [4, 8], "b": [4, 8]}, ["y"])


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(3).uniform(0, 1, (1, 3, 24, 32)).astype(np.float32)
