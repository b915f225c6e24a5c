#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs TFLite models with LiteRT on random inputs and compares Stowage with it.

usage: tflite_reference.py MODELS_DIR OUT_DIR [STOWAGE]

Writes OUT_DIR/MODEL/{inputs,outputs}/NAME.npy for every model of MODELS_DIR whose inputs are
floats (or token ids), and with STOWAGE (the command line program) prints the largest
differences. Needs numpy and ai-edge-litert, in a virtual environment:

    python3 -m venv /tmp/litert && /tmp/litert/bin/pip install ai-edge-litert numpy
"""

import pathlib
import subprocess
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

# Open dims, where a batch of 1 is not enough.
SHAPES = {"tfls_dilated_conv_dynamic": [1, 37, 41, 3]}


def reference(path, out):
    """Inputs and outputs of one model as lists of (name, array), or None for integer models."""
    interpreter = Interpreter(str(path))
    details = interpreter.get_input_details()
    if any(d["dtype"] not in (np.float32, np.int32) for d in details):
        return None
    if any(d["quantization"][0] != 0 for d in details):
        return None
    if path.stem in SHAPES:
        interpreter.resize_tensor_input(details[0]["index"], SHAPES[path.stem])
    interpreter.allocate_tensors()
    interpreter.reset_all_variables()
    rng = np.random.default_rng(7)
    inputs = []
    for d in interpreter.get_input_details():
        if d["dtype"] == np.int32:
            x = rng.integers(0, 1000, d["shape"]).astype(np.int32)
        else:
            x = rng.uniform(-1, 1, d["shape"]).astype(np.float32)
        interpreter.set_tensor(d["index"], x)
        inputs.append((d["name"], x))
    interpreter.invoke()
    outputs = [(d["name"], interpreter.get_tensor(d["index"]))
               for d in interpreter.get_output_details()]
    for kind, arrays in (("inputs", inputs), ("outputs", outputs)):
        folder = out / path.stem / kind
        folder.mkdir(parents=True, exist_ok=True)
        for i, (_, array) in enumerate(arrays):
            np.save(folder / f"{i}.npy", array)
    return inputs, outputs


def stowage_outputs(program, path, out, inputs, count):
    """The outputs of Stowage in the order of the model."""
    command = [program, "run", str(path), "--output-dir", str(out / "stowage")]
    for i, (name, array) in enumerate(inputs):
        command += ["--input", f"{name}={out / 'inputs' / f'{i}.npy'}"]
        if path.stem in SHAPES:
            command += ["--shape", name + "=" + ",".join(map(str, array.shape))]
    (out / "stowage").mkdir(exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    files = sorted((out / "stowage").glob("*.npy"))
    if len(files) != count:
        raise RuntimeError(f"{len(files)} outputs instead of {count}")
    return {f.stem: np.load(f) for f in files}


def main():
    models, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    program = sys.argv[3] if len(sys.argv) > 3 else None
    only = sys.argv[4:]
    failed = 0
    for path in sorted(models.glob("*.tflite")):
        if only and path.stem not in only:
            continue
        try:
            made = reference(path, out)
        except ValueError as error:
            print(f"{path.stem:36} refused by LiteRT: {str(error)[:60]}")
            continue
        if made is None:
            print(f"{path.stem:36} integers, left out")
            continue
        if program is None:
            print(f"{path.stem:36} written")
            continue
        inputs, outputs = made
        try:
            ours = stowage_outputs(program, path, out / path.stem, inputs, len(outputs))
        except RuntimeError as error:
            print(f"{path.stem:36} FAILED {error}")
            failed += 1
            continue
        worst, where = 0.0, ""
        for name, want in outputs:
            key = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
            got = ours.get(key)
            if got is None or got.shape != want.shape:
                worst, where = np.inf, f"{name}: {None if got is None else got.shape} {want.shape}"
                continue
            error = float(np.abs(got - want).max() / max(1e-12, np.abs(want).max()))
            if error >= worst:
                worst, where = error, name
        failed += worst == np.inf
        print(f"{path.stem:36} largest difference / largest magnitude {worst:.2e}  ({where})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
