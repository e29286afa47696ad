"""Markdown whose lines have at most 120 characters."""

from __future__ import annotations

import inspect
import re
from textwrap import wrap

WIDTH = 120


def page(title: str, introduction: str, *parts: str) -> str:
    """A generated page, with a note that it must not be edited."""
    made = "<!-- Written by `make docs` from the code; edit the texts there. -->"
    return "\n\n".join([f"# {title}", made, introduction, *parts]) + "\n"


def item(head: str, text: str, *, note: str = "", depth: int = 0) -> str:
    """One entry of a list, `depth` lists deep: what it describes, in bold, a note on it, and the description."""
    margin = "  " * depth
    return _wrapped(f"{margin}- **{head}**{note}{': ' if text else ''}{text}", indent=margin + "  ")


def paragraphs(docstring: str | None) -> str:
    """The paragraphs of a docstring, each laid out again; indented blocks stay as they are."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(docstring or ""))
    return "\n\n".join(block if block.startswith("    ") else _wrapped(" ".join(block.split())) for block in blocks)


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())


def _wrapped(text: str, indent: str = "") -> str:
    return "\n".join(wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))
