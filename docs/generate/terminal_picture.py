"""docs/guide/images/demo.svg: a run of `cactus demo` on a terminal, as it was (`make picture`)."""

from __future__ import annotations

import html
import io
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from cactus_actors.cli.demo import run_demo

PICTURE = Path(__file__).parents[1] / "guide" / "images" / "demo.svg"
COMMAND = "cactus demo --no-cluster"
WIDTH = 92
LETTER_WIDTH = 12.2
"""Of rich, in units of the picture."""
SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A terminal: cactus demo</title>
<style>
.{unique_id}-matrix {{font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px}}
.{unique_id}-title {{font-family: sans-serif; font-size: 18px; font-weight: bold}}
rect {{shape-rendering: crispEdges}}
{styles}
</style>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


def main() -> None:
    """Run the demo in an empty folder and write the picture."""
    console = Console(file=io.StringIO(), record=True, width=WIDTH, color_system="truecolor", highlight=False)
    console.print(f"[bold]$ {COMMAND}[/]")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_demo(Path("demo-results.jsonl"), console, workers=2, cluster=False)
        os.chdir(before)
    svg = console.export_svg(title=COMMAND, theme=DIMMED_MONOKAI, code_format=SVG, unique_id="t")
    PICTURE.write_text(shortened(svg), encoding="utf-8")
    print(PICTURE)


def shortened(svg: str) -> str:
    """The picture in half as many bytes: without clips, blanks at ends, and digits that nobody sees."""
    svg = re.sub(r"(\d+\.\d)\d+", r"\1", svg)
    svg = re.sub(r' clip-path="[^"]*"| shape-rendering="crispEdges"', "", svg)
    svg = re.sub(r' textLength="[^"]*"([^>]*>)([^<]*?)(?:&#160;)*</text>', _measured, svg)
    return re.sub(r"\n\s*\n+", "\n", svg)


def _measured(text: re.Match[str]) -> str:
    """The end of a text element, with its length if it has several letters."""
    rest, letters = text.groups()
    num_letters = len(html.unescape(letters))
    length = f' textLength="{num_letters * LETTER_WIDTH:.1f}"' if num_letters > 1 else ""
    return f"{length}{rest}{letters}</text>"


if __name__ == "__main__":
    main()
