# SPDX-License-Identifier: Apache-2.0
"""Pictures for training: random compositions of gradients, text, hatching, curves, thin lines,
stars, boxes, trusses, water. None is the demo's test picture, and none is drawn from its numbers.
"""

import glob
import math
import os
import string

import numpy as np
from PIL import Image

from canvas import Canvas, bezier, smooth_noise

SIZE = 320


def extra_fonts():
    """DejaVu and its companions where matplotlib is installed; Pillow's own font otherwise."""
    try:
        import matplotlib
    except ImportError:
        return []
    folder = os.path.join(os.path.dirname(matplotlib.__file__), "mpl-data", "fonts", "ttf")
    names = sorted(glob.glob(os.path.join(folder, "DejaVu*.ttf")))
    names += sorted(glob.glob(os.path.join(folder, "STIXGeneral*.ttf")))
    return [n for n in names if "Display" not in n and "NonUni" not in n]


class Scene:
    def __init__(self, seed, fonts):
        self.random = np.random.RandomState(seed)
        self.fonts = fonts
        self.canvas = Canvas(SIZE, SIZE)
        self.theme = [self.color() for _ in range(5)]

    def between(self, low, high):
        return low + (high - low) * self.random.rand()

    def color(self):
        value = self.random.rand()
        tint = self.random.rand(3) * self.between(0, 1)
        rgb = 255 * np.clip(value * 1.1 - 0.05 + (tint - tint.mean()), 0, 1)
        return tuple(int(c) for c in rgb)

    def ink(self, opaque=0.6):
        color = self.theme[self.random.randint(5)] if self.random.rand() < 0.5 else self.color()
        if self.random.rand() < 0.25:
            color = [(250, 246, 236), (12, 14, 24)][self.random.randint(2)]
        if self.random.rand() < opaque:
            return color
        return color + (int(self.between(40, 240)),)

    def place(self, margin=0):
        return self.between(-margin, SIZE + margin), self.between(-margin, SIZE + margin)

    def background(self):
        y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
        angle = self.between(0, 6.3)
        along = x * math.cos(angle) + y * math.sin(angle)
        if self.random.rand() < 0.3:
            along = np.hypot(x - self.random.rand(), y - self.random.rand())
        along = (along - along.min()) / (along.max() - along.min())
        a, b, c = (np.array(self.theme[k], float) for k in range(3))
        along = along[..., None]
        pixels = np.where(along < 0.5, a + (b - a) * along * 2, b + (c - b) * (along * 2 - 1))
        if self.random.rand() < 0.4:
            cells = [2 << self.random.randint(4), 2 << self.random.randint(4)]
            noise = smooth_noise(self.random, SIZE, SIZE, cells[0], cells[1], 4)
            veil = np.clip(noise * 2 - self.between(0.4, 1.0), 0, 1)[..., None]
            veil = veil * self.between(0.1, 0.7)
            pixels = pixels * (1 - veil) + np.array(self.theme[3], float) * veil
        self.canvas.paint(pixels)

    def blob(self, cx, cy, radius, corners):
        turns = np.sort(self.random.rand(corners)) * 2 * math.pi
        return [(cx + radius * self.between(0.4, 1) * math.cos(t),
                 cy + radius * self.between(0.4, 1) * math.sin(t)) for t in turns]

    def words(self, limit):
        if self.random.rand() < 0.4:
            signs = list(string.ascii_letters + string.digits + " .,%/()~")
            return "".join(self.random.choice(signs) for _ in range(limit))
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        weights = np.linspace(3, 0.2, 26)
        text = ""
        while len(text) < limit:
            size = self.random.randint(1, 9)
            word = "".join(self.random.choice(list(letters), size, p=weights / weights.sum()))
            word = [word, word.capitalize(), word.upper()][self.random.choice(3, p=[0.6, 0.2, 0.2])]
            text += word + " "
        return text[:limit]

    def paragraph(self):
        size = self.between(3.8, 10) if self.random.rand() < 0.7 else self.between(10, 44)
        font = None
        if self.fonts and self.random.rand() < 0.55:
            font = self.fonts[self.random.randint(len(self.fonts))]
        x, y = self.place(20)
        lines = self.random.randint(1, 8) if size < 12 else 1
        limit = int(self.between(3, 200 / size))
        color = self.ink(0.85)
        if self.random.rand() < 0.4:
            paper = tuple(255 - c if abs(c - 128) > 50 else (c + 128) % 256 for c in color[:3])
            self.canvas.rect(x - 3, y - 3, x + limit * size * 0.52 + 4, y + lines * size * 1.3 + 3,
                             paper, self.ink(), self.between(0.25, 1.5))
        angle = self.between(-30, 30) if self.random.rand() < 0.3 else 0.0
        for k in range(lines):
            self.canvas.text(x, y + k * size * 1.3, self.words(limit), size, color, font,
                             angle=angle)

    def hatching(self):
        cx, cy = self.place()
        outline = self.blob(cx, cy, self.between(8, 90), self.random.randint(3, 9))
        if self.random.rand() < 0.6:
            self.canvas.polygon(outline, self.ink())
        angle = self.between(0, math.pi)
        if self.random.rand() < 0.3:
            angle = self.random.randint(4) * math.pi / 4
        spacing = self.between(2.4, 9)
        for turn in range(1 + (self.random.rand() < 0.25)):
            self.canvas.hatch(outline, angle + turn * math.pi / 2, spacing, self.ink(),
                              min(spacing * 0.6, self.between(0.25, 2)))
        if self.random.rand() < 0.5:
            self.canvas.polygon(outline, None, self.ink(), self.between(0.25, 1.5))

    def curves(self):
        color, width = self.ink(), self.between(0.25, 4)
        ends = [self.place(30) for _ in range(4)]
        shift = np.array([self.between(-5, 5), self.between(-5, 5)])
        for k in range(self.random.randint(1, 9)):
            moved = [tuple(np.array(p) + shift * k) for p in ends]
            self.canvas.line(bezier(*moved), color, width)

    def straight_lines(self):
        hub, width = self.place(), self.between(0.25, 2.5)
        for _ in range(self.random.randint(1, 14)):
            if self.random.rand() < 0.5:
                hub = self.place()
            self.canvas.line([hub, self.place()], self.ink(), width)

    def rings(self):
        cx, cy = self.place()
        radius, color = self.between(4, 70), self.ink()
        for k in range(self.random.randint(1, 8)):
            r = radius * self.between(0.2, 1)
            fill = self.ink() if self.random.rand() < 0.25 else None
            self.canvas.ellipse(cx, cy, r, r * self.between(0.6, 1), fill, color,
                                self.between(0.25, 2))
        if self.random.rand() < 0.5:
            count = self.random.randint(8, 90)
            for k in range(count):
                t = 2 * math.pi * k / count
                self.canvas.line([(cx + radius * r * math.cos(t), cy + radius * r * math.sin(t))
                                  for r in (self.between(0.8, 0.9), 1.0)], color, 0.35)

    def stars(self):
        for _ in range(self.random.randint(10, 120)):
            (x, y), r = self.place(), self.between(0.25, 1.4)
            color = self.ink(0.8)
            self.canvas.ellipse(x, y, r, r, color)
            if self.random.rand() < 0.15:
                arm = self.between(2, 8)
                self.canvas.line([(x - arm, y), (x + arm, y)], color, 0.3)
                self.canvas.line([(x, y - arm), (x, y + arm)], color, 0.3)
        if self.random.rand() < 0.5:
            self.canvas.glow(*self.place(), self.between(2, 30), self.color(), self.random.rand())

    def grid(self):
        x, y = self.place(40)
        w, h = self.between(3, 30), self.between(3, 20)
        gap, ribs = self.between(0, 2), self.random.randint(0, 14)
        shades = [self.ink(0.9) for _ in range(4)]
        for row in range(self.random.randint(1, 8)):
            for column in range(self.random.randint(1, 10)):
                left, top = x + column * (w + gap), y + row * (h + gap)
                shade = shades[self.random.randint(4)]
                self.canvas.rect(left, top, left + w, top + h, shade)
                dark = tuple(int(c * 0.6) for c in shade[:3])
                for k in range(1, ribs):
                    rib = left + w * k / ribs
                    self.canvas.line([(rib, top + 1), (rib, top + h - 1)], dark, 0.5)
                if self.random.rand() < 0.5:
                    self.canvas.rect(left, top, left + w, top + h, None, dark, 0.5)
                if self.random.rand() < 0.2:
                    self.canvas.text(left + w / 2, top + h / 2, self.words(3), h * 0.7,
                                     self.ink(1.0), anchor="mm")

    def truss(self):
        (x0, y0), (x1, y1) = self.place(), self.place()
        length = math.hypot(x1 - x0, y1 - y0) + 1e-3
        depth, panels = self.between(3, 18), max(2, int(length / self.between(5, 20)))
        nx, ny = -(y1 - y0) / length * depth, (x1 - x0) / length * depth
        color, width = self.ink(0.9), self.between(0.5, 2)
        steps = [k / panels for k in range(panels + 1)]
        top = [(x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for t in steps]
        low = [(x + nx, y + ny) for x, y in top]
        self.canvas.line([top[0], top[-1]], color, width)
        self.canvas.line([low[0], low[-1]], color, width)
        for k in range(panels):
            self.canvas.line([top[k], low[k + 1]], color, width * 0.5)
            if self.random.rand() < 0.8:
                self.canvas.line([low[k], top[k + 1]], color, width * 0.5)

    def water(self):
        y, end, step = self.between(0, SIZE), self.between(0, SIZE), self.between(2, 8)
        colors = [self.ink(0.3) for _ in range(3)]
        while y < end:
            x, lift = -self.between(0, 40), self.between(0.3, 4)
            while x < SIZE:
                length = self.between(6, 90)
                xs = np.linspace(x, x + length, 20)
                turns = self.between(3, 14)
                self.canvas.line([(v, y + lift * math.sin((v - x) / length * turns)) for v in xs],
                                 colors[self.random.randint(3)], self.between(0.3, 1.4))
                x += length * self.between(0.7, 1.7)
            y += step * self.between(0.6, 1.4)

    def shape(self):
        cx, cy = self.place()
        outline = self.blob(cx, cy, self.between(5, 110), self.random.randint(3, 12))
        edge = self.ink() if self.random.rand() < 0.4 else None
        self.canvas.polygon(outline, self.ink(), edge, self.between(0.25, 2))

    def ridge(self):
        base, height, rough = self.between(40, SIZE), self.between(5, 60), self.between(0.5, 3)
        xs = np.arange(0, SIZE + 3, 2.0)
        ys = base - sum(height * 0.55**k * np.sin(xs * 0.012 * 2**k * rough + self.between(0, 6.3))
                        for k in range(6))
        outline = [(x, y) for x, y in zip(xs, ys)] + [(SIZE + 2, SIZE), (0, SIZE)]
        self.canvas.polygon(outline, self.ink(0.9))
        if self.random.rand() < 0.4:
            self.canvas.line(outline[:-2], self.ink(), self.between(0.3, 1.2))

    def draw(self):
        self.background()
        kinds = [self.paragraph, self.hatching, self.curves, self.straight_lines, self.rings,
                 self.stars, self.grid, self.truss, self.water, self.shape, self.ridge]
        odds = np.array([4, 2, 1.5, 1.5, 1.5, 1, 2.5, 1.5, 0.8, 2, 0.8])
        count = self.random.randint(8, 34)
        for k in range(count):
            kinds[self.random.choice(len(kinds), p=odds / odds.sum())]()
            if k < count // 2 and self.random.rand() < 0.04:
                self.canvas.blur(self.between(0.3, 3))
        return self.canvas.finished()


def draw_scene(seed):
    return np.asarray(Scene(seed, extra_fonts()).draw())


if __name__ == "__main__":
    sheet = Image.new("RGB", (SIZE * 4, SIZE * 3))
    for place in range(12):
        tile = Image.fromarray(draw_scene(1000 + place))
        sheet.paste(tile, (place % 4 * SIZE, place // 4 * SIZE))
    sheet.save("random_scenes.png")
