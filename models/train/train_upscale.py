#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains models/upscale_x2.onnx, a residual net that doubles a picture's width and height.

Usage: train_upscale.py [--seconds 400] [--scenes 2400] [--output models/upscale_x2.onnx]
       train_upscale.py --evaluate models/upscale_x2.onnx
Needs numpy, Pillow, onnx, onnxruntime and, to train, torch, scikit-image and scikit-learn (for the
photographs in their packages; nothing is downloaded). See README.md beside this file.
"""

import argparse
import importlib.util
import math
import multiprocessing
import pathlib
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

MODELS = pathlib.Path(__file__).resolve().parents[1]

CHANNELS, BLOCKS = 48, 4
PATCH, BATCH = 48, 128  # of half-size pixels
SCENE_SHARE = 0.45  # of the patches; the rest are photographs

TRAINING_PHOTOS = {
    "skimage/data": ["astronaut.png", "brick.png", "camera.png", "coins.png", "grass.png",
                     "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "page.png",
                     "retina.jpg", "rocket.jpg", "text.png"],
    "sklearn/datasets/images": ["china.jpg"],
}
HELD_OUT_PHOTOS = {"skimage/data": ["chelsea.png", "coffee.png"],
                   "sklearn/datasets/images": ["flower.jpg"]}


def even(picture):
    """Cut to even sides, so that the half-size picture lies on the same grid."""
    return picture.crop((0, 0, picture.width // 2 * 2, picture.height // 2 * 2))


def halved(picture):
    return picture.resize((picture.width // 2, picture.height // 2), Image.BICUBIC)


def photographs(table):
    for folder, names in table.items():
        package, _, inner = folder.partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None:
            print("skipped: no package", package)
            continue
        root = pathlib.Path(spec.submodule_search_locations[0]) / inner
        for name in names:
            if (root / name).exists():
                yield name, even(Image.open(root / name).convert("RGB"))
            else:
                print("skipped: no picture", root / name)


def psnr(a, b):
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    return 10 * math.log10(255.0**2 / max(np.mean(difference**2), 1e-12))


def evaluation_pictures():
    """Names and (original, half-size) pairs that training never sees."""
    demo = MODELS / "demo"
    yield "demo", Image.open(demo / "original.png"), Image.open(demo / "input.png")
    for name, picture in photographs(HELD_OUT_PHOTOS):
        yield name, picture, halved(picture)


# The exported net.


def export(weights, path):
    """Writes the net as ONNX node by node, so that names and operators are the ones meant."""
    nodes, constants = [], []

    def conv(name, source, target, relu=False):
        for part in ("weight", "bias"):
            array = np.ascontiguousarray(weights[f"{name}.{part}"], np.float32)
            constants.append(numpy_helper.from_array(array, f"{name}.{part}"))
        inner = f"{name}.out" if relu else target
        nodes.append(helper.make_node("Conv", [source, f"{name}.weight", f"{name}.bias"], [inner],
                                      name, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        if relu:
            nodes.append(helper.make_node("Relu", [inner], [target], f"{name}.relu"))

    def add(name, a, b):
        nodes.append(helper.make_node("Add", [a, b], [name], f"{name}.add"))

    conv("head", "image", "head")
    carried = "head"
    for k in range(BLOCKS):
        block = f"block{k}"
        conv(f"{block}.a", carried, f"{block}.a", relu=True)
        conv(f"{block}.b", f"{block}.a", f"{block}.b")
        add(block, carried, f"{block}.b")
        carried = block
    add("features", "head", carried)
    conv("tail", "features", "detail_by_phase")
    nodes.append(helper.make_node("DepthToSpace", ["detail_by_phase"], ["detail"], "shuffle",
                                  blocksize=2, mode="CRD"))
    constants.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"))
    nodes.append(helper.make_node("Resize", ["image", "", "scales"], ["base"], "base",
                                  mode="linear", coordinate_transformation_mode="half_pixel"))
    add("sum", "base", "detail")
    constants.append(numpy_helper.from_array(np.array(0, np.float32), "black"))
    constants.append(numpy_helper.from_array(np.array(1, np.float32), "white"))
    nodes.append(helper.make_node("Clip", ["sum", "black", "white"], ["upscaled"], "clip"))

    def picture(name, height, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, height, width])

    graph = helper.make_graph(nodes, "upscale_x2", [picture("image", "h", "w")],
                              [picture("upscaled", "2*h", "2*w")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                              producer_name="stowage", ir_version=8,
                              doc_string="RGB in 0..1, twice as wide and as high")
    onnx.checker.check_model(model, full_check=True)
    pathlib.Path(path).write_bytes(model.SerializeToString())


def evaluate(path, folder=None):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    print(f"{path}: {pathlib.Path(path).stat().st_size} bytes")
    print(f"{'picture':24} {'bicubic':>8} {'net':>8} {'gain':>7}   (PSNR in dB, RGB, 8 bits)")
    for name, original, small in evaluation_pictures():
        array = np.asarray(small, np.float32).transpose(2, 0, 1)[None] / 255
        result = session.run(None, {"image": array})[0][0].transpose(1, 2, 0)
        net = np.clip(np.rint(result * 255), 0, 255).astype(np.uint8)
        cubic = small.resize(original.size, Image.BICUBIC)
        before, after = psnr(cubic, original), psnr(net, original)
        print(f"{name:24} {before:8.2f} {after:8.2f} {after - before:+7.2f}")
        if folder:
            sheet = Image.new("RGB", (original.width * 2, original.height))
            sheet.paste(cubic, (0, 0))
            sheet.paste(Image.fromarray(net), (original.width, 0))
            sheet.save(pathlib.Path(folder) / f"{pathlib.Path(name).stem}_side_by_side.png")


# Training.


def training_pairs(scenes):
    """(original, half-size, weight) for every training picture; the weights sum to 1."""
    from random_scenes import draw_scene

    photos = []
    for _, picture in photographs(TRAINING_PHOTOS):
        for scale in (1.0, 0.7, 0.45):
            size = (round(picture.width * scale), round(picture.height * scale))
            shrunk = even(picture if scale == 1.0 else picture.resize(size, Image.LANCZOS))
            if min(shrunk.size) >= 2 * PATCH:
                photos.append(shrunk)
    with multiprocessing.Pool() as pool:
        drawn = [Image.fromarray(a) for a in pool.imap(draw_scene, range(1, scenes + 1), 8)]
    root_area = [math.sqrt(p.width * p.height) for p in photos]
    share = SCENE_SHARE if photos else 1.0
    pairs = [(p, (1 - share) * r / sum(root_area)) for p, r in zip(photos, root_area)]
    pairs += [(p, share / len(drawn)) for p in drawn]
    return [(np.asarray(p), np.asarray(halved(p)), weight) for p, weight in pairs]


def make_net(torch):
    """The same graph as export(), under the same names."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
            self.b = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)

        def forward(self, x):
            return x + self.b(torch.relu(self.a(x)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Conv2d(3, CHANNELS, 3, padding=1)
            for k in range(BLOCKS):
                setattr(self, f"block{k}", Block())
            self.tail = nn.Conv2d(CHANNELS, 12, 3, padding=1)
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                    nn.init.zeros_(module.bias)
            with torch.no_grad():  # Starts near the plain enlargement.
                for k in range(BLOCKS):
                    getattr(self, f"block{k}").b.weight.mul_(0.3)
                self.tail.weight.mul_(0.05)

        def forward(self, image):
            head = carried = self.head(image)
            for k in range(BLOCKS):
                carried = getattr(self, f"block{k}")(carried)
            detail = nn.functional.pixel_shuffle(self.tail(head + carried), 2)
            base = nn.functional.interpolate(image, scale_factor=2, mode="bilinear",
                                             align_corners=False)
            return base + detail

    return Net()


class Patches:
    """All training pictures in device memory, and random patches of them, turned and mirrored."""

    def __init__(self, torch, pairs, device):
        self.torch, self.device = torch, device
        flat = [np.concatenate([p[k].reshape(-1, 3) for p in pairs]) for k in (0, 1)]
        self.large, self.small = (torch.from_numpy(f).to(device) for f in flat)
        sides = np.array([p[1].shape[:2] for p in pairs])
        starts = np.concatenate([[0], np.cumsum(sides[:, 0] * sides[:, 1])[:-1]])
        self.height, self.width, self.start = (
            torch.from_numpy(np.ascontiguousarray(v, np.int64)).to(device)
            for v in (sides[:, 0], sides[:, 1], starts))
        self.weight = torch.tensor([p[2] for p in pairs], device=device)

    def cut(self, pixels, start, width, top, left, size, turn, channels):
        torch = self.torch
        line = torch.arange(size, device=self.device)
        row, column = line[None, :, None], line[None, None, :]
        y, x = torch.where(turn[0], column, row), torch.where(turn[0], row, column)
        y, x = torch.where(turn[1], size - 1 - y, y), torch.where(turn[2], size - 1 - x, x)
        patch = pixels[start + (top + y) * width + left + x]
        patch = torch.gather(patch, 3, channels.expand(-1, size, size, -1))
        return patch.permute(0, 3, 1, 2).float() / 255

    def draw(self, count):
        torch = self.torch
        pick = torch.multinomial(self.weight, count, replacement=True)
        height, width, start = self.height[pick], self.width[pick], self.start[pick]
        top = (torch.rand(count, device=self.device) * (height - PATCH + 1)).long()
        left = (torch.rand(count, device=self.device) * (width - PATCH + 1)).long()
        top, left, width, start = (v[:, None, None] for v in (top, left, width, start))
        turn = torch.rand(3, count, 1, 1, device=self.device) < 0.5
        channels = torch.rand(count, 3, device=self.device).argsort(1)
        plain = torch.rand(count, 1, device=self.device) < 0.5
        channels = torch.where(plain, torch.arange(3, device=self.device), channels)
        channels = channels[:, None, None, :]
        small = self.cut(self.small, start, width, top, left, PATCH, turn, channels)
        large = self.cut(self.large, start * 4, width * 2, top * 2, left * 2, PATCH * 2, turn,
                         channels)
        return small, large


def report(torch, net, device):
    gains = []
    with torch.no_grad():
        for name, original, small in evaluation_pictures():
            array = torch.from_numpy(np.array(small)).to(device).permute(2, 0, 1)[None]
            result = net(array.float() / 255)[0].permute(1, 2, 0).clamp(0, 1).mul(255).round()
            result = result.cpu().numpy()
            gains.append(f"{name} {psnr(result, original):.2f}")
    return ", ".join(gains)


def train(arguments):
    import torch

    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    began = time.time()
    pairs = training_pairs(arguments.scenes)
    patches = Patches(torch, pairs, device)
    print(f"{len(pairs)} pictures, {len(patches.large) / 1e6:.0f} Mpixel, drawn in "
          f"{time.time() - began:.0f} s; training on {device}", flush=True)

    net = make_net(torch).to(device).to(memory_format=torch.channels_last)
    mean = make_net(torch).to(device)  # A running mean of the weights; this is what is exported.
    mean.load_state_dict(net.state_dict())
    parameters, means = list(net.parameters()), [p.detach() for p in mean.parameters()]
    print(sum(p.numel() for p in parameters), "parameters")
    optimizer = torch.optim.Adam(parameters, lr=1e-3, betas=(0.9, 0.99))
    began, step, shown, losses = time.time(), 0, 0.0, 0.0
    while True:
        elapsed = time.time() - began
        progress = elapsed / arguments.seconds
        if progress >= 1:
            break
        rate = 1e-3 * min(1, (step + 1) / 500) * (0.5 + 0.5 * math.cos(math.pi * progress)) + 1e-6
        for group in optimizer.param_groups:
            group["lr"] = rate
        small, large = patches.draw(BATCH if device == "cuda" else 16)
        result = net(small)
        loss = torch.nn.functional.l1_loss(result, large)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(means, [p.detach() for p in parameters],
                                 1e-3 if step > 2000 else 2e-2)
        losses = loss.detach() * 0.01 + losses * 0.99
        step += 1
        if step % 50 == 0 and device == "cuda":
            torch.cuda.synchronize()
        if elapsed - shown > arguments.seconds / 16:
            shown = elapsed
            print(f"{elapsed:5.0f} s step {step} loss {float(losses):.5f} "
                  f"{report(torch, mean, device)}", flush=True)
    weights = {name: value.cpu().numpy() for name, value in mean.state_dict().items()}
    export(weights, arguments.output)
    print(f"{step} steps; torch: {report(torch, mean, device)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--scenes", type=int, default=2400)
    parser.add_argument("--output", default=str(MODELS / "upscale_x2.onnx"))
    parser.add_argument("--evaluate", metavar="MODEL", help="only measure this model")
    parser.add_argument("--pictures", metavar="DIRECTORY", help="write side-by-side pictures there")
    arguments = parser.parse_args()
    if not arguments.evaluate:
        train(arguments)
    evaluate(arguments.evaluate or arguments.output, arguments.pictures)


if __name__ == "__main__":
    main()
