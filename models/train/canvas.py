# SPDX-License-Identifier: Apache-2.0
"""A small drawing surface with area antialiasing, in the pixel units of the finished picture.

Everything is drawn at SCALE times the size and averaged down, so edges are what a camera with a
square aperture would see. Both the demo's test picture and the training scenes are drawn on it.
"""

import math

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SCALE = 4


def bezier(p0, p1, p2, p3, steps=48):
    """Points of a cubic curve."""
    t = np.linspace(0.0, 1.0, steps)[:, None]
    p0, p1, p2, p3 = (np.asarray(p, float) for p in (p0, p1, p2, p3))
    curve = (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3
    return [tuple(p) for p in curve]


def smooth_noise(random, height, width, cells_y, cells_x, octaves=3):
    """Value noise in 0..1: random grids enlarged smoothly and summed, each half as strong."""
    total = np.zeros((height, width))
    weight = 1.0
    for octave in range(octaves):
        grid = random.rand(max(2, cells_y << octave), max(2, cells_x << octave)).astype(np.float32)
        layer = Image.fromarray(grid).resize((width, height), Image.BICUBIC)
        total += weight * np.asarray(layer)
        weight *= 0.5
    total -= total.min()
    return total / max(total.max(), 1e-6)


def ramp(stops, position):
    """Colours of a piecewise linear gradient; stops are (position, (r, g, b))."""
    where = [s[0] for s in stops]
    return np.stack([np.interp(position, where, [s[1][k] for s in stops]) for k in range(3)], -1)


class Canvas:
    def __init__(self, width, height, background=(0, 0, 0)):
        self.width, self.height = width, height
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), background)
        self._pen()

    def _pen(self):
        self.pen = ImageDraw.Draw(self.image, "RGBA")

    @staticmethod
    def _points(points):
        return [(x * SCALE, y * SCALE) for x, y in points]

    @staticmethod
    def _width(width):
        return max(1, round(width * SCALE))

    def paint(self, pixels):
        """Covers the whole canvas with an array [height, width, 3] of 0..255."""
        small = Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
        self.image = small.resize(self.image.size, Image.BICUBIC)
        self._pen()

    def line(self, points, color, width=1.0):
        self.pen.line(self._points(points), fill=color, width=self._width(width), joint="curve")

    def polygon(self, points, fill=None, outline=None, width=1.0):
        if fill is not None:
            self.pen.polygon(self._points(points), fill=fill)
        if outline is not None:
            self.line(list(points) + [points[0]], outline, width)

    def rect(self, x0, y0, x1, y1, fill=None, outline=None, width=1.0):
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        self.polygon(corners, fill, outline, width)

    def ellipse(self, cx, cy, rx, ry, fill=None, outline=None, width=1.0):
        box = self._points([(cx - rx, cy - ry), (cx + rx, cy + ry)])
        self.pen.ellipse(box, fill=fill, outline=outline, width=self._width(width))

    def arc(self, cx, cy, radius, start, end, color, width=1.0):
        box = self._points([(cx - radius, cy - radius), (cx + radius, cy + radius)])
        self.pen.arc(box, start, end, fill=color, width=self._width(width))

    def hatch(self, points, angle, spacing, color, width=0.5):
        """Fills a polygon with parallel lines."""
        mask = Image.new("L", self.image.size, 0)
        ImageDraw.Draw(mask).polygon(self._points(points), fill=255)
        lines = Image.new("L", self.image.size, 0)
        pen = ImageDraw.Draw(lines)
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        cx, cy = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
        reach = math.hypot(max(xs) - min(xs), max(ys) - min(ys)) / 2 + spacing
        dx, dy = math.cos(angle), math.sin(angle)
        for k in range(-int(reach / spacing), int(reach / spacing) + 1):
            ox, oy = cx - dy * k * spacing, cy + dx * k * spacing
            ends = [(ox - dx * reach, oy - dy * reach), (ox + dx * reach, oy + dy * reach)]
            pen.line(self._points(ends), fill=255, width=self._width(width))
        black = Image.new("L", self.image.size, 0)
        opacity = color[3] if len(color) > 3 else 255
        mask = Image.composite(lines, black, mask).point(lambda v: v * opacity // 255)
        self.image.paste(color[:3], (0, 0), mask)

    def text(self, x, y, words, size, color, font=None, anchor="la", angle=0.0):
        size = max(4, round(size * SCALE))
        face = ImageFont.truetype(font, size) if font else ImageFont.load_default(size)
        if not angle:
            self.pen.text((x * SCALE, y * SCALE), words, fill=color, font=face, anchor=anchor)
            return
        box = face.getbbox(words, anchor="lt")
        mask = Image.new("L", (int(box[2]) + SCALE, int(box[3]) + SCALE), 0)
        ImageDraw.Draw(mask).text((0, 0), words, fill=255, font=face, anchor="lt")
        mask = mask.rotate(angle, Image.BICUBIC, expand=True)
        self.image.paste(color[:3], (round(x * SCALE), round(y * SCALE)), mask)

    def glow(self, cx, cy, radius, color, strength):
        """Adds light that falls off from a point."""
        span = int(radius * 3)
        y, x = np.mgrid[-span : span + 1, -span : span + 1]
        light = np.exp(-(x * x + y * y) / (2.0 * radius * radius)) * strength
        mask = Image.fromarray((np.clip(light, 0, 1) * 255).astype(np.uint8))
        mask = mask.resize((mask.width * SCALE, mask.height * SCALE), Image.BICUBIC)
        corner = (round((cx - span - 0.5) * SCALE), round((cy - span - 0.5) * SCALE))
        self.image.paste(color, corner, mask)

    def blur(self, radius):
        self.image = self.image.filter(ImageFilter.GaussianBlur(radius * SCALE))
        self._pen()

    def finished(self):
        return self.image.reduce(SCALE)
