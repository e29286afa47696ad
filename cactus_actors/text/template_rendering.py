"""The limits of one rendering of a template, and the words for its failure."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterable

from jinja2 import TemplateError

from cactus_actors.text.template_bounds import TemplateLimit

MAX_TEMPLATE_CHARACTERS = 1 << 20
MAX_PROMPT_CHARACTERS = 4 << 20
MAX_SPENT_CHARACTERS = 64 << 20  # the most characters written during a rendering, captured or repeated text included
MAX_RENDER_S = 2.0
MAX_SHOWN_CHARACTERS = 500

# Python's repr of objects has their memory address, which must not leak.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class RenderBudget:
    """The output and the CPU time left to one rendering; other threads do not use it up."""

    def __init__(self) -> None:
        self._deadline = time.thread_time() + MAX_RENDER_S
        self._remaining = MAX_SPENT_CHARACTERS

    def __call__(self, num_characters: int) -> None:
        self._remaining -= num_characters
        if self._remaining < 0:
            raise TemplateLimit("the template writes too much")
        if time.thread_time() > self._deadline:
            raise TemplateLimit(f"rendering takes longer than {MAX_RENDER_S:g} s")


def joined(chunks: Iterable[str]) -> str:
    """The text of a rendering; raises TemplateLimit if it is too long."""
    prompt: list[str] = []
    remaining = MAX_PROMPT_CHARACTERS
    for chunk in chunks:
        remaining -= len(chunk)
        if remaining < 0:
            raise TemplateLimit(f"the prompt is longer than {MAX_PROMPT_CHARACTERS} characters")
        prompt.append(chunk)
    return "".join(prompt)


def failure_in_words(error: Exception, template: str) -> str:
    """The place in the `template`, by its name, and the error of a rendering."""
    what = f"{type(error).__name__}: {error}" if not isinstance(error, TemplateError) else str(error)
    line = _line_of(error)
    where = f"line {line} of {template}" if line else template
    return f"{where}: {_ADDRESS.sub('', what[:MAX_SHOWN_CHARACTERS])}"


def _line_of(error: Exception) -> int | None:
    """The line of the template that `error` comes from; jinja2 maps its frames back to template lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return lines[-1] if lines else None
