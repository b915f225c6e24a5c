#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stowage run` makes of a picture, and what torchvision and Keras make of it.

Stowage runs a model that gives back what it is fed. The figure is the largest difference in grey levels:
that of the tensors, divided by the factor by which samples from 0 to 255 were multiplied. Then the five
best classes of a MobileNet, as Stowage finds them in the picture and LiteRT in what Keras made of it.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "torch"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import onnx
import PIL
import torchvision
from keras.applications.imagenet_utils import preprocess_input
from onnx import TensorProto, helper
from PIL import Image
from torchvision.models import EfficientNet_B0_Weights, Inception_V3_Weights, ResNet50_Weights

STOWAGE = "build/release/stowage"
TORCH_NORM = 1 / (255 * np.array([0.229, 0.224, 0.225]))
# Name, options, weights whose transforms are meant, size of the model.
TORCHVISION = [
    ("imagenet", ["--preprocess", "imagenet"], ResNet50_Weights.IMAGENET1K_V1, 224),
    ("imagenet, 299", ["--preprocess", "imagenet"], Inception_V3_Weights.IMAGENET1K_V1, 299),
    ("imagenet, bicubic", ["--preprocess", "imagenet", "--resize-mode", "bicubic-antialias"],
     EfficientNet_B0_Weights.IMAGENET1K_V1, 224),
]
KERAS_NORM = {"tf": np.full(3, 1 / 127.5), "caffe": np.ones(3), "torch": TORCH_NORM}
KERAS_RESIZE = {"nearest": [], "bilinear": ["--resize-mode", "bilinear-antialias"],
                "bicubic": ["--resize-mode", "bicubic-antialias"]}
MOST = 1  # grey level


def identity(path, shape):
    port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", port[:1], port[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


def run(*words):
    done = subprocess.run([STOWAGE, "run", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def fed(work, picture, shape, options):
    """The tensor that a model of this input gets."""
    model, out = work / "m.onnx", work / "y.npy"
    identity(model, shape)
    run(model, "--image", picture, "--output", out, *options)
    return np.load(out)


def test_pictures(work, data):
    """Portrait and landscape, odd and even, larger and smaller than the models want."""
    found = [p for p in ("grace_hopper.jpg", "pexels_group.jpg", "tflm_person.bmp", "mnist_3.png")
             if (data / p).exists()]
    pictures = [data / p for p in found] + [pathlib.Path("models/demo/original.png")]
    with Image.open(pictures[0]) as picture:
        wide = picture.convert("RGB").resize((1001, 333))
        wide.save(work / "wide.png")
    return pictures + [work / "wide.png"]


def compare_tensors(work, pictures):
    worst = 0
    print(f"{'picture':18}{'size':>12}  {'preprocessing':32}{'largest':>9}{'mean':>9}  grey levels")

    def row(picture, name, ours, theirs, norm):
        nonlocal worst
        levels = np.abs(ours.astype(np.float64) - theirs) / norm
        worst = max(worst, levels.max())
        with Image.open(picture) as opened:
            size = f"{opened.width} x {opened.height}"
        print(f"{picture.name:18}{size:>12}  {name:32}{levels.max():9.4f}{levels.mean():9.5f}", flush=True)

    for picture in pictures:
        for name, options, weights, size in TORCHVISION:
            with Image.open(picture) as opened:
                theirs = weights.transforms()(opened.convert("RGB")).numpy()[None]
            ours = fed(work, picture, [1, 3, size, size], options)
            row(picture, name, ours, theirs, TORCH_NORM.reshape(1, 3, 1, 1))
        for mode, norm in KERAS_NORM.items():
            for interpolation, options in KERAS_RESIZE.items():
                loaded = keras.utils.load_img(picture, target_size=(224, 224), interpolation=interpolation)
                theirs = preprocess_input(keras.utils.img_to_array(loaded)[None], mode=mode)
                ours = fed(work, picture, [1, 224, 224, 3], ["--preprocess", f"keras-{mode}", *options])
                row(picture, f"keras-{mode}, {interpolation}", ours, theirs, norm.reshape(1, 1, 1, 3))
    print(f"largest difference: {worst:.4f} grey levels")
    return worst


def best_five(scores):
    return np.argsort(-scores.ravel(), kind="stable")[:5].tolist()


def compare_classes(pictures, model):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(str(model))
    interpreter.allocate_tensors()
    differ = 0
    for picture in pictures:
        loaded = keras.utils.load_img(picture, target_size=(224, 224))
        tensor = preprocess_input(keras.utils.img_to_array(loaded)[None], mode="tf").astype(np.float32)
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], tensor)
        interpreter.invoke()
        theirs = best_five(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
        text = run(model, "--image", picture, "--preprocess", "keras-tf", "--top", 5)
        ours = [int(k) for k in re.findall(r"^(\d+) = ", text, re.M)]
        differ += ours != theirs
        print(f"{picture.name:18} best five of Stowage {ours}, of LiteRT {theirs}"
              f"{'' if ours == theirs else '  NOT THE SAME'}")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/models"),
                        help="where images/ and tflite/ of the test data are")
    args = parser.parse_args()
    print(f"torchvision {torchvision.__version__}, Keras {keras.__version__}, Pillow {PIL.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        pictures = test_pictures(work, args.data / "images")
        failed = compare_tensors(work, pictures) > MOST
        model = args.data / "tflite/tfls_mobilenet_v1_025_224_float.tflite"
        if model.exists():
            failed |= compare_classes(pictures, model) > 0
        else:
            print("the classes are not compared: no test data")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
