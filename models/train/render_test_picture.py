#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the demo's test picture, a container ship at dusk, and its half-size version.

Usage: render_test_picture.py [DIRECTORY]   (default models/demo)
Writes original.png (512 x 384) and input.png (256 x 192: Pillow's BICUBIC resize, that is Keys'
kernel with a = -0.5 stretched over two pixels, so that it antialiases). Needs numpy and Pillow.
The numbers come from a frozen generator, so the same Pillow draws the same bytes.
"""

import math
import pathlib
import sys

import numpy as np
from PIL import Image

from canvas import Canvas, bezier, ramp, smooth_noise

WIDTH, HEIGHT, HORIZON = 512, 384, 206

SKY = [(0.0, (15, 20, 52)), (0.35, (44, 42, 98)), (0.62, (122, 72, 122)), (0.84, (220, 124, 104)),
       (1.0, (252, 196, 130))]
SEA = [(0.0, (206, 136, 112)), (0.12, (128, 86, 116)), (0.4, (52, 58, 104)), (1.0, (12, 24, 52))]
BOXES = [(186, 62, 48), (214, 132, 44), (46, 98, 150), (38, 122, 112), (226, 206, 160),
         (122, 46, 62), (92, 112, 124), (232, 178, 60), (60, 70, 120), (150, 160, 150)]


def sky_and_sea(canvas, random):
    y = np.arange(HEIGHT)[:, None] / HORIZON
    above = ramp(SKY, np.broadcast_to(np.clip(y, 0, 1), (HEIGHT, WIDTH)))
    depth = np.clip((np.arange(HEIGHT)[:, None] - HORIZON) / (HEIGHT - HORIZON), 0, 1)
    below = ramp(SEA, np.broadcast_to(depth, (HEIGHT, WIDTH)))
    pixels = np.where((y < 1)[..., None], above, below)
    cloud = smooth_noise(random, HEIGHT, WIDTH, 16, 3, 4)
    band = np.exp(-(((y - 0.60) / 0.22) ** 2)) * (y < 1)
    veil = np.clip(cloud * 2.2 - 1.05, 0, 1)[..., None] * band[..., None] * 0.55
    canvas.paint(pixels * (1 - veil) + np.array([255, 206, 172]) * veil)


def stars_and_moon(canvas, random):
    for _ in range(150):
        x, y = random.rand() * WIDTH, random.rand() ** 1.5 * 120
        shine = random.rand() ** 2
        level = int(110 + 145 * shine)
        canvas.ellipse(x, y, 0.35 + 0.6 * shine, 0.35 + 0.6 * shine, (level, level, 235, 235))
        if shine > 0.82:
            arm = 2.5 + 4 * (shine - 0.8) / 0.2
            canvas.line([(x - arm, y), (x + arm, y)], (235, 240, 255, 150), 0.3)
            canvas.line([(x, y - arm), (x, y + arm)], (235, 240, 255, 150), 0.3)
    plough = [(52, 46), (78, 34), (98, 42), (120, 50), (126, 68), (158, 70), (160, 46), (120, 50)]
    canvas.line(plough, (200, 210, 255, 90), 0.3)
    for x, y in plough:
        canvas.ellipse(x, y, 1.2, 1.2, (250, 250, 255))
    canvas.glow(262, 52, 20, (255, 236, 200), 0.42)
    limb = [(262 + 17 * math.sin(a), 52 - 17 * math.cos(a)) for a in np.linspace(0, math.pi, 60)]
    terminator = [(262 + 8 * math.sin(a), 52 - 17 * math.cos(a))
                  for a in np.linspace(math.pi, 0, 60)]
    canvas.polygon(limb + terminator, (255, 244, 216))


def ridge(random, base, height, roughness, left=0, right=WIDTH):
    xs = np.arange(left, right + 2, 2.0)
    wave = sum(math.pow(0.55, k) * np.sin(xs * 0.011 * 2**k * roughness + random.rand() * 6.3)
               for k in range(6))
    return [(x, base - height * (0.55 + 0.3 * v)) for x, v in zip(xs, wave)]


def hills(canvas, random):
    far = ridge(random, HORIZON, 46, 1.0)
    canvas.polygon(far + [(WIDTH + 2, HORIZON), (0, HORIZON)], (112, 72, 112))
    near = ridge(random, HORIZON, 24, 1.7)
    outline = near + [(WIDTH + 2, HORIZON), (0, HORIZON)]
    canvas.polygon(outline, (62, 44, 84))
    canvas.hatch(outline, 1.05, 4.6, (104, 70, 112), 0.7)
    canvas.line(near, (160, 100, 122), 0.5)
    for _ in range(110):
        x, y = random.rand() * WIDTH, HORIZON - random.rand() ** 2 * 9 - 1
        canvas.ellipse(x, y, 0.5, 0.5, (255, 222, 150))
        canvas.line([(x, HORIZON + 1), (x, HORIZON + 3 + random.rand() * 9)],
                    (255, 206, 140, 70), 0.5)


def waves(canvas, random):
    y = HORIZON + 2.0
    while y < HEIGHT:
        depth = (y - HORIZON) / (HEIGHT - HORIZON)
        x = -random.rand() * 40
        while x < WIDTH:
            length = 14 + 90 * depth * (0.5 + random.rand())
            xs = np.linspace(x, x + length, 24)
            lift = 0.4 + 3.4 * depth
            crest = [(v, y + lift * math.sin((v - x) / length * 6.28 * (1 + depth)) *
                      math.sin((v - x) / length * 3.14)) for v in xs]
            bright = random.rand()
            color = (250, 190, 150) if bright > 0.55 else (20, 22, 60)
            opacity = int(40 + 80 * random.rand())
            under_the_title = 331 < y < 372 and x < 376 and x + length > 246
            if not under_the_title:
                canvas.line(crest, color + (opacity,), 0.35 + 0.8 * depth)
            x += length * (0.7 + random.rand())
        y += 1.5 + 5.5 * depth
    for _ in range(170):
        depth = random.rand()
        x = 262 + random.randn() * (5 + 18 * depth)
        y, length = HORIZON + 2 + depth * 100, 2 + 7 * random.rand()
        canvas.line([(x - length, y), (x + length, y)], (255, 240, 205, 150), 0.4 + 0.6 * depth)


def container(canvas, x, y, width, height, color, label):
    dark = tuple(int(c * 0.62) for c in color)
    light = tuple(min(255, int(c * 1.25 + 10)) for c in color)
    canvas.rect(x, y, x + width, y + height, color)
    ribs = int(width / 4.3)
    for k in range(1, ribs):
        rib = x + width * k / ribs
        canvas.line([(rib, y + 0.8), (rib, y + height - 0.8)], dark + (190,), 0.9)
    canvas.line([(x, y + 0.4), (x + width, y + 0.4)], light, 0.6)
    canvas.rect(x, y, x + width, y + height, None, tuple(c // 3 for c in color), 0.5)
    if label:
        canvas.rect(x + 1.5, y + 1.6, x + width - 1.5, y + height - 1.4, color)
        canvas.text(x + width / 2, y + height / 2, label, height * 0.82, (250, 246, 236),
                    anchor="mm")


def ship(canvas, random):
    deck, water = 262, 292
    labels = {(1, 0): "nchw", (3, 2): "nhwc", (5, 1): "4c", (6, 3): "16c", (8, 0): "oihw",
              (9, 2): "8c", (2, 3): "hwio", (10, 1): "y x", (4, 0): "lane", (7, 2): "tail"}
    for bay in range(11):
        tiers = (4, 5, 5, 6, 5, 6, 6, 5, 6, 4, 3)[bay]
        for tier in range(tiers):
            x, y = 94 + bay * 23.2, deck - 3 - (tier + 1) * 11.2
            color = BOXES[random.randint(len(BOXES))]
            container(canvas, x, y, 21.6, 10.6, color, labels.get((bay, tier)))
    # The house, its windows, the funnel and the mast.
    canvas.polygon([(50, deck), (52, 196), (88, 196), (90, deck)], (232, 224, 214))
    canvas.polygon([(80, deck), (80, 196), (88, 196), (90, deck)], (186, 172, 176))
    canvas.rect(46, 190, 92, 197, (246, 240, 230), (120, 104, 116), 0.5)
    for x in np.arange(48.5, 90, 4.2):
        canvas.rect(x, 191.6, x + 2.9, 195.2, (255, 214, 120))
    for row in range(6):
        for x in np.arange(55.5, 78, 5.2):
            lit = random.rand() > 0.45
            canvas.rect(x, 202 + row * 9.4, x + 2.6, 205 + row * 9.4,
                        (255, 206, 110) if lit else (70, 72, 104))
        canvas.line([(51, 208.6 + row * 9.4), (89, 208.6 + row * 9.4)], (170, 158, 166), 0.5)
    canvas.polygon([(34, deck - 4), (36, 216), (47, 216), (49, deck - 4)], (30, 52, 92))
    canvas.polygon([(35.6, 226), (35.9, 220), (47.1, 220), (47.4, 226)], (236, 170, 60))
    for k in range(9):
        canvas.ellipse(38 - k * 4.2 - k * k * 0.25, 211 - k * 4.3, 2 + k * 1.25, 1.6 + k * 0.9,
                       (60, 48, 84, 120 - 11 * k))
    canvas.line([(70, 190), (70, 152)], (226, 220, 214), 1.2)
    for y, half in ((160, 9), (168, 12), (176, 8)):
        canvas.line([(70 - half, y), (70 + half, y)], (226, 220, 214), 0.6)
    for end in ((50, 191), (90, 191), (368, 226)):
        canvas.line([(70, 154), end], (206, 200, 206, 220), 0.35)
    canvas.ellipse(70, 151.4, 1.2, 1.2, (255, 90, 70))
    canvas.glow(70, 151.4, 3, (255, 120, 90), 0.6)
    canvas.line([(368, deck - 8), (368, 222)], (226, 220, 214), 0.9)
    # The hull: a flared bow, a red boot-top, draught marks.
    bow = bezier((420, 248), (404, 262), (398, 274), (396, water), 30)
    stern = bezier((40, water), (34, 280), (28, 272), (26, deck - 4), 20)
    sheer = bezier((26, deck - 4), (140, deck + 3), (320, deck + 3), (420, 248), 60)
    canvas.polygon(sheer + bow + stern, (24, 36, 70))
    lower = [p for p in bow if p[1] > 281] + [p for p in stern if p[1] > 281]
    canvas.polygon([(33.8, 281), (398, 281)] + lower, (150, 44, 42))
    canvas.line([(33.8, 281), (398, 281)], (236, 226, 214), 0.7)
    canvas.line(sheer, (120, 130, 170), 0.9)
    canvas.text(150, 272.6, "STOWAGE", 16, (244, 238, 224), anchor="mm")
    canvas.text(372, 262.5, "Stowage", 7.5, (244, 238, 224), anchor="mm")
    canvas.text(57, 270, "ROW MAJOR", 6.2, (214, 208, 204), anchor="mm")
    for k in range(5):
        canvas.text(390, 267 + k * 4.6, str(18 - 2 * k), 4.6, (230, 226, 220), anchor="mm")
    for x in range(200, 350, 9):
        canvas.ellipse(x, 271.5, 1.0, 1.0, (255, 214, 130))
    # What the water gives back.
    for k in range(26):
        y = water + 1 + k * 1.5
        sway = 2.2 * math.sin(k * 1.7)
        color = (120, 42, 50) if k < 5 else (16, 24, 54)
        canvas.line([(42 + k * 0.9 + sway, y), (395 - k * 1.1 + sway, y)],
                    color + (205 - 7 * k,), 1.0)


def truss(canvas, start, end, depth, panels, color, width):
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    nx, ny = -(y1 - y0) / length * depth, (x1 - x0) / length * depth
    steps = [k / panels for k in range(panels + 1)]
    top = [(x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for t in steps]
    low = [(x + nx, y + ny) for x, y in top]
    canvas.line([top[0], top[-1]], color, width)
    canvas.line([low[0], low[-1]], color, width)
    for k in range(panels):
        canvas.line([top[k], low[k + 1]], color, width * 0.5)
        canvas.line([low[k], top[k + 1]], color, width * 0.5)
        canvas.line([top[k], low[k]], color, width * 0.5)


def crane(canvas):
    steel, dark = (196, 74, 54), (104, 38, 48)
    canvas.polygon([(428, 300), (WIDTH, 292), (WIDTH, 336), (428, 318)], (50, 46, 66))
    canvas.hatch([(428, 300), (WIDTH, 292), (WIDTH, 336), (428, 318)], 0.06, 4.4, (84, 76, 94), 0.8)
    canvas.line([(428, 300), (WIDTH, 292)], (190, 150, 130), 0.8)
    truss(canvas, (446, 298), (452, 150), 7, 12, dark, 1.0)
    truss(canvas, (488, 296), (482, 150), 7, 12, steel, 1.4)
    truss(canvas, (300, 158), (510, 158), 8, 24, steel, 1.4)
    apex = (466, 98)
    canvas.line([(452, 158), apex, (484, 158)], steel, 1.8)
    for x in (306, 352, 400, 510):
        canvas.line([apex, (x, 158)], (232, 190, 170, 230), 0.5)
    canvas.line([(449, 232), (486, 232)], steel, 1.5)
    canvas.line([(449, 232), (484, 168)], dark, 0.8)
    canvas.line([(486, 232), (452, 168)], dark, 0.8)
    canvas.rect(428, 166, 442, 176, (236, 214, 180), (70, 40, 50), 0.6)
    canvas.rect(430, 168, 435, 173, (110, 150, 180))
    canvas.rect(337, 166, 349, 169, (60, 46, 60))
    for x in (338, 342, 344.5, 348):
        canvas.line([(x, 168), (x - (x - 343) * -0.25, 180)], (40, 34, 50), 0.4)
    container(canvas, 331, 180, 24, 11, (238, 174, 48), "c%4")
    canvas.text(404, 162, "STOWAGE", 7, (255, 238, 220), anchor="mm")


def rose(canvas, cx, cy, radius):
    ink = (238, 222, 188)
    for r, width in ((1.0, 0.7), (0.93, 0.35), (0.66, 0.35), (0.30, 0.35)):
        canvas.ellipse(cx, cy, radius * r, radius * r, None, ink, width)
    for k in range(72):
        angle = k * math.pi / 36
        inner = 0.84 if k % 6 == 0 else 0.93
        canvas.line([(cx + radius * r * math.sin(angle), cy - radius * r * math.cos(angle))
                     for r in (inner, 1.0)], ink, 0.35)
    for order, reach in ((1, 0.5), (0, 0.8)):
        for k in range(4):
            angle = k * math.pi / 2 + order * math.pi / 4
            tip = (cx + radius * reach * math.sin(angle), cy - radius * reach * math.cos(angle))
            for side, fill in ((-1, (238, 222, 188)), (1, (150, 70, 56))):
                flank = angle + side * math.pi / 4
                waist = (cx + radius * 0.14 * math.sin(flank), cy - radius * 0.14 * math.cos(flank))
                canvas.polygon([(cx, cy), tip, waist], fill, (60, 40, 50), 0.3)
    for k, letter in enumerate("NESW"):
        angle = k * math.pi / 2
        canvas.text(cx + radius * 1.16 * math.sin(angle), cy - radius * 1.16 * math.cos(angle),
                    letter, 7, ink, anchor="mm")


def bay_plan(canvas, random):
    """A stowage plan on paper: a table of hatched cells under fine print."""
    paper = Canvas(174, 80, (238, 226, 198))
    ink = (58, 44, 56)
    paper.rect(2.5, 2.5, 171.5, 77.5, None, ink, 0.8)
    paper.rect(5, 5, 169, 75, None, (150, 120, 104), 0.4)
    paper.text(9, 7, "Stowage plan, bay 16", 9.5, ink)
    paper.text(166, 8.5, "n c/4 h w c%4", 8, (130, 50, 46), anchor="ra")
    paper.line([(9, 20), (165, 20)], ink, 0.6)
    for row in range(4):
        for column in range(7):
            x, y = 20 + column * 10.4, 24 + row * 10.4
            kind = random.randint(5)
            cell = [(x, y), (x + 10, y), (x + 10, y + 10), (x, y + 10)]
            if kind < 3:
                paper.hatch(cell, (0.785, -0.785, 0.0)[kind], (3.5, 3.9, 4.3)[kind], ink, 0.6)
            elif kind == 3:
                paper.ellipse(x + 5, y + 5, 3.2, 3.2, None, (150, 50, 44), 0.9)
            paper.polygon(cell, None, ink, 0.6)
        paper.text(13.5, 29 + row * 10.4, str(82 + 2 * row), 6, ink, anchor="mm")
    for column in range(7):
        paper.text(25 + column * 10.4, 69.5, "%02d" % (2 * column + 1), 6, ink, anchor="mm")
    notes = ["every box in its place,", "the heavy ones below;", "tails hold zero, gaps",
             "are read by nobody."]
    for k, words in enumerate(notes):
        paper.text(98, 23.5 + k * 8.2, words, 6.4, ink)
    curve = [(99 + k * 1.35, 66 - 6 * math.sin(k * 0.19) * math.exp(-k * 0.025)) for k in range(49)]
    paper.line([(99, 66), (164, 66)], (150, 120, 104), 0.5)
    paper.line(curve, (150, 50, 44), 0.9)
    sheet = paper.image.convert("RGBA").rotate(2.5, Image.BICUBIC, expand=True)
    scale = canvas.image.width // canvas.width
    shadow = Image.new("RGBA", sheet.size, (6, 8, 22, 0))
    shadow.putalpha(sheet.getchannel("A").point(lambda v: v * 110 // 255))
    canvas.image.paste(shadow, (16 * scale, 298 * scale), shadow)
    canvas.image.paste(sheet, (14 * scale, 296 * scale), sheet)


def draw():
    random = np.random.RandomState(1611)
    canvas = Canvas(WIDTH, HEIGHT)
    sky_and_sea(canvas, random)
    stars_and_moon(canvas, random)
    hills(canvas, random)
    waves(canvas, random)
    crane(canvas)
    ship(canvas, random)
    rose(canvas, 458, 350, 22)
    bay_plan(canvas, random)
    canvas.text(312, 345, "STOWAGE", 24, (244, 226, 192), anchor="mm")
    canvas.text(312, 364, "a place for every tensor", 10, (232, 196, 170), anchor="mm")
    return canvas.finished()


def main():
    default = pathlib.Path(__file__).resolve().parents[1] / "demo"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    original = draw()
    original.save(folder / "original.png", optimize=True)
    half = original.resize((WIDTH // 2, HEIGHT // 2), Image.BICUBIC)
    half.save(folder / "input.png", optimize=True)


if __name__ == "__main__":
    main()
