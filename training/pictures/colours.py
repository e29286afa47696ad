"""Colours by name: each is a range of hues, saturations and values, so that a name stands for many shades."""

from __future__ import annotations

import colorsys
import math
from random import Random

RGB = tuple[int, int, int]

# Hue in degrees, saturation and value in percent, each from and to. Ranges of different names do not touch.
RANGES = {
    "red": ((352, 364), (80, 100), (75, 100)),
    "orange": ((24, 36), (85, 100), (92, 100)),
    "yellow": ((52, 60), (75, 100), (90, 100)),
    "green": ((100, 145), (65, 100), (45, 90)),
    "cyan": ((174, 188), (70, 100), (80, 100)),
    "blue": ((214, 242), (70, 100), (60, 100)),
    "purple": ((268, 290), (60, 100), (45, 80)),
    "pink": ((318, 348), (28, 60), (95, 100)),
    "brown": ((18, 32), (60, 85), (35, 56)),
    "black": ((0, 360), (0, 20), (0, 12)),
    "gray": ((0, 360), (0, 6), (42, 68)),
    "white": ((0, 360), (0, 3), (96, 100)),
}
# What people type for a colour's exact name, like (255, 0, 0) for red.
PURE: dict[str, tuple[RGB, ...]] = {
    "red": ((255, 0, 0), (220, 20, 20), (200, 0, 0)),
    "orange": ((255, 165, 0), (255, 140, 0)),
    "yellow": ((255, 255, 0), (255, 215, 0)),
    "green": ((0, 128, 0), (0, 255, 0), (0, 160, 0)),
    "cyan": ((0, 255, 255),),
    "blue": ((0, 0, 255), (30, 60, 220)),
    "purple": ((128, 0, 128), (160, 32, 240)),
    "pink": ((255, 192, 203), (255, 105, 180)),
    "brown": ((139, 69, 19), (165, 42, 42), (120, 70, 30)),
    "black": ((0, 0, 0),),
    "gray": ((128, 128, 128),),
    "white": ((255, 255, 255),),
}
COLOURS = tuple(RANGES)


def shade(colour: str, rng: Random) -> RGB:
    """One of the shades that have this name."""
    if rng.random() < 0.35:
        return rng.choice(PURE[colour])
    (hue, to_hue), (saturation, to_saturation), (value, to_value) = RANGES[colour]
    red, green, blue = colorsys.hsv_to_rgb(
        rng.uniform(hue, to_hue) % 360 / 360,
        rng.uniform(saturation, to_saturation) / 100,
        rng.uniform(value, to_value) / 100,
    )
    return round(red * 255), round(green * 255), round(blue * 255)


def distance(first: RGB, second: RGB) -> float:
    """The Euclidean distance of two shades in RGB, 0 to 441."""
    return math.dist(first, second)
