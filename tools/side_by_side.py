#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares an upscaled picture with bicubic.

    side_by_side.py ORIGINAL INPUT UPSCALED OUT

Prints the PSNR of both against the original and writes OUT: a detail of the input (nearest),
bicubic, the network and the original, next to each other.
"""
import sys

import numpy as np
from PIL import Image, ImageDraw


def psnr(a, b):
    """Of two 8-bit RGB pictures, in dB."""
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    return 10 * np.log10(255.0**2 / np.mean(difference**2))


def labelled(picture, text):
    out = Image.new("RGB", (picture.width, picture.height + 18), "white")
    out.paste(picture, (0, 18))
    ImageDraw.Draw(out).text((4, 3), text, fill="black")
    return out


def main(original_path, input_path, upscaled_path, out_path):
    original, small, upscaled = (
        Image.open(p).convert("RGB") for p in (original_path, input_path, upscaled_path)
    )
    bicubic = small.resize(original.size, Image.BICUBIC)
    if upscaled.size != original.size:
        sys.exit(f"{upscaled_path} is {upscaled.size}, the original {original.size}")
    a, b = psnr(bicubic, original), psnr(upscaled, original)
    panels = [
        ("input, nearest", small.resize(original.size, Image.NEAREST)),
        (f"bicubic {a:.2f} dB", bicubic),
        (f"network {b:.2f} dB", upscaled),
        ("original", original),
    ]
    panels = [labelled(picture, text) for text, picture in panels]
    width, height = panels[0].size
    sheet = Image.new("RGB", (2 * width + 8, 2 * height + 8), "white")
    for i, panel in enumerate(panels):
        sheet.paste(panel, ((i % 2) * (width + 8), (i // 2) * (height + 8)))
    sheet.save(out_path)
    print(f"bicubic {a:.2f} dB, network {b:.2f} dB, gain {b - a:+.2f} dB; see {out_path}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
