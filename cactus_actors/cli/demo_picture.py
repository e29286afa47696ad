"""The demo's questions about a picture, which it draws itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import Console
    from rich.text import Text

    from cactus_actors.process.health import Endpoints

VISION_MODEL = "cactus-bloom"
QUESTIONS = ("How many shapes are there?", "What colour is the circle?", "Which shape is green?")
SHOWN_WIDTH = 32


def ask_about_picture(endpoints: Endpoints, path: Path, console: Console) -> None:
    """Draw a picture to `path`, and print the vision model's answers about it."""
    from rich.panel import Panel
    from rich.table import Table

    from cactus_actors.client import Client

    picture = drawn()
    picture.save(path)
    answers = Table.grid(padding=(0, 2))
    with Client(endpoints.jobs, endpoints.stream, key_file="") as client:
        for question in QUESTIONS:
            message = {"role": "user", "content": question, "images": [path]}
            result = client.complete(messages=[message], model=VISION_MODEL, temperature=0, max_tokens=40)
            answers.add_row(question, result.text)
    shown = Table.grid(padding=(0, 2))
    shown.add_row(*([_in_colour(picture)] if console.color_system else []), answers)
    console.print(Panel(shown, title=f"{VISION_MODEL} about {path}", expand=False))


def drawn() -> Image:
    """A red circle, a blue square and a green triangle, side by side."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (160, 128), "white")
    canvas = ImageDraw.Draw(picture)
    canvas.ellipse((8, 44, 48, 84), fill="red")
    canvas.rectangle((62, 46, 98, 82), fill="blue")
    canvas.polygon([(130, 40), (110, 84), (150, 84)], fill="green")
    return picture


def _in_colour(picture: Image) -> Text:
    """The picture as half blocks, each of which shows two pixels in the colours of text and background."""
    import numpy as np
    from rich.color import Color
    from rich.style import Style
    from rich.text import Text

    height = SHOWN_WIDTH * picture.height // picture.width // 2 * 2
    pixels = np.asarray(picture.resize((SHOWN_WIDTH, height)))
    text = Text()
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            text.append("▀", Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
        text.append("\n")
    return text
