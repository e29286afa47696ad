"""The picture of a terminal in the README: small, complete in itself, and of a run without a fault."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from rich.console import Console

from docs.generate.terminal_picture import COMMAND, PICTURE, SVG, shortened
from tests.support.paths import ROOT

MAX_BYTES = 60_000


def words_of(svg: str) -> str:
    """The text of a picture, with single blanks."""
    elements = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return " ".join(" ".join("".join(element.itertext()) for element in elements).split())


def test_the_readme_shows_a_run_of_the_demo() -> None:
    assert PICTURE.relative_to(ROOT).as_posix() in (ROOT / "README.md").read_text(encoding="utf-8")
    words = words_of(PICTURE.read_text(encoding="utf-8"))
    for shown in (f"$ {COMMAND}", "Tell me a short story about a fox.", "40 done, 0 failed", "There are 3 shapes."):
        assert shown in words


def test_the_picture_is_small_and_needs_no_other_file() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    assert len(svg.encode()) <= MAX_BYTES
    assert re.findall(r"https?://[^\"']*|url\([^)]*\)|href", svg) == ["http://www.w3.org/2000/svg"]
    assert "__pycache__" not in svg  # no path of the machine that made it


def test_a_shortened_picture_has_the_same_words_at_the_same_width() -> None:
    console = Console(file=io.StringIO(), record=True, width=40, color_system="truecolor")
    console.print("[red]one & two[/]   [bold]x[/]   ")
    svg = console.export_svg(code_format=SVG, unique_id="t")
    short = shortened(svg)
    assert len(short) < len(svg)
    assert words_of(short) == words_of(svg)
    assert 'textLength="109.8"' in short  # nine letters
