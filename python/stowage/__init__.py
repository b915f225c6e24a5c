# SPDX-License-Identifier: Apache-2.0
"""Stowage runs neural networks, and says where their tensors lie in memory.

>>> import numpy as np, stowage
>>> model = stowage.load("models/upscale_x2.onnx")
>>> model(np.zeros((1, 3, 24, 32), np.float32)).shape
(1, 3, 48, 64)
"""

from stowage._errors import (
    BadInputError,
    CheckFailedError,
    DeviceError,
    Error,
    ErrorCode,
    InternalError,
    LimitError,
    UnsupportedError,
    UsageError,
)
from stowage._model import Model, load, measure_rates, named
from stowage._native import Layout, Mapping, Named, convert, pack, unpack
from stowage._native import version as __version__
from stowage._plan import Plan, Port, WhyNot

__all__ = [
    "BadInputError",
    "CheckFailedError",
    "DeviceError",
    "Error",
    "ErrorCode",
    "InternalError",
    "Layout",
    "LimitError",
    "Mapping",
    "Model",
    "Named",
    "Plan",
    "Port",
    "UnsupportedError",
    "UsageError",
    "WhyNot",
    "__version__",
    "convert",
    "load",
    "measure_rates",
    "named",
    "pack",
    "unpack",
]
