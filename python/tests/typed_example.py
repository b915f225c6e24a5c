# SPDX-License-Identifier: Apache-2.0
"""What a typed program may write: mypy --strict reads it, a test runs it."""

import numpy as np
import numpy.typing as npt

import stowage


def upscaled(path: str, image: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    model: stowage.Model = stowage.load(path, shapes={"image": image.shape}, threads=1)
    result: npt.NDArray[np.float32] = model(image)
    return result


def slowest(model: stowage.Model) -> str:
    table = model.profile(shapes={"image": (1, 3, 24, 32)}, runs=3)
    us: list[float] = table["us"]
    return str(table["op"][us.index(max(us))])


def main() -> None:
    path = "models/upscale_x2.onnx"
    assert upscaled(path, np.zeros((1, 3, 24, 32), np.float32)).shape == (1, 3, 48, 64)
    print(slowest(stowage.load(path)))
    layout: stowage.Layout = stowage.Layout("n c/16 h w c%16")
    print(layout.axes, stowage.load(path).inputs[0].shape)
    try:
        stowage.load("nowhere.onnx")
    except stowage.BadInputError as e:
        print(e.code.name, e.sentence)


if __name__ == "__main__":
    main()
