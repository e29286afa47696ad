"""Terminal output: answers as they arrive, and a dim line of statistics."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

import msgspec
import typer

from cactus_actors.cli.word_wrap import WordWrapper
from cactus_actors.protocol.results import Handoff, Result

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

SCRIPT_WIDTH = 200
_TERMINAL_VARIABLES = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE"})
"""Variables by which rich takes a stream for a terminal."""


def show(text: str) -> None:
    """Write a piece of an answer and flush; on a terminal without control characters."""
    sys.stdout.write(_printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def print_json(value: object) -> None:
    """Write a value as one line of JSON."""
    show(msgspec.json.encode(value).decode() + "\n")


def wide_console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr; output to a script has a fixed width."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(width=None if stream.isatty() else SCRIPT_WIDTH, highlight=False, stderr=stderr)


def print_page(page: RenderableType, *, stderr: bool = False) -> None:
    """Print to a terminal; for a script, without blanks at the ends of lines."""
    console = wide_console(stderr=stderr)
    if console.is_terminal:
        console.print(page)
        return
    with console.capture() as captured:
        console.print(page)
    typer.echo("\n".join(line.rstrip(" ") for line in captured.get().split("\n")), err=stderr, nl=False)


def terminal_console(stream: TextIO) -> Console | None:
    """A console on a stream that is a terminal, or that the environment says to treat as one; None on any other."""
    if not stream.isatty() and not _TERMINAL_VARIABLES & os.environ.keys():
        return None
    from rich.console import Console

    console = Console(file=stream)
    return console if console.is_terminal else None


def activity(console: Console, text: str) -> Live:
    """A context that shows a spinner and `text` while something lasts.

    Unlike `console.status` it does not replace sys.stdout, so that a redirection that begins within it stays.
    """
    from rich.live import Live
    from rich.spinner import Spinner

    spinner = Spinner("dots", text=text)
    return Live(spinner, console=console, transient=True, redirect_stdout=False, refresh_per_second=12.5)


class AnswerWriter:
    """Writes an answer as it arrives to stdout, and its reasoning, dimmed, to stderr.

    By default reasoning is shown if stderr is a terminal; `shows_reasoning` overrides that.
    """

    def __init__(self, shows_reasoning: bool | None) -> None:
        self._shows_reasoning = sys.stderr.isatty() if shows_reasoning is None else shows_reasoning
        self._is_reasoning = False
        self._wrapper = WordWrapper(shutil.get_terminal_size().columns) if sys.stdout.isatty() else None

    def add(self, text: str, reasoning: str) -> None:
        """Write a piece of the reasoning, if it is shown, then a piece of the answer."""
        if reasoning and self._shows_reasoning:
            self._is_reasoning = True
            typer.secho(_printable(reasoning), dim=True, err=True, nl=False)
        if text:
            self._end_reasoning()
            show(text if self._wrapper is None else self._wrapper.add(_printable(text)))

    def end(self) -> None:
        """End the last line."""
        self._end_reasoning()
        show(f"{self._wrapper.end() if self._wrapper else ''}\n")

    def _end_reasoning(self) -> None:
        if self._is_reasoning:
            typer.echo("\n", err=True)
            self._is_reasoning = False


def _printable(text: str) -> str:
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())


def natural_order(name: str) -> list[tuple[int, str]]:
    """A sort key by which worker-2 comes before worker-10."""
    pieces = re.split(r"(\d+)", name)  # every second item is a number
    return [(int(piece), "") if place % 2 else (-1, piece) for place, piece in enumerate(pieces)]


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def summary(result: Result) -> str:
    """Confidence, tokens and speed in one line, and the gate that the job failed."""
    parts = []
    if result.confidence is not None:
        parts.append(f"confidence {result.confidence:.2f}")
    thought = f", {result.usage.reasoning_tokens} of reasoning" if result.usage.reasoning_tokens else ""
    parts.append(f"{counted(result.usage.completion_tokens, 'token')}{thought}")
    if result.timings.decode_tokens_per_second:
        parts.append(f"{result.timings.decode_tokens_per_second:.0f} tokens/s")
    if result.finish_reason != "stop":
        parts.append(f"ended by {result.finish_reason}")
    if result.cloud_handoff:
        parts.append(f"answered by {result.handoff.provider or 'the cloud'}{_failed_gate(result.handoff)}")
    elif result.handoff.status != "none":
        reason = f": {result.handoff.reason}" if result.handoff.reason else ""
        parts.append(f"handoff {result.handoff.status}{_failed_gate(result.handoff)}{reason}")
    return " · ".join(parts)


def _failed_gate(handoff: Handoff) -> str:
    """The value that was below its threshold, in brackets; nothing if there was none."""
    if handoff.confidence is None or handoff.confidence >= handoff.threshold:
        return ""
    return f" ({handoff.signal} {handoff.confidence:.4g} below {handoff.threshold:g})"
