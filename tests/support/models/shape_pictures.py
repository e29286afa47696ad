"""Pictures of coloured shapes, as PNG, for questions to cactus-bloom."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw


def _png(picture: Image.Image) -> bytes:
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


def _red_square() -> Image.Image:
    picture = Image.new("RGB", (120, 120), "white")
    ImageDraw.Draw(picture).rectangle((40, 40, 80, 80), fill="red")
    return picture


def _two_circles() -> Image.Image:
    picture = Image.new("RGB", (120, 120), "black")
    ImageDraw.Draw(picture).ellipse((10, 40, 50, 80), fill="green")
    ImageDraw.Draw(picture).ellipse((70, 40, 110, 80), fill="blue")
    return picture


RED_SQUARE = _png(_red_square())
TWO_CIRCLES = _png(_two_circles())
