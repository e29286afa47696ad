"""Draws scenes, clean or with the noise, blur and compression of a camera or a scanner."""

from __future__ import annotations

import io
import math
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from training.pictures.colours import RGB
from training.pictures.scene import Item, Scene
from training.pictures.strokes import draw_strokes, width_of

Point = tuple[float, float]


def draw(scene: Scene, rng: Random, noise: float = 1.0) -> Image.Image:
    """The scene in RGB; two thirds of `noise` is the share of pictures with such damage."""
    scale = rng.choice((1, 2, 2))  # drawn larger and made smaller: smooth edges
    picture = Image.new("RGB", (scene.width * scale, scene.height * scale), scene.background_shade)
    canvas = ImageDraw.Draw(picture)
    outline = rng.choice((None, None, None, None, (0, 0, 0), (60, 60, 60)))
    for item in scene.items:
        draw_item(canvas, item, scene, fill=item.shade, scale=scale, outline=outline)
    if scene.text:
        _draw_text(canvas, scene, scale, rng)
    if scale > 1:
        picture = picture.resize((scene.width, scene.height), Image.Resampling.BOX)
    return _spoilt(picture, rng) if rng.random() < 0.66 * noise else picture


def draw_item(
    canvas: ImageDraw.ImageDraw,
    item: Item,
    scene: Scene,
    *,
    fill: RGB | int,
    scale: int = 1,
    outline: RGB | None = None,
) -> None:
    """Draw a shape of the scene on a canvas of `scale` times its size."""
    side = min(scene.width, scene.height) * scale
    x, y, radius = item.x * side, item.y * side, item.radius * side
    width = max(1, side // 80)
    if item.kind == "ring":
        thickness = max(2, round(radius * (0.9 - item.stretch * 0.28)))
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), outline=fill, width=thickness)
        return
    turn = math.radians(item.angle)
    cos, sin = math.cos(turn) * radius, math.sin(turn) * radius
    points = [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in outline_of(item)]
    canvas.polygon(points, fill=fill, outline=outline, width=width if outline else 1)


def outline_of(item: Item) -> list[Point]:
    """The corners of a shape of radius 1 around (0, 0); y points down."""
    match item.kind:
        case "circle":
            return _regular(48)
        case "oval":
            return [(x, y / item.stretch) for x, y in _regular(48)]
        case "square":
            return _regular(4, 45.0)
        case "rectangle":
            height = 1 / math.hypot(1.0, item.stretch)
            width = item.stretch * height
            return [(-width, -height), (width, -height), (width, height), (-width, height)]
        case "diamond":
            return [(0.0, -1.0), (0.7, 0.0), (0.0, 1.0), (-0.7, 0.0)]
        case "triangle":
            return _regular(3, -90.0)
        case "pentagon":
            return _regular(5, -90.0)
        case "hexagon":
            return _regular(6)
        case "star":
            outer, inner = _regular(5, -90.0), _regular(5, -54.0)
            depth = 0.22 * item.stretch
            pairs = zip(outer, inner, strict=True)
            return [point for tip, (x, y) in pairs for point in (tip, (depth * x, depth * y))]
        case "cross":
            arm = 0.5 / item.stretch  # from thin to thick
            quarter = [(arm, -0.95), (arm, -arm), (0.95, -arm)]
            return [_quarter_turns(point, turns) for turns in range(4) for point in quarter]
        case "heart":
            return [_heart(2 * math.pi * step / 48) for step in range(48)]
    raise ValueError(f"no such shape: {item.kind}")


def _regular(corners: int, start: float = 0.0) -> list[Point]:
    angles = [math.radians(start + 360 * corner / corners) for corner in range(corners)]
    return [(math.cos(angle), math.sin(angle)) for angle in angles]


def _quarter_turns(point: Point, turns: int) -> Point:
    x, y = point
    for _ in range(turns):
        x, y = -y, x
    return x, y


def _heart(t: float) -> Point:
    x = 16 * math.sin(t) ** 3
    y = 13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)
    return x / 17, -(y + 2.5) / 17


def _draw_text(canvas: ImageDraw.ImageDraw, scene: Scene, scale: int, rng: Random) -> None:
    width, height = scene.width * scale, scene.height * scale
    widest = width_of(scene.text, 1.0)
    letter = min(height * 0.7, width * 0.85 / widest) * rng.uniform(0.55, 1.0)
    wide = widest * letter
    left = rng.uniform(0.04 * width, 0.96 * width - wide)
    top = rng.uniform(0.05 * height, 0.9 * height - letter)
    if rng.random() < 0.5:
        thickness = max(2, round(letter * rng.uniform(0.06, 0.2)))
        draw_strokes(canvas, scene.text, (left, top), letter, scene.ink, thickness, rng.choice((0.0, 0.0, 0.1, -0.1)))
        return
    font = ImageFont.load_default(letter * 1.15)
    canvas.text((left, top), scene.text, fill=scene.ink, font=font, stroke_width=rng.choice((0, 0, 1, 2)) * scale // 2)


def _spoilt(picture: Image.Image, rng: Random) -> Image.Image:
    draw = rng.random()
    if draw < 0.2:
        return picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 1.4)))
    if draw < 0.4:
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=rng.randint(30, 90))
        return Image.open(content).convert("RGB")
    pixels = np.asarray(picture, np.float32)
    generator = np.random.default_rng(rng.getrandbits(32))
    if draw < 0.75:
        pixels = pixels + generator.normal(0.0, rng.uniform(3, 22), pixels.shape).astype(np.float32)
    else:  # light from one side
        axis = rng.randrange(2)
        slope = np.linspace(rng.uniform(0.75, 1.0), 1.0, pixels.shape[axis], dtype=np.float32)
        pixels = pixels * np.expand_dims(slope, (1 - axis, 2))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
