"""The wordings of questions about pictures, from wordings.txt.

A line that begins with a star is held out for the evaluation.

`{x}` and `{y}` name shapes, `{c}` a colour, `{r}` a relation.
"""

from __future__ import annotations

from pathlib import Path

MACROS = {
    "colour": "colour|color",
    "picture": "picture|image|photo|drawing|pic",
    "here": "|in the picture|in this picture|in the image|in this image|here|on it",
    "please": "|please|pls",
    "tell": "tell me|can you tell me|could you tell me|do you know|please tell me|say",
    "kind": "shape|figure|form|object|thing",
}


def _read(text: str) -> dict[str, str]:
    parts = text.removeprefix("## ").split("\n## ")
    return dict(part.split("\n", 1) for part in parts)


WORDINGS = _read((Path(__file__).parent / "wordings.txt").read_text())
"""Lines of a Grammar for each kind of question; after a slash stands its special case."""
